"""Compare two sides on one benchmark in turns A B B A: which is faster, or that no difference is significant.

    python scripts/bench_abba.py HEAD~1 HEAD -- scripts/bench_prove.py --from 14 --to 16
    python scripts/bench_abba.py . old.whl -- scripts/bench_verify.py
    python scripts/bench_abba.py "--threads 1" "--threads 2" -- scripts/bench_prove.py --to 14
    python scripts/bench_abba.py . "NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=" -- scripts/bench_kernels.py

A side is words: settings of the environment NAME=VALUE, then a commit, a wheel or a folder with graphprover/ in it (by
default this checkout), then arguments for the benchmark. The benchmark is any command that prints one JSON object for
each line, with "name", "value" and "unit", if --json is added; a .py file is run by this Python. A benchmark of
scripts/ is taken from this checkout and measures the package of each side: a commit in a git worktree or an unpacked
wheel, in a temporary folder with its own compiled kernels. A folder keeps its kernels for the next run; compiling two
commits is part of --minutes.

The first run of each side compiles and is dropped. Every further run is a process of its own. Neighbouring runs are
compared, in blocks A B B A, so that slow drift cancels. A figure is reported as faster or slower if both the interval
by Student's t and the exact Wilcoxon signed-rank test find a difference at the level, divided by the number of figures
(Bonferroni; --only judges fewer). The level bounds the probability of any false difference in the whole run. The number
of pairs is fixed in advance or by the clock, never by the figures, so no correction for early stopping is needed.
"""

import argparse
import fnmatch
import json
import math
import os
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import direction
from paired import Comparison, compared, drift, least_pairs, variation

ROOT = Path(__file__).resolve().parents[1]
TURNS = "ABBA"


class Failure(Exception):
    """A comparison that is impossible; the message has the reason."""


@dataclass(frozen=True)
class Side:
    """One side, as specified on the command line."""

    name: str  # A or B
    place: str  # commit, wheel or folder
    settings: Mapping[str, str]  # of the environment
    arguments: tuple[str, ...]  # after the benchmark's

    @classmethod
    def read(cls, name: str, text: str) -> "Side":
        """Raise Failure."""
        place = ""
        settings: dict[str, str] = {}
        words = shlex.split(text)
        for position, word in enumerate(words):
            if word.startswith("-"):
                return cls(name, place, settings, tuple(words[position:]))
            if re.match(r"[A-Za-z_]\w*=", word):
                variable, _, settings[variable] = word.partition("=")
            elif place:
                raise Failure(f"{name}: {place!r} and {word!r}: a side is one commit, wheel or folder")
            else:
                place = word
        return cls(name, place, settings, ())

    def __str__(self) -> str:
        settings = (f"{name}={value}" for name, value in self.settings.items())
        return " ".join((*settings, self.place or "this checkout", *self.arguments))


