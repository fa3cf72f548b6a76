"""A proof's contents and their bytes: Plonky3's ``BatchProof`` in postcard encoding, parsed strictly.

The parser takes every length from the `Layout`, never from the proof: a length that differs, a word that is not below
p, a varint that is not minimal, a missing or a trailing byte raise VerificationError. Memory is bounded by the layout.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import TypeVar

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext, P
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import DIGEST_BYTES
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout, Round
from graphprover.protocol.parameters import Parameters

T = TypeVar("T")
Cap = tuple[bytes, ...]

WORD_BYTES = 8
EXT_BYTES = EXTENSION_DEGREE * WORD_BYTES


@dataclass(frozen=True)
class TableOpenings:
    """The values of one table's polynomials at zeta, and at the next row's point where they are read there.

    Each as the words of extension elements: 24 bytes a polynomial.
    """

    main: bytes
    main_next: bytes | None
    preprocessed: bytes | None
    preprocessed_next: bytes | None
    quotient: tuple[bytes, ...]  # three coordinate polynomials for each chunk
    permutation: bytes  # three coordinate polynomials for each extension column
    permutation_next: bytes


@dataclass(frozen=True)
class RoundQueries:
    """All queried rows of one input commitment."""

    widths: tuple[int, ...]  # words of a row of each matrix
    rows: bytes  # query by query, the rows of all matrices one after the other; 8 little-endian bytes a word
    path: bytes  # the multiproof's digests, one after the other


@dataclass(frozen=True)
class FoldQueries:
    """All queried groups of one folded codeword."""

    siblings: tuple[bytes, ...]  # [query]: the words of the group without the queried element
    path: bytes  # the multiproof's digests, one after the other


@dataclass(frozen=True)
class BatchProof:
    """Everything the prover sends."""

    main_cap: Cap
    permutation_cap: Cap | None
    quotient_cap: Cap
    openings: tuple[TableOpenings, ...]
    batch_nonce: int  # before the batching challenge
    fold_caps: tuple[Cap, ...]
    fold_nonces: tuple[int, ...]  # before each folding challenge
    round_queries: tuple[RoundQueries, ...]  # in the order of Layout.rounds
    fold_queries: tuple[FoldQueries, ...]
    final_polynomial: tuple[Ext, ...]
    query_nonce: int  # before the query indices
    terminals: tuple[Ext | None, ...]  # the lookup sum of each table, None where it has no lookups
    log_heights: tuple[int, ...]
    lookup_nonce: int | None  # before the lookup challenges; None without lookups
    zeta_nonce: int  # before the out-of-domain point


def rows_by_height(round_: Round, queries: RoundQueries) -> dict[int, np.ndarray]:
    """By log2 of a matrix's rows: the rows of all matrices of that height, uint64 (queries, words), in their order."""
    words = np.frombuffer(queries.rows, dtype="<u8").reshape(-1, sum(round_.widths))
    ends = list(accumulate(round_.widths))
    parts: dict[int, list[np.ndarray]] = {}
    for matrix, end in zip(round_.matrices, ends, strict=True):
        parts.setdefault(matrix.log_rows, []).append(words[:, end - matrix.width : end])
    return {log_rows: np.concatenate(part, axis=1) for log_rows, part in parts.items()}


def opened_values(layout: Layout, openings: Sequence[TableOpenings] | Mapping[int, TableOpenings]) -> list[bytes]:
    """The openings in transcript order: by round, matrix and point."""
    values: list[bytes | None] = []
    for round_ in layout.rounds:
        for matrix in round_.matrices:
            table = openings[matrix.table]
            if round_.name == MAIN:
                values += [table.main, table.main_next]
            elif round_.name == QUOTIENT:
                values.append(table.quotient[matrix.chunk])
            elif round_.name == PREPROCESSED:
                values += [table.preprocessed, table.preprocessed_next]
            else:
                values += [table.permutation, table.permutation_next]
    return [value for value in values if value is not None]


