"""Compiled Numba kernels: the package's (`graphprover.runtime.shipped`), and files for later processes.

A file holds one compiled signature (`graphprover.runtime.checked_file`); a damaged one is recompiled. Files are in
Numba's own places: ``NUMBA_CACHE_DIR``, beside the source, or the user's cache. If none is writable, they are in a
private temporary folder. Files beside the source are always read, so they can be installed for users without write
access.

Depends on internals of Numba 0.68: its cache without its files.
"""

import hashlib
import io
import logging
import os
import pickle
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from glob import escape
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
)
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, lookup_environment
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import _nrt
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic as numba_intrinsic

from graphprover import __version__
from graphprover.runtime import shipped
from graphprover.runtime.checked_file import load, save
from graphprover.runtime.compiling import waiting
from graphprover.runtime.files import FileError, private_folder
from graphprover.runtime.kernel_source import digest_of, remember

_log = logging.getLogger(__name__)  # without a configured handler, warnings go to stderr
_SUFFIX = ".nbc"

PROGRESS_SECONDS = 10.0  # between two progress messages

made: list[tuple[str, float]] = []  # kernels compiled in this process, with the seconds of each
taken: list[str] = []  # files of the package's kernels that this process has loaded
watchers: list[Callable[[str, float], None]] = []  # called after each compilation
builders: list[Callable[[Any, Any, Any], None]] = []  # called with function, signature and result of each kernel

_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

_depth = 0  # of compilations: a kernel that another one calls is compiled within it, under Numba's lock
_loaded: list[tuple[Any, tuple[Any, ...]]] = []  # dispatchers and argument types of kernels of the package


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable], Any]:
    """Decorate like ``numba.njit``, with this cache in place of Numba's."""

    def decorate(function: Callable) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            dispatcher._cache = KernelCache(dispatcher, function)
            dispatcher._compiler.compile = partial(_compile, dispatcher._compiler.compile)
            dispatcher.add_overload = partial(_add_overload, dispatcher, dispatcher.add_overload)
            dispatcher.compile = partial(_callable, dispatcher, dispatcher.compile)
        return dispatcher

    return decorate


def _compile(compile_kernel: Any, *arguments: Any) -> Any:
    """Compile a kernel; the kernels of the package that it calls as well, as their files have no bitcode to link.

    A kernel that is compiled for another one gets no wrappers, which take a quarter of the processor time of all.
    """
    global _depth
    for dispatcher, types in _loaded:
        dispatcher.overloads.pop(types, None)
    _loaded.clear()
    options = compile_kernel.__self__.targetoptions
    own = options.copy()
    options.update(_NO_WRAPPERS if _depth else {})
    _depth += 1
    try:
        with waiting():
            return compile_kernel(*arguments)
    finally:
        _depth -= 1
        options.clear()
        options.update(own)


def _has_wrapper(compiled: Any) -> bool:
    """Return whether Python can call a compiled kernel."""
    engine = compiled.library.codegen._engine
    return bool(engine.is_symbol_defined(compiled.fndesc.llvm_cpython_wrapper_name))


def _add_overload(dispatcher: Any, add: Callable, compiled: Any) -> None:
    """Add a compiled kernel to its dispatcher: for calls by Python only with a wrapper."""
    if _has_wrapper(compiled):
        add(compiled)
    else:
        dispatcher.overloads[tuple(compiled.signature.args)] = compiled


def _callable(dispatcher: Any, compile_overload: Callable, signature: Any) -> Any:
    """Compile a kernel, or return the compiled one; for Python another one than for kernels without a wrapper."""
    with global_compiler_lock:  # so that no other thread changes the depth
        types = tuple(normalize_signature(signature)[0])
        if not _depth and types in dispatcher.overloads and not _has_wrapper(dispatcher.overloads[types]):
            del dispatcher.overloads[types]
        return compile_overload(signature)


intrinsic: Any = numba_intrinsic  # its published type counts the typing context among a call's arguments


