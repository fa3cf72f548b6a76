"""The kernels' operations in their simplest form on Python integers: slow, and the oracle of the tests.

A column is a list of integers; an extension element over x^3 - x - 1 is a tuple of three, lowest power first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphprover.air.bytecode import NONE, TERMINAL, Bytecode, Opcode
from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, CONST, FIRST, LAST, MAIN, NEG, PREPROCESSED, PUBLIC, SUB, TRANSITION
from graphprover.field import ONE, ZERO, ext, ext_inv, ext_pow, ext_scale, ext_sum, inv
from tests.hashes import HASHES as HASHES
from tests.hashes import Hash
from tests.hashes import blake3_digest as blake3_digest
from tests.hashes import keccak256 as keccak256

P = 2**64 - 2**32 + 1
GENERATOR = 7
EDGES = [0, 1, 2, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**63, P - 2**32, P - 2**32 + 1, P - 2, P - 1]
"""Canonical words at which carries, borrows and halves turn over."""
LOOSE_EDGES = [*EDGES, P, P + 1, 2**64 - 2**31, 2**64 - 2, 2**64 - 1]
"""The same and words that stand for their value mod p."""

Ext = tuple[int, int, int]


# Field.


def ext_add(x: Ext, y: Ext) -> Ext:
    return ((x[0] + y[0]) % P, (x[1] + y[1]) % P, (x[2] + y[2]) % P)


def ext_sub(x: Ext, y: Ext) -> Ext:
    return ((x[0] - y[0]) % P, (x[1] - y[1]) % P, (x[2] - y[2]) % P)


def ext_mul(x: Ext, y: Ext) -> Ext:
    """Return the product of polynomials, reduced by x^4 = x^2 + x and x^3 = x + 1."""
    product = [0] * 5
    for i in range(3):
        for j in range(3):
            product[i + j] += x[i] * y[j]
    for k in (4, 3):
        product[k - 2] += product[k]
        product[k - 3] += product[k]
    return (product[0] % P, product[1] % P, product[2] % P)


# Transforms.


def root_of_unity(log_order: int) -> int:
    return pow(GENERATOR, (P - 1) >> log_order, P)


def reverse_bits(i: int, bits: int) -> int:
    return int(format(i, f"0{bits}b")[::-1], 2) if bits else 0


def evaluate(coefficients: Sequence[int], x: int) -> int:
    return sum(a * pow(x, i, P) for i, a in enumerate(coefficients)) % P


def coset(log_size: int, shift: int) -> list[int]:
    """Return shift * (the subgroup of order 2^log_size) in bit-reversed order."""
    root = root_of_unity(log_size)
    return [shift * pow(root, reverse_bits(i, log_size), P) % P for i in range(1 << log_size)]


def interpolate(points: Sequence[int], values: Sequence[int]) -> list[int]:
    """Return the coefficients of the polynomial of least degree through the points, by Lagrange's formula."""
    result = [0] * len(points)
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        numerator = [1]
        denominator = 1
        for j, z in enumerate(points):
            if j != i:
                # numerator times (X - z)
                shifted, scaled = [0, *numerator], [*(-z * a for a in numerator), 0]
                numerator = [(a + b) % P for a, b in zip(shifted, scaled, strict=True)]
                denominator = denominator * (x - z) % P
        scale = y * pow(denominator, -1, P)
        result = [(a + scale * b) % P for a, b in zip(result, numerator, strict=True)]
    return result


# Hashes.


def word_bytes(words: Sequence[int]) -> bytes:
    """Return 8-byte little-endian words."""
    return b"".join(int(word).to_bytes(8, "little") for word in words)


def leaf(rows: Sequence[Sequence[int]], hash: Hash) -> bytes:
    """Return the digest of the rows of all matrices of one height."""
    return hash(b"".join(word_bytes(row) for row in rows))


def hash_pairs(layer: Sequence[bytes], joining: Sequence[bytes] | None, hash: Hash) -> list[bytes]:
    """Return the parents of a layer of digests, each hashed once more with the digest that joins it."""
    parents = [hash(layer[i] + layer[i + 1]) for i in range(0, len(layer), 2)]
    return parents if joining is None else [hash(node + digest) for node, digest in zip(parents, joining, strict=True)]


def grind(seed: bytes, bits: int, start: int, stop: int, hash: Hash) -> int:
    """Return the smallest nonce in [start, stop) with enough work, or -1.

    The hash of ``seed`` and the nonce, read big-endian, must end in ``bits`` zeros.
    """
    for nonce in range(start, stop):
        digest = hash(seed + nonce.to_bytes(8, "little"))
        if int.from_bytes(digest, "big") % 2**bits == 0:
            return nonce
    return -1


# Bytecode, LogUp, openings, DEEP, FRI.


def domain_point(index: int, log_size: int) -> int:
    """Return point ``index`` of 7 * K, K of order 2^log_size, in bit-reversed order."""
    return GENERATOR * pow(root_of_unity(log_size), reverse_bits(index, log_size), P) % P


