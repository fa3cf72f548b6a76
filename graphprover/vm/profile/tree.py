"""A profile as a tree of frames, widest first, whose leaves are the costs of instructions and tables."""

from dataclasses import dataclass, field

import numpy as np

from graphprover.statement.cost import CELLS, CYCLES, cost_of_part
from graphprover.vm.profile.lines import Lines
from graphprover.vm.profile.measure import Profile

FUNCTION, LINE, CHIP, TABLE = "function", "line", "chip", "table"  # kinds of frames
ALL, NO_FUNCTION, PADDING, SHAPE = "all", "[no function]", "padding", "shape of the proof"
ELSEWHERE_NAME = "[further call paths]"


@dataclass(eq=False)
class Frame:
    """A part of a run: its cost is the sum of its children's."""

    name: str
    kind: str
    cycles: int = 0
    cells: int = 0
    shared_cost: int = 0  # that neither cells nor cycles have
    children: dict[tuple[str, str], "Frame"] = field(default_factory=dict)  # by kind and name

    def child(self, kind: str, name: str) -> "Frame":
        """Return the child of this name, created if it is missing."""
        return self.children.setdefault((kind, name), Frame(name, kind))

    @property
    def cost(self) -> int:
        """The cost of this frame; the root's is the run's cost number."""
        return cost_of_part(self.cells, self.cycles) + self.shared_cost

    def add(self, cycles: int, cells: int, shared_cost: int = 0) -> None:
        """Add counts to this frame."""
        self.cycles += cycles
        self.cells += cells
        self.shared_cost += shared_cost


def tree(profile: Profile, lines: Lines) -> Frame:
    """Return the tree of a run: functions, below them source lines (if any) and chips; and cells of no function."""
    root = Frame(ALL, FUNCTION)
    frames: dict[int, Frame] = {0: root}

    def frame_of(node: int) -> Frame:
        path = []
        while node not in frames:
            path.append(node)
            node = int(profile.node_parent[node])
        frame = frames[node]
        for node in reversed(path):
            function = int(profile.node_function[node])
            frame = frame.child(FUNCTION, profile.functions[function] if function >= 0 else ELSEWHERE_NAME)
            frames[node] = frame
        return frame

    samples = profile.samples
    line = lines.of[samples.instruction]
    keys = np.stack([samples.node, line, samples.table])
    groups, which = np.unique(keys, axis=1, return_inverse=True)
    cycles = np.zeros(groups.shape[1], dtype=np.int64)
    cells = np.zeros_like(cycles)
    np.add.at(cycles, which, samples.cycles)
    np.add.at(cells, which, samples.cells)
    for node, at, table, of_cycles, of_cells in zip(*groups.tolist(), cycles.tolist(), cells.tolist(), strict=True):
        frame = frame_of(node)
        if at >= 0:
            frame = frame.child(LINE, lines.names[at])
        frame.child(CHIP, f"[{profile.tables[table].name}]").add(of_cycles, of_cells)

    others = root.child(FUNCTION, NO_FUNCTION)
    for use in profile.tables:
        if use.own:
            others.child(TABLE, use.name).add(0, use.own)
        if use.idle:
            others.child(TABLE, PADDING).child(TABLE, use.name).add(0, use.idle)
    for one in profile.cost.classes:
        if one.name not in (CELLS, CYCLES):
            others.child(TABLE, SHAPE).child(TABLE, one.name).add(0, 0, one.cost)
    _sum(root)
    return root


def _sum(root: Frame) -> None:
    """Sum the costs of children for every frame, and sort them."""
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += found[-1].children.values()
    for frame in reversed(found):
        for child in frame.children.values():
            frame.add(child.cycles, child.cells, child.shared_cost)
        frame.children = dict(sorted(frame.children.items(), key=lambda item: (-item[1].cells, item[0])))


@dataclass(eq=False)
class Share:
    """The cost of one function, from all its callers."""

    name: str
    own_cycles: int = 0
    own_cells: int = 0
    cycles: int = 0  # with its callees; counted once for recursive calls
    cells: int = 0

    @property
    def own_cost(self) -> int:
        """The function's own share of the cost number."""
        return cost_of_part(self.own_cells, self.own_cycles)

    @property
    def cost(self) -> int:
        """The share of the function with its callees."""
        return cost_of_part(self.cells, self.cycles)


def by_function(root: Frame) -> list[Share]:
    """Return all functions of a tree, by falling number of their own cells."""
    found: dict[str, Share] = {}
    waiting: list[tuple[Frame, frozenset[str]]] = [(child, frozenset()) for child in root.children.values()]
    while waiting:
        frame, above = waiting.pop()
        if frame.name == NO_FUNCTION:
            continue
        share = found.setdefault(frame.name, Share(frame.name))
        called = [child for child in frame.children.values() if child.kind == FUNCTION]
        share.own_cycles += frame.cycles - sum(child.cycles for child in called)
        share.own_cells += frame.cells - sum(child.cells for child in called)
        if frame.name not in above:
            share.cycles += frame.cycles
            share.cells += frame.cells
        waiting += [(child, above | {frame.name}) for child in called]
    return sorted(found.values(), key=lambda share: (-share.own_cells, share.name))
