"""Small blocks, one for each fork since the merge, whose transactions use what the fork brought.

``drafts`` makes them without the fields of the header that depend on their execution. With cargo,

    python -m tests.examples.block.small_blocks RUNNER

completes these by ``block-runner`` (examples/block/rust) and writes ``small_blocks.bin.xz``, which the tests read.
"""

import json
import lzma
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from graphprover.examples.block import rlp, shipped
from graphprover.examples.block.block_input import BlockInput
from tests.conformance.reference import K1_G, K1_N, k1_mul
from tests.examples.block.tries import EMPTY_ROOT, keccak256, trie

FILE = Path(__file__).with_name("small_blocks.bin.xz")
FORKS = {  # a time at which the fork is the main chain's
    "paris": 1_670_000_000,
    "shanghai": 1_690_000_000,
    "cancun": 1_720_000_000,
    "prague": 1_750_000_000,
    "osaka": 1_765_000_000,
    "bpo1": 1_766_000_000,
    "bpo2": 1_770_000_000,
}
NUMBER = 16_000_000
GAS_LIMIT, BASE_FEE, GWEI = 30_000_000, 1_000_000_000, 10**9
NO_OMMERS = keccak256(b"\xc0")
BLOB_GAS = 1 << 17
ETHER = 10**18
KEYS = {"sender": 0x4C0883A69102937D6231471B5DBB6204FE5129617082792AE468D01A3F362318, "delegator": 0x1234567}

MINER = b"\x0c" * 20
STORE, FACTORY, DESTROYER, PROBE, LONE = (bytes([place]) * 20 for place in range(0xA1, 0xA6))
DEPOSITS = bytes.fromhex("00000000219ab540356cbb839cbe05303d7705fa")
BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")
HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
WITHDRAWALS = bytes.fromhex("00000961ef480eb55e80d19ad83579a64c007002")
CONSOLIDATIONS = bytes.fromhex("0000bbddc7ce488642fb579f8b00f3a590007251")
# Stores words 2 i and 2 i + 1 of the call's data as slot and value.
STORE_CODE = "6000 5b 80 36 11 15 6018 57 80 6020 01 35 81 35 55 6040 01 6002 56 5b 00"
# Creates a contract with the call's data as its first code.
FACTORY_CODE = "36 6000 6000 37  6000 36 6000 6000 f5  50 00"
# The same, and calls the contract.
DESTROYER_CODE = "36 6000 6000 37  6000 36 6000 6000 f5  6000 6000 6000 6000 6000 85 5a f1  00"
# Calls ecrecover with the call's data, and logs the parent's hash, the data and the answer.
PROBE_CODE = "6001 43 03 40 6000 52  36 6000 6020 37  6020 60c0 6080 6020 6001 5a fa 50  60c0 51 60e0 6000 a1 00"
# Logs the call's data as a deposit.
DEPOSIT_TOPIC = "649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5"
DEPOSIT_CODE = f"36 6000 6000 37  7f {DEPOSIT_TOPIC} 36 6000 a1 00"
# Stores 7 at slot 0. The contract destroys itself if it is called without data, and else stores a word of them.
CHILD_CODE = "36 6006 57 33 ff 5b 6000 35 6001 55 00"
CHILD_FIRST_CODE = "6007 6000 55  600e 6011 6000 39  600e 6000 f3" + CHILD_CODE


