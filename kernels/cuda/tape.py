"""The operations of a proof, recorded so that proofs of the same shape repeat their launches.

A recorded operation allocates in the tape's arena, whose addresses are the tape's own. A later proof runs the same
operations in the same order, so each finds its operands at the recorded addresses, and a repetition is right if it
computes its words anew and enqueues the recorded launches. The tape compares functions and addresses all the same, and
stops at the first difference: the rest of the proof then runs as if there were no tape.

No CPU twin: a CPU has no launches.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, TypeVar

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import done, enqueue_all, recording
from graphprover.kernels.cuda.launches import Launches, joined
from graphprover.kernels.cuda.memory import Pool
from graphprover.kernels.operands import Height, Operands, Unextended

T = TypeVar("T")
Words = Sequence[np.ndarray]

_log = logging.getLogger(__name__)  # without a configured handler, warnings go to stderr


class _Current(threading.local):
    """The tape of this thread's proof."""

    tape: "Tape | None" = None
    inside = False  # whether an operation of the tape runs


_current = _Current()


def taped(function: Callable[..., T], *arguments: object, words: Words | None = None) -> T:
    """Return the value of an operation, by the tape of this thread's proof if there is one.

    The function takes the arguments, which depend only on the shape of a proof and on addresses, and then ``words``,
    contiguous vectors of uint64, if there are any. It launches kernels with them, allocates arrays and returns them; it
    neither waits nor does anything else on the device.
    """
    tape = _current.tape
    if tape is None or _current.inside:
        return _called(function, arguments, words)
    return tape.run(function, arguments, words)


def _called(function: Callable[..., T], arguments: Sequence[object], words: Words | None) -> T:
    """Return the value of an operation that is run."""
    return function(*arguments) if words is None else function(*arguments, words)


def room(shape: tuple[int, ...]) -> cupy.ndarray:
    """Return an array of uint64 with any contents, at an address of this thread's tape if there is one."""
    tape = _current.tape
    return cupy.empty(shape, dtype=cupy.uint64) if tape is None else tape.room(shape)


def place(columns: cupy.ndarray) -> cupy.ndarray:
    """Return columns at the addresses of this thread's tape: a copy, or the columns themselves without a tape."""
    tape = _current.tape
    return columns if tape is None else tape.place(columns)


class _Mode(Enum):
    IDLE = 0
    RECORDING = 1
    REPLAYING = 2


@dataclass(frozen=True)
class _Operation:
    """One operation of the tape."""

    function: Callable[..., Any]
    arguments: object  # with arrays that own no memory, as `Tape._plain` gives them
    sizes: list[int]  # of its words
    launches: Launches
    result: Any  # with arrays that own no memory
    alone: bool  # whether it has no words, and only operands that are on the tape


@dataclass(frozen=True)
class _Task:
    """A task of the graph that consists of operations without words."""

    first: int  # operation
    count: int  # of operations
    launches: Launches  # of all of them
    value: Any  # with arrays that own no memory


