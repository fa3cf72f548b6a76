"""Batch files: TOML that lists proofs to make. docs/cli.md describes one; everything in it is checked here."""

import glob
import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from graphprover.cli.args import UsageError
from graphprover.cli.batch_keys import takes, unknown, wrong_value
from graphprover.cli.files import refused_length
from graphprover.cli.patterns import PatternError, fill
from graphprover.jobs.programs import Program, ProgramError, is_packaged, open_program
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.runtime.files import STREAM, FileError, check_writable, make_folder, read_input
from graphprover.vm.statement.guest import Limits, limits_of

_DEFAULTS: dict[str, Any] = {"security": 128, "proximity": JOHNSON_PROXIMITY}
_OF_GUESTS = ("shard_size", "exit_code", "commit_input", "max_cycles", "max_memory")
_MOST_SAID = 200  # characters of the parser's message


@dataclass(frozen=True, eq=False)
class Entry:
    """A proof that a batch file asks for."""

    name: str
    program: Program
    input: Path | None
    output: Path
    security: float
    rate: int | None  # None: what is chosen for the statement
    proximity: str
    shards: int | None  # None: one, or for a guest as many as fit the device
    shard_size: int | None  # of a guest: cycles of a shard
    exit_code: int | str
    commit_input: bool
    limits: Limits  # of a guest's run


def read_batch(path: Path) -> list[Entry]:
    """The proofs that a batch file asks for, in its order; a job whose input is a pattern gives one for each file.

    Names of files are relative to the folder of ``path``. Makes the folders of the outputs, once all else is checked.
    Raises FileError, and UsageError with a line for everything that is wrong.
    """
    given = _parsed(path)
    defaults, jobs = given.pop("defaults", {}), given.pop("job", [])
    reader = _Reader(path, defaults)
    for key in given:
        reader.wrong(unknown(key, ("defaults", "job")))
    if not isinstance(defaults, dict) or not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        reader.wrong("write [defaults] once, and [[job]] for each job")
    elif reader.check_keys(defaults, "defaults"):
        for number, job in enumerate(jobs, 1):
            if reader.check_keys(job, f"job {number}"):
                reader.add(job, f"job {number}")
        if not jobs:
            reader.wrong("no [[job]] in it")
    reader.check_outputs()
    reader.end()
    reader.make_folders()
    reader.end()
    return [entry for entry, _ in reader.entries]


