"""Merkle Patricia tries of Ethereum in plain Python."""

from Crypto.Hash import keccak

from graphprover.examples.block import rlp

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")


def keccak256(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()


def trie(contents: dict[bytes, bytes]) -> tuple[bytes, list[bytes]]:
    """Return the root and the nodes of a trie whose keys are hashed already."""
    if not contents:
        return EMPTY_ROOT, []
    nodes: list[bytes] = []
    pairs = sorted(
        ([digit for byte in key for digit in (byte >> 4, byte & 15)], value) for key, value in contents.items()
    )
    root = rlp.encode(_node(pairs, 0, nodes))
    nodes.append(root)
    return keccak256(root), nodes


def _node(pairs: list[tuple[list[int], bytes]], depth: int, nodes: list[bytes]) -> list[rlp.Item]:
    """Return a node for pairs that agree in their first digits."""
    if len(pairs) == 1:
        key, value = pairs[0]
        return [_path(key[depth:], leaf=True), value]
    first, last = pairs[0][0], pairs[-1][0]
    end = depth
    while first[end] == last[end]:
        end += 1
    if end > depth:
        return [_path(first[depth:end], leaf=False), _refer(_node(pairs, end, nodes), nodes)]
    children: list[rlp.Item] = [b""] * 17
    for digit in range(16):
        below = [pair for pair in pairs if pair[0][depth] == digit]
        if below:
            children[digit] = _refer(_node(below, depth + 1, nodes), nodes)
    return children


def _refer(node: list[rlp.Item], nodes: list[bytes]) -> rlp.Item:
    encoded = rlp.encode(node)
    if len(encoded) < 32:
        return node
    nodes.append(encoded)
    return keccak256(encoded)


def _path(digits: list[int], leaf: bool) -> bytes:
    flag = 2 * leaf + len(digits) % 2
    padded = [flag, *digits] if len(digits) % 2 else [flag, 0, *digits]
    return bytes(high << 4 | low for high, low in zip(padded[::2], padded[1::2], strict=True))
