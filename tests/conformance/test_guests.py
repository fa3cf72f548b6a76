"""The conformance guests on all vectors: their output must be the reference's, here, under QEMU and in a proof."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from graphprover import Prover
from graphprover.examples.conformance import FOLDER, FUNCTIONS, LISTED, Case, batch, chosen, digest_of, load, output
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.program.elf import Image, load_elf
from tests.cli.test_new_guest_rust import has_rust_sources
from tests.slow import slow_after

SDK = FOLDER.parent / "sdk"
RELEASE = "12.2.0"  # of the compiler that built the file
FOR_LINUX = ["--entry=__zkvm_linux_start", "-zmax-page-size=4096"]
CROSS, QEMU = "riscv64-unknown-elf-", "qemu-riscv64"
needs_compiler = pytest.mark.skipif(not shutil.which(f"{CROSS}g++"), reason=f"no {CROSS}g++")
needs_qemu = pytest.mark.skipif(
    not (shutil.which(f"{CROSS}g++") and shutil.which(QEMU)), reason=f"no {CROSS}g++ or {QEMU}"
)
GUESTS = ["conformance_c", pytest.param("conformance_cpp", marks=needs_compiler)]
MOST_CYCLES = 2**32 - 1
PROVED = [
    ["keccak256", "sha256", "ripemd160", "blake2f", "modexp", "bn254_g1_add", "bls12_g1_add", "bls12_g2_add"],
    ["secp256k1_verify", "secp256k1_ecrecover", "secp256r1_verify", "bn254_g1_mul", "bls12_map_fp_to_g1"],
    ["bls12_g1_msm", "bls12_g2_msm", "bls12_map_fp2_to_g2"],
    ["bn254_pairing", "bls12_pairing", "kzg_point_eval"],
]
MACHINE = ["-march=rv64im", "-mabi=lp64", "-mcmodel=medany", "-ffreestanding", "-O2", f"-I{SDK / 'include'}"]


def copied(folder: Path) -> Path:
    """Copy the sources of the guests and the kit."""
    ignore = shutil.ignore_patterns("target", "vectors", "*.elf")
    for name in ("conformance", "sdk", "templates"):
        shutil.copytree(FOLDER.parent / name, folder / name, ignore=ignore)
    return folder / "conformance"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the guests that the Makefile builds."""
    folder = copied(tmp_path_factory.mktemp("guests"))
    subprocess.run(["make", "-s", "-C", folder], check=True)
    return folder


@pytest.fixture(params=GUESTS)
def guest(request: pytest.FixtureRequest) -> Image:
    """Return a guest: the repository has the one in C, the one in C++ is built."""
    name: str = request.param
    folder = FOLDER if name == GUESTS[0] else request.getfixturevalue("built")
    return load_elf((folder / f"{name}.elf").read_bytes())


def run(guest: Image, cases: Sequence[Case]) -> Execution:
    return execute(guest, batch(cases), max_cycles=MOST_CYCLES)


def test_a_few_cases_of_each_function(guest: Image) -> None:
    cases = list(chosen(FUNCTIONS, few=True))
    done = run(guest, cases)
    assert done.output == output(cases)
    assert done.exit_code == 0


