"""The page of a batch: its jobs by worker over time, the time of each by round, failures and retries."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from graphprover.jobs.programs import title_of
from graphprover.reports import charts
from graphprover.reports.conclusion import MODELLED, Finding, processor_text, ratio_text, slowest
from graphprover.reports.page_parts import (
    MOST,
    STYLE,
    findings_html,
    floor_cell,
    groups,
    legend,
    ratio_cell,
    rounds_legend,
    seconds_cell,
    short,
)
from graphprover.reports.plan_svg import share_text
from graphprover.reports.plan_text import bytes_text, time_text
from graphprover.runtime.display.browser import TableCell, label, page, table
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.rounds import covered

MOST_JOBS = 60  # the jobs with the slowest rounds, which are drawn
STAGES = {"prove": charts.COLOURS["commit"], "verify": charts.COLOURS["quotient"]}  # their colours
WAITED = "wait"  # the stage of a job that waits for memory
PROVE = "prove"  # the stage with the rounds
LONGEST = {"prepare": "its run, traces and first kernels", WAITED: "waiting for memory", "verify": "verification"}

Job = Mapping[str, Any]  # a job in JSON (``json_output.job``)
Span = tuple[float, float]


def batch_page(title: str, jobs: Sequence[Job], figures: Mapping[str, Any], observation: Sequence[Observation]) -> str:
    """Return the HTML page of a batch, which needs no network.

    Args:
        title: The name of the batch.
        jobs: The outcomes of its jobs.
        figures: Its figures (``batch_figures.figures``).
        observation: The observations of the jobs' proofs, with the jobs' names. A layer has a bar of its own.

    Raises:
        FileError: Without bokeh.
    """
    named = [one.named(title_of(one.label.split(" ")[0], one.name)) for one in observation]
    observation = [proof for one in named for proof in one.proofs]
    jobs = [{**job, "name": title_of(job["program"], job["name"])} for job in jobs]
    parts = [f"<h1>{escape(short(title))}</h1>", f'<p class="said">{escape(_sentence(jobs, observation))}</p>']
    parts.append(findings_html([*_findings(jobs, observation), *_figures(figures)]))
    failed = [job for job in jobs if job["outcome"] == "failed"]
    if failed:
        columns = ("name", "worker", "attempts", "error")
        rows = [[label(str(job[column] or "")) for column in columns] for job in failed]
        parts.append(f"<h2>Failures</h2>{table(('job', *columns[1:]), rows, MOST)}")
    if observation:
        parts.append(_drawn(observation))
    parts.append(f"<h2>Jobs</h2>{_jobs(jobs, named)}")
    return page(f"Report of {title}", "\n".join(parts), STYLE)


def _drawn(observation: Sequence[Observation]) -> str:
    """Return the parts of the page about observed proofs."""
    lanes, whole = _lanes(observation), _whole(observation)
    by_worker = charts.time_line(list(dict.fromkeys(lanes)), _by_worker(observation, lanes), whole, whole[1])
    slow = sorted(observation, key=_of_rounds)[-MOST_JOBS:][::-1]
    longest = _of_rounds(slow[0]) or 1.0
    names = _bars(slow)
    by_round = charts.time_line(names, _by_round(slow, names), (0.0, longest), longest)
    script, drawn = charts.embedded({"workers": by_worker, "rounds": by_round})
    return f"""<h2>Jobs by worker</h2>
{legend(STAGES | {"other": charts.OTHER})}
<p>Drag to zoom, or turn the wheel with Ctrl. Faint: a job waited for memory.</p>
<figure>{drawn["workers"]}</figure>
<h2>Rounds of {"the slowest " if len(slow) < len(observation) else ""}jobs</h2>
{rounds_legend({group for one in slow for group in groups(one)})}
<p>Seconds in which a task of the round ran, the longest sum first.</p>
<figure>{drawn["rounds"]}</figure>
<h2>Rounds of all jobs</h2>
{_rounds(observation)}
{script}"""


def _of_rounds(observation: Observation) -> float:
    """Return the seconds of a job's rounds, the length of its bar."""
    return sum(groups(observation).values())


def _sentence(jobs: Sequence[Job], observation: Sequence[Observation]) -> str:
    by_name = {one.name: one for one in _findings(jobs, observation)}
    first = by_name["jobs"]
    counted = f"{first.figure} job{'s' * (len(jobs) != 1)}: {first.beside}."
    if not observation:
        return counted
    slow, worst, busy = (by_name[name] for name in ("slowest job", "slowest round", "workers busy"))
    return (
        f"{counted} The slowest is {slow.figure}: {slow.beside}. The slowest round of "
        f"all is {worst.figure}: {worst.beside}. Workers were busy for {busy.figure} of the time."
    )


