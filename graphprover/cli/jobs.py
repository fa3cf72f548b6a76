"""``graphprover jobs``: the jobs of a proving service, and their proofs."""

import argparse
import textwrap
import time
from collections.abc import Callable, Mapping
from typing import Any

from graphprover.cli import text_output
from graphprover.cli.args import Command, add_json, add_output, count
from graphprover.cli.connection import add_connection, connected
from graphprover.runtime.display.section import Block, Section
from graphprover.runtime.errors import OK
from graphprover.runtime.files import check_writable, write
from graphprover.service.client import printable, with_fields
from graphprover.service.states import DONE, QUEUED, STATES
from graphprover.vm.statement.claim import shown

LISTED = 20  # jobs of a list by default
# Fields of answers that are shown, with their types, beside the ones that the client reads.
JOB_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("name", "program", "program_name"), str),
    **dict.fromkeys(("input", "worker"), str | None),
    "options": dict,
    "priority": int,
    "created": float | int,
}
CLAIM_FIELDS = {"says": dict, "parameters": dict, "proof_bytes": int, "security_bits": float | int}
SAYS_FIELDS = {"output": dict, "exit_code": int, "cycles": int}
REPORT_FIELDS: dict[str, Any] = {
    "cycles": int | None,
    **dict.fromkeys(("cells", "peak_bytes"), int),
    "compile_seconds": float | int,
    "cycles_per_second": float | int | None,
    "worker": str | None,
    "seconds": dict,
}

