"""Exit codes of the command line, and its errors as lines on stderr."""

OK, FAILED, USAGE = 0, 1, 2  # `graphprover.__main__` defines two more for signals

DEBUG = "GRAPHPROVER_DEBUG"  # environment variable: print tracebacks, and log every task to stderr


class UsageError(Exception):
    """Invalid arguments or input files. Each argument of the exception is one line of the error."""


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(line.strip() for line in text.splitlines())
