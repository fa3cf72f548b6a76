"""A plan as a picture: rounds from left to right, a row for each table, boxes as wide as a task's modelled time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from graphprover.graphs.batches import named
from graphprover.graphs.planner.costs import Cost
from graphprover.graphs.planner.plan import Plan, Task
from graphprover.graphs.planner.roofline import BOUNDS, BUTTERFLIES, BYTES, HASHING, MULTIPLICATIONS, Assumed
from graphprover.graphs.rounds import commit, fri, lookup, opening, query, quotient, separation, trace, transcript
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT
from graphprover.reports.plan_text import bytes_text, count_text, time_text
from graphprover.runtime.display.browser import PAPER, colours

WIDTH, MARGIN, TOP = 1280, 20, 212  # of the picture; height above its rows
LABEL, SIZE, TOTAL = 170, 44, 72  # widths: of a row's name, its rows, its time
ROW, BOX, GAP = 18, 11, 8  # heights: of a row, of a box, between groups of rows
LEAST, NUMBER, SLIVER, HOLLOW = 80, 62, 1.5, 7  # widths: of a column, a time beside boxes, the two smallest boxes
CHARACTER = 0.62  # width of a character over the font's size: above the average, so that texts do not overlap
SHOWN = 0.004  # least share of the whole time that is written beside boxes

UNKNOWN = "not in the model"
EXPLAINED = (
    "A task takes the longer of two times at these rates: its bytes, each array once, and its operations, of proof of "
    "work the average. Tasks follow each other.",
    "Real proofs take longer: traces, queries, and the host are not in the model. A dashed line: what the transcript "
    "draws from the tasks on its left, tasks on its right wait for.",
)

# Colours for the colour-blind (no red or green), with contrast in light and dark mode.
COLOURS = {
    BYTES: ("#0072b2", "#56b4e9"),
    MULTIPLICATIONS: ("#c65500", "#e69f00"),
    BUTTERFLIES: ("#00805d", "#2bc79a"),
    HASHING: ("#a02f77", "#d98cb8"),
}


@dataclass(frozen=True)
class Column:
    """A column of the picture."""

    name: str
    rounds: tuple[str, ...]  # of its tasks
    trees: tuple[str, ...] = ()  # the commitments at its end
    steps: tuple[str, ...] = ()  # of the transcript at its end
    draws: str = ""  # challenges of these steps


COLUMNS = (
    Column("traces", (trace.task_round(MAIN), trace.task_round(PREPROCESSED), trace.SHARED)),
    Column(
        "commit",
        (commit.task_round(MAIN), commit.task_round(PREPROCESSED), separation.WEIGHTS, separation.VALUES),
        (MAIN, PREPROCESSED),
        (transcript.BEGIN, transcript.SEPARATION, transcript.SEPARATED, transcript.LOOKUP),
        "σ, τ",
    ),
    Column("lookups", (lookup.LOOKUP,), (PERMUTATION,), (transcript.CONSTRAINT,), "α"),
    Column("quotient", (quotient.QUOTIENT_CHUNKS,), (QUOTIENT,), (transcript.ZETA,), "ζ"),
    Column("openings", (opening.WEIGHTS, opening.OPENING), (), (transcript.BATCHING,), "γ"),
    Column("DEEP", (opening.DENOMINATORS, opening.DEEP, opening.CODEWORD)),
    Column("FRI", (fri.TREE, fri.FOLD, fri.FINAL), (), (transcript.QUERIES,), "rows"),
    Column("queries", (query.QUERY, query.PROOF)),
)
FRI = 6

# The rows of tasks of all tables together, by round: above the tables' rows, and below them after a row for each FRI
# layer.
HEIGHTS, END = "all heights", "end of the proof"
ABOVE = {
    commit.TREE: "Merkle trees",
    transcript.TRANSCRIPT: "transcript, with work",
    separation.WEIGHTS: HEIGHTS,
    opening.WEIGHTS: HEIGHTS,
    opening.DENOMINATORS: HEIGHTS,
    opening.CODEWORD: HEIGHTS,
}
BELOW = {fri.FINAL: END, query.QUERY: END, query.PROOF: END, trace.SHARED: "shared by traces"}


def column_of(task: Task) -> int:
    """Return the column of a task. Raises StopIteration for a round without a column."""
    if task.round == commit.TREE:
        return next(number for number, column in enumerate(COLUMNS) if task.name in column.trees)
    if task.round == transcript.TRANSCRIPT:
        return next((number for number, column in enumerate(COLUMNS) if task.name in column.steps), FRI)
    return next(number for number, column in enumerate(COLUMNS) if task.round in column.rounds)


@dataclass(frozen=True)
class TaskBox:
    """A task, or a table's share of it."""

    seconds: float
    bound: str  # of `roofline.BOUNDS`, or empty
    title: str


