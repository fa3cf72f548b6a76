"""The control groups of this process (Linux, version 1 or 2)."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """A control group of the process."""

    folder: Path  # of its files
    unified: bool  # of version 2, with other file names


def control_groups(controller: str, root: Path) -> Iterator[Group]:
    """Return the process's groups for a controller, such as ``memory``, and their ancestors, innermost first.

    In a container the groups often have the host's names while only the outermost is visible, so a folder may be
    missing. ``root`` is the folder of ``proc`` and ``sys``.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        outermost = root / "sys/fs/cgroup" / (controller if controllers else "")
        inner = outermost / group.lstrip("/")
        for folder in (inner, *inner.parents):
            yield Group(folder, not controllers)
            if folder == outermost:
                break
