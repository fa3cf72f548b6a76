"""Layout of LogUp columns against hand-computed cases, identity, and the checks over several tables."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.air import (
    Air,
    AirDescription,
    Bus,
    TableBuilder,
    check_bus_widths,
    check_multiplicity_bound,
    provided,
    sent,
)
from graphprover.air.expression import CONST, MAIN
from graphprover.air.lookups import MAX_WEIGHT, Interaction, Lookup, Message, check_weights, pack_same_bus, pin_degree
from graphprover.field import P

A, B = Bus("a"), Bus("b")


def describe(define, name: str = "sample", columns: tuple[str, ...] = ("x", "y", "z")) -> AirDescription:  # type: ignore[no-untyped-def]
    table = type("Sample", (Air,), {"name": name, "columns": columns, "public_values": ("p",)})
    table.define = lambda self, t: define(t)
    return table().describe()


def layout(d: AirDescription) -> list[tuple[str | None, int]]:
    return [(lookup.bus, len(lookup.tuples)) for lookup in d.lookups]


def test_no_constraint_at_all() -> None:
    d = describe(lambda t: None)
    assert (d.nodes, d.lookups, d.log_quotient_chunks, d.total_weight) == ((), (), 0, 0)
    assert d.permutation_width == 0


@pytest.mark.parametrize(("degree", "log_chunks"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3), (9, 3)])
def test_chunks_from_constraints(degree: int, log_chunks: int) -> None:
    assert describe(lambda t: t.every_row(t.x**degree)).log_quotient_chunks == log_chunks


def test_degree_two_leaves_no_room_to_share() -> None:
    # log_chunks 0, budget 2: the pin degree of one tuple of degree 1 is 2, of two tuples 3.
    d = describe(lambda t: [t.send(A, [t.x]) for _ in range(4)])
    assert (d.log_quotient_chunks, layout(d)) == (0, [("a", 1)] * 4)


def test_degree_three_shares_in_pairs() -> None:
    # log_chunks 1, budget 3.
    d = describe(lambda t: (t.every_row(t.x**3), [t.send(A, [t.x]) for _ in range(5)]))
    assert (d.log_quotient_chunks, layout(d)) == (1, [("a", 2), ("a", 2), ("a", 1)])
    assert d.permutation_width == 3 * (1 + 3)  # three words for the accumulator and for each of the three columns


def test_budget_is_the_top_of_the_bucket() -> None:
    # Degree 4 needs 4 chunks, which allow degree 5: four tuples share a column.
    d = describe(lambda t: (t.every_row(t.x**4), [t.send(A, [t.x]) for _ in range(5)]))
    assert (d.log_quotient_chunks, layout(d)) == (2, [("a", 4), ("a", 1)])


def test_locals_first_then_buses_by_first_appearance() -> None:
    def define(t: TableBuilder) -> None:
        t.every_row(t.x**3)
        t.send(B, [t.x, t.y])
        t.send(A, [t.x])
        t.receive(B, [t.y, t.x])
        t.local_lookup(sent([t.x]), sent([t.y]), provided([t.z], 2))
        t.send(A, [t.y])
        t.send(B, [t.z, t.z])

    d = describe(define)
    # The local lookup has three tuples: pin degree 4, so four chunks and budget 5.
    assert (d.log_quotient_chunks, layout(d)) == (2, [(None, 3), ("b", 3), ("a", 2)])
    widths = [[len(t.fields) for t in lookup.tuples] for lookup in d.lookups]
    assert widths == [[1, 1, 1], [2, 2, 2], [1, 1]]
    b = d.lookups[1].tuples
    assert b == tuple(i.tuples[0] for i in d.globals if i.bus == "b")  # emission order


def test_degrees_of_fields_and_counts_decide() -> None:
    def define(t: TableBuilder) -> None:
        t.send(A, [5])  # denominator of degree 0
        t.send(A, [t.x * t.y])  # denominator of degree 2: together 1 + 2 = 3
        t.send(A, [6])  # still 3
        t.send(A, [t.z])  # would be 4
        t.send(A, [7], t.x * t.y * t.z, weight=1)  # a count of degree 3 over a denominator of degree 0: 3 + 1 = 4

    d = describe(define)
    assert (d.log_quotient_chunks, layout(d)) == (1, [("a", 3), ("a", 1), ("a", 1)])
    assert [pin_degree(lookup.tuples, d.degrees) for lookup in d.lookups] == [3, 2, 3]


def test_count_of_high_degree_raises_the_chunks() -> None:
    d = describe(lambda t: t.send(A, [t.x], t.x * t.y * t.z * t.x, weight=1))
    assert (pin_degree(d.globals[0].tuples, d.degrees), d.log_quotient_chunks) == (4, 2)


def test_a_selector_counts_in_the_degree() -> None:
    assert describe(lambda t: t.first_row(t.x * t.y)).log_quotient_chunks == 1
    assert describe(lambda t: t.transition(t.x * t.y)).log_quotient_chunks == 0


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 3)), max_size=20),
    st.integers(2, 9),
)
def test_packing_keeps_every_tuple_and_the_budget(shapes: list[tuple[str, int, int]], budget: int) -> None:
    degrees = (0, 1, 2, 3)  # node i has degree i
    lone = [Lookup(bus, (Message((field,), count, i),)) for i, (bus, field, count) in enumerate(shapes)]
    packed = pack_same_bus(lone, degrees, budget)
    for bus in "ab":
        expected = [t for lookup in lone if lookup.bus == bus for t in lookup.tuples]
        assert [t for lookup in packed if lookup.bus == bus for t in lookup.tuples] == expected
    for lookup in packed:
        assert len(lookup.tuples) == 1 or pin_degree(lookup.tuples, degrees) <= budget
    for before, after in pairwise(packed):  # greedy: the next tuple did not fit
        if before.bus == after.bus:
            assert pin_degree(before.tuples + after.tuples[:1], degrees) > budget


def test_weights_of_a_column_keep_to_32_bits() -> None:
    columns = [Lookup("a", (Message((0,), 0, MAX_WEIGHT),)), Lookup("a", (Message((0,), 0, 1),))]
    with pytest.raises(ValueError, match="bus 'a' sum to more"):
        check_weights(pack_same_bus(columns, (0,), 2))


def full(t: TableBuilder) -> None:
    t.every_row(t.x * t.y - 3)
    t.transition(t.next.x - t.x - t.public.p)
    t.send(A, [t.x, t.y], t.z, weight=1)
    t.local_lookup(sent([t.x]), provided([t.y], t.z))


def test_names_are_no_part_of_the_identity() -> None:
    d = describe(full)
    identity = d.canonical_bytes
    names = {"name": "other", "main_names": ("u", "v", "w"), "public_names": ("q",), "constraint_labels": ("", "")}
    assert replace(d, **names).canonical_bytes == identity
    relabelled = tuple(replace(i, label="moved") for i in d.globals)
    assert replace(d, globals=relabelled).canonical_bytes == identity
    assert describe(full).canonical_bytes == identity


def test_everything_else_is() -> None:
    d = describe(full)
    (sending,), (local,) = d.globals, d.locals
    (message,) = sending.tuples

    def other(**changes: object) -> AirDescription:
        return replace(d, globals=(replace(sending, tuples=(replace(message, **changes),)),))

    variants = [
        d,
        replace(d, main_width=4),
        replace(d, preprocessed_width=1),
        replace(d, num_public_values=2),
        replace(d, constraints=d.constraints[::-1]),
        replace(d, constraints=d.constraints[:1]),
        replace(d, locals=()),
        replace(d, locals=(), globals=(sending, Interaction("c", local.tuples[:1], ""))),
        replace(d, locals=(Interaction(None, local.tuples[::-1], ""),)),
        replace(d, globals=(replace(sending, bus="b"),)),
        other(weight=2),
        other(fields=message.fields[::-1]),
        other(fields=message.fields[:1]),
        other(multiplicity=message.fields[0]),
    ]
    for i, (op, a, b) in enumerate(d.nodes):
        variants.append(replace(d, nodes=(*d.nodes[:i], (op, a + 1, b), *d.nodes[i + 1 :])))
        variants.append(replace(d, nodes=(*d.nodes[:i], (op, a, b + 1), *d.nodes[i + 1 :])))
        variants.append(replace(d, nodes=(*d.nodes[:i], (op + 1, a, b), *d.nodes[i + 1 :])))
    assert len({v.canonical_bytes for v in variants}) == len(variants)


def test_json_says_it_all() -> None:
    d = describe(full)
    json = d.to_json()
    assert json["nodes"] == [list(node) for node in d.nodes]
    assert json["constraints"] == list(d.constraints)
    (t,) = d.globals[0].tuples
    assert json["globals"] == [
        {"bus": "a", "fields": list(t.fields), "multiplicity": t.multiplicity, "weight": 1},
    ]
    assert [entry["weight"] for entry in json["locals"][0]["tuples"]] == [1, 0]
    assert (json["main_width"], json["preprocessed_width"], json["num_public_values"]) == (3, 0, 1)
    assert (d.main_next, d.preprocessed_next) == (True, False)


def test_one_width_on_a_bus_over_all_tables() -> None:
    one = describe(lambda t: t.send(A, [t.x]), "narrow")
    two = describe(lambda t: t.receive(A, [0, t.x]), "wide")
    elsewhere = describe(lambda t: t.receive(B, [0, t.x]), "elsewhere")
    check_bus_widths([one, elsewhere, one])
    with pytest.raises(ValueError, match=r"bus 'a' carries .*'narrow'.*'wide'"):
        check_bus_widths([one, elsewhere, two])


def test_counts_stay_below_the_field() -> None:
    query = describe(lambda t: t.send(A, [t.x], t.y, weight=3))
    table = describe(lambda t: t.provide(A, [t.x], t.y))
    bound = (P - 1) // 3
    check_multiplicity_bound([query, table], [bound, 1 << 40])
    assert (P - 1) % 3 == 0
    once = describe(lambda t: t.send(A, [t.x]))
    with pytest.raises(ValueError, match=f"up to {P} messages"):
        check_multiplicity_bound([query, once], [bound, 1])
    with pytest.raises(ValueError, match="is longer than"):
        check_multiplicity_bound([query], [1, 1])


def test_nodes_of_a_deep_expression_need_no_deep_stack() -> None:
    def define(t: TableBuilder) -> None:
        total = t.x
        for _ in range(20_000):
            total = total + t.y
        t.every_row(total)

    d = describe(define)
    assert len(d.nodes) == 20_002
    assert d.nodes[0] == (MAIN, 0, 0) and all(op != CONST for op, _, _ in d.nodes)
