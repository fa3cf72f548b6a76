"""The page of one proof: conclusions, then times, rounds, tables, memory, security and size."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from graphprover.reports import charts
from graphprover.reports.conclusion import MODELLED, findings, processor_text, ratio_text, sentence
from graphprover.reports.page_parts import (
    MOST,
    STYLE,
    findings_html,
    floor_cell,
    group_of,
    groups,
    legend,
    ratio_cell,
    rounds_legend,
    seconds_cell,
    short,
)
from graphprover.reports.plan_svg import share_text
from graphprover.reports.plan_text import bytes_text, time_text
from graphprover.reports.tree_part import tree_html, tree_line
from graphprover.runtime.display.browser import TableCell, label, page, table
from graphprover.telemetry.model import ObservedMachine, ObservedTask, lanes_of
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.rounds import RoundTime
from graphprover.telemetry.tree import critical_path

# Styles of a shard's stages in their lane.
RECORD, LAY_OUT = "record", "lay out"  # by workers that share a run
PREPARE, WAIT, COMMIT, PROVE, VERIFY = "prepare", "wait", "commit", "prove", "verify"
SAYS = {
    RECORD: "is recorded",
    LAY_OUT: "is laid out in tables",
    PREPARE: "is cut out of the run",
    WAIT: "waits for memory",
    COMMIT: "commits",
    PROVE: "is proved",
    VERIFY: "is verified",
}
PARTS = {
    RECORD: charts.COLOURS["queries"],
    LAY_OUT: charts.COLOURS["FRI"],
    PREPARE: charts.COLOURS["traces"],
    WAIT: charts.COLOURS["DEEP"],
    COMMIT: charts.COLOURS["commit"],
    PROVE: charts.COLOURS["quotient"],
    VERIFY: charts.OTHER,
}


def proof_page(observation: Observation, data: str = "") -> str:
    """Return the HTML page of a proof, which needs no network.

    The page of a compressed proof has its tree, and parts about the base and the layers on the critical path.

    Args:
        observation: The observation of the proof.
        data: The name of the input, if there is one.

    Raises:
        FileError: bokeh is not installed.
    """
    proofs = _on_path(observation)
    plots: dict[str, charts.Plot] = {}
    for number, one in enumerate(proofs):
        line = _time_line(one)
        plots[f"times {number}"] = line
        plots[f"memory {number}"] = charts.lines(_memory(one), _unit(one)[0], line)
    if observation.tree:
        plots["tree"] = tree_line(observation)
    script, drawn = charts.embedded(plots)
    parts = [tree_html(observation, drawn["tree"])] if observation.tree else []
    for number, one in enumerate(proofs):
        title = _titled(one, "" if one.layer else data)
        parts.append(_proof(one, title, drawn[f"times {number}"], drawn[f"memory {number}"]))
    return page(f"Report of {_titled(observation, data)}", "\n".join([*parts, script]), STYLE)


def _on_path(observation: Observation) -> Sequence[Observation]:
    """Return the observations of the base, if there is one, and of the layers on the critical path."""
    if not observation.tree:
        return observation.proofs
    layers = observation.proofs[observation.layer == 0 :]
    first = len(observation.tree) - len(layers)
    path = critical_path(observation.tree)
    on_path = [layer for number, layer in enumerate(layers, first) if number in path]
    return [*([observation] if observation.layer == 0 else []), *on_path]


def _proof(observation: Observation, title: str, times: str, memory: str) -> str:
    """Return the part of the page about one proof; ``times`` and ``memory``: the HTML of its charts."""
    return f"""<h1>{escape(short(title))}</h1>
