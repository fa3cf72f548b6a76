"""Forged rows of one chip, and the checks that notice them.

A row of a chip claims that one cycle turns given inputs (its state, the values it reads, its entry of the program)
into outputs (the values it writes, the next pc). Rows are forged by changing cells at random. A *check* is anything
that may notice: a constraint, a lookup, an input that differs from the actual value. A forged row with other outputs
that no check notices is a hole; one that exactly one check notices shows that the table needs this check.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from graphprover.air.description import AirDescription, reachable
from graphprover.air.evaluate import evaluate
from graphprover.air.expression import CONST, MAIN, MUL, NEG, SUB
from graphprover.device import CpuDevice
from graphprover.field import P, array_add, array_mul, array_sub
from graphprover.kernels.cpu.inverse import invert
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.executor.execute import Execution
from graphprover.vm.program.io import EXIT
from graphprover.vm.program.isa import STORES
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.tables.buses import LOOKUPS, REGISTER_BASE, VM, Tag, tag_of
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, SLOTS, time_of
from graphprover.vm.tables.limbs import PER_HALF
from graphprover.vm.tables.multiply import Divide, carries
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.chips import ChipPart, ChipTrace, chip_traces
from graphprover.vm.traces.rows import CycleRows
from tests.vm.in_time import in_time, instructions
from tests.vm.outcomes import outcomes_of
from tests.vm.tables.checks import member

DELTAS = [sign * (1 << k) % P for k in (0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 48) for sign in (1, -1)]
DELTAS += [65535, P - 65535, 2**32 - 1, 1 - 2**32 + P, pow(2, -16, P), pow(2, -32, P)]


WRAP = 2**32 - 1  # times 2^32 it is -1: a carry that is this much too large takes 1 off
TRACE_TASKS: tuple[dict[str, int], ...] = (  # changes that belong together, which chance alone would hardly find
    {"r[0][0]": -1, "r[0][2]": 1, "less[0]": 1},
    {"borrow_lo[0]": WRAP, "d[0][0]": -1, "d[0][2]": 1, "borrow_hi[0]": 1},
    {"carry[0]": WRAP, "p[0][0]": 1, "p[0][2]": -1, "p[0][4]": 1},
    {"nd[0][0]": WRAP, "d0[0]": -1},
    {"na[0][0]": WRAP, "n[0][0]": -1, "r[0][0]": -1, "less[0][0]": 1},
    {"nb[0][0]": WRAP, "v[0][0]": -1, "less[0][0]": -1},
    *({"d[0][0]": x, "d[0][2]": y} for x in (1, -1) for y in (1, -1)),
    *({f"at[0][{i - 1}]": 1, f"at[0][{i}]": -2, f"at[0][{i + 1}]": 1} for i in range(1, 7)),
    *({f"at[0][{i}]": -1, f"at[0][{i + 1}]": 2, f"at[0][{i + 2}]": -1} for i in range(6)),
    *(
        {f"at[0][{i}]": 1, f"at[0][{j}]": 1, f"at[0][{k}]": -1}
        for i in range(8)
        for j in range(i)
        for k in range(8)
        if k not in (i, j)
    ),
)


@dataclass(frozen=True, eq=False)
class Chip:
    """One chip and the cycles of an execution that it can prove, or is claimed to prove."""

    step: Step  # of one lane
    air: AirDescription
    rows: np.ndarray  # cells of these cycles, uint64 (cells, cycles)
    fits: np.ndarray  # whether it can prove them
    inputs: dict[int, np.ndarray]  # by slot (of the nth word of memory, + SLOTS n), the value before the access
    outputs: dict[int, np.ndarray]  # and after it; -1: the next pc
    places: dict[int, np.ndarray]  # by slot of a word of memory, its address
    landings: np.ndarray  # all pcs of the program


def chips(execution: Execution, most: int = 400) -> list[Chip]:
    """Return all chips of one row with at most ``most`` of their cycles, chosen evenly."""
    machine = Machine(execution.image)
    run, device = in_time(machine, execution), CpuDevice(1)
    index = instructions(machine, run)
    following_of = machine.image.code_base + 4 * np.append(index[1:], index[-1:])
    # One more word, for cycles without a second one: it can have any value.
    more = {name: np.append(getattr(run, name), np.uint64(1)) for name in ("old", "time")}
    run = replace(run, cycles=replace(run.cycles, new=np.append(run.cycles.new, np.uint64(1))), **more)
    found, ways = [], outcomes_of(machine)
    for name in (name for name in CHIPS if name not in ROWS_OF_CHIP):
        entry_of = {
            i: machine.program_entries.first[i] + j
            for i, outcomes in enumerate(ways)
            for j, outcome in enumerate(outcomes)
            if outcome.chip == name
        }
        cycles = np.flatnonzero(np.isin(index, list(entry_of)))
        if name == "keccak_call":
            cycles = np.repeat(cycles[run.cycles.a[cycles] == KECCAK_F], 2)
        step = CHIPS[name](1)
        if not len(cycles):
            continue
        cycles = cycles[np.linspace(0, len(cycles) - 1, min(most, len(cycles))).astype(int)]
        own = replace(run, cycles=replace(run.cycles, order=cycles.astype(np.uint32), rows=run.cycles.rows.copy()))
        own.cycles.entry[cycles] = [entry_of[i] for i in index[cycles].tolist()]
        rows = CycleRows(device, own, slice(None))
        table = ChipTrace(step.describe().main_width, len(cycles), (ChipPart(step, 0, len(cycles)),))
        (main,) = chip_traces(device, own, tables=[table])
        fits = np.broadcast_to(step.fits(rows), len(cycles)).copy()
        if "m2_t" in step.names:  # a cycle without a second word: any recent time
            first, second = (step.describe().main_names.index(f"{name}[0]") for name in ("m_t", "m2_t"))
            main[second] = np.where(fits, main[second], main[first])
        following = following_of[cycles].astype(np.uint64)
        stores = np.isin(machine.instructions.op[index[cycles]], [int(op) for op in STORES])
        crosses = stores & (rows.address % 8 + step.size > 8) if "m2_t" in step.names else False
        after = [np.where(stores, rows.new, rows.old)]
        after += [np.where(crosses, rows.new2, rows.old2)] if "m2_t" in step.names else []
        before = [rows.old, *([rows.old2] if "m2_t" in step.names else [])]
        if name == "keccak_call":
            after, before = (list(rows.words(w)) for w in ("new", "old"))
        inputs = {SLOT_A: rows.a, SLOT_B: rows.b, SLOT_D: rows.d}
        outputs = {SLOT_A: rows.a, SLOT_B: rows.b, SLOT_D: rows.c, -1: following}
        inputs |= {SLOT_MEMORY + SLOTS * i: word for i, word in enumerate(before)}
        outputs |= {SLOT_MEMORY + SLOTS * i: word for i, word in enumerate(after)}
        first_word = rows.b if name == "keccak_call" else rows.word
        places = {SLOT_MEMORY + SLOTS * i: first_word + np.uint64(8 * i) for i in range(len(before))}
        if name == "keccak_call":  # every second call might have been an exit
            inputs[SLOT_A][1::2], fits[1::2], outputs[-1][1::2] = EXIT, False, 0
        if "following" in step.names:
            fits &= following == rows.following
        landings = machine.image.code_base + 4 * np.arange(len(machine.image.code), dtype=np.uint64)
        found.append(Chip(step, step.describe(), main % np.uint64(P), fits, inputs, outputs, places, landings))
    return found


@dataclass(frozen=True, eq=False)
class Noticed:
    """The checks that notice each of some forged rows."""

    labels: list[str]  # of the checks
    violated: np.ndarray  # bool (checks, rows)
    changed: np.ndarray  # bool (rows,): whether outputs are others than they should be


def notice(chip: Chip, base: np.ndarray, forged: np.ndarray) -> Noticed:
    """Return the checks that notice forged rows, uint64 (cells, rows), made from the rows ``base``."""
    air = chip.air
    inputs = [list(interaction.tuples[0].fields) for interaction in air.globals]
    roots = [*air.constraints, *(node for fields in inputs for node in fields)]

    def values(rows: np.ndarray) -> list[np.ndarray]:
        blocks = [block for _, block in evaluate(air, rows, None, [], roots)]
        return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]

    honest, got = values(chip.rows), values(forged)
    count = len(air.constraints)
    labels = [f"{label} ({i})" for i, label in enumerate(air.constraint_labels)]
    violated = [value != 0 for value in got[:count]]
    changed = np.zeros(forged.shape[1], dtype=bool)
    clk = honest[0] * 0 + chip.rows[air.main_names.index("clk[0]")]
    position, memory = count, 0  # of the fields, and words of memory seen
    for number, (interaction, fields) in enumerate(zip(air.globals, inputs, strict=True)):
        was = np.array(honest[position : position + len(fields)])[:, base]
        now = np.array(got[position : position + len(fields)])
        position += len(fields)
        multiplicity = air.nodes[interaction.tuples[0].multiplicity]
        receives = multiplicity[0] == NEG
        if interaction.bus != VM.name:
            changed |= (was != now).any(axis=0) & (not receives)
            if receives:
                labels.append(f"{interaction.bus} ({number})")
                violated.append((was != now).any(axis=0))
            continue
        tag = tag_of(air.nodes[node][1] if air.nodes[node][0] == CONST else None for node in fields)
        if tag in LOOKUPS:
            labels.append(f"{tag.name} ({number})")
            violated.append(~member(tag, now))
        elif tag == Tag.ACCESS:
            if receives:
                continue  # the send that comes next checks both
            before = np.array(got[position - 2 * len(fields) : position - len(fields)])
            slot = int(was[-3][0]) - time_of(int(clk[base[0]]))
            if slot == SLOT_MEMORY:
                slot, memory = slot + SLOTS * memory, memory + 1
            here = now[-4] == (chip.places[slot][base] if slot % SLOTS == SLOT_MEMORY else was[-4])
            there = (now[-4] % 8 == 0) & (now[-4] < 1 << 33)  # another word of memory
            if slot % SLOTS != SLOT_MEMORY:
                there = now[-4] >= REGISTER_BASE
            labels.append(f"ACCESS ({number})")
            violated.append(np.where(here, _differ(before, chip.inputs[slot][base]), ~there))
            changed |= ~here | _differ(now, chip.outputs[slot][base])
        elif tag == Tag.STATE and not receives:
            changed |= now[-1] != chip.outputs[-1][base]
            labels.append(f"lands in the program ({number})")
            violated.append(~np.isin(now[-1], chip.landings))
        elif receives or tag == Tag.PROGRAM:
            labels.append(f"{tag.name} ({number})")
            violated.append((was != now).any(axis=0))
        else:
            changed |= (was != now).any(axis=0)
    return Noticed(labels, np.array(violated), changed)


def _differ(fields: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return whether the last two fields are not the halves of the value."""
    return (fields[-2] != value & np.uint64(2**32 - 1)) | (fields[-1] != value >> np.uint64(32))


