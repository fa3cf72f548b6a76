"""The block guest: blocks that are valid, blocks that break a rule, and witnesses that tell nothing."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from graphprover.examples import block as package
from graphprover.examples.block import rlp
from graphprover.examples.block.block_input import BlockInput
from graphprover.examples.block.result import Valid, expected
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import Image, load_elf
from tests.conformance.reference import K1_N
from tests.examples.block import small_blocks as small
from tests.examples.block.small_blocks import BASE_FEE, GAS_LIMIT, GWEI, HEADER, KEYS, blocks, word
from tests.examples.block.tries import keccak256, trie

VALID, INVALID, NO_VERDICT = 0, 1, 2
Change = Callable[[BlockInput], BlockInput]


@cache
def guest() -> Image:
    return load_elf((Path(package.__file__).parent / "block.elf").read_bytes())


def run(data: bytes) -> Execution:
    return execute(guest(), data)


def refusal(block_input: BlockInput | bytes, code: int) -> str:
    """Return why the guest refuses an input, and compare its exit code."""
    execution = run(block_input if isinstance(block_input, bytes) else block_input.to_bytes())
    assert execution.exit_code == code, execution.output
    kind, _, reason = execution.output.decode().partition(": ")
    assert kind == {INVALID: "invalid", NO_VERDICT: "no verdict"}[code]
    return reason


def with_header(block_input: BlockInput, values: Mapping[str, int | bytes | None]) -> BlockInput:
    """Change fields of the block's header; None takes the field away."""
    own, *body = rlp.items(block_input.block)
    names = dict(zip(HEADER, rlp.items(own), strict=False))
    for name, value in values.items():
        names[name] = b"" if value is None else rlp.encode(rlp.number(value) if isinstance(value, int) else value)
    return replace(block_input, block=listed([listed(list(names.values())), *body]))


def listed(encoded: list[bytes]) -> bytes:
    """Return a list of items that are encoded already."""
    contents = b"".join(encoded)
    size = len(contents)
    if size < 56:
        return bytes([0xC0 + size]) + contents
    digits = rlp.number(size)
    return bytes([0xF7 + len(digits)]) + digits + contents


def with_transactions(block_input: BlockInput, transactions: list[rlp.Item]) -> BlockInput:
    """Replace the block's transactions, and their root."""
    leaves = {
        rlp.encode(rlp.number(index)): each if isinstance(each, bytes) else rlp.encode(each)
        for index, each in enumerate(transactions)
    }
    own, _, *rest = rlp.items(block_input.block)
    changed = replace(block_input, block=listed([own, rlp.encode(transactions), *rest]))
    return with_header(changed, {"transactions_root": trie(leaves)[0]})


def with_parent(block_input: BlockInput, values: Mapping[str, int | bytes]) -> BlockInput:
    """Change fields of the parent's header, and the block's reference to it."""
    parent = with_header(replace(block_input, block=listed([block_input.headers[-1]])), values).block
    header = rlp.items(parent)[0]
    changed = replace(block_input, headers=(*block_input.headers[:-1], header))
    return with_header(changed, {"parent_hash": keccak256(header)})


@pytest.mark.parametrize("name", [*small.FORKS, "own"])
def test_small_blocks_are_valid(name: str) -> None:
    block_input = blocks()[name]
    execution = run(block_input.to_bytes())
    assert (execution.exit_code, execution.output) == (VALID, expected(block_input).to_bytes())
    stated = Valid.from_bytes(execution.output)
    assert (stated.chain, any(stated.rules)) == ((small.OWN_CHAIN, True) if name == "own" else (1, False))


def test_small_blocks_are_those_of_their_drafts() -> None:
    """The completed blocks differ from their drafts in the fields that execution determines."""
    determined = {"state_root", "transactions_root", "receipts_root", "bloom", "gas_used", "withdrawals_root"}
    determined |= {"blob_gas_used", "requests_hash"}
    for name, draft in small.drafts().items():
        pair = [rlp.items(rlp.items(each.block)[0]) for each in (draft, blocks()[name])]
        headers = [dict(zip(HEADER, fields, strict=False)) for fields in pair]
        assert {field for field in headers[0] if headers[0][field] != headers[1][field]} <= determined
        assert rlp.items(draft.block)[1:] == rlp.items(blocks()[name].block)[1:]


