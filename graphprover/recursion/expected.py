"""The expected work of a layer, from the layouts of the proofs that it is about: compressions, rows, memory.

The program takes exactly the steps that are counted here: a layout determines them. Queries are random, and several of
them may meet in one row or node. The number of different ones is the expected one: the compressions of proofs with 128
bits of security have a standard deviation of up to 1 %.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from graphprover.field import EXTENSION_DEGREE, ZERO
from graphprover.protocol.blake3 import CHUNK_WORDS, calls
from graphprover.protocol.digests import DIGEST_BYTES, DIGEST_WORDS
from graphprover.protocol.joint import JointPart
from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import Parameters
from graphprover.recursion.head.head import head_of
from graphprover.recursion.head.memory_areas import Name, Unit, main_tree, records_of_height, row_widths
from graphprover.recursion.head.messages import ShardTerms, further_digests
from graphprover.recursion.head.words import SHIFT, STREAM_WORDS, UNROLLED, HeadWord
from graphprover.recursion.layer_tables import layer_rows, merged_log_rows
from graphprover.recursion.tables.segments import QUARTERS, padded

MARGIN = 0.025  # at least two and a half standard deviations of the compressions of proofs with 128 bits of security

# By a part of the run: the program's steps, and the cells of its frames.
_COSTS: Mapping[str, tuple[int, int]] = {
    "run": (25, 532),
    "child": (3550, 3531),
    "child that is a shard": (-470, -464),  # its separating point in the place of two challenges
    "chunk of the head": (8, 10),
    "chunk of gates": (139, 12),
    "chunk of a message": (9, 11),  # but the last one
    "record of copied words": (20, 83),
    "copied word": (2, 0),
    "frame of elements": (94, 8),
    "proof of work": (242, 239),
    "digest of queries": (80, 78),  # after the first
    "fold": (628, 618),
    "tree": (33, 29),
    "turn of a chain": (31, 24),
    "turn of a join": (55, 48),
    "zero": (8, 8),
    "record of weights": (31, 158),
    "weight": (4, 0),
    "height": (24, 18),
    "query": (191, 383),
    "bit of a query": (3, 0),
    "height of a query": (47, 48),
    "chunk of a query": (15, 17),
    "fold by 2 of a query": (60, 78),
    "fold by 4 of a query": (77, 107),
    "fold by 8 of a query": (106, 144),
    "turn of a query": (23, 24),  # of the final polynomial
}


@dataclass(frozen=True)
class LayerWork:
    """The work of a layer, or its part about one child: the work about several children is the sum."""

    blocks: float = 0  # of the segments that `machine` hashes
    segments: float = 0  # chunks and parents of the rows that are read
    nodes: float = 0  # of Merkle trees
    steps: int = 0  # of the program
    cells: int = 0  # of memory

    def __add__(self, other: "LayerWork") -> "LayerWork":
        return LayerWork(*(getattr(self, own.name) + getattr(other, own.name) for own in fields(self)))

    @property
    def compressions(self) -> float:
        """The calls of `blake3`."""
        return self.blocks + self.nodes

    @property
    def machine_rows(self) -> float:
        """The rows that `machine` needs, each with a cell of memory beside."""
        return max(self.steps + QUARTERS * self.blocks + self.segments + self.nodes, self.cells)

    @property
    def log_heights(self) -> tuple[int, int]:
        """log2 of the rows of `blake3` and of `machine`. A number 2.5 % below a power of two counts as more."""
        found = layer_rows(*self._most)
        return found["blake3"].bit_length() - 1, found["machine"].bit_length() - 1

    @property
    def merged_log_rows(self) -> int:
        """log2 of the rows of a merged layer, as `log_heights`; raises ValueError as `layer_tables.merged_log_rows`."""
        return merged_log_rows(*self._most)

    @property
    def _most(self) -> tuple[int, int]:
        """The compressions and rows of `machine` that are counted."""
        most_calls, rows = (round(count * (1 + MARGIN)) for count in (self.compressions, self.machine_rows))
        return most_calls, rows


def run_work() -> LayerWork:
    """Return the part of a layer's work that is about no child: the list of heads."""
    steps, cells = _COSTS["run"]
    return LayerWork(calls(CHUNK_WORDS), _segments(CHUNK_WORDS), steps=steps, cells=cells)


def work_about(layout: Layout) -> LayerWork:
    """Return the part of a layer's work that is about a proof of this layout.

    Raises:
        ValueError: The program cannot verify proofs of this layout (`graphprover.recursion.head.head.check_layout`).
    """
    queries, further = layout.parameters.num_queries, further_digests(layout)
    fixed = _fixed(_without_rate(layout))
    parts = {**fixed.parts, "query": queries, "digest of queries": further}
    parts |= {part: queries * count for part, count in _parts_of_query(layout).items()}
    steps, frames = (sum(_COSTS[part][i] * count for part, count in parts.items()) for i in range(2))
    read = [*((1, words) for words in fixed.messages), (further, DIGEST_WORDS), *_rows(layout)]
    blocks, segments = (sum(rows * of(words) for rows, words in read) for of in (calls, _segments))
    cells = fixed.cells + SHIFT * STREAM_WORDS * further + frames
    return LayerWork(blocks, segments, _nodes(layout), steps, cells)


def met(log_size: int, queries: int) -> float:
    """Return how many of 2^log_size places random queries meet, on average."""
    size = 2.0**log_size
    return size * (1 - (1 - 1 / size) ** queries)


