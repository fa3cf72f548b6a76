"""The call of the permutation: Keccak-f[1600] of a state, in place."""

from typing import Any

from graphprover.vm.accelerators.host_call import Accelerator, HostCall, Operand
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.accelerators.keccak.planes import PERMUTATION, PLANES, PlaneTag, plane_limbs
from graphprover.vm.tables.clock import SLOT_MEMORY
from graphprover.vm.tables.halt import CALL
from graphprover.vm.tables.limbs import limbs
from graphprover.vm.tables.step import Executed, Lane, Step

KECCAK_F = 1024  # Keccak-f[1600] in place, on the 25 words at a0
HOST_CALL = HostCall(KECCAK_F, "keccak_call", (Operand(0, WORDS, SLOT_MEMORY),))


class KeccakCall(Step):
    """Keccak-f[1600] of the 25 words at a0. The cycle is the number of the permutation's call."""

    cells = (*CALL, "b_at", "b_t", "b_lo", "word_t[25]", "before[25][2]", "after[25][2]")

    def rule(self, c: Lane) -> None:
        c.read_a((KECCAK_F, 0))
        address, _ = c.read_b((c.b_lo, 0))
        for i in range(WORDS):
            c.access(address + 8 * i, c.word_t[i], SLOT_MEMORY, c.before[i], c.after[i])
        for plane in range(PLANES):
            words = slice(5 * plane, 5 * plane + 5)
            c.ask(PERMUTATION, plane_limbs(PlaneTag.ASK, c.clk, plane, c.before[words]))
            c.answer(PERMUTATION, plane_limbs(PlaneTag.ANSWER, c.clk, plane, c.after[words]))
        c.go()

    def fits(self, r: Executed) -> Any:
        return r.a == KECCAK_F

    def witness(self, r: Executed) -> dict[str, Any]:
        before, after = r.words("old"), r.words("new")
        return {
            "before": [limbs(word) for word in before],
            "after": [limbs(word) for word in after],
        }


PERMUTE = Accelerator((HOST_CALL,), KeccakCall, "keccak.cpu", permutes=True)
