"""Uploads of programs and inputs, and the verifying keys of programs."""

import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from graphprover.service.dependencies import OfService, Owner
from graphprover.service.file_names import saved_as
from graphprover.service.problems import Problem
from graphprover.service.requests import Uploaded
from graphprover.service.store import PROGRAMS
from graphprover.service.uploads import received

UPLOADS = ("/v1/programs", "/v1/inputs")

_NAME, _HASH = re.compile(r"[A-Za-z0-9._-]{1,60}"), re.compile(r"[0-9a-f]{64}")

router = APIRouter()


@router.post("/v1/programs", status_code=201, response_model=Uploaded)
async def upload_program(request: Request, service: OfService, owner: Owner, name: str = "guest") -> Any:
    """Upload an ELF file, the body of the request. The hash in the answer names it in jobs."""
    if not _NAME.fullmatch(name):
        raise Problem(422, "the name of a program has letters, digits and ._- only, at most 60", "give another name")
    config = service.config
    async with received(request.stream(), config.limits.program_bytes, config.received) as file:
        upload = await run_in_threadpool(service.uploads.add_program, name, file)
    return {"hash": upload.hash, "size": upload.size}


@router.post("/v1/inputs", status_code=201, response_model=Uploaded)
async def upload_input(request: Request, service: OfService, owner: Owner) -> Any:
    """Upload an input, the body of the request. Its SHA-256 names it in jobs."""
    config = service.config
    async with received(request.stream(), config.limits.input_bytes, config.received) as file:
        upload = await run_in_threadpool(service.uploads.add_input, file)
    return {"hash": upload.hash, "size": upload.size}


@router.get("/v1/programs/{hash}/key", response_class=Response)
async def program_key(hash: str, service: OfService, owner: Owner) -> Response:
    """Return the verifying key of a program, as `graphprover setup` makes it, for `graphprover verify`."""
    program = await run_in_threadpool(service.uploads.get, PROGRAMS, hash) if _HASH.fullmatch(hash) else None
    if program is None:
        raise Problem(404, f"there is no program {hash[:64]}", "upload it")
    headers = saved_as(program.name.removesuffix(".elf"), ".vk")
    return Response(await service.keys.key(hash), headers=headers, media_type="application/octet-stream")
