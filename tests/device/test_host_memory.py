"""The host memory available to a process within its control groups."""

import os
from pathlib import Path

import pytest

from graphprover.device import CpuDevice
from graphprover.device.host_memory import host_memory, resident

PHYSICAL = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    "groups, files, expected",
    [
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": "5000", "memory.max": "9000"}, 5000),
        ("0::/../../docker/1\n", {"memory.max": "7000"}, 7000),  # as a container may see its control group
        ("0::/\n", {"memory.max": "max"}, PHYSICAL),
        ("5:cpu:/x\n4:memory:/x/y\n0::/\n", {"memory/x/y/memory.limit_in_bytes": "4000"}, 4000),
        ("4:cpu,memory:/host/only\n", {"memory/memory.limit_in_bytes": "3000"}, 3000),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, PHYSICAL),
        ("0::/a\n", {}, PHYSICAL),
    ],
)
def test_the_smallest_limit_counts(tmp_path: Path, groups: str, files: dict[str, str], expected: int) -> None:
    written = {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": text for name, text in files.items()}}
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert host_memory(tmp_path) == expected


def test_without_control_groups_all_of_it(tmp_path: Path) -> None:
    assert host_memory(tmp_path) == PHYSICAL
    assert 0 < resident() < CpuDevice.memory.total <= PHYSICAL
