"""The picture of a plan and its page: everything is on it, in its place, and can be read."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from xml.etree import ElementTree

import pytest

from graphprover.device.interface import CPU_BATCH, CUDA_BATCH
from graphprover.examples import memory
from graphprover.graphs.planner.costs import Cost
from graphprover.graphs.planner.plan import Plan, make_plan
from graphprover.graphs.planner.roofline import BUTTERFLIES, BYTES, Modelled, Roofline, assumed
from graphprover.protocol.layout import make_layout
from graphprover.prover.prepare import checked_traces, prepare
from graphprover.reports.plan_html import plan_html
from graphprover.reports.plan_svg import CHARACTER, COLOURS, COLUMNS, column_of, plan_svg
from graphprover.reports.plan_text import time_text
from graphprover.runtime.display.browser import PAPER
from tests.graphs.test_proof_graph import FEW, example
from tests.trace_tasks import as_trace_tasks

SVG = "{http://www.w3.org/2000/svg}"
CPU = assumed("cpu", 2)


@pytest.fixture(scope="module")
def plan() -> Plan:
    """With trace tasks, preprocessed columns, lookups and several heights, which has all kinds of tasks."""
    trace_tasks = as_trace_tasks(example(memory))
    return make_plan(prepare(trace_tasks, parameters=FEW).layout, main=checked_traces(trace_tasks))


def many(log_batch_rows: int) -> Plan:
    """Of 80 tables, whose names are long."""
    airs = prepare(example(memory), parameters=FEW).layout.tables
    tables = [replace(airs[number % len(airs)], name=f"{'W' * 40}<{number}>") for number in range(80)]
    return make_plan(make_layout(tables, [4 + number % 13 for number in range(80)], FEW), log_batch_rows)


def titles(picture: str) -> list[str]:
    return [title.text or "" for title in ElementTree.fromstring(picture).iter(f"{SVG}title")]


def test_times_are_those_of_the_longer_of_bytes_and_operations() -> None:
    roofline = Roofline(copy=100, multiply=10, butterfly=5, keccak=1, blake3=8)
    assert roofline.modelled(Cost()) == Modelled(0, "")
    assert roofline.modelled(Cost(multiplications=10, butterflies=10, moved=200)) == Modelled(3, BUTTERFLIES)
    assert roofline.modelled(Cost(multiplications=10, butterflies=10, moved=400)) == Modelled(4, BYTES)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "-"), (2e-7, "< 1 µs"), (3e-6, "3.00 µs"), (0.0123, "12.3 ms"), (0.5, "500 ms"), (61.2, "61.2 s")],
)
def test_times_for_people(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_what_a_task_waits_for_is_never_on_its_right(plan: Plan) -> None:
    assert {column_of(task) for task in plan.tasks.values()} == set(range(len(COLUMNS)))
    for task in plan.tasks.values():
        assert all(column_of(plan.tasks[key]) <= column_of(task) for key in task.needs), task


def test_a_shard_is_drawn(plan: Plan) -> None:
    shard = make_plan(make_layout(plan.layout.tables, plan.layout.log_heights, FEW, shard=True))
    found = "\n".join(titles(plan_svg(shard, "a shard", CPU, 2)))
    for place in ("opening_separation_weights of all heights", "opening_separation of 0.", "transcript of separation"):
        assert place in found


def test_every_task_and_table_is_there(plan: Plan) -> None:
    found = "\n".join(titles(plan_svg(plan, "memory", CPU, 2)))
    joined = [key for key, task in plan.tasks.items() if not plan.costs.by_table(task.round, task.name)]
    assert not [key for key in joined if f"{key}\n" not in found]
    for number, air in enumerate(plan.layout.tables):
        for round_ in ("extend_main", "lookup", "quotient", "opening", "deep"):
            assert f"{round_} of {number}.{air.name}: 2^{plan.layout.log_heights[number]} rows" in found


@pytest.mark.parametrize("log_batch_rows", [CPU_BATCH, CUDA_BATCH])
def test_tables_that_share_tasks_share_their_time(log_batch_rows: int) -> None:
    many_tables = many(log_batch_rows)
    times = [CPU.roofline.modelled(task.cost).seconds for task in many_tables.tasks.values()]
    found = re.findall(r">([\d.]+) (s|ms|µs)</text>", plan_svg(many_tables, "many", CPU, 2).partition("<clipPath")[2])
    assert (f"{time_text(sum(times))}").split() in [list(one) for one in found]
    for task in many_tables.tasks.values():
        costs = many_tables.costs.by_table(task.round, task.name)
        if len(costs) > 1:
            parts = sum(CPU.roofline.modelled(cost).seconds for cost in costs.values())
            assert parts <= CPU.roofline.modelled(task.cost).seconds * 1.5


@pytest.mark.parametrize("log_batch_rows", [CPU_BATCH, CUDA_BATCH])
def test_no_text_meets_another_nor_leaves_the_picture(log_batch_rows: int) -> None:
    picture = ElementTree.fromstring(plan_svg(many(log_batch_rows), "many" * 60, CPU, 2))
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    spans = []
    for text in picture.iter(f"{SVG}text"):
        size, x, y = (float(text.attrib[name]) for name in ("font-size", "x", "y"))
        wide = len(text.text or "") * size * CHARACTER * (0.87 if size < 13 else 1)  # small ones are mostly figures
        left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[text.attrib.get("text-anchor", "start")]
        spans.append((left, left + wide, y - size * 0.8, y + size * 0.2, text.text))
        assert left >= 0 and left + wide <= width and y + 4 <= height, text.text
    assert len(spans) > 300
    for one, other in combinations(spans, 2):
        apart = one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
        assert apart, (one, other)


def test_boxes_are_as_wide_as_tasks_take_long() -> None:
    picture = ElementTree.fromstring(plan_svg(many(CPU_BATCH), "many", CPU, 2))
    scales = []
    for box in picture.iter(f"{SVG}rect"):
        title = box.find(f"{SVG}title")
        time = re.search(r"^([\d.]+) (ms|µs), ", title.text or "", re.M) if title is not None else None
        if time and float(box.attrib["width"]) > 20:
            seconds = float(time[1]) * {"ms": 1e-3, "µs": 1e-6}[time[2]]
            scales.append((float(box.attrib["width"]) + 1) / seconds)
    assert len(scales) > 5 and max(scales) < 1.02 * min(scales)


def test_names_are_cut_and_whole_in_titles() -> None:
    picture = plan_svg(many(CPU_BATCH), "many", CPU, 2)
    assert f"7.{'W' * 40}<7>: 2^11 rows" in "\n".join(titles(picture))
    assert any((text.text or "").endswith("W…") for text in ElementTree.fromstring(picture).iter(f"{SVG}text"))


def test_what_was_assumed_is_written_on_it(plan: Plan) -> None:
    for device in (CPU, assumed("cuda", 1)):
        picture = plan_svg(plan, "memory", device, 1)
        assert device.name in picture and str(device.roofline) in picture
    assert assumed("cpu", 4).roofline.multiply == 2 * CPU.roofline.multiply


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out(theme: int) -> None:
    """By the levels of WCAG for graphics and for text."""
    for paper in ("paper", "band"):
        behind = PAPER[paper][theme]
        assert all(contrast(both[theme], behind) >= 3 for both in (*COLOURS.values(), PAPER["barrier"]))
        assert all(contrast(PAPER[ink][theme], behind) >= 4.5 for ink in ("ink", "faint", "link", "alarm"))


class Page(HTMLParser):
    """A parser that counts a page's elements and requires a closing tag for each."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[int] = []
        self.outside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.rows.append(0)
        if tag == "tr":
            self.rows[-1] += 1
        self.outside += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_has_a_row_for_each_round_and_task_and_needs_no_network(plan: Plan) -> None:
    text = plan_html(plan, "<memory>", CPU, 2)
    page = Page(text)
    rounds = {task.round for task in plan.tasks.values()}
    assert page.rows == [1 + len(rounds), 1 + len(plan.tasks)] and not page.open and not page.outside
    assert "<memory>" not in text and text.replace("http://www.w3.org/2000/svg", "").count("http") == 0