SHOWN = 60  # characters of a name or a problem in a list


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        lambda options: OK,
        "A client sees the jobs of its token. `graphprover submit` submits one. IDs are the ones that it prints with "
        "--no-wait, and `graphprover jobs list`.",
        ["list --state failed", "list --limit 3000 --json", "show ID", "fetch ID -o proof.bin", "cancel ID"],
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    def action(name: str, run: Callable[[argparse.Namespace], int], help: str) -> argparse.ArgumentParser:
        own = actions.add_parser(
            name,
            help=help,
            description=textwrap.fill(help, 79),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        own.set_defaults(command=run)
        if run is not _list:
            own.add_argument("id", metavar="ID", help="Id of the job, 32 hexadecimal digits.")
        return own

    listing = action("list", _list, "List the newest jobs, and count all by state.")
    listing.add_argument("--state", choices=STATES, metavar="STATE", help=f"Only jobs that are {', '.join(STATES)}.")
    listing.add_argument("--name", metavar="TEXT", help="Only jobs with TEXT in their names.")
    listing.add_argument(
        "--program", metavar="TEXT", help="Only jobs with TEXT in their guest's name, or at the start of its hash."
    )
    listing.add_argument("--limit", type=count, default=LISTED, metavar="N", help=f"Most jobs. Default: {LISTED}.")
    fetch = action("fetch", _fetch, "Write the proof of a job that is done. It is not verified: `graphprover verify`.")
    add_output(fetch, "proof.bin")
    others = (
        action("show", _show, "Show a job, its place in the queue, its error or the statement of its proof."),
        action("cancel", _cancel, "Cancel a job that has not ended."),
        action("report", _report, "Show how the proof of a job was made: seconds by stage, speed, memory."),
    )
    for own in (listing, fetch, *others):
        add_connection(own)
        add_json(own)


def _list(options: argparse.Namespace) -> int:
    with connected(options) as client:
        found = client.jobs(options.state, options.limit, options.name, options.program)
        jobs = [with_fields(job, JOB_FIELDS) for job in found]
        counts = client.counts()

    def describe() -> list[Block]:
        total = ", ".join(f"{number:,} {state}" for state, number in counts.items())
        more = "; --limit N lists more" if len(jobs) == options.limit else ""
        heads = ("id", "state", "name", "guest", "priority", "created", "seconds", "progress or problem")
        rows = [(job["id"], job["state"], *_columns(job)) for job in jobs]
        return [Section([heads, *rows]), f"all jobs: {total}{more}"] if rows else [f"no such job; all jobs: {total}"]

    text_output.say({"jobs": jobs, "counts": counts}, describe, options)
    return OK


def _columns(job: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the columns of a list after the id and the state."""
    seconds = _seconds(job)
    return (
        _cut(job["name"]),
        _cut(job["program_name"]),
        job["priority"],
        _time(job["created"]),
        "-" if seconds is None or job["from_store"] else f"{seconds:,.1f}",
        _cut(job["problem"]) or _progress(job),
    )


def _show(options: argparse.Namespace) -> int:
    with connected(options) as client:
        job = with_fields(client.job(options.id), JOB_FIELDS)
        before = client.position(options.id) if job["state"] == QUEUED else None
        claim = client.claim(options.id) if job["state"] == DONE else None
    given = ", ".join(f"{name} {value}" for name, value in job["options"].items())
    seconds = _seconds(job)
    lines = {
        "job": job["id"],
        "name": job["name"],
        "state": job["state"] + (", from the store" if job["from_store"] else ""),
        "problem": job["problem"],
        "progress": _progress(job),
        "queue": None if before is None else f"{before:,} before it",
        "guest": f"{job['program_name']} {job['program']}",
        "input": job["input"] or "none",
        "options": given or "the defaults",
        "priority": str(job["priority"]),
        "created": _time(job["created"]),
        "started": _time(job["started"]),
        "ended": _time(job["ended"]),
        "seconds": None if seconds is None else f"{seconds:,.1f}",
        "worker": job["worker"],
    }
    if claim is not None:
        lines |= _statement(claim)
    facts = {"job": job, "jobs_before": before, "claim": claim}
    text_output.say(facts, lambda: [{name: printable(text) for name, text in lines.items() if text}], options)
    return OK


def _statement(claim: Any) -> dict[str, str]:
    """Return the statement of a proof and the facts of the proof, by name."""
    says = with_fields(with_fields(claim, CLAIM_FIELDS)["says"], SAYS_FIELDS)
    output = with_fields(says["output"], {"hex": str})["hex"]
    parameters = with_fields(claim["parameters"], {"log_blowup": int, "hash": str})
    return {
        "output": shown(bytes.fromhex(output)),
        "exit code": str(says["exit_code"]),
        "cycles": f"{says['cycles']:,}",
        "proof": f"{claim['proof_bytes']:,} bytes, {claim['security_bits']:g} provable bits, rate "
        f"1/{2 ** parameters['log_blowup']}, {parameters['hash']}",
    }


def _cancel(options: argparse.Namespace) -> int:
    with connected(options) as client:
        job = client.cancel(options.id)
    text_output.say(job, lambda: [f"{options.id}: {job['state']}"], options)
    return OK


def _fetch(options: argparse.Namespace) -> int:
    check_writable(options.output)
    with connected(options) as client:
        proof = client.proof(options.id)
    write(options.output, proof)
    place = text_output.place(options.output)
    verify = f"not verified: graphprover verify {options.output} GUEST.ELF"
    facts = {"job": options.id, "proof": {"file": str(options.output), "bytes": len(proof)}}
    text_output.say(facts, lambda: [{"proof": f"{place}, {len(proof):,} bytes", "verdict": verify}], options)
    return OK


def _report(options: argparse.Namespace) -> int:
    with connected(options) as client:
        report = with_fields(client.report(options.id), REPORT_FIELDS)

    def describe() -> list[Block]:
        cycles, speed, cost = report["cycles"], report["cycles_per_second"], report.get("cost")
        stages = with_fields(report["seconds"], dict.fromkeys(report["seconds"], float | int))
        lines = {
            **({"cycles": f"{cycles:,}"} if cycles is not None else {}),
            **({"speed": f"{speed:,.0f} cycles/s"} if speed else {}),
            "cells": f"{report['cells']:,} committed",
            **({"cost": f"{cost:,}"} if isinstance(cost, int) else {}),
            "memory": f"{report['peak_bytes'] / 2**20:,.0f} MiB, as planned for the device",
            "worker": printable(report["worker"]) or "the prover process of the service",
        }
        compiled = report["compile_seconds"]
        rows = [(printable(name), f"{seconds:.3f}") for name, seconds in stages.items()]
        rows += [("of prepare and prove: compiling kernels, once", f"{compiled:.3f}")] if compiled else []
        return [lines, Section([("stage", "seconds"), *rows])]

    text_output.say(report, describe, options)
    return OK


def _seconds(job: Mapping[str, Any]) -> float | None:
    """Return the seconds since the start of a job, until its end if it has ended."""
    if job["started"] is None:
        return None
    return max(0.0, (time.time() if job["ended"] is None else job["ended"]) - job["started"])


def _progress(job: Mapping[str, Any]) -> str:
    progress = job["progress"]
    return f"{progress['tasks_ended']} of {progress['tasks']} tasks" if progress else ""


def _time(seconds: float | None) -> str:
    """Return a time of this host's zone; nothing for a time that has not come."""
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _cut(text: str | None) -> str:
    line = printable(text)
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 3]}..."
