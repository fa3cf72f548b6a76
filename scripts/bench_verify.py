"""The verifier's processor time and memory on one core, with NumPy alone and with the prover's compiled kernels.

    python scripts/bench_verify.py [--repeat 5] [--instructions 200000] [--json]

Proves fib_iterative at a million cycles, and a run with every chip that its program has (some 20 MB). Verifies each
with its key, and a proof of a program of many instructions from its ELF file. Each figure is the least of some turns in
a process of its own, from the proof's bytes to the verdict, with the time of the whole command beside it. The ceiling
is the time of hashing alone: the verifier's calls of the proof's hash at the cost of one in a large batch in the same
process.
"""

import argparse
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if hasattr(os, "sched_setaffinity"):  # before NumPy counts cores
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np

import checkout  # noqa: F401 (finds the package)
from figures import Figures, add_option
from graphprover import Proof, verify
from graphprover.device.host_memory import most_resident
from graphprover.protocol import backend
from graphprover.protocol.hashing import hash_rows
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.isa import Instruction, Op, encode
from graphprover.vm.statement.guest import load_guest

FIB = Path(__file__).parents[1] / "examples/guests/fib_iterative.elf"
TURNS = 199_980  # of fib_iterative: a million cycles
CODE, DATA = 0x10000, 0x4000000
EXIT, A0, A7 = 93, 10, 17
TIMES = 10  # of 60,000 instructions, so that chips have several lanes
ROWS = 1 << 14  # hashed for the cost of a call of the hash
OPS = tuple(op for op in Op if op.format.rd and op.format.rs2)  # with two registers
LOADS = (Op.LD, Op.LW, Op.LWU, Op.LH, Op.LHU, Op.LB, Op.LBU)
STORES = (Op.SD, Op.SW, Op.SH, Op.SB)
BRANCHES = (Op.BEQ, Op.BNE, Op.BLT, Op.BGE, Op.BLTU, Op.BGEU)


def elf(code: list[Instruction], data: bytes) -> bytes:
    """Return an ELF file for RV64IM with one segment of code and one of data."""
    words = b"".join(struct.pack("<I", encode(instruction)) for instruction in code)
    first = 4096
    second = -(-(first + len(words)) // 4096) * 4096
    segments = [(1, 5, first, CODE, CODE, len(words), len(words), 4096)]
    segments.append((1, 6, second, DATA, DATA, len(data), len(data), 4096))
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 243, 1, CODE, 64, 0, 0, 64, 56, len(segments), 64, 0, 0
    )
    table = b"".join(struct.pack("<IIQQQQQQ", *segment) for segment in segments)
    return ((header + table).ljust(first, b"\0") + words).ljust(second, b"\0") + data


def straight(count: int, rng: random.Random) -> list[Instruction]:
    """Return varied instructions without branches; register 5 holds the address of the data."""
    code = [Instruction(Op.LUI, 5, imm=DATA)]
    while len(code) < count:
        d, a, b = rng.randint(6, 9), rng.randint(6, 9), rng.randint(6, 9)
        code += rng.choice(
            (
                [Instruction(rng.choice(OPS), d, a, b)],
                [Instruction(rng.choice((Op.ADDI, Op.XORI, Op.ORI, Op.ANDI, Op.SLTI)), d, a, imm=rng.randint(-9, 9))],
                [Instruction(rng.choice((Op.SLLI, Op.SRLI, Op.SRAI)), d, a, imm=rng.randint(0, 63))],
                [Instruction(rng.choice(LOADS), d, 5, imm=rng.randint(0, 255))],
                [Instruction(rng.choice(STORES), rs1=5, rs2=b, imm=rng.randint(0, 255))],
                [Instruction(rng.choice(BRANCHES), rs1=a, rs2=b, imm=4)],
                [Instruction(Op.LUI, d, imm=rng.randint(0, 999) << 12)],
            )
        )
    return code


def repeated(body: list[Instruction], times: int) -> list[Instruction]:
    """Return the body in a loop of ``times`` turns, counted in register 20."""
    back = 4 * (len(body) + 2)
    end = [Instruction(Op.ADDI, 20, 20, imm=-1), Instruction(Op.BEQ, rs1=20, imm=8), Instruction(Op.JAL, imm=-back)]
    return [Instruction(Op.ADDI, 20, imm=times), *body, *end]


def leave() -> list[Instruction]:
    return [Instruction(Op.ADDI, A0), Instruction(Op.ADDI, A7, imm=EXIT), Instruction(Op.ECALL)]


