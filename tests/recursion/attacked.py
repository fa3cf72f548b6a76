"""Runs of the verifier's program by a prover that sets cells as it likes, for programs without some instructions.

A run has a *scene*: what other tables prove about rows and digests, and cells that a prover sets at the beginning. An
*edit* sets more cells right before an instruction; hints find only cells that are still unknown then.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache

import numpy as np

from graphprover.air.expression import ADD, MUL, SUB
from graphprover.field import ZERO, Ext, ext_add, ext_inv, ext_mul, ext_sub
from graphprover.recursion.head.gates import INVERSE
from graphprover.recursion.head.head import ProofHead
from graphprover.recursion.head.placed import Placed, evaluate
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.program.assembler import HOME, Linked
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.tables.steps import FIRST_FRAME
from graphprover.recursion.witness.run import Contradiction
from tests.recursion.layered import Child
from tests.recursion.naive_run import Decoded, Run, Step, answers, decoded

Edit = Callable[["AttackedRun", int, int], None]  # takes the run, the frame pointer, and how often it was taken before


@dataclass(frozen=True, eq=False)
class Scene:
    """The data of a run."""

    head: ProofHead
    rows: Mapping[Ext, tuple[int, ...]]  # words of each row, by the place of its digest
    digests: Mapping[Ext, tuple[int, ...]]  # eight numbers each, by place
    cells: Mapping[int, Ext]  # that a prover sets, but results of gates
    gates: Mapping[int, Ext]  # results of gates that a prover replaces, by address; the other results follow from them
    honest: Mapping[int, Ext]  # memory after the honest run

    def with_words(self, place: Ext, words: Mapping[int, int]) -> "Scene":
        """Return the scene with other words of a row."""
        own = list(self.rows[place])
        for i, word in words.items():
            own[i] = word
        return replace(self, rows={**self.rows, place: tuple(own)})

    def with_numbers(self, place: Ext, numbers: Mapping[int, int]) -> "Scene":
        """Return the scene with other numbers of a digest."""
        own = list(self.digests[place])
        for i, number in numbers.items():
            own[i] = number
        return replace(self, digests={**self.digests, place: tuple(own)})

    @cached_property
    def groups(self) -> list[OpenedRows]:
        """The rows, one of each in a group."""
        found = []
        for (tree, layer, index), words in self.rows.items():
            own = np.array(words, dtype=np.uint64)[None]
            found.append(OpenedRows(tree, layer, np.array([index], dtype=np.uint64), own, None))
        return found


def scene_of(own: Child) -> Scene:
    """Return the scene of an honest run about a proof."""
    head, data = own.head, own.data()
    rows: dict[Ext, tuple[int, ...]] = {}
    for of in data.rows:
        for place, words in zip(of.places.tolist(), of.words.tolist(), strict=True):
            rows[tuple(place)] = tuple(words)
    places = [tuple(place) for place in data.places.tolist()]
    digests = dict(zip(places, map(tuple, data.digests.tolist()), strict=True))
    cells = dict.fromkeys((head.areas.zeros + head.at).tolist(), ZERO)
    scene = Scene(head, rows, digests, cells, {}, {})  # type: ignore[arg-type]
    assert taken(scene, {}) is None
    return replace(scene, honest=dict(machine().memory))


@cache
def program() -> Linked:
    """Return the verifier's program without the rows after its last instruction."""
    linked = verifier_program()
    return replace(linked, fields=linked.fields[:, : len(linked.sources)])


@cache
def decoded_program() -> list[Decoded]:
    """Return the instructions of the program."""
    return [decoded(pc, fields) for pc, fields in enumerate(program().fields.T.tolist())]


@cache
def first_of(function: str) -> int:
    """Return the address of the first instruction of a function of the program."""
    return next(pc for pc, source in enumerate(program().sources) if source.startswith(f"{function}, "))


