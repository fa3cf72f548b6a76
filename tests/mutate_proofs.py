"""Damaged proofs: none may be accepted, and each must be refused with a VerificationError.

    python -m tests.mutate_proofs [--hash keccak|blake3] [--count 1000000] [--seed 0] [--kernels]

Every mutation takes an honest proof of one of several small statements (including a guest with its key) and changes its
bytes (flips, cuts, insertions, parts of another proof or place, words), its header, or parts of its payload, which is
encoded again; of a sharded proof also digests, number and order of shards. With --compressed the proofs are compressed
ones of one and of two layers, of which also the headers of all proofs and their order change. Unchanged bytes do not
count. NumPy verifies them, or with --kernels the prover's kernels.

Prints the numbers of mutations tried and accepted, exceptions of other kinds, the reasons, and the rate; the exit code
is 0 if there was no fault.
"""

import argparse
import os
import random
import re
import struct
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from graphprover import (
    Air,
    Bus,
    CompressedProof,
    Proof,
    Statement,
    Table,
    VerificationError,
    compress,
    prove,
    verify,
)
from graphprover.field import P
from graphprover.proof.sharded import SHARDS_MAGIC, ShardedProof
from graphprover.protocol.backend import NUMPY_ONLY
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES, Parameters
from graphprover.protocol.proof import BatchProof, decode, encode
from graphprover.recursion.key import LayerStatement
from graphprover.runtime.files import COMPRESSED_MAGIC
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.key import proof_kind
from graphprover.vm.statement.setup import make_key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run

GUEST = Path(__file__).parents[1] / "examples/guests/fib_iterative.elf"
# Few queries, so that a proof is small and most bytes affect the verdict. Grinding detects a changed challenge at
# once; without grinding, constraints, rows and folds must detect it.
PARAMETERS = (
    (1, 2, 0, 1, 0, 0, 0, 0, 0, 0),
    (1, 3, 1, 2, 1, 8, 8, 8, 8, 8),
    (2, 2, 0, 3, 0, 8, 0, 8, 0, 8),
)  # without the hash
DIGITS = Bus("digits")


class Digits(Air):
    """The digits to base 4, as a table to look up."""

    columns = ("count",)
    preprocessed = ("digit",)

    def define(self, t) -> None:  # type: ignore[no-untyped-def]
        t.provide(DIGITS, (t.digit,), t.count)

    def preprocessed_trace(self) -> np.ndarray:
        return np.arange(4, dtype=np.uint64)[None]


class Numbers(Air):
    """Numbers of two digits, and their public sum."""

    columns = ("low", "high", "total")
    public_values = ("sum",)

    def define(self, t) -> None:  # type: ignore[no-untyped-def]
        t.first_row(t.total - t.low - 4 * t.high)
        t.transition(t.next.total - t.total - t.next.low - 4 * t.next.high)
        t.last_row(t.total - t.public.sum)
        t.lookup(DIGITS, (t.low,))
        t.lookup(DIGITS, (t.high,))


@dataclass(frozen=True)
class Case:
    """An honest proof, and its verification."""

    proof: Proof
    statement_of: Callable[[Proof], Statement]
    shard: bool = False  # one of several

    @cached_property
    def contents(self) -> BatchProof:
        """Contents of the payload."""
        airs, own = self.statement_of(self.proof).descriptions, self.proof
        return decode(own.payload, make_layout(airs, own.log_heights, own.parameters, shard=self.shard))

    def judge(self, data: bytes) -> None:
        """Raise VerificationError unless the bytes prove the case's statement."""
        proof = Proof.from_bytes(data)
        verify(proof, self.statement_of(proof), security=0)


@dataclass(frozen=True)
class ShardedCase:
    """An honest sharded proof, and its verification."""

    proof: ShardedProof
    statement_of: Callable[[ShardedProof], Statement | ShardedStatement]
    shards: ShardedStatement

    @cached_property
    def of_shards(self) -> list[Case]:
        """Each shard as a separate proof."""
        both = zip(self.proof.proofs, self.shards.statements, strict=True)
        return [Case(proof, lambda _, stated=statement: stated, shard=True) for proof, statement in both]

    def judge(self, data: bytes) -> None:
        """Raise VerificationError unless the bytes prove the case's statement."""
        proof = ShardedProof.from_bytes(data)
        verify(proof, self.statement_of(proof), security=0)


@dataclass(frozen=True)
class CompressedCase:
    """An honest compressed proof, and its verification."""

    proof: CompressedProof
    statement_of: Callable[..., Statement]  # from the base

    @cached_property
    def of_layer(self) -> Case:
        """The last layer as a separate proof."""
        return Case(self.proof.layer, lambda _: LayerStatement())

    def judge(self, data: bytes) -> None:
        """Raise VerificationError unless the bytes prove the case's statement."""
        proof = CompressedProof.from_bytes(data)
        verify(proof, self.statement_of(proof.header, coming=True), security=0)