@dataclass(frozen=True)
class _Fixed:
    """The work about a proof that its queries and its rate do not change."""

    parts: Mapping[str, int]  # the number of each of `_COSTS`
    messages: tuple[int, ...]  # the words of the head, and of each message of the transcript
    cells: int  # of the head and its areas


@lru_cache(maxsize=256)
def _fixed(layout: Layout) -> _Fixed:
    shard = ShardTerms(JointPart(bytes(DIGEST_BYTES), bytes(DIGEST_BYTES), 0), *[ZERO] * 3) if layout.shard else None
    cap = (bytes(DIGEST_BYTES),) if layout.preprocessed_tables else None
    values = [[0] * air.num_public_values for air in layout.tables]
    head = head_of(layout, values, cap, bytes(DIGEST_BYTES), shard=shard)
    areas, word = head.areas.by_name.values(), [int(word) for word in head.words[: head.read_chunks * CHUNK_WORDS]]
    messages = [area.size for area in areas if area.unit == Unit.MESSAGE or _is_short(area.name, layout)]
    sizes, widths = head.constants.sizes, [padded(words) for _, words in _widths(layout)]
    repeated = EXTENSION_DEGREE * sum(air.main_width for air in layout.tables) if layout.shard else 0

    def total(*fields: HeadWord) -> int:
        return sum(word[field] for field in fields)

    parts = {
        "child": 1,
        "child that is a shard": int(layout.shard),
        "chunk of the head": total(HeadWord.READ_CHUNKS),
        "chunk of gates": total(HeadWord.PRODUCTS, HeadWord.SUMS, HeadWord.DIFFERENCES),
        "chunk of a message": sum((words - 1) // CHUNK_WORDS for words in messages),
        "record of copied words": total(HeadWord.COPIES, HeadWord.REPEATS),
        "copied word": sum(sizes) - sizes.elements + repeated,
        "frame of elements": total(HeadWord.PACKS, HeadWord.OPENED, HeadWord.TERMINALS, HeadWord.POLYNOMIAL),
        "proof of work": sum(_is_work(area.name) for area in areas),
        "fold": total(HeadWord.FOLDS),
        "tree": total(HeadWord.TREES),
        "turn of a chain": total(HeadWord.CHAIN),
        "turn of a join": total(HeadWord.QUOTIENT_JOINS, HeadWord.PERMUTATION_JOINS),
        "zero": total(HeadWord.ZEROS),
        "record of weights": total(HeadWord.FILLS),
        "weight": sum(widths),
        "height": total(HeadWord.HEIGHTS),
    }
    return _Fixed(parts, (len(head.words), *messages), head.next_start.at - head.start.at)


def _without_rate(layout: Layout) -> Layout:
    """Return the layout at one rate, with one query, and with one bit of each proof of work that there is."""
    own = layout.parameters
    bits = {name: min(1, getattr(own, name)) for name in Parameters.RANGES if name.endswith("_pow_bits")}
    return replace(layout, parameters=replace(own, log_blowup=1, num_queries=1, **bits))


def _is_work(name: Name) -> bool:
    return isinstance(name, tuple) and name[0] == "work"


def _is_short(name: Name, layout: Layout) -> bool:
    """Return whether an area has a message of a nonce, or the lookup digest that a proof in one shard hashes again."""
    return _is_work(name) or (name == "again" and not layout.shard)


def _parts_of_query(layout: Layout) -> dict[str, int]:
    """Return the number of each of `_COSTS` of one query."""
    arities = layout.fold_log_arities
    return {
        "bit of a query": layout.log_max_rows,
        "height of a query": records_of_height(layout) * len(layout.fri_log_heights),
        "chunk of a query": sum(-(-words // CHUNK_WORDS) for _, words in _widths(layout)),
        "turn of a query": (1 << layout.parameters.log_final_poly_len) // UNROLLED,
        **{f"fold by {1 << log_arity} of a query": arities.count(log_arity) for log_arity in (1, 2, 3)},
    }


def _widths(layout: Layout) -> Iterator[tuple[int, int]]:
    """Yield log2 of the height and the words of each opened row, the main rows of a shard twice."""
    main = main_tree(layout)
    for (tree, log_rows), words in row_widths(layout).items():
        yield from [(log_rows, words)] * (1 + (layout.shard and tree == main))


def _rows(layout: Layout) -> Iterator[tuple[float, int]]:
    """Yield the number and the words of the rows that are read, height by height, and of the groups of folds."""
    queries = layout.parameters.num_queries
    for log_rows, words in _widths(layout):
        yield met(log_rows, queries), words
    for log_arity in layout.fold_log_arities:  # each query reads its own
        yield queries, EXTENSION_DEGREE << log_arity


def _nodes(layout: Layout) -> float:
    """Return the nodes and the joins of all trees that queries meet, on average."""
    sizes = [size for log_rows in layout.folded_log_heights for size in range(log_rows)]
    for round_ in layout.rounds:
        joined = {matrix.log_rows for matrix in round_.matrices} - {round_.log_rows}
        sizes += [*range(round_.log_rows), *joined]
    return sum(met(size, layout.parameters.num_queries) for size in sizes)


def _segments(words: int) -> int:
    """Return the chunks and the parents of a message."""
    return 2 * max(1, -(-words // CHUNK_WORDS)) - 1