class Tape:
    """The operations of one proof; used by one proof at a time."""

    def __init__(self, memory: Pool) -> None:
        self.whole = False  # whether a proof was recorded that later ones can repeat
        self.other = ""  # how a proof differed from the recorded one; empty if none did
        self.arena = cupy.cuda.MemoryPool(memory.allocate)
        self._allocate = memory.allocate
        self._mode = _Mode.IDLE
        self._operations: list[_Operation] = []
        self._tasks: dict[int, _Task] = {}
        self._results: dict[tuple[int, tuple[int, ...]], cupy.ndarray] = {}  # by address and shape
        self._addresses: set[int] = set()  # of all results
        self._rooms: set[int] = set()  # addresses
        self._position = 0  # the next operation to be repeated

    def begin(self) -> None:
        """Begin a proof in this thread: the first is recorded, later ones repeat it."""
        self._mode = _Mode.REPLAYING if self.whole else _Mode.RECORDING
        self.whole, self._position = True, 0
        _current.tape = self

    def end(self, ended: bool) -> None:
        """End the proof of this thread; after one that has not ended as it should, the tape is of no use."""
        self.whole = self.whole and ended
        self._stop()

    def free(self) -> None:
        """Return the memory of the arena that no array uses."""
        self.arena.free_all_blocks()

    def run(self, function: Callable[..., T], arguments: Sequence[object], words: Words | None) -> T:
        """Return the value of an operation: see `taped`."""
        sizes = [] if words is None else [len(array) for array in words]
        if self._mode == _Mode.RECORDING:
            return self._record(function, arguments, words, sizes)
        operation = self._next(function, arguments, sizes)
        if operation is None:
            return _called(function, arguments, words)
        enqueue_all(operation.launches, words or ())
        self._position += 1
        result: T = operation.result
        return result

    def room(self, shape: tuple[int, ...]) -> cupy.ndarray:
        """Return an array of uint64 at an address of the tape; see `room`."""
        made = self._array(shape, np.dtype(np.uint64))
        if made is None:
            return cupy.empty(shape, dtype=cupy.uint64)
        self._rooms.add(made.data.ptr)
        return made

    def place(self, columns: cupy.ndarray) -> cupy.ndarray:
        """Return columns at an address of the tape: a copy, unless they are in a room."""
        if columns.data.ptr in self._rooms:
            return columns
        target = self._array(columns.shape, columns.dtype)
        if target is None:
            return columns
        _copy(columns, target)
        return target

    def _array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> cupy.ndarray | None:
        """Return an array at an address of the tape; None if the tape stops."""
        arguments = shape, dtype
        if self._mode != _Mode.RECORDING:
            operation = self._next(_copy, arguments, [])
            if operation is None:
                return None
            self._position += 1
            return operation.result
        try:
            with cupy.cuda.using_allocator(self.arena.malloc):
                made = cupy.empty(shape, dtype=dtype)
        except MemoryError:
            self._give_up()
            return None
        self._add(_Operation(_copy, arguments, [], Launches([]), unowned(made), alone=False))
        return made

    def noted(self, number: int, call: Callable[[], T]) -> T:
        """Return the value of a task of the graph, and note whether it can be repeated without its Python."""
        if self._mode != _Mode.RECORDING:
            return call()
        before, first = done(), len(self._operations)
        value = call()
        after, own = done(), self._operations[first:]
        launches = sum(len(operation.launches) for operation in own)
        waited = (after.waits, after.downloaded) != (before.waits, before.downloaded)
        if own and all(one.alone for one in own) and after.launched - before.launched == launches and not waited:
            self._tasks[number] = _Task(first, len(own), joined([one.launches for one in own]), unowned(value))
        return value

    def replays(self, number: int) -> bool:
        """Return whether `replay` has this task's value and all operations before it were repeated."""
        task = self._tasks.get(number)
        return task is not None and self._mode == _Mode.REPLAYING and task.first == self._position

    def replay(self, number: int) -> Any:
        """Enqueue the launches of a task; return its value."""
        task = self._tasks[number]
        enqueue_all(task.launches)
        self._position += task.count
        return task.value

    def _record(
        self,
        function: Callable[..., T],
        arguments: Sequence[object],
        words: Words | None,
        sizes: list[int],
    ) -> T:
        recorded = self._plain(arguments)
        on_tape = self._addresses.issuperset(array.data.ptr for array in _arrays(arguments))
        before, _current.inside = done(), True
        try:
            with recording(self.arena.malloc, self._allocate, words or ()) as made:
                result = _called(function, arguments, words)
        except MemoryError:
            _current.inside = False
            self._give_up()
            return _called(function, arguments, words)
        finally:
            _current.inside = False
        after = done()
        # A kernel that was compiled late or replaced by the interpreter is another one next time.
        as_ever = (after.missed, after.interpreted, after.waits) == (before.missed, before.interpreted, before.waits)
        self.whole = self.whole and as_ever and made.has_all
        alone = words is None and on_tape
        self._add(_Operation(function, recorded, sizes, made.launches(), unowned(result), alone))
        return result

    def _add(self, operation: _Operation) -> None:
        self._operations.append(operation)
        for array in _arrays(operation.result):
            self._results[array.data.ptr, array.shape] = array
            self._addresses.add(array.data.ptr)

    def _plain(self, value: Any) -> Any:
        """Return an argument as `_same` compares it.

        A result of the tape becomes the object without memory that repetitions return.
        """
        if isinstance(value, cupy.ndarray):
            found = self._results.get((value.data.ptr, value.shape))
            return unowned(value) if found is None else found
        if isinstance(value, list | tuple):
            return type(value)(map(self._plain, value))
        parts = _parts(value)
        return value if parts is None else self._plain(parts)

    def _next(self, function: Callable[..., Any], arguments: Sequence[object], sizes: list[int]) -> _Operation | None:
        """Return the next operation if it is this one; otherwise the tape stops."""
        if self._position < len(self._operations):
            operation = self._operations[self._position]
            if operation.function is function and operation.sizes == sizes and _same(operation.arguments, arguments):
                return operation
        self.other = f"operation {self._position}, {function.__name__}, is another one"
        _log.warning("graphprover: a proof repeats no earlier proof of its shape: %s", self.other)
        self._stop()
        return None

    def _give_up(self) -> None:
        """Stop a recording that has no memory: a proof without one may need less."""
        self.whole = False
        self._stop()
        self.free()

    def _stop(self) -> None:
        self._mode, _current.tape = _Mode.IDLE, None