<p>{escape(_statement(observation))}</p>
<p>{escape(_where(observation))}</p>
<p class="said">{escape(sentence(observation))}</p>
{findings_html(findings(observation))}
<p>{MODELLED} marks what is modelled: a floor is the shortest time that the plan's operations and bytes can take at the
assumed rates ({escape(observation.roofline)}); tables that share a task share its time as the plan divides it.
{_device_text(observation)}</p>
<h2>Time line</h2>
{rounds_legend(groups(observation))}
<p>Drag to zoom, or turn the wheel with Ctrl; the charts move together. {_lanes_text(observation)}</p>
<figure>{times}</figure>
<h2>Memory</h2>
{_memory_legend(observation)}
<figure>{memory}</figure>
{_workers(observation) if observation.workers else ""}{_shards(observation) if observation.shards else ""}
<div class="columns wide">
<section><h2>Rounds</h2>
<p>Seconds in which one of its tasks ran{", of all shards" * bool(observation.shards)}; what Python took is the sum
over its tasks.</p>
{_rounds(observation)}</section>
<section><h2>Tables in rounds</h2>
<p>The slowest first; the small figure is the share of the round.</p>
{_table_times(observation)}</section>
</div>
<h2>Tables</h2>
<p>Seconds of each table by round.</p>
{_tables(observation)}
<h2>Stages</h2>
{_stages(observation)}
<div class="columns">
<section><h2>Security by round</h2>{_security(observation)}</section>
<section><h2>Proof by part</h2>{_sizes(observation)}</section>
<section><h2>Parameters</h2>{facts(_parameters(observation))}</section>
<section><h2>Statement and machine</h2>{facts(_machine(observation))}</section>
<section><h2>Versions</h2>{facts(observation.versions.items())}</section>
</div>"""


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """Return a table of names and values."""
    return table((), [(label(text), label(str(value))) for text, value in rows])


def _titled(observation: Observation, data: str) -> str:
    """Return the name of a proof, a program's without its folder, with the name of its input if there is one."""
    name, (program, _, _) = Path(observation.name).name, observation.label.partition(" ")
    own = name if program and name.startswith(program) else observation.name or "a proof"
    return f"{own} on {data}" if data else own


def _statement(observation: Observation) -> str:
    """Return the program, the result of the run and the parameters of a proof, and its date."""
    run, own, (_, _, program) = observation.run, observation.parameters, observation.label.partition(" ")
    facts = [f"program {program}"] if program and not observation.layer else []
    if run:
        facts += [f"exit code {run.exit_code}", f"output {run.output}"]
        facts += [] if run.cost is None else [f"cost {run.cost:,}"]
    facts += [f"rate 1/{1 << own.log_blowup}", own.hash]
    began = datetime.fromtimestamp(observation.began, UTC)
    return f"{began:%Y-%m-%d %H:%M} UTC: {'; '.join(facts)}."


def _where(observation: Observation) -> str:
    machine = observation.machine
    on = _hardware(machine)
    worker = f", by worker {observation.worker}" if observation.worker else ""
    worker += f", by {len(observation.workers)} workers" if observation.workers else ""
    shards = f" in {len(observation.shards)} shards" if observation.shards else ""
    return f"Proved on {on} ({observation.device}){worker}, {len(observation.tables)} tables{shards}."


def _on_gpu(observation: Observation) -> bool:
    return observation.device != "cpu"


def _hardware(machine: ObservedMachine) -> str:
    """Return the hardware of a proof."""
    return machine.gpu or f"{machine.threads} thread{'s' * (machine.threads > 1)} of {machine.cpu}"


def _time_line(observation: Observation) -> "charts.Plot":
    boxes = [
        charts.Box(
            "stages", one.start, one.end, charts.OTHER, f"{one.name}\n{time_text(one.seconds)}", faint=number % 2 == 1
        )
        for number, one in enumerate(observation.stages)
    ]
    of_shards = lanes_of(observation.shards)
    for index, stage, lane in of_shards:
        says = f"shard {index}: {stage.name}\n{time_text(stage.seconds)} from {stage.start:.3f} s"
        faint = index // max(len(observation.workers), 1) % 2 == 1
        boxes.append(charts.Box(lane, stage.start, stage.end, PARTS[stage.name], says, faint))
    for task in observation.tasks:
        colour, title = charts.COLOURS[group_of(task.round)], _details(observation, task)
        boxes.append(charts.Box(observation.lane(task.thread), task.start, task.end, colour, title))
        if _on_gpu(observation):
            boxes.append(charts.Box(_gpu_lane(observation, task), task.device_start, task.device_end, colour, title))
    threads = [observation.lane(number) for number in sorted({task.thread for task in observation.tasks})]
    gpus = sorted({_gpu_lane(observation, task) for task in observation.tasks}) if _on_gpu(observation) else []
    lanes = ["stages", *sorted({lane for *_, lane in of_shards}), *gpus, *threads]
    first = min((task.start for task in observation.tasks), default=0.0)
    last = max((task.device_end for task in observation.tasks), default=observation.end)
    edge = 0.01 * (last - first)
    return charts.time_line(lanes, boxes, (max(first - edge, 0.0), min(last + edge, observation.end)), observation.end)


def _gpu_lane(observation: Observation, task: ObservedTask) -> str:
    return f"{observation.workers[observation.maker(task.thread)].address} GPU" if observation.workers else "GPU"


def _device_text(observation: Observation) -> str:
    """Return the explanation of the limits of a round."""
    return f"The host is Python; the device is {'the GPU' if _on_gpu(observation) else 'what compiled kernels do'}."