def equalities(
    chip: Chip, base: np.ndarray, forged: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return values that must be 0 and may be repaired: factors of constraints, and values read less the actual ones.

    Returns:
        The values, (equalities, rows); the cells that each depends on, bool (equalities, cells); the ones that do not
        hold (a factor only if no other factor of its constraint is 0); and for each the number of its constraint or
        access.
    """
    air = chip.air
    factors = [_factors(air, node) for node in air.constraints]
    roots = [node for nodes in factors for node in nodes]
    of_constraint = np.repeat(np.arange(len(factors)), [len(nodes) for nodes in factors])
    groups = of_constraint.tolist()
    targets = [np.zeros(len(base), np.uint64)] * len(roots)
    slots = _slots(chip)
    for number, interaction in enumerate(air.globals):
        fields = interaction.tuples[0].fields
        if number in slots:
            value = chip.inputs[slots[number]][base]
            roots += fields[-2:]
            targets += [value & np.uint64(2**32 - 1), value >> np.uint64(32)]
            if slots[number] % SLOTS == SLOT_MEMORY:
                roots.append(fields[-4])
                targets.append(chip.places[slots[number]][base])
            groups += [len(factors) + number] * (len(roots) - len(groups))
    blocks = [block for _, block in evaluate(air, forged, None, [], roots)]
    values = array_sub(np.array([np.concatenate(parts) for parts in zip(*blocks, strict=True)]), np.array(targets))
    broken = values != 0
    for constraint in range(len(factors)):
        own = np.flatnonzero(of_constraint == constraint)
        broken[own] = broken[own].all(axis=0)
    return values, _support(chip, roots), broken, np.array(groups)


def _factors(air: AirDescription, node: int) -> list[int]:
    """Return the factors of a product, or the node itself; constant factors are left out."""
    op, a, b = air.nodes[node]
    if op != MUL:
        return [node]
    return [factor for child in (a, b) if air.nodes[child][0] != CONST for factor in _factors(air, child)]


def _slots(chip: Chip) -> dict[int, int]:
    """Return the slot of each access, by the number of the interaction that receives the value before."""
    air, first = chip.air, chip.rows[:, :1]
    clk, memory, found = int(first[air.main_names.index("clk[0]"), 0]), 0, {}
    for number, (receive, send) in enumerate(pairwise(air.globals)):
        fields = receive.tuples[0].fields
        constants = [air.nodes[node][1] if air.nodes[node][0] == CONST else None for node in fields]
        if receive.bus != VM.name or tag_of(constants) != Tag.ACCESS:
            continue
        if air.nodes[receive.tuples[0].multiplicity][0] != NEG:
            continue
        ((_, (time,)),) = evaluate(air, first, None, [], [send.tuples[0].fields[-3]])
        slot = int(time[0]) - time_of(clk)
        if slot == SLOT_MEMORY:
            slot, memory = slot + SLOTS * memory, memory + 1
        found[number] = slot
    return found


def _support(chip: Chip, roots: Sequence[int]) -> np.ndarray:
    """Return the cells that each node depends on, bool (roots, cells)."""
    nodes = chip.air.nodes
    support = np.zeros((len(roots), len(chip.air.main_names)), dtype=bool)
    for i, root in enumerate(roots):
        for node in reachable(nodes, [root]):
            if nodes[node][0] == MAIN:
                support[i, nodes[node][1]] = True
    return support


def forge(chip: Chip, count: int, rng: np.random.Generator, repairs: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Return forged rows: the numbers of the rows they are made of, and the rows.

    A cell is changed, then others so that a constraint or an input that this broke holds again, up to ``repairs``
    times. In every second row one constraint or access is chosen to stay broken: the first change is to a cell of it.
    """
    air, names = chip.air, chip.air.main_names
    fixed = {names.index(name) for name in ("on[0]", "clk[0]", "pc[0]")}
    free = np.array([i for i in range(len(names)) if i not in fixed])
    base = rng.integers(0, chip.rows.shape[1], count)
    forged = np.ascontiguousarray(chip.rows[:, base])
    touched = np.zeros(forged.shape, dtype=bool)
    touched[list(fixed)] = True

    def change(chosen: np.ndarray, cell: np.ndarray, value: np.ndarray) -> None:
        forged[cell, chosen] = value
        touched[cell, chosen] = True

    trace_tasks = [trace_task for trace_task in TRACE_TASKS if trace_task.keys() <= set(names)]
    numbers = rng.integers(-len(trace_tasks), len(trace_tasks) + 1, count)  # every second row, if there are any
    for number, trace_task in enumerate(trace_tasks, 1):
        chosen = np.flatnonzero(numbers == number)
        for name, delta in trace_task.items():
            cell = names.index(name)
            change(
                chosen, np.full(len(chosen), cell), array_add(forged[cell, chosen], np.array([delta % P], np.uint64))
            )
    _, support, _, groups = equalities(chip, base[:1], forged[:, :1])
    kept = rng.choice(np.unique(groups), count)
    kept[rng.random(count) < 0.5] = -1
    of_group = {group: np.flatnonzero(support[groups == group].any(axis=0) & ~touched[:, 0]) for group in set(groups)}
    for share in (1.0, 0.4, 0.3):
        chosen = np.flatnonzero((rng.random(count) < share) & (numbers <= 0))
        cell, kind = rng.choice(free, len(chosen)), rng.random(len(chosen))
        if share == 1:
            for group, cells in of_group.items():
                rows = np.flatnonzero(kept[chosen] == group)
                if len(cells):
                    cell[rows] = rng.choice(cells, len(rows))
        old = forged[cell, chosen]
        value = array_add(old, rng.choice(np.array(DELTAS, dtype=np.uint64), len(chosen)))
        change(chosen, cell, np.where(kind < 0.1, 0, np.where(kind < 0.4, 1 - np.minimum(old, 1), value)))
    most = rng.integers(0, repairs + 1, count)
    for turn in range(repairs):
        values, support, broken, _ = equalities(chip, base, forged)
        score = rng.random(values.shape) * (broken & (groups[:, None] != kept))
        equality = score.argmax(axis=0)
        possible = support[equality].T & ~touched
        cell = (rng.random(possible.shape) * possible).argmax(axis=0)
        last = len(possible) - 1 - possible[::-1].argmax(axis=0)  # the cell that follows from the others, most often
        cell = np.where(numbers > 0, last, cell)
        chosen = np.flatnonzero(possible.any(axis=0) & (score.max(axis=0) > 0) & (turn < most))
        if not len(chosen):
            break
        equality, cell = equality[chosen], cell[chosen]
        was = values[equality, chosen]
        moved = np.ascontiguousarray(forged[:, chosen])
        rows = np.arange(len(chosen))
        moved[cell, rows] = array_add(moved[cell, rows], np.ones(1, np.uint64))
        slope = array_sub(equalities(chip, base[chosen], moved)[0][equality, rows], was)
        step = array_mul(was, inverse(slope))
        good = slope != 0
        change(chosen[good], cell[good], array_sub(forged[cell[good], chosen[good]], step[good]))
    for low, node in _lower_halves(air):
        ((_, (x,)), *_) = _joined(evaluate(air, forged, None, [], [node]))
        forged[low] = np.where(touched[low] | (rng.random(count) < 0.2), forged[low], x & np.uint64(0xFFFF))
    if isinstance(chip.step, Divide):
        chosen = np.flatnonzero(rng.random(count) < 0.1)
        forged[:, chosen] = _of_other_dividends(chip, chip.rows[:, base[chosen]], rng)
    return base, forged


def _of_other_dividends(chip: Chip, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows of a division with quotient and remainder of a dividend larger by a multiple of 2^32, if they fit.

    All cells follow from that, so that the difference appears in one pair of the product, which chance does not find.
    """
    assert isinstance(chip.step, Divide)
    halves, names = chip.step.count, chip.air.main_names
    bits = 16 * halves

    def cell(name: str, i: int | None = None) -> int:
        return names.index(f"{name}[0]" if i is None else f"{name}[0][{i}]")

    def number(row: np.ndarray, name: str) -> int:
        return sum(int(row[cell(name, i)]) << 16 * i for i in range(halves))

    rows = rows.copy()
    for row in rows.T:
        divisor = number(row, "v")
        dividend = number(row, "n") + (int(rng.integers(1, 4)) << 32 * int(rng.integers(1, halves)))
        if divisor << bits <= dividend:
            continue
        quotient, rest = divmod(dividend, divisor)
        less, ones = divisor - rest - 1, 2**32 - 1
        made = {"q": quotient, "r": rest, "less": less}
        result = rest if chip.step.remainder else quotient
        if chip.step.signed:
            flip = int(row[cell("flip")])
            negations = flip * (result & ones > 0), flip * (result > 0)
            for i in range(halves // 2):
                row[cell("nd", i)] = negations[i]
            result = -result % 2**bits if flip else result
            made |= {} if chip.step.word else {"d": result}
        if chip.step.word:
            row[cell("d0")], row[cell("d1")], row[cell("negative")] = result & 65535, result >> 16, result >> 31
        else:
            row[cell("borrow")] = divisor & ones < (rest & ones) + 1
        for name, x in made.items():
            for i in range(halves):
                row[cell(name, i)] = x >> 16 * i & 65535
        row[cell("by_zero")] = 0
        factors = [[np.uint64(x >> 16 * i & 65535) for i in range(halves)] for x in (quotient, divisor)]
        addend = [np.uint64(rest & ones), np.uint64(rest >> 32)][: halves // 2]
        for name, parts in carries(*factors, addend, halves, halves - 1)[1].items():
            for i, part in enumerate(parts):
                row[cell(name, i)] = part
    return rows


def _joined(blocks: Iterable[tuple[int, list[np.ndarray]]]) -> list[tuple[int, list[np.ndarray]]]:
    return [(0, [np.concatenate(parts) for parts in zip(*(block for _, block in blocks), strict=True)])]


def _lower_halves(air: AirDescription) -> Iterator[tuple[int, int]]:
    """Return the cells that are the lower half of an expression with a looked-up upper half, and that expression."""
    for interaction in air.globals:
        op, a, b = air.nodes[interaction.tuples[0].fields[-1]]
        if op == MUL and air.nodes[b] == (CONST, PER_HALF, 0) and air.nodes[a][0] == SUB:
            _, x, low = air.nodes[a]
            if air.nodes[low][0] == MAIN:
                yield air.nodes[low][1], x


def inverse(x: np.ndarray) -> np.ndarray:
    """Return 1 / x in the field, 0 for 0."""
    zero = x == 0
    words = np.ones(-(-len(x) // 32) * 32, dtype=np.uint64)
    words[: len(x)] = np.where(zero, 1, x)
    invert(words, np.empty_like(words), len(x))
    return np.where(zero, 0, words[: len(x)])
