"""Facts about an object that are computed once and freed with it."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Subject = TypeVar("Subject")
Fact = TypeVar("Fact")


def once(compute: Callable[[Subject], Fact]) -> Callable[[Subject], Fact]:
    """Decorate a function of one object: its value is computed once, and lives as long as the object.

    Threads that ask at the same time wait for the value instead of computing it again.
    """
    facts: WeakKeyDictionary[Subject, Fact] = WeakKeyDictionary()
    computing = threading.Lock()

    @wraps(compute)
    def fact_of(subject: Subject) -> Fact:
        with computing:
            if subject not in facts:
                facts[subject] = compute(subject)
            return facts[subject]

    return fact_of