@intrinsic
def call(_context: Any, _address: Any, _first: Any, _second: Any) -> Any:
    """Call the function int64(int64, int64) at an address, from compiled code."""

    def codegen(_context: Any, builder: Any, _signature: Any, operands: Any) -> Any:
        word = ir.IntType(64)
        function = ir.FunctionType(word, [word, word]).as_pointer()
        return builder.call(builder.inttoptr(operands[0], function), operands[1:])

    return numba.int64(numba.int64, numba.int64, numba.int64), codegen


@intrinsic
def borrowed(_context: Any, of: Any) -> Any:
    """Return an array, or a tuple with arrays, without reference counts: the caller owns the arrays.

    The counts of arrays change atomically, at up to 20 ns, wherever compiled code may return early.
    """

    def without(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, numba.types.BaseTuple):
            members: Any = kind  # a sequence of types, whatever its class says
            for i, member in enumerate(members):
                own = without(context, builder, member, builder.extract_value(value, i))
                value = builder.insert_value(value, own, i)
        elif isinstance(kind, numba.types.Array):
            array = context.make_array(kind)(context, builder, value)
            for name in ("meminfo", "parent"):
                setattr(array, name, getattr(array, name).type(None))
            value = array._getvalue()
        return value

    def codegen(context: Any, builder: Any, signature: Any, operands: Any) -> Any:
        return without(context, builder, signature.args[0], operands[0])

    return of(of), codegen


def level() -> str | None:
    """Return the level of this processor for which the package contains kernels; None if it contains none for it."""
    return shipped.level_of(_target())


def _target() -> shipped.Target:
    found: shipped.Target = cpu_target.target_context.codegen().magic_tuple()
    return found


def not_shipped(kernel: Any) -> str:
    """Return why the package contains no compiled code of a kernel for this processor; empty if it does."""
    function, target = kernel.py_func, _target()
    return "" if shipped.has(function, target) else shipped.reason(function, target)


def is_compiled(kernel: Any) -> bool:
    """Return whether a cached kernel has any compiled signature, in this process or in a file."""
    return bool(kernel.signatures) or kernel._cache.is_kept()


def all_saved() -> bool:
    """Return whether everything compiled in this process is in files for later ones."""
    return "unsaved" not in _warned


class _Temporary(InTreeCacheLocator):
    """The private temporary folder, used with a warning if no other place is writable."""

    def __init__(self, function: Callable, file: str) -> None:
        super().__init__(function, file)
        try:
            self._cache_path = str(private_folder() / self.get_suitable_cache_subpath(file))
        except FileError:  # `ensure_cache_path` reports the reason
            self._cache_path = os.devnull

    def ensure_cache_path(self) -> None:
        """Make the folder; raises OSError, and FileError without a private folder."""
        folder = private_folder()
        super().ensure_cache_path()
        _warn_once("temporary", f"compiled kernels are kept in {folder}, as no other place can be written to")

    @classmethod
    def from_function(cls, function: Callable, file: str) -> "_Temporary":
        return cls(function, file)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, _Temporary]  # noqa: RUF012 (as Numba has it)

    def reduce(self, compiled: Any) -> Any:
        return _reduced(compiled)

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return _rebuild(target_context, payload)


def _reduced(compiled: Any) -> Any:
    """Return the picklable parts, without the text of types, a quarter of them, which nothing reads."""
    return compiled._replace(type_annotation="")._reduce()


def without_bitcode(compiled: Any) -> Any:
    """Return the picklable parts of a compiled kernel that no other kernel links."""
    (name, kind, (machine_code, _)), *rest = _reduced(compiled)
    return (name, kind, (machine_code, b"")), *rest


def _rebuild(target_context: Any, payload: Any) -> Any:
    """Load machine code. Its bitcode takes longer to parse than the rest, and only compiled callers link it."""
    (name, kind, (machine_code, bitcode)), described, *rest = payload
    engine = target_context.codegen()._engine
    if not _depth:  # for another kernel there may be no wrapper
        engine._defined_symbols.add(described.llvm_cpython_wrapper_name)
    library = name, kind, (machine_code, _no_bitcode())
    loaded = CompileResult._rebuild(target_context, library, described, *rest)

    @cache
    def module_for_linking() -> Any:
        module = binding.parse_bitcode(bitcode)
        engine._load_defined_symbols(module)
        return module

    loaded.library._get_module_for_linking = module_for_linking
    return loaded


