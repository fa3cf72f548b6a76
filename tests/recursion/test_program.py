"""Programs have the results of Python's arithmetic, and statements that hold; wrong programs are refused."""

import contextlib
import itertools
from collections.abc import Callable, Sequence

import pytest

from graphprover.field import ONE, ZERO, Ext, P, ext_add, ext_inv, ext_mul, ext_scale, ext_sub
from graphprover.recursion.program.assembler import Assembler, FrameCell, Hint, HintKind, Routine
from graphprover.recursion.witness import run as runs
from graphprover.recursion.witness.run import Contradiction
from graphprover.statement.check import check
from tests.recursion.naive_run import Run
from tests.recursion.running import program, ran

A, B, C = (3, P - 1, 2**63), (P - 2, 7, 0), (0, 0, 5)
Body = Callable[[Routine, Sequence[FrameCell]], FrameCell]


def agrees(body: Body, arguments: Sequence[Ext | int], result: Ext | int) -> None:
    """Require a program to give this result, and its statement to hold; no other result has a run."""
    result = (result % P, 0, 0) if isinstance(result, int) else result
    made, main, cells = program(len(arguments) + 1)
    tested = made.function("tested", arguments=len(arguments), results=1)
    tested.give_back([body(tested, tested.arguments)])
    (found,) = main.call(tested, cells[:-1])
    main.require_equal(found, cells[-1])
    assert check(ran(made, main, *arguments, result).statement()) == []
    for i in range(3):
        wrong = tuple((value + (k == i)) % P for k, value in enumerate(result))
        with pytest.raises(Contradiction, match=r"main, line \d+ of test_program.py: "):
            ran(made, main, *arguments, wrong)  # type: ignore[arg-type]


ARITHMETIC: list[tuple[Body, Ext]] = [
    (lambda f, c: f.linear(-2, c[0], 5), ext_add(ext_scale(A, P - 2), (5, 0, 0))),
    (lambda f, c: f.linear(0, c[0], -1), (P - 1, 0, 0)),
    (lambda f, c: f.linear(P - 1, c[0], 2**63), ext_sub((2**63, 0, 0), A)),
    (lambda f, c: f.add(c[0], c[1]), ext_add(A, B)),
    (lambda f, c: f.add(c[0], c[1], -3, 2**40), ext_add(ext_add(ext_scale(A, P - 3), B), (2**40, 0, 0))),
    (lambda f, c: f.add(c[0], c[1], 0, 4), ext_add(B, (4, 0, 0))),
    (lambda f, c: f.add(c[0], c[0]), ext_add(A, A)),
    (lambda f, c: f.subtract(c[0], c[1]), ext_sub(A, B)),
    (lambda f, c: f.multiply(c[0], c[1]), ext_mul(A, B)),
    (lambda f, c: f.multiply(c[0], c[0], -1, -1), ext_sub(ext_sub(ext_mul(A, A), A), ONE)),
    (lambda f, c: f.multiply_add(c[0], c[1], c[2]), ext_add(ext_mul(A, B), C)),
    (lambda f, c: f.divide(c[0], c[1]), ext_mul(A, ext_inv(B))),
    (lambda f, c: f.add(f.constant(5), f.multiply(f.constant(-5), f.constant(P + 1))), ZERO),
    (lambda f, c: f.is_zero(c[0]), ZERO),
    (lambda f, c: f.is_zero(c[2]), ZERO),
    (lambda f, c: f.is_zero(f.subtract(c[0], c[0])), ONE),
]

GATES = [  # constants k and l with the result of the cells A and B
    (0, 1, ext_mul(A, B)),
    (1, 0, ext_add(A, B)),
    (-1, 0, ext_sub(A, B)),
    (3, 2, ext_sub(ext_add(ext_scale(ext_mul(A, B), 2), ext_scale(B, 3)), A)),
]


@pytest.mark.parametrize("number", range(len(ARITHMETIC)))
def test_arithmetic(number: int) -> None:
    body, result = ARITHMETIC[number]
    agrees(body, [A, B, C], result)


@pytest.mark.parametrize("number", range(len(GATES)))
def test_gates(number: int) -> None:
    k, l, result = GATES[number]  # noqa: E741

    def body(f: Routine, cells: Sequence[FrameCell]) -> FrameCell:
        upper = f.multiply_add(f.linear(1, f.home, cells[1].place), cells[2], cells[3])
        at = f.add(f.linear(1, f.home, cells[0].place), upper)
        (found,) = f.reserve(1)
        f.gate(at, found, k, l)
        f.gate(at, found, k, l)  # the first one gives the value, the second one is checked
        return found

    agrees(body, [A, B, (0, 1, 0), (0, 0, 7)], result)


