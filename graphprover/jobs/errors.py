"""Errors of programs and of this package as messages."""

import traceback
from pathlib import Path

from graphprover.runtime.errors import one_line

IMPORTED: dict[str, tuple[Path, str]] = {}  # by module of a program's path: that path, and its name in errors


def line_of(error: BaseException) -> str | None:
    """Find where in a program an error was raised, however deep the code that the program called.

    Args:
        error: The error, with its traceback.

    Returns:
        FILE:LINE of the innermost line of a program that was imported by its path; None if there is none.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__")).partition(".")[0]
        file = module in IMPORTED and _shown(module, frame.f_code.co_filename)
        found = f"{file}:{line}" if file else found
    if isinstance(error, SyntaxError):  # which is of a file that did not run
        files = (_shown(module, str(error.filename)) for module in IMPORTED)
        found = next((f"{file}:{error.lineno}" for file in files if file), found)
    return found


def _shown(module: str, file: str) -> str | None:
    """Return the name of a program's file in errors; None for a file of no program."""
    path, shown = IMPORTED[module]
    if not Path(file).is_relative_to(path):
        return None
    return str(Path(shown, Path(file).relative_to(path)))


def words_of(error: BaseException) -> str:
    """Return the message of an error, without its type unless there is nothing else.

    Args:
        error: The error.

    Returns:
        Its message, perhaps of several lines.
    """
    match error:
        case OSError(strerror=str(reason)):
            return reason if error.filename is None else f"{error.filename}: {reason}"
        case SyntaxError(msg=str(reason)):
            return reason
        case KeyError():
            return f"no key {error}"
        case MemoryError() if not error.args:
            return "out of memory"
    return str(error) or type(error).__name__


def message_of(error: BaseException) -> str:
    """Return an error as one line, with file and line of a user's program, and with the type of an unexpected error."""
    if line := line_of(error):
        return one_line(f"{line}: {words_of(error)}")
    ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    expected = ours or type(error) is ValueError or isinstance(error, OSError | ImportError | MemoryError)
    return one_line(words_of(error) if expected else f"{type(error).__name__}: {error}")
