"""``graphprover warm``: compile kernels before the other commands need them."""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from graphprover.air import AirDescription
from graphprover.air.degree import packings
from graphprover.cli.args import Command, add_option, group_of
from graphprover.cli.heartbeat import beating
from graphprover.cli.paths import program_argument
from graphprover.cli.program_args import machine_of
from graphprover.jobs.machine_options import DEVICES, MACHINE
from graphprover.protocol.parameters import FAST, HASH_NAMES, LAYER_RATES, RATES, SMALL
from graphprover.runtime.errors import FAILED, OK, UsageError
from graphprover.vm.statement.shape import MIN_ROWS, rows_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.traces.possible import possible_tables

SLOW = 0.2  # seconds: faster compilations get no line


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Other commands compile kernels when they first need them: one or two minutes in total on a CPU, and again for "
        "each new table on a GPU. Use this command to compile them ahead, for instance in a container image. It prints "
        "each kernel. GPU kernels occupy all cores for minutes; give guests to compile only their tables.",
        ["", "guest.elf --device cuda"],
    )
    parser.add_argument(
        "programs",
        type=program_argument,
        nargs="*",
        metavar="GUEST.ELF",
        help="Guest programs; GPU kernels are compiled only for tables that they can use. Default: all tables.",
    )
    help = f"Device to compile for, in addition to the CPU: {DEVICES}."
    add_option(group_of(parser, MACHINE), "device", help, "auto")


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover warm``: compile the CPU's kernels, which every proof needs, then the GPU's."""
    from graphprover.device.choose import device_for
    from graphprover.device.cpu import CpuDevice
    from graphprover.runtime import numba_cache

    machines = [machine_of(name, "; only guests have tables of the machine") for name in options.programs]
    try:
        device = device_for(options.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from error
    with beating(lambda: f"{len(numba_cache.made)} kernels compiled so far"):
        cached = warm_cpu()
    if not isinstance(device, CpuDevice):
        from graphprover.device.cuda import CudaDevice

        assert isinstance(device, CudaDevice)
        _warm_gpu(machines, device.number)
    return OK if cached else FAILED


def warm_cpu() -> bool:
    """Compile all CPU kernels, and return whether all were written to the cache.

    Proving the smallest guest uses all kernels except the ones that later calls here run.
    """
    from graphprover.jobs.warmup import compress_smallest, prove_smallest
    from graphprover.runtime import numba_cache
    from graphprover.vm.executor.execute import smallest
    from graphprover.vm.profile.measure import profile
    from graphprover.vm.statement.setup import make_key

    started = time.perf_counter()
    numba_cache.watchers.append(_progress)
    for name in HASH_NAMES:
        prove_smallest("cpu", name)
    compress_smallest()
    make_key(Machine(smallest()))
    profile(smallest())
    _trace_keccak_f()
    _trace_calls()
    _add_openings()
    _say(len(numba_cache.made), "the CPU", started)
    return numba_cache.all_saved()


def _trace_keccak_f() -> None:
    """Compile the kernels of Keccak-f's traces by tracing one permutation."""
    import numpy as np

    from graphprover.device.cpu import CpuDevice
    from graphprover.vm.accelerators.keccak.kernels import SHAPES, permuted
    from graphprover.vm.accelerators.keccak.permutation import WORDS
    from graphprover.vm.accelerators.keccak.traces import Permutations, digits_trace, permutations_trace

    device, calls = CpuDevice(1), Permutations(np.zeros((WORDS, 1), dtype=np.uint64), np.zeros(1, dtype=np.uint64))
    permuted(device, calls.states)
    for table, (_, rows) in SHAPES.items():
        permutations_trace(device, calls, table=table, height=rows_for(rows), first=0, last=1)
    digits_trace(device, calls, narrow=True)


def _trace_calls() -> None:
    """Compile the kernels of the traces of host calls and late accesses by tracing none of them."""
    import numpy as np

    from graphprover.device.cpu import CpuDevice
    from graphprover.vm.accelerators.kernels import CallArrays, fill_calls
    from graphprover.vm.accelerators.registry import ACCELERATORS
    from graphprover.vm.kernels import fill_bumps
    from graphprover.vm.kernels.bumps import BUMP_WORDS, SOUGHT_WORDS, Accessed
    from graphprover.vm.kernels.tape import ROW_WORDS, Cycles

    class Whole(CpuDevice):
        """A CPU that calls kernels also for no rows."""

        def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
            function(0, rows)

    device, none, order = Whole(1), np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32)
    rows = np.zeros((0, ROW_WORDS), dtype=np.uint64)
    for one in ACCELERATORS:
        if one.rows > 1:
            main = np.zeros((one.width, one.rows), dtype=np.uint64)
            fill_calls(device, one, CallArrays(order, rows, none, none, none, none, 0), main)
    accessed = Accessed(Cycles(order, rows, none), none, none, none, none, none, none, 0)
    sought, bumps = np.zeros((0, SOUGHT_WORDS), dtype=np.uint64), np.zeros((BUMP_WORDS, 0), dtype=np.uint64)
    fill_bumps(device, accessed, sought, bumps)


def _add_openings() -> None:
    """Compile sums in DEEP that the smallest guest does not need, whose batches differ in height."""
    import numpy as np

    from graphprover.kernels.cpu.deep import add_products, sum_vectors

    vector = np.zeros((3, MIN_ROWS), dtype=np.uint64)
    sum_vectors([vector] * 2)
    add_products(vector, vector, vector, 0, MIN_ROWS)


def _warm_gpu(machines: Sequence[Machine], number: int) -> None:
    """Compile the GPU kernels of all tables that the programs can use, or of all tables, and of compressed proofs."""
    from graphprover.kernels.cuda.warm import compile_kernels, kept
    from graphprover.recursion.kernels.cuda.sources import texts as texts_of_recursion
    from graphprover.recursion.layer_tables import possible_tables as possible_of_layers
    from graphprover.vm.executor.execute import smallest
    from graphprover.vm.kernels.cuda.sources import texts

    tables: Iterator[AirDescription] = chain.from_iterable(map(possible_tables, machines))
    if not machines:
        tables = possible_tables(Machine(smallest()), set(CHIP_NUMBERS))
    usual = [RATES[rate] for rate in (FAST, SMALL)]
    tables = chain(
        chain.from_iterable(packings(air, usual) for air in tables),
        chain.from_iterable(packings(air.describe(), LAYER_RATES.values()) for air in possible_of_layers()),
    )
    started, done, before = time.perf_counter(), 0, kept()

    def tell(kernel: str, seconds: float, left: int) -> None:
        nonlocal done
        done += 1
        if seconds > SLOW:
            rate = done / (time.perf_counter() - started)
            _progress(f"{kernel}; {done} of {done + left}, {rate:.1f} per second, {left / rate:.0f} s left", seconds)

    compile_kernels(tables, {**texts(), **texts_of_recursion()}, number, tell)
    _say(kept() - before, "the GPU", started)


def _say(count: int, device: str, started: float) -> None:
    seconds = time.perf_counter() - started
    done = f"{count} kernels for {device} compiled in {seconds:.0f} s"
    print(done if count else f"all kernels for {device} were cached")


def _progress(kernel: str, seconds: float) -> None:
    """Print a line for a kernel; its seconds include the functions compiled with it."""
    print(f"{seconds:7.1f} s  {kernel}", flush=True)