HEADER_RULES: list[tuple[str, dict[str, Any], str]] = [
    ("paris", {"ommers_hash": bytes(32)}, "the ommers' hash is not that of none"),
    ("paris", {"difficulty": 1}, "the difficulty is not 0"),
    ("paris", {"nonce": bytes(7) + b"\1"}, "the nonce is not 0"),
    ("paris", {"extra_data": bytes(33)}, "the extra data are longer than 32 bytes"),
    ("paris", {"timestamp": small.FORKS["paris"] - 12}, "the time is not after the parent's"),
    ("paris", {"number": small.NUMBER + 1}, "a number does not follow its parent's"),
    ("paris", {"gas_used": GAS_LIMIT + 1}, "the gas used is more than the limit"),
    ("paris", {"gas_limit": GAS_LIMIT + GAS_LIMIT // 1024}, "the gas limit differs too much from the parent's"),
    ("paris", {"gas_limit": GAS_LIMIT - GAS_LIMIT // 1024}, "the gas limit differs too much from the parent's"),
    ("paris", {"gas_limit": 4999, "gas_used": 0}, "the gas limit is below 5000"),
    ("paris", {"gas_limit": 2**63}, "the gas limit is above 2^63 - 1"),
    ("paris", {"base_fee": BASE_FEE + 1}, "the base fee does not follow from the parent's"),
    ("paris", {"base_fee": None}, "the base fee does not follow from the parent's"),
    ("paris", {"withdrawals_root": bytes(32)}, "the fork and the field of withdrawals disagree"),
    ("shanghai", {"withdrawals_root": None}, "the fork and the field of withdrawals disagree"),
    ("shanghai", {"withdrawals_root": bytes(32)}, "the withdrawals' root is another"),
    ("shanghai", {"transactions_root": bytes(32)}, "the transactions' root is another"),
    ("shanghai", {"gas_used": 21_000}, "the gas used is 698341, not 21000"),
    ("shanghai", {"bloom": bytes(256)}, "the logs' bloom filter is another"),
    ("shanghai", {"receipts_root": bytes(32)}, "the receipts' root is another"),
    ("shanghai", {"state_root": bytes(32)}, "the state root is another"),
    ("cancun", {"excess_blob_gas": 1}, "the excess blob gas does not follow from the parent's"),
    ("cancun", {"blob_gas_used": small.BLOB_GAS}, "the blob gas used is another"),
    ("cancun", {"blob_gas_used": small.BLOB_GAS + 1}, "the blob gas used is not that of whole blobs"),
    ("cancun", {"blob_gas_used": 7 * small.BLOB_GAS}, "the blob gas used is more than the limit"),
    ("prague", {"blob_gas_used": 10 * small.BLOB_GAS}, "the blob gas used is more than the limit"),
    ("bpo1", {"blob_gas_used": 16 * small.BLOB_GAS}, "the blob gas used is more than the limit"),
    ("bpo2", {"blob_gas_used": 22 * small.BLOB_GAS}, "the blob gas used is more than the limit"),
    ("cancun", {"beacon_root": None}, "the fork and the fields of blobs disagree"),
    ("cancun", {"requests_hash": bytes(32)}, "the fork and the field of requests disagree"),
    ("prague", {"requests_hash": None}, "the fork and the field of requests disagree"),
    ("prague", {"requests_hash": bytes(32)}, "the requests' hash is another"),
    ("prague", {"beacon_root": b"\1" * 32}, "the state root is another"),
    ("prague", {"miner": b"\1" * 20}, "the state root is another"),
]


@pytest.mark.parametrize(("name", "values", "reason"), HEADER_RULES)
def test_rules_of_headers(name: str, values: dict[str, Any], reason: str) -> None:
    assert refusal(with_header(blocks()[name], values), INVALID) == reason


@pytest.mark.parametrize(
    ("name", "values", "own", "reason"),
    [
        # Half of the gas limit is the target; a block that has used all of it makes gas dearer by an eighth.
        ("paris", {"gas_used": GAS_LIMIT}, {"base_fee": BASE_FEE + BASE_FEE // 8}, None),
        ("paris", {"gas_used": 0}, {"base_fee": BASE_FEE - BASE_FEE // 8}, None),
        ("paris", {"gas_used": 0}, {}, "the base fee does not follow from the parent's"),
        # Since Osaka blobs have a price in terms of the base fee, and the excess falls more slowly (EIP-7918).
        ("prague", {"excess_blob_gas": 2**21, "blob_gas_used": 0}, {"excess_blob_gas": 2**21 - 6 * 2**17}, None),
        ("osaka", {"excess_blob_gas": 2**21, "blob_gas_used": 0}, {"excess_blob_gas": 2**21}, None),
        ("osaka", {"excess_blob_gas": 2**21, "blob_gas_used": 9 * 2**17}, {"excess_blob_gas": 2**21 + 3 * 2**17}, None),
        ("bpo2", {"excess_blob_gas": 2**21, "blob_gas_used": 21 * 2**17}, {"excess_blob_gas": 2**21 + 7 * 2**17}, None),
        (
            "osaka",
            {"excess_blob_gas": 2**21, "blob_gas_used": 0},
            {"excess_blob_gas": 2**21 - 6 * 2**17},
            "the excess blob gas does not follow from the parent's",
        ),
        ("prague", {"excess_blob_gas": 2**63, "blob_gas_used": 2**63}, {}, "the parent's blob gas is absurd"),
    ],
)
def test_fees_follow_from_the_parent(name: str, values: dict, own: dict, reason: str | None) -> None:
    """A correct fee leads on to the execution, whose hash of the parent is another then."""
    changed = with_header(with_parent(blocks()[name], values), own)
    found = refusal(changed, INVALID)
    if reason is None:
        assert found in ("the state root is another", "the logs' bloom filter is another") or "blob" not in found
        assert "follow" not in found
    else:
        assert found == reason


def sender(chain: int = 1, **values: int) -> small.Sender:
    return small.Sender(chain, **values)


def signed(make: Callable[[small.Sender], None], **values: int) -> list[rlp.Item]:
    """Return the transactions that a sender makes."""
    account = sender(**values)
    make(account)
    return account.made


def tampered_signature(parity: int | None = None, negate_s: bool = False, r: int | None = None) -> list[rlp.Item]:
    """Return a transfer with another signature."""
    (encoded,) = signed(lambda account: account.typed(2, b"\1" * 20))
    assert isinstance(encoded, bytes)
    parts = rlp.items(encoded[1:])
    if negate_s:
        parts[-1] = rlp.encode(rlp.number(K1_N - int.from_bytes(rlp.string(parts[-1]), "big")))
        parts[-3] = rlp.encode(rlp.number(1 - int.from_bytes(rlp.string(parts[-3]), "big")))
    if r is not None:
        parts[-2] = rlp.encode(rlp.number(r))
    return [encoded[:1] + listed(parts)]


BLOB = b"\1" + bytes(31)
ONE = b"\1" * 20
DELEGATION = small.authorization(1, ONE, 0, 9)
TRANSACTION_RULES: list[tuple[str, list[rlp.Item], str]] = [
    ("paris", signed(lambda made: made.typed(2, ONE), chain=5), "invalid chain ID"),
    ("paris", signed(lambda made: made.legacy(ONE), chain=5), "invalid chain ID"),
    ("paris", signed(lambda made: made.legacy(ONE), nonce=1), "nonce"),
    ("paris", signed(lambda made: made.legacy(ONE, value=1000 * small.ETHER)), "lack of funds"),
    ("paris", signed(lambda made: made.legacy(ONE, gas=GAS_LIMIT + 1)), "more than blocks available gas"),
    ("paris", signed(lambda made: made.legacy(ONE, gas=20_999)), "call gas cost"),
    ("paris", signed(lambda made: made.legacy(ONE), key=3), "lack of funds"),
    ("paris", tampered_signature(negate_s=True), "failed to recover the signer"),
    ("paris", tampered_signature(r=0), "failed to recover the signer"),
    ("paris", tampered_signature(r=K1_N), "failed to recover the signer"),
    ("shanghai", signed(lambda made: made.legacy(b"", data=b"\0" * 49_153, gas=10**6)), "initcode size"),
    ("shanghai", signed(lambda made: made.typed(3, ONE, more=[2, [BLOB]])), "Eip4844 is not supported"),
    ("cancun", signed(lambda made: made.typed(3, ONE, more=[2, []])), "blob"),
    ("cancun", signed(lambda made: made.typed(3, ONE, more=[2, [BLOB] * 7])), "blob"),
    ("cancun", signed(lambda made: made.typed(3, ONE, more=[2, [b"\2" + bytes(31)]])), "blob"),
    ("cancun", signed(lambda made: made.typed(3, ONE, more=[0, [BLOB]])), "blob"),
    ("osaka", signed(lambda made: made.typed(3, ONE, more=[2, [BLOB] * 7])), "blob"),
    (
        "cancun",
        signed(lambda made: made.typed(4, ONE, more=[[small.authorization(1, ONE, 0, 9)]])),
        "Eip7702 is not supported",
    ),
    ("prague", signed(lambda made: made.typed(4, ONE, more=[[]])), "authorization list"),
    ("prague", signed(lambda made: made.legacy(ONE, data=b"\1" * 1000, gas=40_000)), "gas floor"),
    ("osaka", signed(lambda made: made.legacy(ONE, gas=2**24 + 1)), "gas limit"),
]


@pytest.mark.parametrize(("name", "transactions", "reason"), TRANSACTION_RULES)
def test_rules_of_transactions(name: str, transactions: list[rlp.Item], reason: str) -> None:
    found = refusal(with_transactions(blocks()[name], transactions), INVALID)
    assert found.startswith("transaction 0: ") and reason.lower() in found.lower(), found


def test_a_fee_below_the_base_fee_is_refused() -> None:
    changed = with_header(with_parent(blocks()["paris"], {"base_fee": 16 * GWEI}), {"base_fee": 16 * GWEI})
    assert "less than basefee" in refusal(changed, INVALID)


def test_the_gas_of_all_transactions_fits_into_the_block() -> None:
    made = sender()
    for _ in range(2):
        made.legacy(ONE, gas=GAS_LIMIT - 20_999)
    assert "available gas" in refusal(with_transactions(blocks()["prague"], made.made), INVALID)


def test_codes_of_senders_are_refused() -> None:
    """A contract sends nothing, even if somebody has its key (EIP-3607)."""
    before = small.accounts("paris")
    before[small.address(KEYS["sender"])] = small.Account(balance=100 * small.ETHER, code=b"\0")
    root, nodes = small.state(before)
    changed = replace(blocks()["paris"], nodes=tuple(nodes), codes=(*blocks()["paris"].codes, b"\0"))
    found = refusal(with_parent(changed, {"state_root": root}), INVALID)
    assert found.endswith("reject transactions from senders with deployed code")


@pytest.mark.parametrize("contract", [small.WITHDRAWALS, small.CONSOLIDATIONS], ids=["EIP-7002", "EIP-7251"])
def test_system_contracts_are_there_since_prague(contract: bytes) -> None:
    before = small.accounts("prague")
    del before[contract]
    root, nodes = small.state(before)
    changed = with_parent(replace(blocks()["prague"], nodes=tuple(nodes)), {"state_root": root})
    assert refusal(changed, INVALID) == "a system contract has no code"


@pytest.mark.parametrize("at", [31, 191, 575])
def test_deposits_have_one_form(at: int) -> None:
    """A log of the deposit contract with other offsets or sizes makes the block invalid, and so does another length."""
    made = sender()
    made.typed(2, small.DEPOSITS, data=deposit_with(at))
    found = refusal(with_transactions(blocks()["prague"], made.made), INVALID)
    assert found == "a deposit has another form"


def deposit_with(change: int) -> bytes:
    data = bytearray(b"".join(map(word, (160, 256, 320, 384, 512))).ljust(576, b"\0"))
    for at, size in ((160, 48), (256, 32), (320, 8), (384, 96), (512, 8)):
        data[at : at + 32] = word(size)
    data[change] ^= 1
    return bytes(data[:575] if change == 575 else data)


MALFORMED: list[tuple[str, Change]] = [
    ("cut off", lambda block: replace(block, block=block.block[:-1])),
    ("a byte behind", lambda block: replace(block, block=block.block + b"\0")),
    ("nothing", lambda block: replace(block, block=b"")),
    ("a string", lambda block: replace(block, block=b"\x80")),
    ("an absurd length", lambda block: replace(block, block=b"\xff" + b"\xff" * 8)),
    ("lists in lists", lambda block: replace(block, block=nested(3000))),
    ("no withdrawals", lambda block: replace(block, block=listed(rlp.items(block.block)[:-1]))),
    ("an unknown type", lambda block: with_transactions(block, [b"\x09\xc0"])),
    ("an empty transaction", lambda block: with_transactions(block, [b""])),
    ("zeros before a number", lambda block: with_header(block, {"gas_used": b"\0\1"})),
    ("a number of 9 bytes", lambda block: with_header(block, {"gas_limit": 2**64})),
    ("a long length of a short string", lambda block: replace(block, block=long_form(block.block))),
]


def nested(depth: int) -> bytes:
    data = b"\xc0"
    for _ in range(depth):
        data = listed([data])
    return data


def long_form(encoded: bytes) -> bytes:
    """Write the length of the beneficiary, 20 bytes, with a length of its own."""
    own, *body = rlp.items(encoded)
    parts = rlp.items(own)
    parts[2] = b"\xb8\x14" + parts[2][1:]
    return listed([listed(parts), *body])


@pytest.mark.parametrize("change", [change for _, change in MALFORMED], ids=[name for name, _ in MALFORMED])
def test_malformed_blocks_are_invalid(change: Change) -> None:
    reason = refusal(change(blocks()["prague"]), INVALID)
    assert reason.startswith("the block is malformed") or reason == "the fork and the list of withdrawals disagree"


def test_blocks_have_no_ommers() -> None:
    own, transactions, _, *rest = rlp.items(blocks()["paris"].block)
    ommer = rlp.items(blocks()["paris"].headers[-1])
    changed = listed([own, transactions, listed([listed(ommer)]), *rest])
    assert refusal(replace(blocks()["paris"], block=changed), INVALID) == "the block has ommers"


def test_blocks_since_osaka_have_a_largest_size() -> None:
    made = sender()
    made.legacy(ONE, data=bytes(8 << 20))
    for name, reason in (("osaka", "the block is larger than 8 MiB"), ("prague", "transaction 0: ")):
        assert refusal(with_transactions(blocks()[name], made.made), INVALID).startswith(reason)


WITNESSES: list[tuple[str, Change, str]] = [
    ("no headers", lambda block: replace(block, headers=()), "the header of the parent is missing"),
    ("another parent", lambda block: replace(block, headers=block.headers[:1]), "the headers are no chain"),
    ("a cut header", lambda block: replace(block, headers=(block.headers[0], b"")), "the headers are no chain"),
    ("many headers", lambda block: replace(block, headers=block.headers * 200), "there are more than 256 headers"),
    ("no nodes", lambda block: replace(block, nodes=()), "the witness lacks the node 0x"),
    ("no codes", lambda block: replace(block, codes=()), "the witness lacks the code 0x"),
    ("another chain", lambda block: replace(block, chain=5), "the chain is unknown, and the input states no rules"),
    ("short rules", lambda block: replace(block, rules=b"\1" * 31), "the rules have another form"),
    ("an old block", lambda block: with_number(block, 15_000_000), "the block is older than the merge"),
]


def with_number(block_input: BlockInput, number: int) -> BlockInput:
    first = with_parent(replace(block_input, headers=block_input.headers[1:]), {"number": number - 1})
    return with_header(first, {"number": number})


@pytest.mark.parametrize(("change", "reason"), [case[1:] for case in WITNESSES], ids=[name for name, *_ in WITNESSES])
def test_witnesses_that_tell_nothing(change: Change, reason: str) -> None:
    assert refusal(change(blocks()["prague"]), NO_VERDICT).startswith(reason)


def test_blocks_with_absurd_gas_limits_get_no_verdict() -> None:
    limit = 2**40
    parent = with_parent(blocks()["paris"], {"gas_limit": limit, "gas_used": limit // 2})
    changed = with_header(parent, {"gas_limit": limit})
    assert refusal(changed, NO_VERDICT) == "the gas limit is larger than this program supports"


def test_every_missing_node_is_named_or_not_needed() -> None:
    """Without a node the guest says so, or does not need it."""
    block_input = blocks()["cancun"]
    lacking = 0
    for index in range(0, len(block_input.nodes), 4):
        nodes = block_input.nodes[:index] + block_input.nodes[index + 1 :]
        execution = run(replace(block_input, nodes=nodes).to_bytes())
        if execution.exit_code != VALID:
            name = "0x" + keccak256(block_input.nodes[index]).hex()
            assert execution.output.decode() == f"no verdict: the witness lacks the node {name}"
            lacking += 1
    assert lacking > 3


def test_changed_inputs_are_refused() -> None:
    """A changed bit makes the block another valid one, or invalid, or the witness useless; no run faults."""
    whole = blocks()["prague"].to_bytes()
    for at in range(8, len(whole), 499):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        execution = run(bytes(changed))
        if execution.exit_code == VALID:  # padding, a node that the block does not read, or a field without a rule
            assert execution.output == expected(BlockInput.from_bytes(bytes(changed))).to_bytes()
        else:
            assert execution.exit_code in (INVALID, NO_VERDICT)


@pytest.mark.parametrize("size", [0, 7, 8, 16, 24, 1000])
def test_inputs_end_where_they_say(size: int) -> None:
    whole = blocks()["paris"].to_bytes()
    for data in (whole[:size], whole + bytes(8)):
        assert refusal(data, NO_VERDICT) == "the input has another form"


def test_absurd_lengths_are_refused() -> None:
    whole = blocks()["paris"].to_bytes()
    sizes = 8 * (3 + (len(blocks()["paris"].block) + 7) // 8)  # where the list of nodes begins
    for at in (8, 16, sizes, sizes + 8):
        for absurd in (2**64 - 1, 2**63, 2**40):
            changed = whole[:at] + absurd.to_bytes(8, "little") + whole[at + 8 :]
            assert refusal(changed, NO_VERDICT) == "the input has another form"


def with_nodes_of(value: bytes) -> BlockInput:
    """Return a block after a state whose only node is given."""
    changed = replace(blocks()["paris"], nodes=(value,))
    return with_parent(changed, {"state_root": keccak256(value)})


@pytest.mark.parametrize(
    "node",
    [
        b"",
        b"\xc0",
        b"\x80\x80",
        b"\xc2\x00\xc0",  # an extension without digits would go on for ever
        b"\xc2\x20\x01",  # a leaf that ends too early
        b"\xc3\x20\x80\x80",
        b"\xfb\x01\x00\x00\x00",
        nested(1000),
    ],
    ids=repr,
)
def test_malformed_nodes_tell_nothing(node: bytes) -> None:
    assert refusal(with_nodes_of(node), NO_VERDICT) == "a node of the witness is malformed"


@pytest.mark.parametrize(
    "account", [b"", b"\xc0", b"\xc4\x80\x80\x80\x80", b"\xf8\x44\x80" + b"\xa1" + bytes(33), rlp.encode([b""] * 5)]
)
def test_malformed_accounts_tell_nothing(account: bytes) -> None:
    key = keccak256(small.address(KEYS["sender"]))
    root, nodes = trie({key: account, bytes(32): b"\1"})
    changed = replace(blocks()["paris"], nodes=tuple(nodes))
    changed = with_parent(changed, {"state_root": root})
    assert refusal(changed, NO_VERDICT) == "a node of the witness is malformed"
