"""The HTTP interface: answers, errors with a problem and a remedy, limits, tokens and owners."""

import hashlib
import http.client
import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from graphprover.service import checks
from graphprover.service.asgi import MOST_JSON_BYTES
from graphprover.service.client import ServiceError
from graphprover.service.config import ServiceLimits
from graphprover.service.store import Store, proof_key
from graphprover.service.tokens import digest_of
from tests.service.quiet import Quiet, config_in, served
from tests.service.running import until

ROOT = Path(__file__).parents[2]
GUEST = ROOT / "examples/guests/fib_iterative.elf"
HASH = "0d230abbdfa2af2276f9ab51c9b9ab8219d2548ea39c67244985bf21aed2977b"
LIMITS = ServiceLimits(program_bytes=100_000, input_bytes=1000, queued_jobs=1000)
NONE = "0" * 64


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quiet]:
    """Return a service without tokens, with a program and an input."""
    config = config_in(tmp_path_factory.mktemp("quiet"), limits=LIMITS, callback_hosts=frozenset({"good.example"}))
    with served(config) as found:
        assert found.client().upload_program(GUEST) == HASH
        found.client().upload_input(b"data")
        yield found


def done(quiet: Quiet, **options: Any) -> dict[str, Any]:
    """Return a job that is done, with a proof in the store."""
    job = quiet.client().submit(HASH, **options)
    row = quiet.queue.get(job["id"], "anybody")
    assert row
    quiet.store.save_proof(row.proof_key, b"proof", {"says": {}}, {"seconds": {}})
    while (taken := quiet.queue.take("test")) and taken.number != row.number:
        pass
    assert quiet.queue.finish(row.number, "test")
    return job


def test_uploads_are_named_by_their_contents(quiet: Quiet) -> None:
    answer = quiet.ask("POST", "/v1/programs?name=fib.elf", GUEST.read_bytes())
    assert (answer.status, answer.json) == (201, {"hash": HASH, "size": GUEST.stat().st_size})
    answer = quiet.ask("POST", "/v1/inputs", b"data")
    assert (answer.status, answer.json) == (201, {"hash": hashlib.sha256(b"data").hexdigest(), "size": 4})
    assert quiet.store.upload("programs", HASH) == GUEST.read_bytes()


def test_a_job_has_all_that_the_interface_describes(quiet: Quiet) -> None:
    schema = quiet.ask("GET", "/openapi.json").json
    fields = schema["components"]["schemas"]["JobStatus"]["properties"]
    job = quiet.client().submit(HASH, hashlib.sha256(b"data").hexdigest(), name="mine", priority=7, rate=8, timeout=60)
    assert set(job) == set(fields)
    assert (job["state"], job["name"], job["priority"], job["options"]) == ("queued", "mine", 7, {"rate": 8})
    assert quiet.client().job(job["id"]) == job and quiet.client().jobs(limit=1) == [job]
    answer = quiet.ask("POST", "/v1/jobs", {"program": HASH})
    assert answer.status == 201 and answer.headers["location"] == f"/v1/jobs/{answer.json['id']}"


