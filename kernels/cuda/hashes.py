"""The kernels of each hash by its name in a statement's parameters; the twin of ``graphprover.kernels.cpu.hashes``."""

from types import MappingProxyType

from graphprover.kernels.cuda import blake3, keccak

KERNELS = MappingProxyType({"keccak": keccak, "blake3": blake3})
