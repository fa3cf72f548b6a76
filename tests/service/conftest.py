"""A queue in a database: SQLite, and PostgreSQL if the environment names an empty database of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from graphprover.service.database import connect, jobs, uploads
from graphprover.service.queue import Queue

POSTGRESQL = "GRAPHPROVER_TEST_POSTGRESQL"  # environment variable with a URL; its tables are emptied


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param(
            "postgresql", marks=pytest.mark.skipif(POSTGRESQL not in os.environ, reason=f"{POSTGRESQL} is not set")
        ),
    ]
)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Return a database without jobs."""
    found = connect(f"sqlite:///{tmp_path}/queue.db" if request.param == "sqlite" else os.environ[POSTGRESQL])
    with found.begin() as connection:
        connection.execute(jobs.delete())
        connection.execute(uploads.delete())
    yield found
    found.dispose()


@pytest.fixture
def queue(engine: Engine) -> Queue:
    """Return an empty queue."""
    return Queue(engine)
