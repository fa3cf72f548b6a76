"""The traces of the permutation and of the even numbers that it looks up, from the states before a range's calls."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.statement.cells import cells_per_row
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.kernels import count_evens, fill_keccak_f
from graphprover.vm.statement.shape import LayoutPolicy, packing
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.keccak_f import DIGITS, EVENS, WIDTH
from graphprover.vm.traces.rows import Rows
from graphprover.vm.traces.run import Run


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of the permutation in order, as arrays of one device."""

    states: Array  # uint64 (25, calls), contiguous: the state before each
    clocks: Array  # uint64 (calls,): the clocks of the calls


def keccak_trace_tasks(
    machine: Machine, calls: TraceTask, count: int, cycles: int, policy: LayoutPolicy
) -> Iterator[tuple[int, TraceTask]]:
    """Return the numbers and trace tasks of the tables of ``count`` calls; ``calls`` gives `Calls`.

    ``cycles``: length of the whole run.
    """
    cells = cells_per_row(machine.air(TableNumber.KECCAK_F, 0, 0).describe())
    shares = list(packing(TableNumber.KECCAK_F, cells, cycles, policy).shares(count))
    for height, first, last in shares:
        fixed = {"height": height, "first": first, "last": last}
        yield int(TableNumber.KECCAK_F), TraceTask("keccak_f", keccak_f_trace, fixed, (calls,), (WIDTH, height))
    yield int(TableNumber.EVEN), TraceTask("even", even_trace, {"shares": shares}, (calls,), (3 * DIGITS + 1, EVENS))


def calls_of(device: Device, run: Run, *, start: int, end: int) -> Calls:
    """Return the calls that are the cycles start..end of a run, in its order."""
    rows = Rows(device, run, slice(start, end))
    return Calls(rows.words("old"), rows.clk)


def keccak_f_trace(device: Device, calls: Calls, *, height: int, first: int, last: int) -> Array:
    """Return the trace of one table, for the calls first..last."""
    main = device.arrays.empty((WIDTH, height), dtype="uint64")
    fill_keccak_f(device, calls.states, calls.clocks, first, last, main)
    return main


def even_trace(device: Device, calls: Calls, *, shares: Sequence[tuple[int, int, int]]) -> Array:
    """Return the trace of all even numbers, for tables of these heights, first and last calls."""
    counts = device.arrays.zeros(EVENS, dtype="uint64")
    for height, first, last in shares:
        count_evens(device, calls.states, first, last, height, counts)
    places = device.arrays.arange(EVENS, dtype="uint64")
    bits = device.arrays.arange(3 * DIGITS, dtype="uint64")[:, None]
    return device.arrays.concatenate([places >> bits & 1, counts[None]])
