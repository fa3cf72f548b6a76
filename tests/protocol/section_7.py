"""The challenges of docs/protocol.md, sections 6, 7 and 16, from the page alone."""

import struct
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tests.hashes import digest
from tests.protocol.section_2 import derived, folds, rounds

P = 2**64 - 2**32 + 1
BASE = f"Algebra({P}^1;{digest('keccak', b'p3-scalar-basis-v1').hex()})"
EXTENSION = f"Algebra({P}^3;{digest('keccak', b'p3-power-basis-v1:X^3-X-1').hex()})"


@dataclass
class Challenger:
    """Section 6."""

    hash: str
    pending: bytes
    output: bytes = b""

    def absorb(self, data: bytes) -> None:
        if data:
            self.pending, self.output = self.pending + data, b""

    def words(self, values: Any) -> None:
        values = list(values)
        self.absorb(struct.pack(f"<{len(values)}Q", *values))

    def squeeze(self, count: int) -> bytes:
        found = b""
        for _ in range(count):
            if not self.output:
                self.pending = self.output = digest(self.hash, self.pending)
            found, self.output = found + self.output[-1:], self.output[:-1]
        return found

    def base(self) -> int:
        while True:
            value = int.from_bytes(self.squeeze(8), "little")
            if value < P:
                return value

    def extension(self) -> list[int]:
        return [self.base(), self.base(), self.base()]

    def bits(self, count: int) -> int:
        return int.from_bytes(self.squeeze(8), "little") % 2**count

    def work(self, bits: int, nonce: int) -> None:
        if bits == 0:
            assert nonce == 0
            return
        self.squeeze(1)
        self.words([nonce])
        assert self.bits(bits) == 0


def step(kind: str, name: str, length: str, tag: str, hierarchy: str = "Atomic") -> str:
    return f"{hierarchy} {kind} {len(name)} {name} {length} {tag}"


def bracket(name: str) -> list[str]:
    return [step("Protocol", name, "None", "Marker", hierarchy) for hierarchy in ("Begin", "End")]


def seed(name: bytes, steps: list[str], numbers: list[int]) -> bytes:
    digits = len(str(len(steps) - 1))
    text = f"Plonky3 Fiat-Shamir Transcript ({len(steps)} interactions)\n"
    text += "".join(f"{i:0{digits}} {line}\n" for i, line in enumerate(steps))
    label = b"".join(struct.pack(">IQ", 8, number) for number in numbers)
    whole = (b"\x01" + name).ljust(63, b"\0") + bytes([len(name)]) + digest("keccak", text.encode())
    whole += struct.pack(">I", len(label)) + label + b"\x80"
    parts = [whole[i : i + 7].ljust(8, b"\0") for i in range(0, len(whole), 7)]
    return struct.pack("<Q", len(whole)) + b"".join(parts)


def seeds(stated: dict[str, Any]) -> dict[str, bytes]:
    """Return the seeds of the three protocols."""
    parameters, matrices = stated["parameters"], rounds(stated)
    tables = [derived(table["air"], parameters["log_blowup"]) for table in stated["tables"]]

    def cap(name: str) -> str:
        return step("Message", name, "Scalar", "Opaque")

    def challenge(name: str) -> str:
        return step("Challenge", name, "Scalar", EXTENSION)

    def work(name: str, bits: int) -> str:
        return step("Pow", name, f"Fixed({bits})", BASE)

    batch = [step("Message", "degree_bits", "Scalar", EXTENSION) for _ in tables] + [cap("main_commitment")]
    for table in stated["tables"]:
        batch.append(step("Public", "public_values", f"Fixed({table['air']['num_public_values']})", BASE))
    if "preprocessed" in matrices:
        batch.append(cap("preprocessed_commitment"))
    if "permutation" in matrices:
        batch.append(work("lookup_pow", parameters["lookup_pow_bits"]))
        batch += [challenge("lookup_alpha"), challenge("lookup_beta"), cap("permutation_commitment")]
        batch += [step("Message", "lookup_terminal", "Scalar", EXTENSION) for of in tables if of.lookups]
    batch += [challenge("constraint_challenge"), cap("quotient_commitment")]
    batch += [work("ood_pow", parameters["ood_pow_bits"]), challenge("zeta"), *bracket("opening_argument")]
    widths = [of.main for of in tables] + [of.preprocessed for of in tables]
    every = list(chain.from_iterable(matrices.values()))
    opening = [
        step("Message", "claimed_evaluations", f"Fixed({matrix.width})", EXTENSION)
        for matrix in every
        for _ in range(matrix.points)
    ]
    if parameters["batch_pow_bits"]:
        opening.append(work("batch_pow", parameters["batch_pow_bits"]))
    opening += [challenge("alpha"), *bracket("low_degree_test")]
    counted = [[len(of_round), *(matrix.points for matrix in of_round)] for of_round in matrices.values()]
    fold = [cap("commit_phase_commitment")]
    if parameters["commit_pow_bits"]:
        fold.append(work("commit_pow", parameters["commit_pow_bits"]))
    arities = [a for _, a in folds(stated)]
    fri = [*fold, challenge("fold_challenge")] * len(arities)
    fri.append(step("Message", "final_poly", f"Fixed({2 ** parameters['log_final_poly_len']})", EXTENSION))
    if parameters["query_pow_bits"]:
        fri.append(work("query_pow", parameters["query_pow_bits"]))
    fri.append(step("Challenge", "query_indices", f"Fixed({parameters['num_queries']})", f"Bits({tallest(stated)})"))
    return {
        "batch": seed(b"p3-batch-stark", batch, [len(tables), *widths]),
        "opening": seed(b"p3-fri-pcs", opening, [len(matrices), *chain.from_iterable(counted)]),
        "fri": seed(b"p3-fri", fri, [parameters["log_blowup"], parameters["max_log_arity"], *arities]),
    }


