"""CUDA C++ of one table's kernels from its bytecode (``graphprover.air.bytecode``): a row a thread.

Code is straight-line, but for quotients that would compile for minutes. Their constraints are summed in loops, each
over all that are made in the same way and read other columns.

The text depends on the table alone: what belongs to one proof is the constants, which a kernel takes by value. The
bytecode's registers become variables that are assigned once, so that the compiler allocates its own. Each lookup's
fraction is V / U with U the product of its denominators: with the adjugate of U, V adj(U) / norm(U), and the norms of a
few columns and all of a block's rows are inverted together.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from graphprover.air.bytecode import Bytecode, Opcode, Selector, Source
from graphprover.air.expression import CONST
from graphprover.field import P
from graphprover.kernels.cuda.sources import source

WHOLE = 3000  # most instructions and terms of a quotient in one kernel: some 30 s of compilation
NUMBERS = 15_000  # that loops of a kernel take, in 64 KiB of constant memory
UNROLLED = 2_000  # characters of a loop's body: shorter ones are unrolled
LARGEST = 400_000  # characters of a kernel above which it is not compiled, and its table interpreted
THREADS = 128  # rows of a block
WARP = 32
LOOKUPS = 4  # fraction columns whose norms a thread inverts together
PART = 20000  # characters of a kernel's statements: more of them compile slowly and spill registers
VALUES = 4000  # words: a kernel's parameters take at most 32764 bytes

_INPUTS = {Source.MAIN: "main", Source.PREPROCESSED: "preprocessed", Source.PERMUTATION: "permutation"}
# What differs between statements of one shape: names, and numbers of columns and constants.
_NUMBERED = re.compile(
    r"\b(?P<name>[vsx])\d+\b|(?P<before>(?:main|preprocessed|permutation)\[|CONSTANT\()(?P<number>\d+)"
)
_SELECTORS = {Selector.FIRST: "first", Selector.LAST: "last", Selector.TRANSITION: "transition"}
_BINARY = {Opcode.ADD: "add", Opcode.SUB: "sub", Opcode.MUL: "mul", Opcode.EXT_MUL: "mul"}


class _Place(NamedTuple):
    """The content of a plane at some time."""

    kind: str  # "constant", "input", "value"
    number: int  # of the constant, the input, or the instruction that made it
    coordinate: int = 0  # of an instruction's extension value


class _Step(NamedTuple):
    """An instruction whose operands are what its planes held when it ran."""

    op: Opcode
    width: int
    a: tuple[_Place, ...]  # one place a plane
    b: tuple[_Place, ...]
    terms: tuple[tuple[_Place, tuple[_Place, ...]], ...]  # of LINEAR: word, weight


_Addend = tuple[_Place | None, tuple[_Place, ...]]  # a word, of which None is 1, and its weight


class SingleAssignment:
    """Bytecode in which every value is made once."""

    def __init__(self, bytecode: Bytecode) -> None:
        self.bytecode = bytecode
        self.steps: list[_Step] = []
        constants, inputs = bytecode.constant_planes, len(bytecode.inputs)
        self.zeros = {i for i, node in enumerate(bytecode.base_constants) if bytecode.uniforms[node] == (0, 0, 0)}
        first_ext = len(bytecode.base_constants)
        for i, weights in enumerate(bytecode.ext_constants):
            if not weights:
                self.zeros.update(range(first_ext + 3 * i, first_ext + 3 * i + 3))
        held = {i: _Place("constant", i) for i in range(constants)}
        held |= {constants + i: _Place("input", i) for i in range(inputs)}

        def places(plane: int, width: int) -> tuple[_Place, ...]:
            return tuple(held[plane + i] for i in range(width))

        for number, (op, width, d, a, b, count) in enumerate(bytecode.instructions.tolist()):
            terms: tuple[tuple[_Place, tuple[_Place, ...]], ...] = ()
            second: tuple[_Place, ...] = ()
            if op == Opcode.LINEAR:
                some = bytecode.terms[b : b + count].tolist()
                terms = tuple((held[plane], places(weight, width)) for plane, weight in some)
            else:
                second = places(b, 1 if op in (Opcode.MUL, Opcode.SCALE, Opcode.SUB_BASE) else width)
            step = _Step(Opcode(op), width, places(a, width), second, terms)
            self.steps.append(step)
            copy = op == Opcode.ADD and self.is_zero(second)
            held |= {d + i: step.a[i] if copy else _Place("value", number, i) for i in range(width)}
        first = constants + inputs
        self.outputs = [held[first + i] for i in range(bytecode.outputs)]

    def is_zero(self, places: Iterable[_Place]) -> bool:
        return all(place.kind == "constant" and place.number in self.zeros for place in places)

    def literal(self, place: _Place) -> int | None:
        """Return the number of a base constant that is the same in every proof."""
        if place.kind != "constant" or place.number >= len(self.bytecode.base_constants):
            return None
        op, value, _ = self.bytecode.uniforms[self.bytecode.base_constants[place.number]]
        return value if op == CONST else None


class _Scope:
    """Statements that make some places' values, each on first use."""

    def __init__(self, code: SingleAssignment) -> None:
        self.code = code
        self.lines: list[str] = []
        self.made: set[tuple[str, int]] = set()

    def require(self, places: Iterable[_Place]) -> None:
        """Emit the statements of a place, iteratively: a chain of sums may be deeper than Python's stack."""
        stack = list(places)[::-1]
        while stack:
            place = stack[-1]
            key = place[:2]
            if place.kind == "constant" or key in self.made:
                stack.pop()
                continue
            if place.kind == "input":
                self.lines.append(self.load(place.number))
            else:
                step = self.code.steps[place.number]
                needed = [*step.a, *step.b, *(word for word, _ in step.terms)]
                missing = [place for place in needed if place.kind != "constant" and place[:2] not in self.made]
                if missing:
                    stack.extend(missing[::-1])
                    continue
                self.lines.append(self.statement(place.number, step))
            self.made.add(key)
            stack.pop()

    def load(self, number: int) -> str:
        matrix, row, offset = self.code.bytecode.inputs[number].tolist()
        if matrix == Source.SELECTORS:
            value = f"selectors.{_SELECTORS[row]}" if row in _SELECTORS else "inverse_vanishing"
        else:
            value = f"{_INPUTS[matrix]}[{row} * {_INPUTS[matrix]}_rows + {'next' if offset else 'row'}]"
        return f"u64 x{number} = {value};"

    def word(self, place: _Place) -> str:
        if place.kind == "constant":
            return f"CONSTANT({place.number})"
        if place.kind == "input":
            return f"x{place.number}"
        wide = self.code.steps[place.number].width == 3
        return f"v{place.number}.a{place.coordinate}" if wide else f"v{place.number}"

    def value(self, places: Sequence[_Place]) -> str:
        if len(places) == 1:
            return self.word(places[0])
        first = places[0]
        if first.kind == "value" and list(places) == [first._replace(coordinate=i) for i in range(3)]:
            return f"v{first.number}"
        return "Ext{" + ", ".join(map(self.word, places)) + "}"

    def times(self, value: str, factor: _Place) -> str:
        """Return an extension value times a word."""
        literal = self.code.literal(factor)
        if literal == 1:
            return value
        return f"ext::neg({value})" if literal == P - 1 else f"bytecode::scale({value}, {self.word(factor)})"

    def statement(self, number: int, step: _Step) -> str:
        space, kind = ("ext", "Ext") if step.width == 3 else ("field", "u64")
        if step.op == Opcode.LINEAR:
            sum_ = "ExtSum" if step.width == 3 else "Sum"
            start = "{}" if self.code.is_zero(step.a) else f"sums::start({self.value(step.a)})"
            terms = "".join(
                f" sums::accumulate(s{number}, {self.word(word)}, {self.value(weight)});" for word, weight in step.terms
            )
            total = "bytecode" if step.width == 3 else "sums"
            return f"{sum_} s{number} = {start};{terms} {kind} v{number} = {total}::total(s{number});"
        a, b = self.value(step.a), self.value(step.b)
        if step.op == Opcode.SCALE:
            value = f"bytecode::scale({a}, {b})"
        elif step.op == Opcode.SUB_BASE:
            a0, a1, a2 = (self.word(place) for place in step.a)
            value = f"Ext{{field::sub({a0}, {b}), {a1}, {a2}}}"
        elif step.op == Opcode.SUB and self.code.is_zero(step.a):
            value = f"{space}::neg({b})"
        else:
            value = f"{'bytecode' if step.op == Opcode.EXT_MUL else space}::{_BINARY[step.op]}({a}, {b})"
        return f"{kind} v{number} = {value};"


