"""The guest's output."""

import struct
from dataclasses import dataclass

from Crypto.Hash import keccak

from graphprover.examples.block import rlp
from graphprover.examples.block.block_input import BlockInput

_FORM = struct.Struct("<32s32sQQ32s")
_STATE_ROOT, _GAS_USED = 3, 10  # places in a header


@dataclass(frozen=True)
class Valid:
    """The guest's statement about a valid block.

    Attributes:
        block: Hash of the block.
        state_root: Root of the state after the block.
        gas_used: Gas that the transactions used.
        chain: Number of the chain.
        rules: Keccak-256 of the rules in the input; zeros if the guest's own rules for the chain applied.
    """

    block: bytes
    state_root: bytes
    gas_used: int
    chain: int
    rules: bytes

    def to_bytes(self) -> bytes:
        """Return the guest's output."""
        return _FORM.pack(self.block, self.state_root, self.gas_used, self.chain, self.rules)

    @classmethod
    def from_bytes(cls, output: bytes) -> "Valid":
        """Read the guest's output.

        Raises:
            ValueError: The output has another size, for instance because it is the reason to refuse a block.
        """
        if len(output) != _FORM.size:
            raise ValueError(f"the output has {len(output)} bytes, not {_FORM.size}: it states no valid block")
        return cls(*_FORM.unpack(output))


def expected(block_input: BlockInput) -> Valid:
    """Return the guest's statement if the block is valid. Nothing is checked: all is read from the header.

    Raises:
        ValueError: The block is no list of RLP with a header.
    """
    header = rlp.items(block_input.block)[0]
    fields = rlp.items(header)
    if len(fields) <= _GAS_USED:
        raise ValueError(f"a header has more than {len(fields)} fields")
    gas_used = int.from_bytes(rlp.string(fields[_GAS_USED]), "big")
    rules = _keccak(block_input.rules) if block_input.rules else bytes(32)
    return Valid(_keccak(header), rlp.string(fields[_STATE_ROOT]), gas_used, block_input.chain, rules)


def _keccak(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()
