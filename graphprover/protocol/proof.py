"""The contents of a proof and their encoding: Plonky3's ``BatchProof`` in postcard, parsed strictly.

The parser takes every length from the `Layout`, never from the proof: a different length, a word of p or more, a varint
that is not minimal, a missing or a trailing byte raise VerificationError. Memory is bounded by the layout.
Specification: docs/protocol.md, section 12.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import accumulate, chain
from typing import Any, TypeVar

import numpy as np

from graphprover.field import EXTENSION_DEGREE, Ext, P, ext_sum
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, CommittedRound, Layout
from graphprover.protocol.parameters import Parameters

T = TypeVar("T")
Cap = tuple[bytes, ...]
Caps = Sequence[Cap | None] | None  # commitments of the shards of a proof to their preprocessed columns, if known

WORD_BYTES = 8
_LARGE = b"\xff" * 4
EXT_BYTES = EXTENSION_DEGREE * WORD_BYTES


@dataclass(frozen=True)
class TableOpenings:
    """The values of one table's polynomials at zeta, and at the other points at which they are opened.

    Values are encoded extension elements, 24 bytes for each polynomial.
    """

    main: bytes
    main_next: bytes | None  # None if not opened, as the next two
    preprocessed: bytes | None
    preprocessed_next: bytes | None
    quotient: tuple[bytes, ...]  # three coordinate polynomials for each chunk
    permutation: bytes  # three coordinate polynomials for each extension column
    permutation_next: bytes
    main_separated: bytes | None = None  # at the separating point of a shard; None without shards


@dataclass(frozen=True)
class RoundQueries:
    """All queried rows of one input commitment."""

    widths: tuple[int, ...]  # words in a row of each matrix
    rows: bytes | memoryview  # for each query, the rows of all matrices in order; 8 little-endian bytes per word
    path: bytes  # digests of the multiproof, concatenated

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the rows as bytes, because a memoryview cannot be pickled."""
        return RoundQueries, (self.widths, bytes(self.rows), self.path)


@dataclass(frozen=True)
class FoldQueries:
    """All queried groups of one folded codeword."""

    others: int  # elements of a group without the queried one
    siblings: bytes  # for each query, the other elements of its group; 24 bytes per element
    path: bytes  # digests of the multiproof, concatenated


@dataclass(frozen=True)
class BatchProof:
    """All messages of the prover."""

    main_cap: Cap
    permutation_cap: Cap | None  # None without lookups
    quotient_cap: Cap
    openings: tuple[TableOpenings, ...]  # [table]
    batch_nonce: int  # before the batching challenge
    fold_caps: tuple[Cap, ...]
    fold_nonces: tuple[int, ...]  # before each folding challenge
    round_queries: tuple[RoundQueries, ...]  # in the order of Layout.rounds
    fold_queries: tuple[FoldQueries, ...]
    final_polynomial: tuple[Ext, ...]  # coefficients, lowest first
    query_nonce: int  # before the query indices
    terminals: tuple[Ext | None, ...]  # LogUp sum of each table, None without lookups
    log_heights: tuple[int, ...]  # log2 of each table's rows
    lookup_nonce: int | None  # before the lookup challenges; None without lookups
    zeta_nonce: int  # before the out-of-domain point

    @property
    def total(self) -> Ext:
        """The sum of all lookup terminals."""
        return ext_sum(terminal for terminal in self.terminals if terminal is not None)


def separated_values(openings: Sequence[TableOpenings]) -> list[bytes]:
    """Return the values of each table's main columns at the separating point; none of a proof without shards."""
    return [table.main_separated for table in openings if table.main_separated is not None]


def opened_values(layout: Layout, openings: Sequence[TableOpenings] | Mapping[int, TableOpenings]) -> list[bytes]:
    """Return the opened values in transcript order: by round, matrix and point.

    Args:
        layout: shape of the proof.
        openings: opened values of each table.

    Returns:
        Encoded extension elements, 24 bytes each: one entry for each matrix and point.
    """
    values: list[bytes | None] = []
    for round_ in layout.rounds:
        for matrix in round_.matrices:
            table = openings[matrix.table]
            if round_.name == MAIN:
                values += [table.main, table.main_next, table.main_separated]
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