class _Literal(_Scope):
    """The constants: some are numbers in the text, others are given by the number of the first."""

    def word(self, place: _Place) -> str:
        literal = self.code.literal(place)
        return super().word(place) if literal is None else f"{literal}ull"

    def value(self, places: Sequence[_Place]) -> str:
        first = places[0]
        if len(places) == 3 and first.kind == "constant" and first.number >= len(self.code.bytecode.base_constants):
            return f"bytecode::constant(&CONSTANT({first.number}))"
        return super().value(places)


def by_value(constants: int) -> bool:
    """Return whether this many words fit in a kernel's parameters, in the bank that instructions read directly."""
    return constants <= VALUES


def _text(name: str, constants: int, parameters: str, body: Iterable[str], before: str = "") -> str:
    """Return the source of a kernel whose first parameter is ``constants`` words, behind other declarations."""
    if by_value(constants):
        words = f"struct Words {{ u64 word[{constants}]; }};\n#define CONSTANT(i) words.word[i]\n"
        first = "const __grid_constant__ Words words"
    else:
        words, first = "#define CONSTANT(i) words[i]\n", "const u64* __restrict__ words"
    return "\n".join(
        (
            source("bytecode.cuh") + words + before,
            f'extern "C" __global__ void __launch_bounds__({THREADS}, 4) {name}(',
            f"    {first}, {parameters}) {{",
            *(f"    {line}" for line in body),
            "}",
            "",
        )
    )


