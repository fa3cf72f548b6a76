"""``graphprover new-guest --lang rust``: the guests that its folder builds, if a compiler is installed."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.cli.main import main
from graphprover.protocol.hashing import keccak256
from graphprover.runtime.errors import OK
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import Fault, GuestFault
from graphprover.vm.program.elf import load_elf

ROOT = Path(__file__).parents[2]
RUSTC = shutil.which("rustc")
LINE_END = b"\n"
ATOMICS = ("amo", "lr.", "sc.", "fence", "__atomic_", "__sync_")


def has_rust_sources() -> bool:
    """Return whether Rust's compiler has the sources of the target's core library."""
    if not RUSTC:
        return False
    root = subprocess.run([RUSTC, "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    return (Path(root) / "lib/rustlib/src/rust/library/Cargo.lock").is_file()


needs_rust = pytest.mark.skipif(not has_rust_sources(), reason="no rustc with rust-src")


def make(folder: Path) -> bytes:
    """Run `make`, and return the guest."""
    done = subprocess.run(["make", "-C", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (folder / "guest.elf").read_bytes()


def new(folder: Path) -> Path:
    assert main(["new-guest", str(folder), "--lang", "rust"]) == OK
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a folder whose guests share one build of the core library."""
    return new(tmp_path_factory.mktemp("rust") / "guest")


def built(folder: Path, source: str) -> bytes:
    (folder / "src/main.rs").write_text(source)
    return make(folder)


def run(program: bytes, data: bytes = b"") -> Execution:
    return execute(load_elf(program), data)


@needs_rust
def test_the_small_program_and_its_host(folder: Path, tmp_path: Path) -> None:
    lines = [b"pear", b"apple", b"", b"fig"] * 50
    program = make(folder)
    assert run(program, LINE_END.join(lines)).output == keccak256(LINE_END.join(sorted(lines)))
    command = [sys.executable, str(folder / "host/prove.py")]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    lines = (folder / "README.md").read_bytes().split(LINE_END)
    assert done.stdout == f"proved: {keccak256(LINE_END.join(sorted(lines))).hex()}\n", done.stderr
    other = new(tmp_path / "another place")
    shutil.copytree(folder / "target", other / "target")  # with the core library
    assert make(other) == program  # nothing of the folder enters the file
    assert b"/cargo" not in program and str(folder).encode() not in program


LANGUAGE = r"""
#![no_std]
#![no_main]
extern crate alloc;
use alloc::{collections::BTreeMap, format, string::String, sync::Arc, vec, vec::Vec};
use core::fmt::Write;
use core::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use graphprover_guest::{entry, exit, println, read_input, Output};

entry!(main);

static COUNT: AtomicU64 = AtomicU64::new(5);
static FLAG: AtomicU8 = AtomicU8::new(1);

fn main() -> Result<i32, String> {
    let input = read_input();
    let numbers: Arc<Vec<u64>> = Arc::new(input.iter().map(|&byte| byte as u64 + 1).collect());
    let copies: Vec<Arc<Vec<u64>>> = (0..20).map(|_| numbers.clone()).collect();
    let mut counts = BTreeMap::new();
    for number in copies.iter().flat_map(|copy| copy.iter()) {
        *counts.entry(*number).or_insert(0u32) += 1;
    }
    COUNT.fetch_add(Arc::strong_count(&numbers) as u64, Ordering::SeqCst);
    COUNT.compare_exchange(26, 27, Ordering::AcqRel, Ordering::Relaxed).unwrap();
    let flag = FLAG.swap(7, Ordering::Relaxed) + FLAG.fetch_xor(2, Ordering::SeqCst);
    println!("for the debug channel: {}", flag);
    let text = format!("{counts:?} {:.3} {} {flag}", numbers[0] as f64 / 3.0, COUNT.load(Ordering::SeqCst));
    writeln!(Output, "{text}").unwrap();
    match input.len() {
        2 => exit(7),
        3 => Err(format!("three bytes")),
        4 => Ok(core::hint::black_box(vec![0u8; 1 << 40]).len() as i32),
        _ => Ok((numbers[input[0] as usize] as i32) << 1),
    }
}
"""


