"""The head of a proof: its words, from the areas of a run and the gates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from graphprover.field import EXTENSION_DEGREE, P
from graphprover.protocol.blake3 import CHUNK_WORDS, digest
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout, Point
from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.protocol.proof import Cap
from graphprover.recursion.head.entries import ENTRIES
from graphprover.recursion.head.inputs import check_shape
from graphprover.recursion.head.memory_areas import (
    Areas,
    Name,
    areas_of,
    main_tree,
    opened_counts,
    placed_areas,
    records_of_height,
    row_widths,
)
from graphprover.recursion.head.messages import Constants, ConstantSizes, ShardTerms, constants_of, further_digests
from graphprover.recursion.head.placed import Placed, placed
from graphprover.recursion.head.words import (
    BETA_CELLS,
    BITS,
    CHUNK,
    COPY_ENTRY,
    COPY_STEPS,
    ELEMENT_CELLS,
    ENTRY,
    ENTRY_STEPS,
    FIELDS,
    FILL_ENTRY,
    FILL_STEPS,
    FRAME_ELEMENTS,
    JOINT,
    LIST,
    RUN,
    SHIFT,
    STREAM_WORDS,
    UNROLLED,
    FoldWord,
    HeadWord,
    MessageWord,
)
from graphprover.recursion.openings import TreePlaces, check_trees, places_of_tree
from graphprover.recursion.tables.segments import STRIDE, padded

_TEMPLATES = 32  # the most recent layouts, of a batch with several guests, of all layers about them, and of a plan
MOST_LOG_ARITY, LEAST_LOG_FINAL_POLY_LEN = 3, 3


@dataclass(frozen=True, eq=False)
class ProofHead:
    """The head of the proofs of a statement."""

    start: "Start"
    words: np.ndarray  # uint64, whole chunks, read-only
    read_chunks: int  # the first ones; all others have gates
    constants: Constants
    areas: Areas
    at: int  # address of the first area
    gates: Placed
    trees: int  # number of trees

    @cached_property
    def digest(self) -> bytes:
        """The digest, by which a list names the head."""
        return digest(self.words.tobytes())

    @property
    def next_start(self) -> "Start":
        """The start of a head after this one."""
        return Start(self.at + self.areas.cells, self.start.tree + self.trees)


@dataclass(frozen=True)
class Start:
    """The place of a head among the heads of a list."""

    at: int = LIST + CHUNK  # address of its first word; all its areas follow
    tree: int = 0  # number of its first tree, in a place


def head_of(
    layout: Layout,
    public_values: Sequence[Sequence[int]],
    preprocessed: Cap | None,
    binding: bytes,
    start: Start = Start(),
    shard: ShardTerms | None = None,
) -> ProofHead:
    """Return the head of the proofs of a statement.

    The first head of a layout takes some milliseconds. Further ones differ in the constants of messages, the number of
    queries and the bits of work alone.

    Args:
        layout: Shape of the proofs.
        public_values: Public values of each table.
        preprocessed: Commitment to the preprocessed columns, or None without any.
        binding: Initial state of the challenger.
        start: The place of the head.
        shard: The values that a shard has in common with others; None of a proof in one shard.

    Raises:
        ValueError: The program cannot verify proofs of this layout, or not at this place; the message says why.
    """
    constants = constants_of(layout, public_values, preprocessed, binding, shard)
    of = _template(_without_numbers(layout), tuple(map(len, public_values)), constants.sizes)
    check_trees(start.tree + of.trees)
    digests = further_digests(layout)
    words = of.words + np.uint64(start.at) * of.by_address + np.uint64(start.tree) * of.by_tree
    words += np.uint64(digests) * of.by_stream
    words[HeadWord.QUERIES] = layout.parameters.num_queries
    for at, bits in of.works:
        words[at] = 1 << getattr(layout.parameters, bits)
    for at, own in zip(of.constants_at, vars(constants).values(), strict=True):
        words[at : at + len(own)] = own % np.uint64(P)
    words.setflags(write=False)
    areas, by = _with_stream(of, digests), SHIFT * STREAM_WORDS * digests
    gates = of.gates.moved(start.at, words[of.read_chunks * CHUNK_WORDS :], of.at + of.areas["stream"].at, by)
    return ProofHead(start, words, of.read_chunks, constants, areas, start.at + of.at, gates, of.trees)


@dataclass(frozen=True, eq=False)
class _Template:
    """The part of a head that proofs of one layout share, with any number of queries and any bits of work.

    It is for a head with the address 0, the first tree 0, and queries from one digest. Each word is linear in the
    address, the tree's number and the number of further digests.
    """

    words: np.ndarray  # uint64, with zeros for the constants of messages
    by_address: np.ndarray  # factor of the address in each word, uint64
    by_tree: np.ndarray  # factor of the first tree's number
    by_stream: np.ndarray  # factor of the number of further digests of queries
    works: list[tuple[int, str]]  # the words with 2^bits of a proof of work, and the parameter that has the bits
    constants_at: list[int]  # the first word of each of `Constants`
    read_chunks: int  # as in `ProofHead`, like the areas and all after them
    areas: Areas
    at: int
    gates: Placed
    trees: int


@lru_cache(maxsize=_TEMPLATES)
def _template(layout: Layout, public_values: tuple[int, ...], constants: ConstantSizes) -> _Template:
    """Return the template for a layout.

    Args:
        layout: Shape of the proofs.
        public_values: The number of public values of each table.
        constants: The sizes of the constant parts of messages.
    """
    check_layout(layout)
    areas = areas_of(layout, constants, public_values)
    read, gates, _ = _assembled(layout, constants, areas, 1, 0, Start(0))  # for the number of words
    read_chunks = len(read) // CHUNK_WORDS
    at = CHUNK * (read_chunks + sum(gates.chunks)) + len(gates.inverses)
    read, gates, own = _assembled(layout, constants, areas, read_chunks, at, Start(0))
    moved, moved_gates, _ = _assembled(layout, constants, areas, read_chunks, at, Start(1))
    others, *_ = _assembled(layout, constants, areas, read_chunks, at, Start(0, 1))
    more = replace(layout, parameters=replace(layout.parameters, num_queries=1 + DIGEST_WORDS))  # of two digests
    longer, longer_gates, _ = _assembled(more, constants, areas.with_stream(1), read_chunks, at, Start(0))
    words, of_others = np.concatenate([read, gates.words]), np.concatenate([others, gates.words])
    by_address = np.concatenate([moved, moved_gates.words]) - words
    by_stream = np.concatenate([longer, longer_gates.words]) - words
    trees = len(_places(layout, 0))
    by = by_address, of_others - words, by_stream
    return _Template(words, *by, own.works, own.constants_at, read_chunks, areas, at, gates, trees)


def _without_numbers(layout: Layout) -> Layout:
    """Return the layout with one query, and with one bit of each proof of work that there is."""
    own = layout.parameters
    bits = {name: min(1, getattr(own, name)) for name in Parameters.RANGES if name.endswith("_pow_bits")}
    return replace(layout, parameters=replace(own, num_queries=1, **bits))


@lru_cache(maxsize=_TEMPLATES)
def _with_stream(of: _Template, digests: int) -> Areas:
    """Return the areas of a template with room for further digests of queries."""
    return of.areas.with_stream(digests)


def _assembled(
    layout: Layout, constants: ConstantSizes, areas: Areas, read_chunks: int, at: int, start: Start
) -> tuple[np.ndarray, Placed, "_Words"]:
    """Return the words that are read, the gates, and the places of constant parts and of bits of work.

    Args:
        layout: Shape of the proofs.
        constants: The sizes of the constant parts of their messages.
        areas: The areas of their memory, and the gates.
        read_chunks: The number of chunks that are read.
        at: The address of the first area, counted from the head's.
        start: The place of the head.
    """
    gates_at = start.at + CHUNK * read_chunks
    own = _Words(layout, constants, areas, start.at + at, read_chunks, start)
    gates = placed(areas.gates, gates_at, own.literals, start.at + at)
    return own.complete(gates, gates_at), gates, own


def check_layout(layout: Layout) -> None:
    """Refuse layouts that the program cannot verify, before any proof is made; it takes less than a millisecond.

    `head_of` alone notices that a statement has too many gates and cells for its addresses.

    Raises:
        ValueError: The program cannot verify proofs of this layout; the message says why.
    """
    parameters = layout.parameters
    if parameters.hash != BLAKE3:
        raise ValueError(f"a proof to compress has the hash {BLAKE3}, not {parameters.hash}: prove it with that hash")
    if parameters.cap_height:
        raise ValueError(f"a proof to compress has cap height 0, not {parameters.cap_height}")
    check_shape(layout)
    if layout.log_max_rows > BITS:
        raise ValueError(f"a proof to compress has at most 2^{BITS} rows at its rate")
    if not layout.fold_log_arities or max(layout.fold_log_arities) > MOST_LOG_ARITY:
        raise ValueError(f"a proof to compress has one fold or more, each of at most 2^{MOST_LOG_ARITY}")
    if parameters.log_final_poly_len < LEAST_LOG_FINAL_POLY_LEN:
        raise ValueError(
            f"a proof to compress has a final polynomial of 2^{LEAST_LOG_FINAL_POLY_LEN} coefficients or more"
        )
    _places(layout, 0)


class _Words:
    """The words that are read, while they are put together."""

    def __init__(
        self, layout: Layout, constants: ConstantSizes, areas: Areas, at: int, read_chunks: int, start: Start
    ) -> None:
        """Put the words together that depend on no gate; ``at``: address of the first area."""
        self.constants_at: list[int] = []  # the first word of each constant part
        self.works: list[tuple[int, str]] = []  # the words with 2^bits of work, and the parameter that has the bits
        self._start, self._zero = start, start.at + SHIFT * HeadWord.ZERO
        self._layout, self._constants, self._read_chunks = layout, constants, read_chunks
        self._areas, self._batching = placed_areas(areas.by_name.values(), at), areas.batching
        self._main_tree, self._widths = main_tree(layout), row_widths(layout)
        self._words = [0] * FIELDS
        self._trees = _places(layout, start.tree)
        self._packs_at = self._address()
        self._packs: list[tuple[int, int, int]] = []
        self._words += [0] * (EXTENSION_DEGREE * self._pack_count())
        self._joint_at = [self._pack(0, 0, 0) for _ in JOINT] if layout.shard else [self._zero]
        self.literals = self._put(areas.gates.literals)

    def complete(self, gates: Placed, gates_at: int) -> np.ndarray:
        """Return all words, in whole chunks, with the gates at an address."""
        self._set(HeadWord.READ_CHUNKS, self._read_chunks - 1)
        for field, chunks in zip((HeadWord.PRODUCTS, HeadWord.SUMS, HeadWord.DIFFERENCES), gates.chunks, strict=True):
            self._set(field, chunks)
        self._set(HeadWord.GATES, gates_at)
        self._set(HeadWord.GATE_SPAN, self._pack(self._read_chunks, gates_at, gates_at + CHUNK))
        self._put_copies()
        self._put_repeats()
        self._put_messages()
        self._put_arrays()
        self._put_list(HeadWord.ZEROS, HeadWord.ZEROS_AT, [(int(address),) for address in gates.checks])
        self._put_trees()
        self._put_heights(gates)
        self._put_fills(gates)
        self._put_folds()
        self._put_queries()
        return self._completed()

    # Words.

    def _address(self) -> int:
        return self._start.at + SHIFT * len(self._words)

    def _put(self, words: Sequence[int]) -> int:
        at = self._address()
        self._words += [word % P for word in words]
        return at

    def _set(self, field: int, word: int) -> None:
        self._words[field] = word

    def _put_list(self, number: HeadWord, at: HeadWord, records: Sequence[Sequence[int]]) -> None:
        self._set(number, len(records))
        self._set(at, self._put([word for record in records for word in record]))

    def _pack(self, *words: int) -> int:
        """Add an element of three words; return the address at which it is packed."""
        first, second, third = words
        at = self._next_pack()
        self._packs.append((first, second, third))
        return at

    def _next_pack(self) -> int:
        return self._packs_at + ELEMENT_CELLS * len(self._packs) + 1

    def _completed(self) -> np.ndarray:
        packs = [word for pack in self._packs for word in pack]
        first = FIELDS
        assert len(packs) == EXTENSION_DEGREE * self._pack_count()
        self._words[first : first + len(packs)] = packs
        frames = -(-len(self._packs) // FRAME_ELEMENTS)
        self._set(HeadWord.PACKS, frames)
        self._set(HeadWord.PACKS_AT, self._packs_at)
        least = first + frames * FRAME_ELEMENTS * EXTENSION_DEGREE  # else the last frame would be over arrays
        words = np.zeros(-(-max(least, len(self._words)) // CHUNK_WORDS) * CHUNK_WORDS, dtype=np.uint64)
        words[: len(self._words)] = self._words
        return words

    def _pack_count(self) -> int:
        widths = self._widths
        read = [*widths.values()]
        if self._layout.shard:
            read += [width for (tree, _), width in widths.items() if tree == self._main_tree]
        spans = sum(-(-width // CHUNK_WORDS) for width in read)
        own = len(JOINT) * self._layout.shard
        return 1 + own + len(self._trees) + 2 * spans + len(self._layout.fold_log_arities)

    # Messages.

    def _put_copies(self) -> None:
        constants, areas = self._constants, self._areas
        after = constants.before_main + DIGEST_WORDS
        parts = [
            (constants.before_main, areas["main"].at),
            (constants.after_main, areas["main"].at + SHIFT * after),
            (constants.opening, areas["opening"].at + SHIFT * DIGEST_WORDS),
            (constants.fri, areas["fold", 0].at + SHIFT * DIGEST_WORDS),
            (constants.joint, areas["permutation"].at),
        ]
        copies, entry = [], ENTRIES[COPY_ENTRY]
        for count, to in parts:
            self.constants_at.append(len(self._words))
            source = self._put([0] * count)
            for first in range(0, count, RUN):
                end = min(first + RUN, count)
                own = entry + COPY_STEPS * (RUN - end + first)
                copies.append((source + SHIFT * end, to + SHIFT * end, own))
        self._put_list(HeadWord.COPIES, HeadWord.COPIES_AT, copies)
        self.constants_at.append(FIELDS)  # the elements of a shard, which are packed first

    def _put_repeats(self) -> None:
        """Put the records about opened values at the separating point, which a message before has, too."""
        records, value = [], 0
        opened = self._areas["opening"].elements_at
        to = self._areas["separated"].at + SHIFT * DIGEST_WORDS if self._layout.shard else 0
        for matrix in self._layout.rounds[self._main_tree].matrices:
            for point in matrix.points:
                end = value + matrix.width
                if point == Point.SEPARATING:
                    words = range(EXTENSION_DEGREE * value, EXTENSION_DEGREE * end)
                    for first in range(0, len(words), RUN):
                        run = words[first : first + RUN]
                        to += SHIFT * len(run)
                        own = ENTRIES[COPY_ENTRY] + COPY_STEPS * (RUN - len(run))
                        records.append((opened + SHIFT * run.stop, to, own))
                value = end
        self._put_list(HeadWord.REPEATS, HeadWord.REPEATS_AT, records)

    def _put_messages(self) -> None:
        of_fields = {
            HeadWord.MAIN: ("main", "lookup_pow_bits"),
            **({HeadWord.SEPARATED: ("separated", "")} if self._layout.shard else {}),
            HeadWord.PERMUTATION: ("permutation", ""),
            HeadWord.QUOTIENT: ("quotient", "ood_pow_bits"),
            HeadWord.OPENINGS: ("opening", "batch_pow_bits"),
            HeadWord.LAST: ("last", "query_pow_bits"),
        }
        for field, (message, bits) in of_fields.items():
            for i, word in enumerate(self._message(message, bits, field)):
                self._set(field + i, word)
        self._set(HeadWord.ALONE, int(not self._layout.shard))
        self._set(HeadWord.AGAIN_AT, self._areas["again"].at)
        self._set(HeadWord.SHARD, int(self._layout.shard))
        self._set(HeadWord.JOINT_AT, self._joint_at[0])
        self._set(HeadWord.STREAM, further_digests(self._layout))
        self._set(HeadWord.STREAM_AT, self._areas["stream"].at)

    def _message(self, name: Name, bits: str, place: int) -> list[int]:
        """Return a record; ``bits``: the parameter with the bits of its work, ``place``: the record's first word."""
        message, work = self._areas[name], self._areas.get(("work", name))
        full = (message.size - 1) // CHUNK_WORDS
        end = message.at + SHIFT * message.size
        if work is None:
            return [message.at, full, end, 0, self._areas["main"].at, 1]  # nothing reads this address
        self.works.append((place + MessageWord.FACTOR, bits))
        return [message.at, full, end, 1, work.at, 1 << getattr(self._layout.parameters, bits)]

    # Arrays.

    def _put_arrays(self) -> None:
        areas, counts = self._areas, opened_counts(self._layout)
        opened = areas["opening"].elements_at
        elements = (
            (HeadWord.OPENED, HeadWord.OPENED_AT, areas["opening"]),
            (HeadWord.TERMINALS, HeadWord.TERMINALS_AT, areas["permutation"]),
            (HeadWord.POLYNOMIAL, HeadWord.POLYNOMIAL_AT, areas["last"]),
        )
        for frames, where, message in elements:
            self._set(frames, message.frames)
            self._set(where, message.elements_at)
        self._set(HeadWord.CHALLENGES_AT, areas["challenges"].at)
        turns = sum(counts.values()) // UNROLLED + 1  # one more sum than opened values, at least
        last = UNROLLED * turns - 1
        self._set(HeadWord.CHAIN, turns)
        self._set(HeadWord.CHAIN_AT, opened + ELEMENT_CELLS * last + 1)
        self._set(HeadWord.CHAIN_TO, areas["sums"].at + last)
        first = {name: sum(list(counts.values())[:i]) for i, name in enumerate(counts)}
        joins = (
            (QUOTIENT, HeadWord.QUOTIENT_JOINS, HeadWord.QUOTIENT_JOINS_AT, HeadWord.QUOTIENT_JOINS_TO),
            (PERMUTATION, HeadWord.PERMUTATION_JOINS, HeadWord.PERMUTATION_JOINS_AT, HeadWord.PERMUTATION_JOINS_TO),
        )
        for name, turns_field, at_field, to_field in joins:
            self._set(turns_field, -(-counts[name] // (EXTENSION_DEGREE * UNROLLED)))
            self._set(at_field, opened + ELEMENT_CELLS * first[name] + 1)
            self._set(to_field, areas["joined", name].at)

    def _put_trees(self) -> None:
        areas, constants = self._areas, self._constants
        main, permutation = areas["main"], areas["permutation"]
        of_rounds = {
            MAIN: main.at + SHIFT * constants.before_main,
            QUOTIENT: areas["quotient"].at + SHIFT * DIGEST_WORDS,
            PREPROCESSED: main.at + SHIFT * (main.size - DIGEST_WORDS),
            PERMUTATION: permutation.elements_at - SHIFT * DIGEST_WORDS,  # before terminals
        }
        roots = [of_rounds[round_.name] for round_ in self._layout.rounds]
        for i in range(len(self._layout.fold_log_arities)):
            fold = areas["fold", i]
            roots.append(fold.at + SHIFT * (fold.size - DIGEST_WORDS))
        records = [(root, self._pack(*places.cap, 0)) for root, places in zip(roots, self._trees, strict=True)]
        self._put_list(HeadWord.TREES, HeadWord.TREES_AT, records)

    def _put_heights(self, gates: Placed) -> None:
        layout, records = self._layout, []
        self._set(HeadWord.SPANS_AT, self._next_pack())
        of_heights = zip(layout.fri_log_heights, self._batching.points, self._batching.at_z, strict=True)
        for log_rows, zs, at_z in of_heights:
            points = {point: (gates.address_of(at_z[point]), gates.address_of(z)) for point, z in zs.items()}
            weights = {tree: self._areas["weights", tree, log].at for tree, log in self._widths if log == log_rows}
            parts = [(weights, points[Point.ZETA], points.get(Point.NEXT))]
            if layout.shard:
                main = {self._main_tree: self._areas["separating", log_rows].at}
                parts.insert(0, (main, points[Point.SEPARATING], None))
            for number, (of_trees, first, second) in enumerate(parts):
                spans = sum(self._put_spans(tree, log_rows, at) for tree, at in of_trees.items())
                # Without a second point all weights there are 0, and so is the sum of opened values.
                second = second or (self._zero, first[1])
                records.append((layout.log_max_rows - log_rows, spans, int(number > 0), *first, *second))
        self._put_list(HeadWord.HEIGHTS, HeadWord.HEIGHTS_AT, records)
        self._set(HeadWord.HEIGHTS_TO, self._areas["heights"].at)
        self._set(HeadWord.TALLEST, records_of_height(layout))

    def _put_spans(self, tree: int, log_rows: int, weights: int) -> int:
        """Put the places and spans of a row's chunks, whose weights are at an address; return their number."""
        width = self._widths[tree, log_rows]
        chunks = -(-width // CHUNK_WORDS)
        for counter in range(chunks):
            self._pack(*self._trees[tree].rows[log_rows])
            end = weights + STRIDE * min(width, CHUNK_WORDS * (counter + 1))
            self._pack(counter, weights + CHUNK * counter, end)
        return chunks

    def _put_fills(self, gates: Placed) -> None:
        """Put the records about weights; words beyond the last column have the weights 0."""
        records = list[tuple[int, ...]]()
        for tree, log_rows in self._widths:
            at = self._areas["weights", tree, log_rows].at
            records += self._fills(gates, tree, log_rows, at, (Point.ZETA, Point.NEXT))
        if self._layout.shard:
            for log_rows in self._layout.fri_log_heights:
                at = self._areas["separating", log_rows].at
                records += self._fills(gates, self._main_tree, log_rows, at, (Point.SEPARATING,))
        self._put_list(HeadWord.FILLS, HeadWord.FILLS_AT, records)

    def _fills(
        self, gates: Placed, tree: int, log_rows: int, to: int, points: Sequence[Point]
    ) -> Iterator[tuple[int, ...]]:
        """Yield the records about the weights of a row at one or two points, from an address on."""
        zero, entry, width = self._zero, ENTRIES[FILL_ENTRY] + FILL_STEPS * RUN, 0
        of_round = zip(self._layout.rounds[tree].matrices, self._batching.weights[tree], strict=True)
        for matrix, runs in of_round:
            if matrix.log_rows != log_rows:
                continue
            width += matrix.width
            for columns, powers in runs:
                to += STRIDE * columns
                found = [gates.address_of(powers[point]) if point in powers else zero for point in points]
                yield to, columns, entry - FILL_STEPS * columns, found[0], found[1] if len(found) > 1 else zero
        if spare := padded(width) - width:
            yield to + STRIDE * spare, spare, entry - FILL_STEPS * spare, zero, zero

    # Queries.

    def _put_folds(self) -> None:
        layout, records, shift = self._layout, list[list[int]](), 0
        each, words = records_of_height(layout), len(MessageWord) + len(FoldWord)
        numbers = {log_rows: each * (1 + i) for i, log_rows in enumerate(layout.fri_log_heights)}
        for i, (log_arity, log_rows) in enumerate(zip(layout.fold_log_arities, layout.folded_log_heights, strict=True)):
            place = self._pack(*self._trees[len(layout.rounds) + i].rows[log_rows])
            arity = [int(log_arity == 1 + k) for k in range(MOST_LOG_ARITY)]
            beta = self._areas["betas"].at + BETA_CELLS * i
            message = self._message(("fold", i), "commit_pow_bits", len(self._words) + words * i)
            records.append([*message, *arity, shift, place, beta, numbers.get(log_rows, 0)])
            shift += log_arity
        self._put_list(HeadWord.FOLDS, HeadWord.FOLDS_AT, records)
        self._set(HeadWord.FINAL_DROP, shift)

    def _put_queries(self) -> None:
        layout, last = self._layout, self._areas["last"]
        coefficients = 1 << layout.parameters.log_final_poly_len
        self._set(HeadWord.QUERIES, layout.parameters.num_queries)
        self._set(HeadWord.BITS, layout.log_max_rows)
        entry = ENTRIES[ENTRY] + ENTRY_STEPS * (BITS - layout.log_max_rows)
        self._set(HeadWord.ENTRY, entry)
        self._set(HeadWord.COEFFICIENTS, coefficients // UNROLLED)
        first = last.elements_at + 1
        self._set(HeadWord.COEFFICIENTS_AT, first + ELEMENT_CELLS * (coefficients - 1))


def _places(layout: Layout, first: int) -> list[TreePlaces]:
    """Return the places of each tree, in the order of rounds and folds; ``first``: the number of the first tree."""
    found = []
    for number, round_ in enumerate(layout.rounds, first):
        logs = {matrix.log_rows for matrix in round_.matrices}
        found.append(places_of_tree(number, round_.log_rows, sorted(logs - {round_.log_rows}), 0))
    for i, log_rows in enumerate(layout.folded_log_heights):
        found.append(places_of_tree(first + len(layout.rounds) + i, log_rows, (), 0))
    return found
