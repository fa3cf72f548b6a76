"""Tables side by side as one table: it has the columns of all of them, and each keeps its constraints and messages."""

from collections.abc import Mapping, Sequence

from graphprover.air.bus import Bus
from graphprover.air.description import AirDescription
from graphprover.air.expression import ADD, MAIN, MUL, NEG, PREPROCESSED, PUBLIC, SUB, Dag
from graphprover.air.lookups import Interaction, Message


def side_by_side(
    name: str, parts: Sequence[AirDescription], bus: Bus, before: Mapping[Bus, Sequence[int]]
) -> AirDescription:
    """Return the description of a table whose rows have a row of each part, with all messages on one bus.

    Args:
        name: Its name.
        parts: The parts, in the order of their columns. The name of a column begins with the name of its part.
        bus: The bus.
        before: For each other bus of the parts, the elements that its messages get before their own. They must tell
            messages of different buses apart.
    """
    dag, constraints, labels = Dag(name), list[int](), list[str]()
    locals_, globals_ = list[Interaction](), list[Interaction]()
    offsets = dict.fromkeys((MAIN, PREPROCESSED, PUBLIC), 0)
    for part in parts:
        nodes = list[int]()
        for op, a, b in part.nodes:
            if op in (ADD, SUB, MUL):
                a, b = nodes[a], nodes[b]
            elif op == NEG:
                a = nodes[a]
            nodes.append(dag.node(op, a + offsets.get(op, 0), b).index)

        constraints += [nodes[i] for i in part.constraints]
        labels += part.constraint_labels
        locals_ += [_moved(of, nodes, None, ()) for of in part.locals]
        for of in part.globals:
            assert of.bus is not None, "it is no local lookup"
            first = [dag.index_of(element) for element in before.get(Bus(of.bus), ())]
            globals_.append(_moved(of, nodes, bus.name, first))
        offsets[MAIN] += part.main_width
        offsets[PREPROCESSED] += part.preprocessed_width
        offsets[PUBLIC] += part.num_public_values

    def names(attribute: str) -> tuple[str, ...]:
        return tuple(f"{part.name}_{of}" for part in parts for of in getattr(part, attribute))

    return AirDescription(
        name,
        offsets[MAIN],
        offsets[PREPROCESSED],
        offsets[PUBLIC],
        names("main_names"),
        names("preprocessed_names"),
        names("public_names"),
        tuple(dag.nodes),
        tuple(constraints),
        tuple(labels),
        tuple(locals_),
        tuple(globals_),
    )


def _moved(of: Interaction, nodes: Sequence[int], bus: str | None, first: Sequence[int]) -> Interaction:
    """Return an interaction of a part by the nodes of the whole table, with these elements before its own."""
    tuples = [Message((*first, *(nodes[i] for i in t.fields)), nodes[t.multiplicity], t.weight) for t in of.tuples]
    return Interaction(bus, tuple(tuples), of.label)