@cache
def _name_runtime() -> None:
    """Give the linker the addresses of the functions of Numba's runtime."""
    for name, address in _nrt.c_helpers.items():
        binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@cache
def _no_bitcode() -> bytes:
    return binding.parse_assembly("").as_bitcode()


class _Progress:
    """Messages about the kernels that this process compiles: one at the start, then one every few seconds.

    A process does not know which kernels it will need, so a message has the number of known kernels as an upper bound.
    With watchers there are no messages: they print a line for each kernel.
    """

    def __init__(self) -> None:
        self._began = 0.0  # time of the first miss; 0 before
        self._said = 0.0  # time of the last message
        self.known = 0  # cached kernels in all imported modules

    def begin(self, kernel: Any) -> None:
        """Log the start of compilation and its reason, before the first kernel."""
        if not self._began and not watchers:
            self._began = self._said = time.perf_counter()
            _warn_once(
                "compile",
                f"compiling kernels, once: a minute or two (`graphprover warm` compiles all of them ahead): "
                f"{shipped.reason(kernel, _target())}",
            )

    def compiled(self) -> None:
        """Log the number of compiled kernels if the last message is some seconds old."""
        now = time.perf_counter()
        if self._began and not watchers and now - self._said > PROGRESS_SECONDS:
            self._said = now
            most, seconds = max(self.known, len(made)), now - self._began
            left = seconds / len(made) * (most - len(made))
            count = f"{len(made)} kernels of at most {most}"
            _log.warning("graphprover: %s compiled in %.0f s, at most %.0f s left", count, seconds, left)


_progress = _Progress()


class KernelCache(FunctionCache):
    """The cache of one function.

    The folder is found when the function is first called: Numba tries it by writing a file, and a process calls few of
    the functions that it imports. The stamp is of the source that was imported, which may change before the call.
    """

    _impl_class = _Impl

    def __init__(self, dispatcher: Any, function: Any) -> None:
        self._dispatcher, self._function = dispatcher, function
        remember(function.__code__.co_filename)
        self._kernel = shipped.name_of(function)
        self._missed = 0.0  # time of the miss
        self._found = False
        _progress.known += 1

    def _find(self) -> None:
        """Find the files of the function, once."""
        if self._found:
            return
        super().__init__(self._function)
        stamp = numba.__version__, __version__, digest_of(self._function)
        self._cache_file: Any = _Files(_folders(self._impl.locator), self._impl.filename_base, stamp)
        self._found = True

    def is_kept(self) -> bool:
        """Return whether the package or a cache has a file of any signature."""
        self._find()
        return shipped.has(self._function, _target()) or self._cache_file.any()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the compiled code for these types; None if there is none.

        Numba would first register all functions that it can compile and compile its runtime, which takes a sixth of a
        second. Its compiler does both too, and loaded code needs only the addresses of the runtime.
        """
        _name_runtime()
        found = None if _depth else self._shipped(sig, target_context)
        if found is None:
            self._find()
            found = self._load_overload(sig, target_context)
        if found is None:
            self._missed = time.perf_counter()
            _progress.begin(self._function)
        return found

    def _shipped(self, sig: Any, target_context: Any) -> Any:
        """Load the package's compiled code for these types; None if there is none."""
        payload = shipped.load(self._function, sig, _target())
        if payload is None:
            return None
        taken.append(shipped.file_of(self._function, sig))
        _loaded.append((self._dispatcher, tuple(sig)))
        return _rebuild(target_context, _Unpickler(io.BytesIO(payload)).load())

    def save_overload(self, sig: Any, compiled: Any) -> None:
        """Save compiled code; warn once if that fails."""
        seconds = time.perf_counter() - self._missed
        made.append((self._kernel, seconds))
        _log.debug("%s compiled in %.1f s", self._kernel, seconds)
        _progress.compiled()
        for watcher in watchers:
            watcher(self._kernel, seconds)
        for builder in builders if not _depth else ():
            builder(self._function, sig, compiled)
        try:
            super().save_overload(sig, compiled)
        except (OSError, FileError) as error:
            _warn_unsaved(Path(self._cache_path), error)


