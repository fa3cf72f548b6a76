"""A service under many queued jobs whose workers, scheduler and HTTP process are killed.

    python -m tests.service.resilience --jobs 2000

prints its figures. All jobs are queued before the first one starts,
by a service whose cluster does not answer. Then it checks that each job ended once, that none is lost, and that the
prover takes jobs in the order of their priorities and of their age.

One tenant is poisoned: the callbacks of its jobs, one in five, go to servers that answer with no HTTP or drip their
answers without an end. One in five jobs of the other tenant has a callback that is taken. The run checks that each of
these came within its schedule, with the end of its job.
"""

import argparse
import json
import random
import signal
import sqlite3
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import select

from graphprover import Prover
from graphprover.cluster.batching import PER_WORKER
from graphprover.service.client import Client
from graphprover.service.database import connect, jobs
from graphprover.service.store import Store
from graphprover.service.tokens import add_token
from tests.service.running import ROOT, Service, until, workers

GUEST = ROOT / "examples/guests/fib_iterative.elf"
NO_CLUSTER = "tcp://127.0.0.1:1"
FEW_BITS = 20.0
WORKERS = 2
KILLS = ("worker", "scheduler", "worker", "service", "worker")
TENANTS = ("alice", "mallory")
CALLBACK_SECONDS = 600.0  # between the end of a job and its callback, at the most; the service may just be down
OWNERS = {1: ("mallory", "none"), 6: ("mallory", "drip"), 0: ("alice", "good"), 5: ("alice", "good")}  # by last digit
VERIFIED = 10  # proofs of a run
MOST_UNLOGGED = 100  # ends that a killed service has noticed and not logged


@dataclass(frozen=True)
class Figures:
    """The figures of a run."""

    jobs: int
    submit_seconds: float  # for all jobs
    seconds: float  # from the first start of the prover to the last end
    attempts: Counter[int]  # how many jobs started how often
    ended_lines: int  # of the log
    kills: tuple[str, ...]
    service_mb: tuple[float, ...]  # memory of the process of the service, at equal steps
    prover_mb: tuple[float, ...]  # of the prover process and its workers
    callbacks: int  # that were taken
    poisoned: int  # attempts at servers of the poisoned tenant
    callback_seconds: float  # the longest time from the end of a job to its callback


