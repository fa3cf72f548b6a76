"""Proves that a file of a stated length has a stated Keccak-256 (with Keccak's original padding).

Three tables: ``sponge`` pads and absorbs, and calls over a bus on ``keccak_f``, a permutation every 24 rows;
``nibbles`` gives the xor of 4-bit numbers, and with it every range.
"""

import numpy as np

from graphprover.air import Air
from graphprover.examples.keccak import nibbles, permutation, sponge

DEFAULT_MESSAGE = b"graphprover"


def tables() -> list[Air]:
    """The statement, without its public values."""
    return [sponge.Sponge(), permutation.KeccakF(), nibbles.Nibbles()]


def prove_inputs(data: bytes | None) -> list[tuple[np.ndarray, list[int]]]:
    """Main traces and public values for a message."""
    message = DEFAULT_MESSAGE if data is None else data
    return absorb(sponge.padded(message), len(message))


def absorb(blocks: np.ndarray, length: int) -> list[tuple[np.ndarray, list[int]]]:
    """Main traces and public values for padded blocks, uint64 of shape (blocks, 17), and the length of the message."""
    state = [0] * permutation.LANES
    states, calls = [state], []
    for block in blocks.tolist():
        mixed = [a ^ b for a, b in zip(state, block, strict=False)] + state[sponge.RATE_LANES :]
        calls.append(permutation.rounds(mixed))
        state = calls[-1][-1]
        states.append(state)
    absorbed = sponge.trace(blocks, length, np.array(states, dtype=np.uint64))
    columns = sponge.Sponge().view(absorbed)
    digest = permutation.limbs(np.array(state[:4], dtype=np.uint64)[:, None]).ravel().tolist()
    return [
        (absorbed, [*digest, length]),
        (permutation.trace(calls), []),
        (nibbles.trace(columns.message, columns.old), []),
    ]


def describe(public_values: list[list[int]]) -> dict[str, str]:
    """What a proof with these public values says."""
    *words, length = public_values[0]
    digest = b"".join(word.to_bytes(4, "little") for word in words)
    return {"digest": digest.hex(), "length": str(length)}
