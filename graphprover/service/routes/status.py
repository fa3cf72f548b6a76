"""The state of the service: limits, health and metrics."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.responses import JSONResponse, Response

from graphprover import __version__
from graphprover.service.dependencies import OfService, Owner
from graphprover.service.requests import LimitsBody
from graphprover.service.tokens import owner_of

router = APIRouter()


@router.get("/v1/limits", response_model=LimitsBody)
async def read_limits(service: OfService, owner: Owner) -> JSONResponse:
    """Return the limits of the service."""
    return JSONResponse(asdict(service.config.limits))


@router.get("/healthz")
async def health() -> JSONResponse:
    """Return 200 as long as the process answers."""
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/readyz")
async def readiness(service: OfService, authorization: Annotated[str, Header()] = "") -> JSONResponse:
    """Return 200 if database and store answer and the prover takes jobs, else 503 with the reasons.

    Their details are for clients with a token, and for this host.
    """
    config = service.config
    found = await service.checks()
    known = owner_of(authorization, config.tokens) if config.tokens else config.is_local
    problems = [f"{name}: {error}" if known else f"the {name} fails" for name, error in found.items()]
    if service.supervisor.problem:
        problems.append(service.supervisor.problem)
    return JSONResponse({"ready": not problems, "problems": problems}, 503 if problems else 200)


@router.get("/metrics", response_class=Response)
def read_metrics(service: OfService, owner: Owner) -> Response:
    """Return the metrics in Prometheus's text format."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")
