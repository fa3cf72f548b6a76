"""One proof about several: it has the claim of each, and is refused if anything of one of them is changed."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from graphprover import (
    CompressedProof,
    Proof,
    Prover,
    VerificationError,
    aggregate,
    compress,
    verify,
    verify_aggregate,
)
from graphprover.graphs.planner.trees import grouped
from graphprover.proof.compressed import Accepted, AnyProof, any_proof_from_bytes
from graphprover.prover import layer_tree
from graphprover.recursion.expected import work_about
from graphprover.runtime.files import COMPRESSED_MAGIC
from graphprover.statement.statement import Statement
from graphprover.verifier import compressed as verification
from graphprover.verifier.headers import layout_of_proof
from tests.conftest import LAYERS_AT, ROOT
from tests.test_must_fail import numbers
from tests.verifier.test_compressed import BITS, PROVER, base, compressed, of_queries

TABLES = Prover("examples/memory", security=BITS, rate=4, pow_bits=4, device="cpu")
OPTIONS = {"security": BITS, "rates": (LAYERS_AT,), "pow_bits": 4, "device": "cpu"}


def guest() -> Statement:
    found = PROVER.program.statement_of(base())
    assert isinstance(found, Statement)
    return found


def statements() -> list[Statement]:
    tables = TABLES.program.statement()
    assert tables
    return [guest(), tables, guest(), guest()]


@cache
def proofs() -> list[AnyProof]:
    """Return proofs of several programs and rates, one of them compressed."""
    return [base(), TABLES.prove(), compressed(11), base(12)]


@cache
def aggregated() -> CompressedProof:
    """Return a layer about two layers, each about two proofs."""
    pairs = [aggregate(proofs()[i : i + 2], statements()[i : i + 2], **OPTIONS) for i in (0, 2)]  # type: ignore[arg-type]
    return aggregate(pairs, statements(), **OPTIONS)  # type: ignore[arg-type]


def test_it_has_the_claim_of_each_member() -> None:
    proof, alone = aggregated(), [PROVER, TABLES, PROVER, PROVER]
    assert proof.depth == 3 and len(proof.layers) == 4  # the compressed proof is a layer, too
    assert [own.label for own in proof.members] == [own.header.label for own in proofs()]
    found = verify_aggregate(proof.to_bytes(), statements(), BITS)
    for verdict, single, member in zip(found, proofs(), alone, strict=True):
        expected = member.verify(single)
        assert (verdict.claim, verdict.public_values) == (expected.claim, expected.public_values)
        assert verdict.log_heights == expected.log_heights and expected.bits >= verdict.bits >= BITS
    assert len({verdict.bits for verdict in found}) == 1
    assert any_proof_from_bytes(proof.to_bytes()) == proof and len(proof.to_bytes()) == proof.size
    assert "and 3 others" in repr(proof)
    shown = proof._repr_html_()
    assert all(
        name in shown for name in ("member 4", "layer about member 3", "layer about member 1 to member 2", "last layer")
    )


def compressions(*bases: AnyProof) -> float:
    """Return the compressions of a layer about proofs of the guest."""
    layouts = [layout_of_proof(own, guest(), shard=False) for own in bases if isinstance(own, Proof)]
    return sum(work_about(layout).compressions for layout in layouts)


@pytest.mark.slow
def test_layers_are_made_until_one_is_about_all(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [base(), base(12)]
    monkeypatch.setattr(layer_tree, "most_compressions", lambda *given: compressions(*runs[:1]))
    tasks: list[str] = []
    proof = aggregate(runs, [guest()] * 2, progress=lambda ended, total, task: tasks.append(task), **OPTIONS)  # type: ignore[arg-type]
    told = {task.partition(": ")[0] for task in tasks if task}
    assert "proof 1 to proof 2, layer 2" in told and all(", layer " in own for own in told)
    assert proof.depth == 2 and len(verify_aggregate(proof, [guest()] * 2, BITS)) == 2


@pytest.mark.slow
def test_layers_of_several_threads_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_tree, "most_compressions", lambda *given: compressions(*proofs()[:2]))
    proof = aggregate(proofs(), statements(), **OPTIONS)  # type: ignore[arg-type]
    monkeypatch.setattr(layer_tree, "pays", lambda device: True)
    assert aggregate(proofs(), statements(), **OPTIONS) == proof  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_further_rate_gives_one_more_layer() -> None:
    flat = aggregate([own.to_bytes() for own in proofs()], statements(), **OPTIONS | {"rates": (LAYERS_AT, 8)})  # type: ignore[arg-type]
    assert [layer.parameters.log_blowup for layer in flat.layers] == [2, 2, 3]
    assert len(flat.children) == 1 and [own.layers for own in flat.children[0].children] == [0, 0, 1, 0]
    assert len(verify_aggregate(flat, statements(), BITS)) == 4
    alone = aggregate([base()], [guest()], **OPTIONS)  # type: ignore[arg-type]
    assert alone == compressed()
    assert verify(alone, guest(), BITS).claim == PROVER.verify(base()).claim


def other_trees(children: tuple[Accepted, ...]) -> Iterator[tuple[str, tuple[Accepted, ...]]]:
    """Yield trees with one change, and the kind of the change."""
    if len(children) > 1:
        yield "order", children[::-1]
        yield "without one", children[1:]
    yield "one twice", (*children, children[0])
    for at, child in enumerate(children):
        header = child.header
        for kind, other in (
            ("label", replace(header, label=header.label + "x")),
            (
                "queries",
                replace(header, parameters=replace(header.parameters, num_queries=header.parameters.num_queries + 1)),
            ),
            ("value", _with_value(header)),
            ("base", replace(base(13), payload=b"")),
        ):
            yield kind, (*children[:at], replace(child, header=other), *children[at + 1 :])
        for kind, below in other_trees(child.children) if child.children else ():
            yield kind, (*children[:at], replace(child, children=below), *children[at + 1 :])


def _with_value(header: Proof) -> Proof:
    values = [*map(list, header.public_values)]
    own = next(own for own in reversed(values) if own)
    own[-1] += 1
    return replace(header, public_values=tuple(map(tuple, values)))


def test_another_tree_is_refused() -> None:
    good, kinds = aggregated(), set[str]()
    for kind, children in other_trees(good.children):
        with pytest.raises(VerificationError):
            verify_aggregate(replace(good, children=children), statements(), BITS)
        kinds.add(kind)
    assert len(kinds) == 7
    for at in range(0, len(good.layer.payload), len(good.layer.payload) // 3):
        payload = bytearray(good.layer.payload)
        payload[at] ^= 1
        with pytest.raises(VerificationError, match=r"^last layer: "):
            verify_aggregate(replace(good, layer=replace(good.layer, payload=bytes(payload))), statements(), BITS)


def test_another_statement_or_number_of_statements_is_refused() -> None:
    first, second, *others = statements()
    with pytest.raises(VerificationError):
        verify_aggregate(aggregated(), [second, first, *others], BITS)
    for wrong in ([first, second], [*statements(), first]):
        with pytest.raises(VerificationError, match=f"about 4 proofs, not about {len(wrong)}") as refused:
            verify_aggregate(aggregated(), wrong, BITS)
        assert refused.value.rule == "asked.members"
    for ask in (lambda: verify(aggregated(), first, BITS), lambda: PROVER.verify(aggregated())):
        with pytest.raises(VerificationError, match="about 4 proofs, and one was expected") as refused:
            ask()
        assert refused.value.rule == "asked.members"


def test_every_member_needs_the_security() -> None:
    """The queries in the last layer's header count; its payload, which has more, is read after the level is known."""
    good = aggregated()
    weak = replace(good, layer=of_queries(good.layer, 7))
    with pytest.raises(VerificationError, match=r"^last layer: the queries of .* 17 entries .* 7"):
        verify_aggregate(weak, statements(), 10)
    with pytest.raises(VerificationError, match=r"^last layer: the proof has 1\d\.\d provable bits at most; 20 "):
        verify_aggregate(weak, statements(), BITS)
    with pytest.raises(VerificationError, match=r"^member 1: the proof has 20\.5 provable bits at most; 60 "):
        verify_aggregate(good, statements(), 60)


