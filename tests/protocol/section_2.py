"""The numbers that docs/protocol.md, sections 2, 4 and 10, derives from a file statement.json, from the page alone."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Derived:
    """What section 2 derives from a description."""

    main: int
    main_next: bool
    preprocessed: int
    preprocessed_next: bool
    log_chunks: int  # c
    lookups: int
    constraints: int  # of the description
    tuples: int
    widest: int  # fields of the widest tuple; 0 without tuples


@dataclass(frozen=True)
class Matrix:
    """A matrix of section 4."""

    table: int
    width: int
    log_height: int  # log2 of the rows of its table
    points: int


def derived(air: dict[str, Any], log_blowup: int) -> Derived:
    degrees: list[int] = []
    for op, a, b in air["nodes"]:
        if op <= 6:
            degrees.append({0: 0, 1: 1, 2: 1, 3: 0, 4: 1, 5: 1, 6: 0}[op])
        elif op in (7, 8):
            degrees.append(max(degrees[a], degrees[b]))
        else:
            degrees.append(degrees[a] + degrees[b] if op == 9 else degrees[a])

    def pin(tuples: list[dict[str, Any]]) -> int:
        fields = [max(degrees[field] for field in t["fields"]) for t in tuples]
        total = sum(fields)
        own = [degrees[t["multiplicity"]] + total - d for t, d in zip(tuples, fields, strict=True)]
        return max(1 + total, *own)

    local = [interaction["tuples"] for interaction in air["locals"]]
    degree = max([2, *(degrees[node] for node in air["constraints"]), *map(pin, local)])
    degree = max([degree, *(pin([t]) for t in air["globals"])])
    tuples = [t for group in local for t in group] + air["globals"]

    def lookups_for(c: int) -> int:
        columns: dict[str, list[list[dict[str, Any]]]] = {}
        for t in air["globals"]:
            of_bus = columns.setdefault(t["bus"], [])
            if of_bus and pin(of_bus[-1] + [t]) <= 2**c + 1:
                of_bus[-1].append(t)
            else:
                of_bus.append([t])
        return len(local) + sum(map(len, columns.values()))

    def cost(c: int) -> int:
        m, k = sum(op == 9 for op, _, _ in air["nodes"]), len(air["constraints"])
        f, t, lookups = sum(len(t["fields"]) for t in tuples), len(tuples), lookups_for(c)
        return 2**c * (m + 3 * (k + f) + 18 * (t + lookups)) + 2**log_blowup * 72 * (lookups + 2**c)

    least = (degree - 2).bit_length()  # ceil(log2(degree - 1))
    log_chunks = min([least, *range(least + 1, min(3, log_blowup) + 1)], key=lambda c: (cost(c), c))
    return Derived(
        air["main_width"],
        any(op == 1 and b for op, _, b in air["nodes"]),
        air["preprocessed_width"],
        any(op == 2 and b for op, _, b in air["nodes"]),
        log_chunks,
        lookups_for(log_chunks),
        len(air["constraints"]),
        len(tuples),
        max((len(t["fields"]) for t in tuples), default=0),
    )


def rounds(stated: dict[str, Any]) -> dict[str, list[Matrix]]:
    """Return the matrices of each round that exists, in order (section 4); ``stated["shard"]``: true of a shard."""
    found: dict[str, list[Matrix]] = {"main": [], "quotient": [], "preprocessed": [], "permutation": []}
    for number, table in enumerate(stated["tables"]):
        of, h = derived(table["air"], stated["parameters"]["log_blowup"]), table["log_height"]
        found["main"].append(Matrix(number, of.main, h, 1 + of.main_next + bool(stated.get("shard"))))
        found["quotient"] += [Matrix(number, 3, h, 1)] * 2**of.log_chunks
        if of.preprocessed:
            found["preprocessed"].append(Matrix(number, of.preprocessed, h, 1 + of.preprocessed_next))
        if of.lookups:
            found["permutation"].append(Matrix(number, 3 * (of.lookups + 1), h, 2))
    return {name: matrices for name, matrices in found.items() if matrices}


def folds(stated: dict[str, Any]) -> list[tuple[int, int]]:
    """Return log2 of the elements before each fold, and log2 of its arity (section 10)."""
    parameters = stated["parameters"]
    heights = sorted({table["log_height"] + parameters["log_blowup"] for table in stated["tables"]})
    goal, log, found = parameters["log_blowup"] + parameters["log_final_poly_len"], heights[-1], []
    while log > goal:
        stop = max([goal, *(height for height in heights if height < log)])
        found.append((log, min(parameters["max_log_arity"], log - stop)))
        log -= found[-1][1]
    return found