@dataclass
class PlanRow:
    """The boxes of a table, or of one kind of tasks of all tables."""

    name: str
    size: str = ""
    title: str = ""
    cells: list[list[TaskBox]] = field(default_factory=lambda: [[] for _ in COLUMNS])

    @property
    def seconds(self) -> float:
        return sum(box.seconds for cell in self.cells for box in cell)


def plan_svg(plan: Plan, program: str, assumed: Assumed, threads: int) -> str:
    """Return a stand-alone SVG file: a title, figures, a legend and the rows; tooltips have the details.

    Args:
        plan: The plan to draw.
        program: The name of the program, for the title.
        assumed: The device whose rates give the times.
        threads: Tasks that run in parallel, for the peak memory.
    """
    groups = _rows(plan, assumed)
    rows = [row for group in groups for row in group]
    frame = _frame(rows)
    bottom = TOP + ROW * len(rows) + GAP * (len(groups) - 1)
    height = bottom + MARGIN
    peak = plan.peak(threads)
    title = f"Plan of {program}"
    figures = (
        f"{len(plan.layout.tables)} tables, {len(plan.tasks)} tasks, {time_text(frame.total)} by the model, "
        f"peak memory beyond the traces {bytes_text(peak.bytes)} in {peak}"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plan" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="plan-title plan-text">',
        f'<title id="plan-title">{escape(title)}</title><desc id="plan-text">{escape(figures)}</desc>',
        f"<style>{STYLE}</style>",
        f'<clipPath id="plan-names"><rect x="{MARGIN}" y="0" width="{LABEL - 6}" height="{height}"/></clipPath>',
        text(MARGIN, 34, cut(title, WIDTH - 2 * MARGIN, 25), 18, "ink strong"),
        text(MARGIN, 56, cut(figures, WIDTH - 2 * MARGIN, 12), 12),
        text(MARGIN, 74, f"Assumed: {assumed.name}. {assumed.roofline}.", 12, "faint"),
        *_legend(92),
    ]
    top, drawn = TOP, list[str]()
    for group in groups:
        for number, row in enumerate(group):
            if number % 2:
                parts.append(f'<rect class="band" x="{MARGIN}" y="{top}" width="{WIDTH - 2 * MARGIN}" height="{ROW}"/>')
            drawn += _row(row, top, frame)
            top += ROW
        top += GAP
    return "\n".join([*parts, *_head(rows, frame, bottom), *drawn, "</svg>", ""])


def _rows(plan: Plan, assumed: Assumed) -> list[list[PlanRow]]:
    """Return three groups of rows: above, the tables' (slowest first), and below."""
    layout = plan.layout
    tables = []
    for table, (air, log_height) in enumerate(zip(layout.tables, layout.log_heights, strict=True)):
        title = f"{named(layout, table)}: 2^{log_height} rows, {air.main_width} columns"
        tables.append(PlanRow(named(layout, table), f"2^{log_height}", title))
    above, below = ({name: PlanRow(name, title=name) for name in group.values()} for group in (ABOVE, BELOW))
    layers: dict[str, PlanRow] = {}
    total = sum(assumed.roofline.modelled(task.cost).seconds for task in plan.tasks.values())
    for task in plan.tasks.values():
        column, whole = column_of(task), assumed.roofline.modelled(task.cost)
        after = ", ".join(dict.fromkeys(_place(plan.tasks[key]) for key in task.needs)) or "nothing"
        costs = plan.costs.by_table(task.round, task.name)
        if not costs:
            title = _details(f"{task.round} of {task.name}", task.cost, whole.seconds, whole.bound, total, after)
            if task.round in ABOVE:
                row = above[ABOVE[task.round]]
            elif task.round in BELOW:
                row = below[BELOW[task.round]]
            else:
                row = layers.setdefault(task.name, PlanRow(f"FRI layer {task.name}", title=f"FRI layer {task.name}"))
            row.cells[column].append(TaskBox(whole.seconds, whole.bound, title))
            continue
        parts = {table: assumed.roofline.modelled(cost) for table, cost in costs.items()}
        scale = whole.seconds / (sum(part.seconds for part in parts.values()) or 1)
        beside = f"\nin one task with {len(parts) - 1} other tables" if len(parts) > 1 else ""
        for table, part in parts.items():
            seconds, row = part.seconds * scale, tables[table]
            if not seconds and column:
                continue  # it has no columns in this round
            of = f"{task.round} of {row.title}"
            title = _details(of, costs[table], seconds, part.bound, total, after) + beside
            row.cells[column].append(TaskBox(seconds, part.bound, title))
    ends = [row for row in below.values() if any(row.cells)]
    return [list(above.values()), sorted(tables, key=lambda row: -row.seconds), [*layers.values(), *ends]]