def _lanes_text(observation: Observation) -> str:
    if observation.workers:
        return "A lane for each worker's shards, and one for each of its threads; white between shards: it waited."
    if _on_gpu(observation):
        return "GPU: what ran there, by its own clock; threads: what the host did meanwhile, which enqueues it."
    return "A lane for each thread."


def _details(observation: Observation, task: ObservedTask) -> str:
    """Return the tooltip of a task."""
    planned, shard = task.planned, "" if task.shard is None else f", shard {task.shard}"
    said = [
        f"{task.round} of {short(task.name)}{shard}",
        f"{time_text(task.device_seconds)} from {task.device_start:.3f} s",
    ]
    said.append(f"Python took {time_text(task.worked)}")
    if planned.seconds:
        ratio = ratio_text(task.device_seconds / planned.seconds)
        said.append(f"{ratio} its floor, {MODELLED} {time_text(planned.seconds)} for {planned.bound}")
    if _on_gpu(observation):
        said.append(f"{task.launches} launches, {bytes_text(task.uploaded)} up, {bytes_text(task.downloaded)} down")
    if len(task.tables) > 1:
        said.append(f"{len(task.tables)} tables share it")
    return "\n".join([*said, f"{bytes_text(task.held)} held after it"])


def _unit(observation: Observation) -> tuple[str, int]:
    most = max(observation.memory.peak, observation.memory.before + observation.memory.planned)
    return ("GiB", 1 << 30) if most >= 2 << 30 else ("MiB", 1 << 20)


def _memory(observation: Observation) -> list[charts.Line]:
    """Return the lines of held and planned memory after each task, and of their peaks."""
    _, unit = _unit(observation)
    tasks, before = sorted(_tasks_of_most(observation), key=lambda task: task.device_end), observation.memory.before
    measured, planned = charts.COLOURS["commit"], charts.COLOURS["lookups"]
    return [
        charts.Line("held", [(task.device_end, task.held / unit) for task in tasks], measured),
        charts.Line("planned", [(task.device_end, (before + task.planned.held) / unit) for task in tasks], planned),
        charts.Line("peak", [(0.0, observation.memory.peak / unit)], measured, dashed=True),
        charts.Line("planned peak", [(0.0, (before + observation.memory.planned) / unit)], planned, dashed=True),
        *([charts.Line("kept", _kept(observation, unit), charts.COLOURS["DEEP"])] if _waits_here(observation) else []),
    ]


def _tasks_of_most(observation: Observation) -> Sequence[ObservedTask]:
    """Return the tasks of the memory chart: of the worker with the highest peak, if there are several."""
    most = [worker.threads for worker in observation.workers if worker.memory == observation.memory][:1]
    return [task for task in observation.tasks if task.thread in most[0]] if most else observation.tasks


def _waits_here(observation: Observation) -> bool:
    """Return whether the shards wait on one device."""
    return bool(observation.shards) and not observation.workers


def _kept(observation: Observation, unit: int) -> list[tuple[float, float]]:
    """Return the planned bytes of waiting shards, beyond those before the proof, between each shard's two tasks."""
    changes = [
        (stage.end, shard.kept) for shard in observation.shards for stage in shard.stages if stage.name == COMMIT
    ]
    changes += [
        (stage.start, -shard.kept) for shard in observation.shards for stage in shard.stages if stage.name == PROVE
    ]
    points, held = (
        [(observation.shards[0].stages[0].start, observation.memory.before / unit)],
        observation.memory.before,
    )
    for time, bytes_ in sorted(changes):
        held += bytes_
        points.append((time, held / unit))
    return points


def _memory_legend(observation: Observation) -> str:
    memory, drawn = observation.memory, _memory(observation)
    foreseen = memory.before + memory.planned
    says = (
        "held by the device after each task" if _on_gpu(observation) else "held by the process after each task",
        f"{MODELLED} by the plan, above what was held before",
        f"peak: {bytes_text(memory.peak)}",
        f"{MODELLED} peak by the plan: {bytes_text(foreseen)}, of it {bytes_text(memory.before)} held before",
        *(
            [f"{MODELLED} kept of shards that wait, by the plan, above what was held before"]
            if _waits_here(observation)
            else []
        ),
    )
    parts = (
        f'<li><i class="line{" dashed" * line.dashed}" style="border-color:{line.colour}"></i>{escape(text)}</li>'
        for line, text in zip(drawn, says, strict=True)
    )
    return f'<ul class="legend">{"".join(parts)}</ul>'


