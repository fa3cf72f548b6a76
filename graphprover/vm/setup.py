"""Making a verifying key, by the prover's kernels: what `preprocessed_cap` computes for a verifier without them."""

from graphprover.device.cpu import CpuDevice
from graphprover.vm.key import Key
from graphprover.vm.machine import LOG_BLOWUPS, Machine


def make_key(machine: Machine) -> Key:
    """The key of a program: commits to its preprocessed columns at every rate."""
    device = CpuDevice()
    columns = [machine.air(part, 0, 0).preprocessed_trace() for part in machine.fixed]
    caps = {}
    for log_blowup in LOG_BLOWUPS:
        tree = device.merkle_tree(device.extend(columns, log_blowup), 0)
        (caps[log_blowup],) = device.cap(tree)
    program, data = machine.program(), machine.data()
    return Key(
        machine.entry,
        machine.zero_base,
        program.rows.bit_length() - 1,
        None if data is None else data.rows.bit_length() - 1,
        machine.program_hash,
        caps,
    )
