"""Pages open in a browser without a network, show every round and table, and can be read by day and night."""

import html
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from graphprover.cli.batch_figures import figures
from graphprover.device.energy import Energy, HostEnergy
from graphprover.examples import memory
from graphprover.graphs.planner.plan import make_plan
from graphprover.graphs.planner.roofline import assumed
from graphprover.prover.prepare import prepare
from graphprover.reports.batch_page import batch_page
from graphprover.reports.charts import COLOURS, OTHER
from graphprover.reports.page_parts import groups
from graphprover.reports.plan_html import plan_html
from graphprover.reports.proof_page import proof_page
from graphprover.runtime.display.browser import PAPER
from graphprover.runtime.extras import install
from graphprover.runtime.files import FileError
from graphprover.telemetry.model import GuestRun, Stage
from graphprover.telemetry.observation import Observation
from tests.chromium import opened, screenshot
from tests.graphs.test_proof_graph import FEW, example
from tests.reports.observations import HOSTILE, by_workers, compressed, in_shards, on_cpu, on_gpu, slow
from tests.reports.test_plan_svg import contrast
from tests.slow import slow_after


def job(name: str, outcome: str = "made", **more: Any) -> dict[str, Any]:
    """As ``facts.job`` says it."""
    proof = None if outcome == "failed" else {"file": "x", "bytes": 4321}
    said = {"name": name, "outcome": outcome, "worker": None, "attempts": 1, "error": None, "proof": proof}
    said |= {"program": "", "cycles_per_second": None, "cost": None}
    return said | {"seconds": {"prove": 1.5, "verify": 0.5}} | more


ENERGY = HostEnergy(Energy(600.0), Energy(None, f"no counters of {HOSTILE}"))
NONE = figures([], 1.0, ENERGY)


def batch() -> tuple[list[dict[str, Any]], dict[str, Any], list[Observation]]:
    """Of two workers, of which one makes two proofs at once."""
    seen = on_cpu()
    began = {"one": ("tcp://a:1", 0.0), "two": ("tcp://b:1", 0.0), "three": ("tcp://a:1", 0.4 * seen.end)}
    made = [
        replace(seen, name=name, worker=worker, began=seen.began + start).brief()
        for name, (worker, start) in began.items()
    ]
    jobs = [job(one.name, worker=one.worker) for one in made]
    jobs[1]["attempts"] = 2
    jobs += [job("four", "kept"), job("five", "failed", error=f"GuestFault: {HOSTILE}", attempts=3)]
    return jobs, figures(jobs, 6.0, ENERGY), made


def test_a_proof_is_shown_with_all_rounds_and_tables() -> None:
    seen = on_cpu()
    dom = opened(proof_page(seen))
    for name in ({task.round for task in seen.tasks} | {table.name for table in seen.tables}) | set(seen.sizes):
        assert f">{name}<" in dom, name
    for name in ("slowest round", "Security by round", "Parameters", "num queries", *seen.versions):
        assert f">{name}<" in dom, name
    for name in groups(seen):
        assert f"</i>{name}</li>" in dom
    assert dom.count("bk-Figure") >= 2 and seen.machine.cpu in dom
    assert "launches" not in dom.partition("<script")[0]


def test_a_proof_names_its_statement() -> None:
    """Its input, program, result, cost, parameters and date."""
    run = GuestRun(1594, 0, 3, "hex 07 (1 byte)", 195_472_730)
    seen = replace(on_cpu(), name="/some/folder/fib.elf", label="fib.elf abc", began=0.0, run=run)
    page = proof_page(seen, "data.bin")
    assert "<h1>fib.elf on data.bin</h1>" in page and "<title>Report of fib.elf on data.bin</title>" in page
    said = "program abc; exit code 3; output hex 07 (1 byte); cost 195,472,730; rate 1/2; blake3."
    assert f"<p>1970-01-01 00:00 UTC: {said}</p>" in page
    assert "<h1>memory</h1>" in proof_page(on_cpu()) and "cost" not in proof_page(on_cpu()).partition("<h2>")[0]


def test_a_proof_of_a_gpu_has_a_lane_of_it_and_its_bus() -> None:
    page = proof_page(on_gpu())
    assert HOSTILE not in page and "<script>throw" not in page
    dom = opened(page)
    assert '"GPU"' in dom and ">launches<" in dom and ">up<" in dom and ">down<" in dom and "from 0.0" in dom


