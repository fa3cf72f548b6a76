"""A device on the CPU with arrays that NumPy cannot read, which finds operations that would fail or wait on a GPU."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from graphprover.device import CpuDevice
from graphprover.vm import kernels
from graphprover.vm.accelerators import kernels as call_kernels
from graphprover.vm.accelerators.host_call import Accelerator
from graphprover.vm.accelerators.keccak import kernels as keccak_kernels
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.kernels.bumps import Accessed
from graphprover.vm.kernels.keys import Keys
from graphprover.vm.kernels.lanes import Code, Lanes, Sources
from graphprover.vm.kernels.tape import Cycles, Tape

_SAME = (
    "arange",
    "concatenate",
    "cumsum",
    "empty",
    "stack",
    "where",
    "zeros",
)


class StrictArray(np.ndarray):
    """An array that combines only with its kind and scalars, gives no value to the host, and has no mask indexing."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **named: Any) -> Any:
        outs = {} if out is None else {"out": tuple(map(unwrapped, out))}
        result = getattr(ufunc, method)(*map(unwrapped, inputs), **outs, **named)
        return out[0] if out else wrapped(result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, named: Any) -> Any:
        if function.__name__ not in _SAME:
            raise TypeError(f"{function.__name__} of arrays of a device")
        return wrapped(function(*map(unwrapped, arguments), **{key: unwrapped(value) for key, value in named.items()}))

    def __getitem__(self, index: Any) -> Any:
        return wrapped(unwrapped(self)[self._index(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        unwrapped(self)[self._index(index)] = unwrapped(value)

    @staticmethod
    def _index(index: Any) -> Any:
        for part in index if isinstance(index, tuple) else (index,):
            if isinstance(part, np.ndarray) and part.dtype == bool:
                raise TypeError("a mask, of which only the device knows how many it takes")
        return unwrapped(index)

    def _stays(self, *arguments: Any) -> NoReturn:
        raise TypeError("the host waits for the device")

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))] if self.ndim > 1 else self._stays())

    __bool__ = __int__ = __index__ = __float__ = tolist = item = _stays  # type: ignore[assignment]


def wrapped(value: Any) -> Any:
    """Return the result of an operation as an array on the device."""
    return np.asarray(value).view(StrictArray)


def unwrapped(value: Any) -> Any:
    """Return the NumPy array; raises TypeError for an array of the host."""
    if isinstance(value, StrictArray):
        return value.view(np.ndarray)
    if isinstance(value, tuple | list):
        return type(value)(map(unwrapped, value))
    if isinstance(value, np.ndarray):
        raise TypeError("an array of the host among arrays of a device")
    return value


