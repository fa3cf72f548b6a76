"""Conclusions about an observed proof: its slowest parts, its limits, and its times over their lower bounds."""

from collections.abc import Mapping
from dataclasses import dataclass

from graphprover.reports.plan_svg import share_text
from graphprover.reports.plan_text import bytes_text, time_text
from graphprover.telemetry.model import Processor
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.rounds import HOST, STARVED, RoundTime

SLOWEST_PART, SLOWEST_SHARD, BOUND = "slowest in it", "slowest shard", "bound by"
MODELLED = "≈"  # marks a modelled figure


@dataclass(frozen=True)
class Finding:
    """A conclusion: its name, its figure, and a remark."""

    name: str
    figure: str
    beside: str = ""


def slowest(observation: Observation) -> RoundTime | None:
    """Return the round with the most seconds; None without tasks."""
    return max(observation.rounds, key=lambda one: one.seconds, default=None)


def findings(observation: Observation) -> list[Finding]:
    """Return all conclusions, the most important first."""
    proving, worst = observation.proving, slowest(observation)
    found = [
        *_run(observation),
        Finding(
            "whole time",
            time_text(observation.end),
            f"{time_text(observation.seconds('prove'))} of it in {_graph(observation)}",
        ),
    ]
    if worst:
        share = f"{time_text(worst.seconds)}, {share_text(worst.seconds, proving)} of {_whole(observation)}"
        found += [
            Finding("slowest round", worst.round, share),
            _slowest_part(observation, worst),
            _bound(observation, worst),
        ]
        found.append(_floor("against its floor", worst.seconds, worst.floor))
    found += [_slowest_table(observation)] if observation.table_times else []
    found += [_slowest_shard(observation)] if observation.shards else []
    found += [_longest_wait(observation)] if observation.workers else []
    found.append(_floor("graph against floors", proving, sum(one.floor for one in observation.rounds)))
    busy, worked = (
        sum(task.device_seconds for task in observation.tasks),
        sum(task.worked for task in observation.tasks),
    )
    found += [
        Finding("host", share_text(worked, busy), f"{time_text(worked)} of the tasks' {time_text(busy)} in Python"),
        Finding(
            "scheduler",
            share_text(observation.idle, proving),
            f"no task ran for {time_text(observation.idle)} of {_whole(observation)}",
        ),
        _processor(observation.processor),
        _memory(observation),
        Finding("security", f"{observation.security.bits:.1f} bits", f"limited by {observation.security.binding}"),
    ]
    if observation.sizes:
        total, part = sum(observation.sizes.values()), max(observation.sizes, key=observation.sizes.__getitem__)
        found.append(Finding("proof", bytes_text(total), f"{share_text(observation.sizes[part], total)} of it {part}"))
    return found


def _run(observation: Observation) -> list[Finding]:
    """Return the cycles of a guest's run; nothing for tables."""
    run, rate = observation.run, observation.cycles_per_second
    if not run or not rate:
        return []
    return [Finding("cycles", f"{run.cycles:,}", f"{rate:,.0f}/s; {run.misaligned_accesses:,} misaligned accesses")]


def sentence(observation: Observation) -> str:
    """Return the conclusions about time as text."""
    by_name = {one.name: one for one in findings(observation)}
    whole, worst = by_name["whole time"], slowest(observation)
    if worst is None:
        return f"It took {whole.figure}; no task was seen."
    part, bound, floor = (by_name[name] for name in (SLOWEST_PART, BOUND, "against its floor"))
    far = f"It took {floor.figure} its floor, {floor.beside}." if worst.floor else "The plan knows no floor of it."
    by = f"The round is bound by {bound.figure}: {bound.beside}."
    if observation.processor.starved:
        by = f"The host was starved: {processor_text(observation.processor)}. What else bounds the proof is not known."
    return (
        f"The proof took {whole.figure}, {whole.beside}. The slowest round is {worst.round}: "
        f"{by_name['slowest round'].beside}. Slowest in it is {part.figure}: {part.beside}. "
        f"{by} {far}{_slowest_of_shards(by_name)}"
    )


