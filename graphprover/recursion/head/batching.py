"""Gates for the batched openings: for each height and point, the sum of gamma^k p(z) over its opened values p(z).

Let S_i be the sum of gamma^(j - i) E_j over all opened values E_j from i on, in the order of the transcript. Values a
to b - 1 with powers of gamma from o on then add up to gamma^o S_a - gamma^(o + b - a) S_b. So S_i = E_i + gamma S_(i+1)
is the only property of S that the gates use, and S behind the last value may be anything.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from graphprover.field import root_of_unity
from graphprover.protocol.layout import Layout, Matrix, Point
from graphprover.recursion.head import terms
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.inputs import GateInputs, check_shape
from graphprover.recursion.head.words import RUN


@dataclass(frozen=True)
class Batching:
    """The values of the batched openings. Heights are in the order of `Layout.fri_log_heights`."""

    points: tuple[dict[Point, int], ...]  # [height]: the points z at which any of its columns is opened
    at_z: tuple[dict[Point, int], ...]  # [height][point]: sum of gamma^k p(z)
    # [round][matrix][run]: for each at most RUN columns their number, and the power of gamma at the first one by point.
    weights: tuple[tuple[tuple[tuple[int, dict[Point, int]], ...], ...], ...]


def add_batching(gates: Gates, layout: Layout, inputs: GateInputs) -> Batching:
    """Add the gates of the batched openings.

    Args:
        gates: The gates to add to.
        layout: Shape of the proof.
        inputs: Addresses of the challenges and of S.

    Raises:
        ValueError: The layout has no lookups, or a table of one row.
    """
    check_shape(layout)
    matrices = [matrix for round_ in layout.rounds for matrix in round_.matrices]
    ends = {matrix.offset + i * matrix.width for matrix in matrices for i in range(len(matrix.points) + 1)}
    ends |= {_power_at(matrix, i) + j for matrix in matrices for i in range(len(matrix.points)) for j in _runs(matrix)}
    powers = _powers(gates, gates.at(inputs.gamma), ends)
    runs: dict[int, dict[Point, Counter[tuple[int, int]]]] = {
        log: defaultdict(Counter) for log in layout.fri_log_heights
    }
    value = 0
    for matrix in matrices:
        for i, point in enumerate(matrix.points):
            of_point, power = runs[matrix.log_rows][point], _power_at(matrix, i)
            # Runs of which one begins at the end of another have a common term, which the counts cancel.
            of_point[value, power] += 1
            value, power = value + matrix.width, power + matrix.width
            of_point[value, power] -= 1
    points, at_z = [], []
    zeta = gates.at(inputs.zeta)
    for log_rows, of_height in runs.items():
        generator = gates.literal(root_of_unity(log_rows - layout.parameters.log_blowup))
        own = {Point.ZETA: zeta}
        if Point.NEXT in of_height:
            own[Point.NEXT] = gates.product(generator, zeta)
        if Point.SEPARATING in of_height:
            own[Point.SEPARATING] = gates.at(inputs.separating)
        points.append(own)
        at_z.append({point: _sum(gates, of_height[point], powers, inputs.suffixes) for point in own})
    weights = tuple(
        tuple(
            tuple(
                (
                    min(RUN, matrix.width - j),
                    {point: powers[_power_at(matrix, i) + j] for i, point in enumerate(matrix.points)},
                )
                for j in _runs(matrix)
            )
            for matrix in round_.matrices
        )
        for round_ in layout.rounds
    )
    return Batching(tuple(points), tuple(at_z), weights)


def _power_at(matrix: Matrix, point: int) -> int:
    """Return the power of gamma at a matrix's first column; ``point``: index among its points."""
    return matrix.offset + point * matrix.width


def _runs(matrix: Matrix) -> range:
    """Return the first column of each run."""
    return range(0, matrix.width, RUN)


def _sum(gates: Gates, run: Counter[tuple[int, int]], powers: dict[int, int], suffixes: int) -> int:
    total = gates.zero
    for (value, power), sign in run.items():
        if sign:
            term = gates.product(powers[power], gates.at(suffixes + value))
            total = terms.total(gates, total, term if sign > 0 else ~term)
    return total


def _powers(gates: Gates, gamma: int, exponents: Iterable[int]) -> dict[int, int]:
    """Return powers of gamma by exponents, with 0 and 1.

    Each power is the one before times a power of the difference, so that the differences are needed first. They are
    fewer and smaller, unless there is only one exponent: that one is halved.
    """
    powers = {0: gates.one, 1: gamma}
    rest = sorted(set(exponents) - set(powers))
    if rest:
        steps = [(last - first, first) for first, last in pairwise([1, *rest])]
        if len(rest) == 1:
            steps = [(rest[0] // 2, rest[0] - rest[0] // 2)]
        powers |= _powers(gates, gamma, {exponent for step in steps for exponent in step} - set(rest))
        for exponent, (a, b) in zip(rest, steps, strict=True):
            powers[exponent] = gates.product(powers[a], powers[b])
    return powers
