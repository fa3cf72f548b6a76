"""A client of the service by Python's standard library alone."""

import hashlib
import http.client
import json
import re
import ssl
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from graphprover.runtime.files import MAX_INPUT_BYTES, MAX_PROGRAM_BYTES, MAX_SHARDS_BYTES, read_file
from graphprover.service.states import DONE, ENDED, MOST_LISTED, STATES

FIRST_POLL, MOST_POLL = 0.05, 2.0  # seconds between two requests of `wait`; each is half as long again
TRIES = 5  # of a request if the service does not answer, once it has answered another one: it may be restarting
TRY_SECONDS = 1.0  # before the second try; then twice as long each time
MOST_NAME = 60  # characters of a program's name
MOST_JSON = 64 << 20  # bytes of an answer that is no proof; a report has a few hundred kB

# Fields of answers that this module reads, with their types.
JOB_FIELDS = {
    "id": str,
    "state": str,
    "problem": str | None,
    "from_store": bool,
    "started": float | int | None,
    "ended": float | int | None,
    "progress": dict | None,
}
PROGRESS_FIELDS = {"tasks_ended": int, "tasks": int}
WRONG_URL = "is the URL one of a service of graphprover, of this version?"

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]")


class ServiceError(RuntimeError):
    """An error of the service: the message has the problem and the remedy."""

    def __init__(self, status: int, problem: str, remedy: str) -> None:
        super().__init__(f"{problem} ({remedy})" if remedy else problem)
        self.status = status


class JobFailed(RuntimeError):
    """A job that has ended without a proof."""


