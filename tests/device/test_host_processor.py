"""The host processors available to a process within its control groups."""

import threading
import time
from pathlib import Path

import pytest

from graphprover.device.control_groups import control_groups
from graphprover.device.host_processor import ProcessorMeter, Throttled, available_threads, throttled, usable_cores

STAT = "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 2500000\n"
OLD_STAT = "nr_periods 5\nnr_throttled 2\nthrottled_time 500000000\n"
QUOTA = {"cpu.cfs_quota_us": "25000\n", "cpu.cfs_period_us": "100000\n"}
ALL = available_threads()


def tree(root: Path, groups: str, files: dict[str, str]) -> None:
    """Write system files below a folder."""
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("groups", "files", "stopped", "cores"),
    [
        (
            "0::/a/b\n",
            {"a/b/cpu.stat": STAT, "a/cpu.stat": STAT, "a/cpu.max": "50000 100000\n"},
            Throttled(6, 5.0),
            0.5,
        ),
        ("0::/\n", {"cpu.stat": "usage_usec 9\n", "cpu.max": "max 100000\n"}, None, ALL),  # on the host
        ("4:cpu,cpuacct:/x\n0::/\n", {"cpu/cpu.stat": OLD_STAT, "cpu/x/cpu.stat": OLD_STAT}, Throttled(4, 1.0), ALL),
        ("4:cpu:/x\n", {f"cpu/x/{name}": text for name, text in QUOTA.items()}, None, 0.25),
        ("4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None, ALL),
        ("4:memory:/x\n", {"memory/x/cpu.stat": OLD_STAT}, None, ALL),
    ],
)
def test_control_groups_stop_and_limit(
    tmp_path: Path, groups: str, files: dict[str, str], stopped: Throttled | None, cores: float
) -> None:
    tree(tmp_path, groups, {f"sys/fs/cgroup/{name}": text for name, text in files.items()})
    found = list(control_groups("cpu", tmp_path))
    assert throttled(found) == stopped and usable_cores(found) == cores


def test_what_happens_between_two_readings_counts(tmp_path: Path) -> None:
    counts = {"proc/self/task/1/schedstat": "9 1000000000 3\n", "sys/fs/cgroup/cpu.stat": STAT}
    tree(tmp_path, "0::/\n", counts)
    meter = ProcessorMeter(tmp_path)
    later = {"1/schedstat": "9 3000000000 3\n", "2/schedstat": "9 500000000 3\n"}
    tree(tmp_path, "0::/\n", {f"proc/self/task/{name}": text for name, text in later.items()})
    (tmp_path / "sys/fs/cgroup/cpu.stat").write_text(STAT.replace("led 3", "led 7").replace("2500000", "3500000"))
    found = meter.read(always=True)
    assert (found.waited, found.throttled, found.throttled_seconds) == (2.5, 4, 1.0)


def test_where_nobody_says(tmp_path: Path) -> None:
    found = ProcessorMeter(tmp_path).read(always=False)
    assert (found.waited, found.throttled, found.throttled_seconds, found.cores) == (None, None, None, ALL)


def test_all_threads_count() -> None:
    def work() -> None:
        while time.thread_time() < 0.05:
            pass

    meter, threads = ProcessorMeter(), [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = meter.read(always=True)
    assert 0.1 <= found.used <= found.seconds * found.cores + 0.1