class _Arrays:
    """The functions in use that CuPy also has; their names are checked against CuPy on a GPU."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in _SAME:
            raise AttributeError(f"no {name} among the functions that are known to be CuPy's too")
        function = getattr(np, name)

        def call(*arguments: Any, **named: Any) -> Any:
            there = {key: unwrapped(value) for key, value in named.items()}
            return wrapped(function(*map(unwrapped, arguments), **there))

        return call

    @staticmethod
    def asarray(value: Any) -> Any:
        return wrapped(value)


kernels.TWINS["strict"] = call_kernels.TWINS["strict"] = keccak_kernels.TWINS["strict"] = __name__


def fill_lanes(device: "StrictDevice", traces: Sequence[tuple[Code, Lanes, StrictArray]]) -> None:
    filled = []
    for code, lanes, main in traces:
        assert type(code.words) is np.ndarray
        assert all(type(array) is StrictArray for array in (main, *lanes.sources.arrays.values()))
        there = Sources({number: unwrapped(source) for number, source in lanes.sources.arrays.items()})
        filled.append((code, replace(lanes, sources=there), unwrapped(main)))
    kernels.fill_lanes(device.cpu, filled)


def count_entries(device: "StrictDevice", entries: StrictArray, counts: StrictArray) -> None:
    assert type(entries) is type(counts) is StrictArray
    kernels.count_entries(device.cpu, unwrapped(entries), unwrapped(counts))


def _here(strict: Any) -> Any:
    """Return a dataclass of arrays for the CPU."""
    return replace(strict, **{name: unwrapped(value) for name, value in vars(strict).items()})


def census(device: "StrictDevice", tape: Tape, *arrays: StrictArray) -> None:
    assert all(type(array) is StrictArray for array in arrays)
    kernels.census(device.cpu, _here(tape), *map(unwrapped, arrays))


def replay(
    device: "StrictDevice",
    tape: Tape,
    steps: StrictArray,
    redirects: StrictArray,
    places: StrictArray,
    cycles: Cycles,
) -> None:
    assert type(steps) is type(redirects) is type(places) is StrictArray
    kernels.replay(device.cpu, _here(tape), *map(unwrapped, (steps, redirects, places)), _here(cycles))


def fill_bumps(device: "StrictDevice", accessed: Accessed, sought: np.ndarray, bumps: StrictArray) -> None:
    arrays = {name: unwrapped(value) for name, value in vars(accessed).items() if isinstance(value, StrictArray)}
    here = replace(accessed, **arrays, cycles=_here(accessed.cycles))
    assert len(arrays) == 6 and type(bumps) is StrictArray
    kernels.fill_bumps(device.cpu, here, sought, unwrapped(bumps))


def count_keys(device: "StrictDevice", traces: Sequence[tuple[StrictArray, Keys]], counts: StrictArray) -> None:
    for main, keys in traces:
        assert type(keys.keys) is type(keys.terms) is np.ndarray
        assert type(main) is type(counts) is StrictArray
    kernels.count_keys(device.cpu, [(unwrapped(main), keys) for main, keys in traces], unwrapped(counts))


def permuted(device: "StrictDevice", states: StrictArray) -> StrictArray:
    assert type(states) is StrictArray
    return wrapped(keccak_kernels.permuted(device.cpu, unwrapped(states)))


def fill_calls(device: "StrictDevice", accelerator: Accelerator, calls: CallArrays, main: StrictArray) -> None:
    arrays = {name: value for name, value in vars(calls).items() if name != "first_clock"}
    assert len(arrays) == 6 and all(type(array) is StrictArray for array in arrays.values())
    here = replace(calls, **{name: unwrapped(array) for name, array in arrays.items()})
    call_kernels.fill_calls(device.cpu, accelerator, here, unwrapped(main))


def fill_permutations(
    device: "StrictDevice",
    table: str,
    states: StrictArray,
    clocks: StrictArray,
    first: int,
    last: int,
    main: StrictArray,
) -> None:
    assert type(states) is type(clocks) is type(main) is StrictArray
    there = unwrapped(states), unwrapped(clocks), first, last, unwrapped(main)
    keccak_kernels.fill_permutations(device.cpu, table, *there)


def count_keccak_digits(device: "StrictDevice", states: StrictArray, counts: StrictArray, narrow: bool) -> None:
    assert type(states) is type(counts) is StrictArray
    keccak_kernels.count_keccak_digits(device.cpu, unwrapped(states), unwrapped(counts), narrow)


class StrictDevice:
    """The operations for traces, on one range of all rows."""

    kind = "strict"
    threads = 1
    arrays = _Arrays()

    def __init__(self) -> None:
        self.cpu = CpuDevice(1)

    def task(self) -> AbstractContextManager[None]:
        return nullcontext()

    def expect(self, tables: object, *, guess: bool = False) -> None:
        """Do nothing: there is nothing to compile."""

    def load(self, columns: np.ndarray) -> StrictArray:
        assert type(columns) is np.ndarray or isinstance(columns, StrictArray)
        return np.ascontiguousarray(columns).view(StrictArray)

    def constant(self, array: np.ndarray) -> StrictArray:
        return self.load(array)

    def constant_all(self, arrays: Sequence[np.ndarray]) -> list[StrictArray]:
        return self.load_all(arrays)

    def load_all(self, arrays: Sequence[np.ndarray]) -> list[StrictArray]:
        return [*map(self.load, arrays)]

    def room(self, columns: int, rows: int) -> StrictArray:
        return self.arrays.empty((columns, rows), dtype=np.uint64)

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        function(0, rows)

    def inverse(self, words: StrictArray) -> StrictArray:
        return wrapped(self.cpu.inverse(unwrapped(words)))
