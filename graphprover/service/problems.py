"""Errors of the HTTP interface: JSON with a problem and its remedy."""

import logging
from collections.abc import Mapping

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException as StarletteError
from starlette.requests import ClientDisconnect

from graphprover.runtime.files import FileError

GONE = 499  # of a request whose client has closed the connection, in metrics
RETRY_SECONDS = "5"  # after which a client may come back

_log = logging.getLogger(__name__)


class Problem(HTTPException):
    """An error with its status code. FastAPI passes exceptions of this base on from the reading of a body."""

    def __init__(self, status: int, problem: str, remedy: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, problem, dict(headers or {}))
        self.remedy = remedy


def answer_problems(app: FastAPI) -> None:
    """Make every error of the application JSON with a problem and a remedy."""

    @app.exception_handler(StarletteError)
    async def refused(request: Request, error: StarletteError) -> JSONResponse:
        remedy = error.remedy if isinstance(error, Problem) else "see /openapi.json"
        return JSONResponse({"problem": error.detail, "remedy": remedy}, error.status_code, error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            status, problem = 400, f"the body is no JSON: {first['ctx']['error']}"
        elif first["loc"] == ("body",):
            status, problem = 400, "the body is no JSON object, or has no header Content-Type: application/json"
        else:
            status, problem = 422, f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
        return JSONResponse({"problem": problem, "remedy": "see /openapi.json"}, status)

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> Response:
        return Response(status_code=GONE)  # which nobody receives

    @app.exception_handler(SQLAlchemyError)
    async def no_database(request: Request, error: SQLAlchemyError) -> JSONResponse:
        _log.error("the database has failed", exc_info=error)
        body = {"problem": "the database does not answer", "remedy": "try again later"}
        return JSONResponse(body, 503, {"Retry-After": RETRY_SECONDS})

    @app.exception_handler(FileError)
    @app.exception_handler(OSError)
    async def no_store(request: Request, error: Exception) -> JSONResponse:
        _log.error("the store has failed", exc_info=error)
        body = {"problem": "the store does not answer, or is full", "remedy": "try again later"}
        return JSONResponse(body, 503, {"Retry-After": RETRY_SECONDS})

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> JSONResponse:
        _log.error("a request has failed", exc_info=error)
        return JSONResponse({"problem": "the service has failed", "remedy": "see its log"}, 500)
