"""Requests a second of a proving service on one core, and its memory.

    python scripts/bench_serve.py [--requests 20000] [--connections 8] [--jobs 200] [--json]

Starts `graphprover serve` on one core, with tokens. A process on the other cores submits jobs, and then asks for the
status of one, over connections that stay open. The prover process waits for a cluster that does not answer, so that the
core belongs to the service. Processor time is the service's own.
"""

import argparse
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

import checkout
from figures import Figures, add_option
from graphprover.service import Client, ServiceError
from graphprover.service.tokens import add_token

FIB = Path(__file__).parents[1] / "examples/guests/fib_iterative.elf"
NO_CLUSTER = "tcp://127.0.0.1:1"
START_SECONDS = 60.0


def started(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start a service on the first core."""
    first = min(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "graphprover", "serve", "--port", str(port), "--data", str(folder / "data")]
    return subprocess.Popen(
        [*command, "--tokens", str(folder / "tokens"), "--executor", NO_CLUSTER],
        cwd=checkout.ROOT,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {first}),
    )


def submit(client: Client, number: int) -> tuple[str, float]:
    """Submit jobs, each with an upload of its input, and return the last one's id and the seconds of each."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            program = client.upload_program(FIB)
            break
        except ServiceError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
    began = time.perf_counter()
    for index in range(number):
        job = client.submit(program, client.upload_input(struct.pack("<Q", index)), priority=index % 3)
    return job["id"], (time.perf_counter() - began) / number


def ask(port: int, request: bytes, number: int, seconds: list[float]) -> None:
    """Send a request repeatedly over one connection, and add the seconds of each answer."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(number):
            began = time.perf_counter()
            connection.sendall(request)
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(1 << 16)
            head, _, body = received.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            (length,) = (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            while len(body) < length:
                body += connection.recv(1 << 16)
            seconds.append(time.perf_counter() - began)


def measure(out: Figures, folder: Path, requests: int, connections: int, jobs: int) -> None:
    """Measure one service, and print its figures."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = add_token(folder / "tokens", "bench")
    service = started(folder, port)
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(cores[1:]) or set(cores))
    try:
        id, each = submit(Client(f"http://127.0.0.1:{port}", token), jobs)
        process = psutil.Process(service.pid)
        before, worked = process.memory_info().rss, sum(process.cpu_times()[:2])
        request = f"GET /v1/jobs/{id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        seconds: list[float] = []
        share = requests // connections
        threads = [threading.Thread(target=ask, args=(port, request, share, seconds)) for _ in range(connections)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = time.perf_counter() - began
        worked = sum(process.cpu_times()[:2]) - worked
        after = process.memory_info().rss
    finally:
        service.terminate()
        service.wait()
    assert len(seconds) == share * connections
    middle, slow = statistics.median(seconds), statistics.quantiles(seconds, n=100)[-1]
    rate = len(seconds) / total
    out.text(
        f"status: {rate:,.0f} requests/s over {connections} connections, {1e3 * middle:.1f} ms in the middle, "
        f"{1e3 * slow:.1f} ms for one in a hundred; {1e6 * worked / len(seconds):.0f} us of the processor each",
        f"submission with its input: {1e3 * each:.1f} ms",
        f"memory: {before / 1e6:.1f} MB before {len(seconds):,} requests, {after / 1e6:.1f} MB after",
    )
    out("status", rate, "requests/s", connections=connections)
    out("status: processor", 1e3 * worked / len(seconds), "ms")
    out("status: one in a hundred", 1e3 * slow, "ms")
    out("submission", 1e3 * each, "ms", jobs=jobs)
    out("memory before", before, "bytes")
    out("memory after", after, "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=200)
    add_option(parser)
    options = parser.parse_args()
    out = Figures(options.json)
    out.text("load of the host before: " + ", ".join(f"{load:.1f}" for load in os.getloadavg()))
    with tempfile.TemporaryDirectory() as folder:
        measure(out, Path(folder), options.requests, options.connections, options.jobs)


if __name__ == "__main__":
    main()
