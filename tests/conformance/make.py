"""Write the vectors of the accelerator functions: python -m tests.conformance.make CLONES.

CLONES is a folder with clones of the repositories in SOURCES, at any commit that has the pinned one. The output is the
same for every machine.
"""

import argparse
import csv
import gzip
import hashlib
import json
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn

from tests.conformance import reference

FOLDER = Path(__file__).parents[2] / "examples/guests/conformance/vectors"
SOURCES = {  # the repository: owner, pinned commit
    "EIPs": ("ethereum", "f767a1e8078e17c9b381a91d35a09492189ede1b"),
    "c-kzg-4844": ("ethereum", "b7e4098813e02c866d8def4e88524be8a6bedc7f"),
    "wycheproof": ("C2SP", "dac1dd4729fd1f8dd9e1e9f3dce51d783da6c166"),
    "besu-native": ("hyperledger", "8f75d5672f0b28d585be80416b6c90c6b54a4e7c"),
}
BESU = "gnark/src/test/resources/org/hyperledger/besu/nativelib/gnark/"
MOST_PAIRS = 16  # of a multi-scalar multiplication, but the longest of each file


@dataclass(frozen=True)
class Case:
    """One call: the input, the result or None for ZKVM_EFAIL, and its source."""

    function: str
    input: bytes
    expect: bytes | None
    source: str


class Clones:
    """The pinned commits of the sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _git(self, name: str, *words: str) -> str:
        command = ["git", "-C", str(self.folder / name), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def text(self, name: str, path: str) -> str:
        return self._git(name, "show", f"{SOURCES[name][1]}:{path}")

    def names(self, name: str, folder: str) -> list[str]:
        return self._git(name, "ls-tree", "-r", "--name-only", SOURCES[name][1], folder).split()

    def rows(self, path: str) -> list[dict[str, str]]:
        """Return the rows of a table of besu-native."""
        csv.field_size_limit(10**7)
        return list(csv.DictReader(self.text("besu-native", path).splitlines()))


# The EVM pads a coordinate of BLS12-381 to 64 bytes; the header's structures do not.
LAYOUTS = {  # sizes of an item: True for a coordinate, a number for other bytes
    "bls12_g1_add": [True] * 4,
    "bls12_g2_add": [True] * 8,
    "bls12_g1_msm": [True, True, 32],
    "bls12_g2_msm": [True, True, True, True, 32],
    "bls12_pairing": [True] * 6,
    "bls12_map_fp_to_g1": [True],
    "bls12_map_fp2_to_g2": [True] * 2,
}
MANY = {"bls12_g1_msm", "bls12_g2_msm", "bls12_pairing"}


def unpadded(function: str, data: bytes) -> bytes | None:
    """Return an input of EIP-2537 in the header's encoding, or None if it has none: a wrong length, or a wrong pad."""
    sizes = [64 if size is True else size for size in LAYOUTS[function]]
    if len(data) % sum(sizes) or (function not in MANY and len(data) != sum(sizes)):
        return None
    out, place = b"", 0
    while place < len(data):
        for layout, size in zip(LAYOUTS[function], sizes, strict=True):
            field = data[place : place + size]
            place += size
            if layout is True:
                if any(field[:16]):
                    return None
                field = field[16:]
            out += field
    return out