def _folders(locator: Any) -> list[Path]:
    """Return the folders from which compiled code is read; it is written to the first."""
    return list(dict.fromkeys([Path(locator.get_cache_path()), Path(locator._py_file).parent / "__pycache__"]))


class Cached:
    """Files of other compiled code, beside those of a module's kernels and as safe: damaged ones are recompiled."""

    def __init__(self, function: Callable, stamp: object) -> None:
        """Find the folders of a function's module; ``stamp``: what made the code, which other code has otherwise."""
        self._locator, self._stamp = _Impl(function).locator, stamp

    def load(self, name: str) -> Any:
        """Return the data saved under a name with the same stamp; None if there is none."""
        for folder in _folders(self._locator):
            data = load(folder / name)
            if data is not None:
                stream = io.BytesIO(data)
                if pickle.load(stream) == self._stamp:
                    return pickle.load(stream)
        return None

    def save(self, name: str, data: Any) -> None:
        """Replace the file of a name, atomically; warn once if that fails."""
        try:
            self._locator.ensure_cache_path()
            save(_folders(self._locator)[0] / name, pickle.dumps(self._stamp) + pickle.dumps(data))
        except (OSError, FileError) as error:
            _warn_unsaved(_folders(self._locator)[0], error)

    def keep(self, pattern: str, most: int) -> None:
        """Remove the oldest files whose names match a pattern, up to ``most`` of them."""
        with suppress(OSError):  # another process removes them too
            files = sorted(_folders(self._locator)[0].glob(pattern), key=lambda file: file.stat().st_mtime)
            for file in files[:-most]:
                file.unlink()


def _warn_unsaved(folder: Path, error: OSError | FileError) -> None:
    cause = error if isinstance(error, OSError) else error.__cause__
    reason = f"in {folder}: {cause.strerror}" if isinstance(cause, OSError) else f"in {error}"
    _warn_once("unsaved", f"compiled kernels cannot be kept {reason}; they are for this once")


class _Files:
    """The files of one function, one for each signature. Written to the first of ``folders``, read from all."""

    def __init__(self, folders: list[Path], base: str, stamp: object) -> None:
        self.folders, self.base, self.stamp = folders, base, stamp

    def load(self, key: Any) -> Any:
        """Return the data saved under this key from the same source; None if there is none."""
        found = next(filter(None, (self._open(folder / self._name(key)) for folder in self.folders)), None)
        return _Unpickler(found).load() if found else None

    def any(self) -> bool:
        """Return whether there is a file from the same source."""
        files = (path for folder in self.folders for path in folder.glob(f"{escape(self.base)}.*{_SUFFIX}"))
        return any(map(self._open, files))

    def _open(self, path: Path) -> io.BytesIO | None:
        """Open a file from the same source; None if it is missing, from another source, or damaged."""
        data = load(path)
        if data is None:
            return None
        stream = io.BytesIO(data)
        return stream if pickle.load(stream) == self.stamp else None

    def save(self, key: Any, data: Any) -> None:
        """Write a file; raises FileError."""
        save(self.folders[0] / self._name(key), pickle.dumps(self.stamp) + numba.core.serialize.dumps(data))

    def _name(self, key: Any) -> str:
        """Return the file name of a signature, processor and closure; code for other kernels alone has another one.

        A newer source overwrites an older one's file.
        """
        signature, target, (_, closure) = key
        facts = signature, target, closure, *["without wrappers"] * bool(_depth)
        return f"{self.base}.{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}{_SUFFIX}"


class _Unpickler(pickle.Unpickler):
    """Reads compiled code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a global that the code refers to."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """Return the environment of a compiled function, without an import of its module.

    Only code for Python objects reads globals of the module, and many are Numba's own, which take long to import.
    """
    found = lookup_environment(name)
    if found is None:
        found = Environment._memo[name] = Environment({"__name__": module})
        found.env_name = name
        found.consts[:] = constants
    return found


_warned: set[str] = set()


def _warn_once(subject: str, message: str) -> None:
    """Log a warning, once in a process for each subject."""
    if subject not in _warned:
        _warned.add(subject)
        _log.warning("graphprover: %s", message)
