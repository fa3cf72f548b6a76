"""Facts about a program that the profiles of all its runs share."""

from dataclasses import dataclass

import numpy as np

from graphprover.runtime.once import once
from graphprover.vm.profile.calls import LINKS
from graphprover.vm.profile.counters import in_place_chips, steps_of
from graphprover.vm.program.elf import Image
from graphprover.vm.program.isa import Instructions, Op
from graphprover.vm.program.symbols import functions
from graphprover.vm.statement.statement import Machine


@dataclass(frozen=True, eq=False)
class Facts:
    """A program's functions and entries, as counters take them; the arrays must not be written to."""

    names: tuple[str, ...]  # of the functions, by rising address
    function: np.ndarray  # int64 (instructions + 1,), see `calls.Calls`
    first: np.ndarray  # int64 (functions + 1,), see `calls.Calls`
    slot: np.ndarray  # int64 (functions + 1,), see `calls.Calls`
    steps: np.ndarray  # int64, see `counters.steps_of`
    in_place: np.ndarray  # bool (entries,), whether the entry's chip is in place


@once
def facts_of(machine: Machine) -> Facts:
    """Return the facts about a program."""
    return _make_facts(machine)


def _make_facts(machine: Machine) -> Facts:
    image, code, program = machine.image, machine.instructions, machine.program_entries
    parts = functions(image.file, image.code_base, image.code_end, _called(image, code))
    begins = np.array([(part.start - image.code_base) // 4 for part in parts] + [len(code.op) + 1], dtype=np.int64)
    return Facts(
        tuple(part.name for part in parts),
        np.repeat(np.arange(len(parts)), np.diff(begins)),
        begins,
        program.first[np.minimum(begins, len(code.op))],
        steps_of(code, program),
        in_place_chips()[machine.chip_of_entry],
    )


def _called(image: Image, code: Instructions) -> np.ndarray:
    """Return the target addresses of calls, alone or with the auipc before them: uint64."""
    links = np.isin(code.rd, LINKS)
    at = image.code_base + 4 * np.arange(len(code.op), dtype=np.int64)
    (near,) = (links & (code.op == Op.JAL)).nonzero()
    (first,) = (links[1:] & (code.op[1:] == Op.JALR) & (code.op[:-1] == Op.AUIPC)).nonzero()
    first = first[code.rd[first] == code.rs1[first + 1]]
    found = np.concatenate([at[near] + code.imm[near], at[first] + code.imm[first] + code.imm[first + 1]])
    return found[(found >= 0) & (found % 4 == 0)].astype(np.uint64)