def unhex(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def short(function: str, result: bytes) -> bytes:
    """Return a result of EIP-2537 in the header's encoding."""
    if function == "bls12_pairing":
        return result[31:]
    return b"".join(result[i + 16 : i + 64] for i in range(0, len(result), 64))


def eip2537(clones: Clones) -> Iterator[Case]:
    files = {
        "add_G1": "bls12_g1_add",
        "add_G2": "bls12_g2_add",
        "mul_G1": "bls12_g1_msm",
        "mul_G2": "bls12_g2_msm",
        "msm_G1": "bls12_g1_msm",
        "pairing_check": "bls12_pairing",
        "map_fp_to_G1": "bls12_map_fp_to_g1",
        "map_fp2_to_G2": "bls12_map_fp2_to_g2",
    }
    fails = {"fail-" + name: function for name, function in files.items()} | {"fail-msm_G2": "bls12_g2_msm"}
    for name, function in (files | fails).items():
        path = f"assets/eip-2537/{name}_bls.json"
        found = json.loads(clones.text("EIPs", path))
        longest = max(len(case["Input"]) for case in found)
        for case in found:
            data = unpadded(function, bytes.fromhex(case["Input"]))
            if data is None or (few(function, data) and len(case["Input"]) < longest):
                continue
            expect = None if name.startswith("fail-") else short(function, bytes.fromhex(case["Expected"]))
            yield Case(function, data, expect, f"EIPs/{path}: {case['Name']}")


def few(function: str, data: bytes) -> bool:
    """Return if a multi-scalar multiplication has more than MOST_PAIRS."""
    size = {"bls12_g1_msm": 128, "bls12_g2_msm": 224}.get(function)
    return size is not None and len(data) > MOST_PAIRS * size


def besu_bls(clones: Clones) -> Iterator[Case]:
    files = {
        "g1_add": "bls12_g1_add",
        "g2_add": "bls12_g2_add",
        "g1_mul": "bls12_g1_msm",
        "g2_mul": "bls12_g2_msm",
        "g1_multiexp": "bls12_g1_msm",
        "g1_multiexp_pair_comparison": "bls12_g1_msm",
        "g2_multiexp": "bls12_g2_msm",
        "g2_multiexp_pair_comparison": "bls12_g2_msm",
        "pairing": "bls12_pairing",
        "invalid_subgroup_for_pairing": "bls12_pairing",
        "fp_to_g1": "bls12_map_fp_to_g1",
        "fp2_to_g2": "bls12_map_fp2_to_g2",
    }
    for name, function in files.items():
        multiexp = 0
        for number, row in enumerate(clones.rows(f"{BESU}{name}.csv"), 2):
            data = unpadded(function, unhex(row["input"]))
            if data is None:
                continue
            if name in ("g1_multiexp", "g2_multiexp"):  # a hundred of 16 pairs each: a fifth of them
                multiexp += 1
                if not row["notes"] and multiexp % 5 != 1:
                    continue
            expect = None if row["notes"] else short(function, unhex(row["result"]))
            yield Case(function, data, expect, f"besu-native/{BESU}{name}.csv: line {number}")


def besu_bn(clones: Clones) -> Iterator[Case]:
    for name, function, size in (("add", "bn254_g1_add", 128), ("mul", "bn254_g1_mul", 96)):
        for number, row in enumerate(clones.rows(f"{BESU}eip196_g1_{name}.csv"), 2):
            data = unhex(row["input"])[:size].ljust(size, b"\0")
            expect = None if row["notes"] else unhex(row["result"])
            yield Case(function, data, expect, f"besu-native/{BESU}eip196_g1_{name}.csv: line {number}")
    for number, row in enumerate(clones.rows(f"{BESU}eip196_pairing.csv"), 2):
        verdict = None if row["notes"] else unhex(row["result"])[31:]
        source = f"besu-native/{BESU}eip196_pairing.csv: line {number}"
        yield Case("bn254_pairing", unhex(row["input"]), verdict, source)


def ecrecover(clones: Clones) -> Iterator[Case]:
    path = "secp256k1/src/test/resources/org/hyperledger/besu/nativelib/secp256k1/secp256k1ecrecover.csv"
    for number, row in enumerate(clones.rows(path), 2):
        data = unhex(row["input"])
        if data[63] not in (27, 28):
            continue
        expect = unhex(row["result"]) if row["status"] == "0" else None
        data = data[:32] + data[64:] + bytes([data[63] - 27])
        yield Case("secp256k1_ecrecover", data, expect, f"besu-native/{path}: line {number}")


def wycheproof(clones: Clones) -> Iterator[Case]:
    for curve in ("secp256k1", "secp256r1"):
        for form in ("", "_p1363"):
            path = f"testvectors_v1/ecdsa_{curve}_sha256{form}_test.json"
            for group in json.loads(clones.text("wycheproof", path))["testGroups"]:
                key = bytes.fromhex(group["publicKey"]["uncompressed"])[1:]
                for test in group["tests"]:
                    signature = bytes.fromhex(test["sig"])
                    raw = signature if form else raw_signature(signature)
                    if raw is None or len(raw) != 64:
                        continue
                    data = hashlib.sha256(bytes.fromhex(test["msg"])).digest() + raw + key
                    verdict = {"valid": reference.TRUE, "invalid": reference.FALSE}[test["result"]]
                    yield Case(f"{curve}_verify", data, verdict, f"wycheproof/{path}: {test['tcId']}")


def raw_signature(der: bytes) -> bytes | None:
    """Return r and s of a signature in DER, or None if it is none or they do not fit in 32 bytes."""
    try:
        r, s = decode_dss_signature(der)
        return r.to_bytes(32) + s.to_bytes(32)
    except (ValueError, OverflowError):
        return None


def eip7951(clones: Clones) -> Iterator[Case]:
    path = "assets/eip-7951/test-vectors.json"
    for case in json.loads(clones.text("EIPs", path)):
        data = bytes.fromhex(case["Input"])
        if len(data) == 160:
            verdict = reference.TRUE if case["Expected"] else reference.FALSE
            yield Case("secp256r1_verify", data, verdict, f"EIPs/{path}: {case['Name'].split(': ')[0]}")


def kzg(clones: Clones) -> Iterator[Case]:
    for path in clones.names("c-kzg-4844", "tests/verify_kzg_proof"):
        case = yaml.safe_load(clones.text("c-kzg-4844", path))
        fields = {name: bytes.fromhex(value[2:]) for name, value in case["input"].items()}
        data = b"".join(fields[name] for name in ("commitment", "z", "y", "proof"))
        sizes = [len(fields[name]) for name in ("commitment", "z", "y", "proof")]
        if sizes == [48, 32, 32, 48]:
            expect = {True: reference.TRUE, False: reference.FALSE, None: None}[case["output"]]
            yield Case("kzg_point_eval", data, expect, f"c-kzg-4844/{path}")


def eip152(clones: Clones) -> Iterator[Case]:
    path = "EIPS/eip-152.md"
    pattern = r"#### Test vector (\d+)\n\* input:\s+`(\w*)`\n\* output:\s+(?:`(\w+)`|error)"
    for number, data, result in re.findall(pattern, clones.text("EIPs", path)):
        wire = bytes.fromhex(data)
        if len(wire) == 213 and wire[:4] != b"\xff" * 4:  # the last takes 4,294,967,295 rounds
            expect = bytes.fromhex(result) if result else None
            yield Case("blake2f", wire[4:212] + wire[3::-1] + wire[212:], expect, f"EIPs/{path}: vector {number}")


def modexp_input(base: bytes, exponent: bytes, modulus: bytes) -> bytes:
    lengths = b"".join(len(part).to_bytes(4, "little") for part in (base, exponent, modulus))
    return lengths + base + exponent + modulus


def own() -> Iterator[tuple[str, bytes, str]]:
    """Yield the function, input and name of cases whose results are computed by `reference`."""
    rng = random.Random(20261124)
    yield from own_hashes()
    for size in (0, 1, 2, 8, 16, 31, 32, 33, 48, 64, 96, 128, 255, 256):
        for exponent in (b"", b"\0", b"\1", b"\2", b"\3", b"\1\0\1", rng.randbytes(16)):
            modulus = rng.randbytes(size)
            yield "modexp", modexp_input(rng.randbytes(size), exponent, modulus), f"{size} bytes"
            even = modulus[:-1] + b"\0" * bool(size)
            yield "modexp", modexp_input(rng.randbytes(size + 5), exponent, even), f"{size} bytes, even modulus"
    for size, exponent in ((32, rng.randbytes(32)), (64, rng.randbytes(64)), (128, rng.randbytes(128))):
        odd = rng.randbytes(size - 1) + b"\1"
        yield "modexp", modexp_input(rng.randbytes(size), exponent, odd), f"{size} bytes, long exponent"
    for size in (512, 1024):
        odd = rng.randbytes(size - 1) + b"\1"
        yield "modexp", modexp_input(rng.randbytes(size), b"\1\0\1", odd), f"{size} bytes"
    for modulus in (b"", b"\0", b"\1", b"\0\0\1", b"\2", b"\0" * 40, b"\0" * 32 + b"\7", b"\x80" + bytes(31)):
        for base, exponent in ((b"", b""), (b"\0", b"\0"), (b"\3", b"\xff\xff"), (b"\0" * 64 + b"\5", b"\0" * 9)):
            yield "modexp", modexp_input(base, exponent, modulus), "short numbers and zeros"
    for rounds in (0, 1, 2, 3, 9, 10, 11, 12, 13, 20, 100):
        for final in (0, 1):
            words = bytes(rng.sample(range(256), 208)) if rounds == 12 else rng.randbytes(208)
            yield "blake2f", words + rounds.to_bytes(4, "little") + bytes([final]), f"{rounds} rounds"
    yield "blake2f", rng.randbytes(208) + bytes([12, 0, 0, 0, 255]), "flag 255"
    yield from own_recoveries(rng)
    yield from own_keys(rng)
    yield from own_bn(rng)
    yield from own_bls(rng)


def own_hashes() -> Iterator[tuple[str, bytes, str]]:
    for function in ("keccak256", "sha256", "ripemd160"):
        for length in range(301):
            yield function, bytes(i * 7 % 251 for i in range(length)), f"{length} bytes"
        for length in (511, 512, 1000, 4096):
            yield function, bytes(i % 253 for i in range(length)), f"{length} bytes"
        for text in (b"abc", b"message digest", b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"):
            yield function, text, repr(text.decode())
        yield function, b"1234567890" * 8, "80 digits"


def own_recoveries(rng: random.Random) -> Iterator[tuple[str, bytes, str]]:
    order = reference.K1_N
    for number in range(24):
        r, s, z = (rng.randrange(1, order).to_bytes(32) for _ in range(3))
        yield "secp256k1_ecrecover", z + r + s + bytes([number % 2]), "random r, s and hash"
    g = reference.K1_G[0].to_bytes(32)
    edges = [0, 1, order - 1, order, order + 1, reference.K1_P - 1, reference.K1_P, 2**256 - 1]
    for r in edges:
        yield "secp256k1_ecrecover", bytes(31) + b"\7" + r.to_bytes(32) + g + b"\0", "r at an edge"
    for s in edges:
        yield "secp256k1_ecrecover", bytes(31) + b"\7" + g + s.to_bytes(32) + b"\1", "s at an edge"
    yield "secp256k1_ecrecover", bytes(32) + g + g + b"\0", "hash 0"
    yield "secp256k1_ecrecover", b"\xff" * 32 + g + g + b"\1", "hash greater than the order"
    yield "secp256k1_ecrecover", g + g + g + b"\0", "the point at infinity"
    for identifier in (2, 3, 4, 27, 255):
        yield "secp256k1_ecrecover", g + g + g + bytes([identifier]), f"identifier {identifier}"


def own_keys(rng: random.Random) -> Iterator[tuple[str, bytes, str]]:
    numbers = b"".join(rng.randbytes(32) for _ in range(3))
    g = {"secp256k1": reference.K1_G, "secp256r1": (P256_X, P256_Y)}
    prime = {"secp256k1": reference.K1_P, "secp256r1": P256_P}
    for curve, (x, y) in g.items():
        p = prime[curve]
        wrong = {
            "infinity": (0, 0),
            "no point": (x, y + 1),
            "x is p": (p, y),
            "y > p": (x, 2**256 - 1),
            "-G": (x, p - y),
        }
        for name, (u, v) in wrong.items():
            yield f"{curve}_verify", numbers + u.to_bytes(32) + v.to_bytes(32), f"key: {name}"


P256_P = 2**256 - 2**224 + 2**192 + 2**96 - 1
P256_X = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296
P256_Y = 0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5


def bn_g2(point: Any) -> bytes:
    """Return the encoding of EIP-197: the imaginary part first."""
    if bn.is_inf(point):
        return bytes(128)
    x, y = bn.normalize(point)
    return b"".join(int(value).to_bytes(32) for value in (*x.coeffs[::-1], *y.coeffs[::-1]))


def own_bn(rng: random.Random) -> Iterator[tuple[str, bytes, str]]:
    p, order = bn.field_modulus, bn.curve_order
    g = reference.BN.encoded(bn.G1)
    minus, zero = reference.BN.encoded(bn.neg(bn.G1)), bytes(64)
    coordinate = {name: value.to_bytes(32) for name, value in (("p", p), ("1", 1), ("2", 2), ("3", 3), ("p+1", p + 1))}
    wrong = {
        "1, 3": coordinate["1"] + coordinate["3"],
        "p, 2": coordinate["p"] + coordinate["2"],
        "p+1, 2": coordinate["p+1"] + coordinate["2"],
        "p, p": coordinate["p"] * 2,
        "1, 2+p": coordinate["1"] + (p + 2).to_bytes(32),
        "0, 1": bytes(32) + coordinate["1"],
    }
    sums = {"G+0": (g, zero), "0+G": (zero, g), "0+0": (zero, zero), "G-G": (g, minus), "G+G": (g, g)}
    for name, (a, b) in sums.items():
        yield "bn254_g1_add", a + b, name
    for name, point in wrong.items():
        yield "bn254_g1_add", g + point, f"G + ({name})"
        yield "bn254_g1_add", point + g, f"({name}) + G"
        yield "bn254_g1_mul", point + coordinate["2"], f"2 ({name})"
    for scalar in (0, 1, 2, order - 1, order, order + 1, p - 1, p, p + 1, 2**256 - 1, rng.getrandbits(256)):
        yield "bn254_g1_mul", g + scalar.to_bytes(32), f"{scalar:x} G"
        yield "bn254_g1_mul", zero + scalar.to_bytes(32), f"{scalar:x} 0"
    g2, infinity = bn_g2(bn.G2), bytes(128)
    yield "bn254_pairing", b"", "no pair"
    yield "bn254_pairing", g + g2, "e(G, H)"
    yield "bn254_pairing", g + g2 + minus + g2, "e(G, H) e(-G, H)"
    yield "bn254_pairing", zero + g2, "e(0, H)"
    yield "bn254_pairing", g + infinity, "e(G, 0)"
    yield "bn254_pairing", zero + infinity, "e(0, 0)"
    a, b = rng.randrange(order), rng.randrange(order)
    ga, hb = reference.BN.encoded(bn.multiply(bn.G1, a)), bn_g2(bn.multiply(bn.G2, b))
    product = reference.BN.encoded(bn.multiply(bn.G1, (order - a * b) % order))
    yield "bn254_pairing", ga + hb + product + g2, "e(aG, bH) e(-abG, H)"
    yield "bn254_pairing", ga + hb + ga + g2, "e(aG, bH) e(aG, H)"
    for name, point in wrong.items():
        yield "bn254_pairing", point + g2, f"e(({name}), H)"
        yield "bn254_pairing", point + infinity, f"e(({name}), 0)"
    for name, point in {
        "H of p": p.to_bytes(32) + g2[32:],
        "H off the curve": g2[:127] + bytes([g2[127] ^ 1]),
        "the parts of H exchanged": g2[32:64] + g2[:32] + g2[96:] + g2[64:96],
        "no point of the subgroup": bn_g2(outside_bn()),
    }.items():
        yield "bn254_pairing", g + point, f"e(G, {name})"
        yield "bn254_pairing", zero + point, f"e(0, {name})"


def outside_bn() -> Any:
    """Return a point of the twist of bn254 that is not in the subgroup."""
    for number in range(1, 100):
        x = bn.FQ2([number, 0])
        y = root(x * x * x + bn.b2, bn)
        if y is not None and not bn.is_inf(bn.multiply((x, y, bn.FQ2.one()), bn.curve_order)):
            return x, y, bn.FQ2.one()
    raise AssertionError("no such point")


def root(value: Any, library: Any) -> Any:
    """Return a square root in Fp2 = Fp(i) with p = 3 mod 4, or None."""
    p = library.field_modulus
    first = value ** ((p - 3) // 4)
    alpha = first * first * value
    candidate = first * value
    if alpha == library.FQ2([p - 1, 0]):
        candidate = candidate * library.FQ2([0, 1])
    else:
        candidate = candidate * (library.FQ2.one() + alpha) ** ((p - 1) // 2)
    return candidate if candidate * candidate == value else None


def own_bls(rng: random.Random) -> Iterator[tuple[str, bytes, str]]:
    encoded, order = reference.BLS.encoded, bls.curve_order
    for scalar in (0, 1, order - 1, order, order + 1, 2**256 - 1):
        wire = scalar.to_bytes(32)
        yield "bls12_g1_msm", encoded(bls.G1) + wire, f"{scalar:x} G"
        yield "bls12_g2_msm", encoded(bls.G2) + wire, f"{scalar:x} H"
    g1 = [encoded(bls.multiply(bls.G1, rng.randrange(order))) for _ in range(8)]
    g2 = [encoded(bls.multiply(bls.G2, rng.randrange(order))) for _ in range(8)]
    for count in (2, 3, 8):
        scalars = [rng.randbytes(32) for _ in range(count)]
        yield "bls12_g1_msm", b"".join(map(bytes.__add__, g1, scalars)), f"{count} pairs"
        yield "bls12_g2_msm", b"".join(map(bytes.__add__, g2, scalars)), f"{count} pairs"
    repeated = (g1[0] + scalars[0]) * 3 + bytes(96) + scalars[1]
    yield "bls12_g1_msm", repeated, "equal points and infinity"
    yield "bls12_g2_msm", (g2[0] + scalars[0]) * 3 + bytes(192) + scalars[1], "equal points and infinity"
    p = bls.field_modulus
    for value in (0, 1, p - 1, p, 2**384 - 1):
        yield "bls12_map_fp_to_g1", value.to_bytes(48), f"{value:x}"
        yield "bls12_map_fp2_to_g2", value.to_bytes(48) + bytes(48), f"{value:x}, 0"
        yield "bls12_map_fp2_to_g2", bytes(48) + value.to_bytes(48), f"0, {value:x}"


def collected(clones: Clones) -> dict[str, list[Case]]:
    """Return the cases of each function, each input once; cases with a result that two sources state must agree."""
    found: dict[str, dict[bytes, Case]] = {name: {} for name in reference.FUNCTIONS}
    for source in (eip2537, eip7951, eip152, kzg, wycheproof, ecrecover, besu_bn, besu_bls):
        for case in source(clones):
            first = found[case.function].setdefault(case.input, case)
            if first.expect != case.expect:
                raise ValueError(f"{first.source} and {case.source} state different results of the same input")
    for function, data, name in own():
        expect = reference.FUNCTIONS[function](data)
        found[function].setdefault(data, Case(function, data, expect, f"own: {name}"))
    return {function: list(cases.values()) for function, cases in found.items()}


def line(case: Case) -> str:
    expect = None if case.expect is None else case.expect.hex()
    return json.dumps({"input": case.input.hex(), "expect": expect, "source": case.source}) + "\n"


def main() -> None:
    """Write the files and print the number of cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    for function, cases in collected(Clones(parser.parse_args().clones)).items():
        text = "".join(map(line, cases))
        (FOLDER / f"{function}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        refused = sum(case.expect is None for case in cases)
        print(f"{function:20} {len(cases):5} {refused:5} refused {len(text):8} bytes")


if __name__ == "__main__":
    main()