@dataclass(frozen=True)
class Runner:
    """A prepared side."""

    side: Side
    folder: Path  # with graphprover/ in it
    command: tuple[str, ...]

    def __call__(self) -> dict[str, dict[str, Any]]:
        """Return the figures of one run, by name; raises Failure."""
        path = os.pathsep.join(filter(None, (str(self.folder), os.environ.get("PYTHONPATH"))))
        checkout = {"GRAPHPROVER_CHECKOUT": str(self.folder), "PYTHONPATH": path}
        environment = {**os.environ, **checkout, **self.side.settings}
        done = subprocess.run(self.command, env=environment, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[-1]
            raise Failure(
                f"{self.side.name} ({self.side}): {shlex.join(self.command)} ended with {done.returncode}: {last}"
            )
        found: dict[str, dict[str, Any]] = {}
        for line in done.stdout.splitlines():
            figure = self._figure(line)
            if figure["name"] in found:
                raise Failure(f"{self.side.name}: two figures are called {figure['name']!r}")
            found[figure["name"]] = figure
        if not found:
            raise Failure(f"{self.side.name}: {shlex.join(self.command)} printed no figures")
        return found

    def _figure(self, line: str) -> dict[str, Any]:
        try:
            figure = json.loads(line)
            figure["value"] = float(figure["value"])
            figure["name"], figure["unit"] = str(figure["name"]), str(figure["unit"])
            if not math.isfinite(figure["value"]):
                raise ValueError("no number")
        except (ValueError, TypeError, KeyError) as error:
            raise Failure(f"{self.side.name}: no figure as JSON (name, value, unit): {line[:200]}") from error
        return figure


@contextmanager
def ready(side: Side, benchmark: Sequence[str], scratch: Path) -> Iterator[Runner]:
    """Return a side checked out or unpacked into a folder of ``scratch``; raises Failure."""
    target = scratch / side.name
    command = ((sys.executable,) if benchmark[0].endswith(".py") else ()) + (*benchmark, *side.arguments, "--json")
    place = Path(side.place or ROOT)
    if (place / "graphprover/__init__.py").is_file():
        yield Runner(side, place.resolve(), command)
    elif place.suffix == ".whl":
        try:
            with zipfile.ZipFile(place) as wheel:
                wheel.extractall(target)
        except (OSError, zipfile.BadZipFile) as error:
            raise Failure(f"{side.name}: {place}: {error}") from error
        yield Runner(side, target, command)
    elif commit := git("rev-parse", "--verify", "--quiet", f"{side.place}^{{commit}}").stdout.strip():
        added = git("worktree", "add", "--detach", str(target), commit)
        try:
            if added.returncode:
                raise Failure(f"{side.name}: {added.stderr.strip()}")
            yield Runner(side, target, command)
        finally:
            git("worktree", "remove", "--force", str(target))
    else:
        raise Failure(
            f"{side.name}: {side.place} is no commit of {ROOT}, no wheel and no folder with graphprover/ in it"
        )


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)


@dataclass(frozen=True)
class Series:
    """One figure of both sides, pair by pair."""

    unit: str
    a: list[float]
    b: list[float]


@dataclass(frozen=True)
class Turns:
    """All measurements."""

    figures: Mapping[str, Series]
    times: Mapping[str, list[float]]  # of each side, the start of its turns in seconds
    alone: Sequence[str]  # figures of one side only


