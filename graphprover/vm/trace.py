"""From an execution to the traces of its tables, by whole columns."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphprover.air import AirDescription
from graphprover.air.expression import ADD, CONST, MAIN, MUL, NEG, SUB
from graphprover.field import P, array_sub
from graphprover.kernels.cpu.inverse import invert
from graphprover.statement import Statement, Table
from graphprover.vm.buses import LOOKUPS, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, VM, Tag, tag_of
from graphprover.vm.execute import Execution
from graphprover.vm.families import FAMILIES, IN_PLACE
from graphprover.vm.io import INPUT_BASE, OUTPUT_BASE, region
from graphprover.vm.isa import decode_all, disassemble
from graphprover.vm.machine import LANES, MAX_STATED_INPUT, MIN_ROWS, Machine, Part, Place, cells_per_row, rows_for
from graphprover.vm.record import Record
from graphprover.vm.tables.bump import LANES as BUMP_LANES
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.keccak_f import LANES as KECCAK_LANES
from graphprover.vm.tables.keccak_f import ROUNDS, KeccakF, even_trace
from graphprover.vm.tables.keccak_f import trace as keccak_f_trace
from graphprover.vm.tables.state import STATED_LANES, Region, StatedInput
from graphprover.vm.tables.step import ONES, Step

FAR = 1 << 16  # accesses this far apart need a bump in between
MANY = 1 << 12  # instructions of a family from which on several share a row
SPLIT_CELLS = 1 << 20  # idle cells from which on a table is split into two


class Unprovable(ValueError):
    """An instruction that executed, but that no family can prove."""


@dataclass(eq=False)
class Bumps:
    """Accesses that came too late, as arrays of addresses, times before and after, and values."""

    parts: list[tuple[np.ndarray, ...]] = field(default_factory=list)

    def recent(self, at: Any, t: np.ndarray, value: np.ndarray, now: np.ndarray) -> np.ndarray:
        """``t``, or where that is too long before ``now``, the time of a bump right before it."""
        far = now - t > FAR
        if not far.any():
            return t
        at = np.broadcast_to(at, t.shape)
        self.parts.append((at[far], t[far], now[far] - 1, value[far]))
        return np.where(far, now - 1, t)

    def joined(self) -> tuple[np.ndarray, ...]:
        """Address, time before, time after and value of all bumps."""
        if not self.parts:
            return (np.zeros(0, np.uint64),) * 4
        return tuple(np.concatenate(each) for each in zip(*self.parts, strict=True))


class Rows:
    """What a family needs to know of the cycles that it proves; all arrays are uint64, one entry a cycle."""

    def __init__(self, run: "Run", cycles: np.ndarray, entries: np.ndarray, bumps: Bumps) -> None:
        self._run, self._cycles, self._entries, self._bumps = run, cycles, entries, bumps

    def __getattr__(self, name: str) -> Any:
        if name in ("a", "b", "c", "t_a", "t_b", "t_d", "t_m", "old", "new", "address"):
            value = getattr(self._run.record, name)[self._cycles]
        elif name in self._run.entries:
            value = self._run.entries[name][self._entries]
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    @cached_property
    def clk(self) -> np.ndarray:
        return self._cycles.astype(np.uint64) + np.uint64(1)

    @cached_property
    def offset(self) -> np.ndarray:
        """The instruction's own immediate mod 2^64."""
        return self._run.code.imm[self._run.record.index[self._cycles]].view(np.uint64)

    @cached_property
    def crossing(self) -> np.ndarray:
        return np.searchsorted(self._run.record.crossings.cycle, self._cycles)

    @property
    def old2(self) -> np.ndarray:
        return self._run.record.crossings.old[self.crossing]

    @property
    def new2(self) -> np.ndarray:
        return self._run.record.crossings.new[self.crossing]

    @property
    def calls(self) -> list[Any]:
        by_cycle = {call.cycle: call for call in self._run.record.calls}
        return [by_cycle[cycle] for cycle in self._cycles.tolist()]

    def recent(self, at: Any, t: np.ndarray, value: np.ndarray, now: np.ndarray) -> np.ndarray:
        """See ``Bumps``."""
        return self._bumps.recent(at, t, value, now)

    def inverse_of_difference(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """1 / (x - y) in the field, 0 where they are equal."""
        difference = array_sub(x, y)
        zero = difference == 0
        words = np.ones(-(-len(x) // 32) * 32, dtype=np.uint64)
        words[: len(x)] = np.where(zero, 1, difference)
        if len(x):
            invert(words, np.empty_like(words), len(x))
        return np.where(zero, 0, words[: len(x)])

    def signed(self, x: np.ndarray, y: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """(x - y) * 2^shift in the field, where the magnitude is below 2^63."""
        return array_sub(x << shift, y << shift)

    def old_d(self) -> np.ndarray:
        """The value of rd before: what the access at t_d left there."""
        record, t = self._run.record, self.t_d
        cycle, slot = (t >> 2).astype(np.int64) - 1, t & 3
        value = record.a[cycle]
        at_b, at_d = slot == SLOT_B, slot == SLOT_D
        value[at_b] = record.b[cycle[at_b]]
        value[at_d] = record.c[cycle[at_d]]
        value[t == 0] = 0
        return value

    def cells(self, step: Step) -> dict[str, Any]:
        """All cells of the family."""
        names, now = step.names, 4 * self.clk
        cells: dict[str, Any] = {"on": np.uint64(1), "clk": self.clk, "pc": self.pc}
        for name in ("a_at", "b_at", "d_at", "imm", "imm2"):
            if name in names:
                cells[name] = getattr(self, name)
        if "following" in names:
            cells["following"] = self.following
        if "a_t" in names:
            slot = np.uint64(SLOT_D if step.in_place else SLOT_A)
            cells["a_t"] = self.recent(self.a_at, self.t_a, self.a, now + slot)
        if "b_t" in names:
            cells["b_t"] = self.recent(self.b_at, self.t_b, self.b, now + SLOT_B)
        if "d_t" in names:
            old = self.old_d()
            cells |= {"old_lo": old & ONES, "old_hi": old >> 32}
            cells["d_t"] = self.recent(self.d_at, self.t_d, old, now + SLOT_D)
        if "m_t" in names:
            at = self.address & ~np.uint64(7)
            cells["m_t"] = self.recent(at, self.t_m, self.old, now + SLOT_MEMORY)
            cells |= {"m_lo": self.old & ONES, "m_hi": self.old >> 32}
        if "m2_t" in names:
            t = self._run.record.crossings.t[self.crossing]
            cells["m2_t"] = self.recent(at + np.uint64(8), t, self.old2, now + SLOT_MEMORY)
        for letter in "ab":
            if f"{letter}_lo" in names or f"{letter}_hi" in names:
                value = getattr(self, letter)
                cells |= {f"{letter}_lo": value & ONES, f"{letter}_hi": value >> 32}
        return cells | step.witness(self)


class Run:
    """An execution, and how it meets the program table."""

    def __init__(self, machine: Machine, execution: Execution) -> None:
        if execution.record is None:
            raise ValueError("an execution without a record cannot be proved")
        self.machine, self.execution, self.record = machine, execution, execution.record
        self.code = decode_all(machine.image.code)
        names = ("family", "pc", "following", "d_at", "a_at", "b_at", "imm", "imm2")
        self.entries = dict(zip(names, machine.entries, strict=True))

    def by_family(self) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """For each family that proves any, the cycles it proves and their rows of the program table."""
        record, ways = self.record, self.machine.outcomes
        kinds: dict[tuple[str, ...], int] = {}
        kind_of = np.array(
            [kinds.setdefault(tuple(each.family for each in way), len(kinds)) for way in ways], np.uint16
        )
        first = np.concatenate([[0], np.cumsum([len(way) for way in ways])])  # row of an instruction's first outcome
        kind = kind_of[record.index]
        order = np.argsort(kind, kind="stable")
        bounds = np.searchsorted(kind[order], np.arange(len(kinds) + 1))
        many: dict[str, int] = {}
        for families, number in kinds.items():
            for family in families:
                many[family] = many.get(family, 0) + int(bounds[number + 1] - bounds[number])
        found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for families, number in kinds.items():
            cycles = order[bounds[number] : bounds[number + 1]]
            for i, family in enumerate(families):
                if not len(cycles):
                    break
                if family.endswith(IN_PLACE) and many[family] < MANY:
                    continue  # not worth a table of its own
                entries = first[record.index[cycles]] + i
                fits = self._fits(family, cycles, entries)
                found.setdefault(family, []).append((cycles[fits], entries[fits]))
                cycles = cycles[~fits]
            if len(cycles):
                at = int(record.index[cycles[0]])
                pc = self.machine.image.code_base + 4 * at
                line = disassemble(int(self.machine.image.code[at]), pc)
                raise Unprovable(f"cycle {cycles[0]}, pc {pc:#x}: {line}: no table proves this")
        for family, parts in found.items():
            cycles = np.concatenate([part[0] for part in parts])
            if len(cycles):
                yield family, cycles, np.concatenate([part[1] for part in parts])

    def _fits(self, family: str, cycles: np.ndarray, entries: np.ndarray) -> np.ndarray:
        """Which of the cycles the family can prove."""
        fits = FAMILIES[family](1).fits(Rows(self, cycles, entries, Bumps()))
        return np.broadcast_to(fits, cycles.shape)


def statement(machine: Machine, execution: Execution, label: str = "", *, state_input: bool = False) -> Statement:
    """The statement about an execution, with its traces; with ``state_input`` it says on which input.

    Raises Unprovable.
    """
    if state_input and len(execution.input) > MAX_STATED_INPUT:
        raise Unprovable(f"an input of {len(execution.input):,} bytes: a proof states {MAX_STATED_INPUT:,} at most")
    stated = region(execution.input) if state_input else np.zeros(0, dtype=np.uint64)
    run = Run(machine, execution)
    record, bumps = run.record, Bumps()
    steps: list[tuple[Place, Step, np.ndarray]] = []
    counts = np.zeros(machine.entries.shape[1], dtype=np.int64)
    keccak_calls: list[tuple[int, np.ndarray]] = []
    for family, cycles, entries in run.by_family():
        counts += np.bincount(entries, minlength=len(counts))
        rows = Rows(run, cycles, entries, bumps)
        if family == "keccak_call":
            keccak_calls = [(call.cycle + 1, call.old) for call in rows.calls]
        steps += _family_tables(machine, family, rows, len(cycles))

    tables: list[tuple[int, np.ndarray]] = [(Part.PROGRAM, _single(counts, rows_for(len(counts))))]
    tables += _state_tables(machine, execution, record, stated)
    tables += ((Part.BUMP, main) for main in _bump_traces(*bumps.joined()))
    if keccak_calls:
        permutations = list(_keccak_traces(keccak_calls))
        tables += ((Part.KECCAK_F, main) for main in permutations)
        tables.append((Part.EVEN, even_trace(permutations, MIN_ROWS)))
    words = _output_words(execution)
    sizes = len(words), len(stated)
    public_words = {
        part: [half for word in each.tolist() for half in (word & ONES, word >> 32)]
        for part, each in ((Part.OUTPUT, words), (Part.STATED_INPUT, stated))
    }

    lookups = {tag: np.zeros(64 if tag in (Tag.LEFT, Tag.RIGHT) else 1 << 16, dtype=np.int64) for tag in LOOKUPS}
    for _, step, main in steps:
        _count(lookups, step.describe(), main)
    for code, main in tables:
        _count(lookups, machine.air(code, 0, *sizes).describe(), main)
    halves, signs, pairs, conjunctions, left, right = (lookups[tag] for tag in LOOKUPS)
    counted = ((Part.HALVES, halves, signs), (Part.BYTE_PAIRS, pairs, conjunctions), (Part.POWERS, left, right))
    tables += ((part, np.stack(columns).astype(np.uint64)) for part, *columns in counted)

    tables.sort(key=lambda each: each[0])
    shape = [*(int(part) for part, _ in tables), *(place.code for place, _, _ in steps)]
    first = np.zeros((1, MIN_ROWS), dtype=np.uint64)
    first[0, 0] = 1
    code = execution.exit_code
    public = [execution.cycles, code & ONES, code >> 32, *shape]
    made = [Table(machine.air(0, 1 + len(shape), *sizes), public, first)]
    for part, main in tables:
        made.append(Table(machine.air(part, 0, *sizes), public_words.get(Part(part), ()), main))
    made += [Table(step, (), main) for _, step, main in steps]
    return Statement(made, label)


def _single(counts: np.ndarray, rows: int) -> np.ndarray:
    """One column."""
    column = np.zeros((1, rows), dtype=np.uint64)
    column[0, : len(counts)] = counts
    return column


def _family_tables(machine: Machine, family: str, rows: Rows, count: int) -> Iterator[tuple[Place, Step, np.ndarray]]:
    """The tables of one family: several where one would stay idle too much."""
    place = Place(family, LANES[count >= MANY])
    step = machine.air(place.code, 0, 0)
    assert isinstance(step, Step)
    cells = rows.cells(step)
    width = cells_per_row(step.describe())
    start = 0
    while start < count:
        height = _height(-(-(count - start) // place.lanes), width)
        end = min(start + height * place.lanes, count)
        main, views = step.zeros(height)
        for name in vars(views):
            _place(getattr(views, name), cells[name], start, end, name)
        yield place, step, main
        start = end


def _height(rows: int, width: int) -> int:
    """The height of a table for so many rows, or of the first where there are to be several: see SPLIT_CELLS."""
    height = rows_for(rows)
    return height // 2 if (height - rows) * width > SPLIT_CELLS else height


def _place(view: np.ndarray, values: Any, start: int, end: int, name: str) -> None:
    """Writes entries start..end of a cell to its columns, (lanes, [members,] rows): lane by lane."""
    if isinstance(values, tuple | list):
        for i, each in enumerate(values):
            _place(view[:, i], each, start, end, name)
        return
    lanes, height = view.shape
    values = np.broadcast_to(np.asarray(values), (end,)) if np.ndim(values) == 0 else values
    for lane in range(lanes):
        part = values[start + lane * height : min(start + (lane + 1) * height, end)]
        view[lane, : len(part)] = part


def _state_tables(
    machine: Machine, execution: Execution, record: Record, stated: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """The traces of registers and memory."""
    registers, memory, image = record.registers, record.memory, machine.image
    file = np.zeros((3, 64), dtype=np.uint64)
    file[:, : len(registers.t)] = registers.t, registers.value & ONES, registers.value >> 32
    yield Part.REGISTERS, file

    words = len(_output_words(execution))
    borders = (
        (Part.IMAGE, image.zero_base),
        (Part.ZERO, INPUT_BASE),
        (Part.STATED_INPUT, INPUT_BASE + 8 * len(stated)),
        (Part.ZERO_BETWEEN if len(stated) else Part.INPUT, OUTPUT_BASE),
        (Part.OUTPUT, OUTPUT_BASE + 8 * words),
        (Part.ZERO_ABOVE, 1 << 32),
    )
    start = 0
    for part, end in borders:
        stop = int(np.searchsorted(memory.address, end))
        chosen = slice(start, stop)
        start = stop
        if chosen.start == chosen.stop and not (part in machine.fixed or (part == Part.STATED_INPUT and len(stated))):
            continue
        at, t, initial, final = (each[chosen] for each in (memory.address, memory.t, memory.initial, memory.final))
        air = machine.air(part, 0, words, len(stated))
        if part == Part.IMAGE:
            trace = np.zeros((3, rows_for(len(image.addresses))), dtype=np.uint64)
            trace[1:, : len(image.values)] = image.values & ONES, image.values >> 32
            trace[:, np.searchsorted(image.addresses, at)] = t, final & ONES, final >> 32
            yield part, trace
        elif part == Part.STATED_INPUT:
            assert isinstance(air, StatedInput)
            yield part, _stated_input(air, stated, at, t, final)
        elif part == Part.OUTPUT:
            trace = np.zeros((1 + words, MIN_ROWS), dtype=np.uint64)
            trace[0, 0] = 1
            trace[1 + ((at - OUTPUT_BASE) >> 3).astype(np.int64), 0] = t
            yield part, trace
        else:
            assert isinstance(air, Region)
            yield part, _region(air, at, t, initial, final)


def _region(air: Region, at: np.ndarray, t: np.ndarray, initial: np.ndarray, final: np.ndarray) -> np.ndarray:
    """The trace of a region."""
    count = len(at)
    trace, c = air.zeros(rows_for(count + 2))
    used = slice(1, count + 1)
    c.on[used] = 1
    c.at[0] = air.start - 8
    c.at[used] = at
    c.at[count + 1 :] = air.end - 8
    gap = (np.diff(c.at) >> np.uint64(3)) - c.on[1:]
    c.gap[:, :-1] = gap & 0xFFFF, gap >> np.uint64(16)
    c.t[used], c.lo[used], c.hi[used] = t, final & ONES, final >> np.uint64(32)
    if hasattr(c, "initial"):
        for i in range(4):
            c.initial[i, used] = initial >> np.uint64(16 * i) & np.uint64(0xFFFF)
    return trace


def _stated_input(air: StatedInput, stated: np.ndarray, at: np.ndarray, t: np.ndarray, final: np.ndarray) -> np.ndarray:
    """The trace of a stated input, whose accessed words were accessed last at ``t`` and are ``final`` in the end."""
    times, last = np.zeros(len(stated), dtype=np.uint64), stated.copy()
    number = ((at - np.uint64(INPUT_BASE)) >> np.uint64(3)).astype(np.int64)
    times[number], last[number] = t, final
    row, lane = np.divmod(np.arange(len(stated)), STATED_LANES)
    trace, c = air.zeros(rows_for(-(-len(stated) // STATED_LANES)))
    c.row[row, row] = 1
    c.t[lane, row], c.lo[lane, row], c.hi[lane, row] = times, last & ONES, last >> np.uint64(32)
    return trace


def _output_words(execution: Execution) -> np.ndarray:
    """The words of the public output; none if the guest never touched it."""
    memory = execution.record.memory if execution.record else None
    assert memory is not None
    if OUTPUT_BASE not in memory.address:
        return np.zeros(0, dtype=np.uint64)
    words = np.zeros(1 + -(-len(execution.output) // 8), dtype=np.uint64)
    chosen = (memory.address >= OUTPUT_BASE) & (memory.address < OUTPUT_BASE + 8 * len(words))
    words[((memory.address[chosen] - OUTPUT_BASE) >> 3).astype(np.int64)] = memory.final[chosen]
    return words


def _bump_traces(at: np.ndarray, before: np.ndarray, after: np.ndarray, value: np.ndarray) -> Iterator[np.ndarray]:
    """The traces of the bumps."""
    step = after - before - np.uint64(1)
    if (step >> np.uint64(32)).any():
        raise Unprovable("a value was not accessed for more than 2^30 cycles")
    cells = {
        "on": np.ones(len(at), np.uint64),
        "at": at,
        "t": before,
        "lo": value & ONES,
        "hi": value >> np.uint64(32),
        "step_low": step & 0xFFFF,
        "step_high": step >> np.uint64(16),
    }
    width, start = cells_per_row(Bump().describe()), 0
    while start < len(at):
        height = _height(-(-(len(at) - start) // BUMP_LANES), width)
        end = min(start + height * BUMP_LANES, len(at))
        trace, views = Bump().zeros(height)
        for name, values in cells.items():
            _place(getattr(views, name), values, start, end, name)
        yield trace
        start = end


def _keccak_traces(calls: list[tuple[int, np.ndarray]]) -> Iterator[np.ndarray]:
    """The traces of the permutation, whose calls are numbered by clocks."""
    width = cells_per_row(KeccakF().describe())
    while calls:
        height = _height(ROUNDS * len(calls), width)
        now, calls = calls[: height // ROUNDS], calls[height // ROUNDS :]
        states = np.array([old for _, old in now], dtype=np.uint64).reshape(-1, KECCAK_LANES).T
        yield keccak_f_trace([clk for clk, _ in now], states, height)


_ROOTS = {pow(2, -k, P): k for k in range(1, 33)}  # 1 / 2^k


def _count(lookups: dict[Tag, np.ndarray], air: AirDescription, main: np.ndarray) -> None:
    """Counts what a trace looks up. What is looked up are small numbers, so that integers mod 2^64 will do."""
    values: dict[int, Any] = {}

    def evaluate(node: int) -> Any:
        if node not in values:
            op, a, b = air.nodes[node]
            if op == CONST:
                result: Any = np.int64(a if a < P // 2 else a - P)
            elif op == MAIN:
                negative = main[a] >> 63  # of field elements, those beyond 2^63
                result = (main[a] + negative * ONES if negative.any() else main[a]).view(np.int64)
            elif op == NEG:
                result = -evaluate(a)
            elif op == MUL and air.nodes[b][0] == CONST and air.nodes[b][1] in _ROOTS:
                result = evaluate(a) >> _ROOTS[air.nodes[b][1]]
            else:
                left, right = evaluate(a), evaluate(b)
                result = left + right if op == ADD else left - right if op == SUB else left * right
            values[node] = result
        return values[node]

    constants = [a if op == CONST else None for op, a, _ in air.nodes]
    with np.errstate(over="ignore"):
        for each in air.globals:
            if each.bus != VM.name:
                continue
            (entry,) = each.tuples
            tag = tag_of(constants[node] for node in entry.fields)
            if tag not in lookups or not entry.weight:
                continue
            key = evaluate(entry.fields[_KEY[tag]])
            if tag in (Tag.BYTES, Tag.AND):
                key = 256 * key + evaluate(entry.fields[_KEY[tag] + 1])
            rows = np.broadcast_to(key, main.shape[1:])
            if constants[entry.multiplicity] is None:
                rows = rows[evaluate(entry.multiplicity) != 0]
            if len(rows) and not 0 <= rows.min() <= rows.max() < len(lookups[tag]):
                raise AssertionError(f"table {air.name}: a lookup outside of its table\n  {each.label}")
            lookups[tag] += np.bincount(rows, minlength=len(lookups[tag]))


_KEY = {Tag.HALF: -1, Tag.SIGN: -2, Tag.BYTES: -2, Tag.AND: -3, Tag.LEFT: -2, Tag.RIGHT: -2}  # where the key begins
