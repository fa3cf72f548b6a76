"""A job's own receiver of progress: called by each executor of this process, and able to end the job."""

import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

from graphprover import Prover, prove_many
from graphprover.proving import executor

GUEST = Path(__file__).parents[2] / "examples" / "guests" / "fib_iterative.elf"
TURNS = struct.pack("<Q", 300)


class Stopped(Exception):
    """The error of a receiver."""


@pytest.mark.parametrize("pipelined", [False, True])
def test_a_job_hears_of_its_proof_and_can_end_it(pipelined: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "pays", lambda device: pipelined)
    prover, told = Prover(GUEST, security=20), list[tuple[int, int, str]]()

    def stop(ended: int, total: int, task: str) -> None:
        if ended >= 3:
            raise Stopped

    jobs = [prover.job(TURNS, "heard", progress=lambda *words: told.append(words)), prover.job(TURNS, progress=stop)]
    heard, stopped = prove_many(jobs, "sync", "cpu")
    assert heard.proof and heard.job is jobs[0] and told[0][0] == 0 and told[-1][0] == told[-1][1] > 3
    assert isinstance(stopped.error, Stopped)


def test_it_stays_in_its_process() -> None:
    job: Any = pickle.loads(pickle.dumps(Prover(GUEST).job(TURNS, progress=lambda *words: None)))
    assert job.progress is None
