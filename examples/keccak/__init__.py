"""Statement that a file of a stated length has a stated Keccak-256 (with Keccak's original padding).

``sponge`` pads and absorbs the message. Over a bus it asks for permutations: ``keccak_planes`` splits a state into sums
of bits and joins the answer, ``keccak_rounds`` computes a round a row, and both look up functions of such sums in
``keccak_digits``. These three are tables of the RV64IM machine. ``nibbles`` proves xors and ranges of 4-bit numbers.
"""

import numpy as np

from graphprover.air import Air
from graphprover.examples.keccak import nibbles, sponge
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak import planes as keccak_planes
from graphprover.vm.accelerators.keccak import rounds as keccak_rounds
from graphprover.vm.accelerators.keccak import wide_traces as keccak_traces
from graphprover.vm.accelerators.keccak.digits import KeccakDigits
from graphprover.vm.accelerators.keccak.planes import KeccakPlanes
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds

DEFAULT_MESSAGE = b"graphprover"


def tables() -> list[Air]:
    """Return the tables of the statement."""
    return [sponge.Sponge(), KeccakRounds(), KeccakPlanes(), KeccakDigits(), nibbles.Nibbles()]


def prove_inputs(data: bytes | None) -> list[tuple[np.ndarray, list[int]]]:
    """Return main traces and public values for a message (default: `DEFAULT_MESSAGE`)."""
    message = DEFAULT_MESSAGE if data is None else data
    return absorb(sponge.padded(message), len(message))


def absorb(blocks: np.ndarray, length: int) -> list[tuple[np.ndarray, list[int]]]:
    """Return main traces and public values for padded blocks, uint64 (blocks, 17), and a message length in bytes."""
    states, calls = [np.zeros(keccak_f.WORDS, dtype=np.uint64)], []
    for block in blocks:
        mixed = states[-1].copy()
        mixed[: sponge.RATE_LANES] ^= block
        calls.append(mixed)
        states.append(keccak_f.rounds(mixed[:, None])[-1, :, 0])
    absorbed = sponge.trace(blocks, length, np.array(states))
    columns = sponge.Sponge().view(absorbed)
    digest = keccak_f.stacked_limbs(states[-1][:4, None]).ravel().tolist()
    numbers, called = range(len(calls)), keccak_traces.blocks_of(np.array(calls).T)
    rows, planes = (1 << (rows * len(calls) - 1).bit_length() for rows in (keccak_rounds.ROWS, keccak_planes.ROWS))
    return [
        (absorbed, [*digest, length]),
        (keccak_traces.rounds_trace(numbers, called, rows), []),
        (keccak_traces.planes_trace(numbers, called, planes), []),
        (keccak_traces.digits_trace(called), []),
        (nibbles.trace(columns.message, columns.old), []),
    ]


def describe(public_values: list[list[int]]) -> dict[str, str]:
    """Return the claim of a proof with these public values."""
    *words, length = public_values[0]
    digest = b"".join(word.to_bytes(4, "little") for word in words)
    return {"digest": digest.hex(), "length": str(length)}
