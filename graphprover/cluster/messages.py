"""Messages from the client to workers: bytes that the task unpickles itself.

The scheduler does not unpickle them. If a worker cannot import a class in a message, the task fails, and the worker
goes on.
"""

import pickle
from dataclasses import dataclass
from typing import Any

from graphprover.device import Device
from graphprover.graphs.task_keys import ShardNumber


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """A request for a proof by one worker, or for several, one after another."""

    subject: Any  # a job, a list of jobs, or a prepared statement
    device: Device | str
    observe: bool  # whether to return an observation with the proof
    verify: bool = True  # whether the worker verifies the proof


@dataclass(frozen=True, eq=False)
class ShardRequest:
    """A request for one shard of a proof."""

    subject: Any  # the prepared shard, or the job whose run is cut into shards
    number: ShardNumber
    token: str  # of the proof
    device: Device | str
    shards_per_worker: int  # how many shards of the proof one process may have to hold at the same time
    observe: bool = False  # whether to return an observation with the shard


def pack(*arguments: Any) -> bytes:
    """Return the argument of a task: a pickle.

    Raises:
        FileError: If the input file of a job is missing.
    """
    return pickle.dumps(arguments, protocol=pickle.HIGHEST_PROTOCOL)


def unpack(payload: bytes) -> tuple[Any, ...]:
    """Return the arguments of `pack`.

    Raises:
        ImportError: If a class cannot be imported here; other exceptions if unpickling fails otherwise.
    """
    return pickle.loads(payload)