class AttackedRun(Run):
    """Runs with edits, of the program without some instructions, one after another in the same memory.

    Other tables are part of a run: they have the rows of the scene and the words of its digests.
    """

    def __init__(self) -> None:
        super().__init__(program(), {}, lambda *request: self._answer(*request), {}, ())
        self.steps = self._steps  # of the whole program

    def begin(self, scene: Scene, edits: Mapping[int, Edit], dropped: Collection[int]) -> None:
        """Begin another run."""
        self.scene, self.regions = scene, 0
        self._answer, self._digests = answers(scene.groups), scene.digests
        for numbers in (self.memory, self.pcs, self.frames):
            numbers.clear()
        self.memory |= {FIRST_FRAME + HOME: ZERO, **scene.cells}
        at_gates = first_of("take gates")

        def put_gates(run: AttackedRun, frame: int, visit: int) -> None:
            run.put_gates()
            if at_gates in edits:
                edits[at_gates](run, frame, visit)

        own: dict[int, Edit] = {**edits, at_gates: put_gates}
        self._linked = _without_hints(frozenset(own))
        self._removed = {pc: _hints_of(pc) for pc in own}
        self._visits = Counter[int]()
        self._steps = list(self.steps)
        for pc in dropped:
            self._steps[pc] = _nothing
        for pc, edit in own.items():
            self._steps[pc] = self._edited(pc, edit, self._steps[pc])

    def hint(self, frame: int, pc: int) -> None:
        """Find the cells with hints that are unknown."""
        for offset, *hint in self._removed[pc]:
            if frame + offset not in self.memory:
                self.memory[frame + offset] = self._hinted(frame, *hint)

    def _edited(self, pc: int, edit: Edit, step: Step) -> Step:
        def edited(frame: int) -> tuple[int, int] | None:
            edit(self, frame, self._visits[pc])
            self._visits[pc] += 1
            self.hint(frame, pc)
            return step(frame)

        return edited

    def _step(self, of: Decoded) -> Step:
        if "cap" not in of.flags:
            return super()._step(of)

        def step(frame: int) -> None:
            """Require the words to be the ones that other tables look up."""
            place, memory = self.memory[frame + of.a], self.memory
            numbers = self.scene.digests[place]
            words = [memory[frame + offset] for offset in (of.b, of.c, of.d)]
            if (*words[0], *words[1], *words[2][:2]) != numbers:
                raise Contradiction(f"no such digest at {place}")

        return step

    def put_gates(self) -> None:
        """Set the results of all gates, as a prover finds them."""
        scene, memory = self.scene, self.memory
        of = scene.head.gates
        given = np.array([memory.get(address, ZERO) for address in of.addresses[: of.cells].tolist()], dtype=np.uint64)
        values = results(of, given.T, scene.gates)
        for address, value in zip(of.addresses.tolist(), values, strict=True):
            memory.setdefault(address, value)


def results(of: Placed, cells: np.ndarray, replaced: Mapping[int, Ext]) -> list[Ext]:
    """Return all values of gates, some of them replaced by their addresses; values after them follow from these."""
    if not replaced:
        return list(map(tuple, evaluate(of, cells).T.tolist()))
    values: list[Ext] = [*map(tuple, cells.T.tolist()), *((literal, 0, 0) for literal in of.literals.tolist())]
    operations = {MUL: ext_mul, ADD: ext_add, SUB: ext_sub, INVERSE: lambda a, _: ext_inv(a)}
    first, second, kinds = of.first.tolist(), of.second.tolist(), of.kinds.tolist()
    for i, address in enumerate(of.addresses[len(values) :].tolist()):
        value = operations[kinds[i]](values[first[i]], values[second[i]])
        values.append(replaced.get(address, value))
    return values


def _nothing(frame: int) -> None:
    """Take a step that demands nothing."""


@lru_cache(maxsize=4)
def _without_hints(pcs: frozenset[int]) -> Linked:
    """Return the program without the hints before some instructions."""
    linked = program()
    firsts = linked.first_hints
    kept = [i for pc in range(len(linked.sources)) if pc not in pcs for i in range(firsts[pc], firsts[pc + 1])]
    counts = np.diff(firsts)[: len(linked.sources)]
    counts[list(pcs)] = 0
    return replace(linked, hints=linked.hints[kept], first_hints=np.concatenate([[0], np.cumsum(counts)]))


def _hints_of(pc: int) -> list[list[int]]:
    linked = program()
    return linked.hints[linked.first_hints[pc] : linked.first_hints[pc + 1]].tolist()


@dataclass(frozen=True)
class Refused:
    """The instruction at which a run stops, with its run until the next one begins."""

    pc: int
    error: Exception
    run: AttackedRun

    @property
    def frame(self) -> int:
        """The frame pointer of the last step."""
        return self.run.frames[-1]


@cache
def machine() -> AttackedRun:
    """Return the runs that all attacks share: the steps of a program take long to make."""
    return AttackedRun()


def taken(scene: Scene, edits: Mapping[int, Edit], dropped: Collection[int] = ()) -> Refused | None:
    """Take a run; return the instruction that it stops at, if it does not halt."""
    run = machine()
    run.begin(scene, edits, dropped)
    try:
        run.take_steps()
    except (Contradiction, ValueError, IndexError) as error:
        return Refused(run.pcs[-1], error, run)
    return None
