"""The HTTP interface of the service."""

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import Depends, FastAPI, Header, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from sqlalchemy import Row
from starlette.concurrency import run_in_threadpool

from graphprover import __version__
from graphprover.service.asgi import BoundedBodies, Timed
from graphprover.service.attendant import Attendant
from graphprover.service.browsers import check_browser
from graphprover.service.callbacks import check_callback
from graphprover.service.checks import Checks
from graphprover.service.config import Config
from graphprover.service.database import connect
from graphprover.service.keys import Keys
from graphprover.service.metrics import Metrics
from graphprover.service.problems import RETRY_SECONDS, Problem, answer_problems
from graphprover.service.queue import KeyReused, NewJob, Queue, QueueFull
from graphprover.service.requests import JobList, JobRequest, JobStatus, LimitsBody, ProblemBody, Uploaded, status_of
from graphprover.service.states import CANCELLED, DONE, ENDED, STATES
from graphprover.service.store import INPUTS, PROGRAMS, Store, proof_key
from graphprover.service.supervisor import Supervisor
from graphprover.service.tokens import ANYBODY, owner_of
from graphprover.service.uploads import Uploads, received

PAGE = Path(__file__).with_name("page.html")
MOST_LISTED = 1000
MOST_NUMBER = (1 << 31) - 1  # of a job in PostgreSQL

_NAME = re.compile(r"[A-Za-z0-9._-]{1,60}")
_ID, _HASH = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{64}")
_POLICY = "default-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemBody} for status in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}

_log = logging.getLogger(__name__)