def damaged(proof: AnyProof) -> Proof:
    assert isinstance(proof, Proof)
    return replace(proof, payload=proof.payload[:-1] + bytes([proof.payload[-1] ^ 1]))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda: ([base(), damaged(base(12))], [guest()] * 2), VerificationError, r"^proof 2: "),
        (lambda: ([base(), base(12)], [guest(), numbers()]), VerificationError, r"^proof 2: "),
        (lambda: ([base(), base(12)], [guest()]), ValueError, "about 2 statements, and 1 are given"),
        (lambda: ([aggregated()], [guest()]), ValueError, "about 4 statements, and 1 are given"),
        (lambda: ([base(), keccak()], [guest(), numbers()]), ValueError, r"^proof 2: .*--hash blake3"),
        (lambda: ([], []), ValueError, "at least one proof"),
    ],
)
def test_what_cannot_be_aggregated_is_named(
    given: Callable[[], tuple[list[AnyProof], list[Statement]]], error: type[Exception], words: str
) -> None:
    own, of = given()
    with pytest.raises(error, match=words):
        aggregate(own, of, **OPTIONS)  # type: ignore[arg-type]


def keccak() -> AnyProof:
    return any_proof_from_bytes((ROOT / "tests/vectors/proofs/numbers-keccak.bin").read_bytes())


