"""Read and check a batch file: TOML that lists proofs to make, as docs/batch.md describes."""

import glob
import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from graphprover.cli.batch_keys import OPTIONS, takes, unknown, wrong_value
from graphprover.cli.files import length_error
from graphprover.cli.patterns import PatternError, fill
from graphprover.jobs.kinds import kind_of
from graphprover.jobs.opening import open_program
from graphprover.jobs.options import conflict, in_keys
from graphprover.jobs.programs import Program, ProgramError, is_packaged
from graphprover.runtime.errors import UsageError
from graphprover.runtime.files import (
    MAX_TEXT_BYTES,
    STREAM,
    FileError,
    check_writable,
    goes_to_stdout,
    make_folder,
    read_input,
)

_OF_GUESTS = {name for name, option in OPTIONS.items() if option.guests}
_MOST_SHOWN = 200  # characters of the TOML parser's message


@dataclass(frozen=True, eq=False)
class ListedJob:
    """One proof of a batch file."""

    name: str
    program: Program
    input: Path | None
    output: Path
    options: Mapping[str, Any]  # the given ones of `graphprover.jobs.options`


def read_batch(path: Path) -> list[ListedJob]:
    """Return the proofs of a batch file in its order, and create the folders of their outputs.

    A job whose input is a pattern gives one proof per file. File names are relative to the folder of `path`. Folders
    are created only after all checks.

    Raises:
        FileError: The batch file cannot be read.
        UsageError: The file is invalid; the exception has one line per error.
    """
    given = _parsed(path)
    defaults, jobs = given.pop("defaults", {}), given.pop("job", [])
    reader = _Reader(path, defaults)
    for key in given:
        reader.wrong(unknown(key, ("defaults", "job")))
    if not isinstance(defaults, dict) or not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        reader.wrong("write [defaults] once and one [[job]] per job")
    elif reader.check_keys(defaults, "defaults"):
        for number, job in enumerate(jobs, 1):
            if reader.check_keys(job, f"job {number}"):
                reader.add(job, f"job {number}")
        if not jobs:
            reader.wrong("the file has no [[job]]")
    reader.check_outputs()
    reader.end()
    reader.make_folders()
    reader.end()
    return [entry for entry, _ in reader.entries]