def tallest(stated: dict[str, Any]) -> int:
    return max(table["log_height"] for table in stated["tables"]) + stated["parameters"]["log_blowup"]


@dataclass(frozen=True)
class Shard:
    """The place of a shard in a sharded proof (section 16)."""

    digests: list[bytes]
    index: int


def joint_seed(hash: str, digests: list[bytes]) -> bytes:
    return digest(hash, b"graphprover joint 1" + struct.pack("<I", len(digests)) + b"".join(digests))


def shard_start(hash: str, shard: Shard, binding: bytes) -> bytes:
    return digest(hash, b"graphprover piece 2" + struct.pack("<II", len(shard.digests), shard.index) + binding)


def openings(stated: dict[str, Any], proof: dict[str, Any]) -> list[list[Any]]:
    """Return the opened values by round, matrix and point; the separating point of a shard is the last of a matrix."""
    found = []
    for name, of_round in rounds(stated).items():
        opened = iter([values for values in proof["openings"][name] if values])
        for matrix in of_round:
            separated = name == "main" and "separated" in proof
            found += [next(opened) for _ in range(matrix.points - separated)]
            if separated:
                found.append(proof["separated"][matrix.table])
    return found


def challenges(
    stated: dict[str, Any], proof: dict[str, Any], binding: bytes, preprocessed: bytes, shard: Shard | None = None
) -> dict[str, Any]:
    """Return all challenges of a proof, or of a shard.

    Args:
        stated: the statement, with the values of the file's header (`section_12.in_statement`).
        proof: the contents of the payload (`section_12.payload`).
        binding: the binding of the tables (section 11).
        preprocessed: the digests of the preprocessed cap.
        shard: the place of a shard.
    """
    parameters, start = stated["parameters"], seeds(stated)
    hash = parameters["hash"]
    state = Challenger(hash, shard_start(hash, shard, binding) if shard else binding)
    state.absorb(start["batch"])
    for table in stated["tables"]:
        state.words([table["log_height"], 0, 0])
    state.absorb(b"".join(proof["main"]))
    for table in stated["tables"]:
        state.words(table["public_values"])
    state.absorb(preprocessed)
    found: dict[str, Any] = {}
    if shard:
        found["separating"] = state.extension()
        assert any(found["separating"][1:])
        for values in proof["separated"]:
            state.words(chain.from_iterable(values))
        found["digest"] = digest(hash, state.pending).hex()
        seed_ = joint_seed(hash, shard.digests)
        drawing = Challenger(hash, seed_)
        drawing.work(parameters["lookup_pow_bits"], proof["lookup_nonce"])
        found["sigma"], found["tau"] = drawing.extension(), drawing.extension()
        state = Challenger(hash, bytes.fromhex(found["digest"]))
        state.absorb(seed_)
        state.words([proof["lookup_nonce"]])
    elif proof["lookup_nonce"] is not None:
        state.work(parameters["lookup_pow_bits"], proof["lookup_nonce"])
        found["sigma"], found["tau"] = state.extension(), state.extension()
    if proof["permutation"]:
        state.absorb(b"".join(proof["permutation"]))
        state.words(chain.from_iterable(proof["terminals"]))
    found["alpha"] = state.extension()
    state.absorb(b"".join(proof["quotient"]))
    state.work(parameters["ood_pow_bits"], proof["ood_nonce"])
    found["zeta"] = state.extension()
    state.absorb(start["opening"])
    for opened in openings(stated, proof):
        state.words(chain.from_iterable(opened))
    state.work(parameters["batch_pow_bits"], proof["batch_nonce"])
    found["gamma"] = state.extension()
    state.absorb(start["fri"])
    found["betas"] = []
    for cap, nonce in zip(proof["folds"], proof["fold_nonces"], strict=True):
        state.absorb(b"".join(cap))
        state.work(parameters["commit_pow_bits"], nonce)
        found["betas"].append(state.extension())
    state.words(chain.from_iterable(proof["final"]))
    state.work(parameters["query_pow_bits"], proof["query_nonce"])
    found["queries"] = [state.bits(tallest(stated)) for _ in range(parameters["num_queries"])]
    return found