def test_an_aggregated_proof_cannot_be_compressed_as_one() -> None:
    with pytest.raises(ValueError, match="about 4 statements, and 1 are given"):
        compress(aggregated(), guest(), security=BITS, device="cpu")


@pytest.mark.parametrize(
    ("sizes", "layers", "ends"),
    [
        ([10] * 9, [False] * 9, [8, 9]),
        ([10] * 60, [False] * 60, [8, 16, 24, 32, 40, 48, 56, 60]),
        ([1] * 60, [True] * 60, [25, 50, 60]),  # 25 at most
        ([70, 20, 20, 30], [False] * 4, [1, 4]),
        ([90, 90, 90], [False] * 3, [1, 2, 3]),  # each becomes a layer
        ([90, 90, 90], [True] * 3, [2, 3]),  # two, although they are too large
        ([90, 90, 90], [True, False, True], [1, 2, 3]),
        ([90], [True], [1]),
    ],
)
def test_groups_fit(sizes: list[int], layers: list[bool], ends: list[int]) -> None:
    assert grouped(sizes, layers, 80) == ends


@pytest.mark.slow
def test_members_of_many_short_runs() -> None:
    """As many as one layer is about, so that heads and trees have places far behind the first ones."""
    runs = [base(turns) for turns in range(10, 22)]
    proof = aggregate(runs, [guest()] * len(runs), **OPTIONS)  # type: ignore[arg-type]
    outputs = [
        verdict.claim.output for verdict in verify_aggregate(proof, [guest()] * len(runs), BITS) if verdict.claim
    ]
    fibonacci = [0, 1]
    while len(fibonacci) < 30:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert outputs == [struct.pack("<Q", fibonacci[turns]) for turns in range(10, 22)]


def test_a_verifier_bounds_the_members_before_their_headers_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of layers about one proof has more layers than bases, and is accepted."""
    proof, data = aggregated(), aggregated().to_bytes()
    assert len(verify_aggregate(data, statements(), BITS, max_members=4)) == 4
    for given in (data, proof):
        with pytest.raises(VerificationError, match="more than 3 proofs") as refused:
            verify_aggregate(given, statements(), BITS, max_members=3)
        assert refused.value.rule == "asked.members"
    parsed = []
    original = Proof.header_from_bytes
    monkeypatch.setattr(Proof, "header_from_bytes", lambda data: parsed.append(data) or original(data))
    header = replace(base(), payload=b"").to_bytes()
    own = len(header).to_bytes(4, "little") + header
    of_25 = own + bytes([25]) + (own + b"\0") * 25
    with pytest.raises(VerificationError) as refused:
        CompressedProof.from_bytes(COMPRESSED_MAGIC + bytes([25]) + of_25 * 25, max_members=60)
    assert refused.value.rule == "asked.members" and len(parsed) == 61 + 3
    for _ in range(15):
        own += b"\1" + len(header).to_bytes(4, "little") + header
    chain = CompressedProof.from_bytes(COMPRESSED_MAGIC + b"\1" + own + b"\0" + proof.layer.to_bytes(), max_members=1)
    assert chain.depth == 16


def test_no_header_is_verified_behind_a_last_layer_that_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = aggregated()
    monkeypatch.setattr(verification, "expect_header", None)
    monkeypatch.setattr(verification, "heads_of", None)
    payload = proof.layer.payload
    for at in (40, len(payload) // 2, len(payload) - 9):
        layer = replace(proof.layer, payload=payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :])
        with pytest.raises(VerificationError, match=r"^last layer: "):
            verify_aggregate(replace(proof, layer=layer), statements(), BITS)


def test_a_valid_last_layer_proves_no_other_headers() -> None:
    """It is verified with the digest that it states, which is then compared with the heads of the headers."""
    good, other = compressed(10), compressed(11)
    with pytest.raises(
        VerificationError, match=r"^layer: table fixed: the proof states other public values"
    ) as refused:
        verify_aggregate(replace(good, layer=other.layer), [guest()], BITS)
    assert refused.value.rule == "statement.values"


def test_headers_with_many_public_values_are_refused_while_they_are_parsed() -> None:
    """An output of 2^20 bytes is accepted, and as many headers as its, but not three of other lengths."""
    own = replace(base(), payload=b"")

    def headers(*counts: int) -> bytes:
        found = [replace(own, log_heights=(6,), public_values=((0,) * count,)).to_bytes() for count in counts]
        children = b"".join(len(header).to_bytes(4, "little") + header + b"\0" for header in found)
        return COMPRESSED_MAGIC + bytes([len(found)]) + children + aggregated().layer.to_bytes()

    assert len(CompressedProof.from_bytes(headers(*[2**18] * 4, 2**18 - 2)).members) == 5
    with pytest.raises(VerificationError, match="more than 524,288 public values") as refused:
        CompressedProof.from_bytes(headers(2**18, 2**18 - 2, 2**10))
    assert refused.value.rule == "asked.members"
