"""``graphprover batch``, and ``prove`` on workers: finished proofs survive any failure, and are not repeated."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import LocalCluster

from graphprover import Job, Prover
from graphprover.cli.main import main
from graphprover.jobs.made import made
from graphprover.proof.compressed import CompressedProof
from graphprover.prover import layers
from graphprover.prover.made import Made
from graphprover.proving.executor import OnCluster
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.verifier import Verdict
from tests.cli.test_cli import PROGRAM
from tests.slow import slow_after
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

ROOT = Path(__file__).parents[2]
GUEST = (ROOT / "examples/guests/fib_iterative.elf").read_bytes()

# Waits on the input "wait", in a process that a test can end then.
WAITING = PROGRAM.replace(
    "    first = 1",
    """    import os, time
    while data == b"wait" and not os.path.exists("go"):
        open("begun", "w").close()
        time.sleep(0.01)
    first = 1""",
)

BATCH = """
[defaults]
security = 30
output = "proofs/{name}.bin"

[[job]]
program = "doubling.py"
input = "inputs/*"

[[job]]
program = "fib.elf"
input = "300"

[[job]]
program = "leaves.elf"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a working directory with programs, inputs, and a batch of six jobs of which one fails."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubling.py").write_text(WAITING)
    (tmp_path / "fib.elf").write_bytes(GUEST)
    (tmp_path / "leaves.elf").write_bytes(elf([Segment(CODE, words(leave(3)), X)]))
    (tmp_path / "inputs").mkdir()
    for number in range(3, 6):
        (tmp_path / f"inputs/{number}").write_bytes(bytes([number]) * 9)
    (tmp_path / "300").write_bytes(struct.pack("<Q", 300))
    (tmp_path / "jobs.toml").write_text(BATCH)
    return tmp_path


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start a cluster of one worker."""
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def batch(*options: str, code: int = OK) -> dict[str, dict[str, Any]]:
    """Run a batch in this process, and return the outcomes by job name, and the whole batch as "total"."""
    Path("summary").unlink(missing_ok=True)
    assert main(["batch", "jobs.toml", "--summary", "summary", *options]) == code
    return summary()


def summary() -> dict[str, dict[str, Any]]:
    *jobs, total = map(json.loads, Path("summary").read_text().splitlines())
    assert Counter(job["outcome"] for job in jobs) == +Counter({key: total[key] for key in ("made", "kept", "failed")})
    assert len({job["name"] for job in jobs}) == len(jobs) == total["jobs"]
    return {job["name"]: job for job in jobs} | {"total": total}


def valid(name: str, program: str) -> bool:
    return main(["verify", f"proofs/{name}.bin", program, "--security", "30"]) == OK


def test_the_first_failed_job_may_end_the_batch(capsys: pytest.CaptureFixture[str]) -> None:
    """The job with the highest priority fails; the others begin without the option only."""
    jobs = BATCH.replace('program = "leaves.elf"', 'program = "leaves.elf"\npriority = 1')
    Path("jobs.toml").write_text(jobs)
    assert main(["batch", "jobs.toml", "--fail-fast", "--executor", "threads"]) == FAILED
    out, err = capsys.readouterr()
    assert out.startswith("5 jobs: 0 made in ") and ", 1 failed, 4 not ended\n" in out
    assert err.startswith("1/5 leaves: failed: ") and not list(Path("proofs").iterdir())
    assert main(["batch", "jobs.toml", "--resume", "--json"]) == FAILED
    total = json.loads(capsys.readouterr().out)
    assert (total["made"], total["failed"]) == (4, 1)


@pytest.mark.parametrize("fails", [True, False])
def test_a_key_says_which_failed_job_ends_the_batch(fails: bool, capsys: pytest.CaptureFixture[str]) -> None:
    job = f'program = "leaves.elf"\npriority = 1\nfail_fast = {str(fails).lower()}'
    jobs = BATCH.replace("[defaults]", "[defaults]\nfail_fast = true").replace('program = "leaves.elf"', job)
    Path("jobs.toml").write_text(jobs)
    assert main(["batch", "jobs.toml", "--json", "--executor", "threads"]) == FAILED
    total = json.loads(capsys.readouterr().out)
    assert (total["made"], total["failed"]) == (0 if fails else 4, 1)


def test_a_job_that_fails_ends_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    found = batch("--json", code=FAILED)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert len(lines) == 5 and [line.split()[0] for line in lines] == [f"{n}/5" for n in range(1, 6)]
    refused = "leaves.elf: exit code 3, not 0: not proven (--exit-code 3 or any proves it as well; in Python exit_code)"
    assert f"leaves: failed: {refused}" in err
    assert "fib: " not in err and "300: 1,594 cycles, " in err and "3: 8 rows, " in err and ", proofs/3.bin" in err
    assert sorted(os.listdir("proofs")) == ["3.bin", "300.bin", "4.bin", "5.bin"]
    assert all(valid(name, "doubling.py") for name in "345") and valid("300", "fib.elf")

    total = json.loads(out)
    assert [job["name"] for job in total.pop("results")] == [name for name in found if name != "total"]
    assert found["total"] == total and (total["made"], total["kept"], total["failed"]) == (4, 0, 1)
    assert found["leaves"] | {"seconds": 0} == {
        "name": "leaves",
        "outcome": "failed",
        "program": "leaves.elf",
        "input": None,
        "proof": None,
        "says": None,
        "rows": None,
        "misaligned_accesses": None,
        "cycles_per_second": None,
        "cost": None,
        "seconds": 0,
        "compile_seconds": None,
        "peak_bytes": None,
        "worker": None,
        "attempts": 1,
        "again": None,
        "error": refused,
    }
    made = found["300"]
    assert made["proof"] == {"file": "proofs/300.bin", "bytes": os.path.getsize("proofs/300.bin")}
    assert made["says"]["exit_code"] == 0 and made["says"]["cycles"] == 1594 and made["input"] == "300"
    assert {"prepare", "prove", "verify"} <= made["seconds"].keys() and made["peak_bytes"] > 1 << 20
    proving = made["seconds"]["prepare"] + made["seconds"]["prove"] - made["compile_seconds"]
    assert made["cycles_per_second"] == 1594 / proving
    guest = Prover("fib.elf")
    assert made["cost"] == guest.cost(Path("300").read_bytes()).value and found["3"]["cost"] is None
    assert "fib.elf 300: 1,594 cycles, " in err and " cycles/s, " in err and "doubling.py 3: 8 rows, " in err


def test_a_disk_without_room_fails_a_job_before_its_proof(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs.toml").write_text(BATCH.replace('output = "proofs/{name}.bin"', 'output = "proofs/{name}/bin"'))
    disk_usage = shutil.disk_usage

    def free(path: Path) -> Any:
        return disk_usage(path)._replace(free=1000 if path.name == "4" else 1 << 30)

    monkeypatch.setattr(shutil, "disk_usage", free)
    found = batch(code=FAILED)
    assert found["total"]["made"] == 3 and found["4"]["outcome"] == "failed"
    assert re.match(r"proofs/4/bin: needs about .* MB are free in .*/proofs/4: free space there", found["4"]["error"])
    assert batch("--resume", code=FAILED)["total"]["kept"] == 3


def test_jobs_in_shards_say_what_others_say(folder: Path) -> None:
    (folder / "jobs.toml").write_text("""