def test_every_answer_with_an_error_is_described(quiet: Quiet) -> None:
    for path, methods in quiet.ask("GET", "/openapi.json").json["paths"].items():
        for method, described in methods.items():
            assert {"400", "401", "403", "404", "409", "413", "422", "429", "503"} <= set(described["responses"]), (
                path,
                method,
            )


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        (b"{", 400, "the body is no JSON"),
        ({"program": NONE}, 404, "there is no program"),
        ({"program": HASH, "input": NONE}, 404, "there is no input"),
        ({}, 422, "program: Field required"),
        ({"program": "x"}, 422, "program: String should match"),
        ({"program": HASH, "other": 1}, 422, "other: Extra inputs"),
        ({"program": HASH, "rate": 3}, 422, "rate: 3 is not"),
        ({"program": HASH, "rate": "8"}, 422, "rate: "),
        ({"program": HASH, "priority": 1001}, 422, "priority: 1001 is not"),
        ({"program": HASH, "timeout": 0}, 422, "timeout: 0.0 is not"),
        ({"program": HASH, "exit_code": "some"}, 422, "exit_code: 'some' is not"),
        ({"program": HASH, "compress": [8, 3]}, 422, "compress: an array is not"),
        ({"program": HASH, "shards": 2, "shard_size": 9}, 422, "shard_size: excludes shards"),
        ({"program": HASH, "compress": True, "hash": "keccak"}, 422, "compress: only for proofs by blake3"),
        ({"program": HASH, "callback": "http://evil.example/"}, 422, "callback: this service does not call evil"),
        ({"program": HASH, "callback": "http://good.example:81/"}, 422, "callback: this service does not call good"),
        ({"program": HASH, "callback": "http://good.example@evil.example"}, 422, "callback: no URL of HTTP"),
        ({"program": HASH, "callback": "file://good.example/etc/passwd"}, 422, "callback: no URL of HTTP"),
        ({"program": HASH, "callback": "http://[/"}, 422, "callback: "),
        ({"program": HASH, "callback": "http://good.example/a b"}, 422, "callback: a URL has no ' '"),
        ({"program": HASH, "callback": "http://good.example/\ta"}, 422, "callback: a URL has no '\\t'"),
        ({"program": HASH, "callback": "http://good.example/\0"}, 422, "callback: a URL has no '\\x00'"),
        ({"program": HASH, "callback": "http://good.example/é"}, 422, "callback: a URL has no 'é'"),
        ({"program": HASH, "name": "n" * 201}, 422, "name: String should have at most"),
        ({"program": HASH, "name": "a\nb"}, 422, "name: String should match"),
        ({"program": HASH, "name": "\0"}, 422, "name: String should match"),
        (b'{"program": "%s", "name": "\\ud800"}' % HASH.encode(), 422, "name: "),
        (b"[" * 50_000, 400, "There was an error parsing the body"),
    ],
)
def test_a_job_that_is_refused(quiet: Quiet, body: Any, status: int, problem: str) -> None:
    before = quiet.queue.counts()
    answer = quiet.ask("POST", "/v1/jobs", body, {"Content-Type": "application/json"})
    assert answer.status == status and answer.json["problem"].startswith(problem) and answer.json["remedy"]
    assert quiet.queue.counts() == before


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "problem"),
    [
        ("GET", "/v1/jobs/none", None, 404, "there is no job none"),
        ("POST", "/v1/jobs/none/cancel", b"", 404, "there is no job none"),
        ("GET", "/v1/jobs/none/proof", None, 404, "there is no job none"),
        ("GET", f"/v1/programs/{NONE}/key", None, 404, "there is no program"),
        ("GET", "/nothing", None, 404, "Not Found"),
        ("DELETE", "/v1/jobs", None, 405, "Method Not Allowed"),
        ("GET", "/v1/jobs?state=none", None, 422, "state: 'none' is none of"),
        ("GET", "/v1/jobs?limit=0", None, 422, "limit: Input should be"),
        ("GET", f"/v1/jobs?before={1 << 64}", None, 422, "before: Input should be"),
        ("GET", f"/v1/jobs?before={1 << 31}", None, 422, "before: Input should be"),
        ("GET", f"/v1/jobs?before=-{10**20}", None, 422, "before: Input should be"),
        ("GET", "/v1/jobs?state=%00", None, 422, "state: "),
        ("GET", "/v1/jobs/%00", None, 404, "there is no job"),
        ("POST", "/v1/jobs/%00/cancel", b"", 404, "there is no job"),
        ("GET", "/v1/jobs/" + "a" * 9999, None, 404, "there is no job"),
        ("GET", "/v1/programs/%00/key", None, 404, "there is no program"),
        ("GET", "/v1/programs/../../etc/passwd/key", None, 404, ""),
        ("POST", "/v1/programs", b"no ELF file", 422, "the program is invalid: "),
        ("POST", "/v1/programs?name=a/b", b"", 422, "the name of a program has"),
        ("POST", "/v1/jobs", b"", 400, "the body is no JSON object"),
        ("POST", "/v1/jobs", b"program=1", 400, "the body is no JSON object"),
    ],
)
def test_a_request_that_is_refused(
    quiet: Quiet, method: str, path: str, body: bytes | None, status: int, problem: str
) -> None:
    answer = quiet.ask(method, path, body)
    assert answer.status == status and answer.json["problem"].startswith(problem) and answer.json["remedy"]


