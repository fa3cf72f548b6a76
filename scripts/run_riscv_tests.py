"""Run the RISC-V organisation's tests of RV64IM on this machine, and prove each run with --prove.

    git clone https://github.com/riscv-software-src/riscv-tests
    git clone https://github.com/riscv-non-isa/riscv-arch-test
    python scripts/run_riscv_tests.py --riscv-tests riscv-tests --arch-tests riscv-arch-test

riscv-tests check themselves: a test exits with 0, or with the number of the case that failed. riscv-arch-test writes
a signature, which must equal the signature of the same test under qemu-riscv64. The programs are compiled with
riscv64-unknown-elf-gcc. fence_i of riscv-tests is left out: it changes its own code, and a guest's code is fixed.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import checkout  # noqa: F401 (finds the package)
from graphprover import Prover
from graphprover.vm.executor.execute import execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.io import OUTPUT_BASE

LINES = ["-march=rv64im_zicsr_zifencei", "-mabi=lp64", "-mcmodel=medany", "-static", "-nostdlib", "-nostartfiles"]
LINK = """ENTRY(_start)
PHDRS { code PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); }
SECTIONS {
  . = 0x10000;
  .text : { *(.text.init) *(.text .text.*) } :code
  . = ALIGN(0x1000);
  .data : { *(.data .data.*) *(.bss .bss.*) . = ALIGN(8); } :data
  /DISCARD/ : { *(.comment) *(.note .note.*) *(.riscv.attributes) }
}
"""
# The environments call exit (93) like a program for Linux, so the number of a failed case is the exit code.
RISCV_TEST = """#define RVTEST_RV64U .macro init; .endm
#define RVTEST_CODE_BEGIN .section .text.init; .globl _start; _start:
#define RVTEST_CODE_END
#define TESTNUM gp
#define RVTEST_PASS li a0, 0; li a7, 93; ecall
#define RVTEST_FAIL mv a0, TESTNUM; li a7, 93; ecall
#define RVTEST_DATA_BEGIN
#define RVTEST_DATA_END
"""
MODEL_TEST = """#define RVMODEL_BOOT .globl _start; _start:
#define RVMODEL_DATA_BEGIN .align 4; .globl begin_signature; begin_signature:
#define RVMODEL_DATA_END .align 4; .globl end_signature; end_signature:
#define RVMODEL_IO_INIT
#define RVMODEL_IO_WRITE_STR(_R, _STR)
#define RVMODEL_IO_CHECK()
#define RVMODEL_IO_ASSERT_GPR_EQ(_S, _R, _I)
#define RVMODEL_IO_ASSERT_SFPR_EQ(_F, _R, _I)
#define RVMODEL_IO_ASSERT_DFPR_EQ(_D, _R, _I)
#ifdef LINUX
#define RVMODEL_HALT li a0, 1; la a1, begin_signature; la a2, end_signature; sub a2, a2, a1; li a7, 64; ecall; \\
  li a0, 0; li a7, 93; ecall
#else
#define RVMODEL_HALT la a1, begin_signature; la a2, end_signature; sub a3, a2, a1; li a4, OUTPUT; sd a3, 0(a4); \\
  1: ld a5, 0(a1); sd a5, 8(a4); addi a1, a1, 8; addi a4, a4, 8; bltu a1, a2, 1b; li a0, 0; li a7, 93; ecall
#endif
"""
ARCH_OPTIONS = ["-DXLEN=64", "-DFLEN=0", "-DTEST_CASE_1=True", f"-DOUTPUT={OUTPUT_BASE:#x}"]
SELF_MODIFYING = {"fence_i"}


@dataclass(frozen=True)
class Test:
    """One test: its name, its program, and the output that it must have."""

    name: str
    program: Path
    output: bytes


def compiled(source: Path, folder: Path, *options: str, name: str = "") -> Path:
    """Compile a test and return the program."""
    program = folder / f"{name or source.stem}.elf"
    command = ["riscv64-unknown-elf-gcc", *LINES, "-T", str(folder / "link.ld"), f"-I{folder}", *options]
    subprocess.run([*command, "-o", str(program), str(source)], check=True)
    return program


def riscv_tests(clone: Path, folder: Path) -> Iterator[Test]:
    """Yield the self-checking tests."""
    for suite in ("rv64ui", "rv64um"):
        for source in sorted((clone / "isa" / suite).glob("*.S")):
            if source.stem not in SELF_MODIFYING:
                program = compiled(source, folder, f"-I{clone / 'isa/macros/scalar'}")
                yield Test(f"{suite}/{source.stem}", program, b"")


def arch_tests(clone: Path, folder: Path) -> Iterator[Test]:
    """Yield the tests with a signature, which QEMU computes."""
    suite = clone / "riscv-test-suite"
    for extension in ("I", "M"):
        for source in sorted((suite / "rv64i_m" / extension / "src").glob("*.S")):
            options = [*ARCH_OPTIONS, f"-I{suite / 'env'}"]
            there = compiled(source, folder, *options, "-DLINUX", name="linux")
            done = subprocess.run(["qemu-riscv64", str(there)], capture_output=True, check=True, timeout=60)
            if not done.stdout:
                raise ValueError(f"{source}: no signature under QEMU")
            yield Test(f"arch {extension}/{source.stem}", compiled(source, folder, *options), done.stdout)


def verdict(test: Test, prove: bool) -> str:
    """Return "" if the test passes, otherwise the reason that it does not."""
    try:
        run = execute(load_elf(test.program.read_bytes()))
    except GuestFault as fault:
        return f"fault: {fault}"
    if run.exit_code:
        return f"exit code {run.exit_code}"
    if run.output != test.output:
        return f"output {run.output.hex()[:80]}, not {test.output.hex()[:80]}"
    if prove:
        prover = Prover(test.program)
        claim = prover.verify(prover.prove()).claim
        if not claim or claim.output != test.output:
            return f"the proof states {claim}"
    return ""


def main() -> None:
    """Run the tests and exit with 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--riscv-tests", type=Path, metavar="CLONE")
    parser.add_argument("--arch-tests", type=Path, metavar="CLONE")
    parser.add_argument("--prove", action="store_true", help="also prove and verify each run")
    options = parser.parse_args()
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("link.ld", LINK), ("riscv_test.h", RISCV_TEST), ("model_test.h", MODEL_TEST)):
            (folder / file).write_text(text)
        for clone, tests in ((options.riscv_tests, riscv_tests), (options.arch_tests, arch_tests)):
            for test in tests(clone, folder) if clone else ():
                reason = verdict(test, options.prove)
                passed, failed = passed + (not reason), failed + bool(reason)
                print(f"{test.name}: {reason or 'ok'}", flush=True)
    print(f"{passed} of {passed + failed} passed")
    if failed or not passed:
        sys.exit(1)


if __name__ == "__main__":
    main()
