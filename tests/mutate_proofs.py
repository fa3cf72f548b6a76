"""Damaged proofs: none may be accepted, and each must be refused with a VerificationError.

    python -m tests.mutate_proofs [--hash keccak|blake3] [--compressed|--all] [--count 1000000] [--seed 0] [--kernels]

Every mutation takes an honest proof of one of several small statements (including a guest with its key) and changes its
bytes (flips, cuts, insertions, parts of another proof or place, words, large numbers), its header, or parts of its
payload, which is encoded again; of a sharded proof also digests, number and order of shards, and the file of one shard.
With --compressed the proofs are compressed ones of one and of two layers, of shards, and aggregated, of which also the
headers of all proofs, their order, and the values of shards change. With --all there are proofs of all kinds, and
verifying keys. Unchanged bytes do not count. NumPy verifies them, or with --kernels the prover's kernels.

Another process makes the proofs, so that this one has the memory of a verifier. Prints the numbers of mutations tried
and accepted, exceptions of other kinds, the reasons, the most CPU time of a verification, and the most memory of the
process; the exit code is 0 if there was no fault: none is accepted, none takes over 2 seconds, and the memory is below
300 MiB.
"""

import argparse
import multiprocessing
import os
import random
import re
import struct
import tempfile
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
    verify,
    verify_aggregate,
)
from graphprover.field import P
from graphprover.proof.compressed import Accepted, any_proof_from_bytes
from graphprover.proof.sharded import SHARD_MAGIC, SHARDS_MAGIC, Shard, ShardedProof, join
from graphprover.protocol.backend import NUMPY_ONLY
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES, Parameters
from graphprover.protocol.proof import BatchProof, decode, encode
from graphprover.runtime.files import COMPRESSED_MAGIC
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.verifier.layer_key import LayerStatement
from graphprover.vm.statement.key import Key, MalformedKey
from graphprover.vm.statement.statement import kind_of

MOST_MEMORY = 300 << 20  # bytes that a verification may take, with the interpreter and all honest proofs
MOST_SECONDS = 2.0  # CPU time that it may take
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
        """Raise VerificationError unless the bytes prove the case's statement, those of one shard with the others."""
        if data.startswith(SHARD_MAGIC):
            shard = Shard.from_bytes(data)
            if shard in self.proof.shards:
                raise VerificationError("shards.twice", "an honest shard")
            proof = join([shard, *(own for own in self.proof.shards if own.index != shard.index)])
        else:
            proof = ShardedProof.from_bytes(data)
        verify(proof, self.statement_of(proof), security=0)


@dataclass(frozen=True)
class CompressedCase:
    """An honest compressed proof, and its verification."""

    proof: CompressedProof
    statement_of: Callable[..., Statement | ShardedStatement]  # from a member

    @cached_property
    def of_layer(self) -> Case:
        """The last layer as a separate proof."""
        return Case(self.proof.layer, lambda proof: LayerStatement(proof.log_heights))

    def judge(self, data: bytes) -> None:
        """Raise VerificationError unless the bytes prove the case's statement."""
        proof = CompressedProof.from_bytes(data)
        if len(proof.members) > 1:
            verify_aggregate(proof, [self.statement_of(own, coming=True) for own in proof.members], security=0)
        else:
            verify(proof, self.statement_of(proof.header, coming=True), security=0)


@dataclass(frozen=True)
class KeyCase:
    """A verifying key, and an honest proof that it verifies."""

    proof: Key  # the subject of the mutations
    proven: Proof

    def judge(self, data: bytes) -> None:
        """Raise VerificationError unless the bytes are another key by which the proof is valid.

        The proof does not depend on where zero memory begins, as the guest uses none, on the program's hash, which its
        label does not have, and on the commitments for statements of other kinds.
        """
        try:
            key = Key.from_bytes(data)
        except MalformedKey as error:
            raise error.refusal() from None
        assert key.to_bytes() == data, "a key has two encodings"
        key.verify(self.proven, 0, exit_code="any")
        honest = self.proof
        kind = kind_of(honest.statement_of(self.proven).tables)
        same = replace(key, zero_base=honest.zero_base, program_hash=honest.program_hash, caps=honest.caps)
        if same == honest != key and key.caps[kind] == honest.caps[kind]:
            raise VerificationError("key.other", "the proof does not depend on the change of the key")