def quotient_sources(bytecode: Bytecode, chunks: int) -> list[str]:
    """Return the kernels ``quotient``, each of which adds some of the constraints to the target; run in order.

    After the bytecode's constants they take, for each chunk in order of rows, Z on it; for each 1 / Z; and the trace's
    last point. Parameters: constants by value; main, preprocessed and permutation, each with its number of rows; target
    (3, size); the tables of the domain's points; log2 of the trace's rows; size.
    """
    code = SingleAssignment(bytecode)
    if len(bytecode.instructions) + len(bytecode.terms) <= WHOLE:
        scope = _Scope(code)
        scope.require(code.outputs)
        return [_quotient_source(bytecode, chunks, scope.lines, scope.value(code.outputs))]
    factor, addends = _sum_of(code)
    texts: list[str] = []
    parts = list(_rolled(code, addends))
    for part in parts:
        start = "sums::start(ext::load(target, size, row))" if texts else "{}"
        lines, value = [f"ExtSum sum = {start};", *part.lines], "sums::total(sum)"
        if part is parts[-1]:
            last = _Scope(code)
            last.require([factor])
            lines, value = [*lines, *last.lines], f"ext::scale({value}, {last.word(factor)})"
        texts.append(_quotient_source(bytecode, chunks, lines, value, part.numbers))
    return texts


def _sum_of(code: SingleAssignment) -> tuple[_Place, list[_Addend]]:
    """Return the quotient as a factor of a sum: what are links of a chain in the bytecode may be added in any order."""
    step = code.steps[code.outputs[0].number]
    assert step.op == Opcode.SCALE, "the last instruction divides by Z"
    factor, places = step.b[0], step.a
    addends: list[_Addend] = []
    while places[0].kind == "value" and (step := code.steps[places[0].number]).op in (Opcode.LINEAR, Opcode.ADD):
        addends += step.terms[::-1] if step.op == Opcode.LINEAR else [(None, step.b)]
        places = step.a
    addends = [(None, places), *addends[::-1]]
    return factor, [addend for addend in addends if not code.is_zero(addend[1])]


class _Part(NamedTuple):
    """A kernel's statements, and the numbers that its loops take."""

    lines: list[str]
    numbers: list[int]


