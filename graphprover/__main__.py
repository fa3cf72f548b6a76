"""The command line as a process: ``python -m graphprover``, and what is installed as ``graphprover``."""

import signal
import sys
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143  # exit codes: 128 and the signal's number


class Terminated(BaseException):
    """SIGTERM, as an exception, so that whoever has a temporary file removes it."""


def main() -> int:
    """Run the command of this process; returns its exit code. A signal ends it with one line on stderr."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        from graphprover import cli  # half a second, in which the user may think better of it

        return cli.main()
    except KeyboardInterrupt:
        print("\ngraphprover: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Terminated:
        print("graphprover: terminated", file=sys.stderr)
        return TERMINATED


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    sys.exit(main())