def _place(task: Task) -> str:
    return f"{task.round} of {task.name}" if task.round in (commit.TREE, transcript.TRANSCRIPT) else task.round


def _details(of: str, cost: Cost, seconds: float, bound: str, total: float, after: str) -> str:
    counts = (
        f"{count_text(cost.multiplications)} multiplications, {count_text(cost.butterflies)} butterflies, "
        f"{count_text(cost.hash_calls)} hash calls"
    )
    time = f"{time_text(seconds)}, {share_text(seconds, total)}, most of it {bound}" if bound else "not in the model"
    memory = f"{bytes_text(cost.moved)} moved, {bytes_text(cost.kept)} kept, {bytes_text(cost.scratch)} scratch"
    return f"{of}\n{time}\n{counts}\n{memory}\nafter {after}"


@dataclass(frozen=True)
class Geometry:
    """The geometry of the picture."""

    total: float  # seconds of the whole
    scale: float  # of boxes, the same everywhere: units for each second
    lefts: Sequence[float]  # of the columns, and the right end of the last

    def width(self, box: TaskBox) -> float:
        return max(SLIVER, self.scale * box.seconds) if box.seconds else HOLLOW

    def drawn(self, boxes: Sequence[TaskBox]) -> list[TaskBox]:
        """Return the boxes of a cell, with all slivers merged into one box, and all boxes without a model into
        another.
        """
        wide = [box for box in boxes if self.scale * box.seconds >= SLIVER]
        slivers = [box for box in boxes if 0 < self.scale * box.seconds < SLIVER]
        return [*wide, *_together(slivers), *_together([box for box in boxes if not box.seconds])]


def _together(boxes: Sequence[TaskBox]) -> Sequence[TaskBox]:
    if len(boxes) < 2:
        return boxes
    seconds, longest = sum(box.seconds for box in boxes), max(boxes, key=lambda box: box.seconds)
    names = [box.title.partition("\n")[0] for box in boxes]
    return [TaskBox(seconds, longest.bound, "\n".join([*names, time_text(seconds) if seconds else UNKNOWN]))]


def _frame(rows: Sequence[PlanRow]) -> Geometry:
    """Return the largest scale that fits."""
    first, total = MARGIN + LABEL + SIZE, sum(row.seconds for row in rows)
    room = WIDTH - MARGIN - TOTAL - first

    def lefts(scale: float) -> list[float]:
        frame, found = Geometry(total, scale, ()), [float(first)]
        for column in range(len(COLUMNS)):
            widest = max(sum(map(frame.width, frame.drawn(row.cells[column]))) for row in rows)
            found.append(found[-1] + max(LEAST, widest + NUMBER))
        return found

    widest = max((sum(box.seconds for box in cell) for row in rows for cell in row.cells), default=0.0)
    low, high = 0.0, room / widest if widest else 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if lefts(middle)[-1] <= first + room else (low, middle)
    return Geometry(total, low, lefts(low))


def _legend(y: float) -> Iterator[str]:
    """Draw the legend of colours and lines."""
    x = float(MARGIN)
    for name, kind in [*((f"bound by {bound}", bound) for bound in BOUNDS), (UNKNOWN, "")]:
        yield _box(x, y, 12, kind)
        yield text(x + 17, y + 10, name, 12)
        x += 17 + len(name) * 12 * CHARACTER + 14
    yield f'<line class="barrier" x1="{x + 6:.1f}" x2="{x + 6:.1f}" y1="{y - 2}" y2="{y + 13}"/>'
    yield text(x + 14, y + 10, "the transcript draws", 12)
    for line, words in enumerate(EXPLAINED):
        yield text(MARGIN, y + 30 + 15 * line, words, 11, "faint")