def test_a_client_that_goes_away_is_no_error(quiet: Quiet, caplog: pytest.LogCaptureFixture) -> None:
    def requests() -> float:
        text = quiet.ask("GET", "/metrics").body.decode()
        return sum(float(line.split()[1]) for line in text.splitlines() if "_count" in line and 'status="499"' in line)

    before = requests()
    for path in ("/v1/inputs", "/v1/programs"):
        with socket.create_connection(("127.0.0.1", quiet.port)) as connection:
            head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\n"
            connection.sendall(head.encode() + b"data")
    until(lambda: requests() == before + 2)
    assert not caplog.records


def test_a_repeated_submission_is_described(quiet: Quiet) -> None:
    described = quiet.ask("GET", "/openapi.json").json["paths"]["/v1/jobs"]["post"]["responses"]
    assert described["200"]["content"] == described["201"]["content"]


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/v1/programs", LIMITS.program_bytes),
        ("/v1/inputs", LIMITS.input_bytes),
        ("/v1/jobs", MOST_JSON_BYTES),
        ("/v1/jobs/none/cancel", MOST_JSON_BYTES),
    ],
)
def test_a_body_that_is_too_large_is_refused_as_it_arrives(quiet: Quiet, path: str, most: int) -> None:
    """It has no length, and no end."""
    if path.endswith("cancel"):  # its route reads no body, so that nothing of it is in memory
        assert quiet.ask("POST", path, b"x" * (most + 1)).status == 404
        return
    with closing(http.client.HTTPConnection("127.0.0.1", quiet.port, timeout=20)) as connection:
        connection.putrequest("POST", path)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        part, sent = b"x" * 1000, 0
        while sent <= most:
            connection.send(b"%x\r\n%s\r\n" % (len(part), part))
            sent += len(part)
        answer = connection.getresponse()
        assert answer.status == 413 and f"more than {most:,} bytes" in json.loads(answer.read())["problem"]


def test_an_input_of_the_largest_size_is_taken(quiet: Quiet) -> None:
    assert quiet.ask("POST", "/v1/inputs", b"x" * LIMITS.input_bytes).status == 201


def test_states_decide_what_a_job_has(quiet: Quiet) -> None:
    client = quiet.client()
    job = client.submit(HASH, max_cycles=1)
    for name in ("proof", "claim", "report"):
        answer = quiet.ask("GET", f"/v1/jobs/{job['id']}/{name}")
        assert answer.status == 409 and answer.json["problem"] == "the job is queued"
    assert client.cancel(job["id"])["state"] == client.cancel(job["id"])["state"] == "cancelled"
    finished = done(quiet, max_cycles=2)
    with pytest.raises(ServiceError, match="the job is done already") as refused:
        client.cancel(finished["id"])
    assert refused.value.status == 409
    answer = quiet.ask("GET", f"/v1/jobs/{finished['id']}/proof")
    assert answer.body == b"proof" and answer.headers["content-length"] == "5"
    assert answer.headers["etag"] == f'"{hashlib.sha256(b"proof").hexdigest()}"'
    assert client.report(finished["id"]) == {"seconds": {}, "compile_seconds": 0.0, "cycles_per_second": None}
    quiet.store.remove_proof(proof_key(HASH, None, {"max_cycles": 2}))
    answer = quiet.ask("GET", f"/v1/jobs/{finished['id']}/proof")
    assert answer.status == 404 and answer.json["remedy"] == "submit the job again"


