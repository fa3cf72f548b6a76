"""Batch files: TOML that lists proofs to make. docs/cli.md describes one; everything in it is checked here."""

import difflib
import glob
import math
import string
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphprover.cli.options import UsageError
from graphprover.files import STREAM, FileError, check_writable, make_folder, read_input
from graphprover.programs import Program, ProgramError, is_packaged, open_program
from graphprover.protocol.parameters import RATES
from graphprover.protocol.security import JOHNSON_PROXIMITY, PROXIMITIES
from graphprover.vm.guest import ANY, Guest, Limits, limits_of
from graphprover.vm.key import Key

_DEFAULTS: dict[str, Any] = {"security": 128, "proximity": JOHNSON_PROXIMITY}
_OF_GUESTS = ("window", "exit_code", "commit_input", "max_cycles", "max_memory")


@dataclass(frozen=True, eq=False)
class Entry:
    """A proof that a batch file asks for."""

    name: str
    program: Program | Guest
    input: Path | None
    output: Path
    security: float
    rate: int | None  # None: what is chosen for the statement
    proximity: str
    pieces: int | None  # None: one, or for a guest as many as fit the device
    window: int | None  # of a guest: cycles of a piece
    exit_code: int | str
    commit_input: bool
    limits: Limits  # of a guest's run


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _number(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 1 << 64


def _bits(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


_KEYS: Mapping[str, tuple[Callable[[Any], bool], str]] = {  # of a job: what each takes
    "program": (_text, "a file, a folder or examples/NAME"),
    "input": (_text, "a file, or a pattern of files as inputs/*.bin"),
    "output": (_text, "a file, such as proofs/{input}.bin"),
    "name": (_text, "text"),
    "security": (_bits, "a number of bits"),
    "rate": (lambda value: _number(value) and value in RATES, " or ".join(map(str, RATES))),
    "proximity": (lambda value: value in PROXIMITIES, " or ".join(PROXIMITIES)),
    "pieces": (_number, "a number of pieces"),
    "window": (_number, "a number of cycles"),
    "exit_code": (lambda value: value == ANY or _number(value, 0), f'a number below 2^64, or "{ANY}"'),
    "commit_input": (lambda value: isinstance(value, bool), "true or false"),
    "max_cycles": (_number, "a number"),
    "max_memory": (_number, "a number of MiB"),
}


def read_batch(path: Path) -> list[Entry]:
    """The proofs that a batch file asks for, in its order; a job whose input is a pattern gives one for each file.

    Names of files are relative to the folder of ``path``. Makes the folders of the outputs, once all else is checked.
    Raises FileError, and UsageError with a line for everything that is wrong.
    """
    try:
        given = tomllib.loads(read_input(path).decode())
    except ValueError as error:  # of TOML or of UTF-8
        raise UsageError(f"{path}: not TOML: {error}") from error
    defaults, jobs = given.pop("defaults", {}), given.pop("job", [])
    reader = _Reader(path, defaults)
    for key in given:
        reader.wrong(_unknown(key, ("defaults", "job")))
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
        self._programs: dict[str, Program | Guest | None] = {}  # by what they were asked for as
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
            if key not in _KEYS:
                self.wrong(place, _unknown(key, tuple(_KEYS)))
            elif not _KEYS[key][0](value):
                self.wrong(place, key, f"{value!r} is not {_KEYS[key][1]}")
        return len(self._lines) == before

    def add(self, job: dict[str, Any], place: str) -> None:
        """Add the proofs that one job asks for."""
        options = _DEFAULTS | self._defaults | job
        if missing := [key for key in ("program", "output") if key not in options]:
            return self.wrong(place, missing[0], f"missing; give {_KEYS[missing[0]][1]}")
        program = self._program(options["program"], place)
        if program is None:
            return None
        # What only guests have: as a default it concerns them alone.
        if not isinstance(program, Guest):
            if own := [key for key in _OF_GUESTS if key in job]:
                return self.wrong(place, own[0], f"only guests have that, and {program.name} is none")
            options = {key: value for key, value in options.items() if key not in _OF_GUESTS}
        if "pieces" in options and "window" in options:
            return self.wrong(place, "window", "it says how many pieces there are: leave out pieces")
        inputs: Sequence[Path | None] = self._inputs(options["input"]) if "input" in options else [None]
        if not inputs:
            self.wrong(place, "input", f"{self._folder / options['input']}: no such file")
        for data in inputs:
            values: dict[str, Any] = {"program": Path(options["program"]).stem, "number": len(self.entries) + 1}
            if data:
                values["input"] = data.stem
            key = "name"
            try:
                values["name"] = _filled(options.get(key, "{input}" if data else "{program}"), values)
                key = "output"
                output = self._folder / _filled(options[key], values)
            except ValueError as error:
                return self.wrong(place, key, str(error))
            self.entries.append((_entry(values["name"], program, data, output, options), place))
        return None

    def _program(self, asked: str, place: str) -> Program | Guest | None:
        """The program, which is opened once; None after telling why there is none."""
        if asked not in self._programs:
            self._programs[asked] = None
            try:
                program = open_program(asked if is_packaged(asked) else str(self._folder / asked))
                if isinstance(program, Guest) and isinstance(program.machine, Key):
                    raise ProgramError(f"{program.name}: a verifying key, which runs nothing; give the ELF file")
                if isinstance(program, Program):
                    program.statement()  # which runs its code
                self._programs[asked] = program
            except ProgramError as error:
                self.wrong(place, "program", str(error))
            except Exception as error:
                self.wrong(place, "program", f"{asked}: its tables cannot be described: {error!r}")
        return self._programs[asked]

    def _inputs(self, text: str) -> list[Path]:
        """The files that an input names, sorted."""
        if (self._folder / text).is_file():  # whatever its name holds
            return [self._folder / text]
        found = glob.glob(text, root_dir=self._folder, recursive=True)
        return [path for name in sorted(found) if (path := self._folder / name).is_file()]

    def check_outputs(self) -> None:
        """Every output is a file of its own, and nothing that is read."""
        files = [Path(entry.program.name) for entry, _ in self.entries]
        files += [entry.input for entry, _ in self.entries if entry.input]
        read, written = {file.resolve() for file in files}, dict[Path, str]()
        for entry, place in self.entries:
            path = entry.output.resolve()
            if path in read:
                self.wrong(place, "output", f"{entry.output} is read: write elsewhere")
            elif written.setdefault(path, place) != place:
                self.wrong(place, "output", f"{entry.output} is also that of {written[path]}")
        outputs = Counter((entry.output.resolve(), place) for entry, place in self.entries)
        for (path, place), number in outputs.items():
            if number > 1:
                self.wrong(place, "output", f"{path} for {number} inputs: put {{input}} or {{number}} into it")

    def make_folders(self) -> None:
        """Make those of the outputs, which can be written then."""
        for entry, place in self.entries:
            try:
                make_folder(entry.output.parent)
                check_writable(entry.output)
            except FileError as error:
                self.wrong(place, "output", str(error))


def _entry(name: str, program: Program | Guest, data: Path | None, output: Path, options: Mapping[str, Any]) -> Entry:
    return Entry(
        name,
        program,
        data,
        output,
        security=options["security"],
        rate=options.get("rate"),
        proximity=options["proximity"],
        pieces=options.get("pieces"),
        window=options.get("window"),
        exit_code=options.get("exit_code", 0),
        commit_input=options.get("commit_input", False),
        limits=limits_of(options.get("max_cycles"), options.get("max_memory")),
    )


def _filled(text: str, values: Mapping[str, Any]) -> str:
    """``text`` with values for its {places}; raises ValueError for one that there is not."""
    for _, place, _, _ in string.Formatter().parse(text):
        if place is not None and place not in values:
            raise ValueError(f"{{{place}}} in {text!r}: there are {', '.join(f'{{{name}}}' for name in values)}")
    return text.format_map(values)


def _unknown(key: str, known: Sequence[str]) -> str:
    (nearest,) = difflib.get_close_matches(key, known, 1, 0)
    return f"{key}: no such key; did you mean {nearest}?"
