"""The sponge of Keccak-256: pads a message, absorbs it and squeezes its digest, one lane of 8 bytes per row.

A block takes 17 rows. Its registers hold the state that the block is absorbed into. The 17 lanes of the rate form a
queue: each row removes one lane and appends that lane xor the message, so that after the last row the queue holds the
state to permute. The 8 lanes of the capacity are constant. The last row of a block sends the state to the permutation,
and the next row receives the result.
"""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.air.linear import linear
from graphprover.examples.keccak.nibbles import XOR
from graphprover.vm.accelerators.keccak.permutation import stacked_limbs
from graphprover.vm.accelerators.keccak.planes import MESSAGES, PERMUTATION, PLANES, PlaneTag, plane_limbs
from graphprover.vm.tables.step import shared

RATE_LANES = 17
RATE = 8 * RATE_LANES  # bytes in a block


class Sponge(Air):
    """The sponge table: at least one active block, then at least one inactive row."""

    columns = (
        "lane[17]",  # 1 in the row of that lane
        "active",
        "block",  # index of the block
        "answered",  # 1 on the first row of a block that starts from a result of the permutation
        "ended",  # 1 if the message ended in a previous row
        "length",  # bytes of the message in the previous rows
        "pad[8]",  # 1 for a byte of padding
        "message[16]",  # nibbles of the padded message, low nibble of each byte first
        "old[16]",  # nibbles of the lane before absorption
        "new[16]",  # nibbles of the lane after absorption: the xor
        "rate[17][2]",
        "capacity[8][2]",
    )
    public_values = ("digest[8]", "length")  # the digest in 32-bit little-endian words

    def define(self, t: TableBuilder) -> None:
        for i, flag in enumerate(t.lane):
            t.first_row(flag - (1 if i == 0 else 0))
            t.transition(t.next.lane[(i + 1) % RATE_LANES] - flag)
        final = t.lane[-1]
        ongoing = 1 - final

        t.every_row(shared(t.active, MESSAGES), "active or not, of a degree by which messages share a column")
        t.first_row(t.active - 1)
        t.last_row(t.active)
        t.transition((1 - t.active) * t.next.active)
        t.transition(ongoing * (t.next.active - t.active))
        t.first_row(t.block)
        t.transition(t.next.block - t.block - final)
        t.first_row(t.answered)
        t.transition(t.next.answered - final * t.active)

        self._padding(t)
        self._registers(t)

    def _padding(self, t: TableBuilder) -> None:
        """Constrain the padding: it starts once with 0x01 and ends its block, the last active one, with 0x80."""
        final = t.lane[-1]
        t.first_row(t.ended)
        t.transition(t.next.ended - t.pad[-1])
        before = t.ended
        for j, pad in enumerate(t.pad):
            t.boolean(pad)
            t.every_row(before * (1 - pad))
            byte = t.message[2 * j] + 16 * t.message[2 * j + 1]
            value = pad - before
            if j == 7:
                value = value + 128 * (final * t.active)
            t.every_row(pad * (byte - value))
            before = pad
        t.transition(final * t.active * (t.pad[-1] + t.next.active - 1))

        t.first_row(t.length)
        counted = t.length + 8 - sum(t.pad)
        t.transition(t.next.length - counted)
        t.last_row(counted - t.public.length)

    def _registers(self, t: TableBuilder) -> None:
        final = t.lane[-1]
        ongoing = 1 - final
        for nibbles in zip(t.message, t.old, t.new, strict=True):
            t.lookup(XOR, nibbles)

        for limb in range(2):
            t.every_row(_word(t.old, limb) - t.rate[0][limb])
        new = [_word(t.new, limb) for limb in range(2)]
        queue = [*t.rate[1:], new]
        for following, lane in zip(t.next.rate, queue, strict=True):
            for limb in range(2):
                t.transition(ongoing * (following[limb] - lane[limb]))
        for following, lane in zip(t.next.capacity, t.capacity, strict=True):
            for limb in range(2):
                t.transition(ongoing * (following[limb] - lane[limb]))

        for lane in (*t.rate, *t.capacity):
            for limb in range(2):
                t.first_row(lane[limb])
        for word, value in enumerate(t.public.digest):
            t.every_row(t.answered * (1 - t.active) * (t.rate[word // 2][word % 2] - value))

        called, answered = (*queue, *t.capacity), (*t.rate, *t.capacity)
        for plane in range(PLANES):
            words = slice(5 * plane, 5 * plane + 5)
            t.send(PERMUTATION, plane_limbs(PlaneTag.ASK, t.block, plane, called[words]), final * t.active, weight=1)
            answer = plane_limbs(PlaneTag.ANSWER, t.block - 1, plane, answered[words])
            t.receive(PERMUTATION, answer, t.answered, weight=1)


def _word(nibbles, limb: int):  # type: ignore[no-untyped-def]
    """Return a 32-bit limb of 16 nibbles."""
    return linear((16**i, nibble) for i, nibble in enumerate(nibbles[8 * limb : 8 * limb + 8]))


def padded(message: bytes) -> np.ndarray:
    """Return the message with Keccak's original padding 10*1 as lanes, uint64 (blocks, 17)."""
    padding = bytearray(RATE - len(message) % RATE)
    padding[0] |= 0x01
    padding[-1] |= 0x80
    return np.frombuffer(message + bytes(padding), dtype="<u8").reshape(-1, RATE_LANES)


def trace(message: np.ndarray, length: int, states: np.ndarray) -> np.ndarray:
    """Return the main trace that absorbs padded blocks.

    Args:
        message: padded blocks, uint64 (blocks, 17).
        length: bytes of the message.
        states: states before each block and after the last one, uint64 (blocks + 1, 25).

    Returns:
        uint64 array (columns, rows).
    """
    active = len(message)
    rows = 1 << (RATE_LANES * active).bit_length()
    blocks = -(-rows // RATE_LANES)
    row = np.arange(rows)
    block, lane = np.divmod(row, RATE_LANES)

    absorbed = np.zeros((blocks, RATE_LANES), dtype=np.uint64)
    absorbed[:active] = message
    old = np.zeros((blocks, 25), dtype=np.uint64)
    old[: active + 1] = states
    new = old[:, :RATE_LANES] ^ absorbed
    queue = np.concatenate([old[:, :RATE_LANES], new], axis=1)

    main, columns = Sponge().zeros(rows)
    columns.lane[lane, row] = 1
    columns.active[: RATE_LANES * active] = 1
    columns.block[:] = block
    columns.answered[RATE_LANES : RATE_LANES * active + 1 : RATE_LANES] = 1
    columns.pad[:] = 8 * row + np.arange(8)[:, None] >= length
    columns.ended[1:] = columns.pad[-1, :-1]
    columns.length[:] = np.minimum(8 * row, length)
    for nibbles, lanes in (
        (columns.message, absorbed[block, lane]),
        (columns.old, old[block, lane]),
        (columns.new, new[block, lane]),
    ):
        np.right_shift(lanes, np.arange(0, 64, 4, dtype=np.uint64)[:, None], out=nibbles)
        nibbles &= np.uint64(15)
    for i in range(RATE_LANES):
        columns.rate[i] = stacked_limbs(queue[block, lane + i])
    columns.capacity[:] = stacked_limbs(old[block, RATE_LANES:].T)
    return main