def next_row(index: int, log_rows: int, log_chunks: int) -> int:
    """Return the index of the point times the trace's generator on the bit-reversed quotient domain."""
    log_size = log_rows + log_chunks
    natural = reverse_bits(index, log_size) + (1 << log_chunks)
    return reverse_bits(natural % (1 << log_size), log_size)


def selectors(log_rows: int, log_chunks: int) -> list[tuple[int, int, int, int]]:
    """Return (first, last, transition, 1 / vanishing) at every point of the bit-reversed quotient domain."""
    last_point = inv(root_of_unity(log_rows))
    rows = []
    for index in range(1 << (log_rows + log_chunks)):
        x = domain_point(index, log_rows + log_chunks)
        vanishing = (pow(x, 1 << log_rows, P) - 1) % P
        rows.append(
            (vanishing * inv(x - 1) % P, vanishing * inv(x - last_point) % P, (x - last_point) % P, inv(vanishing))
        )
    return rows


@dataclass(frozen=True)
class Row:
    """The values that an expression may read on one row."""

    main: tuple[list[int], list[int]]  # this row, the next one
    preprocessed: tuple[list[int], list[int]]
    public: list[int]
    selectors: tuple[int, ...]  # first, last, transition (and 1 / vanishing)
    permutation: tuple[list[Ext], list[Ext]] = ((), ())


def node_values(description: AirDescription, row: Row) -> list[int]:
    """Return the values of all nodes on one row."""
    values: list[int] = []
    for op, a, b in description.nodes:
        if op == CONST:
            values.append(a)
        elif op == MAIN:
            values.append(row.main[b][a])
        elif op == PREPROCESSED:
            values.append(row.preprocessed[b][a])
        elif op == PUBLIC:
            values.append(row.public[a])
        elif op in (FIRST, LAST, TRANSITION):
            values.append(row.selectors[(FIRST, LAST, TRANSITION).index(op)])
        elif op == NEG:
            values.append(-values[a] % P)
        else:
            x, y = values[a], values[b]
            values.append((x + y if op == ADD else x - y if op == SUB else x * y) % P)
    return values


def denominator(fields: Sequence[int], prefix: Ext, tau: Ext) -> Ext:
    """Return prefix - sum_i field_i * tau^(k-1-i), by Horner's rule."""
    total = ZERO
    for field in fields:
        total = ext_add(ext_mul(total, tau), ext(field))
    return ext_sub(prefix, total)


def quotient(
    description: AirDescription, row: Row, prefixes: Sequence[Ext], tau: Ext, alpha: Ext, terminal: Ext
) -> Ext:
    """Return all constraints of one row folded by Horner's rule, over the vanishing polynomial."""
    nodes = node_values(description, row)
    values = [ext(nodes[node]) for node in description.constraints]
    if description.lookups:
        here, following = row.permutation
        for lookup, prefix, fraction in zip(description.lookups, prefixes, here[1:], strict=True):
            denominators = [denominator([nodes[f] for f in entry.fields], prefix, tau) for entry in lookup.tuples]
            product, numerator = ONE, ZERO
            for i, entry in enumerate(lookup.tuples):
                product = ext_mul(product, denominators[i])
                summand = ext(nodes[entry.multiplicity])
                for j, other in enumerate(denominators):
                    if j != i:
                        summand = ext_mul(summand, other)
                numerator = ext_add(numerator, summand)
            values.append(ext_sub(ext_mul(product, fraction), numerator))
        first, last, transition, _ = row.selectors
        end = ext_add(here[0], ext_sum(here[1:]))
        values.append(ext_scale(here[0], first))
        values.append(ext_scale(ext_sub(following[0], end), transition))
        values.append(ext_scale(ext_sub(terminal, end), last))
    total = ZERO
    for value in values:
        total = ext_add(ext_mul(total, alpha), value)
    return ext_scale(total, row.selectors[3])


def constants(
    bytecode: Bytecode, public_values: Sequence[int], prefixes: Sequence[Ext], tau: Ext, alpha: Ext, terminal: Ext
) -> list[int]:
    """Return the constant planes, weight by weight."""
    values: list[int] = []
    for op, a, b in bytecode.uniforms:
        if op in (CONST, PUBLIC):
            values.append(a if op == CONST else public_values[a])
        elif op == NEG:
            values.append(-values[a] % P)
        else:
            x, y = values[a], values[b]
            values.append((x + y if op == ADD else x - y if op == SUB else x * y) % P)

    planes = [values[node] for node in bytecode.base_constants]
    for weights in bytecode.ext_constants:
        total = ZERO
        for weight in weights:
            challenges = {NONE: ONE, TERMINAL: terminal, **dict(enumerate(prefixes))}
            summand = ext_mul(ext_pow(alpha, weight.alpha), ext_pow(tau, weight.tau))
            summand = ext_mul(ext_mul(summand, ext_pow((0, 1, 0), weight.shift)), challenges[weight.challenge])
            value = weight.sign * (1 if weight.node == NONE else values[weight.node])
            total = ext_add(total, ext_scale(summand, value % P))
        planes += total
    return planes