def _workers(observation: Observation) -> str:
    """Return the table of workers: their shards, memory and clock errors."""
    rows = []
    for worker in observation.workers:
        memory, machine = worker.memory, worker.machine
        busy = sum(
            stage.seconds
            for shard in observation.shards
            for stage in shard.stages
            if shard.maker(stage) == worker.address
        )
        made = [str(index) for index, shard in enumerate(observation.shards) if worker.address in shard.workers]
        rows.append(
            [
                label(worker.address),
                label(_hardware(machine)),
                label(machine.host),
                label(", ".join(made)),
                seconds_cell(busy, observation.seconds("prove")),
                TableCell(time_text(worker.waited), worker.waited),
                TableCell(bytes_text(memory.peak), memory.peak),
                TableCell(f"{MODELLED} {bytes_text(memory.before + memory.planned)}", memory.before + memory.planned),
                TableCell(bytes_text(worker.received), worker.received),
                TableCell(processor_text(worker.processor), worker.processor.used),
                TableCell(f"{worker.clock_ahead * 1e3:+.1f} ms, ± {worker.clock_error * 1e3:.1f}", worker.clock_ahead),
            ]
        )
    heads = ("worker", "device", "host", "shards", "busy", "waited for the joint challenge", "peak memory", "planned")
    return f"""<h2>Workers</h2>
<p>The joint challenge is drawn once all shards have committed: a worker waits from its last that commits to its first
that is proved. Times are on this process's clock: each worker's is moved only as far as it must be for nothing to come
before its cause, and ± is how far it may still be off. The memory chart is of the worker that held most.</p>
{table((*heads, "sent to the client", "processor", "its clock"), rows)}
"""


def _shards(observation: Observation) -> str:
    """Return the table of shards with the time of each round."""
    of_shards = [{one.round: one for one in rounds} for rounds in observation.rounds_of_shards]
    whole = sum(shard.seconds() for shard in observation.shards)
    longest = max((shard.stages for shard in observation.shards), key=len)  # a lost window's first stages are unknown
    stages = list(dict.fromkeys(stage.name for stage in longest))
    order = "" if observation.workers else ", the last one first"
    rows, by_round = [], []
    for index, (shard, rounds) in enumerate(zip(observation.shards, of_shards, strict=True)):
        name, size = TableCell(f"shard {index}", index), sum(shard.sizes.values())
        floor = sum(one.floor for one in rounds.values())
        makers = [label(", ".join(dict.fromkeys(shard.workers)))] if shard.workers else []
        rows.append(
            [
                name,
                *makers,
                seconds_cell(shard.seconds(), whole),
                *(TableCell(time_text(shard.seconds(stage)), shard.seconds(stage)) for stage in stages),
                floor_cell(floor),
                TableCell(f"{shard.tables:,}", shard.tables),
                label(shard.keep),
                TableCell(f"{MODELLED} {bytes_text(shard.kept)}", shard.kept),
                TableCell(f"{MODELLED} {bytes_text(shard.planned)}", shard.planned),
                TableCell(bytes_text(size), size),
            ]
        )
        seconds = {one.round: rounds[one.round].seconds if one.round in rounds else 0.0 for one in observation.rounds}
        most = max((one.seconds for found in observation.rounds_of_shards for one in found), default=0.0)
        ran = (TableCell(time_text(time), time, part=time / most if most else 0.0) for time in seconds.values())
        by_round.append(
            [name, seconds_cell(sum(seconds.values()), sum(one.seconds for one in observation.rounds)), *ran]
        )
    heads = (
        "shard",
        *["worker"] * bool(observation.workers),
        "all",
        *stages,
        "floor",
        "tables",
        "keeps",
        "kept",
        "peak",
        "in the proof",
    )
    return f"""<h2>Shards</h2>
<p>Each commits, and waits until all have; then they are proved{order}. What is kept of a shard while it
waits, and the peak while it is made with what is kept of others, are by the plan. Colours of their lane:</p>
{legend({says: PARTS[name] for name, says in SAYS.items() if name in stages})}
{table(heads, rows, MOST)}
<p>Seconds of each shard by round.</p>
{table(("shard", "all", *(one.round for one in observation.rounds)), by_round, MOST)}
"""


def _rounds(observation: Observation) -> str:
    proving, gpu = observation.proving, _on_gpu(observation)
    heads = ["round", "seconds", "floor", "times floor", "floor is for", "bound by", "Python", "tasks"]
    return table(
        [*heads, *(["launches", "up", "down"] if gpu else [])],
        [_round(one, proving, gpu) for one in observation.rounds],
    )