def test_a_proof_in_shards_has_a_lane_and_tables_of_them() -> None:
    seen = in_shards()
    page = proof_page(seen)
    dom = opened(page)
    assert "6 tables in 3 shards" in dom and re.search(r"The slowest shard is shard \d:", dom) and '"shards"' in dom
    assert "shard 1: 1.synthetic" in dom and ">is verified</li>" in dom and "kept of shards that wait" in dom
    heads = re.findall(r"<th[^>]*><button>(.*?)</button>", dom.partition("<h2>Rounds</h2>")[0])
    assert heads[:5] == ["shard", "all", "commit", "prove", "verify"]
    assert [name for name in heads if name in {one.round for one in seen.rounds}] == [one.round for one in seen.rounds]
    assert "Shards" not in proof_page(on_cpu()).partition("<script")[0]


def test_a_proof_by_several_workers_has_a_row_and_lanes_of_each() -> None:
    seen = by_workers()
    page = proof_page(seen)
    dom = opened(page)
    body = dom.partition("<h2>Workers</h2>")[2]
    heads = re.findall(r"<th[^>]*><button>(.*?)</button>", body.partition("</thead>")[0])
    assert heads[:5] == ["worker", "device", "host", "shards", "busy"] and len(seen.workers) == 2
    assert "4 tables in 2 shards" in dom and "by 2 workers" in dom and "waited for the joint challenge" in heads
    for worker in seen.workers:
        assert f">{worker.address}</td>" in body.partition("</table>")[0]
        assert dom.count(worker.address) > 2  # beside the row, a lane of its shards and one of its thread
    for name in {task.round for task in seen.tasks} | {f"shard {t.shard}: {t.name}" for t in seen.tables}:
        assert f">{name}<" in dom, name
    assert ">Workers<" not in proof_page(in_shards()).partition("<script")[0]


def test_a_layer_has_a_part_of_the_page_and_a_bar_of_the_batch() -> None:
    seen = compressed()
    page = proof_page(seen)
    for name in ("memory", "memory: layer 1"):
        assert f"<h1>{name}</h1>" in page, name
    assert page.count("<h2>Time line</h2>") == page.count("<h2>Stages</h2>") == 2
    bars = batch_page("jobs", [job("memory")], NONE, [seen.brief()])
    assert "memory: layer 1" in bars and bars.count("bk-Figure") == batch_page("jobs", [], NONE, [on_cpu()]).count(
        "bk-Figure"
    )


def test_a_batch_is_shown_with_all_jobs() -> None:
    jobs, found, seen = batch()
    dom = opened(batch_page("jobs.toml", jobs, found, seen))
    for one in jobs:
        assert f">{one['name']}<" in dom, one["name"]
    assert "5 jobs: 3 made, 1 kept, 1 failed" in dom and "GuestFault" in dom and "tcp://a:1 (2)" in dom
    assert dom.count("bk-Figure") >= 2
    for name in groups(seen[0]):
        assert f"</i>{name}</li>" in dom


def test_the_slowest_job_names_its_longest_stage_before_a_round() -> None:
    """The first job compiles kernels in its preparation, which is in no round."""
    one = slow(on_cpu(), "quotient", 1, 100.0)
    for stage, said in (("prove", "quotient"), ("prepare", "its run, traces and first kernels"), ("write", "write")):
        seen = one.with_stages([Stage(stage, one.began - 500, one.began)])
        found = findings_of(batch_page("jobs.toml", [job("one")], NONE, [seen]))
        assert found["slowest job"][1].endswith(f", mostly {said}")


def test_jobs_of_one_name_have_bars_of_their_own() -> None:
    *_, seen = batch()
    page = batch_page("jobs.toml", [job("one")], NONE, [replace(one, name="same") for one in seen])
    assert "same (2)" in page and "same (3)" in page


def test_jobs_of_several_programs_have_the_program_in_their_names() -> None:
    """Two programs on inputs of one name have rows of their own, with cycles/s and cost."""
    jobs = [job("8", program="/folder/fib.elf", cycles_per_second=4010.2, cost=195), job("8", program="sha.elf")]
    jobs.append(job("the sha of 9", program="sha.elf"))
    one, two = (
        replace(
            on_cpu().with_stages([Stage("prepare", on_cpu().began - seconds, on_cpu().began)]),
            name="8",
            label=f"{program} abc",
        ).brief()
        for program, seconds in (("fib.elf", 100.0), ("sha.elf", 200.0))
    )
    page = batch_page("jobs.toml", jobs, NONE, [two, one])
    assert findings_of(page)["slowest job"][0] == "sha.elf 8"
    lines = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in re.findall(r"<tr>.*?</tr>", page)]
    rows = {line[0]: line for line in lines if line}
    assert rows["fib.elf 8"][4].startswith("10") and rows["fib.elf 8"][-3:-1] == ["4,010", "195"]
    assert rows["sha.elf 8"][4].startswith("20") and rows["sha.elf 8"][-3:-1] == ["", ""]
    assert "the sha of 9" in rows


