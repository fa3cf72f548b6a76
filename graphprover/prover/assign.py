"""The assignment of tables to shards of about the same work."""

from heapq import heapify, heappop, heappush

from graphprover.graphs.batches import batches
from graphprover.graphs.planner.costs import Costs
from graphprover.graphs.planner.roofline import assumed
from graphprover.protocol.joint import check_count
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import DEFAULT_HASH, Parameters
from graphprover.prover.prepare import checked_traces
from graphprover.statement.shards import ShardedStatement, shards_of
from graphprover.statement.statement import Statement

# The parameters of the weights. They are fixed, so that the assignment depends on the statement alone.
WEIGHED = Parameters(
    hash=DEFAULT_HASH,
    log_blowup=1,
    num_queries=1,
    log_final_poly_len=0,
    max_log_arity=1,
    cap_height=0,
    lookup_pow_bits=0,
    ood_pow_bits=0,
    batch_pow_bits=0,
    commit_pow_bits=0,
    query_pow_bits=0,
)


def deal(statement: Statement, shards: int) -> ShardedStatement:
    """Assign the tables of a statement to shards: each table, the heaviest first, to the lightest shard so far.

    Args:
        statement: The statement, with traces.
        shards: The number of shards, at least 2.

    Raises:
        ValueError: for fewer than two shards, more shards than tables, and malformed traces.
    """
    check_count(shards)
    if shards > len(statement.tables):
        raise ValueError(f"{shards} shards, each with a table or more: the statement has {len(statement.tables)}")
    weights = table_seconds(statement)
    loads = [(0.0, shard) for shard in range(shards)]
    heapify(loads)
    shares: list[list[int]] = [[] for _ in range(shards)]
    for table in sorted(range(len(weights)), key=lambda table: (-weights[table], table)):
        load, shard = heappop(loads)
        shares[shard].append(table)
        heappush(loads, (load + weights[table], shard))
    return shards_of(statement, [sorted(share) for share in shares])


def table_seconds(statement: Statement) -> list[float]:
    """Return the modelled seconds of each table in all rounds, on one core."""
    log_heights = [trace.shape[1].bit_length() - 1 for trace in checked_traces(statement)]
    layout = make_layout(statement.descriptions, log_heights, WEIGHED)
    costs, roofline = Costs(layout, batches(layout, -1), ()), assumed("cpu", 1).roofline
    return [roofline.modelled(costs.alone(table)).seconds for table in range(len(log_heights))]
