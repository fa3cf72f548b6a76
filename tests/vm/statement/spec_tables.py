"""The tables of docs/machine.md that depend on a statement, and the digest of machine.json.

Written from the text of the page. It imports nothing from the package, and from tests/protocol/section_11.py only the
canonical bytes and the hash, which that file has from docs/protocol.md.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from tests.protocol.section_11 import P, canonical
from tests.protocol.section_11 import digest as digest_of

CONST, MAIN, PUBLIC, FIRST, LAST, TRANSITION, ADD, SUB, MUL, NEG = 0, 1, 3, 4, 5, 6, 7, 8, 9, 10
Expression = tuple[Any, ...]  # (op, a, b); operands of operations are expressions
Tuple = tuple[list[Expression], Expression]  # the fields that are written, and the multiplicity

ZERO, ONE = (CONST, 0, 0), (CONST, 1, 0)
first, last, transition = (FIRST, 0, 0), (LAST, 0, 0), (TRANSITION, 0, 0)


def digest(machine: dict[str, Any]) -> bytes:
    """Return the digest of the machine in the contents of machine.json."""
    hashed = b"graphprover machine" + struct.pack("<QQ", machine["version"], machine["shapes_version"])
    for table in machine["tables"]:
        described = canonical(table["air"])
        hashed += struct.pack("<QQ", table["number"], len(described)) + described
    return digest_of("keccak", hashed)


def boundary(entry: int, t: int) -> dict[str, Any]:
    m = main(0)
    constraints = [mul(m, sub(m, ONE)), mul(first, sub(m, ONE)), mul(transition, main(0, 1))]
    return air(
        (1, 3 + t),
        constraints,
        [([ONE, ONE, const(entry)], m), ([const(4), *map(public, range(3))], neg(m))],
    )


def zero_memory(start: int, end: int) -> dict[str, Any]:
    m, n = [main(i) for i in range(7)], [main(i, 1) for i in range(4)]
    gap = add(n[2], mul(n[3], const(65536)))
    constraints = [
        mul(mul(m[0], m[0]), sub(m[0], ONE)),
        mul(first, m[0]),
        mul(first, sub(m[1], const(start - 8))),
        mul(transition, sub(sub(n[1], m[1]), mul(const(8), add(n[0], gap)))),
        mul(last, sub(m[1], const(end - 8))),
    ]
    tuples = [([const(5), m[2]], ONE), ([const(5), m[3]], ONE)]
    tuples += [([const(2), m[1], ZERO, ZERO, ZERO], m[0]), ([const(2), m[1], *m[4:]], neg(m[0]))]
    return air((7, 0), constraints, tuples)


def public_words(number: int, words: int, lanes: int) -> dict[str, Any]:
    rows = -(-words // lanes)
    base, own = (3 * 2**30, 1) if number == 6 else (2**31, 3)
    m = [main(i) for i in range(rows + own * lanes)]
    constraints = [mul(mul(m[0], m[0]), sub(m[0], ONE))]
    for i in range(rows):
        constraints.append(mul(first, sub(m[i], ZERO if i else ONE)))
        constraints.append(mul(transition, sub(main(i, 1), m[i - 1] if i else ZERO)))
    tuples: list[Tuple] = []
    for j in range(lanes):
        n = sum(lanes * i + j < words for i in range(rows))
        at = add(total(mul(m[i], const(base + 8 * lanes * i)) for i in range(rows)), const(8 * j))
        on = total(m[:n])
        x, y = (total(mul(m[i], public(2 * (lanes * i + j) + part)) for i in range(n)) for part in (0, 1))
        before, after = ([ZERO, ZERO], [x, y]) if number == 6 else ([x, y], m[rows + lanes + j :: lanes])
        tuples.append(([const(2), at, ZERO, *before], on))
        tuples.append(([const(2), at, m[rows + j], *after], neg(on)))
    return air((len(m), 2 * words), constraints, tuples)


def const(value: int) -> Expression:
    return CONST, value % P, 0


def main(column: int, offset: int = 0) -> Expression:
    return MAIN, column, offset


def public(index: int) -> Expression:
    return PUBLIC, index, 0


def add(a: Expression, b: Expression) -> Expression:
    if a[0] == b[0] == CONST:
        return const(a[1] + b[1])
    return b if a == ZERO else a if b == ZERO else (ADD, a, b)


def sub(a: Expression, b: Expression) -> Expression:
    if a[0] == b[0] == CONST:
        return const(a[1] - b[1])
    return neg(b) if a == ZERO else a if b == ZERO else (SUB, a, b)


def mul(a: Expression, b: Expression) -> Expression:
    if a[0] == b[0] == CONST:
        return const(a[1] * b[1])
    return ZERO if ZERO in (a, b) else b if a == ONE else a if b == ONE else (MUL, a, b)


def neg(a: Expression) -> Expression:
    return const(-a[1]) if a[0] == CONST else (NEG, a, 0)


def total(terms: Iterable[Expression]) -> Expression:
    found = ZERO
    for term in terms:
        found = add(found, term)
    return found


def air(widths: tuple[int, int], constraints: Sequence[Expression], tuples: Sequence[Tuple]) -> dict[str, Any]:
    """Return the description in the form of machine.json, with its nodes in order."""
    numbers: dict[Expression, int] = {}
    nodes: list[list[int]] = []

    def number(of: Expression) -> int:
        if of not in numbers:
            op, a, b = of
            if op in (ADD, SUB, MUL):
                a, b = number(a), number(b)
            elif op == NEG:
                a = number(a)
            numbers[of] = len(nodes)
            nodes.append([op, a, b])
        return numbers[of]

    numbered = [number(node) for node in constraints]
    interactions = []
    for written, multiplicity in tuples:
        fields = [number(field) for field in [ZERO] * (9 - len(written)) + written]
        interactions.append({"bus": "rv64im", "fields": fields, "multiplicity": number(multiplicity), "weight": 1})
    return {
        "main_width": widths[0],
        "preprocessed_width": 0,
        "num_public_values": widths[1],
        "nodes": nodes,
        "constraints": numbered,
        "locals": [],
        "globals": interactions,
    }
