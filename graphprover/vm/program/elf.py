"""Programs: statically linked ELF64 files for RV64IM, read strictly.

Tool Interface Standard, "Executable and Linking Format", 1.2; the RISC-V ELF psABI for the machine's flags.
"""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from graphprover.protocol.hashing import keccak256
from graphprover.vm.program.compressed import REMEDY, reached_compressed
from graphprover.vm.program.foreign import MAGIC, other_elf, other_file
from graphprover.vm.program.io import INPUT_BASE, MEMORY_END
from graphprover.vm.program.isa import Instructions, decode_all

MAX_IMAGE_BYTES = 256 << 20  # bytes of memory with initial values
MAX_ZERO_BYTES = 4 << 20  # bytes of these beyond the file's own
MAX_SEGMENTS = 64
LEAST_GUARD = 4096  # bytes of a gap below the stack

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_LOAD, _DYNAMIC, _INTERPRETER, _TLS = 1, 2, 3, 7
_X, _W, _R = 1, 2, 4
_RVC, _FLOAT_ABI, _RVE = 1, 6, 8  # flags: may have compressed instructions; floating-point registers; 16 registers
_NO_MORE, _NEEDED = 0, 1  # tags of the dynamic section
_SIZES_OF_RELOCATIONS = (2, 8, 18, 35)  # of its tables: PLTRELSZ, RELASZ, RELSZ, RELRSZ
_MAX_DYNAMIC = 4096  # entries of it that are read


class ElfError(ValueError):
    """Raised for a file that is no program for this machine; the message tells why."""


@dataclass(frozen=True, eq=False)
class Image:
    """A program and its memory at the start.

    Data words are aligned words of 8 bytes. Below ``zero_base`` no others exist; from there on everything is zero.
    """

    entry: int  # address of the first instruction
    code_base: int  # address of code[0], a multiple of 4
    code: np.ndarray  # uint32, instruction words, read-only
    addresses: np.ndarray  # uint64, rising: the data words, including readable code
    values: np.ndarray  # uint64, their values
    zero_base: int  # a multiple of 8, at most INPUT_BASE
    file: bytes = b""  # the ELF file, used only for its symbols in messages about faults

    @cached_property
    def instructions(self) -> Instructions:
        """Return the decoded code."""
        return decode_all(self.code)

    @cached_property
    def code_digest(self) -> bytes:
        """Return SHA-256 of the code and its address."""
        return hashlib.sha256(struct.pack("<Q", self.code_base) + self.code.tobytes()).digest()

    @property
    def code_end(self) -> int:
        """Return the first address behind the code."""
        return self.code_base + 4 * len(self.code)

    @property
    def stack_guard(self) -> range:
        """Return the addresses below the stack that do not exist; none if the program has no such gap.

        The kit's linker script puts the stack at ``zero_base``, right above a single word with a gap below it.
        """
        floor = self.zero_base - 8
        last = self.addresses[-2:].tolist()
        start = max(self.code_end, last[0] + 8) if len(last) == 2 else self.code_end
        guards = last[-1:] == [floor] and floor - start >= LEAST_GUARD
        return range(start, floor) if guards else range(0)


@dataclass(frozen=True)
class _Segment:
    flags: int
    start: int
    end: int
    data: memoryview  # of the file: from start on; zeros follow

    def __str__(self) -> str:
        return f"segment {self.start:#x}..{self.end:#x}"


def program_hash(image: Image) -> bytes:
    """Return Keccak-256 of entry, code base, zero base, code and data: 64-bit words, preceded by their numbers."""
    parts = [struct.pack("<QQQQ", image.entry, image.code_base, image.zero_base, len(image.code))]
    parts += [image.code.astype("<u4").tobytes(), struct.pack("<Q", len(image.addresses))]
    return keccak256(b"".join([*parts, image.addresses.astype("<u8").tobytes(), image.values.astype("<u8").tobytes()]))


