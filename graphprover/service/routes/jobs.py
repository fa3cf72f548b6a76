"""Jobs: submitted, listed, cancelled, and their proofs."""

import hashlib
import json
import logging
import re
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse, StreamingResponse
from sqlalchemy import Row

from graphprover.service.callbacks import check_callback
from graphprover.service.dependencies import OfService, Owner, Service
from graphprover.service.file_names import saved_as
from graphprover.service.problems import RETRY_SECONDS, Problem
from graphprover.service.queue import KeyReused, NewJob, QueueFull
from graphprover.service.requests import (
    JobClaim,
    JobCounts,
    JobList,
    JobPosition,
    JobReport,
    JobRequest,
    JobStatus,
    status_of,
)
from graphprover.service.states import CANCELLED, DONE, ENDED, MOST_LISTED, QUEUED, STATES
from graphprover.service.store import INPUTS, PROGRAMS, proof_key
from graphprover.telemetry.model import rate

MOST_NUMBER = (1 << 31) - 1  # of a job in PostgreSQL

_ID = re.compile(r"[0-9a-f]{32}")

_log = logging.getLogger(__name__)

router = APIRouter()


@router.post(
    "/v1/jobs",
    status_code=201,
    response_model=JobStatus,
    responses={200: {"model": JobStatus, "description": "The job of an earlier request with this Idempotency-Key"}},
)
def submit(
    job: JobRequest,
    service: OfService,
    owner: Owner,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> JSONResponse:
    """Submit a job. With the header Idempotency-Key, a repeated request returns the first job, with status 200."""
    options, limits = job.options(), service.config.limits
    job.check_limits(limits)
    if job.callback is not None:
        check_callback(job.callback, service.config.callback_hosts)
    program = service.uploads.get(PROGRAMS, job.program)
    if not program:
        raise Problem(404, f"there is no program {job.program}", "upload it first: POST /v1/programs")
    if job.input is not None and not service.uploads.get(INPUTS, job.input):
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
    is_stored = service.store.intact(new.proof_key) is not None
    try:
        row, is_new = service.queue.submit(new, limits.queued_jobs, limits.queued_jobs_per_client, is_stored=is_stored)
    except QueueFull as error:
        raise Problem(429, str(error), "submit the job later", {"Retry-After": RETRY_SECONDS}) from None
    except KeyReused:
        raise Problem(
            409, "another job has this Idempotency-Key", "use a new key for each job, or repeat the same request"
        ) from None
    if is_new:
        service.metrics.submitted.inc()
        _log.info("submitted", extra={"job": row.id, "owner": owner, "priority": row.priority})
    return JSONResponse(status_of(row), 201 if is_new else 200, {"Location": f"/v1/jobs/{row.id}"})


@router.get("/v1/jobs", response_model=JobList)
def newest(
    service: OfService,
    owner: Owner,
    state: Annotated[str | None, Query(description=f"One of {', '.join(STATES)}.")] = None,
    name: Annotated[str | None, Query(max_length=200, description="A part of the jobs' names.")] = None,
    program: Annotated[
        str | None, Query(max_length=200, description="A part of the program's name, or the start of its hash.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=MOST_NUMBER, description="From the field next of the page before.")
    ] = None,
) -> JSONResponse:
    """List your jobs, the newest first."""
    if state is not None and state not in STATES:
        raise Problem(422, f"state: {state[:60]!r} is none of {', '.join(STATES)}", "give one of them")
    rows = service.queue.newest(owner, state, limit, before, name, program)
    next = rows[-1].number if len(rows) == limit else None
    return JSONResponse({"jobs": [status_of(row) for row in rows], "next": next})


@router.get("/v1/jobs/counts", response_model=JobCounts)
def counts(service: OfService, owner: Owner) -> JSONResponse:
    """Return the number of your jobs by state."""
    return JSONResponse(service.queue.counts(owner))


@router.get("/v1/jobs/{id}", response_model=JobStatus)
def status(id: str, service: OfService, owner: Owner) -> JSONResponse:
    """Return a job with its state and progress."""
    return JSONResponse(status_of(_found(service, id, owner)))


@router.get("/v1/jobs/{id}/position", response_model=JobPosition)
def position(id: str, service: OfService, owner: Owner) -> JSONResponse:
    """Return the place of a job that waits. The prover may have taken some jobs ahead, in whatever place."""
    row = _found(service, id, owner)
    if row.state != QUEUED:
        raise Problem(409, f"the job is {row.state}", "only a job that waits has a place in the queue")
    return JSONResponse({"jobs_before": service.queue.before(row)})


@router.post("/v1/jobs/{id}/cancel", response_model=JobStatus)
def cancel(id: str, service: OfService, owner: Owner) -> JSONResponse:
    """Cancel a job. A proof by the service's own process stops at its next task; a cluster's worker finishes it."""
    _found(service, id, owner)
    cancelled = service.queue.cancel(id, owner)
    row = _found(service, id, owner)
    if not cancelled and row.state != CANCELLED:
        raise Problem(409, f"the job is {row.state} already", "nothing is left to cancel")
    return JSONResponse(status_of(row))


@router.get("/v1/jobs/{id}/proof", response_class=StreamingResponse)
def proof(id: str, service: OfService, owner: Owner) -> StreamingResponse:
    """Return the proof, for `graphprover verify`."""
    store = service.store
    row, claim = _done(service, id, owner, store.intact)
    headers = {"Content-Length": str(claim["proof_bytes"]), "ETag": f'"{claim["proof_sha256"]}"'}
    headers |= saved_as(f"{row.name}-{row.id[:8]}", ".bin")
    return StreamingResponse(store.proof_chunks(row.proof_key), headers=headers, media_type="application/octet-stream")


@router.get("/v1/jobs/{id}/claim", response_model=JobClaim)
def claim(id: str, service: OfService, owner: Owner) -> JSONResponse:
    """Return the public statement of the proof, and the size and SHA-256 of the proof."""
    return JSONResponse(_done(service, id, owner, service.store.claim)[1])


@router.get("/v1/jobs/{id}/report", response_model=JobReport)
def report(id: str, service: OfService, owner: Owner) -> JSONResponse:
    """Return how the proof was made: seconds by stage, memory, cycles, worker."""
    found = {"compile_seconds": 0.0} | _done(service, id, owner, service.store.report)[1]
    speed = rate(found["cycles"], found["seconds"], found["compile_seconds"]) if found.get("cycles") else None
    return JSONResponse(found | {"cycles_per_second": speed})


def _found(service: Service, id: str, owner: str) -> Row[Any]:
    """Return a job of a client; raises Problem if there is none."""
    row = service.queue.get(id, owner) if _ID.fullmatch(id) else None
    if row is None:
        raise Problem(
            404, f"there is no job {id[:64]}", "the job may have been removed after its time: submit it again"
        )
    return row


def _done(
    service: Service, id: str, owner: str, read: Callable[[str], dict[str, Any] | None]
) -> tuple[Row[Any], dict[str, Any]]:
    """Return a job with a proof, and what ``read`` returns of the proof; raises Problem if there is none."""
    row = _found(service, id, owner)
    if row.state != DONE:
        remedy = "submit it again" if row.state in ENDED else "wait for the state done"
        raise Problem(409, f"the job is {row.state}" + f": {row.problem}" * bool(row.problem), remedy)
    contents = read(row.proof_key)
    if contents is None:
        raise Problem(404, "the proof is no longer in the store, or is damaged", "submit the job again")
    return row, contents
