"""The options of a guest's run, as `execute.execute` takes them."""

from typing import TypedDict

from graphprover.vm.executor.debug import Debug


class Limits(TypedDict, total=False):
    """The limits of a run, as `execute.execute` takes them."""

    max_cycles: int
    max_memory: int  # bytes


class RunOptions(Limits, total=False):
    """The limits of a run and its other options, as `execute.execute` takes them."""

    debug: Debug | None
    random_seed: int | None


def seed_for(random_seed: int | None, *, commit_input: bool) -> int | None:
    """Return the random seed of a run, as `execute.execute` takes it, for a proof with or without its input stated.

    Raises:
        ValueError: for a seed beside a stated input, behind which memory is zero.
    """
    if not commit_input:
        return random_seed
    if random_seed:
        raise ValueError("a proof that states its input has the random seed 0: give no other one")
    return 0


def limits_of(max_cycles: int | None, max_memory: int | None) -> Limits:
    """Return the limits of a run that are given; ``max_memory`` in MiB."""
    given: Limits = {}
    if max_cycles is not None:
        given["max_cycles"] = max_cycles
    if max_memory is not None:
        given["max_memory"] = max_memory << 20
    return given
