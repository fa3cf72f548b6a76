"""The control groups of this process, of either version: Linux alone has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Group(NamedTuple):
    """One control group that the process is in."""

    folder: Path  # of its files
    unified: bool  # of version 2, whose files have other names


def control_groups(controller: str, root: Path) -> Iterator[Group]:
    """The groups of the process that control, say, ``memory``, and all groups that they are in, from the inside out.

    In a container the groups are often named as the host sees them, while only the last is there, as the outermost:
    a folder may be missing. ``root``: where ``proc`` and ``sys`` are.
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
