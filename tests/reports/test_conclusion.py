"""A page's conclusion follows from its observation."""

from dataclasses import replace

import pytest

from graphprover.reports.conclusion import findings, sentence, slowest
from graphprover.telemetry.model import Processor
from tests.reports.observations import on_cpu, slow


def found(seen) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {one.name: one.figure for one in findings(seen)}


def test_the_slowest_round_and_table_are_named() -> None:
    seen = slow(on_cpu(), "quotient", 1, 100.0)
    worst = slowest(seen)
    assert worst is not None and worst.round == "quotient" and worst.seconds == pytest.approx(100)
    said = found(seen)
    assert said["slowest round"] == "quotient" and said["slowest in it"] == f"table {seen.tables[1].name}"
    assert said["bound by"] == "the device" and said["slowest table"] == seen.tables[1].name
    assert said["against its floor"] == f"{worst.seconds / worst.floor:,.0f} ×"
    for part in ("quotient", seen.tables[1].name, "100 s", "the device", worst.bound, said["against its floor"]):
        assert part in sentence(seen), part


def test_of_a_round_of_all_tables_the_slowest_task_is_named() -> None:
    seen = slow(on_cpu(), "fri_tree", None, 100.0)
    assert found(seen)["slowest in it"] in {f"task {task.name}" for task in seen.tasks if task.round == "fri_tree"}


def test_a_busy_host_bounds() -> None:
    seen = slow(on_cpu(), "quotient", 1, 100.0)
    busy = replace(seen, tasks=tuple(task._replace(waited=0.0) for task in seen.tasks))
    assert found(busy)["bound by"] == "the host" and found(busy)["host"] == "100 %"


def test_a_starved_host_is_said_and_bounds_nothing() -> None:
    seen = slow(on_cpu(), "quotient", 1, 100.0)
    starved = replace(seen, processor=Processor(44.7, 8.6, 2.0, 61.0, 3, 1.5, True))
    facts = "8.60 s of processor in 44.7 s (2 cores); threads waited 61.0 s for a core; throttled 3 times, for 1.50 s"
    assert f"The host was starved: {facts}." in sentence(starved) and "the device" not in sentence(starved)
    (bound,) = (one for one in findings(starved) if one.name == "bound by")
    assert (bound.figure, bound.beside) == ("a starved host", facts)
    unknown = replace(seen, processor=Processor(44.7, 8.6, 1.0, None, None, None, True))
    assert "starved: 8.60 s of processor in 44.7 s (1 core)." in sentence(unknown)
    assert found(seen)["processor"] and "starved" not in sentence(seen)


def test_nothing_is_concluded_from_nothing() -> None:
    nothing = replace(on_cpu(), tasks=(), sizes={})
    assert slowest(nothing) is None and "no task was seen" in sentence(nothing)
    assert "slowest round" not in found(nothing)