AnyCase = Case | ShardedCase | CompressedCase | KeyCase


@dataclass
class Found:
    """The results of some mutations."""

    tried: int = 0
    accepted: list[bytes] = field(default_factory=list)
    other: list[str] = field(default_factory=list)  # exceptions other than VerificationError
    seconds: float = 0.0  # most CPU time of one
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def summary(self) -> str:
        """The faults."""
        return (
            f"accepted = {len(self.accepted)}, other exceptions = {len(self.other)}, at most {self.seconds:.2f} s of "
            f"CPU time each, memory {most_memory() >> 20} MiB"
        )


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


@dataclass(frozen=True)
class Made:
    """The files of honest proofs: each is made once, by a process that need not be the one that reads it."""

    folder: Path

    def proof(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a proof or a key."""
        path = self.folder / name
        if not path.exists():
            path.write_bytes(make().to_bytes())
        data = path.read_bytes()
        return Key.from_bytes(data) if name.endswith(".vk") else any_proof_from_bytes(data)

    def key(self, name: str, proof: Any) -> Key:
        """Return the key of the guest for a proof."""

        def make() -> Key:
            from graphprover.vm.statement.key import proof_kind
            from graphprover.vm.statement.setup import make_key

            return make_key(_machine(), [proof_kind(proof.parameters)])

        found: Key = self.proof(f"{name}.vk", make)
        return found


def _machine() -> Any:
    from graphprover.vm.program.elf import load_elf
    from graphprover.vm.statement.statement import Machine

    return Machine(load_elf(GUEST.read_bytes()))


def _run(shards: int = 1) -> Any:
    """Return the statement about a run of the guest."""
    from graphprover.vm.executor.execute import execute
    from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
    from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run

    machine = _machine()
    run = execute(machine.image, struct.pack("<Q", 3), record=True)
    if shards == 1:
        return statement_of_run(machine, run, "guest")
    return shards_of_run(machine, run, cycle_ranges_of(run.cycles, shards), "guest")


def _prove(statement: Any, **options: Any) -> Any:
    from graphprover import prove

    return prove(statement, "sync", device="cpu", **options)


def cases(hash: str, made: Made) -> list[Case]:
    """Return honest proofs with a hash: of tables under different parameters, and of a guest with its key."""
    found, chosen = [], parameters_with(hash)
    for seed, parameters in enumerate(chosen):
        statement = numbers(8, seed)
        proof = made.proof(f"{hash}-{seed}", lambda of=statement, own=parameters: _prove(of, parameters=own))
        found.append(Case(proof, lambda _, stated=statement: stated))
    proof = made.proof(f"{hash}-guest", lambda: _prove(_run(), parameters=chosen[0]))
    found.append(Case(proof, made.key(f"{hash}-guest", proof).statement_of))
    return found


def sharded_cases(hash: str, made: Made) -> list[ShardedCase]:
    """Return honest sharded proofs with a hash: of tables, and of a guest with its key."""
    found, chosen = [], parameters_with(hash)
    for seed, (parameters, shares) in enumerate(zip(chosen, ([[0], [1]], [[1], [0]], [[0], [1]]), strict=True)):
        statement = numbers(8, seed)
        shards = shards_of(statement, shares)
        proof = made.proof(f"{hash}-shards-{seed}", lambda of=shards, own=parameters: _prove(of, parameters=own))
        found.append(ShardedCase(proof, lambda _, stated=statement: stated, shards))
    proof = made.proof(f"{hash}-guest-shards", lambda: _prove(_run(3), parameters=chosen[0]))
    key = made.key(f"{hash}-guest-shards", proof)
    shards = key.statement_of(proof)
    assert isinstance(shards, ShardedStatement)
    found.append(ShardedCase(proof, key.statement_of, shards))
    return found


def compressed_cases(made: Made) -> list[CompressedCase]:
    """Return honest compressed proofs of a guest with its key: of one layer, of two, of shards, and aggregated."""
    level = {"security": 20, "pow_bits": 0}

    def compressed(proof: Any, shards: int = 1) -> Any:
        from graphprover import compress

        return compress(proof, _run(shards), device="cpu", rate=4, **level)

    def aggregated() -> Any:
        from graphprover import aggregate

        return aggregate([once, base], [_run()] * 2, device="cpu", rates=(4,), **level)

    base = made.proof("base", lambda: _prove(_run(), rate=16, **level))
    of_shards = made.proof("shards", lambda: _prove(_run(3), rate=16, **level))
    once = made.proof("compressed-1", lambda: compressed(base))
    found = [
        once,
        made.proof("compressed-2", lambda: compressed(once)),
        made.proof("compressed-shards", lambda: compressed(of_shards, 3)),
        made.proof("aggregated", aggregated),
    ]
    return [CompressedCase(own, made.key("base", base).statement_of) for own in found]


def key_cases(made: Made) -> list[KeyCase]:
    """Return the verifying key of a guest."""
    (*_, of_guest) = cases(DEFAULT_HASH, made)
    return [KeyCase(made.key(f"{DEFAULT_HASH}-guest", of_guest.proof), of_guest.proof)]


def mutated(rng: random.Random, case: AnyCase, donor: bytes) -> bytes:
    """Return bytes that differ from the case's, perhaps with parts of ``donor``, the bytes of another proof."""
    data = case.proof.to_bytes()
    while True:
        if isinstance(case, KeyCase):
            changed: bytes | None = _bytes(rng, data, donor)
            if changed != data:
                return changed  # type: ignore[return-value]
            continue
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
    match rng.randrange(9):
        case 8:
            return _bytes(rng, case.proof.shards[one].to_bytes(), donor)
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
    accepted = case.proof.accepted
    layer, one, other = case.proof.layer.to_bytes(), rng.choice(accepted), rng.choice(accepted)
    changes: dict[int, list[bytes]] = {}  # the encodings in the place of a proof's, by its identity
    shards = [own for own in accepted if own.shard]
    match rng.randrange(10):
        case 0 | 1:
            header = _header(rng, one.header)
            if header is None:
                return None
            changes[id(one)] = [_child(one, header)]
        case 2:
            changed = _header(rng, case.proof.layer)
            if changed is None:
                return None
            layer = changed
        case 3 | 4:
            changed = _contents(rng, case.of_layer)
            if changed is None:
                return None
            layer = changed
        case 5:  # without a proof, with one twice, or in another order
            own, of_other = _child(one), _child(other)
            changes[id(one)] = rng.choice(([], [own, own], [own, of_other], [of_other]))
            if rng.random() < 0.5:
                changes[id(other)] = [own]
        case 6:  # with parts of another header
            name = rng.choice(("label", "parameters", "log_heights", "public_values"))
            of = rng.choice((other.header, case.proof.layer))
            try:
                changes[id(one)] = [_child(one, replace(one.header, **{name: getattr(of, name)}).to_bytes())]
            except ValueError:
                return None
        case 7 if shards:
            one = rng.choice(shards)
            own = _child(one)
            at, size = rng.choice(((-72, 4), (-68, 4), (-64, 32), (-32, 8), (-24, 8), (-16, 8), (-8, 8)))
            end = len(own) + at + size
            number = rng.choice((0, 1, rng.getrandbits(8 * size), (1 << 8 * size) - 1, 1 << 8 * size - 1))
            changes[id(one)] = [own[: len(own) + at] + number.to_bytes(size, "little") + own[end:]]
        case 7:  # the length of a header, or a number of children
            of_one = _child(one)
            at, size = rng.choice(((0, 4), (4 + one.header.size, 1)))
            number = rng.choice((0, 1, rng.getrandbits(8 * size), (1 << 8 * size) - 1, 1 << 8 * size - 1))
            changes[id(one)] = [of_one[:at] + number.to_bytes(size, "little") + of_one[at + size :]]
        case _:
            return _bytes(rng, data, donor)
    return COMPRESSED_MAGIC + _children(case.proof.children, changes) + layer


def _children(children: Sequence[Accepted], changes: dict[int, list[bytes]]) -> bytes:
    """Return the encoding of a layer's children, with their number."""
    own = [part for child in children for part in changes.get(id(child), [_child(child, changes=changes)])]
    return bytes([len(own) % 256]) + b"".join(own)


def _child(own: Accepted, header: bytes | None = None, changes: dict[int, list[bytes]] | None = None) -> bytes:
    """Return the encoding of a proof before the last layer, with another header."""
    header = own.header.to_bytes() if header is None else header
    if own.shard is None:
        rest = _children(own.children, changes or {}) if own.children else b"\0"
    else:
        of = own.shard
        rest = b"\xff" + struct.pack("<II32sQ3Q", of.count, of.index, of.digest, of.lookup_nonce, *of.total)
    return struct.pack("<I", len(header)) + header + rest


def _bytes(rng: random.Random, data: bytes, donor: bytes) -> bytes:
    # Early bytes are lengths, commitments and openings; most bytes are queries, which are alike.
    at = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 2000))
    size = rng.choice((1, 1, 2, 8, 24, 32, 100))
    other = rng.randrange(len(data))
    match rng.randrange(11):
        case 10:  # a large number in the place of a length
            size = rng.choice((1, 2, 4, 8))
            number = (1 << 8 * size - rng.choice((0, 0, 1, 4, 7))) - rng.choice((1, 1, 2))
            return data[:at] + number.to_bytes(size, "little") + data[at + size :]
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


