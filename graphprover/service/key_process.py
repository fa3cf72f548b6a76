"""The process that makes one verifying key for the service: ``python -m`` of this module with the ELF file, the file of
the key, and the most bytes of memory.

It ends with the exit code NO_MEMORY if they do not suffice.
"""

import sys
from pathlib import Path

NO_MEMORY = 5
OWN_BYTES = 512 << 20  # of the interpreter with its libraries
THREAD_BYTES = 32 << 20  # of the stack and the heap of a thread


def main(elf: str, key: str, most: str) -> int:
    """Make a key, and return the exit code."""
    from graphprover.device.host_processor import available_threads

    _limit(int(most) + OWN_BYTES + THREAD_BYTES * available_threads())
    try:
        from graphprover.vm.program.elf import load_elf
        from graphprover.vm.statement.setup import make_key
        from graphprover.vm.statement.statement import Machine

        Path(key).write_bytes(make_key(Machine(load_elf(Path(elf).read_bytes()))).to_bytes())
    except MemoryError:
        return NO_MEMORY
    return 0


def _limit(most: int) -> None:
    """Let allocations beyond this number of bytes fail."""
    try:
        import resource  # POSIX only
    except ImportError:
        return
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
