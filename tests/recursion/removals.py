"""Removals: patches by which a table, a head or a verifier is without one of its checks."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import pytest


@dataclass(frozen=True)
class Removal:
    """A check that is removed."""

    name: str
    apply: Callable[[pytest.MonkeyPatch], None]
    first: str = ""  # part of the names of tests that run before the other ones


@dataclass(frozen=True)
class Group:
    """Removals that the same tests notice."""

    tests: Sequence[str]  # as pytest takes them
    removals: Callable[[], Sequence[Removal]]
    redundant: Callable[[], Mapping[str, str]]  # removals that accept nothing more, by their names, with the reason
    clear: Callable[[], None] = field(default=lambda: None)  # forgets the results of earlier removals


def without_text(name: str, module: ModuleType, old: str, new: str, first: str = "") -> Removal:
    """Return the removal that replaces a text in functions of a module.

    Raises:
        ValueError: The module does not have the text exactly once.
    """
    source = inspect.getsource(module)
    if source.count(old) != 1:
        raise ValueError(f"{name}: {module.__name__} has this text {source.count(old)} times, not once: {old}")

    def apply(patch: pytest.MonkeyPatch) -> None:
        namespace = dict(vars(module))
        exec(compile(source.replace(old, new), str(module.__file__), "exec"), namespace)
        others = dict(_functions(namespace, module.__name__))
        changed = 0
        for path, function in _functions(vars(module), module.__name__):
            if others[path].__code__ != function.__code__:
                patch.setattr(function, "__code__", others[path].__code__)
                changed += 1
        assert changed, f"{name}: no function has other code"

    return Removal(name, apply, first)


def _functions(namespace: Mapping[str, Any], module: str) -> Iterator[tuple[str, FunctionType]]:
    """Yield the functions and methods that a module defines, by their names."""
    for name, own in namespace.items():
        if getattr(own, "__module__", None) != module:
            continue
        if isinstance(own, FunctionType):
            yield name, inspect.unwrap(own)
        elif isinstance(own, type):
            for inner, method in vars(own).items():
                function = method.fget if isinstance(method, property) else method
                function = getattr(function, "__func__", function)
                if isinstance(function, FunctionType) and function.__module__ == module:
                    yield f"{name}.{inner}", function
