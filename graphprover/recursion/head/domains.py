"""Gates for the domains of traces at the out-of-domain point: selectors, vanishing polynomials, weights of chunks."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.field import GENERATOR, P, inv, root_of_unity
from graphprover.protocol.layout import Layout
from graphprover.recursion.head import terms
from graphprover.recursion.head.gates import Gates


@dataclass(frozen=True)
class Domain:
    """The selectors of a trace domain of n rows at a point x, as terms (`graphprover.protocol.constraints`)."""

    first: int  # Z(x) / (x - 1)
    last: int  # Z(x) / (x - 1/g)
    transition: int  # x - 1/g
    vanishing: int  # Z(x) = x^n - 1
    power: int  # x^n


def domains_of(gates: Gates, layout: Layout, zeta: int) -> dict[int, Domain]:
    """Return the domains of all heights by log2 of their rows, and check that zeta is in none of them.

    Each domain is a part of the tallest one. So one check is enough: its vanishing polynomial is not zero at zeta.
    """
    heights = sorted(set(layout.log_heights))
    powers = [zeta]
    for _ in range(heights[-1]):
        powers.append(gates.product(powers[-1], powers[-1]))
    gates.inverse(gates.difference(powers[-1], gates.one))
    over_first = gates.inverse(gates.difference(zeta, gates.one))
    domains = {}
    for log_height in heights:
        vanishing = gates.difference(powers[log_height], gates.one)
        transition = terms.difference(gates, zeta, terms.literal(gates, inv(root_of_unity(log_height))))
        domains[log_height] = Domain(
            first=gates.product(vanishing, over_first),
            last=gates.product(vanishing, gates.inverse(transition)),
            transition=transition,
            vanishing=vanishing,
            power=powers[log_height],
        )
    return domains


@dataclass(frozen=True)
class Chunks:
    """How the chunks of a quotient make the right side of the constraints' identity: scale times a weighted sum."""

    weights: Sequence[int]  # of each chunk
    scale: int  # includes the vanishing polynomial


def chunks_of(gates: Gates, domain: Domain, log_height: int, log_chunks: int) -> Chunks:
    """Return how the chunks of a quotient are joined, as terms.

    Chunk i of 2^k has the shift s_i = 7 h^i, whose n-th power is 7^n w^i, with n rows and w of order 2^k. With
    u = x^n / 7^n its weight (`graphprover.protocol.constraints.chunk_weights`) is the product of (u w^-j - 1) over all
    j but i, divided by the product of (w^l - 1) over l from 1 to 2^k - 1. The divisor is 1 for one chunk, else -2^k.
    """
    if not log_chunks:
        return Chunks([gates.one], domain.vanishing)
    u = gates.product(domain.power, gates.literal(inv(pow(GENERATOR, 1 << log_height, P))))
    root = inv(root_of_unity(log_chunks))
    factors = []
    for j in range(1 << log_chunks):
        scaled = terms.product(gates, u, terms.literal(gates, pow(root, j, P)))
        factors.append(terms.difference(gates, scaled, gates.one))
    scale = terms.product(gates, domain.vanishing, terms.literal(gates, -inv(1 << log_chunks)))
    return Chunks(_products_of_others(gates, factors), scale)


def _products_of_others(gates: Gates, factors: Sequence[int]) -> list[int]:
    """Return for each factor the product of all others; the number of factors is a power of two."""
    products = [list(factors)]  # of all factors, of their pairs, ...
    while len(products[-1]) > 2:
        below = products[-1]
        products.append([terms.product(gates, x, y) for x, y in zip(below[::2], below[1::2], strict=True)])
    others = [gates.one]
    for own in reversed(products):
        others = [terms.product(gates, others[i // 2], own[i ^ 1]) for i in range(len(own))]
    return others
