"""A forged proof whose table has constants chosen after all challenges are drawn.

The prover starts the transcript from the binding of one table and publishes a table with other constants. A verifier
that does not recompute the binding accepts, although no trace satisfies the table.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphprover.air import Air
from graphprover.field import Ext, P, ext_add, ext_mul, ext_neg, inv
from graphprover.protocol import arrays, verification
from graphprover.protocol.constraints import join_quotients, selectors_of
from graphprover.protocol.proof import decode, words_to_exts
from graphprover.statement.statement import Statement, Table
from tests.interop.case import Case
from tests.interop.tables import PLAIN

ROWS = 8
PROMISED = (11, 12, 13)  # the constants in the binding


class Equal(Air):
    """One column that equals each of three constants on every row."""

    columns = ("x",)

    def __init__(self, constants: Sequence[int]) -> None:
        self.constants = constants

    def define(self, t: Any) -> None:
        for constant in self.constants:
            t.every_row(t.x - constant)


def equal(constants: Sequence[int]) -> Case:
    """Return the statement with these constants, and a trace that satisfies no constraint."""
    main = np.arange(1, ROWS + 1, dtype=np.uint64)[None] ** np.uint64(3)
    return Case(PLAIN, Statement([Table(Equal(constants), (), main)]))


def forge() -> tuple[Case, Case, bytes]:
    """Return the statement of the binding, the false statement, and a payload that fits the latter.

    The payload opens its commitments, so only the folded constraints at ζ are wrong: Σ (x(ζ) − k_i) α^(2−i) must be
    Q(ζ) Z(ζ). For three constants k_i of the base field it is one equation in the extension, with three coordinates.
    """
    promised = equal(PROMISED)
    payload = promised.prove()
    layout, proof = promised.layout, decode(payload, promised.layout)
    drawn = verification.replay(layout, proof, [()], None, promised.binding)
    (x,) = words_to_exts(proof.openings[0].main)
    vanishing = arrays.exts([selectors_of(layout, drawn.zeta)[0].vanishing])
    found = arrays.ext_multiply(join_quotients(layout, proof.openings, drawn.zeta), vanishing)[:, 0]
    a, b, c = (int(word) for word in found)
    square = ext_mul(drawn.alpha, drawn.alpha)
    folded = ext_mul(x, ext_add(ext_add(square, drawn.alpha), (1, 0, 0)))
    return promised, equal(coordinates(ext_add(folded, ext_neg((a, b, c))), square, drawn.alpha)), payload


def coordinates(of: Ext, square: Ext, alpha: Ext) -> tuple[int, int, int]:
    """Return the k with k_0 ``square`` + k_1 ``alpha`` + k_2 = ``of``, by Cramer's rule."""
    determinant = inv((square[1] * alpha[2] - square[2] * alpha[1]) % P)
    first = (of[1] * alpha[2] - of[2] * alpha[1]) * determinant % P
    second = (square[1] * of[2] - square[2] * of[1]) * determinant % P
    return first, second, (of[0] - first * square[0] - second * alpha[0]) % P