@needs_rust
def test_what_the_language_needs(folder: Path) -> None:
    program = built(folder, LANGUAGE)
    execution = run(program, b"\0")
    assert (execution.output, execution.exit_code) == (b"{1: 20} 0.333 27 8\n", 2)
    assert run(program, b"\0\1").exit_code == 7
    assert run(program, b"\0\0\0").exit_code == 1
    for data in (b"\x09", b"\0\0\0\0"):  # an index out of range, no memory
        with pytest.raises(GuestFault) as caught:
            run(program, data)
        assert caught.value.fault is Fault.BREAKPOINT
    if objdump := shutil.which("riscv64-unknown-elf-objdump"):
        code = subprocess.run([objdump, "-d", str(folder / "guest.elf")], capture_output=True, text=True, check=True)
        assert not [line for line in code.stdout.splitlines() if line.partition("\t")[2].startswith(ATOMICS)]
        assert not any(name in code.stdout for name in ATOMICS[-2:])


BLOCKS = r"""
#![no_std]
#![no_main]
extern crate alloc;
use alloc::{vec, vec::Vec};
use graphprover_guest::{entry, write_output};

entry!(main);

fn main() {
    let mut blocks: Vec<Vec<u8>> = vec![Vec::new(); 12];
    let mut random = 1u64;
    for turn in 0..400 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (i, size) = ((random >> 40) as usize % 12, (random >> 50) as usize % (turn + 8));
        assert!(blocks[i].iter().all(|&byte| byte == i as u8));
        match turn % 3 {
            0 => blocks[i] = Vec::new(),
            1 => blocks[i].shrink_to_fit(),
            _ => assert!(vec![0u8; size].iter().all(|&byte| byte == 0)),
        }
        blocks[i].resize(size, i as u8);
    }
    let large = vec![0u64; 1 << 20];
    write_output(&large[7].to_le_bytes());
}
"""


@needs_rust
def test_memory(folder: Path) -> None:
    """Blocks that grow and shrink keep apart, and zeroed memory is zero at no cost where it is new."""
    execution = run(built(folder, BLOCKS))
    assert (execution.output, execution.exit_code) == (bytes(8), 0)
    assert execution.cycles < 400_000


CRATES = """
[dependencies]
getrandom-02 = { package = "getrandom", version = "0.2" }
getrandom-03 = { package = "getrandom", version = "0.3" }
getrandom-04 = { package = "getrandom", version = "0.4" }
graphprover-guest = { path = "sdk/rust", features = ["getrandom-02", "serde"] }
serde = { version = "1", default-features = false, features = ["alloc", "derive"] }
sha2 = { version = "0.10", default-features = false }
"""

VALUES = r"""
#![no_std]
#![no_main]
extern crate alloc;
use alloc::vec::Vec;
use graphprover_guest::{entry, read, write, ValueError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

entry!(main);

#[derive(Deserialize)]
struct Order<'a> {
    name: &'a str,
    amounts: Vec<u32>,
}

#[derive(Serialize)]
struct Receipt {
    total: u64,
    digest: [u8; 32],
}

fn main() -> Result<(), ValueError> {
    let order: Order = read()?;
    let random: u8 = read()?;
    let mut bytes = [0; 8];
    match random {
        2 => getrandom_02::getrandom(&mut bytes).unwrap(),
        3 => getrandom_03::fill(&mut bytes).unwrap(),
        4 => getrandom_04::fill(&mut bytes).unwrap(),
        _ => {}
    }
    let total = order.amounts.iter().map(|&amount| amount as u64).sum();
    write(&Receipt { total, digest: Sha256::digest(order.name).into() })?;
    write("end")
}
"""


@pytest.mark.slow
@needs_rust
def test_crates_of_the_registry(tmp_path: Path) -> None:
    """Values of serde are input and output; whoever asks getrandom for numbers faults."""
    folder = new(tmp_path / "guest")
    manifest = folder / "Cargo.toml"
    start, _, end = manifest.read_text().partition('[dependencies]\ngraphprover-guest = { path = "sdk/rust" }\n')
    manifest.write_text(start + CRATES + end)
    program = built(folder, VALUES)
    order = b"\x04pear" + b"\x03" + b"\x05\x80\x02\x01"  # postcard: lengths and numbers are varints
    execution = run(program, order + b"\x00")
    assert execution.output == b"\x86\x02" + hashlib.sha256(b"pear").digest() + b"\x03end"
    assert run(program, order).exit_code == 1  # the second value is not there
    for version in (2, 3, 4):
        with pytest.raises(GuestFault):
            run(program, order + bytes([version]))