[defaults]
security = 20
output = "proofs/{name}.bin"
[[job]]
name = "run"
program = "fib.elf"
input = "300"
[[job]]
name = "run in shards"
program = "fib.elf"
input = "300"
shards = 2
[[job]]
name = "tables"
program = "examples/memory"
[[job]]
name = "tables in shards"
program = "examples/memory"
shards = 2
""")
    found = batch()
    for name in ("run", "tables"):
        assert found[name]["says"] and found[name]["says"] == found[f"{name} in shards"]["says"]
    assert batch("--resume")["total"]["kept"] == 4


def test_resuming_keeps_what_is_good_and_makes_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    tables, _, _ = BATCH.partition('[[job]]\nprogram = "fib')
    Path("jobs.toml").write_text(tables + '[[job]]\nprogram = "leaves.elf"\nexit_code = "any"')
    Path("inputs/6").write_bytes(b"\6")
    batch()
    good = {path.name: path.read_bytes() for path in Path("proofs").iterdir()}
    damaged = bytearray(good["3.bin"])
    damaged[-99] ^= 1
    Path("proofs/3.bin").write_bytes(damaged)
    shutil.copy("proofs/5.bin", "proofs/4.bin")  # of another input
    shutil.copy("proofs/leaves.bin", "proofs/5.bin")  # of another program
    Path("proofs/6.bin").unlink()
    capsys.readouterr()
    found = batch("--resume")
    total = found.pop("total")
    assert (total["made"], total["kept"]) == (4, 1) and found["leaves"]["outcome"] == "kept"
    assert found["4"]["again"] == "it proves another run" and found["6"]["again"] is None
    assert found["3"]["again"] and found["5"]["again"]
    assert f"(replaced the existing proof: {found['3']['again']})" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in Path("proofs").iterdir()} == good
    assert batch("--resume")["total"]["kept"] == 5
    assert batch()["total"]["made"] == 5


def process(*options: str) -> "subprocess.Popen[str]":
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    Path("summary").touch()
    command = [sys.executable, "-m", "graphprover", "batch", "jobs.toml", "--summary", "summary", *options]
    return subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}, stderr=subprocess.PIPE, text=True)


def until(true: Callable[[], Any], running: "subprocess.Popen[str]") -> None:
    """Wait for a condition while a batch runs."""
    deadline = time.monotonic() + 300
    while not true():
        assert running.poll() is None and time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("sent", "ending"), slow_after(2, [("SIGINT", "interrupted"), ("SIGKILL", ""), ("SIGTERM", "terminated")])
)
def test_a_batch_that_is_ended_can_be_resumed(sent: str, ending: str) -> None:
    number = signal.Signals[sent]
    Path("jobs.toml").write_text(BATCH.partition('[[job]]\nprogram = "fib')[0])
    Path("inputs/5").write_bytes(b"wait")  # the shortest comes last
    running = process("--report", "seen.json", "--report", "seen.html")
    until(lambda: Path("begun").exists() and len(Path("summary").read_text().splitlines()) == 2, running)
    assert running.stderr
    lines = [running.stderr.readline() for _ in range(2)]  # each follows its line of the summary
    assert [line.split(":")[0] for line in lines] == ["1/3 doubling.py 3", "2/3 doubling.py 4"]
    running.send_signal(number)
    _, error = running.communicate(timeout=300)
    assert running.returncode == (128 + number if ending else -number)
    told = [f"graphprover: {ending}: 2 of 3 proofs are written; --resume continues"] if ending else []
    assert [line for line in error.splitlines() if line] == told
    assert sorted(os.listdir("proofs")) == ["3.bin", "4.bin"]
    assert Path("seen.html").exists() == Path("seen.json").exists() == bool(ending)
    if ending:
        assert [one["name"] for one in json.loads(Path("seen.json").read_text())] == ["3", "4"]
        assert "<dt>proofs an hour</dt>" in Path("seen.html").read_text()
    assert [json.loads(line)["name"] for line in Path("summary").read_text().splitlines()] == ["3", "4"]

    Path("go").touch()
    found = batch("--resume")
    assert [found[name]["outcome"] for name in "345"] == ["kept", "kept", "made"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--workers", "2"], "--workers: threads starts no workers; processes and cuda do"),
        (["--pool", "much"], "--pool: 'much' is neither a number of bytes"),
        (["--memory-limit", "1.5"], "--memory-limit: 1.5 is neither a number of bytes, as 40GiB, nor a share, as 0.8"),
        (
            ["--executor", "tcp://x:1", "--workers", "2"],
            "--workers: the workers of tcp://x:1 are already running: start more",
        ),
        (
            ["--executor", "tcp://x:1", "--memory-limit", "1GiB"],
            "--memory-limit: the workers of tcp://x:1 are already running",
        ),
        (["--mps"], "--mps: threads starts no GPU processes; cuda does"),
        (["--executor", "processes", "--mps"], "--mps: processes starts no GPU processes; cuda does"),
        (
            ["--executor", "tcp://x:1", "--mps"],
            "--mps: the workers of tcp://x:1 are already running: start NVIDIA's service",
        ),
        (["--dashboard"], "--dashboard: threads has no dashboard; the option is for processes and cuda"),
        (
            ["--executor", "tcp://x:1", "--dashboard"],
            "--dashboard: tcp://x:1 has its own dashboard, at its scheduler; the option",
        ),
        (["--device", "gpu"], "--device: device 'gpu': give auto, cpu"),
        (["--executor", "processes", "--device", "gpu"], "--device: device 'gpu': give auto, cpu"),
        (["--summary", "."], ".: is a folder: name a file in it"),
        (["--summary", "proofs/3.bin"], "--summary proofs/3.bin: this file is the output of a job"),
        (["--trace", "proofs/3.bin"], "--trace proofs/3.bin: this file is the output of a job"),
        (["--summary", "-", "--json"], "standard output (-) can receive only one file"),
    ],
)
def test_options_that_make_no_sense(options: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "jobs.toml", *options]) == USAGE
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and f"graphprover: {line}" in error


def test_what_fails_in_a_process_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask logs neither the error nor its message, and no folder with a program's sources remains."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    running = process("--executor", "processes", "--workers", "1")
    _, error = running.communicate(timeout=600)
    lines = [line for line in error.splitlines() if not line.startswith("graphprover: executor processes: 1 processes")]
    assert running.returncode == FAILED and [line[:4] for line in lines] == [f"{number}/5 " for number in range(1, 6)]
    assert sum("leaves: failed: leaves.elf: exit code 3" in line for line in lines) == 1
    assert [path.parent for path in tmp_path.rglob("doubling.py")] == [tmp_path]


def test_no_scheduler_is_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphprover.cluster.connecting.CONNECT", 0.1)
    assert main(["batch", "jobs.toml", "--executor", "tcp://127.0.0.1:1"]) == FAILED
    error = capsys.readouterr().err
    assert error.startswith("graphprover: executor tcp://127.0.0.1:1: no scheduler answers there: ")
    assert error.count("\n") == 1


def untimed(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """Return what a command has printed as JSON, without its times, and its messages."""
    out, err = capsys.readouterr()
    printed: dict[str, Any] = json.loads(out)
    del printed["seconds"], printed["compile_seconds"], printed["cycles_per_second"]
    return printed, err


def test_a_worker_runs_what_prove_proves(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Output and bytes equal a local proof; the sources of a program are sent to the worker."""
    one = ["prove", "doubling.py", "--input", "inputs/3", "--security", "30", "--json"]
    for options in (one, ["prove", "leaves.elf", "--exit-code", "3", "--commit-input", "--security", "30", "--json"]):
        assert main([*options, "-o", "proof.bin"]) == OK
        here, proof = untimed(capsys), Path("proof.bin").read_bytes()
        Path("proof.bin").unlink()
        assert main([*options, "-o", "proof.bin", "--executor", address]) == OK
        assert untimed(capsys) == here and Path("proof.bin").read_bytes() == proof
    assert main([*one, "--report", "--report", "out.json", "--trace", "trace", "--executor", address]) == OK
    report = json.loads(capsys.readouterr().out)["report"]
    assert {"worker: prepare", "worker: prove", "cluster", "verify"} <= report["stages"].keys()
    seen, trace = json.loads(Path("out.json").read_text()), json.loads(Path("trace").read_text())
    assert {"trace_main", "quotient", "opening", "query"} <= {row["round"] for row in report["rounds"]}
    assert [row["round"] for row in seen["rounds"]] == [row["round"] for row in report["rounds"]]
    assert seen["worker"].startswith("tcp://") and seen["name"] == "doubling.py" and seen["machine"]["threads"] == 1
    cluster, proving = (
        next(stage for stage in seen["stages"] if stage["name"] == name) for name in ("cluster", "prove")
    )
    assert not cluster["by_worker"] and proving["by_worker"]
    assert cluster["start"] <= proving["start"] < proving["end"] <= cluster["end"]
    tasks = [event for event in trace["traceEvents"] if event.get("cat") == "host"]
    assert len(tasks) == len(seen["tasks"]) == sum(row["tasks"] for row in report["rounds"])

    Path("wrong").write_bytes(b"wrong")
    Path("empty").touch()
    for arguments, code in (
        (["leaves.elf"], FAILED),
        (["doubling.py", "--input", "wrong"], FAILED),
        (["doubling.py", "--input", "empty"], USAGE),
        (["fib.elf", "--max-cycles", "9"], FAILED),
        (["doubling.py", "--exit-code", "3"], USAGE),
    ):
        assert main(["prove", *arguments]) == code
        here = capsys.readouterr()
        assert main(["prove", *arguments, "--executor", address]) == code
        there = capsys.readouterr()
        assert (
            there.out,
            re.sub(r", by tcp://\S+", "", there.err),
        ) == here  # the error of an invalid proof names it


