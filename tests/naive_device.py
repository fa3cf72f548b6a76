"""A device that computes every operation by its definition on Python integers: slow, an oracle for real devices."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np

from graphprover.device import Tree
from graphprover.device.host_memory import HostMemory
from graphprover.device.interface import CPU_BATCH, Repeat
from graphprover.field import (
    GENERATOR,
    ONE,
    ZERO,
    Ext,
    P,
    ext,
    ext_add,
    ext_inv,
    ext_mul,
    ext_pow,
    ext_scale,
    ext_sub,
    ext_sum,
    inv,
    reverse_bits,
    root_of_unity,
)
from graphprover.kernels.operands import Height, Operands, Unextended
from graphprover.protocol.constraints import Selectors
from graphprover.protocol.verification import fold_groups
from graphprover.vm import kernels
from graphprover.vm.kernels.keys import Keys
from graphprover.vm.kernels.lanes import IMMEDIATE, LOG_SOURCES, Code, Lanes, Op
from graphprover.vm.tables.clock import FAR
from tests.hashes import digest
from tests.naive_constraints import Evaluations, evaluate_nodes, fold_constraints, join_coordinates

Columns = list[list[int]]


def points(shift: int, log_size: int) -> list[int]:
    """Return the coset shift·H in natural order."""
    root = root_of_unity(log_size)
    return [shift * pow(root, i, P) % P for i in range(1 << log_size)]


def bit_reversed(values: Sequence) -> list:  # type: ignore[type-arg]
    bits = len(values).bit_length() - 1
    return [values[reverse_bits(i, bits)] for i in range(len(values))]


def interpolate(values: Sequence[int], shift: int) -> list[int]:
    """Return the coefficients of the polynomial with these values on shift·H, by the inverse Fourier sum."""
    n = len(values)
    powers = points(1, n.bit_length() - 1)  # of the root; -i is n - i
    coefficients = [sum(v * powers[-i * k % n] for i, v in enumerate(values)) * inv(n) % P for k in range(n)]
    return [c * pow(inv(shift), k, P) % P for k, c in enumerate(coefficients)]


def evaluate(coefficients: Sequence[int], x: int) -> int:
    result = 0
    for c in reversed(coefficients):
        result = (result * x + c) % P
    return result


def extended(values: Sequence[int], shift: int, log_blowup: int) -> list[int]:
    """Extend values on shift·H in natural order to values on 7·K in bit-reversed order."""
    coefficients = interpolate(values, shift)
    log_rows = len(values).bit_length() - 1 + log_blowup
    return bit_reversed([evaluate(coefficients, x) for x in points(GENERATOR, log_rows)])


def matrix(columns: Columns) -> np.ndarray:
    return np.array(columns, dtype=np.uint64)


def vector(values: Sequence[Ext]) -> np.ndarray:
    return np.array(values, dtype=np.uint64).T.copy()


def exts(array: np.ndarray) -> list[Ext]:
    return [(int(a), int(b), int(c)) for a, b, c in array.T]


def groups(codeword: np.ndarray, log_arity: int) -> np.ndarray:
    """Return the matrix (3·2^log_arity, n/2^log_arity) whose rows are the groups of neighbours of a codeword."""
    arity = 1 << log_arity
    return np.concatenate([codeword[:, i::arity] for i in range(arity)])


kernels.TWINS["naive"] = __name__


def fill_lanes(device: "NaiveDevice", traces: Sequence[tuple[Code, Lanes, np.ndarray]]) -> None:
    for code, lanes, main in traces:
        height = main.shape[1]
        for number in range(height * code.lanes):
            among, row = divmod(number, height)
            registers = [0] * 256
            for word, immediate in code.words.tolist():
                op, d, a, b = (word >> 8 * i & 255 for i in range(4))
                x, y = registers[a], immediate if b == IMMEDIATE else registers[b]
                if op == Op.STORE:
                    column = immediate % 2**32 + among * (immediate >> 32)
                    main[column, row] = (x >> d) % 2 ** (64 - b) if number < lanes.count else 0
                elif number < lanes.count:
                    registers[d] = _computed(op, x, y, immediate, lanes, number, registers) % 2**64


def _computed(op: int, x: int, y: int, immediate: int, lanes: Lanes, lane: int, registers: list[int]) -> int:
    """Return the register value that an instruction computes, mod 2^64."""

    def word(place: int, source: int) -> int:
        return int(lanes.sources.arrays[source][place])

    offset, source = divmod(immediate, 1 << LOG_SOURCES)
    results: dict[int, Callable[[], int]] = {
        Op.CONSTANT: lambda: immediate,
        Op.LANE: lambda: word(lanes.first + lane, source),
        Op.LANE_NARROW: lambda: word(lanes.first + lane, source),
        Op.CLOCK: lambda: word(lanes.first + lane, source) + lanes.first_clock,
        Op.AT: lambda: word(x + offset, source),
        Op.AT_NARROW: lambda: word(x + offset, source),
        Op.ADD: lambda: x + y,
        Op.SUB: lambda: x - y,
        Op.MUL: lambda: x * y,
        Op.DIV: lambda: x // y,
        Op.AND: lambda: x & y,
        Op.OR: lambda: x | y,
        Op.XOR: lambda: x ^ y,
        Op.LEFT: lambda: x << y,
        Op.RIGHT: lambda: x >> y,
        Op.EQUAL: lambda: int(x == y),
        Op.LESS: lambda: int(x < y),
        Op.FIELD_SUB: lambda: (x - y) % P,
        Op.RECENT: lambda: y - 1 if (y - x) % 2**64 > FAR else x,
        Op.INVERSE: lambda: pow(x, P - 2, P),
        Op.SELECT: lambda: y if x else registers[immediate],
    }
    return results[op]()


def count_keys(device: "NaiveDevice", traces: Sequence[tuple[np.ndarray, Keys]], counts: np.ndarray) -> None:
    for main, keys in traces:
        begin = 0
        for end, constant, flag, place, limit in keys.keys.tolist():
            for row in main.T.tolist():
                key = (constant + sum(weight * row[column] for column, weight in keys.terms.tolist()[begin:end])) % P
                if key < limit and (flag == len(main) or row[flag]):
                    counts[place + key] += 1
            begin = end


class NaiveDevice:
    """The device of this module."""

    kind = "naive"
    threads = 1
    log_batch_rows = CPU_BATCH
    arrays = np
    memory = HostMemory()

    def task(self) -> AbstractContextManager[None]:
        return nullcontext()

    def expect(self, tables: object, *, guess: bool = False) -> None:
        """Do nothing: there is nothing to compile."""

    def place(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def repeating(self, shape: Hashable, peak: int) -> AbstractContextManager[Repeat]:
        return nullcontext(Repeat())

    def load(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def constant(self, array: np.ndarray) -> np.ndarray:
        return array

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        for row in range(rows):
            function(row, row + 1)

    def inverse(self, words: np.ndarray) -> np.ndarray:
        return np.array([pow(word, P - 2, P) for word in words.tolist()], dtype=np.uint64)

    def extend(self, matrices: Sequence[np.ndarray], log_blowup: int) -> list[np.ndarray]:
        return [self.extended(columns, log_blowup) for columns in matrices]

    def extended(self, columns: np.ndarray, log_blowup: int) -> np.ndarray:
        return matrix([extended(column, 1, log_blowup) for column in columns.tolist()])

    def extend_chunks(
        self, quotients: Sequence[np.ndarray], log_chunks: Sequence[int], log_blowup: int
    ) -> list[np.ndarray]:
        return [
            self.extended_chunks(quotient, log, log_blowup) for quotient, log in zip(quotients, log_chunks, strict=True)
        ]

    def extended_chunks(self, quotient: np.ndarray, log_chunks: int, log_blowup: int) -> np.ndarray:
        chunks = 1 << log_chunks
        log_size = quotient.shape[1].bit_length() - 1
        generator = root_of_unity(log_size)
        columns = []
        for chunk in range(chunks):
            shift = GENERATOR * pow(generator, chunk, P) % P
            for coordinate in quotient.tolist():
                natural = bit_reversed(coordinate)
                columns.append(extended(natural[chunk::chunks], shift, log_blowup))
        return matrix(columns)

    def merkle_tree(self, matrices: Sequence[np.ndarray | Unextended], cap_height: int, hash: str) -> Tree:
        return self.tree([self.whole(matrix) for matrix in matrices], cap_height, hash)

    def whole(self, matrix: np.ndarray | Unextended) -> np.ndarray:
        """Return the extension of a matrix."""
        return self.extended(matrix.columns(), matrix.log_blowup) if isinstance(matrix, Unextended) else matrix

    def tree(self, matrices: Sequence[np.ndarray], cap_height: int, hash: str) -> Tree:
        def hashed_rows(size: int) -> list[bytes] | None:
            group = [matrix for matrix in matrices if matrix.shape[1] == size]
            if not group:
                return None
            return [
                digest(hash, b"".join(int(word).to_bytes(8, "little") for matrix in group for word in matrix[:, row]))
                for row in range(size)
            ]

        size = max(matrix.shape[1] for matrix in matrices)
        layers = [hashed_rows(size)]
        while size > min(1 << cap_height, len(layers[0] or ())):
            below = layers[-1]
            assert below is not None
            size //= 2
            layer = [digest(hash, below[2 * i] + below[2 * i + 1]) for i in range(size)]
            joined = hashed_rows(size)
            if joined is not None:
                layer = [digest(hash, a + b) for a, b in zip(layer, joined, strict=True)]
            layers.append(layer)
        return Tree(tuple(layers))

    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        return tuple(tree.layers[-1])

    def gather(
        self,
        blocks: Sequence[Sequence[tuple[np.ndarray | Unextended, np.ndarray]]],
        digests: Sequence[tuple[Tree, np.ndarray]],
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        rows = [np.hstack([self.whole(matrix).T[indices] for matrix, indices in block]) for block in blocks]
        heaps = [b"".join(node for layer in reversed(tree.layers) for node in layer) for tree, _ in digests]
        nodes = []
        for heap, (tree, numbers) in zip(heaps, digests, strict=True):
            words = np.frombuffer(heap, dtype="<u8").reshape(-1, 4)
            nodes.append(words[numbers - len(tree.layers[-1])].astype(np.uint64))
        return rows, nodes

    def lookup_columns(self, tables: Sequence[Operands], tau: Ext) -> list[tuple[np.ndarray, Ext]]:
        return [self.lookups(table, tau) for table in tables]

    def lookups(self, table: Operands, tau: Ext) -> tuple[np.ndarray, Ext]:
        air, main, preprocessed = table.air, table.main, table.preprocessed
        n = main.shape[1]

        def row(columns: np.ndarray | None, index: int) -> list[Ext]:
            return [] if columns is None else [ext(int(word)) for word in columns[:, index % n]]

        columns: list[list[Ext]] = [[] for _ in range(len(air.lookups) + 1)]
        running = ZERO
        for r in range(n):
            at = Evaluations(
                row(main, r),
                row(main, r + 1),
                row(preprocessed, r),
                row(preprocessed, r + 1),
                (),
                (),
                table.public_values,
                None,
            )
            indicator = Selectors(ext(r == 0), ext(r == n - 1), ext(r < n - 1), ONE)
            values = evaluate_nodes(air, at, indicator)
            columns[0].append(running)
            for index, (lookup, prefix) in enumerate(zip(air.lookups, table.prefixes, strict=True)):
                fraction = ZERO
                for message in lookup.tuples:
                    combined = ZERO
                    for field in message.fields:
                        combined = ext_add(ext_mul(combined, tau), values[field])
                    if values[message.multiplicity] != ZERO:
                        inverse = ext_inv(ext_sub(prefix, combined))
                        fraction = ext_add(fraction, ext_mul(values[message.multiplicity], inverse))
                columns[index + 1].append(fraction)
                running = ext_add(running, fraction)
        return np.concatenate([vector(column) for column in columns]), running

    def quotient(self, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[np.ndarray]:
        return [self.quotient_of(self.on_extensions(table, log_blowup), tau, alpha, log_blowup) for table in tables]

    def on_extensions(self, table: Operands, log_blowup: int) -> Operands:
        if table.extended:
            return table
        permutation = None if table.permutation is None else self.extended(table.permutation, log_blowup)
        return replace(table, main=self.extended(table.main, log_blowup), permutation=permutation)

    def quotient_of(self, table: Operands, tau: Ext, alpha: Ext, log_blowup: int) -> np.ndarray:
        air, main, preprocessed, permutation = table.air, table.main, table.preprocessed, table.permutation
        log_height = main.shape[1].bit_length() - 1 - log_blowup
        n, log_size = 1 << log_height, log_height + air.log_quotient_chunks
        xs = points(GENERATOR, log_size)
        root = root_of_unity(log_height)

        def values(columns: np.ndarray | None, x: int) -> list[Ext]:
            return [] if columns is None else [ext(evaluate(c, x)) for c in coefficients[id(columns)]]

        coefficients = {
            id(columns): [interpolate(bit_reversed(column[:n]), GENERATOR) for column in columns.tolist()]
            for columns in (main, preprocessed, permutation)
            if columns is not None
        }
        quotient = []
        for x in xs:
            after = x * root % P
            vanishing = (pow(x, n, P) - 1) % P
            last = (x - inv(root)) % P
            selectors = Selectors(ext(vanishing * inv(x - 1)), ext(vanishing * inv(last)), ext(last), ext(vanishing))
            at = Evaluations(
                values(main, x),
                values(main, after),
                values(preprocessed, x),
                values(preprocessed, after),
                join_coordinates(values(permutation, x)),
                join_coordinates(values(permutation, after)),
                table.public_values,
                table.terminal,
            )
            folded = fold_constraints(air, at, selectors, table.prefixes, tau, alpha)
            quotient.append(ext_scale(folded, inv(vanishing)))
        return vector(bit_reversed(quotient))

    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return [self.weights(log_height, point) for log_height, point in domains]

    def weights(self, log_height: int, point: Ext) -> np.ndarray:
        n = 1 << log_height
        xs = bit_reversed(points(GENERATOR, log_height))
        # Lagrange: Z(z) / (Z'(x) (z - x)) with Z = X^n - 7^n.
        vanishing = ext_sub(ext_pow(point, n), ext(pow(GENERATOR, n, P)))
        return vector(
            [ext_scale(ext_mul(vanishing, ext_inv(ext_sub(point, ext(x)))), inv(n * pow(x, n - 1, P))) for x in xs]
        )

    def natural_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        # On H, Z = X^n - 1.
        natural = []
        for log_height, point in domains:
            n, vanishing = 1 << log_height, ext_sub(ext_pow(point, 1 << log_height), ONE)
            scaled = ((ext_inv(ext_sub(point, ext(x))), inv(n * pow(x, n - 1, P))) for x in points(1, log_height))
            natural.append(vector([ext_mul(vanishing, ext_scale(inverse, scale)) for inverse, scale in scaled]))
        return natural

    def evaluate(
        self, matrices: Sequence[np.ndarray], weights: Sequence[Sequence[np.ndarray]]
    ) -> list[list[np.ndarray]]:
        return [self.evaluated(matrix, at_points) for matrix, at_points in zip(matrices, weights, strict=True)]

    def evaluated(self, matrix: np.ndarray, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [
            vector(
                [
                    ext_sum(
                        ext_scale(weight, int(value)) for weight, value in zip(exts(at_point), column, strict=False)
                    )
                    for column in matrix
                ]
            ).T
            for at_point in weights
        ]

    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return [
            vector([ext_inv(ext_sub(point, ext(x))) for x in bit_reversed(points(GENERATOR, log_rows))])
            for log_rows, point in domains
        ]

    def reduced_openings(self, heights: Sequence[Height], gamma: Ext) -> list[np.ndarray]:
        return [self.reduced_opening(height, gamma) for height in heights]

    def reduced_opening(self, height: Height, gamma: Ext) -> np.ndarray:
        total = [ZERO] * height.inverses[0].shape[1]
        for columns, opened, offset in zip(height.matrices, height.values, height.offsets, strict=True):
            power = ext_pow(gamma, offset)
            for inverse, at_point in zip(height.inverses, opened, strict=False):
                for column, value in zip(columns.tolist(), exts(at_point.T), strict=True):
                    for row, (word, over) in enumerate(zip(column, exts(inverse), strict=False)):
                        quotient = ext_mul(ext_sub(value, ext(word)), over)
                        total[row] = ext_add(total[row], ext_mul(power, quotient))
                    power = ext_mul(power, gamma)
        return vector(total)

    def reduced_traces(self, heights: Sequence[Height], gamma: Ext) -> list[np.ndarray]:
        extended = [replace(height, matrices=self.extend(height.matrices, 0)) for height in heights]
        return self.reduced_openings(extended, gamma)

    def sum_vectors(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        return vector([ext_sum(elements) for elements in zip(*map(exts, vectors), strict=True)])

    def fold_tree(self, codeword: np.ndarray, log_arity: int, cap_height: int, hash: str) -> Tree:
        return self.tree([groups(codeword, log_arity)], cap_height, hash)

    def fold(self, codeword: np.ndarray, log_arity: int, beta: Ext, joining: np.ndarray | None) -> np.ndarray:
        arity = 1 << log_arity
        grouped = codeword.reshape(3, -1, arity)
        rows = grouped.shape[1]
        generator, log_rows = inv(root_of_unity((rows * arity).bit_length() - 1)), rows.bit_length() - 1
        s_inverse = [pow(generator, reverse_bits(row, log_rows), P) for row in range(rows)]
        folded = exts(fold_groups(grouped, np.array(s_inverse, dtype=np.uint64), beta))
        if joining is not None:
            scale = ext_pow(beta, arity)
            folded = [ext_add(f, ext_mul(scale, j)) for f, j in zip(folded, exts(joining), strict=True)]
        return vector(folded)

    def final_polynomial(self, codeword: np.ndarray, log_length: int) -> tuple[Ext, ...]:
        first = codeword[:, : 1 << log_length].tolist()
        coefficients = [interpolate(bit_reversed(coordinate), 1) for coordinate in first]
        return tuple(zip(*coefficients, strict=True))

    def grind(self, seed: bytes, bits: int, hash: str) -> int:
        nonce = 0
        while bits and int.from_bytes(digest(hash, seed + nonce.to_bytes(8, "little"))[24:], "big") & ((1 << bits) - 1):
            nonce += 1
        return nonce