def code(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


@cache
def address(key: int) -> bytes:
    point = k1_mul(K1_G, key)
    assert point is not None
    return keccak256(word(point[0]) + word(point[1]))[12:]


def sign(digest: bytes, key: int) -> tuple[int, int, int]:
    """Return the parity, r and s of a signature, with s in the lower half."""
    secret = int.from_bytes(keccak256(digest + word(key)), "big") % K1_N
    point = k1_mul(K1_G, secret)
    assert point is not None
    r = point[0] % K1_N
    s = pow(secret, -1, K1_N) * (int.from_bytes(digest, "big") + r * key) % K1_N
    return (point[1] & 1, r, s) if s <= K1_N // 2 else (1 - (point[1] & 1), r, K1_N - s)


def fields(*values: int | bytes | list) -> list[rlp.Item]:
    """Return items of RLP, with numbers as their bytes."""
    return [
        rlp.number(value) if isinstance(value, int) else fields(*value) if isinstance(value, list) else value
        for value in values
    ]


@dataclass
class Sender:
    """An account that signs transactions, each with its next nonce."""

    chain: int
    key: int = KEYS["sender"]
    nonce: int = 0
    made: list[rlp.Item] = field(default_factory=list)

    def legacy(self, to: bytes, value: int = 0, data: bytes = b"", gas: int = 500_000, protected: bool = True) -> None:
        parts = [self.nonce, 2 * GWEI, gas, to, value, data]
        unsigned = fields(*parts, self.chain, 0, 0) if protected else fields(*parts)
        parity, r, s = sign(keccak256(rlp.encode(unsigned)), self.key)
        self.made.append(fields(*parts, parity + (35 + 2 * self.chain if protected else 27), r, s))
        self.nonce += 1

    def typed(
        self, kind: int, to: bytes, value: int = 0, data: bytes = b"", gas: int = 500_000, more: list | None = None
    ) -> None:
        fees = [2 * GWEI] if kind == 1 else [GWEI, 3 * GWEI]
        access_list = [[STORE, [word(1), word(2)]]]
        parts = [self.chain, self.nonce, *fees, gas, to, value, data, access_list, *(more or [])]
        unsigned = bytes([kind]) + rlp.encode(fields(*parts))
        self.made.append(bytes([kind]) + rlp.encode(fields(*parts, *sign(keccak256(unsigned), self.key))))
        self.nonce += 1


def authorization(chain: int, to: bytes, nonce: int, key: int) -> list[int | bytes]:
    digest = keccak256(b"\5" + rlp.encode(fields(chain, to, nonce)))
    return [chain, to, nonce, *sign(digest, key)]


def transactions(fork: str, chain: int) -> list[rlp.Item]:
    """Return transactions that use what a fork and the ones before it brought."""
    place = list(FORKS).index(fork)
    cancun, prague = place >= 2, place >= 3
    sender = Sender(chain)
    sender.legacy(b"\xb1" * 20, ETHER)  # a new account
    sender.legacy(b"", 0, code(CHILD_FIRST_CODE), protected=False)  # a new contract
    # Slots that change, that come, and many that go, so that branches go too.
    changes = [(1, 99), (100, 5), *((slot, 0) for slot in range(3, 38))]
    sender.typed(1, STORE, data=b"".join(word(slot) + word(value) for slot, value in changes), gas=1_000_000)
    child = code(CHILD_FIRST_CODE)
    created = keccak256(b"\xff" + FACTORY + bytes(32) + keccak256(child))[12:]
    sender.typed(2, FACTORY, data=child)
    sender.typed(2, created, data=word(8))
    sender.typed(2, created)  # destroys itself, which since Cancun only gives the balance away
    sender.typed(2, FACTORY, data=child)  # once more at the same place, which fails since Cancun
    sender.typed(2, DESTROYER, data=child)  # created and destroyed by one transaction
    digest = keccak256(b"probe")
    parity, r, s = sign(digest, KEYS["delegator"])
    sender.typed(2, PROBE, data=digest + word(27 + parity) + word(r) + word(s))
    sender.typed(2, LONE)  # an account with storage that destroys itself
    if cancun:
        sender.typed(3, STORE, data=word(50) + word(1), more=[2, [b"\1" + bytes(31), b"\1" * 32]])
    if prague:
        delegator = KEYS["delegator"]
        authorizations = [authorization(chain, STORE, 0, delegator), authorization(5, STORE, 1, delegator)]
        sender.typed(4, address(delegator), data=word(7) + word(70), more=[authorizations])
        deposit = b"".join(word(number) for number in (160, 256, 320, 384, 512))
        for size, byte in ((48, b"\1"), (32, b"\2"), (8, b"\3"), (96, b"\4"), (8, b"\5")):
            deposit += word(size) + byte * size + bytes(-size % 32)
        sender.typed(2, DEPOSITS, data=deposit)
        sender.typed(2, WITHDRAWALS, value=1, data=b"\7" * 56)
        sender.typed(2, CONSOLIDATIONS, value=1, data=b"\x09" * 96)
    return sender.made


@dataclass(frozen=True)
class Account:
    """An account of the state before a block."""

    balance: int = 0
    nonce: int = 0
    code: bytes = b""
    storage: dict[int, int] = field(default_factory=dict)


def accounts(fork: str) -> dict[bytes, Account]:
    """Return the state before a block."""
    place = list(FORKS).index(fork)
    codes = shipped.load("hoodi_1265656").codes
    # EIP-4788, 2935, 7002 and 7251 state these codes, which begin alike.
    starts = {BEACON_ROOTS: "604d", HISTORY: "6046", WITHDRAWALS: "60cb", CONSOLIDATIONS: "60d3"}
    system = {}
    for contract, jump in starts.items():
        start = b"\x33\x73" + b"\xff" * 19 + b"\xfe\x14" + code(jump) + b"\x57"
        (found,) = (each for each in codes if each.startswith(start))
        system[contract] = Account(nonce=1, code=found)
    return {
        address(KEYS["sender"]): Account(balance=100 * ETHER),
        address(KEYS["delegator"]): Account(balance=ETHER),
        STORE: Account(nonce=1, code=code(STORE_CODE), storage={slot: slot + 1 for slot in range(1, 41)}),
        FACTORY: Account(nonce=1, code=code(FACTORY_CODE)),
        DESTROYER: Account(nonce=1, code=code(DESTROYER_CODE)),
        PROBE: Account(nonce=1, code=code(PROBE_CODE)),
        LONE: Account(balance=3, nonce=1, code=code(CHILD_CODE), storage={1: 1, 2: 2}),
        **{bytes([other]) * 20: Account(balance=other) for other in range(1, 13)},
        **({BEACON_ROOTS: system[BEACON_ROOTS]} if place >= 2 else {}),
        **({place: system[place] for place in (HISTORY, WITHDRAWALS, CONSOLIDATIONS)} if place >= 3 else {}),
        **({DEPOSITS: Account(nonce=1, code=code(DEPOSIT_CODE))} if place >= 3 else {}),
    }


def state(contents: dict[bytes, Account]) -> tuple[bytes, list[bytes]]:
    """Return the root of a state, and the nodes of its tries."""
    nodes, leaves = [], {}
    for place, account in contents.items():
        slots = {keccak256(word(slot)): rlp.encode(rlp.number(value)) for slot, value in account.storage.items()}
        storage, more = trie(slots)
        nodes += more
        leaves[keccak256(place)] = rlp.encode(fields(account.nonce, account.balance, storage, keccak256(account.code)))
    root, more = trie(leaves)
    return root, nodes + more


HEADER = (
    *("parent_hash", "ommers_hash", "miner", "state_root", "transactions_root", "receipts_root", "bloom"),
    *("difficulty", "number", "gas_limit", "gas_used", "timestamp", "extra_data", "mix_hash", "nonce"),
    *("base_fee", "withdrawals_root", "blob_gas_used", "excess_blob_gas", "beacon_root", "requests_hash"),
)


def header(fork: str, values: dict[str, int | bytes]) -> list[rlp.Item]:
    """Return a header with the fields of its fork."""
    place = list(FORKS).index(fork)
    size = (16, 17, 20, 21, 21, 21, 21)[place]
    usual: dict[str, int | bytes] = {
        "ommers_hash": NO_OMMERS,
        "miner": MINER,
        "transactions_root": EMPTY_ROOT,
        "receipts_root": EMPTY_ROOT,
        "bloom": bytes(256),
        "gas_limit": GAS_LIMIT,
        "nonce": bytes(8),
        "base_fee": BASE_FEE,
        "extra_data": b"graphprover",
        "withdrawals_root": EMPTY_ROOT,
        "requests_hash": bytes(32),
    }
    empty = {"difficulty": 0, "gas_used": 0, "blob_gas_used": 0, "excess_blob_gas": 0}
    contents = {name: bytes(32) for name in HEADER} | empty | usual | values
    return fields(*(contents[name] for name in HEADER[:size]))


def draft(fork: str, chain: int = 1, rules: bytes = b"") -> BlockInput:
    """Return a block without gas, roots, bloom filter and hash of requests, and its witness."""
    before = accounts(fork)
    root, nodes = state(before)
    time = FORKS[fork]
    # The parent has used half of its gas limit and no blobs, so that the base fee stays.
    first = rlp.encode(header(fork, {"number": NUMBER - 2, "timestamp": time - 24}))
    parent_values = {"number": NUMBER - 1, "timestamp": time - 12, "gas_used": GAS_LIMIT // 2, "state_root": root}
    parent = rlp.encode(header(fork, {**parent_values, "parent_hash": keccak256(first)}))
    own = header(fork, {"number": NUMBER, "timestamp": time, "parent_hash": keccak256(parent), "mix_hash": b"\5" * 32})
    body: list[rlp.Item] = [own, transactions(fork, chain), []]
    if fork != "paris":
        body.append([fields(9, 1, b"\xc1" * 20, 5), fields(10, 2, b"\xc2" * 20, 0), fields(11, 3, MINER, 2**63)])
    codes = sorted({account.code for account in before.values() if account.code})
    return BlockInput(chain, rlp.encode(body), tuple(nodes), tuple(codes), (first, parent), rules)


def stated_rules(times: list[int], blobs: list[tuple[int, int, int, int]], deposits: bytes = DEPOSITS) -> bytes:
    """Return the rules of a chain as an input has them."""
    words = [*times, *(number for numbers in blobs for number in numbers)]
    return b"".join(number.to_bytes(8, "little") for number in words) + deposits + bytes(4)


OWN_CHAIN = 1337
OWN_RULES = stated_rules([0, 0, 1, 2**64 - 1], [(0, 3, 6, 3_338_477), (1, 6, 9, 5_007_716)])


def drafts() -> dict[str, BlockInput]:
    """Return the blocks by their names: a fork of the main chain, or ``own`` on a chain whose rules the input has."""
    return {fork: draft(fork) for fork in FORKS} | {"own": draft("prague", OWN_CHAIN, OWN_RULES)}


@cache
def blocks() -> dict[str, BlockInput]:
    """Return the completed blocks."""
    sealed = json.loads(lzma.decompress(FILE.read_bytes()))
    return {name: replace(unsealed, block=bytes.fromhex(sealed[name])) for name, unsealed in drafts().items()}


def main(runner: str) -> None:
    sealed = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, unsealed in drafts().items():
            path = Path(folder, name)
            path.write_bytes(unsealed.to_bytes())
            subprocess.run([runner, "seal", str(path)], check=True)
            subprocess.run([runner, "check", str(path)], check=True)
            sealed[name] = BlockInput.from_bytes(path.read_bytes()).block.hex()
    FILE.write_bytes(lzma.compress(json.dumps(sealed).encode(), preset=9))


if __name__ == "__main__":
    main(sys.argv[1])
