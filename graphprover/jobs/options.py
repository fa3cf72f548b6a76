"""The options of proofs, in one table: the command line, batch files, the service and the documents take them from it.

`OPTIONS` has a row for each option. A new one needs a row, the code that uses it, and nothing else: the commands in its
``where`` take it, a key of a batch file and a field of a request to the service have its name, and it travels to the
argument of `Prover` or the field of `Job` of its name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any, TypedDict

from graphprover.jobs.option import YES, Option, Values, choice, positive, text, whole
from graphprover.proof.compressed import MOST_LAYERS
from graphprover.protocol.goal import FAST_WORD, GOALS_TEXT, SMALL_SECONDS, SMALL_WORD, goal_of
from graphprover.protocol.joint import MOST_SHARDS
from graphprover.protocol.level import MOST_POW_BITS, Level, default_pow_bits, one_of, rates_text
from graphprover.protocol.parameters import BLAKE3, DEFAULT_HASH, FAST, HASH_NAMES, LAYER_RATES, RATES, SMALL
from graphprover.protocol.security import HASH_BITS, JOHNSON_PROXIMITY, PROXIMITIES
from graphprover.vm.executor.run_options import Limits, limits_of
from graphprover.vm.statement.claim import ANY
from graphprover.vm.tables.clock import MAX_CYCLES

# Who takes an option: commands, keys of a batch file, requests to the service, arguments in Python.
PROVE, PLAN, INSPECT, CHECK, EXECUTE, SUBMIT = "prove", "plan", "inspect", "check", "execute", "submit"
BATCH, SERVICE, PROVER, JOB = "batch", "service", "Prover", "Job"

PROOF, RUN, QUEUE = "proof", "run", "queue"  # groups of options

MOST_PRIORITY = 1000  # of a job, and its negative is the least: Dask's priorities also have the weight, in 64 bits

_FLAG = re.compile(r"`graphprover [^`]*`|--([a-z][a-z-]*)")  # commands stay as they are
_JOBS = (PROVE, SUBMIT, BATCH, SERVICE)  # all that have a proof made
_LEVELS = (*_JOBS, PLAN, INSPECT, PROVER)
_RUNS = (*_JOBS, PLAN, INSPECT, CHECK, EXECUTE, JOB)


def _is_layers(value: Any) -> bool:
    if isinstance(value, str):
        return _is_goal(value)
    if isinstance(value, list | tuple):
        return 0 < len(value) <= MOST_LAYERS and all(map(RATE_OF_LAYER.fit, value))
    return isinstance(value, bool) or RATE_OF_LAYER.fit(value)


def _read_exit_code(text: str) -> int | str:
    if text != ANY and not text.isdecimal():
        raise ValueError
    return text if text == ANY else int(text)


def _is_goal(text: str) -> bool:
    with suppress(ValueError):
        return bool(goal_of(text))
    return False


def _read_layers(text: str) -> str | tuple[int, ...]:
    return text if _is_goal(text) else tuple(map(int, text.split(",")))


_RATE = choice(int, RATES)
RATE_OF_LAYER = choice(int, LAYER_RATES)
_CYCLES = whole("a number of cycles below 2^32", "CYCLES", most=MAX_CYCLES - 1)
_SECONDS = positive("a positive number of seconds", "SECONDS")
_SEED = whole("a number below 2^64", least=0, base=0)
_EXIT_CODE = Values(
    int | str,
    f'a number below 2^64, or "{ANY}"',
    lambda value: value == ANY or _SEED.fit(value),
    _read_exit_code,
    "N",
    typed=f"a number below 2^64, or {ANY}",
)
_LAYERS = Values(
    bool | int | str | list[int],
    f"true, false, {GOALS_TEXT}, N of a rate 1/N, or a list of such N: {one_of(LAYER_RATES)}",
    _is_layers,
    _read_layers,
    "GOAL",
    typed=f"{GOALS_TEXT}, N of a rate 1/N, or up to {MOST_LAYERS} such N with commas: {one_of(LAYER_RATES)}",
)

OPTIONS = (
    Option(
        "security",
        positive(f"a number of bits, at most {HASH_BITS:.0f}", "BITS", HASH_BITS),
        PROOF,
        _LEVELS,
        "Provable security in bits.",
        128,
    ),
    Option(
        "proximity",
        choice(str, PROXIMITIES),
        PROOF,
        _LEVELS,
        "Soundness analysis. johnson: the better of the Johnson-bound and unique-decoding analyses. unique: unique "
        "decoding only; proofs need more queries and are larger.",
        JOHNSON_PROXIMITY,
    ),
    Option(
        "hash",
        choice(str, HASH_NAMES),
        PROOF,
        _LEVELS,
        "Hash of Merkle trees, transcript and proof of work.",
        DEFAULT_HASH,
    ),
    Option(
        "rate",
        _RATE,
        PROOF,
        _LEVELS,
        f"Reed-Solomon rate {rates_text(RATES)}: N stands for 1/N. A lower rate gives a smaller proof; half the rate "
        f"about doubles time and memory; `graphprover plan` compares them. From --rate {SMALL} on a guest's run also "
        "uses fewer, wider tables.",
        without=f"{SMALL} for small statements (at most 2^19 committed cells), otherwise {FAST}",
    ),
    Option(
        "small",
        _SECONDS,
        PROOF,
        _LEVELS,
        "Smallest proof, instead of a rate: the rate and the proof of work, of --pow-bits or more, with the fewest "
        "expected bytes, if the plan expects at most SECONDS on this machine and the memory suffices. A command prints "
        "the choice on stderr.",
        bare=SMALL_SECONDS,
        excludes="rate",
    ),
    Option(
        "pow_bits",
        whole(f"a number of bits from 0 to {MOST_POW_BITS}", least=0, most=MOST_POW_BITS),
        PROOF,
        _LEVELS,
        "Proof of work before the queries: 2^N hashes on average; one in twenty takes three times the mean. Each bit "
        "doubles it, and saves two queries at rate 1/2, one at 1/4, fewer below. `graphprover plan` shows its time. "
        f"From 0 to {MOST_POW_BITS}.",
        without=f"{default_pow_bits(False)}, and {default_pow_bits(True)} with --compress",
    ),
    Option(
        "compress",
        _LAYERS,
        PROOF,
        (*_JOBS, PLAN, PROVER),
        "Compress the proof by layers, and write only the compressed proof. The planner chooses the rates and the "
        f"proofs of work of base and layers. `{FAST_WORD}`: the fastest proof of at most 300 KiB, on a CPU 512 KiB. "
        f"`2.5s`: the smallest one within 2.5 seconds. `{SMALL_WORD}`: within {SMALL_SECONDS:.0f}. `8,64`: a layer at "
        f"1/8 and one about it at 1/64. Needs --hash {BLAKE3}.",
        False,
        bare=FAST_WORD,
    ),
    Option(
        "mock",
        YES,
        PROOF,
        (PROVE, PROVER),
        "For tests of applications: run the program, check its traces as `graphprover check` does, and write a mock "
        "instead of a proof. A mock proves nothing, and only `graphprover verify --allow-mock` accepts it.",
        False,
    ),
    Option(
        "shards",
        whole(f"a number of shards, at most {MOST_SHARDS:,}", most=MOST_SHARDS),
        PROOF,
        (*_JOBS, PLAN, PROVER),
        "Split the proof into N shards. A single device proves them one after another and needs memory for about one; "
        "cluster workers prove them in parallel.",
        without="1, or for a guest as many as its run needs to fit in device memory",
    ),
    Option(
        "shard_size",
        _CYCLES,
        PROOF,
        (*_JOBS, PLAN, PROVER),
        "Split the run into shards of CYCLES cycles each, instead of a fixed number of shards.",
        guests=True,
        excludes="shards",
    ),
    Option(
        "exit_code",
        _EXIT_CODE,
        RUN,
        (*_JOBS, JOB),
        f"Fail unless the run ends with exit code N, or `{ANY}` to prove every exit code.",
        0,
        guests=True,
    ),
    Option(
        "commit_input",
        YES,
        RUN,
        (*_JOBS, JOB),
        "State the input (at most 64 KiB) in the proof, for `graphprover verify --input`.",
        False,
        guests=True,
    ),
    Option(
        "random_seed",
        _SEED,
        RUN,
        _RUNS,
        "Seed of the guest's random numbers, 64 bits; 0 with --commit-input.",
        without="derived from the input",
        guests=True,
    ),
    Option(
        "max_cycles",
        _CYCLES,
        RUN,
        _RUNS,
        "Fail if the run takes more than this number of cycles.",
        without="2^30",
        guests=True,
    ),
    Option(
        "max_memory",
        whole("a number of MiB", "MIB"),
        RUN,
        _RUNS,
        "Fail if pages, output and execution record of the run exceed this many MiB.",
        without="half of this host's memory",
        guests=True,
    ),
    Option(
        "max_cost",
        whole("a cost number"),
        RUN,
        (*_JOBS, PLAN, EXECUTE, JOB),
        "Fail, before anything is proved, if the cost number of the run exceeds N. `graphprover execute --cost` prints "
        "the number.",
        guests=True,
    ),
    Option(
        "drop_debug",
        YES,
        RUN,
        (PROVE, BATCH, JOB),
        "Drop the text that the guest writes to its debug channel, instead of showing it on stderr.",
        False,
        guests=True,
    ),
    Option(
        "name",
        text("text", "TEXT"),
        QUEUE,
        (SUBMIT, SERVICE, JOB),
        "Name of the job for people.",
        without="the program's",
    ),
    Option(
        "priority",
        whole(f"a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}", least=-MOST_PRIORITY, most=MOST_PRIORITY),
        QUEUE,
        (SUBMIT, BATCH, SERVICE, JOB),
        f"From -{MOST_PRIORITY} to {MOST_PRIORITY}: jobs with a higher one are next.",
        0,
    ),
    Option(
        "timeout",
        _SECONDS,
        QUEUE,
        (SUBMIT, BATCH, SERVICE, JOB),
        "Fail unless the proof is made in SECONDS from its start.",
    ),
    Option(
        "fail_fast",
        YES,
        QUEUE,
        (BATCH,),
        "End the batch if the job fails, instead of making all other proofs. `graphprover batch --fail-fast` does it "
        "for all jobs.",
        False,
    ),
    Option(
        "callback",
        text("a URL", "URL"),
        QUEUE,
        (SUBMIT, SERVICE),
        "URL that the service sends the job to when it has ended, if it permits that.",
    ),
)
EXCLUDED = {option.excludes for option in OPTIONS}
BY_NAME: Mapping[str, Option] = {option.name: option for option in OPTIONS}


class OptionsOfProof(TypedDict, total=False):
    """The options of `Prover`, by their names in the table."""

    security: float  # provable bits, as in `graphprover.prove`, here and below
    rate: int | None  # the rate is 1/rate; by default of a compressed proof: chosen with its layers
    proximity: str  # the soundness analysis
    hash: str  # of Merkle trees, transcript and proof of work
    pow_bits: int | None  # the proof of work before the queries; by default more for a compressed proof and its layers
    small: float | None  # seconds for the smallest proof, instead of a rate (`graphprover.prover.smallest`)
    # Whether to compress each proof, or for which goal: "fast" (as True), "small", "2.5s"; or N of the rate 1/N of its
    # layer, or of each. Several shards have a tree of layers at the first of several rates.
    compress: bool | int | str | Sequence[int]
    mock: bool  # whether `Prover.prove` makes mocks instead of proofs, for tests of applications; they prove nothing
    shards: int | None  # their number; a guest's are cycle ranges, by default as many as the device needs
    shard_size: int | None  # the cycles of each shard of a guest, instead of their number


class OptionsOfRun(Limits, total=False):
    """The options of a run in Python, by their names in the table; ``max_memory`` is in bytes."""

    commit_input: bool  # whether the proof states the input
    exit_code: int | str  # of the run, or "any"; a run with another one is not proved
    random_seed: int | None  # of the guest's random numbers
    max_cost: int | None  # the highest `Prover.cost` of the run; one above it is not proved
    drop_debug: bool  # whether nobody receives the guest's debug text


def options_of(where: str) -> list[Option]:
    """Return the options that a command, a batch file, the service or a class takes, in the order of the table."""
    return [option for option in OPTIONS if where in option.where]


def of_prover(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `Prover` for the options that are given by name."""
    return {option.name: given[option.name] for option in options_of(PROVER) if option.name in given}