def _round(one: RoundTime, proving: float, gpu: bool) -> list[TableCell]:
    cells = [
        label(one.round),
        seconds_cell(one.seconds, proving),
        floor_cell(one.floor),
        ratio_cell(one.ratio),
        label(one.bound),
        label(one.limited_by),
        TableCell(time_text(one.worked), one.worked),
        TableCell(f"{one.tasks:,}", one.tasks),
    ]
    bus = [TableCell(bytes_text(count), count) for count in (one.uploaded, one.downloaded)]
    return [*cells, TableCell(f"{one.launches:,}", one.launches), *bus] if gpu else cells


def _table_times(observation: Observation) -> str:
    of_round = {one.round: one.seconds for one in observation.rounds}
    rows = [
        [
            label(str(observation.tables[one.table])),
            label(one.round),
            seconds_cell(one.seconds, of_round[one.round], f"{MODELLED} " if one.modelled else ""),
            floor_cell(one.floor),
            ratio_cell(one.ratio),
            TableCell(f"{observation.tables[one.table].rows:,}", observation.tables[one.table].rows),
            TableCell(f"{observation.tables[one.table].columns:,}", observation.tables[one.table].columns),
        ]
        for one in sorted(observation.table_times, key=lambda one: -one.seconds)
    ]
    return table(("table", "round", "seconds", "floor", "times floor", "rows", "columns"), rows, MOST)


def _tables(observation: Observation) -> str:
    times = {(one.table, one.round): one for one in observation.table_times}
    rounds = list(dict.fromkeys(one.round for one in observation.table_times))
    sums = {
        number: sum(times[number, of].seconds for of in rounds if (number, of) in times)
        for number in range(len(observation.tables))
    }
    most = max((one.seconds for one in observation.table_times), default=0.0)
    rows = []
    for number in sorted(sums, key=lambda number: -sums[number]):
        cells = [label(str(observation.tables[number])), seconds_cell(sums[number], sum(sums.values()))]
        for of in rounds:
            one = times.get((number, of))
            mark = f"{MODELLED} " if one and one.modelled else ""
            seconds = one.seconds if one else 0.0
            cells.append(
                TableCell(f"{mark}{time_text(seconds)}" if one else "", seconds, part=seconds / most if most else 0.0)
            )
        rows.append(cells)
    return table(("table", "all", *rounds), rows, MOST)


def _stages(observation: Observation) -> str:
    lower_bounds = {"prove": sum(one.floor for one in observation.rounds)}
    rows = []
    for stage in observation.stages:
        floor = lower_bounds.get(stage.name, 0.0)
        by = f"{stage.name} (worker)" if stage.by_worker else stage.name
        rows.append(
            [
                label(by),
                seconds_cell(stage.seconds, observation.end),
                floor_cell(floor),
                ratio_cell(stage.seconds / floor if floor else None),
            ]
        )
    return table(("stage", "seconds", "floor", "times floor"), rows)


def _security(observation: Observation) -> str:
    found = observation.security.regime
    rows = []
    for one in found.rounds:
        bits = one.bits
        text = f"{bits:.1f}" if bits < float("inf") else "no challenge is bad"
        rows.append([label(one.name), TableCell(text, min(bits, 1e9)), TableCell(f"{one.pow_bits}", one.pow_bits)])
    return table(("round", "bits", "of them by work"), rows) + f"<p>{escape(observation.security.conclusion)}</p>"


def _sizes(observation: Observation) -> str:
    total = sum(observation.sizes.values())
    rows = [
        [label(part), TableCell(bytes_text(size), size, share_text(size, total), size / total)]
        for part, size in observation.sizes.items()
    ]
    return table(("part", "bytes"), [*rows, [label("all"), TableCell(f"{total:,} B", total)]])


def _parameters(observation: Observation) -> Sequence[tuple[str, object]]:
    from dataclasses import asdict

    return [(name.replace("_", " "), value) for name, value in asdict(observation.parameters).items()]


def _machine(observation: Observation) -> Sequence[tuple[str, object]]:
    machine = observation.machine
    found: list[tuple[str, object]] = [
        ("statement", observation.label),
        ("host", machine.host),
        ("processor", machine.cpu),
        ("cores", machine.cores),
    ]
    found += [("threads", machine.threads), ("device", observation.device), ("its memory", bytes_text(machine.memory))]
    found += [("GPU", machine.gpu)] if machine.gpu else []
    return [
        *found,
        ("executor", observation.executor),
        *([("worker", observation.worker)] if observation.worker else []),
    ]
