"""Logs as lines of JSON, with the id of the job that a line is about."""

import json
import logging
import sys
import time
from contextvars import ContextVar
from typing import Any

from graphprover.runtime.errors import one_line

# Of the job that this thread proves: lines of the prover's modules get it.
current_job: ContextVar[str | None] = ContextVar("graphprover-service-job", default=None)

_PLAIN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonFormatter(logging.Formatter):
    """Format a record as an object: time, level, logger, message, job, and the record's extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": one_line(record.getMessage().removeprefix("graphprover: ")),
        }
        if job := current_job.get():
            fields["job"] = job
        fields |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str, allow_nan=False)


def log_as_json() -> None:
    """Write the log of this process to stderr as JSON, and Python's warnings with it."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    handler.addFilter(_is_worth_a_line)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("graphprover.service").setLevel(logging.INFO)
    logging.captureWarnings(True)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Return False for the steps of other packages; Dask's loggers have levels of their own."""
    return record.levelno >= logging.WARNING or record.name.startswith("graphprover.")