def of_job(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Job` for the options that are given by name; ``max_memory`` in MiB."""
    fields = {option.name: given[option.name] for option in options_of(JOB) if option.name in given}
    return fields | {"limits": limits_of(fields.pop("max_cycles", None), fields.pop("max_memory", None))}


def of_run(given: OptionsOfRun) -> dict[str, Any]:
    """Return the fields of `Job` for the options of a run that are given in Python."""
    fields: dict[str, Any] = dict(given)
    return fields | {"limits": {name: fields.pop(name) for name in Limits.__annotations__ if name in fields}}


def level_of(given: Mapping[str, Any]) -> Level:
    """Return the level of a proof, by the options that are given by name; None is the default."""
    own: dict[str, Any] = {"pow_bits": default_pow_bits(bool(given.get("compress")))}
    own |= {name: value for name, value in given.items() if value is not None}
    return Level(**{field.name: own[field.name] for field in fields(Level) if field.name in own})


def conflict(given: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return an option that does not fit the others, by name, and the error message; None if all fit."""
    for option in OPTIONS:
        if option.excludes and option.name in given and option.excludes in given:
            return option.name, f"excludes {BY_NAME[option.excludes].flag}: give only one of the two"
    if given.get("random_seed") and given.get("commit_input"):
        return "random_seed", "is 0 with --commit-input: give only one of the two"
    if given.get("compress") and (hash := given.get("hash", DEFAULT_HASH)) != BLAKE3:
        return "compress", f"only for proofs by {BLAKE3}, not by {hash}: use --hash {BLAKE3}"
    return None


def in_keys(text: str) -> str:
    """Return a text with the names of options in place of their flags, for files and requests."""
    return _FLAG.sub(lambda found: found[1].replace("-", "_") if found[1] else found[0], text)


def only_for_guests(given: Iterable[str]) -> list[Option]:
    """Return the options for guests among the options that are given by name."""
    return [option for option in map(BY_NAME.get, given) if option and option.guests]
