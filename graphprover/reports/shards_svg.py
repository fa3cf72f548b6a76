"""The plan of a sharded proof as a picture: shards over time with the memory that is held, and the heaviest one."""

from collections.abc import Iterator

from graphprover.graphs.planner.roofline import Assumed
from graphprover.reports.browser import colours
from graphprover.reports.plan_svg import (
    CHARACTER,
    MARGIN,
    STYLE,
    WIDTH,
    Drawing,
    cut,
    drawing,
    framed,
    headed,
    text,
    titled,
)
from graphprover.reports.plan_text import bytes_text, time_text
from graphprover.reports.shards_times import COMMIT, FINISH, Part, ShardsTimes, Timed

LEFT, RIGHT = MARGIN + 90, WIDTH - MARGIN - 90  # of the charts
ROW, ROWS = 16, 320  # the highest row of a shard; the height of all rows at most
WRITTEN = 12  # the least height of a row that has its name beside it
MEMORY, GAP = 80, 26  # heights: of a chart of memory, above and below it

COLOURS = {
    COMMIT: ("#4b5bc4", "#8f9bf0"),
    FINISH: ("#7d6a00", "#cdb94f"),
    "kept": ("#6e7781", "#8b949e"),
    "peak": ("#a8324a", "#f08a9b"),
}
SAYS = {
    COMMIT: "commits",
    FINISH: "is finished, once all have committed",
    "kept": "memory kept of shards that wait",
    "peak": "the most at once while a shard is made",
}
SHARDS_STYLE = (
    STYLE
    + colours(COLOURS)
    + "".join(f".plan .{name}{{fill:var(--{name})}}" for name in (COMMIT, FINISH, "kept"))
    + ".plan .peak{fill:none;stroke:var(--peak);stroke-width:1.5}"
    ".plan .axis,.plan .grid{fill:none;stroke:var(--line)}"
)


def shards_svg(times: ShardsTimes, program: str, assumed: Assumed) -> str:
    """An SVG file that stands alone: two charts, where all and where nothing is kept, then the heaviest shard."""
    drawn = _charts(times, program, assumed)
    number = times.heaviest
    title = f"Shard {number}, the heaviest, as if it were made alone"
    below = drawing(times.alone(number), title, assumed, times.device.threads)
    parts = [*drawn.parts, f'<g transform="translate(0 {drawn.height})">', *below.parts, "</g>"]
    return framed(Drawing(drawn.title, drawn.figures, drawn.height + below.height, parts), SHARDS_STYLE)


def _charts(times: ShardsTimes, program: str, assumed: Assumed) -> Drawing:
    both = {"all": times.all_kept, "nothing": times.nothing_kept}
    longest = max(timed.seconds for timed in both.values()) or 1.0
    most = max(timed.plan.peak.bytes for timed in both.values()) or 1
    figures = (
        f"{len(times.shards)} shards, {times.all_kept.plan.tasks} tasks; the rounds and tables below are of shard "
        f"{times.heaviest}, the heaviest"
    )
    title = f"Plan of {program} in shards"
    parts, top = [*headed_with_legend(title, figures, assumed)], 150.0
    for what, timed in both.items():
        peak = timed.plan.peak
        says = (
            f"Where {what} is kept of a shard: {time_text(timed.seconds)} by the model, peak memory beyond the traces "
            f"{bytes_text(peak.bytes)} in {peak}"
        )
        parts.append(text(MARGIN, top, cut(says, WIDTH - 2 * MARGIN, 13), 13, "ink strong"))
        top += 12
        scale = (RIGHT - LEFT) / longest
        rows = min(ROW, ROWS / len(times.shards))
        parts += _rows(timed, top, rows, scale)
        top += rows * len(times.shards) + GAP
        parts += _memory(timed, top, scale, MEMORY / most)
        top += MEMORY + 2 * GAP
    return Drawing(title, figures, round(top), parts)


