"""The table `machine`: the run of the verifier's program, the rows that a proof opens, the nodes over them, and memory.

A row is of one kind or of none. The steps of the run come first, and then segments and nodes in any order. columns.py
says which modules have the rules of each kind.
"""

from functools import reduce
from operator import add

from graphprover.air import Air, TableBuilder
from graphprover.recursion.tables.buses import MEMORY
from graphprover.recursion.tables.columns import KINDS, NUMBERS, SPECS
from graphprover.recursion.tables.nodes import define_nodes, node_messages
from graphprover.recursion.tables.segments import define_segments, lookups_of_words, segment_messages
from graphprover.recursion.tables.slots import provide, send
from graphprover.recursion.tables.steps import MOST_LOOKUPS, define_steps, lookups_of_operands, step_messages


class RecursionMachine(Air):
    """The rows of one run, of its segments and nodes, in this order; then rows of no kind."""

    name = "machine"
    columns = SPECS

    def define(self, t: TableBuilder) -> None:
        self._kinds(t)
        define_steps(t)
        define_segments(t)
        define_nodes(t)
        self._memory(t)
        for cell, address, of_step, of_words in zip(
            t.cell, t.at, lookups_of_operands(t), lookups_of_words(t), strict=True
        ):
            t.lookup(MEMORY, [address, *cell], of_step + of_words, weight=MOST_LOOKUPS)
        of = [messages(t) for messages in (step_messages, segment_messages, node_messages)]
        send(t, [said for slots in of for said in slots.answers])
        send(t, [said for slots in of for said in slots.asks])
        provide(t, [said for slots in of for said in slots.first], t.asked[0])
        provide(t, [said for slots in of for said in slots.second], t.asked[1])

    @staticmethod
    def _kinds(t: TableBuilder) -> None:
        kinds = [flag for name in KINDS for flag in (t[name] if name == "quarter" else (t[name],))]
        for flag in (*kinds, *t.flag):
            t.boolean(flag, "a flag")
        t.boolean(reduce(add, kinds), "a row is of one kind or of none")

    @staticmethod
    def _memory(t: TableBuilder) -> None:
        """Write-once memory of extension elements: a row has the cell at the row's number, so each address has one."""
        t.first_row(t.address, "addresses of memory begin with 0")
        t.transition(t.next.address - t.address - 1, "addresses of memory follow each other")
        t.provide(MEMORY, [t.address, *t.value], t.looked_up)


ADDRESS, VALUE, LOOKED_UP = NUMBERS.address, NUMBERS.value[0], NUMBERS.looked_up