def run(folder: Path, number: int, seed: int = 0, processes: int = WORKERS, steps: Sequence[str] = KILLS) -> Figures:
    """Queue jobs, kill processes while they are proved, check all ends, and return the figures.

    Args:
        folder: An empty folder for the service.
        number: The number of jobs.
        seed: Of priorities, equal jobs and killed workers.
        processes: The number of workers.
        steps: The processes to kill, at equal numbers of jobs that have ended.
    """
    draw = random.Random(seed)
    tokens = {name: add_token(folder / "tokens", name) for name in TENANTS}
    servers = Servers()
    options = ("--tokens", str(folder / "tokens"), "--callback-host", servers.place)
    service = Service(folder)
    service.start("--executor", NO_CLUSTER, *options, is_ready=False)
    began = time.monotonic()
    submit_all(service, number, draw, tokens, servers)
    submitted = time.monotonic() - began
    assert service.end() == 143
    arguments = ("--executor", "processes", "--workers", str(processes), *options)
    service.start(*arguments)
    began = time.monotonic()
    kills: list[str] = []
    service_mb, prover_mb = [], []
    for index in range(1, 2 * len(steps)):
        until(lambda index=index: ended(service) >= number * index // (2 * len(steps)), 1200)  # type: ignore[misc]
        if index % 2:
            kill(service, steps[index // 2], arguments, draw)
            kills.append(steps[index // 2])
        else:
            mine, theirs = memory(service)
            service_mb.append(mine)
            prover_mb.append(theirs)
    until(lambda: ended(service) == number, 1200)
    seconds = time.monotonic() - began
    until(lambda: ended(service, "AND noticed") == number)
    until(lambda: not ended(service, "AND owner = 'alice' AND callback_next IS NOT NULL"))
    until(lambda: not ended(service, "AND owner = 'mallory' AND callback_attempts = 0"), CALLBACK_SECONDS)
    assert service.end() == 143
    servers.end()
    rows = rows_of(folder)
    check(service, rows, number, draw)
    called = servers.taken
    wanted = {row.id: row.ended for row in rows if row.owner == "alice" and row.callback}
    assert called.keys() == wanted.keys() and wanted
    late = max(called[id] - wanted[id] for id in wanted)
    assert late < CALLBACK_SECONDS
    return Figures(
        number,
        submitted,
        seconds,
        Counter(row.attempts for row in rows),
        sum(line["message"] == "ended" for line in service.lines()),
        tuple(kills),
        tuple(service_mb),
        tuple(prover_mb),
        len(called),
        servers.poisoned,
        late,
    )


class Servers:
    """The servers of callbacks, at one port: /good takes them, /none answers with no HTTP, and /drip does not end."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}  # times of the first callback by id of a job
        self.poisoned = 0  # calls of the others

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(receiver) -> None:
                self._answer(receiver)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.place = f"127.0.0.1:{self._server.server_port}"

    def _answer(self, receiver: BaseHTTPRequestHandler) -> None:
        job = json.loads(receiver.rfile.read(int(receiver.headers["Content-Length"])))
        if receiver.path == "/good":
            self.taken.setdefault(job["id"], time.time())
            receiver.send_response(200)
            receiver.end_headers()
            return
        self.poisoned += 1
        with suppress(OSError):
            receiver.wfile.write(b"hello\r\n" if receiver.path == "/none" else b"")
            while receiver.path == "/drip":
                receiver.wfile.write(b"H")
                time.sleep(1)

    def end(self) -> None:
        """End the servers."""
        self._server.shutdown()
        self._server.server_close()


def submit_all(service: Service, number: int, draw: random.Random, tokens: Mapping[str, str], servers: Servers) -> None:
    """Submit jobs of random priorities, of which one in ten is equal to an earlier one."""
    clients = {name: Client(service.url, token) for name, token in tokens.items()}
    program = clients["alice"].upload_program(GUEST)
    for index in range(number):
        turns = draw.randrange(index) if index % 10 == 9 else index
        owner, kind = OWNERS.get(index % 10, ("alice", ""))
        data = clients[owner].upload_input(struct.pack("<Q", 100 + turns))
        callback = f"http://{servers.place}/{kind}" if kind else None
        priority = draw.randint(-2, 2)
        clients[owner].submit(program, data, security=FEW_BITS, priority=priority, name=str(turns), callback=callback)


def kill(service: Service, what: str, arguments: Sequence[str], draw: random.Random) -> None:
    """Kill a process, and start the service again if it is the one."""
    if what == "service":
        service.end(signal.SIGKILL)
        service.start(*arguments)
        return
    prover = until(service.prover)
    victim = prover if what == "scheduler" else draw.choice(until(lambda: workers(prover)))
    victim.kill()


def ended(service: Service, noticed: str = "") -> int:
    """Return the number of jobs that have ended, by the database."""
    time.sleep(0.1)  # the processes of the service need the processor
    with closing(sqlite3.connect(service.folder / "data/queue.db", timeout=60)) as database:
        (number,) = database.execute(f"SELECT count(*) FROM jobs WHERE ended IS NOT NULL {noticed}").fetchone()
    return int(number)


def rows_of(folder: Path) -> Sequence[Any]:
    engine = connect(f"sqlite:///{folder}/data/queue.db")
    with engine.connect() as connection:
        found = connection.execute(select(jobs).order_by(jobs.c.number)).all()
    engine.dispose()
    return found


def memory(service: Service) -> tuple[float, float]:
    """Return the memory of the service's process, and of its prover process with the workers, in MB."""
    assert service.process
    prover = until(service.prover)
    theirs = [prover, *prover.children(recursive=True)]
    return (
        psutil.Process(service.process.pid).memory_info().rss / 1e6,
        sum(process.memory_info().rss for process in theirs if process.is_running()) / 1e6,
    )


def check(service: Service, rows: Sequence[Any], number: int, draw: random.Random) -> None:
    """Check that each job ended once, with its own proof, and in order."""
    assert len(rows) == number and {row.state for row in rows} == {"done"}
    lines = Counter(line["job"] for line in service.lines() if line["message"] == "ended")
    assert max(lines.values()) == 1 and number - len(lines) <= MOST_UNLOGGED
    proved = Counter(line["job"] for line in service.lines() if line["message"] == "proved")
    assert max(proved.values()) == 1
    store, prover = Store(str(service.folder / "data/store")), Prover(GUEST, security=FEW_BITS)
    for row in rows:
        assert store.claim(row.proof_key)
    for row in draw.sample(rows, min(VERIFIED, number)):
        verdict = prover.verify(b"".join(store.proof_chunks(row.proof_key)))
        own = prover.execute(struct.pack("<Q", 100 + int(row.name)))
        assert verdict.claim and verdict.claim.output == own.output
    check_order([row for row in rows if not row.from_store])


def check_order(rows: Sequence[Any]) -> None:
    """Check that each prover process took its jobs in their order; few that an earlier one had taken come later."""
    spans: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: row.taken):
        spans.setdefault(row.prover, []).append(row)
    for span in spans.values():
        order = [(-row.priority, row.number) for row in span]
        assert order == sorted(order)
    for earlier, later in pairwise(spans.values()):
        lowest = min(row.priority for row in earlier)
        assert sum(row.priority > lowest for row in later) <= (PER_WORKER + 64) * WORKERS


def main() -> None:
    """Run once, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1, help=f"Of the kills {', '.join(KILLS)}.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(Path(folder), options.jobs, options.seed, steps=KILLS * options.rounds))


if __name__ == "__main__":
    main()