def headed_with_legend(title: str, figures: str, assumed: Assumed) -> Iterator[str]:
    """What stands above the charts."""
    yield from headed(title, figures, assumed)
    x = float(MARGIN)
    for name, says in SAYS.items():
        if name == "peak":
            yield f'<path class="peak" d="M{x:.1f} 98h12"/>'
        else:
            yield f'<rect class="{name}" x="{x:.1f}" y="92" width="12" height="12"/>'
        yield text(x + 17, 102, says, 12)
        x += 17 + len(says) * 12 * CHARACTER + 14
    yield text(
        MARGIN,
        122,
        "Traces, queries and the host are not in the model, so real proofs take longer. What is kept is chosen by the "
        "memory that there is: a real proof lies between the two.",
        11,
        "faint",
    )


def _rows(timed: Timed, top: float, height: float, scale: float) -> Iterator[str]:
    """A row a shard: when it commits, and when it is finished."""
    count = len(timed.plan.shards)
    for index, parts in enumerate(timed.by_shard):
        y = top + index * height
        if height >= WRITTEN or index in (0, count - 1):
            base = min(max(y + height / 2 + 4, top + 9), top + count * height)
            both = sum(part.seconds for part in parts.values())
            yield text(MARGIN, base, f"shard {index}", 11)
            yield text(WIDTH - MARGIN, base, time_text(both), 10, "faint", "end")
        yield f'<path class="grid" d="M{LEFT} {y + height / 2:.1f}H{RIGHT}"/>' if height >= WRITTEN else ""
        for part in parts.values():
            x, width = LEFT + scale * part.start, max(scale * part.seconds, 1)
            yield (
                f'<rect class="{part.name}" x="{x:.1f}" y="{y + 0.1 * height:.1f}" width="{width:.1f}" '
                f'height="{0.8 * height:.1f}">{titled(_details(part))}</rect>'
            )


def _details(part: Part) -> str:
    what = "commits" if part.name == COMMIT else "is finished"
    layout = part.plan.layout
    return (
        f"shard {part.shard} {what}: {time_text(part.seconds)} from {time_text(part.start)}\n"
        f"{len(layout.tables)} tables of up to 2^{max(layout.log_heights)} rows, {len(part.plan.tasks)} tasks\n"
        f"{bytes_text(part.waiting)} kept of shards that wait, {bytes_text(part.peak)} at most"
    )


def _memory(timed: Timed, top: float, scale: float, unit: float) -> Iterator[str]:
    """What is kept, and the most that is held, over the same time; ``unit``: a byte's height."""
    bottom = top + MEMORY

    def line(heights: list[int]) -> str:
        steps = (
            f"H{LEFT + scale * part.start:.1f}V{bottom - unit * bytes_:.1f}H{LEFT + scale * part.end:.1f}"
            for part, bytes_ in zip(timed.parts, heights, strict=True)
        )
        return "".join(steps)

    kept = line([part.waiting for part in timed.parts])
    yield f'<path class="kept" d="M{LEFT} {bottom}{kept}V{bottom}z"/>'
    peaks = line([part.peak for part in timed.parts])
    yield f'<path class="peak" d="M{LEFT} {bottom - unit * timed.parts[0].peak:.1f}{peaks}"/>'
    yield f'<path class="axis" d="M{LEFT} {bottom}H{RIGHT}"/>'
    top_of_peak = min(bottom - unit * timed.plan.peak.bytes + 8, bottom - 12)  # above the 0
    yield text(LEFT - 8, top_of_peak, bytes_text(timed.plan.peak.bytes), 10, "faint", "end")
    yield text(LEFT - 8, bottom, "0", 10, "faint", "end")
    yield text(LEFT, bottom + 14, "0", 10, "faint")
    yield text(LEFT + scale * timed.seconds, bottom + 14, time_text(timed.seconds), 10, "faint", "end")
