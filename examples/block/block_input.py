"""The form of the guest's input: a chain's number, its rules, a block, and lists of nodes, codes and headers."""

import struct
from dataclasses import dataclass

_WORD = struct.Struct("<Q")


@dataclass(frozen=True)
class BlockInput:
    """A block and the witness of the state before it.

    Attributes:
        chain: Number of the chain.
        block: The block in RLP.
        nodes: Nodes of the tries, in any order.
        codes: Codes of contracts, in any order.
        headers: Headers before the block in RLP, the parent last.
        rules: Forks and blob parameters (docs/block.md), or nothing for a chain that the guest knows.
    """

    chain: int
    block: bytes
    nodes: tuple[bytes, ...]
    codes: tuple[bytes, ...]
    headers: tuple[bytes, ...]
    rules: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the guest's input."""
        parts = [_WORD.pack(self.chain), _string(self.rules), _string(self.block)]
        for strings in (self.nodes, self.codes, self.headers):
            parts.append(_WORD.pack(len(strings)))
            parts.extend(map(_string, strings))
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BlockInput":
        """Take a guest's input apart.

        Raises:
            ValueError: The data have another form.
        """
        at = 0

        def word() -> int:
            nonlocal at
            if at + 8 > len(data):
                raise ValueError("not an input of the block guest: it ends too early")
            at += 8
            return _WORD.unpack_from(data, at - 8)[0]

        def string() -> bytes:
            nonlocal at
            size = word()
            if at + size > len(data):
                raise ValueError("not an input of the block guest: it ends too early")
            at += (size + 7) // 8 * 8
            return data[at - (size + 7) // 8 * 8 :][:size]

        chain, rules, block = word(), string(), string()
        nodes, codes, headers = (tuple(string() for _ in range(word())) for _ in range(3))
        if at != len(data):
            raise ValueError("not an input of the block guest: there are bytes behind its end")
        return cls(chain, block, nodes, codes, headers, rules)


def _string(data: bytes) -> bytes:
    return _WORD.pack(len(data)) + data + bytes(-len(data) % 8)