def measured(sides: Mapping[str, Runner], only: str, level: float, pairs: int, minutes: float) -> Turns:
    """Run both sides in turns, for the given number of pairs and time; raises Failure if there are too few pairs."""
    started = time.monotonic()
    warm = {name: runner() for name, runner in sides.items()}
    in_both = [name for name in warm["A"] if name in warm["B"]]
    names = [name for name in in_both if fnmatch.fnmatchcase(name, only)]
    if not names:
        raise Failure(f"no figure of both sides is called {only!r}; there are {', '.join(in_both) or 'none'}")
    needed = least_pairs(level / len(names))
    if pairs < needed:
        raise Failure(f"--pairs {pairs}: {len(names)} figures at level {level:g} need {needed} pairs, or --only some")
    figures = {name: Series(warm["A"][name]["unit"], [], []) for name in names}
    times: dict[str, list[float]] = {"A": [], "B": []}
    begun = time.monotonic()
    for block in range(1, pairs // 2 + 1):
        for turn in TURNS:
            times[turn].append(time.monotonic() - begun)
            found = sides[turn]()
            for name, series in figures.items():
                if name not in found:
                    raise Failure(f"{turn}: a run without {name!r}")
                (series.a if turn == "A" else series.b).append(found[name]["value"])
        now = time.monotonic()
        a_block = (now - begun) / block
        print(f"{2 * block} of {pairs} pairs, {now - started:.0f} s", file=sys.stderr, flush=True)
        left = started + 60 * minutes - now
        if a_block * (needed / 2 - block) > left:
            wanted = f"{needed} pairs, {a_block * needed / 120:.1f} minutes and {(begun - started) / 60:.1f} to compile"
            raise Failure(
                f"--minutes {minutes:g}: nothing can be told with fewer than {wanted}; measure less, or longer"
            )
        if a_block > left:
            break
    return Turns(figures, times, sorted(warm["A"].keys() ^ warm["B"].keys()))


def verdict(unit: str, found: Comparison, level: float) -> str:
    """Return the verdict on B."""
    if not found.told_apart(level):
        return "not told apart"
    more = found.difference > 0
    return {0: ("less", "more"), 1: ("slower", "faster"), -1: ("faster", "slower")}[direction(unit)][more]


def judged(turns: Turns, level: float) -> Iterator[dict[str, Any]]:
    """Return the comparison of each figure for JSON."""
    for name, series in turns.figures.items():
        each = level / len(turns.figures)
        found = compared(series.a, series.b, each)
        yield {
            "name": name,
            "unit": series.unit,
            "verdict": verdict(series.unit, found, each),
            "difference": found.difference,
            "interval": [found.low, found.high],
            "p": found.p,
            "level": each,
            "pairs": len(series.a),
            "sides": {
                side: {
                    "median": statistics.median(values),
                    "variation": variation(values),
                    "drift": drift(turns.times[side], values),
                    "values": values,
                }
                for side, values in (("A", series.a), ("B", series.b))
            },
        }


HEAD = ("figure", "unit", "A", "B", "B - A", "interval", "Wilcoxon p", "variation", "drift", "B is")


def row(found: Mapping[str, Any]) -> tuple[str, ...]:
    a, b = found["sides"]["A"], found["sides"]["B"]
    low, high = found["interval"]
    return (
        found["name"],
        found["unit"],
        f"{a['median']:.4g}",
        f"{b['median']:.4g}",
        f"{found['difference']:+.1%}",
        f"{low:+.1%} to {high:+.1%}",
        f"{found['p']:.2g}",
        f"{a['variation']:.1%}, {b['variation']:.1%}",
        f"{a['drift']:+.1%}, {b['drift']:+.1%}",
        found["verdict"],
    )


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def main() -> None:
    """See the module."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="bench_abba.py [OPTIONS] A B -- BENCHMARK [ARGUMENT ...]",
    )
    parser.add_argument("a", metavar="A", help='commit, wheel, folder, NAME=VALUE, or arguments as "--threads 1"')
    parser.add_argument("b", metavar="B", help="what is compared with it")
    parser.add_argument("--pairs", type=int, default=20, help="how many at most; default %(default)s")
    parser.add_argument("--minutes", type=float, default=10, help="no block begins that would end later; default 10")
    parser.add_argument(
        "--level", type=float, default=0.05, help="how often equal sides may be told apart; default 0.05"
    )
    parser.add_argument("--only", metavar="PATTERN", default="*", help="figures to judge, as 'prove 2^1?'")
    parser.add_argument("--json", action="store_true", help="print a JSON object a line for each figure, and no table")
    options = parser.parse_args(words[:split])
    benchmark = words[split + 1 :]
    if not benchmark:
        parser.error("name the benchmark after --")
    if not 0 < options.level < 1:
        parser.error("--level: between 0 and 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that worktrees are removed
    try:
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="graphprover-abba-")))
            read = {name: Side.read(name, text) for name, text in (("A", options.a), ("B", options.b))}
            sides = {name: stack.enter_context(ready(side, benchmark, scratch)) for name, side in read.items()}
            turns = measured(sides, options.only, options.level, options.pairs, options.minutes)
    except Failure as failure:
        raise SystemExit(f"{parser.prog}: {failure}") from None
    found = list(judged(turns, options.level))
    if options.json:
        print(*(json.dumps(own, allow_nan=False) for own in found), sep="\n")
        return
    print(f"A: {read['A']}\nB: {read['B']}\n{shlex.join(benchmark)}")
    each = found[0]["level"]
    print(
        f"{found[0]['pairs']} pairs; level {options.level:g} in all, {each:.2g} and intervals of {1 - each:.4g} each\n"
    )
    print(*table([HEAD, *map(row, found)]), sep="\n")
    for name in turns.alone:
        print(f"only one side has: {name}")


if __name__ == "__main__":
    main()
