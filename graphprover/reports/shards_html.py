"""The plan of a sharded proof as a page: its picture, a table of the shards, and what each round takes."""

from graphprover.graphs.planner.costs import Cost
from graphprover.graphs.planner.roofline import Assumed
from graphprover.graphs.planner.shard_memory import plan_keeping
from graphprover.graphs.proof_graph import Keep
from graphprover.reports.browser import Cell, page, table
from graphprover.reports.plan_html import by_round
from graphprover.reports.plan_svg import share_text
from graphprover.reports.plan_text import bytes_text, time_text
from graphprover.reports.shards_svg import shards_svg
from graphprover.reports.shards_times import COMMIT, FINISH, ShardsTimes

KEPT = {Keep.TREES: "trees kept", Keep.TRACES: "and traces", Keep.ALL: "and extensions"}


def shards_html(times: ShardsTimes, program: str, assumed: Assumed) -> str:
    """An HTML file that needs no network."""
    parts = times.all_kept.parts
    rounds: dict[str, list[Cost]] = {}
    for task in (task for part in parts for key, task in part.plan.tasks.items() if key not in part.plan.held):
        rounds.setdefault(task.round, []).append(task.cost)
    return page(
        f"Plan of {program}",
        f"<figure>{shards_svg(times, program, assumed)}</figure>\n"
        "<h2>Shards</h2>\n<p>Times and peaks where all is kept of a shard until it is finished.</p>\n"
        f"{_shards(times)}\n"
        f"<h2>Rounds</h2>\n<p>Of all shards together, where all is kept.</p>\n{by_round(rounds, assumed)}",
    )


def _shards(times: ShardsTimes) -> str:
    kept = {keep: plan_keeping(times.shards, times.device, keep).shards for keep in KEPT}
    whole, rows = times.all_kept.seconds, []
    for index, parts in enumerate(times.all_kept.by_shard):
        layout, seconds = parts[COMMIT].plan.layout, sum(part.seconds for part in parts.values())
        peak = max(part.peak for part in parts.values())
        rows.append(
            [
                Cell(f"shard {index}", index),
                Cell(time_text(seconds), seconds, share_text(seconds, whole), seconds / whole if whole else 0.0),
                *(Cell(time_text(parts[name].seconds), parts[name].seconds) for name in (COMMIT, FINISH)),
                Cell(f"{len(layout.tables)}", len(layout.tables)),
                Cell(f"2^{max(layout.log_heights)}", max(layout.log_heights)),
                Cell(bytes_text(peak), peak),
                *(Cell(bytes_text(shards[index].kept), shards[index].kept) for shards in kept.values()),
            ]
        )
    return table(("shard", "time", COMMIT, FINISH, "tables", "rows up to", "peak", *KEPT.values()), rows)
