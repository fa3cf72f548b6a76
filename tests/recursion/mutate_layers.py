"""Damaged proofs: the verifier's program and the verifier in Python must give the same verdict on each.

    python -m tests.recursion.mutate_layers [--count 100000] [--seed 0]

A mutation is another number in one place, two numbers exchanged, or two mutations, of an honest proof of one of several
small statements: an opened value, terminal, coefficient, nonce, root, opened word, sibling, public value or digest of a
path. The program does not check paths: the nodes of `machine` do. So both sides get the opened rows without their
paths. If two queries open one row with different words, only hashes can refuse that, and such mutations are counted
alone. A mutation that the verifier accepts with its paths must be accepted by the program.

Prints the numbers of mutations by their places and verdicts; the exit code is 1 if some verdicts differ.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from unittest import mock

import numpy as np

from graphprover.field import EXTENSION_DEGREE, P
from graphprover.protocol import verification
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.merkle import Opening
from graphprover.protocol.proof import BatchProof
from graphprover.protocol.verification import Challenges
from graphprover.recursion.openings import openings_of
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.witness.run import Contradiction, run
from tests.interop.tables import PLAIN, fibonacci, limbs, shuffle
from tests.recursion.layered import COMMON, Child, child, child_of

ACCEPTED, REFUSED, ONLY_HASHES = "accepted", "refused", "two words of one row"
_WORK = {"lookup_pow_bits": 1, "ood_pow_bits": 1, "batch_pow_bits": 1, "commit_pow_bits": 1, "query_pow_bits": 1}
_NONCES = ("lookup_nonce", "zeta_nonce", "batch_nonce", "query_nonce")
Public = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Subject:
    """An honest proof, and both verdicts on others."""

    own: Child

    @cached_property
    def challenges(self) -> Challenges:
        """The challenges of the honest proof."""
        return self.own.challenges()

    def verdicts(self, proof: BatchProof, public_values: Public) -> tuple[str, str, str]:
        """Return the verdicts of the verifier, of the verifier without paths, and of the program."""
        own = replace(self.own, proof=proof, public_values=public_values)
        whole = without_paths = ACCEPTED
        try:
            own.check()
        except VerificationError:
            whole = REFUSED
        try:
            with mock.patch.object(verification, "verify_openings", lambda *_: None):
                own.check()
        except VerificationError:
            without_paths = REFUSED
        return whole, without_paths, self._of_program(proof, public_values)

    def _of_program(self, proof: BatchProof, public_values: Public) -> str:
        own = replace(self.own, proof=proof, public_values=public_values)
        challenges = self.challenges  # of a proof without its work, of which the program refuses the transcript
        with suppress(VerificationError):
            challenges = own.challenges()
        try:
            found = openings_of(own.layout, proof, challenges, own.preprocessed)
        except VerificationError:
            return REFUSED
        if _disagree(found.commitments, challenges.queries, own.layout.log_max_rows):
            return ONLY_HASHES
        try:
            run(verifier_program(), own.data(challenges, found))
        except Contradiction:
            return REFUSED
        return ACCEPTED


def _disagree(openings: Sequence[Opening], indices: np.ndarray, log_rows: int) -> bool:
    """Return whether two queries open one row with different words."""
    for opening in openings:
        for log, words in opening.rows.items():
            _, first, own = np.unique(indices >> log_rows - log, return_index=True, return_inverse=True)
            if (words != words[first][own]).any():
                return True
    return False


def subjects() -> list[Subject]:
    """Return honest proofs: of one height and of two, with work and without, with folds by 2, 4 and 8; a shard."""
    one, two = [fibonacci(16), shuffle(16)], [fibonacci(16), *limbs(32)]
    base = replace(PLAIN, **{**COMMON, "num_queries": 3})
    return [
        Subject(child_of(one, base)),
        Subject(child_of(one, replace(base, **{**_WORK, "num_queries": 2, "log_blowup": 2}))),
        Subject(child_of(two, replace(base, **{**_WORK, "num_queries": 1}))),
        Subject(child("a shard of one height")),
    ]


def mutated(rng: random.Random, own: Child) -> tuple[str, BatchProof, Public]:
    """Return the kind of a mutation, another proof and its public values."""
    proof = own.proof
    # A nonce without work is 0 for the verifier, and no input of the program.
    kinds = [*_KINDS, "public value"] if own.layout.parameters.query_pow_bits else [*_WITHOUT_NONCES, "public value"]
    kind = rng.choice(kinds)
    if kind == "public value":
        values = [list(of_table) for of_table in own.public_values]
        table = rng.choice([i for i, of_table in enumerate(values) if of_table])
        at = rng.randrange(len(values[table]))
        values[table][at] = _number(rng, values[table])
        return kind, proof, tuple(map(tuple, values))
    return kind, _KINDS[kind](rng, proof), own.public_values


def _number(rng: random.Random, others: Sequence[int]) -> int:
    """Return a base element: near another one, another one, an extreme one, or any."""
    other = rng.choice(others)
    near = other ^ 1 << rng.randrange(64)
    return rng.choice([other, (other + 1) % P, -other % P, near % P, 0, 1, P - 1, rng.randrange(P)])


def _words(rng: random.Random, data: bytes | memoryview) -> bytes:
    words = np.frombuffer(data, dtype="<u8").tolist()
    at = rng.randrange(len(words))
    if rng.random() < 0.2:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    else:
        words[at] = _number(rng, words)
    return np.array(words, dtype="<u8").tobytes()


def _elements(rng: random.Random, elements: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    words = np.frombuffer(_words(rng, np.array(elements, dtype="<u8").tobytes()), dtype="<u8")
    return [(a, b, c) for a, b, c in words.reshape(-1, EXTENSION_DEGREE).tolist()]


def _opened(rng: random.Random, proof: BatchProof) -> BatchProof:
    table = rng.randrange(len(proof.openings))
    of = proof.openings[table]
    parts = (
        "main",
        "main_next",
        "main_separated",
        "preprocessed",
        "preprocessed_next",
        "permutation",
        "permutation_next",
    )
    name = rng.choice([*(name for name in parts if getattr(of, name)), "quotient"])
    if name == "quotient":
        chunk = rng.randrange(len(of.quotient))
        own = replace(of, quotient=_replaced(of.quotient, chunk, _words(rng, of.quotient[chunk])))
    else:
        own = replace(of, **{name: _words(rng, getattr(of, name))})
    return replace(proof, openings=_replaced(proof.openings, table, own))


def _replaced(entries: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return *entries[:at], value, *entries[at + 1 :]


def _terminal(rng: random.Random, proof: BatchProof) -> BatchProof:
    places = [i for i, terminal in enumerate(proof.terminals) if terminal is not None]
    changed = _elements(rng, [terminal for terminal in proof.terminals if terminal is not None])
    terminals = list(proof.terminals)
    for place, terminal in zip(places, changed, strict=True):
        terminals[place] = terminal
    return replace(proof, terminals=tuple(terminals))


def _coefficient(rng: random.Random, proof: BatchProof) -> BatchProof:
    return replace(proof, final_polynomial=tuple(_elements(rng, proof.final_polynomial)))


def _nonce(rng: random.Random, proof: BatchProof) -> BatchProof:
    name = rng.choice([*_NONCES, "fold_nonces"])
    if name == "fold_nonces":
        at = rng.randrange(len(proof.fold_nonces))
        return replace(proof, fold_nonces=_replaced(proof.fold_nonces, at, _number(rng, proof.fold_nonces)))
    return replace(proof, **{name: _number(rng, [getattr(proof, name)])})


def _root(rng: random.Random, proof: BatchProof) -> BatchProof:
    names = ["main_cap", "permutation_cap", "quotient_cap", "fold_caps"]
    name = rng.choice(names)
    if name == "fold_caps":
        at = rng.randrange(len(proof.fold_caps))
        return replace(proof, fold_caps=_replaced(proof.fold_caps, at, (_words(rng, proof.fold_caps[at][0]),)))
    return replace(proof, **{name: (_words(rng, getattr(proof, name)[0]),)})


def _row(rng: random.Random, proof: BatchProof) -> BatchProof:
    at = rng.randrange(len(proof.round_queries))
    of = proof.round_queries[at]
    return replace(proof, round_queries=_replaced(proof.round_queries, at, replace(of, rows=_words(rng, of.rows))))


def _sibling(rng: random.Random, proof: BatchProof) -> BatchProof:
    at = rng.randrange(len(proof.fold_queries))
    of = proof.fold_queries[at]
    other = replace(of, siblings=_words(rng, of.siblings))
    return replace(proof, fold_queries=_replaced(proof.fold_queries, at, other))


def _path(rng: random.Random, proof: BatchProof) -> BatchProof:
    """Change a digest of a path, which the program does not see: with all others right, it accepts."""
    at = rng.randrange(len(proof.round_queries))
    of = proof.round_queries[at]
    return replace(proof, round_queries=_replaced(proof.round_queries, at, replace(of, path=_words(rng, of.path))))


def _two(rng: random.Random, proof: BatchProof) -> BatchProof:
    first, second = (_KINDS[rng.choice(_SINGLE)] for _ in range(2))
    return second(rng, first(rng, proof))


_KINDS: dict[str, Callable[[random.Random, BatchProof], BatchProof]] = {
    "opened value": _opened,
    "terminal": _terminal,
    "coefficient": _coefficient,
    "nonce": _nonce,
    "root": _root,
    "opened row": _row,
    "sibling": _sibling,
    "path": _path,
    "two places": _two,
}
_WITHOUT_NONCES = [kind for kind in _KINDS if kind != "nonce"]
_SINGLE = [kind for kind in _WITHOUT_NONCES if kind != "two places"]


def mutate(count: int, seed: int, of: Sequence[Subject]) -> Counter[tuple[str, ...]]:
    """Return the numbers of mutations by kind and the three verdicts of `Subject.verdicts`."""
    rng, found = random.Random(seed), Counter[tuple[str, ...]]()
    while found.total() < count:
        subject = rng.choice(of)
        kind, proof, public_values = mutated(rng, subject.own)
        if (proof, public_values) != (subject.own.proof, subject.own.public_values):
            found[kind, *subject.verdicts(proof, public_values)] += 1
    return found


def differing(found: Counter[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the kinds and verdicts that must not be."""
    wrong: list[tuple[str, ...]] = []
    for kind, whole, without_paths, program in found:
        hashes = program == ONLY_HASHES
        if (program != without_paths and not hashes) or (whole == ACCEPTED and program != ACCEPTED):
            wrong.append((kind, whole, without_paths, program))
    return wrong


def main() -> int:
    """Run the mutations that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begin = time.perf_counter()
    found = mutate(arguments.count, arguments.seed, subjects())
    print("mutations  kind, verdict, verdict without paths, the program's verdict")
    for key, number in sorted(found.items()):
        print(f"{number:9,}  {', '.join(key)}")
    rate = found.total() / (time.perf_counter() - begin)
    wrong = differing(found)
    print(f"{found.total():,} mutations, {rate:.0f} a second; differing verdicts: {wrong or 'none'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
