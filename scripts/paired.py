"""Paired comparison of two sides: an interval by Student's t, Wilcoxon's signed-rank test, and one verdict.

Judges the differences of neighbouring turns, so that a slow minute affects both sides of a pair.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """The comparison of B with A. Differences are B - A over their mean, so 0.03 is 3 %."""

    difference: float  # the mean over pairs
    low: float  # the interval of the mean, at the given level
    high: float
    p: float  # by Wilcoxon's test: probability of equally uneven ranks under random signs

    def told_apart(self, level: float) -> bool:
        """Return whether both tests find a difference."""
        return self.p <= level and not self.low <= 0 <= self.high


def compared(a: Sequence[float], b: Sequence[float], level: float) -> Comparison:
    """Return the comparison of equally many figures of both sides, at least two, in the order of the pairs."""
    found = [difference(x, y) for x, y in zip(a, b, strict=True)]
    mean = statistics.fmean(found)
    half = quantile(level, len(found) - 1) * statistics.stdev(found) / math.sqrt(len(found))
    return Comparison(mean, mean - half, mean + half, wilcoxon(found))


def difference(x: float, y: float) -> float:
    """Return y - x over the mean of their sizes: -2 to 2, and 0 for equal values."""
    return 0.0 if x == y else 2 * (y - x) / (abs(x) + abs(y))


def wilcoxon(differences: Sequence[float]) -> float:
    """Return the exact two-sided p-value, also for tied ranks; pairs without a difference are dropped."""
    left = [value for value in differences if value]
    sizes = Counter(abs(value) for value in left)
    below = 0
    doubled: dict[float, int] = {}  # twice the rank of each size, an integer also for tied ranks
    for size in sorted(sizes):
        doubled[size] = 2 * below + sizes[size] + 1
        below += sizes[size]
    # The share of all sign vectors for which the positive ranks add up to each sum.
    shares = np.zeros(len(left) * (len(left) + 1) + 1)
    shares[0] = 1
    for value in left:
        rank = doubled[abs(value)]
        shares /= 2
        shares[rank:] += shares[:-rank].copy()
    found = sum(doubled[value] for value in left if value > 0)
    return min(1.0, 2 * float(min(shares[: found + 1].sum(), shares[found:].sum())))


def within(t: float, freedom: int) -> float:
    """Return the probability that Student's t with ``freedom`` degrees of freedom lies between -t and t."""
    angle = math.atan2(t, math.sqrt(freedom))
    squared = math.cos(angle) ** 2
    first, factor = (1, math.cos(angle)) if freedom % 2 else (0, 1.0)
    terms = 0.0
    for k in range(first + 1, freedom, 2):
        terms += factor
        factor *= squared * k / (k + 1)
    if freedom % 2 == 0:
        return math.sin(angle) * terms
    return 2 / math.pi * (angle + math.sin(angle) * terms)


@cache
def quantile(level: float, freedom: int) -> float:
    """Return the t with this two-sided tail probability."""
    low, high = 0.0, 1.0
    while within(high, freedom) < 1 - level:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < 1 - level else (low, middle)
    return high


def least_pairs(level: float) -> int:
    """Return the fewest pairs with which Wilcoxon's test can reach a level; even, as turns are A B B A."""
    pairs = 2
    while 2.0 ** (1 - pairs) > level:
        pairs += 2
    return pairs


def variation(values: Sequence[float]) -> float:
    """Return the standard deviation over the mean."""
    mean = statistics.fmean(values)
    return statistics.stdev(values) / abs(mean) if mean else 0.0


def drift(times: Sequence[float], values: Sequence[float]) -> float:
    """Return the rise of a straight line through the values from the first time to the last, over their mean."""
    mean, spread = statistics.fmean(values), max(times) - min(times)
    return statistics.linear_regression(times, values).slope * spread / mean if mean and spread else 0.0