@pytest.mark.slow
def test_workers_compress_their_proofs(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Compress a batch's proof and one by ``prove`` on the worker that has made it."""
    level = "security = 20\nrate = 8\npow_bits = 4\n"
    job = f'[[job]]\nprogram = "fib.elf"\ninput = "300"\noutput = "small.bin"\n{level}'
    Path("jobs.toml").write_text(job + "compress = [2, 4]\n")
    options = ["--executor", address, "--device", "cpu"]
    with monkeypatch.context() as patched:
        patched.setattr(layers, "layer_statement", lambda *given, **named: pytest.fail("the client compresses"))
        made = batch(*options, "--report", "seen.json")["300"]
        assert made["worker"] and made["seconds"]["compress"] > 0 and made["says"]["exit_code"] == 0
        proof, seen = CompressedProof.load("small.bin"), json.loads(Path("seen.json").read_text())
        assert [layer.parameters.log_blowup for layer in proof.layers] == [1, 2]
        assert made["proof"]["bytes"] == proof.size
        assert [layer["name"] for layer in seen[0]["layers"]] == ["300: layer 1", "300: layer 2"]
        assert seen[0]["layers"][0]["worker"] == made["worker"]
        direct = ["prove", "fib.elf", "--input", "300", "--security", "20", "--rate", "8", "--pow-bits", "4"]
        capsys.readouterr()
        assert main([*direct, "--compress", "2,4", "-o", "direct.bin", "--json", *options]) == OK
        found = json.loads(capsys.readouterr().out)
        assert Path("direct.bin").read_bytes() == proof.to_bytes()
        assert found["given_bytes"] is found["compress_seconds"] is None
        assert batch("--resume")["300"]["outcome"] == "kept"
        Path("jobs.toml").write_text(job)
        again = batch("--resume")["300"]
        assert again["again"] == "the proof is compressed, which was not asked for" and again["outcome"] == "made"


def test_what_is_seen_of_a_batch_is_small(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Reports have the sums of each proof on every executor, and the whole observation of a single proof."""
    for executor in ([], ["--executor", address]):
        options = ["--report", "out.json", "--trace", "trace", "--report", "--json", *executor]
        batch(*options, code=FAILED)
        report = json.loads(capsys.readouterr().out)["report"]
        seen = json.loads(Path("out.json").read_text())
        assert {one["name"] for one in seen} == {"3", "4", "5", "300"}
        assert all({"rounds", "stages", "memory"} <= one.keys() and "tasks" not in one for one in seen)
        assert max(len(json.dumps(one)) for one in seen) < 10_000
        for row in report["rounds"]:
            of_all = [part for one in seen for part in one["rounds"] if part["round"] == row["round"]]
            assert row["tasks"] == sum(part["tasks"] for part in of_all)
            assert row["seconds"] == pytest.approx(sum(part["seconds"] for part in of_all))
        assert all(bool(one["worker"]) == bool(executor) for one in seen)
        events = json.loads(Path("trace").read_text())["traceEvents"]
        assert {event["pid"] for event in events} == set(range(4))
    Path("jobs.toml").write_text('[[job]]\nprogram = "doubling.py"\noutput = "a.bin"\nsecurity = 30\n')
    assert main(["batch", "jobs.toml", "--report", "out.json"]) == OK
    (one,) = json.loads(Path("out.json").read_text())
    assert len(one["tasks"]) == sum(row["tasks"] for row in one["rounds"])


def test_a_worker_that_proves_another_run_is_found_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its proof is valid, but does not state the input."""

    def other(_: OnCluster, job: Job, *__: Any, **___: Any) -> tuple[Made, Verdict]:
        found = made(replace(job, commit_input=False))
        return found, job.prover.verify(found.proof, exit_code=3)

    monkeypatch.setattr(OnCluster, "prove", other)
    options = ["leaves.elf", "--exit-code", "3", "--commit-input", "--security", "30", "--executor", "processes"]
    assert main(["prove", *options, "-o", "other.bin"]) == FAILED
    assert "states another input, or states one or none unasked" in capsys.readouterr().err
    assert not Path("other.bin").exists()


@pytest.mark.slow
def test_kills_lose_nothing() -> None:
    """One of two workers is killed at every tenth job of sixty."""
    kills = 5
    jobs = 12 * kills
    shutil.rmtree("inputs")
    Path("inputs").mkdir()
    for number in range(jobs - 2):
        Path(f"inputs/{number}").write_bytes(bytes([number + 1]))
    guests = [f'[[job]]\nprogram = "fib.elf"\ninput = "fib{number}"\n' for number in range(2)]
    for number in range(2):
        Path(f"fib{number}").write_bytes(struct.pack("<Q", 20 + number))
    Path("jobs.toml").write_text(BATCH.partition('[[job]]\nprogram = "fib')[0] + "".join(guests))

    running = process("--executor", "processes", "--workers", "2")
    for number in range(1, 10 * kills + 1, 10):
        until(lambda least=number: Path("summary").read_text().count("\n") >= least, running)
        until(lambda: workers(running.pid), running)
        workers(running.pid)[0].kill()
    _, error = running.communicate(timeout=600)
    assert running.returncode == OK, error
    found = summary()
    assert found["total"]["made"] == jobs and found["total"]["failed"] == 0
    if kills > 1:  # one alone may fall between two proofs
        assert sum(job["attempts"] - 1 for job in found.values() if "attempts" in job) > 0, "no kill has hit a proof"

    # All proofs match their jobs. Some are recomputed in this process.
    some = {
        path: path.read_bytes() for path in (Path(f"proofs/{name}.bin") for name in ("fib0", *range(0, jobs - 2, 5)))
    }
    for path in some:
        path.unlink()
    total = batch("--resume")["total"]
    assert (total["kept"], total["made"]) == (jobs - len(some), len(some))
    assert {path: path.read_bytes() for path in some} == some


def workers(client: int) -> list[psutil.Process]:
    """Return the ids of the processes that make proofs."""
    found = []
    for child in psutil.Process(client).children(recursive=True):
        try:
            if "spawn_main" in " ".join(child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
        except psutil.NoSuchProcess:
            pass
    return found
