"""Reads workers' results: a proof, another result, or an exception.

A worker may return anything. These functions check the type of a result before any use.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from distributed.core import error_message

from graphprover.cluster import ClusterError
from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.field import P as MODULUS
from graphprover.proof.compressed import AnyProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.proof import least_bytes
from graphprover.prover.made import Made
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock
from graphprover.vm.executor.record import REGISTERS
from graphprover.vm.executor.window import Accesses
from graphprover.vm.traces.shared_run import Shape

MAX_TEXT = 2000  # characters of an exception's message; Dask replaces exceptions with messages of more than 10,000

P = ParamSpec("P")
R = TypeVar("R")


class TaskError(Exception):
    """A wrapper for the exception of a task: the client can unpickle it even if it lacks the exception's class."""

    def __init__(self, text: str, pickled: bytes) -> None:
        super().__init__(text, pickled)

    def __str__(self) -> str:
        return str(self.args[0])


def wrap_exceptions(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function of a task such that it raises every exception as a TaskError."""

    @wraps(function)
    def run(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except Exception as error:
            message = error_message(error)
        # Outside the handler, where the exception would be pickled, too, as the context.
        raise TaskError(message["exception_text"][:MAX_TEXT], message["exception"].data)

    return run


def unwrap_exception(error: BaseException, worker: str) -> Exception:
    """Return the exception of a task; a ClusterError that names the worker if it cannot be unpickled."""
    unreadable = f"worker {worker}: an exception that cannot be unpickled here"
    if isinstance(error, TaskError):
        text, pickled = error.args
        try:
            found = pickle.loads(pickled)
        except Exception:  # unpickling runs code of any class
            found = None
        return found if isinstance(found, Exception) else ClusterError(f"{unreadable}: {text}")
    if not isinstance(error, Exception) or any(isinstance(argument, bytes) for argument in error.args):
        return ClusterError(unreadable)  # the pickle, in an exception of Dask's
    return error


def expect_type(value: Any, kind: type[R]) -> R:
    """Return the result of a task; raise VerificationError unless it is of this type."""
    if not isinstance(value, kind):
        raise VerificationError("worker.result", f"the worker returned {type(value).__name__}, not {kind.__name__}")
    return value


def proof_in(result: Any) -> AnyProof:
    """Return the proof in a worker's result; raise VerificationError if there is none.

    The proof is encoded and parsed again, because unpickling does not check the types of fields.
    """
    proof = getattr(result, "proof", None)
    if not isinstance(proof, AnyProof):
        raise VerificationError("worker.result", f"the worker returned {type(result).__name__}, which holds no proof")
    return _parsed(proof.to_bytes, any_proof_from_bytes)


def figures_in(result: Any) -> dict[str, Any]:
    """Return the figures of a worker's `Made`, by field; raise VerificationError if they are malformed."""
    try:
        return {
            "seconds": _seconds(result.seconds),
            "compile_seconds": float(result.compile_seconds),
            "peak_bytes": int(result.peak_bytes),
            "shards": tuple(map(_seconds, result.shards)),
            "cells": int(result.cells),
            "base_bytes": None if result.base_bytes is None else int(result.base_bytes),
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise VerificationError("worker.result", f"the worker returned malformed figures: {error}") from error


def _seconds(stages: Any) -> dict[str, float]:
    return {str(name): float(seconds) for name, seconds in stages.items()}


def verified(verify: Callable[[AnyProof], R]) -> Callable[[Any, str], tuple[Made, R]]:
    """Return the check of a task whose result has a proof, which this process verifies.

    The check returns the proof with its figures, with its observation, if there is one, and the value of ``verify``.
    """

    def check(found: Any, worker: str) -> tuple[Made, R]:
        started, proof = clock(), proof_in(found)
        verdict = verify(proof)
        seen = getattr(found, "observation", None)
        if isinstance(seen, Observation):
            seen = seen.of_worker(worker).with_stages([Stage("verify", started, clock())])
        return Made(proof, observation=seen if isinstance(seen, Observation) else None, **figures_in(found)), verdict

    return check


def part_of(key: Any, dask_worker: Any) -> Any:
    """Return the part for the client of a value that a worker has; `distributed.Client.run` calls this there."""
    return getattr(dask_worker.data[key], "part", None)


@dataclass(frozen=True)
class StayingShard:
    """The client's part of a shard whose proof stays on its worker. Only a layer about the shard verifies it."""

    header: Proof  # without payload
    size: int  # bytes of the proof with its payload
    lookup_nonce: int
    total: Ext  # the sum of its lookup terminals


def staying_shard_in(result: Any) -> StayingShard:
    """Return the client's part of a shard in a worker's result; raise VerificationError if there is none."""
    header, total = getattr(result, "proof", None), getattr(result, "total", None)
    if not isinstance(header, Proof):
        raise VerificationError("worker.result", f"the worker returned {type(result).__name__}, which holds no proof")
    given = getattr(result, "size", None), getattr(result, "lookup_nonce", None)
    numbers = [*given, *(total if isinstance(total, tuple) else ())]
    valid = [number for number in numbers if type(number) is int and 0 <= number < MODULUS]
    if valid != numbers or len(valid) != len(given) + EXTENSION_DEGREE:
        raise VerificationError("worker.result", "the worker returned a malformed part of a shard")
    size, nonce, first, second, third = valid
    return StayingShard(header, size, nonce, (first, second, third))


@dataclass(frozen=True)
class ShardCommitment:
    """The commitment of a shard. All honest workers make the same."""

    digest: bytes  # of the transcript: `protocol.joint.digest_of`
    header: Proof  # without payload


def commitment_in(result: Any) -> ShardCommitment:
    """Return the commitment of a shard in a worker's result; raise VerificationError if there is none."""
    digest, header = getattr(result, "digest", None), getattr(result, "header", None)
    if not isinstance(digest, bytes) or not isinstance(header, Proof):
        raise VerificationError(
            "worker.result", f"the worker returned {type(result).__name__}, which holds no commitment of a shard"
        )
    if len(digest) != DIGEST_BYTES or header.payload != b"":
        raise VerificationError("worker.result", "the worker returned a malformed commitment of a shard")

    def padded() -> bytes:  # a parser refuses proofs that are too short for their tables
        return replace(header, payload=bytes(least_bytes(len(header.log_heights), 0, header.parameters))).to_bytes()

    return ShardCommitment(digest, _parsed(padded, Proof.from_bytes).without_payload())


def accesses_in(result: Any, words: int) -> Accesses:
    """Return the accesses of a window in a worker's result; raise VerificationError if there are none.

    ``words``: the number of places for words.
    """
    found = expect_type(getattr(result, "accesses", None), Accesses)
    kinds = {"asked": np.uint32, "places": np.uint32, "times": np.uint64, "registers": np.uint64}
    arrays = {name: getattr(found, name, None) for name in kinds}
    well_formed = all(
        isinstance(array, np.ndarray) and array.dtype == kinds[name] and array.ndim == 1
        for name, array in arrays.items()
    )
    if not (
        well_formed
        and len(found.places) == len(found.times)
        and len(found.registers) == REGISTERS
        and all(not len(some) or some.max() < words for some in (found.asked, found.places))
    ):
        raise VerificationError("worker.result", "the worker returned malformed accesses of a window")
    return found


def shapes_in(result: Any) -> tuple[Shape, ...]:
    """Return the shapes of a window's tables in a worker's result; raise VerificationError if there are none."""
    found = getattr(result, "shapes", None)
    try:
        shapes = tuple((number, (columns, rows)) for number, (columns, rows) in found or ())
    except (TypeError, ValueError):
        shapes = ()
    if not shapes or any(type(part) is not int for number, shape in shapes for part in (number, *shape)):
        raise VerificationError("worker.result", f"the worker returned {type(result).__name__}, which has no tables")
    return shapes


def _parsed(encoded: Callable[[], bytes], decoded: Callable[[bytes], R]) -> R:
    """Encode and parse a worker's proof."""
    try:
        return decoded(encoded())
    except VerificationError:
        raise
    except Exception as error:  # fields of wrong types, or missing
        raise VerificationError(
            "worker.result", f"the worker returned a malformed proof: {type(error).__name__}: {error}"
        ) from error