@dataclass(frozen=True)
class RowShape:
    """The encoding of rows of one shape, in which all bytes except the words are equal."""

    vectors: int | None  # encoded number of vectors in a row; None: a single vector without a number
    lengths: tuple[int, ...]  # encoded length of each vector
    unit: int  # words per unit of length

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of the words of a row."""
        return WORD_BYTES * self.unit * sum(self.lengths)

    @cached_property
    def words(self) -> tuple[tuple[int, int], ...]:
        """First and last position of each vector's words in the encoding, as slices."""
        position, found = len(self._count), []
        for length in self.lengths:
            first = position + len(_varint(length))
            position = first + WORD_BYTES * self.unit * length
            found.append((first, position))
        return tuple(found)

    @cached_property
    def template(self) -> np.ndarray:
        """Encoding of a row of zeros, uint8."""
        written = [_varint(length) + bytes(WORD_BYTES * self.unit * length) for length in self.lengths]
        return _bytes(self._count + b"".join(written))

    @cached_property
    def fixed(self) -> np.ndarray:
        """Positions of the bytes that are equal in all rows, int64."""
        free = np.zeros(len(self.template) + 1, dtype=np.int64)
        for first, last in self.words:
            free[first] += 1
            free[last] -= 1
        return np.flatnonzero(np.cumsum(free[:-1]) == 0)

    @property
    def _count(self) -> bytes:
        return b"" if self.vectors is None else _varint(self.vectors)