def test_the_bars_of_jobs_are_the_longest_first() -> None:
    seen = [replace(slow(on_cpu(), "quotient", 1, seconds), name=name) for name, seconds in (("a", 9.0), ("b", 99.0))]
    bars = re.findall(r'"factors":\[(.*?)\]', batch_page("jobs.toml", [], NONE, seen))
    assert '"a","b"' in bars, bars  # from the bottom up


def test_a_batch_of_which_nothing_was_seen_has_a_page() -> None:
    jobs, found, _ = batch()
    assert "GuestFault" in opened(batch_page("jobs.toml", jobs, found, []))
    assert "0 jobs" in opened(batch_page("nothing.toml", [], NONE, []))


def findings_of(page: str) -> dict[str, list[str]]:
    """Return the figure and the remark of each conclusion of a page, by name."""
    found = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd><dd><small>(.*?)</small></dd></div>", page)
    return {name: [html.unescape(figure), html.unescape(remark)] for name, figure, remark in found}


@pytest.mark.parametrize("observed", [True, False])
def test_a_batch_has_the_figures_of_its_text_report(observed: bool) -> None:
    jobs, _, seen = batch()
    jobs[0]["seconds"] = {"prove": 12.0}
    page = batch_page("jobs.toml", jobs, figures(jobs, 6.0, ENERGY), seen if observed else [])
    found = findings_of(page)
    assert found["proofs an hour"] == ["1,800", "2.00 s each"]
    assert found["time of a proof"] == ["p50 2.00 s", "p95 11.0 s"]
    assert found["retries"] == ["3", "in 6.00 s"]  # of the retried job and of the failed one
    assert found["energy of the GPU"] == ["600 J", "200.0 J a proof"]
    assert found["energy of the CPU"] == ["not measured", f"no counters of {HOSTILE}"] and HOSTILE not in page


def test_a_batch_without_a_proof_has_no_times() -> None:
    found = findings_of(batch_page("jobs.toml", [job("one", "kept")], figures([job("one", "kept")], 6.0, ENERGY), []))
    assert found["retries"] == ["0", "in 6.00 s"]
    assert not found.keys() & {"proofs an hour", "time of a proof", "energy of the GPU", "energy of the CPU"}


def test_pages_name_nothing_outside() -> None:
    """Load nothing else; bokeh's code is part of the page."""
    for page in (proof_page(on_gpu()), batch_page("jobs.toml", *batch())):
        own = re.sub(r"/\* BEGIN bokeh.*?/\* END bokeh[^*]*\*/", "", page, flags=re.S)
        assert len(own) < len(page) - 10**6 and "http" not in own.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"<(link|img|iframe|script src)", own)


@pytest.mark.parametrize(
    ("width", "dark"), slow_after(1, [(1400, False), (400, True)]), ids=["wide-light", "narrow-dark"]
)
def test_pages_are_drawn_in_the_colours_of_the_window(tmp_path: Path, width: int, dark: bool) -> None:
    plan = make_plan(prepare(example(memory), parameters=FEW).layout)
    pages = {
        "workers": proof_page(by_workers()),
        "batch": batch_page("jobs.toml", *batch()),
        "plan": plan_html(plan, "memory", assumed("cpu", 2), 2),
    }
    for name, page in pages.items():
        picture = tmp_path / f"{name}.png"
        screenshot(page, picture, width, 2400, dark)
        image = Image.open(picture).convert("RGB")
        assert image.width == width
        found = {
            f"#{red:02x}{green:02x}{blue:02x}": count for count, (red, green, blue) in image.getcolors(1 << 24) or []
        }
        assert found[PAPER["paper"][dark]] > image.width * image.height / 3, name
        if name != "plan":
            drawn = [colour for colour in COLOURS.values() if found.get(colour, 0) > 30]
            assert len(drawn) >= 5, (name, drawn)


def test_a_page_is_no_wider_than_its_window() -> None:
    """Scroll wide content inside its own element."""
    for page in (proof_page(by_workers()), batch_page("jobs.toml", *batch())):  # the widest of each kind
        measure = "setTimeout(() => document.title = `wide ${document.documentElement.scrollWidth - innerWidth}`, 3000)"
        assert re.search(r"<title>wide (-\d+|0)</title>", opened(page, measure))


def test_colours_stand_out_by_day_and_night() -> None:
    for colour in (*COLOURS.values(), OTHER):
        assert all(contrast(colour, paper) >= 3 for paper in PAPER["paper"]), colour


def test_without_bokeh_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "bokeh"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(FileError, match=re.escape(install("prover"))):
        proof_page(on_cpu())
