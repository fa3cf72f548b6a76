"""The dependencies of routes: the parts of the service, and the client of a request."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Request

from graphprover.service.browsers import check_browser
from graphprover.service.checks import ReadinessChecks
from graphprover.service.config import Config
from graphprover.service.keys import ProgramKeys
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.problems import Problem
from graphprover.service.queue import Queue
from graphprover.service.store import Store
from graphprover.service.supervisor import Supervisor
from graphprover.service.tokens import ANYBODY, owner_of
from graphprover.service.uploads import Uploads


@dataclass(frozen=True)
class Service:
    """The parts of a service, the state of its application."""

    config: Config
    queue: Queue
    store: Store
    uploads: Uploads
    keys: ProgramKeys
    checks: ReadinessChecks
    supervisor: Supervisor
    metrics: ServiceMetrics


async def service_of(request: Request) -> Service:
    """Return the service that gets a request."""
    found: Service = request.app.state.service
    return found


OfService = Annotated[Service, Depends(service_of)]


async def client_of(request: Request, service: OfService, authorization: Annotated[str, Header()] = "") -> str:
    """Return the name of the client of a request; raises Problem if it is not allowed to send one."""
    config = service.config
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


Owner = Annotated[str, Depends(client_of)]