@needs_compiler
def test_the_guest_in_c_is_built_from_its_source(built: Path) -> None:
    version = subprocess.run([f"{CROSS}gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    if version.strip() != RELEASE:
        pytest.skip(f"gcc {version.strip()}, and the file was built by {RELEASE}")
    assert (built / "conformance_c.elf").read_bytes() == (FOLDER / "conformance_c.elf").read_bytes()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_all_cases(function: str) -> None:
    cases = load(function)
    guest = load_elf((FOLDER / "conformance_c.elf").read_bytes())
    assert run(guest, cases).output == output(cases)


def test_a_wrong_outcome_is_reported(guest: Image) -> None:
    """Change the expected result, its size, the verdict and the status: each is a failure, and the digest stays."""
    bytes_, verdict, refused = load("bn254_g1_add")[0], load("secp256k1_verify")[0], load("bn254_g1_add")[-1]
    assert bytes_.expect and verdict.expect and refused.expect is None
    right = [bytes_, verdict, refused, load("modexp")[40]]
    flipped = bytes([bytes_.expect[0], *bytes_.expect[1:-1], bytes_.expect[-1] ^ 1])
    wrong = [
        replace(bytes_, expect=flipped),
        replace(bytes_, expect=bytes_.expect[:-8]),
        replace(bytes_, expect=None),
        replace(verdict, expect=bytes([1 - verdict.expect[0]])),
        replace(verdict, expect=None),
        replace(refused, expect=b""),
        replace(refused, expect=bytes(64)),
    ]
    true = [*right, *([bytes_] * 3), *([verdict] * 2), *([refused] * 2)]
    places = range(len(right), len(right) + len(wrong))
    done = run(guest, [*right, *wrong])
    assert done.output == output(true, failed=places, digest=digest_of(true))
    assert done.exit_code == 1


def test_the_first_failures_are_listed(guest: Image) -> None:
    case = load("sha256")[3]
    cases = [replace(case, expect=bytes(32))] * (LISTED + 4)
    done = run(guest, cases)
    assert done.output == output(cases, failed=range(LISTED + 4), digest=digest_of([case] * (LISTED + 4)))
    assert done.output.count(b"failed ") == LISTED


def test_an_input_that_is_no_batch_is_a_fault(guest: Image) -> None:
    data = batch([load("bn254_g1_mul")[0]])
    for bad in (data[:-8], data[:12], b"\x13" + data[1:], data[:8] + b"\x58" + data[9:]):
        with pytest.raises(GuestFault):
            execute(guest, bad)


@pytest.fixture(scope="module")
def linux(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the objects of the kit for Linux, in which host calls are software."""
    folder = tmp_path_factory.mktemp("linux")
    objects = [folder / f"{name}.o" for name in ("linux_riscv64", "keccak", "sha256", "arithmetic")]
    for file in objects:
        subprocess.run([f"{CROSS}gcc", *MACHINE, "-c", SDK / f"host/{file.stem}.c", "-o", file], check=True)
    return objects


def under_qemu(program: Path, few: bool) -> None:
    cases = list(chosen(FUNCTIONS, few=few))
    done = subprocess.run([QEMU, program], input=batch(cases), capture_output=True, timeout=600, check=True)
    assert done.stdout == output(cases)


@needs_qemu
@pytest.mark.parametrize(
    ("source", "few"),
    [
        ("conformance.c", True),
        ("conformance.cpp", True),
        pytest.param("conformance.c", False, marks=pytest.mark.slow),
    ],
)
def test_cases_under_qemu(source: str, few: bool, linux: list[Path], tmp_path: Path) -> None:
    language = ["g++", "-std=c++17", "-fno-exceptions", "-fno-rtti"] if source.endswith("pp") else ["gcc", "-std=c11"]
    guest, program = tmp_path / "guest.o", tmp_path / "program"
    subprocess.run([CROSS + language[0], *language[1:], *MACHINE, "-c", FOLDER / source, "-o", guest], check=True)
    link = ["-static", "-nostdlib", "-T", SDK / "zkvm.ld", f"-L{SDK}", f"-Wl,{','.join(FOR_LINUX)}"]
    subprocess.run([f"{CROSS}gcc", *MACHINE, *link, guest, *linux, "-lzkvm", "-o", program], check=True)
    under_qemu(program, few)


@pytest.mark.slow
@pytest.mark.skipif(not has_rust_sources(), reason="no rustc with rust-src")
def test_the_guest_in_rust(linux: list[Path], tmp_path: Path) -> None:
    """Build it for the machine and for Linux, there by a linker that adds the kit's objects."""
    environment = os.environ | {"TARGET_DIR": str(tmp_path / "target")}
    make = ["make", "-s", "-C", copied(tmp_path), "conformance_rust.elf"]
    subprocess.run(make, env=environment, check=True)
    cases = list(chosen(FUNCTIONS, few=True))
    done = run(load_elf((tmp_path / "conformance/conformance_rust.elf").read_bytes()), cases)
    assert done.output == output(cases)
    linker = tmp_path / "ld"  # a name by which rustc knows its kind
    linker.write_text(f'#!/bin/sh\nexec {CROSS}ld {" ".join(map(str, linux))} "$@" {" ".join(FOR_LINUX)}\n')
    linker.chmod(0o755)
    subprocess.run([*make, f"LINKER={linker}"], env=environment, check=True)
    under_qemu(tmp_path / "conformance/conformance_rust.elf", few=False)


@pytest.mark.parametrize("functions", slow_after(1, PROVED))
def test_a_few_cases_are_proved(functions: Sequence[str]) -> None:
    cases = list(chosen(functions, few=True))
    prover = Prover(FOLDER / "conformance_c.elf", device="cpu", shard_size=1 << 22)
    claim = prover.verify(prover.prove(batch(cases))).claim
    assert claim and claim.output == output(cases)