def _copy(source: cupy.ndarray, target: cupy.ndarray) -> None:
    """Copy an array on the device."""
    if source.flags.c_contiguous:
        target.data.copy_from_device_async(source.data, source.nbytes)
    else:
        target[...] = source


def _same(recorded: Any, value: Any) -> bool:
    """Return whether an argument is as it was recorded: arrays are compared by address and shape, all else by value."""
    if recorded is value:  # results of a repetition are the recorded objects
        return True
    kind = type(value)
    if kind is cupy.ndarray:
        return type(recorded) is kind and recorded.data.ptr == value.data.ptr and recorded.shape == value.shape
    if kind is list or kind is tuple:
        return type(recorded) is kind and len(recorded) == len(value) and all(map(_same, recorded, value))
    parts = _parts(value)
    return bool(recorded == value) if parts is None else _same(recorded, parts)


def _parts(value: Any) -> tuple[Any, ...] | None:
    """Return the parts of an operand on which launches depend; None for other arguments."""
    if isinstance(value, Operands):
        return value.main, value.preprocessed, value.permutation
    if isinstance(value, Height):
        return value.matrices, [len(at_points) for at_points in value.values], value.offsets, value.inverses
    if isinstance(value, Unextended) and value.in_memory:
        return value.rows, value.columns()
    return None


def _arrays(value: Any) -> Iterator[cupy.ndarray]:
    """Yield all arrays in an argument or a result."""
    if isinstance(value, cupy.ndarray):
        yield value
    else:
        parts = value if isinstance(value, list | tuple) else _parts(value)
        if parts is None and is_dataclass(value) and not isinstance(value, type):
            parts = tuple(getattr(value, field.name) for field in fields(value))
        for part in parts or ():
            yield from _arrays(part)


def unowned(value: T) -> T:
    """Return a value with arrays at the same addresses that own no memory in place of its arrays."""
    found: Any = value
    if isinstance(found, cupy.ndarray):
        memory = cupy.cuda.UnownedMemory(found.data.ptr, found.nbytes, None, found.data.device_id)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        found = cupy.ndarray(found.shape, dtype=found.dtype, memptr=pointer, strides=found.strides)
    elif isinstance(found, list | tuple):
        found = type(found)(map(unowned, found))
    elif isinstance(found, dict):
        found = {key: unowned(item) for key, item in found.items()}
    elif is_dataclass(found) and not isinstance(found, type):
        found = replace(found, **{field.name: unowned(getattr(found, field.name)) for field in fields(found)})
    return found  # type: ignore[no-any-return]
