"""The pages of the service in a browser: lists, jobs, submission, tokens, and the interface."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from graphprover.service.database import connect, jobs
from graphprover.service.tokens import digest_of
from tests.chromium import Browser, browser
from tests.service.quiet import Quiet, config_in, served

ROOT = Path(__file__).parents[2]
GUEST = ROOT / "examples/guests/fib_iterative.elf"
PAGES = ("/", "/jobs/" + "0" * 32, "/docs")
ONE_PAGE = 100  # jobs
TOKEN = "token of alice"
USUAL = re.compile(r"Failed to load resource: the server responded with a status of (401|503) ")

CLAIM = {
    "label": "fib",
    "says": {"output": {"hex": "6869", "bytes": 2}, "exit_code": 7, "cycles": 1000, "input": None},
    "security_bits": 100,
    "parameters": {"log_blowup": 1, "num_queries": 50, "hash": "blake3"},
    "shards": 1,
    "layers": [],
}
REPORT = {
    "seconds": {"prepare": 1.5, "prove": 0.5, "verify": 0.25},
    "shards": [],
    "peak_bytes": 12_345_678,
    "cells": 4321,
    "cost": 98765,
    "cycles": 1000,
    "misaligned_accesses": 0,
    "base_bytes": None,
    "worker": None,
    "attempts": 1,
}


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Quiet]:
    with served(config_in(tmp_path)) as found:
        yield found


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture
def page(chrome: Browser) -> Iterator[Browser]:
    """Return a browser whose console must have no other message than about the answers that tests ask for.

    A violated policy, an exception and a missing file are messages.
    """
    yield chrome
    chrome.open("about:blank")  # before the service ends
    said, chrome.console = chrome.console, []
    assert not [line for line in said if not USUAL.match(line)]


def url(quiet: Quiet, path: str = "/") -> str:
    return f"http://127.0.0.1:{quiet.port}{path}"


def submitted(quiet: Quiet, token: str | None = None, **options: Any) -> Any:
    """Return a job that waits."""
    client = quiet.client(token)
    return client.submit(client.upload_program(GUEST), **options)


def done(quiet: Quiet, **options: Any) -> Any:
    """Return a job that is done."""
    job = submitted(quiet, **options)
    row = quiet.queue.take("test")
    assert row and row.id == job["id"]
    quiet.store.save_proof(row.proof_key, b"proof", {"program": row.program, **CLAIM}, REPORT)
    assert quiet.queue.begin(row.number, "test", "") and quiet.queue.finish(row.number, "test")
    return job


def text(page: Browser, of: str) -> str:
    found: str = page.run(f"document.querySelector({json.dumps(of, allow_nan=False)}).innerText")
    return found


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_all_that_it_shows(quiet: Quiet, path: str) -> None:
    """Neither the page nor its scripts name another host, and the policy forbids scripts in the page."""
    found = quiet.ask("GET", path)
    assert found.status == 200 and found.headers["content-type"] == "text/html; charset=utf-8"
    assert found.headers["content-security-policy"].startswith("default-src 'self';")
    assert found.headers["x-content-type-options"] == "nosniff"
    assert b"<script>" not in found.body and b"style=" not in found.body
    waiting = re.findall(r'(?:src|href)="[./]*(assets/[^"]+)"', found.body.decode())
    seen = set()
    while waiting:
        name = waiting.pop()
        asset = quiet.ask("GET", f"/{name}")
        assert asset.status == 200 and not re.search(rb"https?://(?!127\.0|www\.w3\.org/2000/svg)", asset.body), name
        seen.add(name)
        imported = re.findall(r'from "\./([^"]+)"', asset.body.decode())
        waiting += [f"assets/{each}" for each in imported if f"assets/{each}" not in seen]
    assert len(seen) >= 4


@pytest.mark.parametrize("name", ["none.js", "..%2fqueue.db", "pages.py"])
def test_there_are_no_other_files(quiet: Quiet, name: str) -> None:
    assert quiet.ask("GET", f"/assets/{name}").status == 404


def test_an_empty_list_teaches_how_to_submit(quiet: Quiet, page: Browser) -> None:
    page.open(url(quiet))
    page.until("!document.getElementById('content').hidden")
    assert f"graphprover submit guest.elf --input data --url {url(quiet, '')} -o proof.bin" in text(page, "#first")
    assert page.run("document.getElementById('access').hidden && document.getElementById('list').hidden")
    assert "the prover process is starting" in text(page, "#ready")


def test_a_list_has_counts_filters_and_pages(quiet: Quiet, page: Browser) -> None:
    first, client = submitted(quiet, name="<b>shown</b>"), quiet.client()
    for number in range(ONE_PAGE):
        client.submit(first["program"], name=f"job {number}", max_cycles=number + 1)
    engine = connect(f"sqlite:///{quiet.store._root}/../queue.db")
    with engine.begin() as connection:
        connection.execute(update(jobs).where(jobs.c.name == "job 5").values(state="failed", problem="<i>why</i>"))
    page.open(url(quiet))
    page.until(f"document.querySelectorAll('#jobs tr').length == {ONE_PAGE}")
    assert "all 101" in text(page, "#states") and "failed 1" in text(page, "#states")
    assert page.run("document.getElementById('newest').hidden && !document.getElementById('older').hidden")
    page.run("document.getElementById('older').click()")
    page.until("document.querySelectorAll('#jobs tr').length == 1")
    assert "<b>shown</b>" in text(page, "#jobs")  # as text
    page.run("document.querySelectorAll('#states button')[4].click()")
    page.until("document.querySelectorAll('#jobs tr').length == 1 && location.search == '?state=failed'")
    page.until("document.querySelector('#jobs').innerText.includes('<i>why</i>')")
    page.run("let own = document.getElementById('name'); own.value = 'no such'; own.oninput()")
    page.until("!document.getElementById('none').hidden")
    page.run("document.getElementById('clear').click()")
    page.until(f"document.querySelectorAll('#jobs tr').length == {ONE_PAGE} && location.search == ''")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_the_width_of_a_window(quiet: Quiet, page: Browser, path: str, width: int) -> None:
    job = done(quiet, name="a name without a place for a break " + "x" * 150, timeout=60)
    page.open(url(quiet, path.replace("0" * 32, job["id"])), width)
    page.until("document.querySelector('#jobs a, #stages tr, #bodies details')")
    page.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.run("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_job_is_followed_until_its_end(quiet: Quiet, page: Browser) -> None:
    submitted(quiet, max_cycles=1)
    job = submitted(quiet, security=100, exit_code="any", name="mine")
    page.open(url(quiet, f"/jobs/{job['id']}"))
    page.until("document.getElementById('progress').innerText == '1 before it in the queue'")
    quiet.queue.take("test")
    row = quiet.queue.take("test")
    assert row and quiet.queue.begin(row.number, "test", "")
    quiet.queue.set_progress(row.number, "test", {"tasks_ended": 3, "tasks": 9, "task": "quotient"})
    page.until("document.getElementById('progress').innerText.includes('3 of 9 tasks: quotient')")
    quiet.store.save_proof(row.proof_key, b"proof", {"program": row.program, **CLAIM}, REPORT)
    assert quiet.queue.finish(row.number, "test")
    page.until("!document.getElementById('proved').hidden")
    name = f"mine-{job['id'][:8]}.bin"
    assert text(page, "#verify pre") == (
        f"graphprover verify {name} fib_iterative.vk --expect-output-hex '6869' --exit-code 7 --security 100"
    )
    assert "500 cycles/s" in text(page, "#made") and "4,321" in text(page, "#made") and "98,765" in text(page, "#made")
    assert "100 provable bits" in text(page, "#proof") and "5 bytes" in text(page, "#proof")
    assert "hi" in text(page, "#claim") and "1.5 s" in text(page, "#stages")
    assert page.run("document.getElementById('actions').childElementCount") == 0


def test_a_job_that_failed_shows_all_of_its_error(quiet: Quiet, page: Browser) -> None:
    job = submitted(quiet)
    row = quiet.queue.take("test")
    assert row and quiet.queue.fail(row.number, "test", "exit code 1, not 0; <b>" + "long " * 100)
    page.open(url(quiet, f"/jobs/{job['id']}"))
    page.until("!document.getElementById('failure').hidden")
    assert text(page, "#reason").strip() == "exit code 1, not 0; <b>" + ("long " * 100).strip()


def test_a_job_is_cancelled_by_its_button(quiet: Quiet, page: Browser) -> None:
    job = submitted(quiet)
    page.open(url(quiet, f"/jobs/{job['id']}"))
    page.until("document.querySelector('#actions button')")
    page.run("window.confirm = () => true; document.querySelector('#actions button').click()")
    page.until("document.getElementById('state').innerText == 'cancelled'")
    assert quiet.client().job(job["id"])["state"] == "cancelled"


def test_a_job_is_submitted_with_a_token(tmp_path: Path, page: Browser) -> None:
    with served(config_in(tmp_path, tokens={"alice": digest_of(TOKEN)})) as closed:
        page.open(url(closed))
        page.until("document.getElementById('outage').innerText == 'This service needs a token.'")
        give = "document.getElementById('token').value = '{}'; document.getElementById('access').requestSubmit()"
        page.run(give.format("another"))
        page.until("document.getElementById('outage').innerText == 'The service does not know this token.'")
        page.run(give.format(TOKEN))
        page.until("!document.getElementById('content').hidden && document.getElementById('access').hidden")
        assert "--token-file TOKEN" in text(page, "#first")
        page.run("document.getElementById('submit').open = true")
        page.until("document.querySelector('[name=rate]')")
        page.choose("#elf", GUEST)
        page.run("var form = document.querySelector('#submit form'), own = form.elements")
        page.run("own.hex.value = '0xABC'; form.requestSubmit()")
        page.until("document.getElementById('problem').innerText.includes('two hexadecimal digits')")
        page.run("own.hex.value = '0xAB CD'; own.rate.value = 8; own.exit_code.value = 'any'; own.timeout.value = 1.5")
        page.run("own.commit_input.checked = true; form.requestSubmit()")
        page.until("location.pathname.startsWith('/jobs/')")
        (job,) = closed.client(TOKEN).jobs()
        assert job["options"] == {"rate": 8, "exit_code": "any", "commit_input": True} and job["timeout"] == 1.5
        assert job["program_name"] == GUEST.name and closed.store.upload("inputs", job["input"]) == b"\xab\xcd"
        page.until(f"document.getElementById('job').innerText.includes('{job['id']}')")
        page.open("about:blank")


def test_the_page_of_the_interface_has_all_requests_and_bodies(quiet: Quiet, page: Browser) -> None:
    page.open(url(quiet, "/docs#JobRequest"))
    page.until("document.querySelector('#bodies details')")
    described = quiet.ask("GET", "/openapi.json").json
    requests = page.run("[...document.querySelectorAll('#requests code')].map(each => each.innerText)")
    assert {path for path in requests if path.startswith("/")} >= set(described["paths"])
    assert page.run("document.getElementById('JobRequest').open")
    assert "graphprover verify" in requests and "`" not in page.run("document.body.textContent")
    assert "exit_code" in text(page, "#JobRequest") and "From -1000 to 1000" in text(page, "#JobRequest")
