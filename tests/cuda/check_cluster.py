"""Several GPUs of one host: whoever proves, the bytes are the CPU's.

    python -m tests.cuda.check_cluster [--statements 12] [--devices cuda:0 cuda:1]

1. One process: every statement on every GPU, one GPU after the other; then all GPUs at once, a thread each.
2. A cluster: a worker process for each GPU, under a nanny and with a resource of its own that whole proofs ask for.

Exits with an error for the first proof that differs, and where a GPU has had nothing to do. ``--devices cpu cpu`` tries
the script itself where there is no GPU.
"""

import argparse
import logging
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from distributed import Client, Nanny, Scheduler, SpecCluster

from graphprover import prove
from graphprover.device.choose import device_for, gpus
from tests.random_statements import random_statement


def proved(seed: int, device: str) -> tuple[bytes, int, int]:
    """The proof of a random statement, the process that made it, and how many kernels its device has launched since
    that process began."""
    parameters, statement = random_statement(seed, tables=1 + seed % 3, max_log_height=4 + seed % 8, max_width=10)
    chosen = device_for(device)
    proof = prove(statement, executor="sync", parameters=parameters, device=chosen).to_bytes()
    usage = getattr(chosen, "usage", {})
    return proof, os.getpid(), sum(kernel.launches for kernel in usage.values())


@contextmanager
def cluster(devices: list[str]) -> Iterator[Client]:
    """A worker process for each device, with the resource ``device0``, ``device1``, ..."""
    local = {"host": "127.0.0.1"}
    nanny = {**local, "nthreads": 1, "silence_logs": logging.ERROR}
    workers = {i: {"cls": Nanny, "options": {**nanny, "resources": {f"device{i}": 1}}} for i in range(len(devices))}
    scheduler = {"cls": Scheduler, "options": {**local, "dashboard": False}}
    with SpecCluster(workers, scheduler=scheduler, silence_logs=logging.ERROR) as made, Client(made) as client:
        client.wait_for_workers(len(devices), timeout=120)
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=12)
    parser.add_argument("--devices", nargs="+", default=[f"cuda:{number}" for number in range(gpus())])
    options = parser.parse_args()
    devices, seeds = options.devices, range(options.statements)
    if len(devices) < 2:
        raise SystemExit(f"{len(devices)} GPUs here; this needs two")
    expected = [proved(seed, "cpu")[0] for seed in seeds]

    def compare(what: str, seed: int, proof: bytes) -> None:
        if proof != expected[seed]:
            raise SystemExit(f"{what}: the proof of statement {seed} is not the CPU's")

    def every(device: str) -> None:
        for seed in seeds:
            compare(device, seed, proved(seed, device)[0])

    for device in devices:
        every(device)
        print(f"{device}: {len(seeds)} proofs have the CPU's bytes", flush=True)
    with ThreadPoolExecutor(len(devices)) as pool:
        started = time.perf_counter()
        list(pool.map(every, devices))
        print(f"all at once in one process: the same, {time.perf_counter() - started:.2f} s", flush=True)

    with cluster(devices) as client:
        for repetition in ("first", "again"):  # the first compiles
            started = time.perf_counter()
            tasks = {
                client.submit(proved, seed, device, resources={f"device{i}": 1}, pure=False): (i, seed)
                for i, device in enumerate(devices)
                for seed in seeds[i :: len(devices)]
            }
            processes: list[set[int]] = [set() for _ in devices]
            launches = [0 for _ in devices]
            for task, (i, seed) in tasks.items():
                proof, process, launched = task.result()
                compare(f"a worker with {devices[i]}", seed, proof)
                processes[i].add(process)
                launches[i] = max(launches[i], launched)
            spent = time.perf_counter() - started
            print(f"cluster, {repetition}: the same, {spent:.2f} s; launches {launches}", flush=True)
        if any(len(seen) != 1 for seen in processes) or len(set.union(*processes)) != len(devices):
            raise SystemExit(f"not one worker process for each device: {processes}")
        if any(device.startswith("cuda") and not count for device, count in zip(devices, launches, strict=True)):
            raise SystemExit(f"a GPU had nothing to do: {launches}")


if __name__ == "__main__":
    main()
