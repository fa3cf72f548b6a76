"""The process of the command line: ``python -m graphprover``, and the installed command ``graphprover``."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

# Import nothing else before `main` handles signals: Ctrl-C during an import would print a traceback.

INTERRUPTED, TERMINATED = 130, 143  # exit codes: 128 + the signal's number

# Objects between garbage collections. Most objects of a command live until its end, and Python's default of 700 costs a
# short command 6 % of its time, 10,000 cost 4 %.
_COLLECT_AFTER = 100_000

# NumPy's BLAS starts a thread for each core when it is imported, at a tenth of a second of a short command, and
# `protocol.arrays` uses none of them.
_BLAS_THREADS = "OPENBLAS_NUM_THREADS", "1"

_SIGNALS = {signal.SIGINT: (INTERRUPTED, "interrupted"), signal.SIGTERM: (TERMINATED, "terminated")}

# Descriptors in place of closed standard streams, so that no other file gets their numbers: reading from stdin and
# writing to stdout fail, and text for stderr is lost.
_STREAMS = ("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)

_endings: list[Callable[[str], str]] = []  # cleans up before the process ends, and may extend its message


def main(*, served: bool = False) -> int:
    """Run the command of this process and return its exit code. A signal ends it with one line on stderr.

    Args:
        served: Whether the command server has forked this process for the command, which it must not ask again.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # not if the parent ignores it
            signal.signal(number, _leave)
    _fill_streams()
    import gc

    from graphprover import __version__

    gc.set_threshold(_COLLECT_AFTER)
    os.environ.setdefault(*_BLAS_THREADS)
    from graphprover.runtime.files import remove_unfinished
    from graphprover.runtime.signals import make_calls, pending_compilations, signal_message

    def clean_up(ending: str) -> str:
        """Remove unfinished files, make the calls, and return the message with the last words of the command."""
        remove_unfinished()
        message = signal_message(ending)  # before the calls, which take time
        make_calls()
        return message

    _endings.append(clean_up)
    if not served and sys.argv[1:2] == ["prove"]:
        from graphprover.runtime import forked

        if forked.has_server(sys.argv[1:]) and (code := forked.run(sys.argv[1:], __version__)) is not None:
            return code
    from graphprover.cli import main as cli
    from graphprover.runtime.errors import DEBUG

    if DEBUG in os.environ:
        import logging  # here, because a short command takes 1 % of its time for it

        logging.basicConfig(format="%(relativeCreated)7.0f ms  %(name)s: %(message)s")
        logging.getLogger("graphprover").setLevel(logging.DEBUG)
    code = cli.main()
    if words := pending_compilations():
        print(f"graphprover: {words}", file=sys.stderr)
    gc.freeze()  # else the interpreter visits all objects as it ends, which takes a tenth of a short command
    return code


def _fill_streams() -> None:
    """Replace the standard streams that are closed: Python has None for them, which `print` takes for stdout."""
    for name, mode, access in _STREAMS:
        if getattr(sys, name) is None:
            number = os.open(os.devnull, access)  # the lowest free one, which is the stream's
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: an exception could be caught by any code that runs now, and threads would continue."""
    code, ending = _SIGNALS[signal.Signals(number)]
    for clean_up in _endings:
        ending = clean_up(ending)
    show_cursor = "\x1b[?25h" if os.isatty(2) else ""  # a progress bar hides it
    os.write(2, f"{show_cursor}\ngraphprover: {ending}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
