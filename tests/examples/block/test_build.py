"""The block guest against its sources, if the compiler is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.vm.test_rust_guests import RELEASE, compiler

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.slow
@pytest.mark.skipif(
    not compiler().startswith(RELEASE) or "source tarball" not in compiler(), reason=f"no {RELEASE} of Debian"
)
def test_the_guest_is_built_from_its_sources(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("target", "*.elf")
    for name in ("guests/sdk", "guests/templates", "block"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=ignore)
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    subprocess.run(["make", "-C", str(tmp_path / "block/rust"), "LINKER=riscv64-unknown-elf-ld"], check=True)
    assert (tmp_path / "block/block.elf").read_bytes() == (EXAMPLES / "block/block.elf").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cargo"), reason="no cargo")
def test_the_checks_pass_their_own_tests() -> None:
    subprocess.run(["make", "-C", str(EXAMPLES / "block/rust"), "test"], check=True)