AnyCase = Case | ShardedCase | CompressedCase


@dataclass
class Found:
    """The results of some mutations."""

    tried: int = 0
    accepted: list[bytes] = field(default_factory=list)
    other: list[str] = field(default_factory=list)  # exceptions other than VerificationError
    reasons: Counter[str] = field(default_factory=Counter)


def numbers(rows: int, seed: int) -> Statement:
    """Return two tables."""
    low, high = np.random.default_rng(seed).integers(0, 4, (2, rows))
    total = np.cumsum(low + 4 * high)
    count = np.bincount(np.concatenate([low, high]), minlength=4)[None]
    columns = np.stack([low, high, total]).astype(np.uint64)
    return Statement([Table(Digits(), (), count), Table(Numbers(), (int(total[-1]),), columns)], "numbers")


def parameters_with(hash: str) -> list[Parameters]:
    """Return `PARAMETERS` with a hash."""
    return [Parameters(hash, *numbers) for numbers in PARAMETERS]


def cases(hash: str) -> list[Case]:
    """Return honest proofs with a hash: of tables under different parameters, and of a guest with its key."""
    made, chosen = [], parameters_with(hash)
    for seed, parameters in enumerate(chosen):
        statement = numbers(8, seed)
        proof = prove(statement, "sync", parameters=parameters, device="cpu")
        made.append(Case(proof, lambda _, stated=statement: stated))
    machine = Machine(load_elf(GUEST.read_bytes()))
    run = execute(machine.image, struct.pack("<Q", 3), record=True)
    proof = prove(statement_of_run(machine, run, "guest"), "sync", parameters=chosen[0], device="cpu")
    made.append(Case(proof, make_key(machine, [proof_kind(chosen[0])]).statement_of))
    return made


def sharded_cases(hash: str) -> list[ShardedCase]:
    """Return honest sharded proofs with a hash: of tables, and of a guest with its key."""
    made, chosen = [], parameters_with(hash)
    for seed, (parameters, shares) in enumerate(zip(chosen, ([[0], [1]], [[1], [0]], [[0], [1]]), strict=True)):
        statement = numbers(8, seed)
        shards = shards_of(statement, shares)
        proof = prove(shards, "sync", parameters=parameters, device="cpu")
        made.append(ShardedCase(proof, lambda _, stated=statement: stated, shards))
    machine = Machine(load_elf(GUEST.read_bytes()))
    run = execute(machine.image, struct.pack("<Q", 3), record=True)
    shards = shards_of_run(machine, run, cycle_ranges_of(run.cycles, 3), "guest")
    proof = prove(shards, "sync", parameters=chosen[0], device="cpu")
    made.append(ShardedCase(proof, make_key(machine, [proof_kind(chosen[0])]).statement_of, shards))
    return made


def compressed_cases() -> list[CompressedCase]:
    """Return honest compressed proofs of a guest, of one and of two layers, with its key."""
    machine = Machine(load_elf(GUEST.read_bytes()))
    run = execute(machine.image, struct.pack("<Q", 3), record=True)
    statement, level = statement_of_run(machine, run, "guest"), {"security": 20, "rate": 16, "pow_bits": 0}
    proof = prove(statement, device="cpu", **level)
    key, made = make_key(machine, [proof_kind(proof.parameters)]), list[CompressedCase]()
    for _ in range(2):
        smaller = compress(made[-1].proof if made else proof, statement, device="cpu", **level)
        made.append(CompressedCase(smaller, key.statement_of))
    return made


def mutated(rng: random.Random, case: AnyCase, donor: bytes) -> bytes:
    """Return bytes that differ from the case's, perhaps with parts of ``donor``, the bytes of another proof."""
    data = case.proof.to_bytes()
    while True:
        if not isinstance(case, Case):
            of_parts = _in_shards if isinstance(case, ShardedCase) else _in_layers
            changed = of_parts(rng, case, data, donor)  # type: ignore[operator]
            if changed is not None and changed != data:
                return changed
            continue
        match rng.randrange(6):
            case 0:
                changed = _header(rng, case.proof)
            case 1:
                changed = _contents(rng, case)
            case _:
                changed = _bytes(rng, data, donor)
        if changed is not None and changed != data:
            return changed


