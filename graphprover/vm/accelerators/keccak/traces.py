"""The traces of the permutation's tables, from the states before a range's calls."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.statement.cells import cells_per_row
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.accelerators.keccak import digits as keccak_digits
from graphprover.vm.accelerators.keccak.absorb import RATE_WORDS, Absorb
from graphprover.vm.accelerators.keccak.digits import NUMBERS, Lookup
from graphprover.vm.accelerators.keccak.kernels import SHAPES, count_keccak_digits, fill_permutations
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.statement.shape import LayoutPolicy, packing, permutation_tables
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber, name_of
from graphprover.vm.statement.table_rules import NARROW_TABLES
from graphprover.vm.traces.rows import CycleRows
from graphprover.vm.traces.run import ReplayedRange


@dataclass(frozen=True, eq=False)
class Permutations:
    """Calls of the permutation in order, as arrays of one device."""

    states: Array  # uint64 (25, calls), contiguous: the state before each
    clocks: Array  # uint64 (calls,): the clocks of the calls


def keccak_trace_tasks(
    machine: Machine, calls: TraceTask, count: int, cycles: int, policy: LayoutPolicy
) -> Iterator[tuple[int, TraceTask]]:
    """Return the numbers and trace tasks of the tables of ``count`` calls; ``calls`` gives `Permutations`.

    ``cycles``: length of the whole run.
    """
    tables = permutation_tables(count, policy)
    for number in tables:
        name = name_of(number)
        cells = cells_per_row(machine.air(number, 0, 0).describe())
        for height, first, last in packing(number, cells, cycles, policy).shares(count):
            fixed = {"table": name, "height": height, "first": first, "last": last}
            yield int(number), TraceTask(name, permutations_trace, fixed, (calls,), (SHAPES[name][0], height))
    shape, narrow = (keccak_digits.WIDTH, keccak_digits.ROWS), tables is NARROW_TABLES
    yield int(TableNumber.KECCAK_DIGITS), TraceTask("keccak_digits", digits_trace, {"narrow": narrow}, (calls,), shape)


def calls_of(device: Device, run: ReplayedRange, *, shares: Mapping[str, tuple[int, int]]) -> Permutations:
    """Return the calls of chips, chip by chip; ``shares``: start and end of each chip's cycles in a run's order."""
    states, clocks = [], []
    for chip, (start, end) in shares.items():
        rows = CycleRows(device, run, slice(start, end))
        states.append(_absorbed(rows) if chip == Absorb.name else rows.words("old"))
        clocks.append(rows.clk)
    arrays = device.arrays
    return Permutations(arrays.concatenate(states, axis=1), arrays.concatenate(clocks))


def _absorbed(rows: CycleRows) -> Array:
    """Return the states of calls that absorb a block, with the block xored in."""
    state = rows.stacked("old", RATE_WORDS, WORDS)
    state[:RATE_WORDS] ^= rows.stacked("old", 0, RATE_WORDS)
    return state


def permutations_trace(device: Device, calls: Permutations, *, table: str, height: int, first: int, last: int) -> Array:
    """Return the trace of one table of this name, for the calls first..last."""
    main = device.arrays.empty((SHAPES[table][0], height), dtype="uint64")
    fill_permutations(device, table, calls.states, calls.clocks, first, last, main)
    return main


def digits_trace(device: Device, calls: Permutations, *, narrow: bool) -> Array:
    """Return the trace of all numbers of digits, for all calls; ``narrow``: they have the narrow tables."""
    counts = device.arrays.zeros((len(Lookup), NUMBERS), dtype="uint64")
    count_keccak_digits(device, calls.states, counts, narrow)
    main = device.arrays.zeros((keccak_digits.WIDTH, keccak_digits.ROWS), dtype="uint64")
    main[: -len(Lookup)] = device.load(keccak_digits.digit_cells())
    main[-len(Lookup) :, :NUMBERS] = counts
    return main
