"""``graphprover warm``: compile what the other commands would compile when they first need it."""

import argparse
import time

OK, FAILED = 0, 1


def run_warm(options: argparse.Namespace) -> int:
    """``graphprover warm``: runs and proves the smallest guest, which takes every kernel of the CPU."""
    from graphprover import compiled
    from graphprover.prover import prove
    from graphprover.vm.execute import execute, smallest
    from graphprover.vm.machine import Machine
    from graphprover.vm.setup import make_key
    from graphprover.vm.trace import statement

    started = time.perf_counter()
    compiled.watchers.append(_progress)
    machine = Machine(smallest())
    execute(machine.image)
    execution = execute(machine.image, record=True)
    make_key(machine)
    prove(statement(machine, execution), device="cpu")
    seconds = time.perf_counter() - started
    print(f"{len(compiled.made)} kernels compiled in {seconds:.0f} s" if compiled.made else "all kernels were there")
    return OK if compiled.all_kept() else FAILED


def _progress(kernel: str, seconds: float) -> None:
    """A line for each kernel; its seconds include those that it calls and that were compiled with it."""
    print(f"{seconds:7.1f} s  {kernel}", flush=True)
