"""The kernels of each hash by its name in a statement's parameters."""

from types import MappingProxyType

from graphprover.kernels.cpu import blake3, keccak

KERNELS = MappingProxyType({"keccak": keccak, "blake3": blake3})