def _findings(jobs: Sequence[Job], observation: Sequence[Observation]) -> list[Finding]:
    counts = {outcome: sum(job["outcome"] == outcome for job in jobs) for outcome in ("made", "kept", "failed")}
    said = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count)
    found = [Finding("jobs", f"{len(jobs):,}", said or "none")]
    again = [job for job in jobs if job["attempts"] > 1]
    repeated = Finding("tried again", f"{len(again):,}", ", ".join(short(job["name"]) for job in again[:3]))
    if not observation:
        return [*found, repeated]
    slow = max(observation, key=lambda one: one.end)
    mostly = f", mostly {part}" if (part := _longest_part(slow)) else ""
    found.append(Finding("slowest job", short(slow.name), f"{time_text(slow.end)}{mostly}"))
    sums = _sums(observation)
    if sums:
        name = max(sums, key=lambda of: sums[of][0])
        seconds, floor, _ = sums[name]
        far = f", {ratio_text(seconds / floor)} its floor" if floor else ""
        share = share_text(seconds, sum(one.seconds("prove") for one in observation))
        found.append(Finding("slowest round", name, f"{time_text(seconds)}, {share} of the graphs{far}"))
    workers = {one.worker for one in observation}
    busy = sum(covered([_span(one) for one in observation if one.worker == worker]) for worker in workers)
    start, end = _whole(observation)
    found.append(Finding("workers busy", share_text(busy, (end - start) * len(workers)), f"of {len(workers):,}"))
    starved = [one for one in observation if one.processor.starved]
    if starved:
        worst_off = max(starved, key=lambda one: one.processor.lacked)
        beside = f"{short(worst_off.name)} most: {processor_text(worst_off.processor)}"
        found.append(Finding("jobs on a starved host", f"{len(starved):,} of {len(observation):,}", beside))
    peak = max(observation, key=lambda one: one.memory.peak)
    found.append(Finding("peak memory", bytes_text(peak.memory.peak), short(peak.name)))
    bits = min(one.security.bits for one in observation)
    return [*found, Finding("security", f"{bits:.1f} bits", "of the weakest proof"), repeated]


def _longest_part(observation: Observation) -> str:
    """Return the part of a job that took most: its longest stage, or the longest round if that stage is the proof."""
    seconds = {stage.name: observation.seconds(stage.name) for stage in observation.stages}
    longest = max(seconds, key=lambda name: seconds[name], default=PROVE)
    if longest != PROVE:
        return LONGEST.get(longest, longest)
    worst = slowest(observation)
    return worst.round if worst else ""


def _figures(figures: Mapping[str, Any]) -> list[Finding]:
    """Return the figures of the whole batch; without a proof that it has made there are no times."""
    found = [Finding("retries", f"{figures['retries']:,}", f"in {time_text(figures['seconds'])}")]
    if figures["seconds_per_proof"] is None:
        return found
    median, most = ((name, time_text(seconds)) for name, seconds in figures["proof_seconds"].items())
    each = f"{time_text(figures['seconds_per_proof'])} each"
    found += [
        Finding("proofs an hour", f"{figures['proofs_per_hour']:,.0f}", each),
        Finding("time of a proof", f"{median[0]} {median[1]}", f"{most[0]} {most[1]}"),
    ]
    for name, energy in figures["energy"].items():
        if energy is None:
            continue
        title, joules = f"energy of the {name.upper()}", energy["joules"]
        if joules is None:
            found.append(Finding(title, "not measured", energy["problem"]))
        else:
            found.append(Finding(title, f"{joules:,.0f} J", f"{energy['joules_per_proof']:,.1f} J a proof"))
    return found


def _span(observation: Observation) -> Span:
    return observation.began, observation.began + observation.end


def _whole(observation: Sequence[Observation]) -> Span:
    """Return the time from 0 to the end of the last job."""
    began = min(one.began for one in observation)
    return 0.0, max(one.began + one.end for one in observation) - began


def _worker(observation: Observation) -> str:
    return observation.worker or "this process"


def _lanes(observation: Sequence[Observation]) -> list[str]:
    """Return the lane of each job, in order of workers: its worker's, or another one for jobs in parallel."""
    ended: dict[str, list[float]] = {}
    lanes = {}
    for place in sorted(
        range(len(observation)), key=lambda place: (_worker(observation[place]), observation[place].began)
    ):
        one = observation[place]
        free = ended.setdefault(_worker(one), [])
        start, end = _span(one)
        lane = next((lane for lane, until in enumerate(free) if until <= start), len(free))
        free[lane : lane + 1] = [end]
        lanes[place] = f"{_worker(one)}{f' ({lane + 1})' if lane else ''}"
    return [lanes[place] for place in range(len(observation))]


