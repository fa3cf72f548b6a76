"""Sharded statements that are ready to be proved."""

from graphprover.protocol.level import Level
from graphprover.protocol.parameters import Parameters
from graphprover.prover.prepare import PreparedShards, ready
from graphprover.statement.shards import ShardedStatement


def prepare_shards(statement: ShardedStatement, parameters: Parameters) -> PreparedShards:
    """Return a sharded statement that is ready to be proved, with these parameters."""
    prepared = ready(statement, Level(), parameters)
    assert isinstance(prepared, PreparedShards)
    return prepared