class _Reader:
    """The entries and errors read from a batch file so far."""

    def __init__(self, path: Path, defaults: dict[str, Any]) -> None:
        self.entries: list[tuple[ListedJob, str]] = []  # with their places in the file, such as "job 1"
        self._path, self._defaults = path, defaults
        self._folder = Path() if path == STREAM else path.parent
        self._programs: dict[str, Program | None] = {}  # by their names in the file; None after an error
        self._lines: dict[str, None] = {}  # error lines, without duplicates

    def wrong(self, *where: str) -> None:
        """Record an error, given as place, key and message."""
        self._lines[": ".join((str(self._path), *where))] = None

    def end(self) -> None:
        """Raise UsageError if there were errors."""
        if self._lines:
            raise UsageError(*self._lines)

    def check_keys(self, table: Mapping[str, Any], place: str) -> bool:
        """Record errors of keys and values, and return whether there were none."""
        before = len(self._lines)
        for key, value in table.items():
            if error := wrong_value(key, value):
                self.wrong(place, error)
        return len(self._lines) == before

    def add(self, job: dict[str, Any], place: str) -> None:
        """Add the proofs of one job."""
        options = self._defaults | job
        if missing := [key for key in ("program", "output") if key not in options]:
            return self.wrong(place, missing[0], f"missing; give {takes(missing[0])}")
        program = self._program(options["program"], place)
        if program is None:
            return None
        # In [defaults], keys for guests apply to guests only.
        if not program.has_runs:
            if own := [key for key in _OF_GUESTS if key in job]:
                return self.wrong(place, own[0], f"only for guests, and {program.name} is no guest")
            options = {key: value for key, value in options.items() if key not in _OF_GUESTS}
        if found := conflict(options):
            return self.wrong(place, *map(in_keys, found))
        inputs: Sequence[Path | None] = self._inputs(options["input"]) if "input" in options else [None]
        if not inputs:
            self.wrong(place, "input", f"{self._folder / options['input']}: no such file")
        if STREAM in inputs:
            return self.wrong(place, "input", f"{STREAM}: a batch cannot read standard input: rename the file")
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
            if too_long := length_error(str(output)):
                return self.wrong(place, key, too_long)
            if goes_to_stdout(output):
                return self.wrong(place, key, f"{output}: a batch cannot write to standard output: give a file")
            given = {key: value for key, value in options.items() if key in OPTIONS}
            self.entries.append((ListedJob(values["name"], program, data, output, given), place))
        return None

    def _program(self, asked: str, place: str) -> Program | None:
        """Return the program, opened once per name, or record an error and return None."""
        if asked not in self._programs:
            self._programs[asked] = None
            try:
                program = open_program(asked if is_packaged(asked) else str(self._folder / asked))
                if program.only_key:
                    raise ProgramError(f"{program.name}: a verifying key cannot run: give the ELF file")
                program.statement()  # runs the code of a .py program, so that errors appear now
                self._programs[asked] = program
            except ProgramError as error:
                self.wrong(place, "program", str(error))
            except Exception as error:
                self.wrong(place, "program", f"{asked}: defining its tables failed: {error!r}")
        return self._programs[asked]

    def _inputs(self, text: str) -> list[Path]:
        """Return the files that match an input, sorted by name."""
        if os.path.isfile(self._folder / text):  # even if its name has characters of patterns
            return [self._folder / text]
        found = set(glob.glob(text, root_dir=self._folder, recursive=True))  # with ** twice, a file is found twice
        return [path for name in sorted(found) if os.path.isfile(path := self._folder / name)]

    def check_outputs(self) -> None:
        """Record an error for each output that is also an input, another output, or a folder of another output."""
        files = [self._path, *(Path(entry.program.name) for entry, _ in self.entries)]
        files += [entry.input for entry, _ in self.entries if entry.input]
        read, written = {_real(file) for file in files}, dict[Path, str]()
        for entry, place in self.entries:
            path = _real(entry.output)
            if path in read:
                self.wrong(place, "output", f"{entry.output} is also an input: choose another file")
            elif written.setdefault(path, place) != place:
                self.wrong(place, "output", f"{entry.output} is also the output of {written[path]}")
        outputs = Counter((_real(entry.output), place) for entry, place in self.entries)
        for (path, place), number in outputs.items():
            if number > 1:
                self.wrong(place, "output", f"{path} for {number} inputs: add {{input}} or {{number}} to it")
            for folder in path.parents:
                if folder in written and not folder.is_dir():  # `make_folders` refuses a folder as output
                    self.wrong(place, "output", f"{path}: its folder {folder} is the output of {written[folder]}")

    def make_folders(self) -> None:
        """Create the folders of all outputs, and record an error for each output that cannot be written."""
        for entry, place in self.entries:
            try:
                make_folder(entry.output.parent)
                check_writable(entry.output)
            except FileError as error:
                self.wrong(place, "output", str(error))


def _parsed(path: Path) -> dict[str, Any]:
    """Return the contents of a TOML file; raise FileError if it cannot be read, or UsageError for invalid TOML."""
    data = read_input(path, MAX_TEXT_BYTES, "split it")
    if kind := kind_of(data):
        raise UsageError(f"{path}: {kind}, not a TOML file of jobs: see `graphprover batch --help`")
    try:
        text = data.decode()
        if text.startswith("\ufeff"):
            raise UsageError(f"{path}: not TOML: it starts with a byte order mark: save the file without it")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not TOML: byte {error.start:,} is not UTF-8: save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {str(error)[:_MOST_SHOWN]}") from error
    except ValueError as error:  # from Python's int, for thousands of decimal digits
        raise UsageError(f"{path}: a number has too many digits: all numbers must be below 2^64") from error
    except RecursionError:
        depths = [*accumulate((char in "[{") - (char in "]}") for char in text)]
        line = text[: depths.index(max(depths))].count("\n") + 1
        raise UsageError(f"{path}: line {line:,}: brackets are nested too deep: no key accepts arrays") from None


def _real(path: Path) -> Path:
    """Return the path with symbolic links resolved, or the path itself for a loop of links."""
    return Path(os.path.realpath(path))