def _in_shards(rng: random.Random, case: ShardedCase, data: bytes, donor: bytes) -> bytes | None:
    """Return a mutation of a sharded proof; None if it failed."""
    digests, shards = list(case.proof.joint.digests), [shard.to_bytes() for shard in case.proof.proofs]
    one, other = (rng.randrange(len(shards)) for _ in range(2))
    match rng.randrange(8):
        case 0:
            digests[one] = rng.choice((digests[other], bytes(32), rng.randbytes(32), bytes(31) + digests[one][31:]))
        case 1:  # with or without their digests
            shards[one], shards[other] = shards[other], shards[one]
            if rng.random() < 0.5:
                digests[one], digests[other] = digests[other], digests[one]
        case 2:
            shards[one] = shards[other]
            if rng.random() < 0.5:
                digests[one] = digests[other]
        case 3 if rng.random() < 0.5:
            del shards[one], digests[one]
        case 3:
            shards.insert(one, shards[other])
            digests.insert(one, rng.choice((digests[other], bytes(32))))
        case 4:
            changed = _header(rng, case.proof.proofs[one])
            if changed is None:
                return None
            shards[one] = changed
        case 5:
            changed = _contents(rng, case.of_shards[one])
            if changed is None:
                return None
            shards[one] = changed
        case 6:
            shards[one] = _bytes(rng, shards[one], donor)
        case _:
            return _bytes(rng, data, donor)
    parts = [SHARDS_MAGIC, struct.pack("<I", len(shards)), *digests]
    return b"".join([*parts, *(struct.pack("<Q", len(shard)) + shard for shard in shards)])


def _in_layers(rng: random.Random, case: CompressedCase, data: bytes, donor: bytes) -> bytes | None:
    """Return a mutation of a compressed proof; None if it failed."""
    proofs = [case.proof.header, *case.proof.layers]
    one, other = (rng.randrange(len(proofs)) for _ in range(2))
    match rng.randrange(8):
        case 0 | 1:
            changed = _header(rng, proofs[one])
        case 2 | 3:
            one, changed = -1, _contents(rng, case.of_layer)
        case 4:  # without a header, with one twice, or in another order
            headers = [*proofs[:-1]]
            at = rng.randrange(len(headers))
            rng.choice((headers.pop, lambda at: headers.insert(at, replace(proofs[other], payload=b""))))(at)
            return _joined([*(header.to_bytes() for header in headers), proofs[-1].to_bytes()])
        case 5 if one != other:  # with the header of another proof, or with parts of it
            name = rng.choice(("label", "parameters", "log_heights", "public_values"))
            try:
                changed = replace(proofs[one], **{name: getattr(proofs[other], name)}).to_bytes()
            except ValueError:
                return None
        case _:
            return _bytes(rng, data, donor)
    if changed is None:
        return None
    parts = [proof.to_bytes() for proof in proofs]
    parts[one] = changed
    return _joined(parts)


def _joined(proofs: Sequence[bytes]) -> bytes:
    """Return the bytes of a compressed proof from the bytes of its proofs, each about the one before."""
    headers = [struct.pack("<BI", 1, len(header)) + header for header in reversed(proofs[:-1])]
    return b"".join([COMPRESSED_MAGIC, *headers, b"\0", proofs[-1]])


def _bytes(rng: random.Random, data: bytes, donor: bytes) -> bytes:
    # Early bytes are lengths, commitments and openings; most bytes are queries, which are alike.
    at = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 2000))
    size = rng.choice((1, 1, 2, 8, 24, 32, 100))
    other = rng.randrange(len(data))
    match rng.randrange(10):
        case 0 | 1 | 2:
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 3:
            return data[:at] + rng.choice((b"\0", b"\1", b"\x7f", b"\x80", b"\xff")) * size + data[at + size :]
        case 4:
            return data[:at] + rng.choice((rng.randbytes(size), bytes(size), data[other : other + size])) + data[at:]
        case 5:
            return data[:at] + data[at + size :]
        case 6:
            return data[:at]
        case 7:  # replaced by a shard of another index
            return data[:at] + data[other : other + size] + data[at + size :]
        case 8:  # a shard of another proof
            return data[:at] + donor[at : at + size] + data[at + size :]
        case _:  # a word below p, as the reader requires
            word = rng.choice((0, 1, P - 1, P, rng.randrange(P)))
            return data[:at] + word.to_bytes(8, "little") + data[at + 8 :]


