"""Compiling kernels by Numba, and keeping what it made for the next process, whatever happens to the files.

A file holds one compiled signature (`graphprover.runtime.checked_file`); of a damaged one the kernel is compiled again.
Files lie where Numba would have them: in ``NUMBA_CACHE_DIR``, beside the source, or in the user's cache; where none of
these can be written, in a temporary folder that nobody else can write to. Those beside the source are read in any case,
so that they can be installed for users who cannot write there.

Rests on inner parts of Numba 0.68: its cache without its files.
"""

import hashlib
import io
import logging
import os
import pickle
import time
from collections.abc import Callable
from glob import escape
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
)
from numba.extending import intrinsic as numba_intrinsic

from graphprover import __version__
from graphprover.runtime.checked_file import load, save
from graphprover.runtime.files import FileError, private_folder

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr
_SUFFIX = ".nbc"

PROGRESS_SECONDS = 10.0  # between two messages about kernels that were compiled

made: list[tuple[str, float]] = []  # kernels compiled in this process, and the seconds that each took
watchers: list[Callable[[str, float], None]] = []  # are told of each of them


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """``numba.njit``, with this cache in place of Numba's."""

    def decorate(function: Callable) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            dispatcher._cache = KernelCache(function)
        return dispatcher

    return decorate


intrinsic: Any = numba_intrinsic  # whose published type counts the typing context among a call's arguments


@intrinsic
def call(_context: Any, _address: Any, _first: Any, _second: Any) -> Any:
    """What the function of two int64 at an address gives, an int64: for compiled code."""

    def codegen(_context: Any, builder: Any, _signature: Any, operands: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word, word]).as_pointer()
        return builder.call(builder.inttoptr(operands[0], function), operands[1:])

    return numba.int64(numba.int64, numba.int64, numba.int64), codegen


def is_compiled(kernel: Any) -> bool:
    """Whether a kernel, which is cached, was compiled for any signature: in this process, or one that kept it."""
    return bool(kernel.signatures) or kernel._cache.has_files()


def all_saved() -> bool:
    """Whether everything that was compiled is there for the next process."""
    return "unsaved" not in _warned


class _Temporary(InTreeCacheLocator):
    """A temporary folder, where there is no other place. It says so when it is used."""

    def __init__(self, function: Callable, file: str) -> None:
        super().__init__(function, file)
        try:
            self._cache_path = str(private_folder() / self.get_suitable_cache_subpath(file))
        except FileError:  # nothing is read; the reason comes from `ensure_cache_path`
            self._cache_path = os.devnull

    def ensure_cache_path(self) -> None:
        """Raises OSError, and FileError without a private folder."""
        folder = private_folder()
        super().ensure_cache_path()
        _warn_once("temporary", f"compiled kernels are kept in {folder}, as no other place can be written to")

    @classmethod
    def from_function(cls, function: Callable, file: str) -> "_Temporary":
        return cls(function, file)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, _Temporary]  # noqa: RUF012 (as Numba has it)


class _Progress:
    """Messages about the kernels that this process compiles: one when it begins, then one every few seconds.

    A process does not know which kernels it will need, so a message gives the number of those that could be compiled.
    Watchers print a line for each kernel instead.
    """

    def __init__(self) -> None:
        self._began = 0.0  # when the first kernel was not found; 0 before
        self._said = 0.0  # when the last message was logged
        self.known = 0  # cached kernels of the modules that are imported

    def begin(self) -> None:
        """Log that kernels are compiled, before the first one."""
        if not self._began and not watchers:
            self._began = self._said = time.perf_counter()
            _warn_once(
                "compile", "compiling kernels, once: a minute or two (`graphprover warm` compiles all of them ahead)"
            )

    def compiled(self) -> None:
        """Log how many kernels were compiled, if the last message is some seconds old."""
        now = time.perf_counter()
        if self._began and not watchers and now - self._said > PROGRESS_SECONDS:
            self._said = now
            count = f"{len(made)} kernels of at most {max(self.known, len(made))}"
            _log.warning("graphprover: %s compiled in %.0f s", count, now - self._began)


_progress = _Progress()


class KernelCache(FunctionCache):
    """What is compiled of one function."""

    _impl_class = _Impl

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        _progress.known += 1
        locator = self._impl.locator
        folders = {Path(locator.get_cache_path()): None, Path(locator._py_file).parent / "__pycache__": None}
        stamp = numba.__version__, __version__, locator.get_source_stamp()
        self._cache_file: Any = _Files(list(folders), self._impl.filename_base, stamp)
        self._kernel = f"{function.__module__}.{function.__qualname__}".removeprefix("graphprover.")
        self._missed = 0.0  # when it was not found

    def has_files(self) -> bool:
        """Whether any signature is there for this process."""
        return self._cache_file.any()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled for these types; None if nothing was."""
        found = super().load_overload(sig, target_context)
        if found is None:
            self._missed = time.perf_counter()
            _progress.begin()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; where that fails say so, once."""
        seconds = time.perf_counter() - self._missed
        made.append((self._kernel, seconds))
        _log.debug("%s compiled in %.1f s", self._kernel, seconds)
        _progress.compiled()
        for watcher in watchers:
            watcher(self._kernel, seconds)
        try:
            super().save_overload(sig, data)
        except (OSError, FileError) as error:
            cause = error if isinstance(error, OSError) else error.__cause__
            reason = f"in {self._cache_path}: {cause.strerror}" if isinstance(cause, OSError) else f"in {error}"
            _warn_once("unsaved", f"compiled kernels cannot be kept {reason}; they are for this once")


class _Files:
    """The files of one function, one for each signature, in the first of ``folders``; others are read."""

    def __init__(self, folders: list[Path], base: str, stamp: object) -> None:
        self.folders, self.base, self.stamp = folders, base, stamp

    def load(self, key: Any) -> Any:
        """What was saved under this key from the same source; None if nothing was."""
        found = next(filter(None, (self._open(folder / self._name(key)) for folder in self.folders)), None)
        return pickle.load(found) if found else None

    def any(self) -> bool:
        """Whether anything was saved from the same source."""
        files = (path for folder in self.folders for path in folder.glob(f"{escape(self.base)}.*{_SUFFIX}"))
        return any(map(self._open, files))

    def _open(self, path: Path) -> io.BytesIO | None:
        """What a file holds of the same source; None if it is not there, is of another, or is damaged."""
        data = load(path)
        if data is None:
            return None
        stream = io.BytesIO(data)
        return stream if pickle.load(stream) == self.stamp else None

    def save(self, key: Any, data: Any) -> None:
        """Raises FileError."""
        save(self.folders[0] / self._name(key), pickle.dumps(self.stamp) + numba.core.serialize.dumps(data))

    def _name(self, key: Any) -> str:
        """Of a signature for a processor, and of a function's closure: a newer source overwrites an older one's."""
        signature, target, (_, closure) = key
        return f"{self.base}.{hashlib.sha256(repr((signature, target, closure)).encode()).hexdigest()[:16]}{_SUFFIX}"


_warned: set[str] = set()


def _warn_once(subject: str, message: str) -> None:
    """Once in a process about each subject."""
    if subject not in _warned:
        _warned.add(subject)
        _log.warning("graphprover: %s", message)