def _rolled(code: SingleAssignment, addends: Iterable[_Addend]) -> Iterator[_Part]:
    """Statements that add to ``sum``: a loop over all addends that are made in the same way.

    They differ in the columns and constants that they read, whose numbers the loop takes from a table.
    """
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for statements in _statements(code, addends):
        shape, found = _shape_of(statements)
        shapes.setdefault(shape, []).append(found)
    part = _Part([], [])
    for shape, rows in shapes.items():
        numbers = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
        fixed = (numbers == numbers[0]).all(axis=0)
        most = max(NUMBERS // max(int((~fixed).sum()), 1), 1)
        for some in (numbers[i : i + most] for i in range(0, len(numbers), most)):
            size = some[:, ~fixed].size
            if part.lines and (sum(map(len, part.lines)) >= PART or len(part.numbers) + size > NUMBERS):
                yield part
                part = _Part([], [])
            part.lines.extend(_loop(shape, fixed, some, len(part.numbers)))
            part.numbers.extend(some[:, ~fixed].ravel().tolist())
    yield part


def _statements(code: SingleAssignment, addends: Iterable[_Addend]) -> Iterator[list[str]]:
    """Return the statements that add each addend, or the coordinates of one extension value together, with their
    inputs.
    """
    for _, group in groupby(addends, key=lambda addend: (addend[0] or addend[1][0])[:2]):
        scope = _Literal(code)
        for word, value in group:
            scope.require([*value, *([] if word is None else [word])])
            factor = "1" if word is None else scope.word(word)
            scope.lines.append(f"sums::accumulate(sum, {factor}, {scope.value(value)});")
        yield scope.lines


def _shape_of(statements: Iterable[str]) -> tuple[str, tuple[int, ...]]:
    """Statements with ``#`` in place of the numbers of columns and constants, and these."""
    names: dict[str, str] = {}
    found: list[int] = []

    def replaced(match: re.Match[str]) -> str:
        if match["name"]:
            return names.setdefault(match[0], f"{match['name']}{len(names)}")
        found.append(int(match["number"]))
        return f"{match['before']}#"

    return _NUMBERED.sub(replaced, "\n".join(statements)), tuple(found)


def _loop(shape: str, fixed: np.ndarray, rows: np.ndarray, begin: int) -> list[str]:
    """Return the statements of a shape for each row of numbers (loops, numbers), which ``begin`` there in the table.

    ``fixed`` (numbers,): the numbers that are the same in all loops.
    """
    first, *others = shape.split("#")
    places = iter(range(len(fixed)))
    texts = (str(number) if same else f"number[{next(places)}]" for same, number in zip(fixed, rows[0], strict=True))
    body = first + "".join(f"{text}{other}" for text, other in zip(texts, others, strict=True))
    lines = [f"    {line}" for line in body.splitlines()]
    if fixed.all():
        return ["{", *lines, "}"] * len(rows)
    return [
        f"#pragma unroll {max(UNROLLED // len(body), 1)}",
        f"for (u32 i = 0; i < {len(rows)}; i++) {{",
        f"    const u32* number = NUMBERS + {begin} + {int((~fixed).sum())} * i;",
        *lines,
        "}",
    ]


def _quotient_source(
    bytecode: Bytecode, chunks: int, lines: Sequence[str], value: str, numbers: Sequence[int] = ()
) -> str:
    """Return the kernel that writes ``value`` after these statements, whose loops take these numbers."""
    constants = bytecode.constant_planes
    body = [
        f"u64 index = (u64)blockIdx.x * {THREADS} + threadIdx.x;",
        "u64 row = index < size ? index : size - 1;",
        "u64 next = bytecode::next_row(row, (int)log_rows);",
        "u32 chunk = (u32)(row >> log_rows);",
        f"u64 inverse_vanishing = CONSTANT({constants + chunks} + chunk);",
    ]
    if any("selectors." in line for line in lines):
        body += [
            "bytecode::Selectors selectors = bytecode::selectors(",
            "    domain::at({fine, coarse}, row),",
            f"    CONSTANT({constants} + chunk), CONSTANT({constants + 2 * chunks}));",
        ]
    body += [*lines, f"if (index < size) ext::store(target, size, index, {value});"]
    parameters = (
        "const u64* main, u64 main_rows, const u64* preprocessed, u64 preprocessed_rows, const u64* permutation, "
        "u64 permutation_rows, u64* target, const u64* fine, const u64* coarse, u64 log_rows, u64 size"
    )
    table = f"__constant__ u32 NUMBERS[] = {{{', '.join(map(str, numbers))}}};\n" if numbers else ""
    return _text("quotient", constants + 2 * chunks + 1, parameters, body, table)


def lookup_sources(bytecode: Bytecode, groups: tuple[int, ...]) -> list[str]:
    """Return the kernels ``lookups``, each for some of the lookups, which have ``groups`` tuples each; run in order.

    Parameters: constants by value; main and preprocessed, each with its number of rows; columns (3(k + 1), rows), the
    first three of which become each row's sum; totals (blocks, 3), the sums of blocks of rows; the place of the first
    zero; rows.
    """
    code = SingleAssignment(bytecode)
    parameters = (
        "const u64* main, u64 main_rows, const u64* preprocessed, u64 preprocessed_rows, u64* columns, u64* totals, "
        "u64* first_zero, u64 rows"
    )
    texts: list[str] = []
    for part in _parts(code, groups):
        body = [
            f"u64 index = (u64)blockIdx.x * {THREADS} + threadIdx.x;",
            "u64 row = index < rows ? index : rows - 1, next = row + 1 < rows ? row + 1 : 0;",
            "bytecode::Selectors selectors = {row == 0, row == rows - 1, row < rows - 1};",
            "Ext total = " + ("ext::load(columns, rows, row);" if texts else "ext::ZERO;"),
            *part,
            "if (index < rows) ext::store(columns, rows, row, total);",
            "Ext all;",
            "block::running_sum(index < rows ? total : ext::ZERO, all);",
            "if (threadIdx.x == 0) ext::store(totals + 3 * blockIdx.x, 1, 0, all);",
        ]
        texts.append(_text("lookups", bytecode.constant_planes, parameters, body))
    return texts


def _parts(code: SingleAssignment, groups: Sequence[int]) -> Iterator[list[str]]:
    """Return the statements of each kernel's fractions."""
    part: list[str] = []
    for first in range(0, len(groups), LOOKUPS):
        columns = range(first, min(first + LOOKUPS, len(groups)))
        part += ["{", *(f"    {line}" for line in _fractions(code, groups, columns)), "}"]
        if sum(map(len, part)) >= PART:
            yield part
            part = []
    if part:
        yield part


def _fractions(code: SingleAssignment, groups: Sequence[int], columns: Sequence[int]) -> list[str]:
    """Statements that make some columns' fractions, store them and add them to the row's total."""
    scope = _Scope(code)
    tuples = sum(groups)
    lines = [f"u64 norms[{len(columns)}];"]
    for i, column in enumerate(columns):
        first = sum(groups[:column])
        for t in range(first, first + groups[column]):
            denominator, multiplicity = code.outputs[3 * t : 3 * t + 3], code.outputs[3 * tuples + t]
            scope.require((*denominator, multiplicity))
            d = scope.value(denominator)
            if t == first:
                scope.lines.append(f"Ext u{i} = {d}, w{i};")
                continue
            # V / U + m / d = (V d + m U) / (U d); V is the first multiplicity at first.
            over = scope.times(d, code.outputs[3 * tuples + first]) if t == first + 1 else f"bytecode::mul({d}, w{i})"
            scope.lines.append(f"w{i} = ext::add({over}, {scope.times(f'u{i}', multiplicity)});")
            scope.lines.append(f"u{i} = bytecode::mul(u{i}, {d});")
        scope.lines.append(f"Adjugate c{i} = bytecode::adjugate(u{i}); norms[{i}] = c{i}.norm;")
        one = groups[column] == 1
        over = scope.times(f"c{i}.c", code.outputs[3 * tuples + first]) if one else f"bytecode::mul(c{i}.c, w{i})"
        scope.lines.append(f"Ext f{i} = {over};")
        scope.lines.append(f"if (c{i}.norm == 0) report_zero(first_zero, row);")
    lines += scope.lines
    lines.append("block::invert(norms);")
    for i, column in enumerate(columns):
        place = f"columns + {3 * (column + 1)} * rows"
        lines.append(f"f{i} = bytecode::scale(f{i}, norms[{i}]); total = ext::add(total, f{i});")
        lines.append(f"if (index < rows) ext::store({place}, rows, row, f{i});")
    return lines


def is_generated(sources: Iterable[str]) -> bool:
    """Whether a quotient's kernels are compiled; it is interpreted otherwise."""
    return all(len(text) <= LARGEST for text in sources)