# Writing.


@lru_cache(maxsize=1024)
def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _word(value: int) -> bytes:
    return value.to_bytes(WORD_BYTES, "little")


def _sequence(items: Sequence[T], write: Callable[[T], bytes]) -> bytes:
    return _varint(len(items)) + b"".join(map(write, items))


def _option(item: T | None, write: Callable[[T], bytes]) -> bytes:
    return b"\0" if item is None else b"\1" + write(item)


def _values(words: bytes) -> bytes:
    return _varint(len(words) // EXT_BYTES) + words


def _digests(digests: Sequence[bytes]) -> bytes:
    return _sequence(digests, bytes)


def _path(digests: bytes) -> bytes:
    return _varint(len(digests) // DIGEST_BYTES) + digests


def _round_queries(queries: RoundQueries) -> list[bytes | memoryview]:
    """Some pieces, as they are long; raises ValueError for rows that have not the words of all matrices."""
    count, rest = divmod(len(queries.rows), WORD_BYTES * sum(queries.widths))
    if rest:
        raise ValueError(f"{len(queries.rows)} bytes are no rows of {queries.widths} words")
    # All queries at once: a length is a column of equal bytes, a matrix some columns of the rows.
    words = _bytes(queries.rows).reshape(count, -1)
    lengths = {value: np.tile(_bytes(_varint(value)), (count, 1)) for value in {len(queries.widths), *queries.widths}}
    pieces, first = [lengths[len(queries.widths)]], 0
    for width in queries.widths:
        pieces += [lengths[width], words[:, first : first + WORD_BYTES * width]]
        first += WORD_BYTES * width
    return [_varint(count), np.concatenate(pieces, axis=1).data, _path(queries.path)]


def _fold_queries(queries: FoldQueries) -> bytes:
    """A length before each group, which is the same; raises ValueError where it is not."""
    if len({len(siblings) for siblings in queries.siblings}) > 1:
        raise ValueError("groups of one fold that are not of one length")
    length = _varint(len(queries.siblings[0]) // EXT_BYTES) if queries.siblings else b""
    return _varint(len(queries.siblings)) + length + length.join(queries.siblings) + _path(queries.path)


def _bytes(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8)


def _table_openings(table: TableOpenings) -> bytes:
    return b"".join(
        [
            _values(table.main),
            _option(table.main_next, _values),
            _option(table.preprocessed, _values),
            _option(table.preprocessed_next, _values),
            _sequence(table.quotient, _values),
            b"\0",  # no randomisation: this profile is not zero-knowledge
            _values(table.permutation),
            _values(table.permutation_next),
        ]
    )


def encode(proof: BatchProof) -> bytes:
    """The postcard bytes of Plonky3's ``BatchProof``."""
    return b"".join(
        [
            _digests(proof.main_cap),
            _option(proof.permutation_cap, _digests),
            _digests(proof.quotient_cap),
            b"\0",
            _sequence(proof.openings, _table_openings),
            _word(proof.batch_nonce),
            _sequence(proof.fold_caps, _digests),
            _sequence(proof.fold_nonces, _word),
            _varint(len(proof.round_queries)),
            *chain.from_iterable(map(_round_queries, proof.round_queries)),
            _sequence(proof.fold_queries, _fold_queries),
            _values(exts_to_words(proof.final_polynomial)),
            _word(proof.query_nonce),
            _sequence(proof.terminals, lambda terminal: _option(terminal, lambda value: exts_to_words([value]))),
            _sequence(proof.log_heights, _varint),
            _option(proof.lookup_nonce, _word),
            _word(proof.zeta_nonce),
        ]
    )


def least_bytes(tables: int, columns: int, parameters: Parameters) -> int:
    """Bytes without which no payload has so many tables, which have so many columns together.

    One chunk of the quotient of each table is counted; columns are all others, or as many of them as are known. What it
    takes to describe a statement is thus paid for by whoever sends a proof of it: a reader compares this with the bytes
    there are, before anything is made of a header.
    """
    queries = parameters.num_queries
    # At zeta: columns, one quotient chunk, and a byte for each of 5 lengths and 4 flags; then terminal and height.
    opened = EXT_BYTES * columns + tables * (EXTENSION_DEGREE * EXT_BYTES + 11)
    # At each query: their cells, and the lengths of a main and a quotient row.
    queried = WORD_BYTES * columns + tables * (EXTENSION_DEGREE * WORD_BYTES + 2)
    return opened + queries * queried


# Reading.


@dataclass(frozen=True)
class RowShape:
    """How rows of one shape are written: the same bytes in each, but for its words."""

    vectors: int | None  # how many vectors a row says it has; None where it is one vector and does not say
    lengths: tuple[int, ...]  # what each vector says of its length
    unit: int  # words that are counted as one

    @cached_property
    def words(self) -> tuple[tuple[int, int], ...]:
        """Where the words of each vector begin and end."""
        position, found = len(self._count), []
        for length in self.lengths:
            first = position + len(_varint(length))
            position = first + WORD_BYTES * self.unit * length
            found.append((first, position))
        return tuple(found)

    @cached_property
    def template(self) -> np.ndarray:
        """A row of zeros, uint8."""
        written = [_varint(length) + bytes(WORD_BYTES * self.unit * length) for length in self.lengths]
        return _bytes(self._count + b"".join(written))

    @cached_property
    def fixed(self) -> np.ndarray:
        """Positions of the bytes that are the same in each row."""
        free = np.zeros(len(self.template) + 1, dtype=np.int64)
        for first, last in self.words:
            free[first] += 1
            free[last] -= 1
        return np.flatnonzero(np.cumsum(free[:-1]) == 0)

    @property
    def _count(self) -> bytes:
        return b"" if self.vectors is None else _varint(self.vectors)


@lru_cache(maxsize=64)  # the folds of a proof, and the proofs of a statement, share a few
def _row_shape(vectors: int | None, lengths: tuple[int, ...], unit: int) -> RowShape:
    return RowShape(vectors, lengths, unit)


class _Reader:
    """A cursor over untrusted bytes; every method says what it wants next and raises VerificationError otherwise."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int, what: str) -> bytes:
        taken = self.data[self.position : self.position + count]
        if len(taken) != count:
            raise VerificationError(f"the proof ends inside {what}")
        self.position += count
        return taken

    def varint(self, what: str, largest: int) -> int:
        value = shift = 0
        while True:
            byte = self.take(1, what)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise VerificationError(f"{what}: a length of more than 64 bits")
        if value > largest or (shift and byte == 0):
            raise VerificationError(f"{what}: length {value} is out of range or not in its shortest form")
        return value

    def length(self, what: str, expected: int) -> int:
        got = self.varint(what, (1 << 64) - 1)
        if got != expected:
            raise VerificationError(f"{what}: {got} entries where this statement has {expected}")
        return got

    def present(self, what: str, expected: bool) -> bool:
        flag = self.take(1, what)[0]
        if flag != int(expected):
            raise VerificationError(f"{what}: {'missing' if expected else 'unexpected'}")
        return expected

    def words(self, what: str, count: int) -> bytes:
        """``count`` canonical words as they stand."""
        taken = self.take(WORD_BYTES * count, what)
        if count and max(struct.unpack(f"<{count}Q", taken)) >= P:
            raise VerificationError(f"{what}: a word is not below p")
        return taken

    def word(self, what: str) -> int:
        return int.from_bytes(self.words(what, 1), "little")

    def row(self, what: str, shape: RowShape) -> bytes:
        """The words of one row: vectors of so many words, or extension elements, one after the other."""
        if shape.vectors is not None:
            self.length(what, shape.vectors)
        return b"".join([self.words(what, shape.unit * self.length(what, length)) for length in shape.lengths])

    def rows(self, what: str, shape: RowShape, count: int) -> np.ndarray:
        """The words of ``count`` rows, uint8 (count, bytes): all at once up to the first that `row` refuses."""
        sound = self.sound_rows(shape, count)
        if len(sound) == count:
            return sound
        rest = [self.row(what, shape) for _ in range(count - len(sound))]
        return np.concatenate([sound, _bytes(b"".join(rest)).reshape(len(rest), sound.shape[1])])

    def sound_rows(self, shape: RowShape, count: int) -> np.ndarray:
        """The words of the first rows, ``count`` at most, that have the shape's lengths and words below p."""
        stride = len(shape.template)
        count = min(count, (len(self.data) - self.position) // stride)
        encoded = np.frombuffer(self.data, np.uint8, count * stride, self.position).reshape(count, stride)
        pieces = [encoded[:, first:last] for first, last in shape.words]
        words = np.concatenate(pieces, axis=1) if pieces else encoded[:, :0]
        sound = (encoded[:, shape.fixed] == shape.template[shape.fixed]).all(axis=1)
        sound &= (words.view("<u8") < P).all(axis=1)
        good = count if sound.all() else int(np.argmin(sound))
        self.position += good * stride
        return words[:good]

    def values(self, what: str, count: int) -> bytes:
        return self.words(what, EXTENSION_DEGREE * self.length(what, count))

    def ext(self, what: str) -> Ext:
        return words_to_exts(self.words(what, EXTENSION_DEGREE))[0]

    def cap(self, what: str, log_size: int) -> Cap:
        digests = self.take(DIGEST_BYTES * self.length(what, 1 << log_size), what)
        return tuple([digests[first : first + DIGEST_BYTES] for first in range(0, len(digests), DIGEST_BYTES)])

    def path(self, what: str, most: int) -> bytes:
        return self.take(DIGEST_BYTES * self.varint(what, most), what)


def array_to_words(array: np.ndarray) -> bytes:
    """The words of a uint64 array, 8 little-endian bytes each."""
    return array.astype("<u8", copy=False).tobytes()


def exts_to_words(values: Sequence[Ext]) -> bytes:
    """The words of extension elements, 24 bytes each."""
    return struct.pack(f"<{EXTENSION_DEGREE * len(values)}Q", *chain.from_iterable(values))


def words_to_exts(words: bytes) -> tuple[Ext, ...]:
    """Extension elements from their words, 24 bytes each."""
    values = struct.unpack(f"<{len(words) // WORD_BYTES}Q", words)
    return tuple(zip(values[0::3], values[1::3], values[2::3], strict=True))


def _read_table(reader: _Reader, layout: Layout, table: int) -> TableOpenings:
    air = layout.tables[table]
    what = f"the openings of table {air.name}"
    main = reader.values(what, air.main_width)
    main_next = reader.values(what, air.main_width) if reader.present(what, air.main_next) else None
    width = air.preprocessed_width
    preprocessed = reader.values(what, width) if reader.present(what, width > 0) else None
    next_read = width > 0 and air.preprocessed_next
    preprocessed_next = reader.values(what, width) if reader.present(what, next_read) else None
    chunks = reader.length(what, 1 << layout.log_chunks[table])
    quotient = tuple(reader.values(what, EXTENSION_DEGREE) for _ in range(chunks))
    reader.present(f"{what}: randomisation", False)
    permutation = reader.values(what, air.permutation_width)
    permutation_next = reader.values(what, air.permutation_width)
    return TableOpenings(main, main_next, preprocessed, preprocessed_next, quotient, permutation, permutation_next)


def decode(data: bytes, layout: Layout) -> BatchProof:
    """The proof in these bytes; raises VerificationError for anything but one canonical proof of this layout."""
    reader = _Reader(data)
    queries = layout.parameters.num_queries
    has_lookups = bool(layout.lookup_tables)

    def input_cap(name: str) -> Cap:
        round_ = layout.round(name)
        assert round_ is not None
        return reader.cap(f"the {name} commitment", layout.cap_log_size(round_.log_rows))

    def round_queries(round_: Round) -> RoundQueries:
        what = f"the queries of the {round_.name} commitment"
        rows = reader.rows(what, _row_shape(len(round_.matrices), round_.widths, 1), reader.length(what, queries))
        levels = round_.log_rows - layout.cap_log_size(round_.log_rows)
        return RoundQueries(round_.widths, rows.tobytes(), reader.path(what, queries * levels))

    def fold_queries(fold: int) -> FoldQueries:
        what = f"the queries of fold {fold}"
        others = (1 << layout.fold_log_arities[fold]) - 1
        groups = reader.rows(what, _row_shape(None, (others,), EXTENSION_DEGREE), reader.length(what, queries))
        data, size = groups.tobytes(), groups.shape[1]
        siblings = tuple([data[first : first + size] for first in range(0, len(data), size)])
        log_rows = layout.folded_log_heights[fold]
        levels = log_rows - layout.cap_log_size(log_rows)
        return FoldQueries(siblings, reader.path(what, queries * levels))

    main_cap = input_cap(MAIN)
    permutation_cap = input_cap(PERMUTATION) if reader.present("the permutation commitment", has_lookups) else None
    quotient_cap = input_cap(QUOTIENT)
    reader.present("a randomisation commitment", False)
    tables = reader.length("the openings", len(layout.tables))
    openings = tuple(_read_table(reader, layout, table) for table in range(tables))
    batch_nonce = reader.word("the nonce before the batching challenge")
    folds = range(reader.length("the fold commitments", len(layout.fold_log_arities)))
    fold_caps = tuple(
        reader.cap("a fold commitment", layout.cap_log_size(layout.folded_log_heights[fold])) for fold in folds
    )
    reader.length("the fold nonces", len(folds))
    fold_nonces = tuple(reader.word("a fold nonce") for _ in folds)
    reader.length("the queries", len(layout.rounds))
    input_queries = tuple(round_queries(round_) for round_ in layout.rounds)
    reader.length("the fold queries", len(folds))
    folded_queries = tuple(fold_queries(fold) for fold in folds)
    final_polynomial = words_to_exts(reader.values("the final polynomial", 1 << layout.parameters.log_final_poly_len))
    query_nonce = reader.word("the nonce before the queries")
    reader.length("the lookup terminals", tables)
    terminals = tuple(
        reader.ext("a lookup terminal") if reader.present("a lookup terminal", bool(air.lookups)) else None
        for air in layout.tables
    )
    reader.length("the table heights", tables)
    log_heights = tuple(reader.varint("a table height", (1 << 64) - 1) for _ in range(tables))
    if log_heights != layout.log_heights:
        raise VerificationError("the table heights in the proof are not those of its header")
    lookup_nonce = reader.word("the lookup nonce") if reader.present("the lookup nonce", has_lookups) else None
    zeta_nonce = reader.word("the nonce before the out-of-domain point")
    if reader.position != len(data):
        raise VerificationError(f"{len(data) - reader.position} bytes follow the proof")
    return BatchProof(
        main_cap=main_cap,
        permutation_cap=permutation_cap,
        quotient_cap=quotient_cap,
        openings=openings,
        batch_nonce=batch_nonce,
        fold_caps=fold_caps,
        fold_nonces=fold_nonces,
        round_queries=input_queries,
        fold_queries=folded_queries,
        final_polynomial=final_polynomial,
        query_nonce=query_nonce,
        terminals=terminals,
        log_heights=log_heights,
        lookup_nonce=lookup_nonce,
        zeta_nonce=zeta_nonce,
    )
