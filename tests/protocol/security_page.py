"""The level of docs/security.md, from the page alone."""

from collections.abc import Sequence
from math import log2, sqrt
from typing import Any

from tests.protocol.section_2 import derived, folds

P = 2**64 - 2**32 + 1
LEAST_M, MOST_M = 3, 2**16


def level(shards: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the bits of each round by unique decoding and by Johnson's radius with its best m, which is "m"."""
    found = [rounds(shards, m) for m in (None, *nearest(shards))]
    best = max(found[1:], key=lambda of: min(bits for name, bits in of.items() if name != "m"))
    return {"unique": found[0], "johnson": best}


def nearest(shards: Sequence[dict[str, Any]]) -> list[int]:
    """Return the m on both sides of the crossing of rising and falling rounds, by bisection."""
    low, high = LEAST_M, MOST_M
    while low < high:
        middle = (low + high) // 2
        of = rounds(shards, middle)
        if of["queries"] >= min(bits for name, bits in of.items() if name not in ("queries", "hash", "m")):
            high = middle
        else:
            low = middle + 1
    return sorted({max(LEAST_M, low - 1), low})


def rounds(shards: Sequence[dict[str, Any]], m: int | None) -> dict[str, float]:
    """Return the bits of each round; ``m`` is None for unique decoding."""
    parameters, k = shards[0]["parameters"], len(shards)
    rho = 2.0 ** -parameters["log_blowup"]
    kappa = (1 + rho) / 2 if m is None else sqrt(rho) * (1 + 1 / (2 * m))
    size = 1.0 if m is None else (m + 0.5) / sqrt(rho)
    loss = log2(k)
    candidates = size if k == 1 else 1.0

    def exceptional(log_points: int) -> float:
        points = 2.0**log_points
        if points * rho == 1:
            return points * (points - 1) / 2
        if m is None:
            return points
        h = m + 0.5
        return points * (2 * h**5 + 3 * h * rho) / (3 * rho**1.5) + h / sqrt(rho)

    def bits(errors: float, lost: float, grinding: str | None) -> float:
        own = max(0.0, 3 * log2(P) - log2(errors) - lost)
        return own + (parameters[grinding] if grinding else 0)

    fractions, widest, constraints, outside = 0.0, 1, 0, 0.0
    batching, degrees, rows = 0.0, dict[int, int](), 0.0
    for shard in shards:
        openings = dict[int, int]()
        for table in shard["tables"]:
            of, h = derived(table["air"], parameters["log_blowup"]), table["log_height"]
            fractions += of.tuples * 2.0**h
            widest = max(widest, of.widest)
            constraints = max(constraints, of.constraints + (of.lookups + 3 if of.lookups else 0))
            outside = max(outside, (2**of.log_chunks + 2) * 2.0**h)
            own = of.main * (1 + of.main_next) + of.preprocessed * (1 + of.preprocessed_next) + 3 * 2**of.log_chunks
            own += of.main if k > 1 else 0
            openings[h] = openings.get(h, 0) + own + (6 * (of.lookups + 1) if of.lookups else 0)
            rows = max(rows, 2.0**h)
        blowup = parameters["log_blowup"]
        batching = max(batching, sum((n - 1) * exceptional(h + blowup) for h, n in openings.items()))
        for log, a in folds(shard):
            d = 2**a - 1 + (log - a - blowup in openings)
            degrees[log - a] = max(d, degrees.get(log - a, 0))
    found = {"separation": bits(size * (size - 1) / 2 * rows, loss, None)} if k > 1 and size > 1 else {}
    found |= {"lookups": bits(candidates * fractions * (widest + 1), 0, "lookup_pow_bits")} if fractions else {}
    found |= {
        "constraints": bits(size * constraints, loss, None),
        "out of domain": bits(size * outside, loss, "ood_pow_bits"),
        "batching": bits(batching, loss, "batch_pow_bits"),
    }
    for log, d in degrees.items():
        found[f"fold to 2^{log}"] = bits(d * exceptional(log), loss, "commit_pow_bits")
    found["queries"] = max(0.0, -parameters["num_queries"] * log2(kappa) - loss) + parameters["query_pow_bits"]
    found["hash"] = 128.0
    return found if m is None else found | {"m": m}
