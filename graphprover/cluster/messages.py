"""What workers are asked for, as it travels: bytes, which the task unpacks itself.

The scheduler never looks into them, and what a worker cannot import fails the task, not the worker.
"""

import pickle
from dataclasses import dataclass
from typing import Any

from graphprover.device import Device
from graphprover.graphs.task_keys import ShardNumber


@dataclass(frozen=True, eq=False)
class ProofRequest:
    """A proof that is to be made by one worker, or several, one after another."""

    subject: Any  # a job, or a list of them; or the statement, prepared
    device: Device | str
    observe: bool  # what is seen of it is to come back
    verify: bool = True  # on the worker


@dataclass(frozen=True, eq=False)
class ShardRequest:
    """A shard that is to be made."""

    subject: Any  # the shard, prepared; or the job whose run is cut into shards
    number: ShardNumber
    token: str  # of the proof
    device: Device | str
    shards_per_worker: int  # how many shards of the proof each process may have to hold at once, with this one
    observe: bool = False  # what is seen of it is to come back


def pack(*asked: Any) -> bytes:
    """What a task takes; raises FileError for the input of a job that is missing."""
    return pickle.dumps(asked, protocol=pickle.HIGHEST_PROTOCOL)


def unpack(payload: bytes) -> tuple[Any, ...]:
    """What a task was asked; raises ImportError, among others, for what cannot be imported here."""
    return pickle.loads(payload)
