"""Mutations of a proof: single bytes of its encoding, or single parts of its contents with a new encoding."""

import dataclasses
import random
import struct
from collections.abc import Iterator
from typing import Any

from graphprover.field import P
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import BatchProof, decode, encode


def mutations(rng: random.Random, payload: bytes, layout: Layout, count: int) -> Iterator[bytes]:
    """Yield ``count`` byte strings that differ from ``payload``."""
    proof = decode(payload, layout)
    while count:
        mutant = _spoil_bytes(rng, payload) if rng.random() < 0.4 else _spoil_contents(rng, proof)
        if mutant != payload:
            count -= 1
            yield mutant


def flipped(payload: bytes, count: int) -> Iterator[bytes]:
    """Yield the payload ``count`` times with one bit flipped, at positions spread over the payload."""
    for i in range(count):
        at = i * len(payload) // count
        yield payload[:at] + bytes([payload[at] ^ 1 << i % 8]) + payload[at + 1 :]


def _spoil_bytes(rng: random.Random, payload: bytes) -> bytes:
    at = rng.randrange(len(payload))
    kind = rng.choice(("flip", "set", "insert", "delete", "repeat", "cut", "extend", "long varint"))
    if kind == "flip":
        return payload[:at] + bytes([payload[at] ^ 1 << rng.randrange(8)]) + payload[at + 1 :]
    if kind == "set":
        return payload[:at] + rng.choice((b"\0", b"\1", b"\x7f", b"\x80", b"\xff")) + payload[at + 1 :]
    if kind == "insert":
        return payload[:at] + rng.randbytes(1) + payload[at:]
    if kind == "delete":
        return payload[:at] + payload[at + rng.choice((1, 8, 24, 32)) :]
    if kind == "repeat":
        return payload[: at + 32] + payload[at:]
    if kind == "cut":
        return payload[:at]
    if kind == "extend":
        return payload + rng.randbytes(rng.choice((1, 8)))
    # The first byte is the length of a cap, a varint, encoded here in more bytes than necessary.
    return bytes([payload[0] | 0x80, 0]) + payload[1:]


def _spoil_contents(rng: random.Random, proof: BatchProof) -> bytes:
    while True:
        try:
            return encode(_spoil(rng, proof))
        # A None, a word above 64 bits, or a row or element of another length has no encoding.
        except (AttributeError, OverflowError, TypeError, ValueError, struct.error):
            continue


def _spoil(rng: random.Random, part: Any) -> Any:
    """Return the part with one element of it changed."""
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        name = rng.choice(dataclasses.fields(part)).name
        return dataclasses.replace(part, **{name: _spoil(rng, getattr(part, name))})
    if rng.random() < 0.05:
        return None
    if isinstance(part, int):
        return rng.choice((0, 1, part + 1, part + P, (part + rng.randrange(1, P)) % P))
    if isinstance(part, bytes) and part:
        at = rng.randrange(len(part))
        kind = rng.choice(("inside", "inside", "inside", "drop", "repeat"))
        if kind == "inside":
            return part[:at] + bytes([part[at] ^ 1 << rng.randrange(8)]) + part[at + 1 :]
        # A word, an element of the extension or a digest.
        size = rng.choice((8, 24, 32))
        first = at // size * size
        return part[:first] + part[first + size :] if kind == "drop" else part[: first + size] + part[first:]
    if isinstance(part, tuple) and part:
        at = rng.randrange(len(part))
        kind = rng.choice(("inside", "inside", "inside", "drop", "repeat", "swap"))
        if kind == "inside":
            return (*part[:at], _spoil(rng, part[at]), *part[at + 1 :])
        if kind == "drop":
            return part[:at] + part[at + 1 :]
        if kind == "repeat":
            return part[: at + 1] + part[at:]
        other = rng.randrange(len(part))
        swapped = list(part)
        swapped[at], swapped[other] = part[other], part[at]
        return tuple(swapped)
    return part
