"""The debug channel: text that a guest shows to people while it runs. It is no part of the statement.

A guest shows text by the instruction DEBUG_PRINT. `Channel` passes the text of one run on; `to_stderr` is the usual
receiver.
"""

import io
import sys
from collections.abc import Callable
from contextlib import suppress

Debug = Callable[[bytes], None]  # receives the text

MOST_BYTES = 1 << 20  # of a call
MOST_TOTAL = 64 << 20  # bytes of a run
LAST_BYTES = 1 << 10  # of a run's text, shown with its fault
LEAST = 64  # bytes that a shorter call counts as, so that a run has at most 2^20 calls, which take half a minute

_NEWLINE = b"\n"


class Channel:
    """Passes the text of a run to a receiver, without the text that passes a limit.

    Whatever the guest asks for has no effect on its run. Notes about dropped text are lines of their own. Text that
    does not end with a newline gets one at the end of the run.

    Args:
        debug: The receiver.
        read: Returns a number of bytes of the guest's memory from an address on, or None if some do not exist.
    """

    def __init__(self, debug: Debug, read: Callable[[int, int], bytes | None]) -> None:
        self._debug, self._read = debug, read
        self._left = MOST_TOTAL
        self._in_line = False

    @property
    def open(self) -> bool:
        """Return whether the run may still show text."""
        return self._left > 0

    def show(self, address: int, size: int) -> None:
        """Pass on ``size`` bytes at ``address``, or a note why not."""
        text = None
        if size <= MOST_BYTES:
            text = self._read(address, size)
        if size > MOST_BYTES:
            self._note(f"{size:,} bytes at {address:#x} are dropped: a call shows at most {MOST_BYTES:,}")
        elif text is None:
            self._note(f"{size:,} bytes at {address:#x} are dropped: not all of them exist")
        elif len(text) <= self._left:
            self._pass(text)
        else:
            self._left = 0
        if not self.open:
            self._note(f"a run shows at most {MOST_TOTAL:,} bytes: the rest is dropped")

    def end(self) -> None:
        """End the last line."""
        if self._in_line:
            self._pass(_NEWLINE)

    def _note(self, text: str) -> None:
        self.end()
        self._pass(f"graphprover: debug text: {text}\n".encode())

    def _pass(self, text: bytes) -> None:
        self._left -= max(LEAST, len(text))
        if text:
            self._in_line = not text.endswith(_NEWLINE)
            self._debug(text)


def by_lines(name: str, debug: Debug) -> Debug:
    """Return a receiver that passes on whole lines, each behind a name, so that several runs may take turns."""
    rest = bytearray()
    mark = f"{name}: ".encode()

    def receive(text: bytes) -> None:
        rest.extend(text)
        if _NEWLINE in text:
            *lines, end = rest.split(_NEWLINE)
            rest[:] = end
            debug(b"".join(mark + line + _NEWLINE for line in lines))

    return receive


class HeldText:
    """A receiver that holds the text of a run until it is known whether anyone is to see it."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []

    def __call__(self, text: bytes) -> None:
        self._texts.append(text)

    def release(self, debug: Debug) -> None:
        """Pass the text on, call by call."""
        for text in self._texts:
            debug(text)


class LastText:
    """A receiver that retains the end of the text of a run, for the message of its fault."""

    def __init__(self) -> None:
        self._text = b""

    def __call__(self, text: bytes) -> None:
        self._text = (self._text + text[-LAST_BYTES:])[-LAST_BYTES:]

    def shown(self) -> str:
        """Return the text in quotes, with escapes for all that is not printable; empty without text."""
        text = self._text.decode(errors="replace").strip()
        return repr(text) if text else ""


def to_stderr(text: bytes) -> None:
    """Write text to the standard error of this process at once; a stream that is closed takes nothing."""
    stream = sys.stderr
    with suppress(OSError, ValueError):
        # Bytes pass unchanged, except through streams for text only: the streams of progress bars and notebooks.
        if isinstance(stream, io.TextIOWrapper):
            stream.flush()
            stream.buffer.write(text)
        elif stream is not None:
            stream.write(text.decode(errors="replace"))
        if stream is not None:
            stream.flush()