def _header(rng: random.Random, proof: Proof) -> bytes | None:
    """Return the proof with another header, or None if it has no encoding."""
    heights, values = list(proof.log_heights), [list(table) for table in proof.public_values]
    table = rng.randrange(len(heights))
    change: dict[str, object]
    match rng.randrange(8):
        case 0:
            change = {"label": rng.choice(("", "x", proof.label + "x", proof.label[:-1]))}
        case 1:
            name = rng.choice(list(Parameters.RANGES))
            low, high = Parameters.RANGES[name]
            change = {"parameters": replace(proof.parameters, **{name: rng.randint(low, min(high, 20))})}
        case 2:
            heights[table] = rng.choice((0, heights[table] ^ 1, heights[table] + 1, 26, 32, 63, 255))
            change = {"log_heights": tuple(heights)}
        case 3 if values[table]:
            word = rng.randrange(len(values[table]))
            changed = values[table][word]
            values[table][word] = rng.choice((0, 1, (changed + 1) % P, changed ^ 1 << rng.randrange(32), P - 1)) % P
            change = {"public_values": tuple(map(tuple, values))}
        case 4:
            values[table] = rng.choice((values[table][:-1], [*values[table], 1], values[table][::-1], [0] * 1000))
            change = {"public_values": tuple(map(tuple, values))}
        case 5:
            change = {"log_heights": tuple(heights[:-1]), "public_values": tuple(map(tuple, values[:-1]))}
        case 6:
            more = rng.choice((1, 2, 1000))
            change = {
                "log_heights": tuple(heights + heights[-1:] * more),
                "public_values": tuple(map(tuple, values + values[-1:] * more)),
            }
        case _:
            cut = rng.randrange(len(proof.payload) + 1)
            change = {"payload": rng.choice((proof.payload[:cut], proof.payload[cut:], proof.payload + bytes(8)))}
    try:
        return replace(proof, **change).to_bytes()  # type: ignore[arg-type]
    except ValueError:
        return None


def _contents(rng: random.Random, case: Case) -> bytes | None:
    """Return the proof with one part of its payload changed, or None if it has no encoding."""
    try:
        payload = encode(_changed(rng, case.contents))
    except (ArithmeticError, AttributeError, TypeError, ValueError, struct.error):
        return None
    return replace(case.proof, payload=payload).to_bytes()


def _changed(rng: random.Random, part: Any) -> Any:
    """Return the part with an element changed, dropped, repeated or exchanged."""
    if is_dataclass(part) and not isinstance(part, type):
        name = rng.choice(fields(part)).name
        return replace(part, **{name: _changed(rng, getattr(part, name))})
    if isinstance(part, int):
        return rng.choice((0, 1, part + 1, part + P, rng.randrange(P)))
    if isinstance(part, bytes | tuple) and part:
        size = rng.choice((1, 8, 24, 32)) if isinstance(part, bytes) else 1
        at, other = (rng.randrange(len(part)) // size * size for _ in range(2))
        here, there = part[at : at + size], part[other : other + size]
        match rng.randrange(4):
            case 0:
                return part[:at] + part[at + size :]
            case 1:
                return part[:at] + here + part[at:]
            case 2:
                return part[:at] + there + part[at + size :]
        if isinstance(part, tuple):
            return (*part[:at], _changed(rng, part[at]), *part[at + 1 :])
        return part[:at] + bytes([part[at] ^ 1 << rng.randrange(8)]) + part[at + 1 :]
    return None


def mutate(count: int, seed: int, all_cases: Sequence[AnyCase]) -> Found:
    """Verify ``count`` mutations."""
    rng, found = random.Random(seed), Found()
    encoded = [case.proof.to_bytes() for case in all_cases]
    for case in all_cases:
        case.judge(case.proof.to_bytes())
    weights = [1 / len(data) for data in encoded]  # because a longer proof takes longer
    while found.tried < count:
        (case,) = rng.choices(all_cases, weights)
        data = mutated(rng, case, rng.choice(encoded))
        found.tried += 1
        try:
            case.judge(data)
            found.accepted.append(data)
        except VerificationError as error:
            found.reasons[re.sub(r"[\d,.]+", "#", str(error))] += 1
        except Exception as error:  # any other exception is a fault
            found.other.append(f"{type(error).__name__}: {error}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hash", choices=HASH_NAMES, default=DEFAULT_HASH, help="of the proofs")
    parser.add_argument("--compressed", action="store_true", help="compressed proofs, which have BLAKE3")
    parser.add_argument("--count", type=int, default=1_000_000, help="mutations that are judged")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true", help="the prover's kernels judge, not NumPy alone")
    options = parser.parse_args()
    if not options.kernels:
        os.environ[NUMPY_ONLY] = "1"
    all_cases: Sequence[AnyCase] = (
        compressed_cases() if options.compressed else [*cases(options.hash), *sharded_cases(options.hash)]
    )
    print("proofs of", ", ".join(f"{len(case.proof.to_bytes()):,} bytes" for case in all_cases))
    started = time.perf_counter()
    found = mutate(options.count, options.seed, all_cases)
    rate = found.tried / (time.perf_counter() - started)
    for reason, times in found.reasons.most_common(40):
        print(f"{times:9,} {reason}")
    print(
        f"{found.tried:,} mutations, accepted = {len(found.accepted)}, other exceptions = {len(found.other)}; ", end=""
    )
    print(f"{rate:,.0f} a second")
    for error in sorted(set(found.other)):
        print(f"   {error}")
    return 1 if found.accepted or found.other else 0


if __name__ == "__main__":
    raise SystemExit(main())