def mutate(count: int, seed: int, all_cases: Sequence[AnyCase], tell: int = 0) -> Found:
    """Verify ``count`` mutations; ``tell``: print a line after so many."""
    rng, found = random.Random(seed), Found()
    encoded = [case.proof.to_bytes() for case in all_cases]
    for case in all_cases:
        if not isinstance(case, KeyCase):
            case.judge(case.proof.to_bytes())
    weights = [1 / max(len(data), 3000) for data in encoded]  # because a longer proof takes longer
    while found.tried < count:
        (case,) = rng.choices(all_cases, weights)
        data = mutated(rng, case, rng.choice(encoded))
        found.tried += 1
        if tell and not found.tried % tell:
            print(f"{found.tried:,} tried, {found.summary}", flush=True)
        began = time.process_time()
        try:
            case.judge(data)
            found.accepted.append(data)
        except VerificationError as error:
            found.reasons[re.sub(r"[\d,.]+", "#", str(error))] += 1
        except Exception as error:  # any other exception is a fault
            found.other.append(f"{type(error).__name__}: {error}")
        found.seconds = max(found.seconds, time.process_time() - began)
    return found


def most_memory() -> int:
    """Return the most bytes of memory that this process has had."""
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(kib) << 10


def chosen_cases(options: argparse.Namespace, made: Made) -> list[AnyCase]:
    """Return the honest proofs, which the options choose."""
    found = list[AnyCase]()
    if not options.compressed:
        found += [*cases(options.hash, made), *sharded_cases(options.hash, made)]
    if options.compressed or options.all:
        found += compressed_cases(made)
    return [*found, *key_cases(made)] if options.all else found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hash", choices=HASH_NAMES, default=DEFAULT_HASH, help="of the proofs")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--compressed", action="store_true", help="compressed proofs, which have BLAKE3")
    kinds.add_argument("--all", action="store_true", help="proofs of all kinds, and keys")
    parser.add_argument("--count", type=int, default=1_000_000, help="mutations that are judged")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", action="store_true", help="the prover's kernels judge, not NumPy alone")
    options = parser.parse_args()
    if not options.kernels:
        os.environ[NUMPY_ONLY] = "1"
    with tempfile.TemporaryDirectory() as folder:
        made = Made(Path(folder))
        maker = multiprocessing.get_context("spawn").Process(target=chosen_cases, args=(options, made))
        maker.start()
        maker.join()
        all_cases = chosen_cases(options, made)
    print("proofs of", ", ".join(f"{len(case.proof.to_bytes()):,} bytes" for case in all_cases), flush=True)
    started = time.perf_counter()
    found = mutate(options.count, options.seed, all_cases, tell=max(1, options.count // 20))
    rate = found.tried / (time.perf_counter() - started)
    for reason, times in found.reasons.most_common(60):
        print(f"{times:9,} {reason}")
    print(f"{found.tried:,} mutations, {found.summary}; {rate:,.0f} a second")
    for error in sorted(set(found.other)):
        print(f"   {error}")
    too_much = found.seconds > MOST_SECONDS or (not options.kernels and most_memory() > MOST_MEMORY)
    return 1 if found.accepted or found.other or too_much else 0


if __name__ == "__main__":
    raise SystemExit(main())
