"""Several GPUs of one host: whoever proves, the bytes are the CPU's.

    python -m tests.cuda.check_cluster [--statements 12] [--devices cuda:0 cuda:1] [--cycles 1000000]

1. One process: every statement on every GPU, one GPU after the other; then all GPUs at once, a thread each.
2. A cluster: a worker process for each GPU, which sees that GPU alone, and proofs by `prove(executor=client)` from as
   many threads; then the same while a worker dies, and while GPUs fail.
3. Seconds of one guest's proof here and by the cluster, in turns.

Exits with an error for the first proof that differs, and where a GPU has had nothing to do. ``--devices cpu cpu`` tries
the script itself where there is no GPU.
"""

import argparse
import logging
import os
import signal
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from threading import Timer

from distributed import Client, Nanny, Scheduler, SpecCluster

from graphprover import Statement, prove
from graphprover.device.choose import device_for, gpus
from graphprover.protocol.parameters import Parameters
from graphprover.vm.elf import load_elf
from graphprover.vm.execute import execute
from graphprover.vm.run_statement import statement_of_run
from graphprover.vm.statement import Machine
from tests.random_statements import random_statement


def statement_of(seed: int) -> tuple[Parameters, Statement]:
    return random_statement(seed, tables=1 + seed % 3, max_log_height=4 + seed % 8, max_width=10)


def proved(seed: int, device: str) -> bytes:
    """The proof of a random statement by a device of this process."""
    parameters, statement = statement_of(seed)
    return prove(statement, executor="sync", parameters=parameters, device=device).to_bytes()


@contextmanager
def cluster(devices: list[str]) -> Iterator[Client]:
    """A worker process for each device."""
    local = {"host": "127.0.0.1"}
    nanny = {**local, "nthreads": 1, "silence_logs": logging.ERROR}
    numbers = [device.removeprefix("cuda:") for device in devices]
    workers = {
        i: {"cls": Nanny, "options": {**nanny, "env": {"CUDA_VISIBLE_DEVICES": "" if number == "cpu" else number}}}
        for i, number in enumerate(numbers)
    }
    scheduler = {"cls": Scheduler, "options": {**local, "dashboard": False}}
    with SpecCluster(workers, scheduler=scheduler, silence_logs=logging.ERROR) as made, Client(made) as client:
        client.wait_for_workers(len(devices), timeout=120)
        yield client


def launched() -> int:
    """How many kernels this process has launched."""
    if not gpus():
        return 0
    from graphprover.kernels.cuda.launch import launches

    return sum(launches.values())


def fail(call: int) -> None:
    """Make a launch of this process fail, the ``call``-th from now: then its GPU is lost to it."""
    from graphprover.kernels.cuda import faults

    fault = faults.launch.at(call)
    fault.__enter__()
    faults.__dict__["armed"] = (
        fault  # this function travels with globals of its own, which end with it, and so it would
    )


def guest(cycles: int) -> Statement:
    """The statement about a run of so many cycles."""
    machine = Machine(load_elf((Path(__file__).parents[2] / "examples/guests/fib_iterative.elf").read_bytes()))
    return statement_of_run(machine, execute(machine.image, struct.pack("<Q", cycles // 5), record=True), "fib")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=12)
    parser.add_argument("--devices", nargs="+", default=[f"cuda:{number}" for number in range(gpus())])
    parser.add_argument("--cycles", type=int, default=1_000_000, help="of the guest that is timed")
    options = parser.parse_args()
    devices, seeds = options.devices, range(options.statements)
    logging.getLogger("graphprover.checker").setLevel(logging.ERROR)  # random tables leave columns unread
    if len(devices) < 2:
        raise SystemExit(f"{len(devices)} GPUs here; this needs two")
    expected = [proved(seed, "cpu") for seed in seeds]

    def compare(what: str, seed: int, proof: bytes) -> None:
        compare_bytes(f"{what}, statement {seed}", proof, expected[seed])

    def every(device: str) -> None:
        for seed in seeds:
            compare(device, seed, proved(seed, device))

    for device in devices:
        every(device)
        print(f"{device}: {len(seeds)} proofs have the CPU's bytes", flush=True)
    with ThreadPoolExecutor(len(devices)) as pool:
        started = time.perf_counter()
        list(pool.map(every, devices))
        print(f"all at once in one process: the same, {time.perf_counter() - started:.2f} s", flush=True)

    kind = "cuda" if devices[0].startswith("cuda") else "cpu"

    def by_cluster(client: Client, seed: int) -> None:
        parameters, statement = statement_of(seed)
        compare("the cluster", seed, prove(statement, client, parameters=parameters, device=kind).to_bytes())

    def all_by_cluster(client: Client, what: str) -> None:
        started = time.perf_counter()
        with ThreadPoolExecutor(len(devices)) as pool:
            list(pool.map(lambda seed: by_cluster(client, seed), seeds))
        print(f"cluster, {what}: the same, {time.perf_counter() - started:.2f} s", flush=True)

    with cluster(devices) as client:
        for what in ("first", "again"):  # the first compiles
            all_by_cluster(client, what)
        counts = client.run(launched)
        print(f"launches by worker: {sorted(counts.values())}", flush=True)
        if kind == "cuda" and not all(counts.values()):
            raise SystemExit(f"a GPU had nothing to do: {counts}")
        processes = client.run(os.getpid)
        Timer(0.2, os.kill, (min(processes.values()), signal.SIGKILL)).start()
        all_by_cluster(client, "while a worker dies")
        if kind == "cuda":
            client.wait_for_workers(len(devices), timeout=120)
            before = client.run(fail, 5)
            all_by_cluster(client, "while every GPU fails once")
            if outlived := before.keys() & client.scheduler_info()["workers"].keys():
                raise SystemExit(f"workers that outlived their GPUs: {outlived}")

        proved_run, here = guest(options.cycles), device_for(devices[0])
        seconds: dict[str, list[float]] = {"here": [], "by the cluster": []}
        for turn in range(8):
            for where, executor, device in (("here", "threads", here), ("by the cluster", client, kind)):
                started = time.perf_counter()
                proof = prove(proved_run, executor, device=device).to_bytes()
                seconds[where].append(time.perf_counter() - started)
                if turn == 0 and where == "here":
                    first = proof
                compare_bytes(f"the guest's proof, {where}", proof, first)
        for where, spent in seconds.items():
            first_one, *rest = (round(value, 3) for value in spent)
            print(
                f"{options.cycles:,} cycles {where}: first {first_one} s, then median {median(rest):.3f} s", flush=True
            )


def compare_bytes(what: str, proof: bytes, expected: bytes) -> None:
    if proof != expected:
        raise SystemExit(f"{what}: other bytes")


if __name__ == "__main__":
    main()