@pytest.mark.parametrize(
    ("name", "data", "reads"),
    [
        ("proof.bin", b"PROOF", ["proof"]),
        ("claim.json", b"{}", ["proof", "claim"]),
        ("claim.json", b"[]", ["proof", "claim"]),
        ("claim.json", b"{", ["proof", "claim"]),
        ("report.json", b"", ["proof", "report"]),
    ],
)
def test_a_damaged_proof_is_made_again(quiet: Quiet, name: str, data: bytes, reads: list[str]) -> None:
    cycles = int.from_bytes(hashlib.sha256(name.encode() + data).digest()[:3])
    key, client = proof_key(HASH, None, {"max_cycles": cycles}), quiet.client()
    for read in reads:
        job = done(quiet, max_cycles=cycles)
        quiet.store._write(f"{quiet.store._folder(key)}/{name}", data)
        with pytest.raises(ServiceError, match=r"or is damaged \(submit the job again") as refused:
            getattr(client, read)(job["id"])
        assert refused.value.status == 404
        again = client.submit(HASH, max_cycles=cycles)
        assert (again["state"], again["from_store"]) == ("queued", False)
        client.cancel(again["id"])


def test_a_proof_that_is_damaged_on_its_way_is_refused_by_the_client(
    quiet: Quiet, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = done(quiet, max_cycles=7)
    monkeypatch.setattr(Store, "proof_chunks", lambda self, key: iter([b"PROOF"]))
    monkeypatch.setattr(Store, "intact", Store.claim)
    with pytest.raises(ServiceError, match="the proof is damaged"):
        quiet.client().proof(job["id"])


@pytest.mark.parametrize("damaged", [b"", b"DATA", b"data and more"])
def test_an_upload_repairs_a_damaged_one(quiet: Quiet, damaged: bytes) -> None:
    hash = quiet.client().upload_input(b"data")
    quiet.store.save_upload("inputs", hash, damaged)
    assert quiet.client().upload_input(b"data") == hash and quiet.store.upload("inputs", hash) == b"data"


def test_equal_jobs_share_a_proof(quiet: Quiet) -> None:
    done(quiet, max_cycles=3, name="first")
    client = quiet.client()
    defaults = {"security": 128, "hash": "blake3", "exit_code": 0, "commit_input": False, "compress": False}
    for options in ({}, {"priority": 5, "timeout": 1.0, "name": "other"}, defaults):
        job = client.submit(HASH, max_cycles=3, **options)
        assert (job["state"], job["from_store"]) == ("done", True) and client.proof(job["id"]) == b"proof"
    assert client.submit(HASH, max_cycles=3, security=100)["state"] == "queued"
    same = [client.submit(HASH, max_cycles=4, compress=value)["options"] for value in (True, "fast", 8, [8])]
    assert same == [{"max_cycles": 4, "compress": value} for value in ("fast", "fast", [8], [8])]


def test_an_idempotency_key(quiet: Quiet) -> None:
    headers, body = {"Idempotency-Key": "mine"}, {"program": HASH, "max_cycles": 5}
    first, again = (quiet.ask("POST", "/v1/jobs", body, headers) for _ in range(2))
    assert (first.status, again.status) == (201, 200) and first.json["id"] == again.json["id"]
    other = quiet.ask("POST", "/v1/jobs", body | {"priority": 1}, headers)
    assert other.status == 409 and other.json["problem"] == "another job has this Idempotency-Key"


def test_a_list_has_pages(quiet: Quiet) -> None:
    ids = [quiet.client().submit(HASH, max_cycles=6)["id"] for _ in range(3)]
    first = quiet.ask("GET", "/v1/jobs?limit=2&state=queued").json
    second = quiet.ask("GET", f"/v1/jobs?limit=2&state=queued&before={first['next']}").json
    assert [job["id"] for job in first["jobs"] + second["jobs"]][:3] == ids[::-1]


def test_a_list_has_filters_and_counts(quiet: Quiet) -> None:
    job = quiet.client().submit(HASH, name="only one", max_cycles=8)
    for query in ("name=ONLY%20one", "name=only&program=fib&state=queued", f"name=only&program={HASH[:9]}"):
        assert [found["id"] for found in quiet.ask("GET", f"/v1/jobs?{query}").json["jobs"]] == [job["id"]], query
    assert quiet.ask("GET", "/v1/jobs?name=only&state=done").json == {"jobs": [], "next": None}
    assert quiet.ask("GET", f"/v1/jobs?name={'x' * 201}").status == 422
    assert quiet.ask("GET", "/v1/jobs/counts").json == quiet.queue.counts()


def test_a_job_that_waits_has_a_place(quiet: Quiet) -> None:
    first, second = (quiet.client().submit(HASH, max_cycles=9, priority=1000)["id"] for _ in range(2))
    places = [quiet.ask("GET", f"/v1/jobs/{id}/position").json["jobs_before"] for id in (first, second)]
    assert places[1] == places[0] + 1
    quiet.client().cancel(first)
    answer = quiet.ask("GET", f"/v1/jobs/{first}/position")
    assert answer.status == 409 and answer.json["problem"] == "the job is cancelled"
    assert quiet.ask("GET", f"/v1/jobs/{second}/position").json["jobs_before"] == places[0]


def test_a_report_has_the_cycles_a_second(quiet: Quiet) -> None:
    job = done(quiet, max_cycles=10)
    report = {"seconds": {"prepare": 1.5, "wait": 5.0, "prove": 0.5, "verify": 9.0}, "cycles": 300}
    for more, rate in (({"compile_seconds": 0.5}, 200.0), ({}, 150.0)):  # an older service has stored none
        quiet.store.save_proof(proof_key(HASH, None, {"max_cycles": 10}), b"proof", {"says": {}}, report | more)
        facts = {"compile_seconds": 0.0} | report | more | {"cycles_per_second": rate}
        assert quiet.client().report(job["id"]) == facts


def test_downloads_have_names_of_files(quiet: Quiet) -> None:
    job = done(quiet, max_cycles=11, name='../a"b\\ünd c')
    answer = quiet.ask("GET", f"/v1/jobs/{job['id']}/proof")
    assert answer.headers["content-disposition"] == f'attachment; filename="a-b-nd-c-{job["id"][:8]}.bin"'


def test_a_full_queue_answers_429(tmp_path: Path) -> None:
    with served(config_in(tmp_path, limits=replace(LIMITS, queued_jobs=1))) as full:
        client = full.client()
        client.submit(client.upload_program(GUEST))
        answer = full.ask("POST", "/v1/jobs", {"program": HASH})
        assert answer.status == 429 and answer.json["problem"] == "1 jobs wait already (--max-queued)"
        assert int(answer.headers["retry-after"]) > 0


def test_limits_of_an_operator(tmp_path: Path) -> None:
    tokens = {"alice": digest_of("token of alice"), "bob": digest_of("token of bob")}
    caps = {"max_cycles": 1000, "max_memory": 64, "timeout": 60.0}
    limits = replace(LIMITS, queued_jobs_per_client=2, **caps)  # type: ignore[arg-type]
    with served(config_in(tmp_path, tokens=tokens, limits=limits)) as closed:
        alice, bob = closed.client("token of alice"), closed.client("token of bob")
        program = alice.upload_program(GUEST)
        found = closed.ask("GET", "/v1/limits", headers={"Authorization": "Bearer token of bob"}).json
        assert found == asdict(limits) and found["timeout"] == 60.0
        for name, option in (
            ("max_cycles", "--max-cycles"),
            ("max_memory", "--max-memory"),
            ("timeout", "--max-seconds"),
        ):
            with pytest.raises(
                ServiceError, match=rf"{name}: .* is more than .* the limit of this service \({option}\)"
            ):
                alice.submit(program, **{name: caps[name] + 1})
        assert alice.submit(program)["timeout"] == 60.0  # and the others by the prover process: no other proof
        assert alice.submit(program, **caps)["state"] == "queued"
        with pytest.raises(ServiceError, match="2 of your jobs wait already") as refused:
            alice.submit(program)
        assert refused.value.status == 429
        assert bob.submit(program, timeout=1.0)["timeout"] == 1.0


def test_tokens_and_owners(tmp_path: Path) -> None:
    tokens = {"alice": digest_of("token of alice"), "bob": digest_of("token of bob")}
    with served(config_in(tmp_path, tokens=tokens)) as closed:
        alice, bob = closed.client("token of alice"), closed.client("token of bob")
        job = alice.submit(alice.upload_program(GUEST))
        assert alice.job(job["id"]) == job and not bob.jobs()
        for act in (bob.job, bob.cancel, bob.proof, bob.claim, bob.report):
            with pytest.raises(ServiceError, match="there is no job"):
                act(job["id"])
        described = closed.ask("GET", "/openapi.json").json["paths"]
        opened = []
        for path, methods in described.items():
            for method in methods:
                answer = closed.ask(
                    method.upper(), re.sub(r"\{.*?\}", "x", path), headers={"Authorization": "Bearer no"}
                )
                if answer.status != 401:
                    opened.append(path)
                else:
                    assert answer.json["problem"] == "the request has no valid token"
                    assert answer.headers["www-authenticate"] == "Bearer"
        assert opened == ["/healthz", "/readyz"]
        assert alice.job(job["id"])["state"] == "queued"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "[::1]:1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "[::"}, 403),
        ({"Host": "localhost:1", "Origin": "http://localhost:1"}, 200),
        ({"Host": "localhost:1", "Origin": "http://localhost:2"}, 403),
        ({"Host": "localhost:1", "Origin": "http://evil.example"}, 403),
        ({"Host": "localhost:1", "Origin": "null"}, 403),
    ],
)
def test_a_page_of_another_host_has_no_access(quiet: Quiet, headers: dict[str, str], status: int) -> None:
    assert quiet.ask("GET", "/v1/jobs", headers=headers).status == status


