"""The cost model: operations and bytes of each task of a proof, from the layout alone.

The rounds' modules define the names of the tasks. A change of a device's allocations changes this module in the same
commit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphprover.air.degree import EXT_PRODUCTS, products
from graphprover.air.description import AirDescription
from graphprover.field import EXTENSION_DEGREE
from graphprover.graphs.batches import Batch, Hold
from graphprover.graphs.rounds import commit, fri, lookup, opening, query, quotient, separation, trace, transcript
from graphprover.graphs.rounds.opening import OpenedMatrix
from graphprover.kernels.absorption import columns_at_once
from graphprover.protocol.blake3 import BLOCK_WORDS, CHUNK_WORDS
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.hashing import HASHES
from graphprover.protocol.keccak import RATE_WORDS
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, Layout, Point
from graphprover.protocol.proof import EXT_BYTES, WORD_BYTES

# Rounds of negligible cost. Shared trace tasks count as part of the last trace, and a final polynomial is short.
FREE = frozenset({trace.SHARED, fri.FINAL, query.PROOF})

# Bytes of a row's state between two pieces of its columns, by the number of columns; and columns absorbed together.
STATE_BYTES: dict[str, Callable[[int], int]] = {
    "keccak": lambda columns: 25 * WORD_BYTES,
    "blake3": lambda columns: DIGEST_BYTES * (1 + (max(columns - 1, 0) // CHUNK_WORDS).bit_length()),
}
GRAINS = {"keccak": RATE_WORDS, "blake3": BLOCK_WORDS}


@dataclass(frozen=True)
class Cost:
    """The operations and bytes of one task."""

    multiplications: int = 0  # in the base field, without butterflies
    butterflies: int = 0
    keccak: int = 0  # permutations Keccak-f[1600]
    blake3: int = 0  # compressions of BLAKE3
    moved: int = 0  # bytes read and written, each array once
    kept: int = 0  # bytes that later tasks read
    scratch: int = 0  # bytes freed when the task ends

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.multiplications + other.multiplications,
            self.butterflies + other.butterflies,
            self.keccak + other.keccak,
            self.blake3 + other.blake3,
            self.moved + other.moved,
            self.kept + other.kept,
            self.scratch + other.scratch,
        )

    @property
    def hash_calls(self) -> int:
        """Calls of the hash's permutation or compression function."""
        return self.keccak + self.blake3


def hashing(hash: str, calls: int) -> Cost:
    """Return the cost of this number of calls of the hash ``hash``."""
    return Cost(**{hash: calls})


def butterflies(columns: int, log_size: int) -> int:
    """Return the butterflies of one transform of each column."""
    return columns * log_size << max(log_size - 1, 0) if log_size else 0


def pow_bits(layout: Layout) -> dict[str, int]:
    """Return the bits of the proof of work of each step of the transcript."""
    parameters = layout.parameters
    bits = {
        transcript.BEGIN: 0,
        transcript.SEPARATION: 0,
        transcript.SEPARATED: 0,
        transcript.DIGEST: 0,
        transcript.LOOKUP: parameters.lookup_pow_bits if layout.lookup_tables else 0,
        transcript.CONSTRAINT: 0,
        transcript.ZETA: parameters.ood_pow_bits,
        transcript.BATCHING: parameters.batch_pow_bits,
        transcript.QUERIES: parameters.query_pow_bits,
    }
    folds = range(len(layout.fold_log_arities))
    return bits | {transcript.fold_step(number): parameters.commit_pow_bits for number in folds}


def proof_of_work(layout: Layout) -> int:
    """Return the average hash calls of all proofs of work of a proof."""
    return sum(1 << bits for bits in pow_bits(layout).values() if bits)


