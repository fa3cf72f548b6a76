"""The pages for people, which need no token: their scripts ask for one, and read everything from the interface."""

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from graphprover.service.problems import Problem

FOLDER = Path(__file__).parents[1] / "pages"

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FILES = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.suffix in _TYPES}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # another version of the service may have others
}

router = APIRouter(include_in_schema=False)


@router.get("/")
async def jobs() -> Response:
    """Return the page of all jobs."""
    return _file("jobs.html")


@router.get("/jobs/{id}")
async def job(id: str) -> Response:
    """Return the page of a job."""
    return _file("job.html")


@router.get("/docs")
async def interface() -> Response:
    """Return the page of the interface."""
    return _file("docs.html")


@router.get("/assets/{name}")
async def asset(name: str) -> Response:
    """Return a script, a style sheet or a picture of the pages."""
    return _file(name)


def _file(name: str) -> Response:
    if name not in _FILES:
        raise Problem(404, f"there is no file {name[:64]}", "see the page /")
    return Response(_FILES[name], headers=_HEADERS, media_type=_TYPES[Path(name).suffix])