def _slowest_part(observation: Observation, worst: RoundTime) -> Finding:
    """Return the slowest table of a round, or its slowest task if no task belongs to tables."""
    times = [one for one in observation.table_times if one.round == worst.round]
    task = max((task for task in observation.tasks if task.round == worst.round), key=lambda task: task.device_seconds)
    longest = f"{time_text(task.device_seconds)}, {share_text(task.device_seconds, worst.seconds)} of the round"
    if not times:
        return Finding(SLOWEST_PART, f"task {task.name}", f"{longest}, a task of all tables together")
    part = max(times, key=lambda one: one.seconds)
    mark = f"{MODELLED} " if part.modelled else ""
    said = [f"{mark}{time_text(part.seconds)}, {share_text(part.seconds, worst.seconds)} of the round"]
    said += [f"{ratio_text(part.ratio)} its floor"] if part.ratio else []
    if len(task.tables) > 1 and task.device_seconds > part.seconds:
        said.append(f"{len(task.tables)} tables together in one task {longest}")
    return Finding(SLOWEST_PART, f"table {observation.tables[part.table]}", ", ".join(said))


def _slowest_table(observation: Observation) -> Finding:
    sums: dict[int, float] = {}
    for one in observation.table_times:
        sums[one.table] = sums.get(one.table, 0.0) + one.seconds
    table = max(sums, key=sums.__getitem__)
    mark = f"{MODELLED} " if any(one.modelled for one in observation.table_times if one.table == table) else ""
    share = share_text(sums[table], sum(sums.values()))
    figure = f"{mark}{time_text(sums[table])} in all rounds, {share} of what tables took"
    return Finding("slowest table", str(observation.tables[table]), figure)


def _whole(observation: Observation) -> str:
    return f"the time of {len(observation.workers)} workers" if observation.workers else "the graph"


def _graph(observation: Observation) -> str:
    tasks = f"{len(observation.tasks)} tasks"
    return f"the {tasks} of {len(observation.shards)} shards" if observation.shards else f"the graph of {tasks}"


def _slowest_shard(observation: Observation) -> Finding:
    seconds = [shard.seconds() for shard in observation.shards]
    slowest_one = max(range(len(seconds)), key=seconds.__getitem__)
    share = share_text(seconds[slowest_one], sum(seconds))
    beside = f"{time_text(seconds[slowest_one])}, {share} of what the {len(seconds)} shards took"
    return Finding(SLOWEST_SHARD, f"shard {slowest_one}", beside)


def _longest_wait(observation: Observation) -> Finding:
    """Return the longest wait of a worker for the joint challenge."""
    worker = max(observation.workers, key=lambda worker: worker.waited)
    beside = f"{worker.address}, from its last shard that commits to its first that is proved"
    return Finding("wait for the joint challenge", time_text(worker.waited), beside)


def _slowest_of_shards(by_name: Mapping[str, Finding]) -> str:
    found = by_name.get(SLOWEST_SHARD)
    return f" The slowest shard is {found.figure}: {found.beside}." if found else ""


def _bound(observation: Observation, worst: RoundTime) -> Finding:
    if worst.limited_by == STARVED:
        return Finding(BOUND, "a starved host", processor_text(observation.processor))
    worked = f"Python took {time_text(worst.worked)} in its tasks"
    if worst.limited_by == HOST:
        return Finding(BOUND, "the host", worked)
    return Finding(BOUND, "the device", f"mostly {worst.bound} by the plan, {worked}" if worst.bound else worked)


def _floor(name: str, seconds: float, floor: float) -> Finding:
    if not floor:
        return Finding(name, "no floor", "the plan knows no work of it")
    return Finding(name, ratio_text(seconds / floor), f"{MODELLED} {time_text(floor)} by the plan")


def _processor(found: Processor) -> Finding:
    share = share_text(found.used, found.seconds * found.cores)
    return Finding("processor", f"{share} of {_cores(found)}", processor_text(found))


def processor_text(found: Processor) -> str:
    """Return the used and lacked processor time as text."""
    said = [f"{time_text(found.used)} of processor in {time_text(found.seconds)} ({_cores(found)})"]
    if found.waited is not None:
        said.append(f"threads waited {time_text(found.waited)} for a core")
    if found.throttled is not None:
        times = f"throttled {found.throttled:,} time{'s' * (found.throttled != 1)}"
        said.append(f"{times}, for {time_text(found.throttled_seconds or 0.0)}" if found.throttled else times)
    return "; ".join(said)


def _cores(found: Processor) -> str:
    return f"{found.cores:g} core{'s' * (found.cores != 1)}"


def _memory(observation: Observation) -> Finding:
    held, memory = bytes_text(observation.memory.peak), observation.memory
    beyond = max(memory.peak - memory.before, 0)
    planned = f"{bytes_text(beyond)} beyond the start, {MODELLED} {bytes_text(memory.planned)} planned"
    return Finding("peak memory", held, planned)


def ratio_text(ratio: float) -> str:
    """Return a ratio as text."""
    return f"{ratio:.1f} ×" if ratio < 100 else f"{ratio:,.0f} ×"
