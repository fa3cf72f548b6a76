"""The verification of compressed proofs without one of its checks of headers."""

from graphprover.proof import compressed as proofs
from graphprover.recursion.head import messages
from graphprover.verifier import compressed, headers, layer_key, shards
from tests.recursion.removals import Group, Removal, without_text

_BEFORE = "an upper bound of the level, before any head is made: `expect_header` refuses the same proofs later"
REDUNDANT = {
    "the level of an inner layer, before heads": _BEFORE,
    "the level of the last layer, before heads": _BEFORE,
    "the parameters of shards, in common": "the header of a proof in shards is refused before, by `ShardedProof`",
    "the nonces of shards, in common": "`proof.compressed` has compared them",
}
_LAST = "verify_shards(proof.layer, LayerStatement(proof.layer.log_heights), {}, {})"
_INNER = "expect_header(own.header, statement, {}, {})"
_MEMBER = "expect_header(member, statement, {}, {}, own)"
_HEADER = "expect_header(proof.layer, headers.statement, {}, {})"
# What is checked, by the text that checks it in a module, and the text without the check.
_LEVELS = [
    (f"the {what} of {name}", compressed, text.format(*given), text.format(*other))
    for name, text, given in (
        ("the last layer", _LAST, ("security", "proximity")),
        ("the last layer by its header", _HEADER, ("security", "proximity")),
        ("an inner layer", _INNER, ("self.security", "self.proximity")),
        ("a member", _MEMBER, ("security", "proximity")),
    )
    for what, other in (("level", ("0", given[1])), ("proximity", (given[0], "JOHNSON_PROXIMITY")))
]
_TOLD = "_lowest(proximity, *headers.securities, {})"
_REMOVED = [
    *_LEVELS,
    ("the level of a member, before heads", compressed, "check_level(member, security)", "pass"),
    ("the level of an inner layer, before heads", compressed, "check_level(layer.header, security)", "pass"),
    ("the level of the last layer, before heads", compressed, "check_level(proof.layer, security)", "pass"),
    ("the level of members, as told", compressed, "[verdict.security for verdict in verdicts]", "[]"),
    ("the level of inner layers, as told", compressed, "self.securities.append(expected.security)", "pass"),
    ("the level of the last layer, as told", compressed, _TOLD.format("verdict.security"), "headers.securities[0]"),
    ("the level by headers, as told", compressed, _TOLD.format("last.security"), "headers.securities[0]"),
    ("the number of members", compressed, "if len(proof.members) > 1:\n        raise", "if False:\n        raise"),
    ("the number of statements", compressed, "statements != count", "False"),
    (
        "the heads that the last layer states",
        compressed,
        "layout_of_proof(proof.layer, headers.statement, shard=False)  # it",
        "pass  # it",
    ),
    ("the place of a shard", compressed, "binding = shard_binding(", "shard_binding("),
    (
        "the nonce of the shards",
        messages,
        "*draw_lookup_challenges(joint.seed, parameters, joint.nonce)",
        "*draw_lookup_challenges(joint.seed, type(parameters)(**{**vars(parameters), 'lookup_pow_bits': 0}), 0)",
    ),
    ("the hash of a layer", layer_key, "hash != BLAKE3 or ", ""),
    ("the cap height of a layer", layer_key, "cap_height != CAP_HEIGHT or ", ""),
    ("the nonces of shards", proofs, "(shard.count, shard.lookup_nonce) for", "shard.count for"),
    ("the numbers of shards", proofs, "(shard.count, shard.lookup_nonce) for", "shard.lookup_nonce for"),
    ("the order of shards", proofs, "[shard.index for shard in shards] != [*range(count)]", "False"),
    ("a sum that is an element", proofs, "0 <= coefficient < P for", "True for"),
    ("payloads in headers", proofs, "any(own.header.payload for own", "any(False for own"),
    ("the number of layers", proofs, "check_layers(self.depth)", "pass"),
    ("the number of children", proofs, "            check_children(len(of))", "            pass"),
    ("the number of layers in bytes", proofs, "if not layers:", "if False:"),
    ("the number of children in bytes", proofs, "not 0 < count <= MOST_CHILDREN", "False"),
    ("all shards in common", shards, "        check_in_common(self.layouts, shards)\n", "        pass\n"),
    ("the parameters of shards, in common", shards, "layout.parameters != layouts[0].parameters for", "False for"),
    ("the bound on counts, in common", headers, "check_multiplicity_bound(airs, heights)", "pass"),
    ("the nonces of shards, in common", shards, "len({shard.lookup_nonce for shard in shards}) > 1", "False"),
    ("the sum of terminals, in common", shards, "ext_sum(shard.total for shard in shards) != ZERO", "False"),
    ("the public values of a statement", headers, "tuple(table.public_values) != values", "False"),
    ("the height of preprocessed columns", headers, "table.preprocessed.shape[1] != 1 << log_height", "False"),
    ("the number of tables", headers, "len(proof.log_heights) != len(airs)", "False"),
    ("the number of shards of a statement", headers, "len(proof.proofs) != len(statements)", "False"),
    ("the level by parameters", headers, "not most >= security", "False"),
    ("the level of a proof", headers, "not regime.bits >= security", "False"),
]


def removals() -> list[Removal]:
    """Return the removals; raises ValueError for one whose text is not in its module."""
    return [without_text(*of) for of in _REMOVED]


_COMPRESSED, _SHARDS = "tests/verifier/test_compressed.py", "tests/recursion/test_shards.py"
NATIVE = Group(
    [
        f"{_COMPRESSED}::test_a_compressed_proof_has_the_claim_of_its_base",
        f"{_COMPRESSED}::test_another_header_has_another_head",
        f"{_COMPRESSED}::test_each_proof_needs_the_security_that_counts",
        f"{_COMPRESSED}::test_the_security_is_the_lowest_one_of_all_proofs",
        f"{_COMPRESSED}::test_other_numbers_of_members_are_refused",
        f"{_COMPRESSED}::test_a_layer_without_a_commitment_is_refused",
        f"{_COMPRESSED}::test_other_bytes_are_refused",
        f"{_COMPRESSED}::test_other_kinds_of_proofs_are_not_taken",
        f"{_SHARDS}::test_it_has_the_claim_of_the_shards",
        f"{_SHARDS}::test_other_values_of_shards_are_refused",
        f"{_SHARDS}::test_the_nonce_of_the_shards_needs_its_work",
        f"{_SHARDS}::test_counts_are_bounded_over_all_shards",
        f"{_SHARDS}::test_shards_that_are_not_one_proof_are_refused",
        f"{_SHARDS}::test_a_sum_that_is_no_element_has_no_encoding",
        f"{_SHARDS}::test_another_header_of_a_shard_is_refused",
        f"{_COMPRESSED}::test_a_layer_about_another_base_or_with_other_tables_is_refused",
        f"{_COMPRESSED}::test_both_proofs_need_the_security",
    ],
    removals,
    lambda: REDUNDANT,
)