def kept_by_size(*layouts: Layout) -> int:
    """Return the bytes that a device caches by size for all shards: twiddles, points, fold factors, selectors."""
    sizes, rows, folded = set[tuple[int, int]](), set[int](), set[tuple[int, int]]()
    for layout in layouts:
        sizes |= set(zip(layout.log_heights, layout.log_chunks, strict=True))
        rows |= set(layout.fri_log_heights)
        folded |= set(zip(layout.folded_log_heights, layout.fold_log_arities, strict=True))
    longest = max(*rows, *(log_height + log_chunks for log_height, log_chunks in sizes))
    selectors = sum(4 * WORD_BYTES << (log_height + log_chunks) for log_height, log_chunks in sizes)
    points = sum(WORD_BYTES << log_rows for log_rows in rows)
    folds = sum(WORD_BYTES << (log_rows + log_arity - 1) for log_rows, log_arity in folded)
    return (2 * WORD_BYTES << longest) // 7 + selectors + points + folds


class Costs:
    """The cost of each task of a layout, by round and name."""

    def __init__(self, layout: Layout, batched: Sequence[Batch], made: Sequence[int], loaded: bool = False) -> None:
        """Create the model.

        Args:
            layout: The layout of the proof.
            batched: The batches of tables.
            made: Tables whose traces the proof generates.
            loaded: Whether the other traces are copied to the device.
        """
        self.layout, self.made, self.loaded = layout, made, loaded
        self.matrices = opening.opened_matrices(layout)
        self.tables = {batch.name: batch.tables for batch in batched}
        self.holds = {table: batch.hold for batch in batched for table in batch.tables}
        self.natural = opening.natural_heights(layout, batched)
        self.extended = separation.extended_heights(layout, batched)
        self.log_blowup = layout.parameters.log_blowup
        self.hash = layout.parameters.hash
        self.calls = HASHES[self.hash].calls
        self.of_table: dict[str, Callable[[int], Cost]] = {
            commit.task_round(MAIN): lambda table: self.extend(table, self.air(table).main_width),
            commit.task_round(PREPROCESSED): lambda table: self.extend(table, self.air(table).preprocessed_width),
            lookup.LOOKUP: self.lookup,
            quotient.QUOTIENT_CHUNKS: self.quotient,
            opening.OPENING: self.opening,
        }
        self.rounds: dict[str, Callable[[str], Cost]] = {
            transcript.TRANSCRIPT: self.transcript,
            trace.task_round(MAIN): self.trace,
            trace.task_round(PREPROCESSED): self.preprocessed,
            commit.TREE: self.tree,
            query.QUERY: self.query,
            opening.WEIGHTS: self.weights,
            opening.DENOMINATORS: self.denominators,
            opening.DEEP: self.deep,
            opening.CODEWORD: self.codeword,
            fri.TREE: self.fri_tree,
            fri.FOLD: self.fri_fold,
        }
        if layout.shard:
            self.of_table[separation.VALUES] = self.separation
            self.rounds[separation.WEIGHTS] = self.separation_weights

    def of(self, round_: str, name: str) -> Cost:
        """Return the cost of one task; raises KeyError for a round that is neither modelled nor in ``FREE``."""
        if round_ in FREE:
            return Cost()
        if round_ in self.of_table:
            costs = [self.of_table[round_](table) for table in self.tables[name]]
            return replace(sum(costs, Cost()), scratch=max(self.scratch_of_turns(round_, name)))
        return self.rounds[round_](name)

    def scratch_of_turns(self, round_: str, name: str) -> list[int]:
        """Return the scratch bytes of each set of tables that a task treats together."""
        tables = self.tables[name]
        hold = self.holds[tables[0]]
        if round_ == lookup.LOOKUP and hold == Hold.EXTENSIONS:
            heights = self.layout.log_heights
            turns = list(lookup.turns((table, 1 << heights[table], self.air(table)) for table in tables))
        elif hold == Hold.EXTENSIONS or (round_ == lookup.LOOKUP and hold == Hold.TRACES):
            turns = [list(tables)]
        else:
            turns = [[table] for table in tables]
        return [sum(self.of_table[round_](table).scratch for table in turn) for turn in turns]

    def alone(self, table: int) -> Cost:
        """Return the cost of a table in the rounds that treat tables separately, and of hashing its rows."""
        hashed = sum(
            self.calls(m.width) << m.log_rows for r in self.layout.rounds for m in r.matrices if m.table == table
        )
        rounds = (self.of_table | {opening.DEEP: self.deep_of_table}).values()
        return sum((cost(table) for cost in rounds), hashing(self.hash, hashed))

    def by_table(self, round_: str, name: str) -> dict[int, Cost]:
        """Return each table's cost of a task; empty for tasks of all tables together."""
        if round_ in (trace.task_round(MAIN), trace.task_round(PREPROCESSED)):
            return {int(name.partition(".")[0]): self.of(round_, name)}
        of_table = self.of_table | {opening.DEEP: self.deep_of_table}
        return {table: of_table[round_](table) for table in self.tables[name]} if round_ in of_table else {}

    def transcript(self, name: str) -> Cost:
        """Return the average cost of the proof of work before a challenge."""
        bits = pow_bits(self.layout)[name]
        return hashing(self.hash, 1 << bits if bits else 0)

    def air(self, table: int) -> AirDescription:
        return self.layout.tables[table]

    def trace(self, name: str) -> Cost:
        """Return the cost of a generated trace, without shared trace tasks."""
        table = int(name.partition(".")[0])
        words = self.air(table).main_width << self.layout.log_heights[table]
        return Cost(kept=words * WORD_BYTES if self.loaded or table in self.made else 0)

    def preprocessed(self, name: str) -> Cost:
        """Return the cost of preprocessed columns, which exist before the proof."""
        table = int(name.partition(".")[0])
        words = self.air(table).preprocessed_width << self.layout.log_heights[table]
        return Cost(kept=words * WORD_BYTES if self.loaded else 0)

    def extend(self, table: int, columns: int) -> Cost:
        log_height = self.layout.log_heights[table]
        blowup = 1 << self.log_blowup
        return Cost(
            multiplications=columns << log_height,
            butterflies=butterflies(columns, log_height) * (1 + blowup),
            moved=columns * WORD_BYTES * (1 + blowup) << log_height,
            kept=columns * WORD_BYTES << (log_height + self.log_blowup),
        )

    def extend_again(self, columns: int, log_height: int, runs: int | None = None) -> Cost:
        """Return the cost of an extension that is not held: in pieces, or to ``runs`` runs of the trace's rows."""
        up = 1 if runs is None else runs
        down = 1 << self.log_blowup if runs is None else runs
        return Cost(
            multiplications=columns * up << log_height,
            butterflies=butterflies(columns, log_height) * (up + down),
            moved=columns * WORD_BYTES * (up + down) << log_height,
        )

    def piece_bytes(self, columns: int, log_rows: int, grain: int = 1) -> int:
        """Return the bytes of the most columns of an extension that are made at once, of ``columns`` in all."""
        return min(columns, columns_at_once(1 << log_rows, grain)) * WORD_BYTES << log_rows

    def again(self, table: int) -> Cost:
        """Return the cost of a table's lookup columns if they are not held and computed again; they are scratch."""
        if self.holds[table] != Hold.MAIN or not self.air(table).lookups:
            return Cost()
        return self.fractions(table)

    def tree(self, name: str) -> Cost:
        round_ = self.layout.round(name)
        assert round_ is not None
        widths: dict[int, int] = {}
        for matrix in round_.matrices:
            widths[matrix.log_rows] = widths.get(matrix.log_rows, 0) + matrix.width
        joining = sum(self.calls(w) + 1 << log_rows for log_rows, w in widths.items() if log_rows != round_.log_rows)
        leaves = self.calls(widths[round_.log_rows]) << round_.log_rows
        nodes = (1 << round_.log_rows) - (1 << self.layout.cap_log_size(round_.log_rows))
        shorter = max((log_rows for log_rows in widths if log_rows != round_.log_rows), default=None)
        digests = sum(1 << log_rows for log_rows in widths) + nodes
        again, pieces = Cost(), 0
        for matrix in round_.matrices if name in (MAIN, PERMUTATION) else ():
            if self.holds[matrix.table]:
                columns = self.again(matrix.table) if name == PERMUTATION else Cost()
                again += columns + self.extend_again(matrix.width, self.layout.log_heights[matrix.table])
                width = widths[matrix.log_rows]
                states = STATE_BYTES[self.hash](width) << matrix.log_rows
                piece = self.piece_bytes(width, matrix.log_rows, GRAINS[self.hash])
                pieces = max(pieces, states + piece + columns.scratch)
        return (
            hashing(self.hash, leaves + joining + nodes)
            + replace(again, scratch=0)
            + Cost(
                moved=sum(w * WORD_BYTES << log_rows for log_rows, w in widths.items()) + 2 * DIGEST_BYTES * digests,
                kept=DIGEST_BYTES * (nodes + (1 << round_.log_rows)),
                scratch=(0 if shorter is None else DIGEST_BYTES << shorter) + pieces,
            )
        )

    def fractions(self, table: int) -> Cost:
        """Return the cost of a table's lookup columns, as scratch."""
        air, log_height = self.air(table), self.layout.log_heights[table]
        tuples = [t for lookup in air.lookups for t in lookup.tuples]
        fields = sum(len(t.fields) for t in tuples)
        columns = air.permutation_width
        return Cost(
            # fingerprints, three products for each inverse, a scaling each
            multiplications=(3 * fields + (3 * EXT_PRODUCTS + 3) * len(tuples)) << log_height,
            # at most as many columns as fields and multiplicities, which may share one or two columns
            moved=(min(air.main_width + air.preprocessed_width, fields + len(tuples)) + columns) * WORD_BYTES
            << log_height,
            # columns on the trace and indicators; denominators and multiplicities of a few thousand rows
            scratch=((columns + 3) * WORD_BYTES << log_height)
            + 4 * len(tuples) * WORD_BYTES * min(1 << log_height, 1 << 14),
        )

    def lookup(self, table: int) -> Cost:
        air, hold = self.air(table), self.holds[table]
        if not air.lookups:
            return Cost()
        fractions, columns = self.fractions(table), air.permutation_width
        if hold == Hold.EXTENSIONS:
            return fractions + self.extend(table, columns)
        if hold == Hold.TRACES:
            held = columns * WORD_BYTES << self.layout.log_heights[table]
            return replace(fractions, kept=held, scratch=fractions.scratch - held)
        # Preprocessed columns that were copied to the device are held, too.
        return replace(fractions, kept=self.preprocessed(f"{table}.").kept)

    def quotient(self, table: int) -> Cost:
        air = self.air(table)
        log_height, log_chunks = self.layout.log_heights[table], self.layout.log_chunks[table]
        log_size = log_height + log_chunks
        evaluated = products(air) << log_size
        columns = air.main_width + air.preprocessed_width + air.permutation_width
        chunks = EXTENSION_DEGREE << log_chunks
        if self.holds[table]:
            again, size = self.again(table), EXT_BYTES << log_size
            work = Cost(
                multiplications=evaluated,
                moved=(columns + EXTENSION_DEGREE) * WORD_BYTES << log_size,
                # lookup columns that are computed again, and all columns on one run of points, with its results
                scratch=max((columns * WORD_BYTES << log_height) + size, 2 * size),
            )
            held = air.permutation_width * WORD_BYTES << log_height if again.scratch else 0
            scratch = max(again.scratch, held + work.scratch)
            every_run = self.extend_again(columns, log_height, 1 << log_chunks)
            return replace(again + work + every_run, scratch=scratch) + self.extend(table, chunks)
        larger = log_chunks > self.log_blowup
        work = Cost(
            multiplications=evaluated,
            butterflies=butterflies(columns, log_height) * (1 + (1 << log_chunks)) if larger else 0,
            moved=((columns + EXTENSION_DEGREE) * WORD_BYTES << log_size)
            + ((columns * WORD_BYTES << log_size) + (columns * WORD_BYTES << log_height) if larger else 0),
            scratch=(EXT_BYTES << log_size)
            + ((columns * WORD_BYTES << log_size) + (columns * WORD_BYTES << log_height) if larger else 0),
        )
        return work + self.extend(table, chunks)

    def weights(self, name: str) -> Cost:
        return self._weights(2, sorted(set(self.layout.log_heights)))

    def separation_weights(self, name: str) -> Cost:
        return self._weights(1, self.extended)

    def _weights(self, points: int, extended: Sequence[int]) -> Cost:
        """Return the cost of the weights of some points on 7·H at these heights, and on H at the natural heights."""
        natural = sum(1 << log_height for log_height in self.natural)
        rows = sum(1 << log_height for log_height in extended) + natural
        size = points * EXT_BYTES
        return Cost(
            multiplications=points * 4 * EXT_PRODUCTS * rows,
            moved=size * (rows + 2 * natural),
            kept=size * rows,
            # in natural order, they are first made in the other order
            scratch=max(size << max([*extended, *self.natural]), size * natural),
        )

    def separation(self, table: int) -> Cost:
        """Return the cost of the main columns of a table at the separating point."""
        width, log_height = self.air(table).main_width, self.layout.log_heights[table]
        return Cost(
            multiplications=EXTENSION_DEGREE * width << log_height,
            moved=(width + EXTENSION_DEGREE) * WORD_BYTES << log_height,
        )

    def columns(self, table: int) -> int:
        """Return the number of committed columns of one table."""
        return sum(m.width for round_ in self.layout.rounds for m in round_.matrices if m.table == table)

    def openings(self, table: int) -> int:
        """Return the number of columns of one table, counted once for each opening point of round 4."""
        matrices = [m for round_ in self.layout.rounds for m in round_.matrices if m.table == table]
        return sum(m.width * (len(m.points) - (Point.SEPARATING in m.points)) for m in matrices)

    def opening(self, table: int) -> Cost:
        log_height = self.layout.log_heights[table]
        weights = EXTENSION_DEGREE * max(matrix.points for matrix in self.matrices[table])
        return self.again(table) + Cost(
            multiplications=EXTENSION_DEGREE * self.openings(table) << log_height,
            moved=(self.columns(table) + weights) * WORD_BYTES << log_height,
        )

    def denominators(self, name: str) -> Cost:
        rows = sum(1 << log_height for log_height in set(self.layout.log_heights))
        points = 2 + self.layout.shard
        size = points * EXT_BYTES * rows
        return Cost(multiplications=points * 3 * EXT_PRODUCTS * rows, moved=size, kept=size)

    def deep(self, name: str) -> Cost:
        work = sum(map(self.deep_of_table, self.tables[name]), Cost())
        heights = {self.layout.log_heights[table] for table in self.tables[name]}
        kept = sum(EXT_BYTES << height for height in heights)
        again = sum((self.again(table) for table in self.tables[name]), Cost())
        # In a shard: the share of the separating point, and the sum with it.
        scratch = 2 * kept if self.layout.shard else 0
        if any(self.holds[table] for table in self.tables[name]):
            # of the longest height: a factor, two sums on H and on 7·H, two shares to add
            scratch += 7 * EXT_BYTES << max(heights)
            scratch += max(self.again(table).scratch for table in self.tables[name])
        work += replace(again, scratch=scratch)
        moved = (6 if self.layout.shard else 3) * kept  # the denominators of each point, and the result
        return work + Cost(moved=moved, kept=kept)

    def deep_of_table(self, table: int) -> Cost:
        """Return the cost of summing the columns of one table."""
        log_height = self.layout.log_heights[table]
        columns = self.columns(table)
        air = self.air(table)
        apart = air.main_width if self.layout.shard else 0  # columns that are read again for the separating point
        points = sum(matrix.points + matrix.separated for matrix in self.matrices[table])
        if not self.holds[table]:
            return Cost(
                multiplications=(EXTENSION_DEGREE * (columns + apart) + 2 * EXT_PRODUCTS * points) << log_height,
                moved=(columns + apart) * WORD_BYTES << log_height,
            )
        on_trace = sum(m.points * w for m, w in self._on_trace(table)) + apart
        extended = columns - air.main_width - air.permutation_width
        sums = self.extend_again((2 + self.layout.shard) * EXTENSION_DEGREE, log_height, 1)
        return replace(sums, scratch=0) + Cost(
            multiplications=(EXTENSION_DEGREE * (on_trace + extended) + (2 * points + 4) * EXT_PRODUCTS) << log_height,
            moved=(on_trace + extended) * WORD_BYTES << log_height,
        )

    def _on_trace(self, table: int) -> list[tuple[OpenedMatrix, int]]:
        """Return the matrices of a table that are summed on the trace, with their widths."""
        widths = {MAIN: self.air(table).main_width, PERMUTATION: self.air(table).permutation_width}
        return [(matrix, widths[matrix.name]) for matrix in self.matrices[table] if matrix.name in widths]

    def query(self, name: str) -> Cost:
        """Return the cost of the extensions that are made again for a few rows of each."""
        total, scratch = Cost(), 0
        for table, hold in self.holds.items():
            if not hold:
                continue
            again, log_height = self.again(table), self.layout.log_heights[table]
            widths = [width for _, width in self._on_trace(table)]
            total += again + self.extend_again(sum(widths), log_height)
            held = self.air(table).permutation_width * WORD_BYTES << log_height if again.scratch else 0
            piece = self.piece_bytes(max(widths), log_height + self.log_blowup)
            scratch = max(scratch, again.scratch, held + piece)
        return replace(total, scratch=scratch)

    def codeword(self, name: str) -> Cost:
        log_height = int(name.removeprefix("2^"))
        heights = self.layout.log_heights
        shares = sum(any(heights[table] == log_height for table in tables) for tables in self.tables.values())
        size, blowup = EXT_BYTES << log_height, 1 << self.log_blowup
        added = Cost(moved=(shares + 1) * size, scratch=size) if shares > 1 else Cost()
        return added + Cost(
            multiplications=EXTENSION_DEGREE << log_height,
            butterflies=butterflies(EXTENSION_DEGREE, log_height) * (1 + blowup),
            moved=(1 + blowup) * size,
            kept=blowup * size,
        )

    def fri_tree(self, name: str) -> Cost:
        log_arity, log_rows = self.layout.fold_log_arities[int(name)], self.layout.folded_log_heights[int(name)]
        nodes = (1 << log_rows) - (1 << self.layout.cap_log_size(log_rows))
        leaves = self.calls(EXTENSION_DEGREE << log_arity) << log_rows
        digests = DIGEST_BYTES * (nodes + (1 << log_rows))
        words = EXTENSION_DEGREE << (log_arity + log_rows)
        moved = words * WORD_BYTES + 2 * digests
        return hashing(self.hash, leaves + nodes) + Cost(moved=moved, kept=digests)

    def fri_fold(self, name: str) -> Cost:
        log_arity, log_rows = self.layout.fold_log_arities[int(name)], self.layout.folded_log_heights[int(name)]
        return Cost(
            multiplications=(EXT_PRODUCTS + 3) * ((1 << log_arity) - 1) << log_rows,
            moved=EXT_BYTES * ((1 << log_arity) + 1 + (log_rows in self.layout.fri_log_heights)) << log_rows,
            kept=EXT_BYTES << log_rows,
        )