def test_other_hosts_use_a_service_that_is_open_to_them(tmp_path: Path) -> None:
    with served(config_in(tmp_path, is_local=False)) as opened:
        assert opened.ask("GET", "/v1/jobs", headers={"Host": "prover.example"}).status == 200


def test_health_readiness_and_metrics(quiet: Quiet) -> None:
    assert quiet.ask("GET", "/healthz").json["status"] == "ok"
    answer = quiet.ask("GET", "/readyz")  # there is no prover process
    assert answer.status == 503 and answer.json == {"ready": False, "problems": ["the prover process is starting"]}
    assert quiet.ask("GET", "/v1/jobs/none").status == 404
    text = quiet.ask("GET", "/metrics").body.decode()
    counts = quiet.queue.counts()
    assert f'graphprover_jobs{{state="queued"}} {counts["queued"]:.1f}' in text
    assert 'route="/v1/jobs/{id}"' in text and "/v1/jobs/none" not in text  # clients choose no labels


@pytest.mark.parametrize("fields", [{"tokens": {"alice": digest_of("token of alice")}}, {"is_local": False}])
def test_readiness_shows_strangers_no_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.0)
    with served(config_in(tmp_path, **fields)) as broken:
        broken.ask("GET", "/readyz")
        (tmp_path / "store").rmdir()
        (tmp_path / "store").write_bytes(b"no folder")
        found = broken.ask("GET", "/readyz")
        assert found.status == 503 and found.json["problems"] == ["the store fails", "the prover process is starting"]
        own = broken.ask("GET", "/readyz", headers={"Authorization": "Bearer token of alice"})
        assert (str(tmp_path) in own.json["problems"][0]) == ("tokens" in fields)
        assert str(tmp_path) in caplog.text


def test_a_database_or_a_store_that_fails_answers_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.0)
    with served(config_in(tmp_path)) as broken:
        assert broken.ask("GET", "/readyz").json["problems"] == ["the prover process is starting"]
        (tmp_path / "store").rmdir()
        (tmp_path / "store").write_bytes(b"no folder")
        answer = broken.ask("POST", "/v1/inputs", b"data")
        assert answer.status == 503 and answer.json["problem"] == "the store does not answer, or is full"
        with closing(sqlite3.connect(tmp_path / "queue.db")) as database:
            database.execute("DROP TABLE jobs")
        answer = broken.ask("GET", "/v1/jobs/" + "0" * 32)
        assert answer.status == 503 and answer.json["problem"] == "the database does not answer"
        first, second, _ = broken.ask("GET", "/readyz").json["problems"]
        assert first.startswith("database: ") and "no such table" in first and second.startswith("store: ")
