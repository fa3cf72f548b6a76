"""A proof's values in a memory, as gates read them, and gates checked by their words alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import ZERO, Ext, ext, ext_add, ext_mul, ext_pow, ext_sub, ext_sum
from graphprover.protocol.layout import Layout
from graphprover.protocol.lookup import max_tuple_width
from graphprover.protocol.proof import BatchProof, opened_values, words_to_exts
from graphprover.protocol.verification import Challenges
from graphprover.recursion.head.batching import Batching, add_batching
from graphprover.recursion.head.constraints import add_constraints
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.inputs import GateInputs
from graphprover.recursion.head.placed import Placed, evaluate, placed
from tests.naive_constraints import join_coordinates

CHALLENGES = ("sigma", "tau", "alpha", "zeta", "gamma", "separating")
BASE, LITERALS = 1 << 20, 1 << 22


@dataclass(frozen=True)
class Proof:
    """All values of a proof that the gates read."""

    opened: list[list[list[Ext]]]  # [round][matrix]: all openings of the matrix
    terminals: list[Ext]
    public_values: Sequence[Sequence[int]]
    challenges: dict[str, Ext]


def proof_of(
    layout: Layout, proof: BatchProof, public_values: Sequence[Sequence[int]], challenges: Challenges
) -> Proof:
    """Return all values of a proof that the gates read."""
    values = iter(opened_values(layout, proof.openings))
    opened = [
        [[v for _ in matrix.points for v in words_to_exts(next(values))] for matrix in round_.matrices]
        for round_ in layout.rounds
    ]
    named = {name: getattr(challenges, name) for name in CHALLENGES[1:]}
    prefix = challenges.prefixes[layout.lookup_tables[0]][0]  # of bus 0
    sigma = ext_sub(prefix, ext_pow(challenges.tau, max_tuple_width(layout.tables)))
    terminals = [terminal for terminal in proof.terminals if terminal is not None]
    return Proof(opened, terminals, public_values, {"sigma": sigma, **named, "total": ext_sum(terminals)})


@dataclass(frozen=True, eq=False)
class Built:
    """The gates of a layout, and the addresses that they read."""

    inputs: GateInputs
    gates: Gates
    batching: Batching
    placed: Placed


def built(layout: Layout) -> Built:
    """Return the gates of a layout, with arrays at any addresses."""
    count = sum(len(matrix.points) * matrix.width for round_ in layout.rounds for matrix in round_.matrices)
    names = [*CHALLENGES, "total"]
    counts = (6 * count, count, count, 6 * len(layout.tables), count + 1, *[1] * len(names))
    opened, quotient, permutation, terminals, suffixes, *challenges, after = np.cumsum(
        [1000, *(size + 7 for size in counts)]
    ).tolist()
    public = []
    for air in layout.tables:
        public.append([after + 3 * i for i in range(air.num_public_values)])
        after += 3 * air.num_public_values
    named = dict(zip(names, challenges, strict=True))
    inputs = GateInputs(opened, quotient, permutation, public, terminals, suffixes=suffixes, **named)
    gates = Gates()
    add_constraints(gates, layout, inputs)
    batching = add_batching(gates, layout, inputs)
    return Built(inputs, gates, batching, placed(gates, BASE, LITERALS, 0))


def memory_of(layout: Layout, of: Built, proof: Proof) -> dict[int, Ext]:
    """Return the cells of a proof by their addresses."""
    inputs, memory = of.inputs, {}
    by_round = {
        round_.name: [value for matrix in opened for value in matrix]
        for round_, opened in zip(layout.rounds, proof.opened, strict=True)
    }
    values = [value for own in by_round.values() for value in own]
    memory.update({inputs.opened + 6 * i + 1: value for i, value in enumerate(values)})
    memory.update({inputs.terminals + 6 * i + 1: value for i, value in enumerate(proof.terminals)})
    for base, name in ((inputs.joined_quotient, "quotient"), (inputs.joined_permutation, "permutation")):
        memory.update({base + i: value for i, value in enumerate(join_coordinates(by_round[name]))})
    for addresses, of_table in zip(inputs.public_values, proof.public_values, strict=True):
        memory.update(zip(addresses, map(ext, of_table), strict=True))
    memory.update({getattr(inputs, name): value for name, value in proof.challenges.items()})
    suffix = memory[inputs.suffixes + len(values)] = (3, 1, 4)  # anything
    for i in range(len(values) - 1, -1, -1):
        suffix = memory[inputs.suffixes + i] = ext_add(values[i], ext_mul(proof.challenges["gamma"], suffix))
    return memory


def filled(of: Placed, memory: dict[int, Ext]) -> dict[int, Ext]:
    """Return a memory with all values of gates."""
    cells = np.array([memory[address] for address in of.addresses[: of.cells].tolist()], dtype=np.uint64)
    values = evaluate(of, cells.reshape(-1, 3).T)
    assert values.dtype == np.uint64 and values.shape == (3, len(of.addresses))
    return {**memory, **dict(zip(of.addresses.tolist(), map(tuple, values.T.tolist()), strict=True))}


def check_words(of: Placed, memory: dict[int, Ext]) -> None:
    """Check each word of all chunks against the memory."""
    assert of.words.dtype == np.uint64 and len(of.words) == 128 * sum(of.chunks)
    kinds = [ext_mul] * of.chunks[0] + [ext_add] * of.chunks[1] + [ext_sub] * of.chunks[2]
    for i, word in enumerate(of.words.tolist()):
        chunk, place = divmod(i, 128)
        if not place:
            assert word == 0
            continue
        a, b = memory[word % 2**32], memory[word >> 32]
        result = memory.get(BASE + 256 * chunk + 2 * place, ZERO)  # gates that fill a chunk have 0
        assert result == kinds[chunk](a, b)
    for i, literal in enumerate(of.literals.tolist()):
        assert memory[LITERALS + 2 * i] == ext(literal)


def failed(of: Placed, memory: dict[int, Ext]) -> list[int]:
    """Return the addresses of checks that are not zero."""
    return [address for address in of.checks.tolist() if memory[address] != ZERO]