def run_bytecode(bytecode: Bytecode, constants: Sequence[int], read: Callable[[int, int, int], int]) -> list[int]:
    """Return the output planes of bytecode on one row; ``read(matrix, row, offset)`` returns an input."""
    inputs = [read(*map(int, source)) for source in bytecode.inputs]
    planes: list[int] = [*map(int, constants), *inputs] + [None] * (bytecode.outputs + bytecode.registers)  # type: ignore[list-item]
    start = len(constants) + len(inputs)

    def get(plane: int) -> Ext:
        return (planes[plane], planes[plane + 1], planes[plane + 2])

    for op, width, d, a, b, count in bytecode.instructions.tolist():
        if op in (Opcode.ADD, Opcode.SUB):
            sign = 1 if op == Opcode.ADD else -1
            planes[d : d + width] = [(planes[a + i] + sign * planes[b + i]) % P for i in range(width)]
        elif op == Opcode.MUL:
            planes[d] = planes[a] * planes[b] % P
        elif op == Opcode.SCALE:
            planes[d : d + 3] = ext_scale(get(a), planes[b])
        elif op == Opcode.SUB_BASE:
            planes[d : d + 3] = ext_sub(get(a), ext(planes[b]))
        elif op == Opcode.EXT_MUL:
            planes[d : d + 3] = ext_mul(get(a), get(b))
        else:
            assert op == Opcode.LINEAR
            total = planes[a : a + width]
            for plane, weight in bytecode.terms[b : b + count].tolist():
                total = [(total[i] + planes[plane] * planes[weight + i]) % P for i in range(width)]
            planes[d : d + width] = total
    return planes[start : start + bytecode.outputs]


def lookup_columns(
    denominators: Sequence[Sequence[Ext]], multiplicities: Sequence[Sequence[int]], groups: Sequence[int]
) -> tuple[list[list[Ext]], Ext]:
    """Return (columns, terminal) from the tuples' columns.

    The columns are the accumulator, then for each group the sum of its fractions m / d.
    """
    rows = len(multiplicities[0])
    columns: list[list[Ext]] = [[]]
    tuples = iter(zip(denominators, multiplicities, strict=True))
    for count in groups:
        members = [next(tuples) for _ in range(count)]
        columns.append(
            [ext_sum(ext_scale(ext_inv(d[r]), m[r]) if m[r] else ZERO for d, m in members) for r in range(rows)]
        )
    running = ZERO
    for row in range(rows):
        columns[0].append(running)
        running = ext_add(running, ext_sum(column[row] for column in columns[1:]))
    return columns, running


def value_at(values: Sequence[int], log_size: int, z: Ext) -> Ext:
    """Return p(z) for the polynomial with these values on 7 * H in bit-reversed order, by Lagrange's formula."""
    xs = [domain_point(i, log_size) for i in range(len(values))]
    total = ZERO
    for i, value in enumerate(values):
        term = ext(value)
        for j, x in enumerate(xs):
            if j != i:
                term = ext_scale(ext_mul(term, ext_sub(z, ext(x))), inv(xs[i] - x))
        total = ext_add(total, term)
    return total


def reduced_opening(
    columns: Sequence[Sequence[int]], points: Sequence[Ext], opened: Sequence[Sequence[Ext]], offset: int, gamma: Ext
) -> list[Ext]:
    """Return sum over points z and columns p of gamma^k (p(z) - p(x)) / (z - x) for all x, k counting from offset."""
    rows = len(columns[0])
    result = []
    for row in range(rows):
        x = ext(domain_point(row, rows.bit_length() - 1))
        total, power = ZERO, ext_pow(gamma, offset)
        for z, claims in zip(points, opened, strict=True):
            for column, claim in zip(columns, claims, strict=True):
                quotient = ext_mul(ext_sub(claim, ext(column[row])), ext_inv(ext_sub(z, x)))
                total = ext_add(total, ext_mul(power, quotient))
                power = ext_mul(power, gamma)
        result.append(total)
    return result


def fold(codeword: Sequence[Ext], log_arity: int, beta: Ext) -> list[Ext]:
    """Return the value at beta of the polynomial through each group of 2^log_arity neighbours (Lagrange's formula)."""
    arity, log_size = 1 << log_arity, len(codeword).bit_length() - 1
    result = []
    for start in range(0, len(codeword), arity):
        xs = [pow(root_of_unity(log_size), reverse_bits(start + i, log_size), P) for i in range(arity)]
        total = ZERO
        for i, value in enumerate(codeword[start : start + arity]):
            for j, x in enumerate(xs):
                if j != i:
                    value = ext_scale(ext_mul(value, ext_sub(beta, ext(x))), inv(xs[i] - x))
            total = ext_add(total, value)
        result.append(total)
    return result