def create_app(config: Config, lock: IO[str], give_up: Callable[[], None]) -> FastAPI:
    """Return the application of a service, which runs its prover process.

    Args:
        config: The configuration.
        lock: The locked file of the service, which the prover process inherits.
        give_up: Called if the prover process refuses its options.
    """
    config.received.mkdir(parents=True, exist_ok=True)
    engine, store = connect(config.database), Store(config.store)
    queue = Queue(engine)
    uploads = Uploads(engine, store)
    supervisor = Supervisor(config, queue, lock, give_up)
    metrics = Metrics(queue, supervisor)
    attendant = Attendant(queue, store, uploads, metrics, config.keep_days)
    keys = Keys(store)
    checks = Checks({"database": queue.counts, "store": store.check})

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(supervisor.run()), asyncio.create_task(attendant.run())]
        yield
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await supervisor.stop()
        await asyncio.to_thread(attendant.notice)
        _log.info("the service has ended")

    app = FastAPI(
        title="graphprover",
        description="A proving service. docs/serve.md describes it.",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts of other hosts
        redoc_url=None,
        responses=_PROBLEMS,
    )
    app.add_middleware(BoundedBodies, uploads=("/v1/programs", "/v1/inputs"))
    app.add_middleware(
        Timed,
        report=lambda method, route, status, seconds: metrics.requests.labels(method, route, status).observe(seconds),
    )
    answer_problems(app)

    async def owner(request: Request, authorization: Annotated[str, Header()] = "") -> str:
        if not config.tokens:
            if config.is_local:
                check_browser(request.headers)
            return ANYBODY
        if found := owner_of(authorization, config.tokens):
            return found
        raise Problem(
            401,
            "the request has no valid token",
            "send the header Authorization: Bearer TOKEN",
            {"WWW-Authenticate": "Bearer"},
        )

    Owner = Annotated[str, Depends(owner)]

    def found(id: str, owner: str) -> Row[Any]:
        row = queue.get(id, owner) if _ID.fullmatch(id) else None
        if row is None:
            raise Problem(
                404, f"there is no job {id[:64]}", "the job may have been removed after its time: submit it again"
            )
        return row

    def done(id: str, owner: str, read: Callable[[str], dict[str, Any] | None]) -> tuple[str, dict[str, Any]]:
        """Return the key of a job's proof in the store, and what ``read`` returns of it."""
        row = found(id, owner)
        if row.state != DONE:
            remedy = "submit it again" if row.state in ENDED else "wait for the state done"
            raise Problem(409, f"the job is {row.state}" + f": {row.problem}" * bool(row.problem), remedy)
        contents = read(row.proof_key)
        if contents is None:
            raise Problem(404, "the proof is no longer in the store, or is damaged", "submit the job again")
        return row.proof_key, contents

    @app.post("/v1/programs", status_code=201, response_model=Uploaded)
    async def upload_program(request: Request, owner: Owner, name: str = "guest") -> Any:
        """Upload an ELF file, the body of the request. The hash in the answer names it in jobs."""
        if not _NAME.fullmatch(name):
            raise Problem(
                422, "the name of a program has letters, digits and ._- only, at most 60", "give another name"
            )
        async with received(request.stream(), config.limits.program_bytes, config.received) as file:
            upload = await run_in_threadpool(uploads.add_program, name, file)
        return {"hash": upload.hash, "size": upload.size}

    @app.post("/v1/inputs", status_code=201, response_model=Uploaded)
    async def upload_input(request: Request, owner: Owner) -> Any:
        """Upload an input, the body of the request. Its SHA-256 names it in jobs."""
        async with received(request.stream(), config.limits.input_bytes, config.received) as file:
            upload = await run_in_threadpool(uploads.add_input, file)
        return {"hash": upload.hash, "size": upload.size}

    @app.get("/v1/programs/{hash}/key", response_class=Response)
    async def program_key(hash: str, owner: Owner) -> Response:
        """Return the verifying key of a program, as `graphprover setup` makes it, for `graphprover verify`."""
        if not _HASH.fullmatch(hash) or not await run_in_threadpool(uploads.get, PROGRAMS, hash):
            raise Problem(404, f"there is no program {hash[:64]}", "upload it")
        return Response(await keys.key(hash), media_type="application/octet-stream")

    @app.post(
        "/v1/jobs",
        status_code=201,
        response_model=JobStatus,
        responses={200: {"model": JobStatus, "description": "The job of an earlier request with this Idempotency-Key"}},
    )
    def submit(
        job: JobRequest, owner: Owner, idempotency_key: Annotated[str | None, Header(max_length=200)] = None
    ) -> JSONResponse:
        """Submit a job. With the header Idempotency-Key, a repeated request returns the first job, with status 200."""
        options, limits = job.options(), config.limits
        job.check_limits(limits)
        if job.callback is not None:
            check_callback(job.callback, config.callback_hosts)
        program = uploads.get(PROGRAMS, job.program)
        if not program:
            raise Problem(404, f"there is no program {job.program}", "upload it first: POST /v1/programs")
        if job.input is not None and not uploads.get(INPUTS, job.input):
            raise Problem(404, f"there is no input {job.input}", "upload it first: POST /v1/inputs")
        new = NewJob(
            owner,
            hashlib.sha256(json.dumps(job.model_dump(), sort_keys=True, allow_nan=False).encode()).hexdigest(),
            job.program,
            program.name,
            job.input,
            job.name or program.name,
            options,
            proof_key(job.program, job.input, options),
            job.priority or 0,
            job.timeout or limits.timeout,
            job.callback,
            idempotency_key,
        )
        is_stored = store.intact(new.proof_key) is not None
        try:
            row, is_new = queue.submit(new, limits.queued_jobs, limits.queued_jobs_per_client, is_stored=is_stored)
        except QueueFull as error:
            raise Problem(429, str(error), "submit the job later", {"Retry-After": RETRY_SECONDS}) from None
        except KeyReused:
            raise Problem(
                409, "another job has this Idempotency-Key", "use a new key for each job, or repeat the same request"
            ) from None
        if is_new:
            metrics.submitted.inc()
            _log.info("submitted", extra={"job": row.id, "owner": owner, "priority": row.priority})
        return JSONResponse(status_of(row), 201 if is_new else 200, {"Location": f"/v1/jobs/{row.id}"})

    @app.get("/v1/jobs", response_model=JobList)
    def newest(
        owner: Owner,
        state: str | None = None,
        limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 100,
        before: Annotated[
            int | None, Query(ge=1, le=MOST_NUMBER, description="From the field next of the page before.")
        ] = None,
    ) -> JSONResponse:
        """List your jobs, the newest first."""
        if state is not None and state not in STATES:
            raise Problem(422, f"state: {state[:60]!r} is none of {', '.join(STATES)}", "give one of them")
        rows = queue.newest(owner, state, limit, before)
        next = rows[-1].number if len(rows) == limit else None
        return JSONResponse({"jobs": [status_of(row) for row in rows], "next": next})

    @app.get("/v1/jobs/{id}", response_model=JobStatus)
    def status(id: str, owner: Owner) -> JSONResponse:
        """Return a job with its state and progress."""
        return JSONResponse(status_of(found(id, owner)))

    @app.post("/v1/jobs/{id}/cancel", response_model=JobStatus)
    def cancel(id: str, owner: Owner) -> JSONResponse:
        """Cancel a job. A proof by the service's own process stops at its next task; a cluster's worker finishes it."""
        found(id, owner)
        cancelled = queue.cancel(id, owner)
        row = found(id, owner)
        if not cancelled and row.state != CANCELLED:
            raise Problem(409, f"the job is {row.state} already", "nothing is left to cancel")
        return JSONResponse(status_of(row))

    @app.get("/v1/jobs/{id}/proof", response_class=StreamingResponse)
    def proof(id: str, owner: Owner) -> StreamingResponse:
        """Return the proof, for `graphprover verify`."""
        key, claim = done(id, owner, store.intact)
        headers = {"Content-Length": str(claim["proof_bytes"]), "ETag": f'"{claim["proof_sha256"]}"'}
        return StreamingResponse(store.proof_chunks(key), headers=headers, media_type="application/octet-stream")

    @app.get("/v1/jobs/{id}/claim")
    def claim(id: str, owner: Owner) -> JSONResponse:
        """Return the public statement of the proof, and the size and SHA-256 of the proof."""
        return JSONResponse(done(id, owner, store.claim)[1])

    @app.get("/v1/jobs/{id}/report")
    def report(id: str, owner: Owner) -> JSONResponse:
        """Return how the proof was made: seconds by stage, memory, cycles, worker."""
        return JSONResponse(done(id, owner, store.report)[1])

    @app.get("/v1/limits", response_model=LimitsBody)
    async def read_limits(owner: Owner) -> JSONResponse:
        """Return the limits of the service."""
        return JSONResponse(asdict(config.limits))

    @app.get("/healthz")
    async def health() -> JSONResponse:
        """Return 200 as long as the process answers."""
        return JSONResponse({"status": "ok", "version": __version__})

    @app.get("/readyz")
    async def readiness(authorization: Annotated[str, Header()] = "") -> JSONResponse:
        """Return 200 if database and store answer and the prover takes jobs, else 503 with the reasons.

        Their details are for clients with a token, and for this host.
        """
        found = await checks()
        known = owner_of(authorization, config.tokens) if config.tokens else config.is_local
        problems = [f"{name}: {error}" if known else f"the {name} fails" for name, error in found.items()]
        if supervisor.problem:
            problems.append(supervisor.problem)
        return JSONResponse({"ready": not problems, "problems": problems}, 503 if problems else 200)

    @app.get("/metrics", response_class=Response)
    def read_metrics(owner: Owner) -> Response:
        """Return the metrics in Prometheus's text format."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> HTMLResponse:
        return HTMLResponse(PAGE.read_bytes(), headers={"Content-Security-Policy": _POLICY})

    return app
