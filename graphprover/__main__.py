"""The command line as a process: ``python -m graphprover``, and what is installed as ``graphprover``."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

# Nothing else is imported before `main` handles signals: a Ctrl-C in the import of another module is a traceback.

INTERRUPTED, TERMINATED = 130, 143  # exit codes: 128 and the signal's number

_MADE_BEFORE_A_LOOK = 10_000  # objects: a command keeps most of what it makes, and Python's 700 take 5 % of a short one

_SIGNALS = {signal.SIGINT: (INTERRUPTED, "interrupted"), signal.SIGTERM: (TERMINATED, "terminated")}

_endings: list[Callable[[str], str]] = []  # makes the line of an ending; empty while there is nothing to tidy


def main() -> int:
    """Run the command of this process; returns its exit code. A signal ends it with one line on stderr."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # whoever ignores it still does
            signal.signal(number, _leave)
    import gc

    gc.set_threshold(_MADE_BEFORE_A_LOOK)
    from graphprover.runtime.files import remove_unfinished
    from graphprover.runtime.signals import pending_compilations, signal_message

    def told(ending: str) -> str:
        """Leave no half of a file, and add the last words."""
        remove_unfinished()
        return signal_message(ending)

    _endings.append(told)
    import logging

    from graphprover.cli import args  # half a second, in which the user may think better of it
    from graphprover.cli import main as cli

    if args.DEBUG in os.environ:
        logging.basicConfig(format="%(relativeCreated)7.0f ms  %(name)s: %(message)s")
        logging.getLogger("graphprover").setLevel(logging.DEBUG)
    code = cli.main()
    if os.isatty(2) and (words := pending_compilations()):
        print(f"graphprover: {words}", file=sys.stderr)
    return code


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process here and now: an exception could be lost in whatever is imported or called, and threads go on."""
    code, ending = _SIGNALS[signal.Signals(number)]
    for told in _endings:
        ending = told(ending)
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""  # which a progress bar hides
    os.write(2, f"{show_cursor}\ngraphprover: {ending}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
