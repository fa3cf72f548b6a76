"""The example guests in Rust against Python, and against their sources if the compiler is installed."""

import gzip
import hashlib
import json
import random
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import load_elf
from tests.conformance.reference import K1_G, K1_N, k1_mul, ripemd160, sha256
from tests.naive import keccak256

FOLDER = Path(__file__).parents[2] / "examples/guests"
RELEASE = "rustc 1.96.0"  # of the compiler that built the files, by Debian
MINER_KEY = 0x4C0883A69102937D6231471B5DBB6204FE5129617082792AE468D01A3F362318
MAX_FEE = 10**9
BLS_ORDER = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001


def run(name: str, data: bytes) -> Execution:
    return execute(load_elf((FOLDER / f"{name}.elf").read_bytes()), data)


def varint(number: int) -> bytes:
    """Encode a number as postcard does."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def first_varint(data: bytes) -> tuple[int, bytes]:
    """Return a number that postcard has encoded, and the bytes behind it."""
    size = next(i for i, byte in enumerate(data) if byte < 128) + 1
    return sum((byte & 127) << 7 * i for i, byte in enumerate(data[:size])), data[size:]


def counted(data: bytes) -> bytes:
    return varint(len(data)) + data


def rlp(item: int | bytes | list) -> bytes:
    """Encode integers, bytes and lists as Ethereum does."""
    if isinstance(item, list):
        return rlp_head(0xC0, b"".join(map(rlp, item)))
    if isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8, "big")
    return item if len(item) == 1 and item[0] < 128 else rlp_head(0x80, item)


def rlp_head(base: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 56:
        return bytes([base + size]) + payload
    digits = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([base + 55 + len(digits)]) + digits + payload


def sign(digest: bytes, key: int = MINER_KEY) -> tuple[int, int, int]:
    """Return the parity, r and s of an ECDSA signature on secp256k1, with s in the lower half."""
    secret = int.from_bytes(keccak256(digest + key.to_bytes(32, "big")), "big") % K1_N
    point = k1_mul(K1_G, secret)
    assert point is not None
    r = point[0] % K1_N
    s = pow(secret, -1, K1_N) * (int.from_bytes(digest, "big") + r * key) % K1_N
    return (point[1] & 1, r, s) if s <= K1_N // 2 else (1 - (point[1] & 1), r, K1_N - s)


def address(key: int = MINER_KEY) -> bytes:
    point = k1_mul(K1_G, key)
    assert point is not None
    return keccak256(b"".join(coordinate.to_bytes(32, "big") for coordinate in point))[12:]


def transaction(data: bytes, gas_limit: int = 1_000_000) -> bytes:
    """Return a signed transaction of EIP-1559 that calls a contract."""
    fields = [1, 7, 0, MAX_FEE, gas_limit, b"\x10" * 20, 0, data, []]
    return b"\2" + rlp([*fields, *sign(keccak256(b"\2" + rlp(fields)))])


# Pairs of code and gas: copy the call's data, give it to three precompiles and to Keccak-256, return the answers.
PUSH = 3
ANSWERS = [
    (b"\x36\x60\x00\x60\x00\x37", 2 + 2 * PUSH + 3 + 3 * 4),  # CALLDATACOPY of 4 words
    *(
        # STATICCALL of a warm precompile, POP
        (bytes([0x60, 32, 0x60, 128 + 32 * i, 0x60, 128, 0x60, 0, 0x60, 1 + i, 0x5A, 0xFA, 0x50]), 5 * PUSH + 104 + gas)
        for i, gas in enumerate([3000, 60 + 12 * 4, 600 + 120 * 4])
    ),
    (b"\x60\x80\x60\x00\x20\x60\xe0\x52", 3 * PUSH + 30 + 6 * 4 + 3),  # KECCAK256, MSTORE
    (b"\x60\x80\x60\x80\xf3", 2 * PUSH + 8 * 3),  # RETURN, and 8 words of memory
]


def test_revm_executes_a_transaction() -> None:
    """A call that uses four accelerator functions costs its gas and returns their answers."""
    parity, r, s = sign(keccak256(b"text"))
    data = keccak256(b"text") + (27 + parity).to_bytes(32, "big") + r.to_bytes(32, "big") + s.to_bytes(32, "big")
    code = b"".join(code for code, _ in ANSWERS)
    execution = run("revm", counted(transaction(data)) + counted(code))
    zeros = data.count(0)
    gas = 21_000 + 4 * zeros + 16 * (len(data) - zeros) + sum(gas for _, gas in ANSWERS)
    hashes = sha256(data) + ripemd160(data) + keccak256(data)
    answer = bytes(12) + address() + hashes
    assert execution.exit_code == 0
    assert execution.output == address() + b"\1" + varint(gas) + counted(answer)


def test_revm_states_a_failed_call() -> None:
    execution = run("revm", counted(transaction(b"", 50_000)) + counted(b"\xfe"))  # INVALID takes all gas
    assert (execution.exit_code, execution.output) == (0, address() + b"\0" + varint(50_000) + b"\0")
    whole = transaction(b"")
    for wrong in (whole[:-1], whole + b"\0", b""):
        execution = run("revm", counted(wrong) + counted(b"\0"))
        assert (execution.exit_code, execution.output) == (1, b"")


# Gives the call's data to a precompile, and returns its answer and whether it succeeded.
FORWARDS = "36600060003760006000366000 61{address:04x} 5afa 3d600060003e 3d53 60013d016000f3"


def field_elements(data: bytes) -> bytes:
    """Pad the numbers of 48 bytes in points on BLS12-381 to 64, as the EVM has them."""
    return b"".join(bytes(16) + data[i : i + 48] for i in range(0, len(data), 48))


def terms(data: bytes, size: int) -> bytes:
    """Return points with their scalars as the EVM has them."""
    pairs = [data[i : i + size + 32] for i in range(0, len(data), size + 32)]
    return b"".join(field_elements(pair[:size]) + pair[size:] for pair in pairs)


def modexp_input(data: bytes) -> bytes:
    sizes = struct.unpack("<3I", data[:12])
    return b"".join(size.to_bytes(32, "big") for size in sizes) + data[12:]


def kzg_input(data: bytes) -> bytes:
    commitment, numbers, proof = data[:48], data[48:112], data[112:]
    return b"\1" + sha256(commitment)[1:] + numbers + commitment + proof


def word(verdict: bytes) -> bytes:
    return verdict.rjust(32, b"\0")


KZG_ANSWER = (4096).to_bytes(32, "big") + BLS_ORDER.to_bytes(32, "big")
Bytes = Callable[[bytes], bytes]
# For each function of the vectors: the precompile's address, and its input and output in the EVM.
PRECOMPILES: dict[str, tuple[int, Bytes, Bytes]] = {
    "modexp": (5, modexp_input, bytes),
    "bn254_g1_add": (6, bytes, bytes),
    "bn254_g1_mul": (7, bytes, bytes),
    "bn254_pairing": (8, bytes, word),
    "blake2f": (9, lambda data: data[208:212][::-1] + data[:208] + data[212:], bytes),
    "kzg_point_eval": (10, kzg_input, lambda _: KZG_ANSWER),
    "bls12_g1_add": (11, field_elements, field_elements),
    "bls12_g1_msm": (12, lambda data: terms(data, 96), field_elements),
    "bls12_g2_add": (13, field_elements, field_elements),
    "bls12_g2_msm": (14, lambda data: terms(data, 192), field_elements),
    "bls12_pairing": (15, field_elements, word),
    "bls12_map_fp_to_g1": (16, field_elements, field_elements),
    "bls12_map_fp2_to_g2": (17, field_elements, field_elements),
    "secp256r1_verify": (256, bytes, word),
}


def shortest(name: str, refused: bool) -> tuple[bytes, bytes]:
    """Return input and result of the shortest vector that is refused, or whose result is not all zeros."""
    with gzip.open(FOLDER / f"conformance/vectors/{name}.jsonl.gz", "rt") as lines:
        cases = [case for case in map(json.loads, lines) if case["input"].strip("0")]
    cases = [case for case in cases if (case["expect"] is None if refused else (case["expect"] or "").strip("0"))]
    case = min(cases, key=lambda case: len(case["input"]))
    return bytes.fromhex(case["input"]), bytes.fromhex(case["expect"] or "")


def forwarded(address_of: int, data: bytes) -> bytes:
    """Return the bytes that a contract returns which gives data to a precompile."""
    code = bytes.fromhex(FORWARDS.format(address=address_of))
    execution = run("revm", counted(transaction(data, 10_000_000)) + counted(code))
    assert execution.exit_code == 0 and execution.output[20] == 1
    _gas, rest = first_varint(execution.output[21:])
    size, answer = first_varint(rest)
    assert len(answer) == size
    return answer


@pytest.mark.parametrize("name", PRECOMPILES)
def test_precompiles_of_revm_are_accelerators(name: str) -> None:
    """Points, numbers and verdicts keep their order on the way through revm."""
    place, input_of, output_of = PRECOMPILES[name]
    data, result = shortest(name, refused=False)
    assert forwarded(place, input_of(data)) == output_of(result) + b"\1"
    if name not in ("modexp", "secp256r1_verify"):  # which refuse nothing
        data, _ = shortest(name, refused=True)
        assert forwarded(place, input_of(data)) == b"\0"


WHOLE = 1 << 256


def signed(value: int) -> int:
    return value - WHOLE if value >> 255 else value


def truncated(left: int, right: int) -> int:
    """Return the quotient of signed numbers, rounded towards 0; 0 for a division by 0."""
    left, right = signed(left), signed(right)
    quotient = abs(left) // abs(right) if right else 0
    return quotient if (left < 0) == (right < 0) else -quotient


ARITHMETIC: list[tuple[int, int, Callable[..., int]]] = [  # opcode, operands, result
    (0x02, 2, lambda a, b: a * b),
    (0x04, 2, lambda a, b: a // b if b else 0),
    (0x05, 2, truncated),
    (0x06, 2, lambda a, b: a % b if b else 0),
    (0x07, 2, lambda a, b: signed(a) - truncated(a, b) * signed(b) if b else 0),
    (0x08, 3, lambda a, b, m: (a + b) % m if m else 0),
    (0x09, 3, lambda a, b, m: a * b % m if m else 0),
    (0x0A, 2, lambda a, b: pow(a, b, WHOLE)),
]


def test_arithmetic_of_revm() -> None:
    """Products, quotients and remainders of extreme numbers, and of random ones."""
    random_ = random.Random(36)
    edges = [0, 1, 2, WHOLE - 1, WHOLE - 2, WHOLE >> 1, (WHOLE >> 1) - 1, (WHOLE >> 1) + 1, 2**64, 2**128 - 1]
    code, expected = bytearray(), bytearray()
    for opcode, count, result in ARITHMETIC:
        for _ in range(30):
            operands = [random_.choice([*edges, random_.getrandbits(random_.randrange(257))]) for _ in range(count)]
            code += b"".join(b"\x7f" + operand.to_bytes(32) for operand in reversed(operands))  # PUSH32
            code += bytes([opcode, 0x61, *len(expected).to_bytes(2), 0x52])  # PUSH2, MSTORE
            expected += (result(*operands) % WHOLE).to_bytes(32)
    code += bytes([0x61, *len(expected).to_bytes(2), 0x60, 0, 0xF3])  # RETURN
    execution = run("revm", counted(transaction(b"", 10_000_000)) + counted(bytes(code)))
    assert execution.exit_code == 0 and execution.output[20] == 1
    _gas, rest = first_varint(execution.output[21:])
    assert first_varint(rest)[1] == expected


def order(text: str) -> tuple[dict[str, str], bytes]:
    """Return a signed order, and the digest of its text."""
    private = ec.derive_private_key(MINER_KEY, ec.SECP256K1())
    r, s = decode_dss_signature(private.sign(text.encode(), ec.ECDSA(SHA256())))
    s = min(s, K1_N - s)
    key = private.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return {"key": key.hex(), "signature": signature.hex(), "text": text}, hashlib.sha256(text.encode()).digest()


def test_ecdsa_json() -> None:
    items = [("pear", 3, 40), ("äpple", 2, 25), ("peer", 1, 41), ('"\n', 0, 7)]
    names = ("name", "count", "price")
    signed, digest = order(json.dumps({"items": [dict(zip(names, item, strict=True)) for item in items]}, indent=1))
    execution = run("ecdsa_json", json.dumps(signed).encode())
    assert execution.exit_code == 0
    counts: Counter[str] = Counter()
    for name, count, _ in items:
        counts[name] += count
    total = sum(count * price for _, count, price in items)
    expected = {"key": signed["key"], "digest": digest.hex(), "total": total, "counts": dict(counts)}
    assert json.loads(execution.output) == expected
    other = signed | {"text": signed["text"].replace("40", "41")}
    for wrong in (other, signed | {"key": "02" * 33}, signed | {"signature": "0"}, {}):
        execution = run("ecdsa_json", json.dumps(wrong).encode())
        assert (execution.exit_code, execution.output) == (1, b"")


def compiler() -> str:
    if not shutil.which("rustc"):
        return ""
    return subprocess.run(["rustc", "--version", "--verbose"], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(
    not compiler().startswith(RELEASE) or "source tarball" not in compiler(), reason=f"no {RELEASE} of Debian"
)
def test_programs_are_built_from_their_sources(tmp_path: Path) -> None:
    copy = tmp_path / "guests"
    shutil.copytree(FOLDER, copy, ignore=shutil.ignore_patterns("target", "*.elf"))
    subprocess.run(["make", "-C", str(copy / "rust"), "LINKER=riscv64-unknown-elf-ld"], check=True)
    for name in ("ecdsa_json", "revm"):
        assert (copy / f"{name}.elf").read_bytes() == (FOLDER / f"{name}.elf").read_bytes()
