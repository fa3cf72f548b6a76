"""The application: the parts of a service, and the HTTP interface in front of them."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import IO, Any

from fastapi import FastAPI

from graphprover import __version__
from graphprover.service.asgi import BoundedBodies, Timed
from graphprover.service.attendant import Attendant
from graphprover.service.checks import ReadinessChecks
from graphprover.service.config import Config
from graphprover.service.database import connect
from graphprover.service.dependencies import Service
from graphprover.service.keys import ProgramKeys
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.problems import answer_problems
from graphprover.service.queue import Queue
from graphprover.service.requests import ProblemBody
from graphprover.service.routes import jobs, pages, status, uploads
from graphprover.service.store import Store
from graphprover.service.supervisor import Supervisor
from graphprover.service.uploads import Uploads

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"model": ProblemBody} for code in (400, 401, 403, 404, 409, 413, 422, 429, 503)
}

_log = logging.getLogger(__name__)


def create_app(config: Config, lock: IO[str], give_up: Callable[[], None]) -> FastAPI:
    """Return the application of a service, which runs its prover process.

    Args:
        config: The configuration.
        lock: The locked file of the service, which the prover process inherits.
        give_up: Called if the prover process refuses its options.
    """
    service = _service(config, lock, give_up)
    app = FastAPI(
        title="graphprover",
        description="A proving service. docs/serve.md describes it.",
        version=__version__,
        lifespan=_running,
        docs_url=None,  # FastAPI's page loads scripts of other hosts; `pages` has one that does not
        redoc_url=None,
        responses=_PROBLEMS,
    )
    app.state.service = service
    app.add_middleware(BoundedBodies, uploads=uploads.UPLOADS)
    app.add_middleware(Timed, report=service.metrics.request_ended)
    answer_problems(app)
    for routes in (uploads, jobs, status, pages):
        app.include_router(routes.router)
    return app


def _service(config: Config, lock: IO[str], give_up: Callable[[], None]) -> Service:
    """Return the parts of a service."""
    config.received.mkdir(parents=True, exist_ok=True)
    engine, store = connect(config.database), Store(config.store)
    queue = Queue(engine)
    supervisor = Supervisor(config, queue, lock, give_up)
    checks = ReadinessChecks({"database": queue.counts, "store": store.check})
    metrics = ServiceMetrics(queue, supervisor)
    return Service(config, queue, store, Uploads(engine, store), ProgramKeys(store), checks, supervisor, metrics)


@asynccontextmanager
async def _running(app: FastAPI) -> AsyncIterator[None]:
    """Run the prover process and the regular work beside the answers to requests."""
    of: Service = app.state.service
    attendant = Attendant(of.queue, of.store, of.uploads, of.metrics, of.config.keep_days)
    tasks = [asyncio.create_task(of.supervisor.run()), asyncio.create_task(attendant.run())]
    yield
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await of.supervisor.stop()
    await asyncio.to_thread(attendant.notice)
    _log.info("the service has ended")