def _head(rows: Sequence[PlanRow], frame: Geometry, bottom: float) -> Iterator[str]:
    """Draw the columns' names, times and limits, and the lines between them."""
    for number, column in enumerate(COLUMNS):
        left, right = frame.lefts[number : number + 2]
        boxes = [box for row in rows for box in row.cells[number]]
        seconds = sum(box.seconds for box in boxes)
        yield text(left, TOP - 44, column.name, 13, "ink strong")
        yield text(left, TOP - 30, time_text(seconds) if seconds else "no model", 10, "faint")
        yield text(left, TOP - 18, share_text(seconds, frame.total) if seconds else "", 10, "faint")
        x, width = left, right - left - 10
        for bound in BOUNDS if seconds else ():
            part = width * sum(box.seconds for box in boxes if box.bound == bound) / seconds
            if part:
                yield _box(x, TOP - 12, part, bound, f"{column.name}: {part / width:.0%} bound by {bound}", 4)
            x += part
        kind = "barrier" if column.draws else "line"
        if number < len(COLUMNS) - 1:
            yield f'<line class="{kind}" x1="{right - 5:.1f}" x2="{right - 5:.1f}" y1="{TOP - 52}" y2="{bottom}"/>'
        if column.draws:
            yield text(right - 5, TOP - 57, column.draws, 11, "ink", "middle")
    yield text(WIDTH - MARGIN, TOP - 44, "all", 13, "ink strong", "end")
    yield text(WIDTH - MARGIN, TOP - 30, time_text(frame.total), 10, "faint", "end")


def _row(row: PlanRow, top: float, frame: Geometry) -> Iterator[str]:
    base = top + ROW - 5
    title = f"{row.title}\n{time_text(row.seconds)}, {share_text(row.seconds, frame.total)}"
    yield f'<g clip-path="url(#plan-names)">{titled(title)}'
    yield f"{text(MARGIN + 3, base, cut(row.name, LABEL - 10, 11), 11)}</g>"
    yield text(MARGIN + LABEL + SIZE - 10, base, row.size, 10, "faint", "end")
    for number, boxes in enumerate(row.cells):
        yield from _cell(boxes, frame.lefts[number], top, frame)
    if row.seconds:
        yield text(WIDTH - MARGIN - 3, base, time_text(row.seconds), 10, "faint", "end")


def _cell(boxes: Sequence[TaskBox], left: float, top: float, frame: Geometry) -> Iterator[str]:
    """Draw the boxes of one row in one column, one after another, and their time."""
    x, y = left, top + (ROW - BOX) / 2
    for box in frame.drawn(boxes):
        width = frame.width(box)
        yield _box(x, y, width - 1 if width > 3 else width, box.bound, box.title)
        x += width
    seconds = sum(box.seconds for box in boxes)
    if seconds >= SHOWN * frame.total > 0:
        yield text(x + 4, top + ROW - 5, time_text(seconds), 10, "faint")


def _box(x: float, y: float, width: float, bound: str, title: str = "", height: float = BOX) -> str:
    kind = f"k{BOUNDS.index(bound)}" if bound else "unknown"
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height}"'
    return f'<rect class="{kind}" {size}>{titled(title)}</rect>'


def titled(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


def text(x: float, y: float, words: str, size: int, kind: str = "ink", anchor: str = "start") -> str:
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}"{placed}>{escape(words)}</text>'


def cut(text: str, width: float, size: int) -> str:
    most = int(width / (size * CHARACTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def share_text(seconds: float, total: float) -> str:
    """Return a share of the whole as text."""
    share = 100 * seconds / total if total else 0.0
    return f"{share:.0f} %" if share >= 10 or not share else f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"


STYLE = (
    colours(PAPER | {f"k{number}": COLOURS[bound] for number, bound in enumerate(BOUNDS)})
    + ".plan{background:var(--paper);width:100%;min-width:1000px;max-width:1900px;height:auto;display:block;"
    "margin:auto;font-family:system-ui,sans-serif}"
    ".plan .ink{fill:var(--ink)}.plan .faint{fill:var(--faint)}.plan .strong{font-weight:600}"
    ".plan .band{fill:var(--band)}.plan .line{stroke:var(--line)}"
    ".plan .barrier{stroke:var(--barrier);stroke-width:2;stroke-dasharray:5 3}"
    ".plan .unknown{fill:none;stroke:var(--barrier);pointer-events:all}"
    ".plan [class^=k]{stroke:transparent;stroke-width:5;pointer-events:all}"  # widens the hit area of narrow boxes
     + "".join(f".plan .k{number}{{fill:var(--k{number})}}" for number in range(len(BOUNDS)))
)
