"""A model of one sharded and compressed proof on a cluster: measured parts, put together by a list schedule.

A proof is a list of tasks in the order in which the client submits them. Each task occupies one resource: the client,
its thread that runs the guest, a process that verifies, the network into or out of the client, or a worker with a GPU.
It starts once its resource is free and the tasks that it depends on have ended. The critical path has, from the last
task on, the task that each one waited for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from math import ceil

from graphprover.prover.join import grouped, most_compressions
from graphprover.prover.shard_checks import processes_for

CLIENT, RUN, VERIFY, RECEIVE, SEND = "client", "run", "verify", "receive", "send"  # resources beside the workers
LAYER_RATE, LAST_RATE = 8, 64
BASE_BYTES, LAYER_BYTES = 34, 39  # of a proof for each compression of a layer about it


@dataclass(frozen=True)
class Parts:
    """The measured parts of a proof of `fib_iterative` at 1/2 with 128 provable bits; seconds, bytes and cycles.

    Each is of one NVIDIA H200 whose host takes 0.45 to 0.95 s for 5 M squares in Python, unless its comment says
    otherwise. A rate is of 10^9 cycles.
    """

    # The client's run without a record: 0.27 to 0.40 s for 1 G cycles, 0.07 to 0.09 s for 250 M.
    run_rate: float = 0.3
    # The stages of a shard of 125 M cycles: record 0.085 s, lay out 0.03 to 0.05, commit 0.16 to 0.17, finish 0.42 to
    # 0.44; of 250 M cycles 0.15 to 0.21, 0.06 to 0.09, 0.32 to 0.33 and 0.78 to 0.80. The fixed part of all four is
    # 0.045 s: 64 M cycles take 0.387, 0.443 and 0.520 s in 1, 2 and 4 shards.
    record_fixed: float = 0.0
    record_rate: float = 0.7
    lay_out_fixed: float = 0.005
    lay_out_rate: float = 0.36
    commit_fixed: float = 0.015
    commit_rate: float = 1.16
    finish_fixed: float = 0.025
    finish_rate: float = 3.32
    # The additional time of a shard whose arrays do not stay on the GPU between its two graphs: shards of 250 M cycles
    # finish in 1.05 to 1.09 s then.
    recompute_rate: float = 0.8
    kept_cycles: float = 250e6  # of the shards whose arrays stay on one GPU
    most_cycles: float = 250e6  # of a shard, by the memory of one GPU
    # A proof in one shard, which one graph makes while the client runs the guest: 250 M cycles in 1.35 to 1.55 s.
    whole_fixed: float = 0.03
    whole_rate: float = 5.5
    # A window begins at most this part of the run after a snapshot, from which its worker runs without a record. The
    # client takes 16 to 32 snapshots.
    snapshot_gap: float = 1 / 24
    # Bytes of a shard: 11.7 MB for four.
    shard_bytes: int = 2_925_000
    # Bytes of a layer at 1/8 about 8 layers, and of the last one at 1/64.
    layer_bytes: int = 495 << 10
    last_bytes: int = 279_587
    # A layer, with the verification of its proofs by its worker: 0.112, 0.234 and 0.401 s about 2, 4 and 8 layers of
    # 435 KiB, which have 11,400 compressions each; the last layer 0.1 to 0.28 s.
    layer_fixed: float = 0.015
    compression: float = 4.2e-6
    last_layer: float = 0.2
    # The client's verification: of a shard 10 ms a million bytes on a host that takes 0.33 s for 5 M squares; of a
    # layer 6 to 10 ms; decoding a shard again for its layer 1 ms a million bytes on that host. Scaled to 0.5 s.
    verify_byte: float = 15e-9
    verify_layer: float = 0.01
    decode_byte: float = 1.5e-9
    # The client's time for a task (message, submission, events), the bytes a second of its results and its messages,
    # which scheduler and client copy, and the time in which scheduler and worker start and end a task: simulations of 4
    # to 64 workers without work, by TCP within a host of two cores that other processes used, too.
    client_task: float = 0.0018
    receive: float = 400e6
    send: float = 150e6
    turn: float = 0.008
    memory: float = 126e9  # of a GPU, for proofs
    cores: int = 16  # of the client's host
    # Changes of the design, which have no measured part.
    staying: bool = True  # whether shards stay on their workers for the layers about them
    alone: bool = False  # whether the client verifies in one process
    streamed: bool = False  # whether a worker records its window as soon as the client's run has reached it
    balanced: bool = False  # whether the layers of a level are about equally many proofs

    def record(self, cycles: float) -> float:
        """Return the seconds of the record of a window."""
        return self.record_fixed + self.record_rate * cycles / 1e9

    def lay_out(self, cycles: float) -> float:
        """Return the seconds in which the tables of a window are laid out."""
        return self.lay_out_fixed + self.lay_out_rate * cycles / 1e9

    def commit(self, cycles: float) -> float:
        """Return the seconds of the first graph of a shard."""
        return self.commit_fixed + self.commit_rate * cycles / 1e9

    def finish(self, cycles: float, kept: bool) -> float:
        """Return the seconds of the second graph of a shard; ``kept``: whether its arrays have stayed on the GPU."""
        return self.finish_fixed + (self.finish_rate + (not kept) * self.recompute_rate) * cycles / 1e9

    def layer(self, compressions: float) -> float:
        """Return the seconds of a layer, with the verification of its proofs by its worker."""
        return self.layer_fixed + self.compression * compressions

    def whole(self, cycles: float, compress: bool) -> float:
        """Return the seconds of a proof in one shard by one worker, with its layers."""
        layers = self.layer(self.shard_bytes / BASE_BYTES) + self.last_layer if compress else 0.0
        return self.whole_fixed + self.whole_rate * cycles / 1e9 + layers

    def behind(self, cycles: float) -> float:
        """Return the seconds of the run from a snapshot to the window that a worker records."""
        return 0.0 if self.streamed else self.snapshot_gap * cycles * self.run_rate / 1e9

    def checkers(self, shards: int) -> int:
        """Return how many other processes of the client verify shards."""
        return 0 if self.alone else processes_for(shards, self.cores)

    def keeps(self, shards: int, cycles: float, workers: int) -> int:
        """Return how many shards a worker keeps between their graphs."""
        per_worker = ceil(shards / workers)
        return int(min(per_worker, max(1.0, self.kept_cycles * shards / cycles + 1e-9)))


@dataclass(frozen=True, eq=False)
class Step:
    """A task of a schedule."""

    name: str
    on: str  # the resource
    start: float
    end: float
    cause: "Step | None"  # the task that it waited for: one that it depends on, or the one before on its resource


@dataclass
class Schedule:
    """A list schedule: each task starts as early as the tasks before allow."""

    free: dict[str, Step] = field(default_factory=dict)  # by resource: its last task
    steps: list[Step] = field(default_factory=list)

    def add(self, name: str, on: str, seconds: float, after: Iterable[Step] = ()) -> Step:
        """Add a task of a resource after other tasks."""
        waits = [*after, *([self.free[on]] if on in self.free else [])]
        cause = max(waits, key=lambda step: step.end, default=None)
        start = cause.end if cause else 0.0
        step = self.free[on] = Step(name, on, start, start + seconds, cause)
        self.steps.append(step)
        return step

    @property
    def seconds(self) -> float:
        """Return the time of the last end."""
        return max(step.end for step in self.steps)

    def critical(self) -> dict[str, float]:
        """Return the seconds of the critical path by the names of its tasks, in the order of the path."""
        step: Step | None = max(self.steps, key=lambda step: step.end)
        path = []
        while step:
            path.append(step)
            step = step.cause
        found: dict[str, float] = defaultdict(float)
        for each in reversed(path):
            found[each.name] += each.end - each.start
        return dict(found)


def proof(parts: Parts, cycles: float, workers: int, shards: int, compress: bool = True) -> Schedule:
    """Return the schedule of one proof.

    Args:
        parts: The parts.
        cycles: Of the run.
        workers: Each with a GPU of its own.
        shards: The shards of the proof; with one, a worker makes the whole proof.
        compress: Whether layers are made about the proof, up to one layer at 1/64.
    """
    of = _Proof(parts, cycles, workers, shards)
    if shards == 1:
        of.whole(compress)
        return of.schedule
    done = of.shards(staying=compress and parts.staying)
    if compress:
        of.layers(done)
    return of.schedule


def best(parts: Parts, cycles: float, workers: int, compress: bool = True) -> tuple[int, Schedule]:
    """Return the number of shards with the least time, and its schedule."""
    least = max(1, ceil(cycles / parts.most_cycles - 1e-9))
    choices = {count for count in range(least, max(least, workers) + 1) if count <= 64 or count == workers}
    choices |= {least + -least % workers}
    made = {count: proof(parts, cycles, workers, count, compress) for count in sorted(choices)}
    shards = min(made, key=lambda count: made[count].seconds)
    return shards, made[shards]


class _Proof:
    """One proof as it is scheduled."""

    def __init__(self, parts: Parts, cycles: float, workers: int, shards: int) -> None:
        self.parts, self.cycles, self.count = parts, cycles, shards
        self.schedule = Schedule()
        self.window = cycles / shards  # cycles of each
        self.workers = workers

    def whole(self, compress: bool) -> None:
        """Schedule a proof by one worker, and its layers by the same one."""
        parts = self.parts
        sent = self._message([])
        made = self._on("whole proof", 0, parts.whole(self.cycles, compress) + parts.turn, [sent])
        size, checking = parts.shard_bytes, parts.verify_byte * parts.shard_bytes
        if compress:
            size, checking = parts.last_bytes, parts.verify_layer
        run = self._add("run", RUN, parts.run_rate * self.cycles / 1e9, [sent])
        came = self._add("receive", RECEIVE, size / parts.receive, [made])
        self._add("verify", CLIENT, checking, [came, run])

    def shards(self, staying: bool) -> list[Step]:
        """Schedule all shards, and return the end of the proof in shards.

        Args:
            staying: Whether the proofs stay on their workers, and the client verifies none of them.
        """
        parts, each = self.parts, range(self.count)
        at = [index % self.workers for index in each]
        begins = self._run()
        # The worker of a window runs from the last snapshot before it.
        behind = parts.behind(self.cycles)
        record = [parts.record(self.window) + behind * bool(index) for index in each]
        recorded = self._stage("record", at, record, begins)
        laid_out = self._stage("lay out", at, [parts.lay_out(self.window)] * self.count, [recorded] * self.count)
        committed = self._stage("commit", at, [parts.commit(self.window)] * self.count, [laid_out] * self.count)
        keeps = parts.keeps(self.count, self.cycles, self.workers)
        finish = [parts.finish(self.window, index // self.workers < keeps) for index in each]
        sent = [self._message(committed) for _ in each]
        made = [self._on("finish", at[index], finish[index] + parts.turn, [sent[index]]) for index in each]
        made.sort(key=lambda step: step.end)
        if staying:  # the client asks for a part of each result
            return [self._message([self._message([step])]) for step in made]
        return [self._verified(step) for step in made]

    def layers(self, after: Sequence[Step]) -> None:
        """Schedule the tree of layers."""
        parts, most = self.parts, most_compressions(int(self.parts.memory), LAYER_RATE)
        each, layers = [parts.shard_bytes // BASE_BYTES] * self.count, False
        sizes = [parts.shard_bytes] * self.count
        done, at = after, [index % self.workers for index in range(self.count)]
        if not parts.staying:
            done = [self._add("decode", CLIENT, parts.decode_byte * parts.shard_bytes * self.count, after)]
        while not layers or len(each) > 1:
            ends = grouped(each, [layers] * len(each), most)
            if parts.balanced:
                ends = balanced(len(each), ends)
            groups = [range(begin, end) for begin, end in pairwise([0, *ends])]
            seconds = [parts.layer(sum(each[i] for i in group)) for group in groups]
            if parts.staying and not layers:
                done = self._first_level(groups, seconds, at, done)
            else:
                sent = [sum(sizes[i] for i in group) for group in groups]
                done = self._level("layers", seconds, sent, parts.layer_bytes, done)
            each, layers = [parts.layer_bytes // LAYER_BYTES] * len(groups), True
            sizes = [parts.layer_bytes] * len(groups)
        done = self._level("last layer", [parts.last_layer], sizes, parts.last_bytes, done)
        self._add("verify", CLIENT, parts.verify_layer, done)

    def _run(self) -> list[list[Step]]:
        """Schedule the client's run, and return the steps after which each window's record may begin."""
        seconds = self.parts.run_rate * self.window / 1e9
        steps = [self._add("run", RUN, seconds, []) for _ in range(self.count)]
        if self.parts.streamed:
            return [[steps[max(0, index - 1)]] if index else [] for index in range(self.count)]
        return [steps] * self.count

    def _stage(self, name: str, at: Sequence[int], seconds: Sequence[float], after: Sequence[list[Step]]) -> list[Step]:
        """Schedule a task of each shard, and the client's work for its result."""
        sent = [self._message(after[index]) for index in range(self.count)]
        done = [
            self._on(name, at[index], seconds[index] + self.parts.turn, [sent[index]]) for index in range(self.count)
        ]
        return [self._message([step]) for step in sorted(done, key=lambda step: step.end)]

    def _first_level(
        self, groups: Sequence[range], seconds: Sequence[float], at: Sequence[int], after: Sequence[Step]
    ) -> list[Step]:
        """Schedule the layers about shards, each on the idlest worker that has one of its shards.

        Args:
            groups: The shards of each layer.
            seconds: The time of each layer.
            at: The worker of each shard.
            after: The steps before all layers.
        """
        parts, layers_of, done = self.parts, Counter[int](), []
        for group, own in zip(groups, seconds, strict=True):
            worker = min((at[index] for index in group), key=lambda number: layers_of[number])
            layers_of[worker] += 1
            moved = sum(at[index] != worker for index in group) * parts.shard_bytes / parts.receive
            done.append(self._on("layers", worker, moved + own + parts.turn, [self._message(after)]))
        return self._layers_verified(done, parts.layer_bytes)

    def _level(
        self, name: str, seconds: Sequence[float], sizes: Sequence[int], size: int, after: Sequence[Step]
    ) -> list[Step]:
        """Schedule the layers of a level, each on the next worker in turn."""
        workers, sent = cycle(range(self.workers)), []
        for bytes_ in sizes:
            message = self._message(after)
            sent.append(self._add("send", SEND, bytes_ / self.parts.send, [message]))
        done = [self._on(name, next(workers), each + self.parts.turn, [sent[i]]) for i, each in enumerate(seconds)]
        return self._layers_verified(done, size)

    def _layers_verified(self, done: Sequence[Step], size: int) -> list[Step]:
        """Schedule the way of layers to the client, and their verification."""
        verified = []
        for step in sorted(done, key=lambda step: step.end):
            came = self._add("receive", RECEIVE, size / self.parts.receive, [step])
            verified.append(self._add("verify", CLIENT, self.parts.verify_layer, [came]))
        return verified

    def _verified(self, made: Step) -> Step:
        """Schedule the way of a shard to the client, and its verification."""
        parts = self.parts
        came = self._add("receive", RECEIVE, parts.shard_bytes / parts.receive, [made])
        taken = self._message([came])
        free = self.schedule.free
        names = [f"{VERIFY} {number}" for number in range(1 + parts.checkers(self.count))]
        first = min(names, key=lambda name: free[name].end if name in free else 0.0)
        return self._add("verify", first, parts.verify_byte * parts.shard_bytes, [taken])

    def _message(self, after: Iterable[Step]) -> Step:
        """Schedule the client's work for a task, half of which is before it and half after it."""
        return self._add("messages", CLIENT, self.parts.client_task / 2, after)

    def _on(self, name: str, worker: int, seconds: float, after: Iterable[Step]) -> Step:
        return self._add(name, f"worker {worker}", seconds, after)

    def _add(self, name: str, on: str, seconds: float, after: Iterable[Step]) -> Step:
        return self.schedule.add(name, on, seconds, after)


def balanced(count: int, ends: Sequence[int]) -> list[int]:
    """Return the ends of as many groups as there are, of equal lengths or one apart."""
    return [count * number // len(ends) for number in range(1, len(ends) + 1)]