def prove_all(folder: Path, instructions: int) -> None:
    """Write the proofs, programs and keys to a folder."""
    from graphprover import prove
    from graphprover.vm.executor.execute import execute
    from graphprover.vm.statement.setup import make_key
    from graphprover.vm.statement.statement import Machine
    from graphprover.vm.traces.run_statement import statement_of_run

    rng = random.Random(0)
    data = rng.randbytes(4096)
    programs = {
        "fib": (FIB.read_bytes(), struct.pack("<Q", TURNS)),
        "tables": (elf([*repeated(straight(60_000, rng), TIMES), *leave()], data), b""),
        "large": (elf([*leave(), *straight(instructions, rng)], data), b""),
    }
    for name, (program, given) in programs.items():
        machine = Machine(load_elf(program))
        proved = statement_of_run(machine, execute(machine.image, given, record=True), name)
        (folder / name).write_bytes(prove(proved, device="cpu").to_bytes())
        (folder / f"{name}.elf").write_bytes(program)
        (folder / f"{name}.vk").write_bytes(make_key(machine).to_bytes())


def measure(proof: Path, program: Path, repeat: int) -> dict[str, float]:
    """Return the figures of this process."""
    seconds = []
    for _ in range(repeat):
        backend.used.clear()
        started = time.process_time()
        read = Proof.from_bytes(proof.read_bytes())
        guest = load_guest("program", "program", program.read_bytes())
        verify(read, guest.machine.statement_of(read))
        seconds.append(time.process_time() - started)
    used = dict(backend.used)
    rows = np.zeros((ROWS, 8), dtype=np.uint64)
    hash_rows(read.parameters.hash, rows)
    started = time.process_time()
    hash_rows(read.parameters.hash, rows)
    call = (time.process_time() - started) / ROWS
    work = sum(used.values())
    return {
        "first": seconds[0],
        "least": min(seconds),
        "hash calls": work,
        "ceiling": work * call,
        "memory": most_resident(),
        "tables": len(read.log_heights),
        "bytes": len(read.payload),
    }


def report(out: Figures, folder: Path, proof: str, program: str, by: str, repeat: int) -> None:
    """Print one line: a process for the verifier's own time, and one for the whole command."""
    environment = os.environ | {backend.NUMPY_ONLY: "1"}
    if by == "kernels":
        del environment[backend.NUMPY_ONLY]
    arguments = [sys.executable, __file__, "--measure", str(folder / proof), str(folder / program), by]
    done = subprocess.run(
        [*arguments, "--repeat", str(repeat)], env=environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    before = os.times()
    command = [sys.executable, "-m", "graphprover", "verify", str(folder / proof), str(folder / program)]
    subprocess.run(command, env=environment, capture_output=True, check=True)
    after = os.times()
    whole = after.children_user + after.children_system - before.children_user - before.children_system
    out.text(
        f"{proof:7}{program[-3:]:>4} {by:8}{found['bytes'] / 1e6:6.1f} MB {found['tables']:4.0f} tables: "
        f"{found['least']:6.3f} s (first {found['first']:6.3f}, command {whole:6.3f}); "
        f"{found['hash calls'] / 1e3:6.0f} k hash calls, {found['ceiling']:6.3f} s; "
        f"{found['memory'] / 2**20:4.0f} MiB"
    )
    name = f"{proof} by {by}"
    out(name, found["least"], "s", found["ceiling"] / found["least"], tables=found["tables"], bytes=found["bytes"])
    out(f"{name}: first", found["first"], "s")
    out(f"{name}: command", whole, "s")
    out(f"{name}: hash calls", found["hash calls"], "calls")
    out(f"{name}: peak", found["memory"], "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--instructions", type=int, default=200_000)
    parser.add_argument("--measure", nargs=3, metavar=("PROOF", "PROGRAM", "BY"), help=argparse.SUPPRESS)
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    if options.measure:
        proof, program, by = options.measure
        if by == "kernels":
            import graphprover.kernels.cpu.keccak  # noqa: F401
        print(json.dumps(measure(Path(proof), Path(program), options.repeat), allow_nan=False))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prove_all(folder, options.instructions)
        for proof, program in (("fib", "fib.vk"), ("tables", "tables.vk"), ("large", "large.elf")):
            for by in ("NumPy", "kernels"):
                report(out, folder, proof, program, by, options.repeat)


if __name__ == "__main__":
    main()
