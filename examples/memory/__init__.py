"""A read-only memory by LogUp: the Scrabble score of a text.

Table ``memory`` holds the value of each letter; its contents are preprocessed, so the verifier knows them. Table
``reads`` reads one word for each byte of the text and sums the values. A bus binds every read to the contents.
"""

import numpy as np

from graphprover.air import Air, Bus, TableBuilder

MEMORY = Bus("memory")  # (address, value)

WORTH = {1: "aeioulnstr", 2: "dg", 3: "bcmp", 4: "fhvwy", 5: "k", 8: "jx", 10: "qz"}
DEFAULT_TEXT = b"The quick brown fox jumps over the lazy dog."


def contents() -> np.ndarray:
    """Return the 256 words of the memory: the value of each letter in either case, 0 for any other byte."""
    words = np.zeros(256, dtype=np.uint64)
    for worth, letters in WORTH.items():
        for letter in letters + letters.upper():
            words[ord(letter)] = worth
    return words


class Memory(Air):
    """The memory: one row for each word, with its address, value and number of reads."""

    preprocessed = ("address", "value")
    columns = ("count",)

    def preprocessed_trace(self) -> np.ndarray:
        return np.stack([np.arange(256, dtype=np.uint64), contents()])

    def define(self, t: TableBuilder) -> None:
        t.provide(MEMORY, [t.address, t.value], t.count)


class Reads(Air):
    """The reads: one in each row with ``on`` set; ``reads`` and ``worth`` are sums over the previous rows."""

    columns = ("on", "address", "value", "reads", "worth")
    public_values = ("reads", "worth")

    def define(self, t: TableBuilder) -> None:
        t.boolean(t.on)
        t.lookup(MEMORY, [t.address, t.value], t.on, weight=1)
        t.first_row(t.reads)
        t.first_row(t.worth)
        t.transition(t.next.reads - t.reads - t.on)
        t.transition(t.next.worth - t.worth - t.on * t.value)
        t.last_row(t.reads + t.on - t.public.reads)
        t.last_row(t.worth + t.on * t.value - t.public.worth)


def tables() -> list[Air]:
    """Return the tables of the statement."""
    return [Reads(), Memory()]


def prove_inputs(data: bytes | None) -> list[tuple[np.ndarray, list[int]]]:
    """Return main traces and public values for a text (default: `DEFAULT_TEXT`)."""
    text = np.frombuffer(DEFAULT_TEXT if data is None else data, dtype=np.uint8)
    values = contents()[text]
    reads, columns = Reads().zeros(1 << max(len(text) - 1, 0).bit_length())
    columns.on[: len(text)] = 1
    columns.address[: len(text)] = text
    columns.value[: len(text)] = values
    columns.reads[1:] = np.cumsum(columns.on)[:-1]
    columns.worth[1:] = np.cumsum(columns.value)[:-1]
    counts = np.bincount(text, minlength=256).astype(np.uint64)
    return [(reads, [len(text), int(values.sum())]), (counts[None], [])]


def describe(public_values: list[list[int]]) -> dict[str, str]:
    """Return the claim of a proof with these public values."""
    reads, worth = public_values[0]
    return {"bytes read": str(reads), "worth": str(worth)}