@lru_cache(maxsize=64)  # the folds of a proof, and proofs of one statement, share a few shapes
def _row_shape(vectors: int | None, lengths: tuple[int, ...], unit: int) -> RowShape:
    return RowShape(vectors, lengths, unit)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The queried rows of one commitment, which are encoded at their place in the proof."""

    shape: RowShape
    words: np.ndarray  # their words, uint8 (queries, bytes)

    def __len__(self) -> int:
        """Return the bytes of the encoding."""
        return len(self.words) * len(self.shape.template)

    def write(self, target: np.ndarray) -> None:
        """Write the encoding to uint8 (bytes,): a vector of all rows is a block of columns."""
        encoded = target.reshape(len(self.words), -1)
        encoded[:] = self.shape.template
        start = 0
        for first, last in self.shape.words:
            encoded[:, first:last] = self.words[:, start : start + last - first]
            start += last - first


def _queries(shape: RowShape, words: bytes | memoryview, path: bytes) -> list[bytes | _Rows]:
    """Return the parts of the encoding. Raises ValueError if the bytes are not a whole number of rows."""
    if not shape.row_bytes or len(words) % shape.row_bytes:
        raise ValueError(f"{len(words)} bytes are not a whole number of rows of {shape.row_bytes}")
    rows = _Rows(shape, _bytes(words).reshape(-1, shape.row_bytes))
    return [_varint(len(rows.words)), rows, _path(path)]


def _round_queries(queries: RoundQueries) -> list[bytes | _Rows]:
    return _queries(_row_shape(len(queries.widths), queries.widths, 1), queries.rows, queries.path)


def _fold_queries(queries: FoldQueries) -> list[bytes | _Rows]:
    return _queries(_row_shape(None, (queries.others,), EXTENSION_DEGREE), queries.siblings, queries.path)


def _bytes(data: bytes | memoryview) -> np.ndarray:
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
    """Return the proof in postcard encoding, as Plonky3's ``BatchProof``.

    The values at the separating point of a shard, which Plonky3 does not have, follow it.
    """
    separated = separated_values(proof.openings)
    parts = [
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
        _varint(len(proof.fold_queries)),
        *chain.from_iterable(map(_fold_queries, proof.fold_queries)),
        _values(exts_to_words(proof.final_polynomial)),
        _word(proof.query_nonce),
        _sequence(proof.terminals, lambda terminal: _option(terminal, lambda value: exts_to_words([value]))),
        _sequence(proof.log_heights, _varint),
        _option(proof.lookup_nonce, _word),
        _word(proof.zeta_nonce),
        *([_sequence(separated, _values)] if separated else []),
    ]
    ends = list(accumulate(map(len, parts), initial=0))

    def write(encoded: np.ndarray) -> None:
        for part, first, last in zip(parts, ends, ends[1:], strict=False):
            if isinstance(part, _Rows):
                part.write(encoded[first:last])
            else:
                encoded[first:last] = _bytes(part)

    return _written(ends[-1], write)


def _written(size: int, write: Callable[[np.ndarray], object]) -> bytes:
    """Return bytes that a function writes in place, as uint8 (size,).

    Copying an array would touch megabytes of fresh memory, which takes longer than the copy itself.
    """
    written = BytesIO(bytes(size))
    with written.getbuffer() as target:
        write(np.frombuffer(target, dtype=np.uint8))
    return written.getvalue()


def least_bytes(tables: int, columns: int, parameters: Parameters) -> int:
    """Return a lower bound on the bytes of a proof.

    A reader compares the bound with the size of a file before it uses the header, so that a small file cannot claim a
    large statement.

    Args:
        tables: number of tables; one quotient chunk of each is counted.
        columns: number of other columns of all tables, or a lower bound.
        parameters: parameters of the proof.
    """
    queries = parameters.num_queries
    # At zeta: columns, one quotient chunk, and a byte for each of 5 lengths and 4 flags; then terminal and height.
    opened = EXT_BYTES * columns + tables * (EXTENSION_DEGREE * EXT_BYTES + 11)
    # At each query: cells, and the lengths of a main and a quotient row.
    queried = WORD_BYTES * columns + tables * (EXTENSION_DEGREE * WORD_BYTES + 2)
    return opened + queries * queried


# Reading.


class _Reader:
    """A cursor over untrusted bytes; every method reads one item, named ``what``, or raises VerificationError."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int, what: str) -> bytes:
        taken = self.data[self.position : self.position + count]
        if len(taken) != count:
            raise VerificationError("payload.truncated", f"the proof ends inside {what}")
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
                raise VerificationError("payload.varint", f"{what}: a length of more than 64 bits")
        if value > largest or (shift and byte == 0):
            raise VerificationError(
                "payload.varint", f"{what}: length {value} is out of range or not in its shortest form"
            )
        return value

    def length(self, what: str, expected: int) -> int:
        encoded = _varint(expected)
        if not self.data.startswith(encoded, self.position):
            got = self.varint(what, (1 << 64) - 1)
            raise VerificationError("payload.length", f"{what}: {got} entries where this statement has {expected}")
        self.position += len(encoded)
        return expected

    def present(self, what: str, expected: bool) -> bool:
        flag = self.take(1, what)[0]
        if flag != int(expected):
            raise VerificationError("payload.option", f"{what}: {'missing' if expected else 'unexpected'}")
        return expected

    def words(self, what: str, count: int) -> bytes:
        """Read ``count`` canonical words and return their bytes."""
        taken = self.take(WORD_BYTES * count, what)
        # The last four bytes of a word that is not below p are 255.
        if _LARGE in taken and max(struct.unpack(f"<{count}Q", taken)) >= P:
            raise VerificationError("payload.word", f"{what}: a word is not below p")
        return taken

    def word(self, what: str) -> int:
        return int.from_bytes(self.words(what, 1), "little")

    def row(self, what: str, shape: RowShape) -> bytes:
        """Read one row and return the bytes of its words, without lengths."""
        if shape.vectors is not None:
            self.length(what, shape.vectors)
        return b"".join([self.words(what, shape.unit * self.length(what, length)) for length in shape.lengths])

    def rows(self, what: str, shape: RowShape, count: int) -> bytes:
        """Read ``count`` rows and return the bytes of their words.

        Reads all rows at once; from the first malformed row on, `row` reads them and raises its error.
        """
        sound = self.sound_rows(shape, count)
        rest = count - len(sound) // shape.row_bytes
        return sound + b"".join([self.row(what, shape) for _ in range(rest)]) if rest else sound

    def sound_rows(self, shape: RowShape, count: int) -> bytes:
        """Read up to ``count`` rows, to the first malformed one, and return the bytes of their words."""
        stride = len(shape.template)
        count = min(count, (len(self.data) - self.position) // stride)
        encoded = np.frombuffer(self.data, np.uint8, count * stride, self.position).reshape(count, stride)
        vectors = [encoded[:, first:last] for first, last in shape.words]
        rows = count, shape.row_bytes
        words = _written(count * shape.row_bytes, lambda made: np.concatenate(vectors, axis=1, out=made.reshape(rows)))
        sound = (encoded[:, shape.fixed] == shape.template[shape.fixed]).all(axis=1)  # bool (count,)
        sound &= (_bytes(words).reshape(rows).view("<u8") < P).all(axis=1)
        good = count if sound.all() else int(np.argmin(sound))
        self.position += good * stride
        return words[: good * shape.row_bytes]

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
    """Return the words of a uint64 array, 8 little-endian bytes each."""
    return array.astype("<u8", copy=False).tobytes()


def exts_to_words(values: Sequence[Ext]) -> bytes:
    """Encode extension elements, 24 bytes each."""
    return struct.pack(f"<{EXTENSION_DEGREE * len(values)}Q", *chain.from_iterable(values))


def words_to_exts(words: bytes) -> tuple[Ext, ...]:
    """Decode extension elements, 24 bytes each."""
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


def _read_separated(reader: _Reader, layout: Layout, openings: Sequence[TableOpenings]) -> tuple[TableOpenings, ...]:
    """Read the values of all main columns at the separating point, and return the openings with them."""
    what = "the values at the separating point"
    reader.length(what, len(layout.tables))
    return tuple(
        replace(table, main_separated=reader.values(what, air.main_width))
        for table, air in zip(openings, layout.tables, strict=True)
    )


def _read_round(reader: _Reader, layout: Layout, round_: CommittedRound) -> RoundQueries:
    what, queries = f"the queries of the {round_.name} commitment", layout.parameters.num_queries
    rows = reader.rows(what, _row_shape(len(round_.matrices), round_.widths, 1), reader.length(what, queries))
    levels = round_.log_rows - layout.cap_log_size(round_.log_rows)
    return RoundQueries(round_.widths, rows, reader.path(what, queries * levels))


def _read_fold(reader: _Reader, layout: Layout, fold: int) -> FoldQueries:
    what, queries = f"the queries of fold {fold}", layout.parameters.num_queries
    others = (1 << layout.fold_log_arities[fold]) - 1
    groups = reader.rows(what, _row_shape(None, (others,), EXTENSION_DEGREE), reader.length(what, queries))
    log_rows = layout.folded_log_heights[fold]
    levels = log_rows - layout.cap_log_size(log_rows)
    return FoldQueries(others, groups, reader.path(what, queries * levels))


def decode(data: bytes, layout: Layout) -> BatchProof:
    """Decode a proof.

    Args:
        data: postcard encoding.
        layout: expected shape of the proof.

    Raises:
        VerificationError: the bytes are not the canonical encoding of a proof of this layout.
    """
    reader = _Reader(data)
    has_lookups = bool(layout.lookup_tables)

    def input_cap(name: str) -> Cap:
        round_ = layout.round(name)
        assert round_ is not None
        return reader.cap(f"the {name} commitment", layout.cap_log_size(round_.log_rows))

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
    input_queries = tuple(_read_round(reader, layout, round_) for round_ in layout.rounds)
    reader.length("the fold queries", len(folds))
    folded_queries = tuple(_read_fold(reader, layout, fold) for fold in folds)
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
        raise VerificationError("payload.heights", "the table heights in the proof differ from its header")
    lookup_nonce = reader.word("the lookup nonce") if reader.present("the lookup nonce", has_lookups) else None
    zeta_nonce = reader.word("the nonce before the out-of-domain point")
    if layout.shard:
        openings = _read_separated(reader, layout, openings)
    if reader.position != len(data):
        raise VerificationError("payload.trailing", f"{len(data) - reader.position} bytes follow the proof")
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
