"""`graphprover serve` and `graphprover submit` as their users run them, and restarts of the service."""

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED, OK, USAGE, UsageError
from graphprover.runtime.extras import install
from graphprover.service import orphans, prover_process, server
from graphprover.service.client import Client, JobFailed, ServiceError
from graphprover.service.config import ServiceLimits
from graphprover.service.tokens import add_token
from tests.service.quiet import config_in, served
from tests.service.running import LIMIT, ROOT, Service, certificate, free_port, until

GUEST = ROOT / "examples/guests/fib_iterative.elf"
TURNS = struct.pack("<Q", 300)
HERE = ("--executor", "threads", "--device", "cpu")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Return a service with tokens, and the environment of a client."""
    folder = tmp_path_factory.mktemp("service")
    found = Service(folder, add_token(folder / "tokens", "alice"))
    found.start(*HERE, "--tokens", str(folder / "tokens"))
    yield found
    assert found.end() == 143
    assert not list((folder / "data" / "received").iterdir())


@pytest.fixture
def submits(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `graphprover submit` find the service, with an input in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHPROVER_URL", service.url)
    monkeypatch.setenv("GRAPHPROVER_TOKEN", service.token or "")
    Path("data").write_bytes(TURNS)
    Path("wrong").write_text("gp_wrong")


def test_a_user_gets_a_valid_proof_and_later_the_stored_one(
    submits: None, service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["submit", str(GUEST), "--input", "data"]
    assert main([*command, "-o", "first"]) == OK
    out = capsys.readouterr().out
    assert "exit code  0" in out and "made in" in out
    assert main([*command, "-o", "second", "--json", "--priority", "3"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["job"]["from_store"] and found["report"]["cycles"] == found["says"]["cycles"]
    assert main(["prove", str(GUEST), "--input", "data", "-o", "here", "--device", "cpu"]) == OK
    assert len({Path(name).read_bytes() for name in ("first", "second", "here")}) == 1
    Path("key").write_bytes(service.client().key(found["program_hash"]))
    assert main(["setup", str(GUEST), "-o", "own_key"]) == OK
    assert Path("key").read_bytes() == Path("own_key").read_bytes()
    assert main(["verify", "first", "key"]) == OK and capsys.readouterr().out.endswith("valid\n")


def test_options_of_the_command_reach_the_proof(submits: None, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--security", "60", "--rate", "4", "--commit-input", "--name", "mine", "--json"]
    assert main(["submit", str(GUEST), "--input", "data", "-o", "proof", *options]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["job"]["options"] == {"security": 60.0, "rate": 4, "commit_input": True}
    assert found["job"]["name"] == "mine" and found["says"]["input"]["hex"] == TURNS.hex()
    assert main(["verify", "proof", str(GUEST), "--security", "60", "--input", "data"]) == OK


def test_a_job_that_fails_is_an_error(submits: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", str(GUEST), "--input", "data", "--max-cycles", "10", "-o", "proof"]) == FAILED
    assert "10 cycles" in capsys.readouterr().err and not Path("proof").exists()


def test_a_submission_need_not_wait(submits: None, service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["submit", str(GUEST), "--no-wait", "--json", "--exit-code", "any", "--idempotency-key", "mine"]
    ids = []
    for _ in range(2):
        assert main(command) == OK
        ids.append(json.loads(capsys.readouterr().out)["id"])
    assert ids[0] == ids[1] and service.client().wait(ids[0], LIMIT)["state"] == "done"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([str(GUEST), "--url", "nowhere"], USAGE, "--url: 'nowhere' is no URL"),
        (["examples/keccak"], USAGE, "a service proves guests only"),
        ([str(GUEST), "--callback", "http://127.0.0.1/"], FAILED, "this service does not call 127.0.0.1"),
        (
            [str(GUEST), "--token-file", "wrong"],
            FAILED,
            "the request has no valid token (give the token with --",
        ),
        ([str(GUEST), "--token-file", "none"], USAGE, "none: No such file"),
    ],
)
def test_what_submit_refuses(
    submits: None, arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", *arguments]) == code
    assert said in capsys.readouterr().err


def test_the_log_has_the_life_of_each_job(service: Service) -> None:
    client = service.client()
    job = client.submit(client.upload_program(GUEST), client.upload_input(struct.pack("<Q", 301)), security=20)
    client.wait(job["id"], LIMIT)
    own = until(lambda: [line for line in service.lines() if line.get("job") == job["id"]][3:] and service.lines())
    said = [line["message"] for line in own if line.get("job") == job["id"]]
    assert said == ["submitted", "started", "proved", "ended"]
    assert {"time", "level", "logger"} <= set(own[0])
    text = until(lambda: client._bytes("GET", "/metrics").decode())
    assert 'graphprover_jobs_ended_total{from_store="false",state="done"}' in text
    assert "graphprover_prover_ready 1.0" in text
    seconds = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("graphprover_job_seconds"))
    done = float(seconds["graphprover_job_seconds_count"])
    assert done >= 1 and seconds['graphprover_job_seconds_bucket{le="+Inf"}'] == f"{done:.1f}"
    assert 0 < float(seconds["graphprover_job_seconds_sum"]) < done * LIMIT


def test_the_service_imports_neither_scheduler_nor_compiler() -> None:
    code = "import graphprover.service.server, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"dask", "distributed", "numba", "llvmlite", "cupy", "rich"} & set(done.stdout.split())


def test_a_killed_service_loses_and_repeats_no_job(tmp_path: Path) -> None:
    """Its prover process ends, too, before the next service starts one. No other user reads its files."""
    service = Service(tmp_path)
    (tmp_path / "data").mkdir(mode=0o755)
    service.start(*HERE)
    client = service.client()
    program = client.upload_program(GUEST)
    ids = [client.submit(program, client.upload_input(struct.pack("<Q", 300 + i)), security=20)["id"] for i in range(8)]
    until(lambda: len(client.jobs("done")) >= 3)
    prover = service.prover()
    assert prover and service.end(signal.SIGKILL) == -signal.SIGKILL
    service.start(*HERE)
    assert not psutil.pid_exists(prover.pid) or prover.status() == psutil.STATUS_ZOMBIE
    jobs = [service.client().wait(id, LIMIT) for id in ids]
    assert {job["state"] for job in jobs} == {"done"} and max(job["attempts"] for job in jobs) <= 2

    def ended() -> int:
        return sum(line["message"] == "ended" for line in service.lines())

    modes = {oct(path.stat().st_mode & 0o077) for path in (tmp_path / "data").rglob("*")}
    assert modes == {"0o0"} and (tmp_path / "data/queue.db").exists()
    until(lambda: ended() >= len(ids) - 1)  # the kill may come between the end of a job and its line
    assert service.end() == 143 and ended() <= len(ids)


@pytest.mark.slow
def test_a_prover_process_that_is_stopped_is_noticed_and_ended_by_the_next_service(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.start(*HERE)
    client, prover = service.client(), service.prover()
    assert prover
    prover.suspend()

    until(lambda: "no sign of life" in not_ready(service))
    job = client.submit(client.upload_program(GUEST), client.upload_input(TURNS), security=20)
    assert service.end(signal.SIGKILL) == -signal.SIGKILL and prover.status() == psutil.STATUS_STOPPED
    service.start(*HERE)
    assert not psutil.pid_exists(prover.pid) or prover.status() == psutil.STATUS_ZOMBIE
    assert any(f"the prover process {prover.pid} has not ended" in line["message"] for line in service.lines())
    assert service.client().wait(job["id"], LIMIT)["state"] == "done"
    assert service.end() == 143


def not_ready(service: Service) -> str:
    """Return the reasons that a service is not ready."""
    try:
        with urlopen(f"{service.url}/readyz") as answer:
            return str(answer.read(0))
    except HTTPError as error:
        return error.read().decode()


def test_a_running_service_is_not_ended_by_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "600"]) as sleeper, (tmp_path / "lock").open("a+") as lock:
        orphans.record(lock, sleeper.pid)
        assert orphans.end_orphan(tmp_path / "lock") is None and sleeper.poll() is None
        text = (tmp_path / "lock").read_text()
        another = json.loads(text) | {"service": [os.getpid(), 1]}  # which has had the id of this process
        (tmp_path / "lock").write_text(json.dumps(another | {"prover": [sleeper.pid, 1]}))  # and so had its prover
        assert orphans.end_orphan(tmp_path / "lock") is None and sleeper.poll() is None
        for invalid in ("", "{", "[]", "{}", '{"service": 1, "prover": 2}', '{"service": [], "prover": []}'):
            (tmp_path / "lock").write_text(invalid)
            assert orphans.end_orphan(tmp_path / "lock") is None
        (tmp_path / "lock").write_text(json.dumps(another))
        assert orphans.end_orphan(tmp_path / "lock") == sleeper.pid and sleeper.wait(LIMIT) == -signal.SIGKILL


def test_an_orderly_end_returns_running_jobs(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.start(*HERE)
    client = service.client()
    program = client.upload_program(GUEST)
    id = client.submit(program, client.upload_input(struct.pack("<Q", 200_000)), rate=8)["id"]
    until(lambda: client.job(id)["state"] == "running")
    assert service.end(signal.SIGINT) == 130
    service.start("--executor", "tcp://127.0.0.1:1", is_ready=False)  # no scheduler answers there
    job = service.client().job(id)
    assert (job["state"], job["attempts"], job["started"]) == ("queued", 0, None)
    assert service.client().cancel(id)["state"] == "cancelled"
    with pytest.raises(JobFailed, match="cancelled"):
        service.client().wait(id)
    assert service.end() == 143


def test_a_dead_prover_process_is_replaced(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.start(*HERE, "--attempts", "1")
    client = service.client()
    program = client.upload_program(GUEST)
    first = client.submit(program, client.upload_input(struct.pack("<Q", 300_000)), rate=8, priority=1)["id"]
    second = client.submit(program, client.upload_input(TURNS))["id"]
    until(lambda: client.job(first)["state"] == "running")
    prover = service.prover()
    assert prover
    prover.kill()
    with pytest.raises(JobFailed, match="the prover process died 1 times while it proved this job"):
        client.wait(first, LIMIT)
    assert client.wait(second, LIMIT)["state"] == "done"
    assert "graphprover_prover_failures 1.0" in client._bytes("GET", "/metrics").decode()
    assert service.end() == 143


@pytest.mark.slow
def test_callbacks_come_once_and_are_sent_again_after_an_error(tmp_path: Path) -> None:
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    received: list[dict[str, Any]] = []
    answers = [500, 302, 200, 200]  # a redirect is an error, too

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers[len(received) - 1])
            self.send_header("Location", f"http://127.0.0.1:{receiver.server_port}/elsewhere")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{receiver.server_port}"
    service = Service(tmp_path)
    service.start(*HERE, "--callback-host", place)
    client = service.client()
    job = client.submit(client.upload_program(GUEST), exit_code="any", security=20, callback=f"http://{place}/ended")
    until(lambda: len(received) == 3)
    assert [one["id"] for one in received] == [job["id"]] * 3 and received[0]["state"] == "done"
    assert service.end() == 143 and len(received) == 3
    receiver.shutdown()


def test_tls(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    with served(config_in(tmp_path / "data"), 100, *files) as quiet:
        url = f"https://localhost:{quiet.port}"
        assert Client(url, ca_file=str(files[0]))._json("GET", "/healthz")["status"] == "ok"
        with pytest.raises(ServiceError, match="certificate verify failed"):
            Client(url).jobs()


def test_the_command_gives_the_files_of_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(server, "serve", lambda config, host, port, *files: given.extend(files) or OK)
    files = certificate(tmp_path)
    assert main(["serve", "--tls-cert", str(files[0]), "--tls-key", str(files[1])]) == OK
    assert given == [*files]


@pytest.mark.slow
def test_a_prover_process_that_refuses_its_options_ends_the_service(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "graphprover", "serve", "--port", str(free_port()), "--executor", "threads"]
    done = subprocess.run(
        [*command, "--workers", "2"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == USAGE and "--workers: threads starts no workers" in done.stderr


def test_a_missing_prover_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sent = config_in(tmp_path, limits=ServiceLimits(max_cycles=9), umask=0o22).of_prover("id")

    def fail(given: object) -> None:
        assert given == sent
        raise ModuleNotFoundError("No module named 'numba'", name="numba")

    for name in ("_watch", "log_as_json"):
        monkeypatch.setattr(prover_process, name, lambda: None)
    monkeypatch.setattr(prover_process, "_line", lambda: sent.to_json().encode())
    monkeypatch.setattr(prover_process, "_prove", fail)
    monkeypatch.setattr(prover_process.signal, "signal", lambda *arguments: None)
    assert prover_process.main() == USAGE
    assert install("prover,serve") in caplog.text


def test_one_service_uses_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LOCK_SECONDS", 0.2)
    with server._locked(tmp_path / "lock"), pytest.raises(UsageError, match="another service uses this folder"):
        server._locked(tmp_path / "lock")
    server._locked(tmp_path / "lock").close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--host 0.0.0.0: other hosts could use the service without a token"),
        (["--host", "::"], "--host ::: other hosts could use the service without a token"),
        (["--host", "host.example"], "other hosts could use the service without a token"),
        (["--tls-cert", "cert.pem"], "--tls-cert and --tls-key: give both"),
        (["--tls-cert", "cert.pem", "--tls-key", "key.pem"], "cert.pem: cannot be read"),
        (["--tls-cert", "empty", "--tls-key", "empty"], "--tls-cert empty: no certificate in PEM that fits --tls-key"),
        (["--tokens", "none"], "none: No such file"),
        (["--add-token", "alice"], "--add-token: give the file with --tokens FILE"),
        (["--database", "nothing://host"], "--database: "),
        (["--store", "nothing://host"], "--store: "),
        (["--port", "0"], "--port"),
        (["--keep-days", "-1"], "--keep-days"),
    ],
)
def test_what_serve_refuses(
    tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    try:
        port = [] if "--port" in arguments else ["--port", str(free_port())]
        assert main(["serve", *port, *arguments]) == USAGE
    except SystemExit as ended:
        assert ended.code == USAGE
    assert said in capsys.readouterr().err


def test_a_token_is_added_and_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--tokens", str(tmp_path / "tokens"), "--add-token", "alice"]) == OK
    assert capsys.readouterr().out.startswith("gp_") and (tmp_path / "tokens").read_text().strip().startswith("alice ")
