"""The tables of the queue, and connections to them: SQLite by default, PostgreSQL by URL."""

from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    create_engine,
    event,
    make_url,
)

BUSY_SECONDS = 30  # SQLite: how long a statement waits for the other process's transaction

_metadata = MetaData()

jobs = Table(
    "jobs",
    _metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),  # rises with age
    Column("id", String(32), nullable=False, unique=True),
    Column("owner", String(100), nullable=False),  # name of the token
    Column("idempotency_key", String(200)),
    Column("request", String(64), nullable=False),  # SHA-256 of the submitted job
    Column("program", String(64), nullable=False),  # hash of the program
    Column("program_name", String(200), nullable=False),  # in the labels of its proofs
    Column("input", String(64)),  # SHA-256 of the input; NULL without one
    Column("name", String(200), nullable=False),
    Column("options", JSON, nullable=False),
    Column("proof_key", String(64), nullable=False),  # of the proof in the store
    Column("priority", Integer, nullable=False),
    Column("timeout", Float),
    Column("callback", String(2000)),
    Column("state", String(10), nullable=False),
    Column("prover", String(32)),  # the prover process that has taken the job last
    Column("attempts", Integer, nullable=False),  # starts by a prover process
    Column("created", Float, nullable=False),  # seconds since 1970, like all times
    Column("taken", Float),  # by the prover process, which reads some jobs ahead
    Column("started", Float),
    Column("ended", Float),
    Column("worker", String(200)),  # address of the worker of a cluster
    Column("progress", JSON),
    Column("problem", String),  # the error of a job that failed
    Column("from_store", Boolean, nullable=False),  # whether the proof was in the store before
    Column("noticed", Boolean, nullable=False),  # whether the end has been counted and logged
    Column("callback_attempts", Integer, nullable=False),
    Column("callback_next", Float),  # time of the next attempt; NULL if there is none
    UniqueConstraint("owner", "idempotency_key"),
    Index("jobs_order", "state", "priority", "number"),
    Index("jobs_of_owner", "owner", "number", "state"),  # the list of a client's jobs, and their number by state
    Index("jobs_proof_key", "proof_key"),
    Index("jobs_noticed", "noticed", "ended"),
    Index("jobs_callback_next", "callback_next"),
    Index("jobs_input", "input"),
    Index("jobs_program", "program"),
    sqlite_autoincrement=True,  # a number is never used twice
)

uploads = Table(
    "uploads",
    _metadata,
    Column("kind", String(10), primary_key=True),  # "programs" or "inputs"
    Column("hash", String(64), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("size", Integer, nullable=False),
    Column("created", Float, nullable=False),  # of the last upload
)


def connect(url: str) -> Engine:
    """Return the database at a URL of SQLAlchemy, with its tables.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: The URL is invalid, or the database does not answer.
    """
    parsed = make_url(url)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    options: dict[str, Any] = {"pool_size": 8, "max_overflow": 32}  # the HTTP server has 40 threads
    if parsed.get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": BUSY_SECONDS}
    else:
        options["pool_pre_ping"] = True  # the server may have restarted
    engine = create_engine(parsed, **options)
    if parsed.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _on_sqlite)
    _metadata.create_all(engine)
    for index in jobs.indexes:  # tables of an older version may lack some, which `create_all` does not add
        index.create(engine, checkfirst=True)
    return engine


def _on_sqlite(connection: Any, record: object) -> None:
    """Set up a connection: readers do not wait for a writer, and a commit survives a power failure."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