class Client:
    """A connection to a service. Threads need one each.

        from graphprover.service import Client

        client = Client("http://127.0.0.1:8750", token="gp_...")
        job = client.submit(client.upload_program("guest.elf"), client.upload_input(b"data"), priority=5)
        client.wait(job["id"])
        proof = client.proof(job["id"])  # bytes, not verified: graphprover.Prover("guest.elf").verify(proof)

    Args:
        url: The URL of the service.
        token: The token, if the service needs one.
        ca_file: The file of the certificates to trust, PEM. By default the host's.
        timeout: Seconds for an answer.

    Raises:
        ValueError: The URL is invalid.
    """

    def __init__(self, url: str, token: str | None = None, ca_file: str | None = None, timeout: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no URL such as http://127.0.0.1:8750")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._path = parts.path.rstrip("/")
        self._has_answered = False
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context(cafile=ca_file)
            self._connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context)
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def upload_program(self, program: str | Path | bytes, name: str | None = None) -> str:
        """Upload an ELF file, and return its hash.

        Args:
            program: The file, or its contents.
            name: The name of the program in its proofs; by default the name of the file.

        Raises:
            FileError: The file cannot be read, or is too long.
            ServiceError: The service refuses the program.
        """
        data = program if isinstance(program, bytes) else read_file(Path(program), MAX_PROGRAM_BYTES, "remove symbols")
        named = name or ("guest" if isinstance(program, bytes) else Path(program).name)
        query = urlencode({"name": _NOT_IN_NAMES.sub("-", named)[:MOST_NAME]})
        found: str = with_fields(self._json("POST", f"/v1/programs?{query}", data), {"hash": str})["hash"]
        return found

    def upload_input(self, data: str | Path | bytes) -> str:
        """Upload an input, a file or its contents, and return its hash.

        Raises:
            FileError: The file cannot be read, or is too long.
            ServiceError: The service refuses the input.
        """
        contents = data if isinstance(data, bytes) else read_file(Path(data), MAX_INPUT_BYTES, "give a smaller one")
        found: str = with_fields(self._json("POST", "/v1/inputs", contents), {"hash": str})["hash"]
        return found

    def key(self, program: str) -> bytes:
        """Return the verifying key of an uploaded program. Make it yourself if you do not trust the service."""
        return self._bytes("GET", f"/v1/programs/{program}/key")

    def submit(
        self, program: str, input: str | None = None, idempotency_key: str | None = None, **options: Any
    ) -> dict[str, Any]:
        """Submit a job, and return it.

        Args:
            program: The hash of the program.
            input: The hash of the input.
            idempotency_key: A repeated key returns the job before. By default it is random, so that this call submits
                one job although it repeats the request if the service does not answer.
            options: The keys of a [[job]] in a batch file, such as ``priority`` and ``rate``, and ``callback``.

        Raises:
            ServiceError: The service refuses the job.
        """
        body = json.dumps({"program": program, "input": input, **options}, allow_nan=False).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return _job(self._json("POST", "/v1/jobs", body, headers))

    def job(self, id: str) -> dict[str, Any]:
        """Return a job with its state and progress."""
        return _job(self._json("GET", f"/v1/jobs/{quote(id)}"))

    def jobs(
        self, state: str | None = None, limit: int = 100, name: str | None = None, program: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the newest jobs.

        Args:
            state: Only jobs in this state.
            limit: The most jobs; the service gives 1,000 at a time.
            name: Only jobs with this text in their names.
            program: Only jobs with this text in their program's name, or at the start of its hash.
        """
        only = {key: value for key, value in (("state", state), ("name", name), ("program", program)) if value}
        found: list[dict[str, Any]] = []
        before: dict[str, int] = {}
        while len(found) < limit:
            query = urlencode({**only, **before, "limit": min(limit - len(found), MOST_LISTED)})
            page = with_fields(self._json("GET", f"/v1/jobs?{query}"), {"jobs": list, "next": int | None})
            found += map(_job, page["jobs"])
            if page["next"] is None:
                break
            before = {"before": page["next"]}
        return found

    def counts(self) -> dict[str, int]:
        """Return the number of jobs by state."""
        return with_fields(self._json("GET", "/v1/jobs/counts"), dict.fromkeys(STATES, int))

    def position(self, id: str) -> int:
        """Return how many jobs are next before a job that waits."""
        before: int = with_fields(self._json("GET", f"/v1/jobs/{quote(id)}/position"), {"jobs_before": int})[
            "jobs_before"
        ]
        return before

    def cancel(self, id: str) -> dict[str, Any]:
        """Cancel a job, and return it."""
        return _job(self._json("POST", f"/v1/jobs/{quote(id)}/cancel", b""))

    def wait(
        self, id: str, timeout: float | None = None, tell: Callable[[Mapping[str, Any]], None] | None = None
    ) -> dict[str, Any]:
        """Wait until a job is done, and return it.

        Args:
            id: The job.
            timeout: Seconds to wait at most.
            tell: Called with the job after each request.

        Raises:
            JobFailed: The job has failed, or was cancelled.
            TimeoutError: The job has not ended in time.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause = FIRST_POLL
        while True:
            job = self.job(id)
            if tell:
                tell(job)
            if job["state"] == DONE:
                return job
            if job["state"] in ENDED:
                raise JobFailed(printable(job["problem"]) or f"the job was {job['state']}")
            if end is not None and time.monotonic() > end:
                raise TimeoutError(f"the job {id} has not ended after {timeout:g} s")
            time.sleep(pause)
            pause = min(1.5 * pause, MOST_POLL)

    def proof(self, id: str) -> bytes:
        """Return the proof of a job that is done. Its digest is compared with the service's; it is not verified.

        Raises:
            ServiceError: The bytes are not the ones that the service has stored.
        """
        data = self._bytes("GET", f"/v1/jobs/{quote(id)}/proof", most=MAX_SHARDS_BYTES)
        if hashlib.sha256(data).hexdigest() != with_fields(self.claim(id), {"proof_sha256": str})["proof_sha256"]:
            raise ServiceError(200, "the proof is damaged", "fetch it again, or submit the job again")
        return data

    def claim(self, id: str) -> dict[str, Any]:
        """Return the public statement of a job's proof."""
        return self._json("GET", f"/v1/jobs/{quote(id)}/claim")

    def report(self, id: str) -> dict[str, Any]:
        """Return how a job's proof was made."""
        return self._json("GET", f"/v1/jobs/{quote(id)}/report")

    def _json(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        try:
            found = json.loads(self._bytes(method, path, body, headers))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ServiceError(200, "the answer is no JSON object", WRONG_URL)
        return found

    def _bytes(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        most: int = MOST_JSON,
    ) -> bytes:
        """Return the body of an answer; all requests can be repeated, so one without an answer is.

        Raises:
            ServiceError: It is an error, or has more than ``most`` bytes.
        """
        pause = TRY_SECONDS
        for left in reversed(range(TRIES)):
            try:
                self._connection.request(method, self._path + path, body, {**self._headers, **(headers or {})})
                answer = self._connection.getresponse()
                data = _read(answer, most + 1)
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if not left or not self._has_answered:
                    place = f"{self._connection.host}:{self._connection.port}"
                    raise ServiceError(0, f"{place} does not answer: {error}", "is the service running?") from error
                time.sleep(pause)
                pause *= 2
                continue
            self._has_answered = True
            if len(data) > most:
                self._connection.close()
                problem = f"the answer has more than {most >> 20} MiB"
                raise ServiceError(answer.status, problem, WRONG_URL)
            if answer.status < 400:
                return data
            raise _error(answer.status, data)
        raise AssertionError


def with_fields(found: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of an answer; raise ServiceError unless it has these fields with values of their types."""
    for name, types in fields.items():
        if not isinstance(found, dict) or not isinstance(found.get(name, ...), types):
            raise ServiceError(200, f"the answer has no field {name!r} as it is described in /openapi.json", WRONG_URL)
    own: dict[str, Any] = found
    return own


def _job(found: Any) -> dict[str, Any]:
    """Return a job of an answer; raise ServiceError unless it has the fields that this package reads."""
    job = with_fields(found, JOB_FIELDS)
    if job["progress"] is not None:
        with_fields(job["progress"], PROGRESS_FIELDS)
    return job


def _read(answer: http.client.HTTPResponse, most: int) -> bytes:
    """Return the first bytes of an answer. Memory grows with the bytes that arrive, not with the announced length."""
    parts = []
    while most > 0 and (part := answer.read(min(most, 1 << 20))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _error(status: int, data: bytes) -> ServiceError:
    """Return the error of an answer."""
    try:
        found = json.loads(data)
        return ServiceError(status, printable(found["problem"]), printable(found["remedy"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ServiceError(status, f"the service answers with status {status}", "")


def printable(text: object) -> str:
    """Return a text of the service with escapes for characters that a terminal would obey; of None an empty one."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in str(text or ""))