def _by_worker(observation: Sequence[Observation], lanes: Sequence[str]) -> list[charts.Box]:
    boxes, began = [], min(one.began for one in observation)
    for one, lane in zip(observation, lanes, strict=True):
        start = one.began - began
        for stage in one.stages:
            said = f"{short(one.name)}, {time_text(one.end)}\n{stage.name}: {time_text(stage.seconds)}"
            colour, faint = STAGES.get(stage.name, charts.OTHER), stage.name == WAITED
            boxes.append(charts.Box(lane, start + stage.start, start + stage.end, colour, said, faint))
    return boxes


def _bars(observation: Sequence[Observation]) -> list[str]:
    """Return the names of the jobs' bars; repeated names get a number."""
    counts: dict[str, int] = {}
    names = []
    for name in (short(one.name) for one in observation):
        counts[name] = counts.get(name, 0) + 1
        names.append(f"{name} ({counts[name]})" if counts[name] > 1 else name)
    return names


def _by_round(observation: Sequence[Observation], names: Sequence[str]) -> list[charts.Box]:
    boxes = []
    for one, name in zip(observation, names, strict=True):
        at = 0.0
        for group, seconds in groups(one).items():
            share = share_text(seconds, one.seconds("prove"))
            said = f"{name}\n{group}: {time_text(seconds)}, {share} of its graph"
            boxes.append(charts.Box(name, at, at + seconds, charts.COLOURS[group], said))
            at += seconds
    return boxes


def _sums(observation: Sequence[Observation]) -> dict[str, tuple[float, float, int]]:
    """Return for each round the seconds, the lower bound and the tasks of all jobs."""
    sums: dict[str, tuple[float, float, int]] = {}
    for one in (one for observation in observation for one in observation.rounds):
        seconds, floor, tasks = sums.get(one.round, (0.0, 0.0, 0))
        sums[one.round] = seconds + one.seconds, floor + one.floor, tasks + one.tasks
    return sums


def _rounds(observation: Sequence[Observation]) -> str:
    proving = sum(one.seconds("prove") for one in observation)
    rows = []
    for name, (seconds, floor, tasks) in sorted(_sums(observation).items(), key=lambda item: -item[1][0]):
        shown = seconds_cell(seconds, proving)
        ratio = ratio_cell(seconds / floor if floor else None)
        rows.append([label(name), shown, floor_cell(floor), ratio, _number(tasks)])
    said = f"<p>Sums over jobs; {MODELLED} marks what is modelled.</p>"
    return said + table(("round", "seconds", "floor", "times floor", "tasks"), rows)


def _number(value: float | None) -> TableCell:
    """Return a cell with a whole number; empty for None."""
    return TableCell("", 0) if value is None else TableCell(f"{value:,.0f}", value)


def _jobs(jobs: Sequence[Job], found: Sequence[Observation]) -> str:
    """Return the table of all jobs; unknown values of existing or failed jobs are empty.

    Jobs of one name have their observations in the order of both.
    """
    longest = max((one.end for one in found), default=0.0) or 1.0
    by_name: dict[str, list[Observation]] = {}
    for one in found:
        by_name.setdefault(one.name, []).append(one)
    rows = []
    for job in jobs:
        same = by_name.get(job["name"])
        observation, proof = same.pop(0) if same and job["outcome"] == "made" else None, job["proof"]
        size = proof["bytes"] if proof else 0
        cells = [label(job["name"]), label(job["outcome"]), label(job["worker"] or ""), _number(job["attempts"])]
        if observation:
            graph, floor = observation.seconds("prove"), sum(one.floor for one in observation.rounds)
            cells += [
                TableCell(time_text(observation.end), observation.end, part=observation.end / longest),
                label(_longest_part(observation)),
                TableCell(time_text(graph), graph),
                ratio_cell(graph / floor if floor else None),
                TableCell(bytes_text(observation.memory.peak), observation.memory.peak),
            ]
        else:
            cells += [TableCell("", 0), label(""), TableCell("", 0), ratio_cell(None), TableCell("", 0)]
        cells += [_number(job["cycles_per_second"]), _number(job["cost"])]
        rows.append([*cells, TableCell(bytes_text(size) if size else "", size)])
    heads = (
        "job",
        "outcome",
        "worker",
        "attempts",
        "seconds",
        "mostly",
        "graph",
        "times floor",
        "peak memory",
        "cycles/s",
        "cost",
        "proof",
    )
    return table(heads, rows, MOST)
