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
from graphprover.vm.program.io import INPUT_BASE, MEMORY_END
from graphprover.vm.program.isa import Instructions, decode_all

MAGIC = b"\x7fELF"
MAX_IMAGE_BYTES = 256 << 20  # bytes of memory with initial values
MAX_ZERO_BYTES = 4 << 20  # bytes of these beyond the file's own
MAX_SEGMENTS = 64
LEAST_GUARD = 4096  # bytes of a gap below the stack

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_EXECUTABLE, _RISCV, _CURRENT = 2, 243, 1
_LOAD, _DYNAMIC, _INTERPRETER, _TLS = 1, 2, 3, 7
_IGNORED = {0, 4, 6, 0x6474E550, 0x6474E551, 0x6474E552, 0x6474E553, 0x70000003}  # null, note, phdr, GNU's, attributes
_X, _W, _R = 1, 2, 4
_RVC = 1  # a flag: compiled for compressed instructions


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
    _require(
        code.start % 4 == 0 and code.end % 4 == 0,
        f"executable {code} is not aligned to instructions of 4 bytes: {REMEDY}",
    )
    _require(len(code.data) == code.end - code.start, f"executable {code} has a part without contents")
    _require(code.start <= entry < code.end, f"entry {entry:#x} is outside the code, {code}")
    _require(entry % 4 == 0, f"entry {entry:#x} is not aligned to instructions of 4 bytes: {REMEDY}")
    readable = [segment for segment in segments if segment.flags & _R or segment is not code]
    if code not in readable:
        for segment in readable:
            apart = segment.end <= code.start & ~7 or segment.start >= (code.end + 7) & ~7
            _require(apart, f"{segment} shares a word of 8 bytes with the code, {code}, which is not readable")
    addresses, values = _words(readable, code.end)
    last = int(addresses[-1]) + 8 if len(addresses) else 0
    words = np.frombuffer(code.data, dtype="<u4").astype(np.uint32)
    if flags & _RVC and (pc := reached_compressed(words, code.start, entry)) is not None:
        raise ElfError(f"compressed instruction at {pc:#x}: {REMEDY}")
    return Image(entry, code.start, words, addresses, values, max(last, (code.end + 7) & ~7), data)


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ElfError(otherwise)


def _header(data: bytes) -> tuple[int, int, int, int]:
    """Check the file's header; return entry, flags, and the offset and number of its segments."""
    _require(data[:4] == MAGIC, "no ELF file")
    _require(len(data) >= _HEADER.size, "ELF header is cut off")
    ident, kind, machine, version, entry, offset, _, flags, size, entry_size, count, *_ = _HEADER.unpack_from(data)
    _require(ident[4] == 2, "not a 64-bit ELF file (class ELFCLASS64)")
    _require(ident[5] == 1, "not a little-endian ELF file")
    _require(ident[6] == version == _CURRENT, "unknown version of ELF")
    _require(ident[7] == 0 == ident[8], "for an operating system (OS ABI), not for the bare machine")
    _require(machine == _RISCV, f"not for RISC-V (machine {machine}, not {_RISCV})")
    _require(kind == _EXECUTABLE, f"type {kind} is no statically linked executable at fixed addresses (type ET_EXEC)")
    _require(not flags & 6, "uses floating-point registers: compile with -mabi=lp64")
    _require(not flags & 8, "for RV64E (flag RVE): compile with -mabi=lp64")
    _require(not flags & ~_RVC, f"unknown flags {flags:#x}")
    _require(size == _HEADER.size and entry_size == _SEGMENT.size, "headers of unknown size")
    _require(count <= MAX_SEGMENTS, f"{count:,} segments; {MAX_SEGMENTS} at most are taken")
    _require(offset + count * entry_size <= len(data), "table of segments is cut off")
    return entry, flags, offset, count


def _segments(data: bytes, offset: int, count: int) -> list[_Segment]:
    """Return the segments that are loaded, by rising address."""
    segments: list[_Segment] = []
    thread_local: list[tuple[int, int]] = []
    for i in range(count):
        kind, flags, at, start, _, size, memory, align = _SEGMENT.unpack_from(data, offset + i * _SEGMENT.size)
        _require(kind not in (_DYNAMIC, _INTERPRETER), "dynamically linked: link with -static")
        if kind == _TLS:  # a part of a loaded segment, which the guest's start sets up
            thread_local.append((start, start + size))
            continue
        if kind in _IGNORED or (kind == _LOAD and not memory):
            continue
        _require(kind == _LOAD, f"segment of unknown type {kind:#x}")
        segment = _Segment(flags, start, start + memory, memoryview(data)[at : at + size])
        _require(not flags & ~(_R | _W | _X), f"{segment} has unknown flags {flags:#x}")
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


def _words(segments: Sequence[_Segment], end: int) -> tuple[np.ndarray, np.ndarray]:
    """Return addresses and values of all words up to ``end`` or the last with contents, without the zeros behind."""
    end = max([end, *(segment.start + len(segment.data) for segment in segments if segment.data)])
    parts = [(segment.start & ~7, min((segment.end + 7) & ~7, (end + 7) & ~7), segment) for segment in segments]
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