class _Reader:
    """What has been read of a batch file, and what is wrong with it."""

    def __init__(self, path: Path, defaults: dict[str, Any]) -> None:
        self.entries: list[tuple[Entry, str]] = []  # with their places in the file
        self._path, self._defaults = path, defaults
        self._folder = Path() if path == STREAM else path.parent
        self._programs: dict[str, Program | None] = {}  # by what they were asked for as
        self._lines: dict[str, None] = {}  # of errors, each once

    def wrong(self, *where: str) -> None:
        """Place, key, and what is wrong there."""
        self._lines[": ".join((str(self._path), *where))] = None

    def end(self) -> None:
        """Raises UsageError if anything was wrong."""
        if self._lines:
            raise UsageError(*self._lines)

    def check_keys(self, table: Mapping[str, Any], place: str) -> bool:
        """Whether there are only keys that a job has, with values that they take."""
        before = len(self._lines)
        for key, value in table.items():
            if why := wrong_value(key, value):
                self.wrong(place, why)
        return len(self._lines) == before

    def add(self, job: dict[str, Any], place: str) -> None:
        """Add the proofs that one job asks for."""
        options = _DEFAULTS | self._defaults | job
        if missing := [key for key in ("program", "output") if key not in options]:
            return self.wrong(place, missing[0], f"missing; give {takes(missing[0])}")
        program = self._program(options["program"], place)
        if program is None:
            return None
        # What only guests have: as a default it concerns them alone.
        if not program.has_runs:
            if own := [key for key in _OF_GUESTS if key in job]:
                return self.wrong(place, own[0], f"only guests have that, and {program.name} is none")
            options = {key: value for key, value in options.items() if key not in _OF_GUESTS}
        if "shards" in options and "shard_size" in options:
            return self.wrong(place, "shard_size", "it says how many shards there are: leave out shards")
        inputs: Sequence[Path | None] = self._inputs(options["input"]) if "input" in options else [None]
        if not inputs:
            self.wrong(place, "input", f"{self._folder / options['input']}: no such file")
        if STREAM in inputs:
            return self.wrong(place, "input", f"{STREAM}: a batch does not read standard input: rename the file")
        for data in inputs:
            values: dict[str, Any] = {"program": Path(options["program"]).stem, "number": len(self.entries) + 1}
            if data:
                values["input"] = data.stem
            key = "name"
            try:
                values["name"] = fill(options.get(key, "{input}" if data else "{program}"), values)
                key = "output"
                output = self._folder / fill(options[key], values)
            except PatternError as error:
                return self.wrong(place, key, str(error))
            if why := refused_length(str(output)):
                return self.wrong(place, key, why)
            if output == STREAM:
                return self.wrong(place, key, f"{STREAM}: a batch does not write standard output: name a file")
            self.entries.append((_entry(values["name"], program, data, output, options), place))
        return None

    def _program(self, asked: str, place: str) -> Program | None:
        """The program, which is opened once; None after telling why there is none."""
        if asked not in self._programs:
            self._programs[asked] = None
            try:
                program = open_program(asked if is_packaged(asked) else str(self._folder / asked))
                if program.only_key:
                    raise ProgramError(f"{program.name}: a verifying key, which runs nothing; give the ELF file")
                program.statement()  # which runs the code of a .py program
                self._programs[asked] = program
            except ProgramError as error:
                self.wrong(place, "program", str(error))
            except Exception as error:
                self.wrong(place, "program", f"{asked}: its tables cannot be described: {error!r}")
        return self._programs[asked]

    def _inputs(self, text: str) -> list[Path]:
        """The files that an input names, sorted."""
        if os.path.isfile(self._folder / text):  # whatever its name holds
            return [self._folder / text]
        found = set(glob.glob(text, root_dir=self._folder, recursive=True))  # ** twice finds a file twice
        return [path for name in sorted(found) if os.path.isfile(path := self._folder / name)]

    def check_outputs(self) -> None:
        """Every output is a file of its own, and nothing that is read."""
        files = [self._path, *(Path(entry.program.name) for entry, _ in self.entries)]
        files += [entry.input for entry, _ in self.entries if entry.input]
        read, written = {_real(file) for file in files}, dict[Path, str]()
        for entry, place in self.entries:
            path = _real(entry.output)
            if path in read:
                self.wrong(place, "output", f"{entry.output} is read: write elsewhere")
            elif written.setdefault(path, place) != place:
                self.wrong(place, "output", f"{entry.output} is also that of {written[path]}")
        outputs = Counter((_real(entry.output), place) for entry, place in self.entries)
        for (path, place), number in outputs.items():
            if number > 1:
                self.wrong(place, "output", f"{path} for {number} inputs: put {{input}} or {{number}} into it")
            for folder in path.parents:
                if folder in written and not folder.is_dir():  # `make_folders` refuses a folder as output
                    self.wrong(place, "output", f"{path}: its folder {folder} is the output of {written[folder]}")

    def make_folders(self) -> None:
        """Make those of the outputs, which can be written then."""
        for entry, place in self.entries:
            try:
                make_folder(entry.output.parent)
                check_writable(entry.output)
            except FileError as error:
                self.wrong(place, "output", str(error))


def _entry(name: str, program: Program, data: Path | None, output: Path, options: Mapping[str, Any]) -> Entry:
    return Entry(
        name,
        program,
        data,
        output,
        security=options["security"],
        rate=options.get("rate"),
        proximity=options["proximity"],
        shards=options.get("shards"),
        shard_size=options.get("shard_size"),
        exit_code=options.get("exit_code", 0),
        commit_input=options.get("commit_input", False),
        limits=limits_of(options.get("max_cycles"), options.get("max_memory")),
    )


def _parsed(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; raises FileError, and UsageError for another file."""
    data = read_input(path)
    try:
        text = data.decode()
        if text.startswith("\ufeff"):
            raise UsageError(f"{path}: not TOML: a byte order mark is before the text: save the file without it")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not TOML: byte {error.start:,} is not UTF-8: save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {str(error)[:_MOST_SAID]}") from error
    except ValueError as error:  # of Python's int, for thousands of decimal digits
        raise UsageError(f"{path}: a number of too many digits: every key takes one below 2^64") from error
    except RecursionError:
        depths = [*accumulate((char in "[{") - (char in "]}") for char in text)]
        line = text[: depths.index(max(depths))].count("\n") + 1
        raise UsageError(f"{path}: line {line:,}: brackets are nested too deep: no key takes arrays") from None


def _real(path: Path) -> Path:
    """The path without links; of a loop of links, the path itself."""
    return Path(os.path.realpath(path))
