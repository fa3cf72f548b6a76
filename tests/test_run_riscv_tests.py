"""The script that runs the RISC-V organisation's tests, on two tests of our own: one passes, one fails."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts/run_riscv_tests.py"
HEAD = '#include "riscv_test.h"\n#include "test_macros.h"\nRVTEST_RV64U\nRVTEST_CODE_BEGIN\n'
TAIL = "RVTEST_CODE_END\n.data\nRVTEST_DATA_BEGIN\n.dword 3\nRVTEST_DATA_END\n"
ARCH = """#include "model_test.h"
.section .text.init
RVMODEL_BOOT
la t0, begin_signature; li t1, 42; CHANGED sd t1, 0(t0)
RVMODEL_HALT
.data
RVMODEL_DATA_BEGIN
.dword 0
RVMODEL_DATA_END
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("riscv64-unknown-elf-gcc") and shutil.which("qemu-riscv64")),
    reason="no riscv64-unknown-elf-gcc or qemu-riscv64",
)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=300)


def test_a_failed_case_is_reported(tmp_path: Path) -> None:
    folder, macros = tmp_path / "isa/rv64ui", tmp_path / "isa/macros/scalar"
    folder.mkdir(parents=True)
    macros.mkdir(parents=True)
    (macros / "test_macros.h").write_text("")
    (folder / "right.S").write_text(f"{HEAD}li TESTNUM, 2\nRVTEST_PASS\n{TAIL}")
    (folder / "wrong.S").write_text(f"{HEAD}li TESTNUM, 7\nRVTEST_FAIL\n{TAIL}")
    (folder / "trap.S").write_text(f"{HEAD}ebreak\n{TAIL}")
    done = run("--riscv-tests", tmp_path)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "rv64ui/right: ok"
    assert lines[1].startswith("rv64ui/trap: fault: ")
    assert lines[2:] == ["rv64ui/wrong: exit code 7", "1 of 3 passed"]


def test_a_signature_is_compared(tmp_path: Path) -> None:
    """Let one test have another signature under Linux than on the machine."""
    folder = tmp_path / "riscv-test-suite/rv64i_m/I/src"
    folder.mkdir(parents=True)
    (folder / "a.S").write_text(ARCH.replace("CHANGED", ""))
    (folder / "b.S").write_text(
        "#ifdef LINUX\n#define CHANGED addi t1, t1, 1;\n#else\n#define CHANGED\n#endif\n" + ARCH
    )
    done = run("--arch-tests", tmp_path)
    assert done.returncode == 1, done.stderr
    signatures = [(n.to_bytes(8, "little") + bytes(8)).hex() for n in (42, 43)]
    wrong = f"arch I/b: output {signatures[0]}, not {signatures[1]}"
    assert done.stdout.splitlines() == ["arch I/a: ok", wrong, "1 of 2 passed"]


def test_no_test_is_a_failure(tmp_path: Path) -> None:
    done = run("--riscv-tests", tmp_path)
    assert done.returncode == 1 and done.stdout == "0 of 0 passed\n"