def load_elf(data: bytes) -> Image:
    """Load the program of an ELF file; raise ElfError for any other file."""
    entry, flags, offset, count = _header(data)
    segments = _segments(data, offset, count)
    executable = [segment for segment in segments if segment.flags & _X]
    _require(len(executable) == 1, f"{len(executable)} executable segments; a program has one")
    (code,) = executable
    _require(not code.flags & _W, f"{code} is both executable and writable")
    _require(code.start % 4 == 0, f"executable {code} does not begin at a multiple of 4: {REMEDY}")
    zeros = code.end - code.start - len(code.data)
    _require(zeros <= MAX_ZERO_BYTES, f"{zeros:,} bytes of executable {code} have no contents: link zeroed data apart")
    _require(code.start <= entry < code.end, f"entry {entry:#x} is outside the code, {code}")
    _require(entry % 4 == 0, f"entry {entry:#x} is not aligned to instructions of 4 bytes: {REMEDY}")
    # The last instruction is filled up with zeros. No other segment has a part of it, nor of a word that is unreadable.
    word = 4 if code.flags & _R else 8
    others = [segment for segment in segments if segment is not code]
    for segment in others:
        apart = segment.end <= code.start & -word or segment.start >= _up(code.end, word)
        _require(apart, f"{segment} shares a word of {word} bytes with the code, {code}: link it to another page")
    addresses, values = _words(segments if code.flags & _R else others, code.end)
    last = int(addresses[-1]) + 8 if len(addresses) else 0
    words = np.zeros(_up(code.end - code.start, 4) // 4, dtype="<u4")
    words.view(np.uint8)[: len(code.data)] = np.frombuffer(code.data, dtype=np.uint8)
    words = words.astype(np.uint32, copy=False)
    if flags & _RVC and (pc := reached_compressed(words, code.start, entry)) is not None:
        raise ElfError(f"compressed instruction at {pc:#x}: {REMEDY}")
    return Image(entry, code.start, words, addresses, values, max(last, _up(code.end, 8)), data)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ElfError(otherwise)


def _up(number: int, step: int) -> int:
    """Round up to a multiple of a power of two."""
    return (number + step - 1) & -step


def _header(data: bytes) -> tuple[int, int, int, int]:
    """Check the file's header; return entry, flags, and the offset and number of its segments.

    The fields of the OS ABI, the versions, the header's own size and unknown flags say nothing about the program.
    """
    if not data.startswith(MAGIC):
        what = other_file(data)
        raise ElfError(f"no ELF file, but {what}" if what else "no ELF file")
    _require(len(data) >= _HEADER.size, "ELF header is cut off")
    ident, kind, machine, _, entry, offset, _, flags, _, entry_size, count, *_ = _HEADER.unpack_from(data)
    other = other_elf(ident, kind, machine)
    _require(not other, other)
    _require(not flags & _FLOAT_ABI, "uses floating-point registers: compile with -mabi=lp64")
    _require(not flags & _RVE, "for RV64E (flag RVE): compile with -mabi=lp64")
    _require(entry_size == _SEGMENT.size, f"entries of {entry_size} bytes in the table of segments, not 56")
    _require(count <= MAX_SEGMENTS, f"{count:,} segments; {MAX_SEGMENTS} at most are taken")
    _require(offset + count * entry_size <= len(data), "table of segments is cut off")
    return entry, flags, offset, count


def _segments(data: bytes, offset: int, count: int) -> list[_Segment]:
    """Return the segments that are loaded, by rising address. Segments of other types are passed over."""
    segments: list[_Segment] = []
    thread_local: list[tuple[int, int]] = []
    for i in range(count):
        kind, flags, at, start, _, size, memory, align = _SEGMENT.unpack_from(data, offset + i * _SEGMENT.size)
        contents = memoryview(data)[at : at + size]
        _require(kind != _INTERPRETER, "dynamically linked, for an interpreter: link with -static")
        if kind == _DYNAMIC:
            _check_dynamic(contents)
        if kind == _TLS:  # a part of a loaded segment, which the guest's start sets up
            thread_local.append((start, start + size))
        if kind != _LOAD or not memory:
            continue
        segment = _Segment(flags, start, start + memory, contents)
        _require(len(segment.data) == size, f"contents of {segment} are cut off")
        _require(size <= memory, f"{segment} has {size} bytes of contents for {memory} bytes of memory")
        _require(align & (align - 1) == 0, f"{segment} is aligned to {align} bytes, no power of two")
        _require(align < 2 or (start - at) % align == 0, f"{segment} is misaligned: its address, modulo {align}")
        _require(segment.end <= MEMORY_END, f"{segment} does not end below 2^32")
        _require(segment.end <= INPUT_BASE, f"{segment} does not end below {INPUT_BASE:#x}, where the input lies")
        segments.append(segment)
    segments.sort(key=lambda segment: segment.start)
    for low, high in pairwise(segments):
        _require(low.end <= high.start, f"{low} and {high} overlap")
    for start, end in thread_local:
        held = any(segment.start <= start and end <= segment.start + len(segment.data) for segment in segments)
        _require(start == end or held, f"thread-local data {start:#x}..{end:#x} is in no segment that is loaded")
    _require(sum(len(segment.data) for segment in segments) <= len(data), "segments share contents")
    return segments


def _check_dynamic(contents: memoryview) -> None:
    """Refuse a dynamic section that asks for a dynamic linker: it would change memory, or load more of it."""
    size = min(len(contents) // 16, _MAX_DYNAMIC)
    entries = np.frombuffer(contents[: 16 * size], dtype="<u8").reshape(-1, 2)
    for tag, value in entries.tolist():
        if tag == _NO_MORE:
            return
        _require(tag != _NEEDED, "dynamically linked, with shared libraries: link with -static")
        relocates = tag in _SIZES_OF_RELOCATIONS and value > 0
        _require(not relocates, "dynamically linked, with relocations at the start: link with -static -no-pie")


def _words(segments: Sequence[_Segment], end: int) -> tuple[np.ndarray, np.ndarray]:
    """Return addresses and values of all words up to ``end`` or the last with contents, without the zeros behind."""
    end = max([end, *(segment.start + len(segment.data) for segment in segments if segment.data)])
    parts = [(segment.start & ~7, min(_up(segment.end, 8), _up(end, 8)), segment) for segment in segments]
    parts = [part for part in parts if part[0] < part[1]]
    size = sum(high - low for low, high, _ in parts)
    _require(size <= MAX_IMAGE_BYTES, f"{size:,} bytes of initial memory are more than {MAX_IMAGE_BYTES:,}")
    zeros = size - sum(len(segment.data) for _, _, segment in parts)
    _require(
        zeros <= MAX_ZERO_BYTES,
        f"{zeros:,} bytes of zeros below contents are more than {MAX_ZERO_BYTES:,}, and part of the program: "
        "link zeroed data (.bss) behind all contents",
    )
    words = np.zeros(size // 8, dtype="<u8")
    addresses = np.zeros_like(words)
    first = last = 0  # of the words of a part
    for low, high, segment in parts:
        shares_word = last > 0 and addresses[last - 1] == low  # with its neighbour
        first = last - int(shares_word)
        last = first + (high - low) // 8
        addresses[first:last] = np.arange(low, high, 8)
        start = 8 * first + segment.start - low
        contents = np.frombuffer(segment.data, dtype=np.uint8)
        words.view(np.uint8)[start : start + len(contents)] |= contents
    return addresses[:last].astype(np.uint64, copy=False), words[:last].astype(np.uint64, copy=False)
