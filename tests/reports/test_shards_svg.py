"""The picture of a plan in shards and its page: all shards over time, memory, and the heaviest shard."""

import re
from xml.etree import ElementTree

import pytest

from graphprover import Statement
from graphprover.device.interface import CPU_BATCH
from graphprover.examples import synthetic
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.shard_memory import On
from graphprover.prover.prepare import prepare_shards
from graphprover.reports.browser import PAPER
from graphprover.reports.plan_svg import WIDTH
from graphprover.reports.shards_html import shards_html
from graphprover.reports.shards_svg import COLOURS, shards_svg
from graphprover.reports.shards_times import COMMIT, FINISH, ShardsTimes
from graphprover.statement.shards import shards_of
from tests.graphs.test_proof_graph import FEW
from tests.reports.test_plan_svg import SVG, Page, contrast
from tests.trace_tasks import as_trace_tasks

CPU = assumed("cpu", 2)


def times_of(heights: list[int]) -> ShardsTimes:
    """A table a shard, of so many rows by their log2."""
    statement = as_trace_tasks(Statement([synthetic.table(log_rows, 20, 5) for log_rows in heights]))
    prepared = prepare_shards(shards_of(statement, [[table] for table in range(len(heights))]), parameters=FEW)
    return ShardsTimes(prepared.shapes, On(CPU_BATCH, 2, False), CPU.roofline)


@pytest.fixture(scope="module")
def times() -> ShardsTimes:
    return times_of([6, 8, 7])


def test_parts_follow_each_other_and_peaks_are_those_of_the_plan(times: ShardsTimes) -> None:
    for timed in (times.all_kept, times.nothing_kept):
        order = [(part.name, part.shard) for part in timed.parts]
        assert order == [*((COMMIT, index) for index in range(3)), *((FINISH, index) for index in (2, 1, 0))]
        assert [part.start for part in timed.parts[1:]] == [part.end for part in timed.parts[:-1]]
        assert max(part.peak for part in timed.parts) == timed.plan.peak.bytes
        assert all(part.waiting <= part.peak for part in timed.parts)
    assert times.all_kept.seconds < times.nothing_kept.seconds and times.heaviest == 1
    assert times.all_kept.plan.peak.bytes > times.nothing_kept.plan.peak.bytes
    alone = times.alone(1)
    whole = sum(CPU.roofline.modelled(task.cost).seconds for task in alone.tasks.values())
    assert sum(part.seconds for part in times.all_kept.by_shard[1].values()) == pytest.approx(whole)


def test_bars_are_where_parts_are(times: ShardsTimes) -> None:
    picture = ElementTree.fromstring(shards_svg(times, "three", CPU))
    for name in (COMMIT, FINISH):
        bars = [bar for bar in picture.iter(f"{SVG}rect") if bar.attrib.get("class") == name and len(bar)]
        assert len(bars) == 6
        lefts = [float(bar.attrib["x"]) for bar in bars[:3]]
        assert lefts == sorted(lefts, reverse=name == FINISH)
    text = "\n".join(found.text or "" for found in picture.iter(f"{SVG}text"))
    assert "Where all is kept" in text and "Where nothing is kept" in text and "Shard 1, the heaviest" in text
    assert "1.synthetic" in text and all(f"shard {index}" in text for index in range(3))


@pytest.mark.parametrize("count", [2, 90])
def test_all_of_it_is_in_the_picture(count: int) -> None:
    picture = ElementTree.fromstring(shards_svg(times_of([4] * count), "W" * 200, CPU))
    height = float(picture.attrib["height"])
    assert height < 1700
    for one in picture.iter(f"{SVG}rect"):
        assert 0 <= float(one.attrib["x"]) <= float(one.attrib["x"]) + float(one.attrib["width"]) <= WIDTH
        assert 0 <= float(one.attrib["y"]) <= float(one.attrib["y"]) + float(one.attrib["height"]) <= height


def test_a_page_has_shards_and_rounds_and_needs_no_network(times: ShardsTimes) -> None:
    text = shards_html(times, "<three>", CPU)
    page = Page(text)
    rounds = {task.round for part in times.all_kept.parts for task in part.plan.tasks.values()}
    assert page.rows == [1 + 3, 1 + len(rounds)] and not page.open and not page.outside
    assert "<three>" not in text and text.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert len(re.findall(r'id="plan-title"', text)) == 1


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out(theme: int) -> None:
    assert all(contrast(both[theme], PAPER["paper"][theme]) >= 3 for both in COLOURS.values())
