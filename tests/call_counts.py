"""The work of a function as a number of calls: the same on a fast machine and on a busy one."""

import sys
from collections.abc import Callable
from typing import Any


def count_calls(function: Callable[[], Any]) -> int:
    """Return the number of calls, in Python and of C functions, that this thread makes while ``function`` runs."""
    count = 0

    def profile(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