def test_division_by_0_has_no_run() -> None:
    for numerator in (A, ZERO):
        made, main, (c, a) = program(2)
        main.divide(c, a)
        with pytest.raises(Contradiction, match="a division by 0"):
            ran(made, main, numerator, ZERO)


def test_requirements() -> None:
    made, main, (a, b) = program(2)
    main.require(a, -1)
    main.require_equal(b, a)
    assert check(ran(made, main, P - 1, P - 1).statement()) == []
    for wrong in ((P - 2, P - 2), (P - 1, 0), ((P - 1, 1, 0), (P - 1, 1, 0))):
        with pytest.raises(Contradiction):
            ran(made, main, *wrong)


def test_cells_of_the_base_field() -> None:
    made, main, (a,) = program(1)
    main.require_base(a)
    for value in (0, 5, P - 1):
        assert check(ran(made, main, value).statement()) == []
    for wrong in ((5, 1, 0), (5, 0, P - 1), (0, 0, 1)):
        with pytest.raises(Contradiction, match="is not in the base field"):
            ran(made, main, wrong)


# Control.


def powers(base: int) -> Body:
    """Return the function that gives base^turns, and requires a cell that no turn changes to have its value."""

    def body(f: Routine, cells: Sequence[FrameCell]) -> FrameCell:
        turns, factor = cells
        one = f.constant(1)

        def turn(f: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
            return [f.multiply(cells[0], cells[2]), cells[1], cells[2]]

        power, first, again = f.loop(turns, [one, one, factor], turn)
        f.require(first, 1)
        f.require(again, base)
        return power

    return body


@pytest.mark.parametrize("turns", [0, 1, 2, 19])
def test_loops(turns: int) -> None:
    agrees(powers(3), [turns, 3], pow(3, turns, P))


@pytest.mark.parametrize(("outer", "inner"), [(0, 3), (3, 0), (1, 1), (3, 4)])
def test_nested_loops(outer: int, inner: int) -> None:
    def body(f: Routine, cells: Sequence[FrameCell]) -> FrameCell:
        def turn(f: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
            inner, total, number = cells
            kept = f.linear(1, number, 1)

            def step(f: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
                return [f.add(cells[0], cells[1]), cells[1], cells[2], cells[3]]

            found = f.loop(inner, [total, number, kept, inner], step)
            return [found[3], found[0], found[2]]

        return f.loop(cells[0], [cells[1], f.constant(0), f.constant(1)], turn)[1]

    agrees(body, [outer, inner], sum(i * inner for i in range(1, outer + 1)))


def test_one_cell_is_carried_twice() -> None:
    """A cell that an instruction made is in the next frame at once; the second place has a copy."""

    def body(f: Routine, cells: Sequence[FrameCell]) -> FrameCell:
        def turn(f: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
            total = f.add(cells[0], cells[1])
            return [total, total]

        made = f.linear(2, cells[1])
        both = f.loop(cells[0], [made, made], turn)
        return f.multiply(both[0], both[1], 1)

    agrees(body, [3, 5], 80 * 80 + 80)


def test_blocks_are_left_out_if_a_cell_is_0() -> None:
    made, main, (a, b) = program(2)
    with main.unless_zero(a):
        with main.unless_zero(main.linear(1, a, -1)):
            main.require(b, 2)
        main.require_equal(main.multiply(main.constant(1), b), b)
    main.require_equal(main.constant(1), main.constant(1))
    for values, holds in (((0, 5), True), ((1, 5), True), ((2, 2), True), ((2, 5), False), (((0, 1, 0), 5), False)):
        if holds:
            assert check(ran(made, main, *values).statement()) == []  # type: ignore[arg-type]
        else:
            with pytest.raises(Contradiction):
                ran(made, main, *values)  # type: ignore[arg-type]


def test_calls() -> None:
    """Nested ones, two from one frame, and with a loop inside of the function."""
    made, main, (x, y, result) = program(3)
    cube = made.function("cube", arguments=2, results=2)
    found = cube.loop(cube.constant(2), [cube.arguments[0], cube.arguments[0]], lambda f, c: [f.multiply(*c), c[1]])
    cube.give_back([found[0], found[1]])
    both = made.function("both", arguments=2, results=1)
    first, _ = both.call(cube, [both.arguments[0], both.arguments[0]])
    second, same = both.call(cube, [both.arguments[1], both.arguments[0]])
    both.require_equal(same, both.arguments[1])
    both.give_back([both.add(first, second)])
    main.require_equal(main.call(both, [x, y])[0], result)
    assert check(ran(made, main, 5, P - 2, 125 - 8).statement()) == []
    with pytest.raises(Contradiction):
        ran(made, main, 5, P - 2, 126)


def test_frames_at_other_places_prove_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Place both frames of calls anywhere: a true result has a run or not, a false one has none."""
    monkeypatch.setattr(runs, "MOST_STEPS", 500)
    made, main, (x, result) = program(2)
    square = made.function("square", arguments=1, results=1)
    (power,) = square.loop(square.constant(1), [square.arguments[0]], lambda f, c: [f.multiply(c[0], c[0])])
    square.give_back([power])
    (first,) = main.call(square, [x])
    (second,) = main.call(square, [first])
    main.require_equal(second, result)
    main.halt()
    linked, halted = made.link(main), []
    for value, is_true in ((81, True), (82, False)):
        for places in itertools.product(range(0, 42, 3), repeat=2):
            run = Run(linked, {3: (3, 0, 0), 4: (value, 0, 0)}, None, {}, (0, *places))
            with contextlib.suppress(Contradiction, ValueError, IndexError):
                run.take_steps()
                halted.append((is_true, places))
    assert all(is_true for is_true, _ in halted)
    assert halted


@pytest.mark.parametrize("n", [0, 1, 6])
def test_recursive_calls(n: int) -> None:
    made, main, (x, result) = program(2)
    factorial = made.function("factorial", arguments=1, results=1)
    (n_cell,) = factorial.arguments
    (product,) = factorial.reserve(1)
    with factorial.unless_zero(n_cell):
        (before,) = factorial.call(factorial, [factorial.linear(1, n_cell, -1)])
        factorial.require_equal(factorial.multiply(before, n_cell), product)
    zero = factorial.is_zero(n_cell)
    factorial.multiply(zero, product, to=zero)
    factorial.give_back([product])
    main.require_equal(main.call(factorial, [x])[0], result)
    assert check(ran(made, main, n, _factorial(n)[0]).statement()) == []
    with pytest.raises(Contradiction):
        ran(made, main, n, _factorial(n)[0] + 1)


def _factorial(n: int) -> Ext:
    return (n * _factorial(n - 1)[0] if n else 1, 0, 0)


# Memory.


def test_memory() -> None:
    def body(f: Routine, cells: Sequence[FrameCell]) -> FrameCell:
        first, second = f.allocate(), f.allocate()
        f.store(first, 0, cells[0])
        f.store(f.linear(1, second, 3), -2, cells[1])  # below a pointer
        f.store(second, 0, first)  # a pointer in memory
        return f.multiply(f.load(f.load(second)), f.load(second, 1))

    agrees(body, [A, B], ext_mul(A, B))


def test_memory_has_one_value() -> None:
    made, main, (a, b) = program(2)
    pointer = main.allocate()
    main.store(pointer, 2, a)
    main.store(pointer, 2, b)
    assert check(ran(made, main, A, A).statement()) == []
    with pytest.raises(Contradiction, match="is not"):
        ran(made, main, A, B)


def test_quotients() -> None:
    """A hint reads the run, and the program checks its value."""
    made, main, (a, b) = program(2)
    quotient = main.hint(Hint(HintKind.QUOTIENT, a, b))
    main.require_equal(main.multiply(quotient, b), a)
    assert check(ran(made, main, 49, 7).statement()) == []
    for wrong in ((50, 7), (5, 0), (3, P - 1)):
        with pytest.raises(Contradiction):
            ran(made, main, *wrong)


def test_bits() -> None:
    made, main, (a,) = program(1)
    total = main.constant(0)
    for k in reversed(range(64)):
        total = main.add(total, main.hint(Hint(HintKind.BIT, a, number=k)), k=2)
    main.require_equal(total, a)
    assert check(ran(made, main, P - 1).statement()) == []
    with pytest.raises(Contradiction):
        ran(made, main, A)


# Errors.


def test_cells_of_other_frames_are_refused() -> None:
    _, main, (a,) = program(1)
    message = r"main, line \d+ of test_program.py: a cell of another frame"
    kept = main.linear(1, a)
    with pytest.raises(ValueError, match=message):
        main.loop(a, [], lambda f, c: [f.linear(1, kept)][:0])
    _, main, (a,) = program(1)
    main.loop(a, [], lambda f, c: [])
    with pytest.raises(ValueError, match=message):
        main.require(a, 1)
    _, main, (a,) = program(1)
    other = main.constant(1)
    with main.unless_zero(a):
        inside, one = main.linear(1, a), main.constant(2)
    for cell in (inside, one):
        with pytest.raises(ValueError, match=message):
            main.require_equal(other, cell)
    main.require_equal(other, main.constant(2))
    with pytest.raises(ValueError, match=message):
        main.loop(other, [inside], lambda f, c: c)
    with pytest.raises(ValueError, match=message):
        main.loop(inside, [], lambda f, c: c)


def test_blocks_with_a_loop_or_an_end_are_refused() -> None:
    _, main, (a,) = program(1)
    with pytest.raises(ValueError, match=r"main, line .* a loop in a block"), main.unless_zero(a):
        main.loop(a, [], lambda f, c: [])
    _, main, (a,) = program(1)
    with pytest.raises(ValueError, match=r"main, line .* the function ends in a block"), main.unless_zero(a):
        main.halt()


def test_wrong_numbers_of_cells_are_refused() -> None:
    made, main, (a,) = program(1)
    function = made.function("other", arguments=2, results=1)
    with pytest.raises(ValueError, match="other takes 2 arguments, not 1"):
        main.call(function, [a])
    with pytest.raises(ValueError, match="other has 1 results, not 2"):
        function.give_back(function.arguments)
    with pytest.raises(ValueError, match="a loop carries 1 cells, not 2"):
        main.loop(a, [a], lambda f, c: [c[0], c[0]])


def test_functions_end() -> None:
    made, main, (a,) = program(1)
    made.function("other")
    main.halt()
    with pytest.raises(ValueError, match="function other neither halts nor gives back"):
        made.link(main)
    with pytest.raises(ValueError, match="function main has ended"):
        main.require(a, 1)


def test_a_program_that_gives_back_is_refused() -> None:
    """It has no caller, so a prover could choose the next instruction."""
    made = Assembler()
    main = made.function("main")
    main.give_back([])
    with pytest.raises(ValueError, match="function main is the first one and does not halt"):
        made.link(main)


def test_unknown_cells_stop_a_run() -> None:
    for body in (
        lambda f, c: f.add(c[0], c[1]),
        lambda f, c: f.linear(1, c[0]),
        lambda f, c: f.multiply(c[0], c[1]),
        lambda f, c: f.is_zero(c[0]),
        lambda f, c: f.load(c[0]),
        lambda f, c: f.load(f.allocate()),
        lambda f, c: f.gate(f.unit(), f.constant(0), 1, 1),
        lambda f, c: f.require_base(c[0]),
        lambda f, c: f.require_bit(f.hint(Hint(HintKind.BIT, c[0]))),
        lambda f, c: f.require_bit(f.hint(Hint(HintKind.DIGEST, c[0]))),
        lambda f, c: f.require_bit(f.hint(Hint(HintKind.DIGEST, f.constant(0)))),
        lambda f, c: f.require_bit(f.hint(Hint(HintKind.QUOTIENT, f.constant(1), c[0]))),
    ):
        made, main, cells = program(2)
        body(main, cells)
        with pytest.raises(ValueError, match=r"main, line \d+ of test_program.py: unknown cells"):
            ran(made, main)


def test_addresses_in_no_region_stop_a_run() -> None:
    made, main, (pointer,) = program(1)
    main.store(pointer, 0, pointer)
    with pytest.raises(ValueError, match="no region of memory"):
        ran(made, main, 2**40)


def test_too_many_steps_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_STEPS", 100)
    made, main, (a,) = program(1)
    main.loop(a, [], lambda f, c: [])
    with pytest.raises(Contradiction, match="the program takes more than 100 steps"):
        ran(made, main, P - 1)


def test_functions_of_other_programs_are_refused() -> None:
    other = Assembler().function("other")
    other.give_back([])
    made = Assembler()
    main = made.function("main")
    main.call(other, [])
    main.halt()
    with pytest.raises(ValueError, match=r"main, line .*: a call of a function of another program"):
        made.link(main)


def test_jumps_to_addresses_require_their_frame_in_the_base_field() -> None:
    """Another coordinate of a frame's address would change the address of the instruction."""
    made, main, (entry,) = program(1)
    (x,) = (main.constant(5),)
    main.go(entry, x)
    *_, base, _, back = main.instructions
    assert base.flags == ("indirect",) and set(base.operands.values()) == {main.home}
    assert back.flags == ("back",)
    turned = made.function("turned")
    turned.loop(turned.constant(1), [], lambda f, cells: cells)
    with pytest.raises(ValueError, match="a jump to an address is in the first frame of a function"):
        turned.go(turned.constant(1), turned.constant(5))
