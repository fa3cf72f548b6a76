"""``graphprover new-guest --lang zig``: the guest is built by the compiler of the wheel `ziglang`, if installed."""

import importlib.util
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from graphprover.cli.new_guest import make_folder
from graphprover.vm.executor.execute import execute
from graphprover.vm.executor.faults import Fault, GuestFault
from graphprover.vm.program.elf import load_elf
from tests.naive import keccak256

ZIG = f"{sys.executable} -m ziglang"
TEXT = b"a b a\n\tlonger c\r\nb a" + b" word" * 300

needs_zig = pytest.mark.skipif(not importlib.util.find_spec("ziglang"), reason="no ziglang")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_folder(tmp_path, "zig")
    return tmp_path


def make(folder: Path, *arguments: str) -> None:
    done = subprocess.run(["make", f"ZIG={ZIG}", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def counted(text: bytes) -> bytes:
    counts = sorted(Counter(text.split()).items(), key=lambda entry: (-entry[1], entry[0]))
    return b"".join(b"%d %s\n" % (count, word) for word, count in counts)


@needs_zig
def test_the_small_program(folder: Path) -> None:
    make(folder)
    file = folder / "main.elf"
    shown: list[bytes] = []
    execution = execute(load_elf(file.read_bytes()), TEXT, debug=shown.append)
    assert (execution.output, execution.exit_code) == (counted(TEXT), 0)
    assert b"".join(shown) == b"info: 307 words, 5 of them different\n"
    assert str(folder).encode() not in file.read_bytes()
    with file.open("rb") as opened:
        elf = ELFFile(opened)
        assert elf["e_flags"] == 0  # no compressed instructions, floating point without registers
        symbols = elf.get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection) and symbols.get_symbol_by_name("main")


@needs_zig
def test_the_small_program_of_other_machines(folder: Path) -> None:
    make(folder, "main.host", "main.qemu")
    commands = [[folder / "main.host"]]
    if qemu := shutil.which("qemu-riscv64"):
        commands.append([Path(qemu), folder / "main.qemu"])
    for command in commands:
        done = subprocess.run(command, input=TEXT, capture_output=True)
        said = b"info: 307 words, 5 of them different\n"
        assert (done.stdout, done.stderr, done.returncode) == (counted(TEXT), said, 0)


USES = """
const std = @import("std");
const zkvm = @import("sdk/zig/zkvm.zig");

pub const panic = zkvm.panic;

pub export fn main() c_int {
    const input = zkvm.input();
    const allocator = zkvm.allocator;

    var list: std.ArrayList(u64) = .empty;
    for (input, 0..) |byte, place| list.append(allocator, byte * (place + 1)) catch @panic("no memory");
    const copy = allocator.dupe(u64, list.items) catch @panic("no memory");
    std.mem.reverse(u64, copy);
    list.deinit(allocator);
    zkvm.output(std.mem.sliceAsBytes(copy));

    var hash: zkvm.c.zkvm_keccak256_hash = undefined;
    if (zkvm.c.zkvm_keccak256(input.ptr, input.len, &hash) != zkvm.c.ZKVM_EOK) return 1;
    zkvm.output(&hash.data);

    if (input.len > 0 and input[0] == 1) _ = allocator.alloc(u8, 1 << 31) catch @panic("no memory");
    zkvm.print("{s}: {d} {x}\\n", .{ "text of more than 256 bytes: " ++ "x" ** 300, 12, 255 });
    return @intCast(copy[input.len - 1]);
}
"""


@needs_zig
def test_what_a_guest_may_use(folder: Path) -> None:
    (folder / "main.zig").write_text(USES)
    make(folder, "main.elf")
    image = load_elf((folder / "main.elf").read_bytes())
    shown: list[bytes] = []
    execution = execute(image, bytes([7, 8, 9]), debug=shown.append)
    words = b"".join(word.to_bytes(8, "little") for word in (27, 16, 7))
    assert (execution.output, execution.exit_code) == (words + keccak256(bytes([7, 8, 9])), 7)
    assert b"".join(shown) == b"text of more than 256 bytes: " + b"x" * 300 + b": 12 ff\n"
    for data, message in ((b"\1", b"panic: no memory\n"), (b"", b"panic: integer overflow\n")):
        shown.clear()
        with pytest.raises(GuestFault) as caught:
            execute(image, data, debug=shown.append)
        assert caught.value.fault is Fault.BREAKPOINT
        assert b"".join(shown).endswith(message)


ATOMIC = """
const zkvm = @import("sdk/zig/zkvm.zig");

pub const panic = zkvm.panic;

var number: u32 = 4;
var wide: u64 = 1 << 40;
var flag: bool = false;

pub export fn main() c_int {
    const results = [_]u32{
        @atomicLoad(u32, &number, .seq_cst),
        @atomicRmw(u32, &number, .Add, 3, .seq_cst),
        @atomicRmw(u32, &number, .Max, 3, .monotonic),
        @cmpxchgStrong(u32, &number, 7, 9, .seq_cst, .seq_cst) orelse 77,
        @cmpxchgStrong(u32, &number, 7, 9, .seq_cst, .seq_cst) orelse 77,
        @atomicRmw(u32, &number, .Xchg, 3, .monotonic),
        @intFromBool(@atomicRmw(bool, &flag, .Xchg, true, .acq_rel)),
        @truncate(@atomicRmw(u64, &wide, .Sub, 1, .seq_cst) >> 39),
        @truncate(wide >> 39),
    };
    @atomicStore(u32, &number, 5, .release);
    for (results) |result| zkvm.output(&.{@truncate(result)});
    return @intCast(number);
}
"""


@needs_zig
def test_atomics(folder: Path) -> None:
    """Zig's own functions for them call themselves."""
    (folder / "main.zig").write_text(ATOMIC)
    make(folder, "main.elf")
    execution = execute(load_elf((folder / "main.elf").read_bytes()), max_cycles=100_000)
    assert (execution.output, execution.exit_code) == (bytes([4, 4, 7, 77, 9, 9, 0, 2, 1]), 5)
