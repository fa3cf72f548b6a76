"""Lowering of a table's expressions to bytecode of a register machine, which a kernel runs over blocks of rows.

Each `AirDescription` has two programs: `lookup_bytecode` computes the LogUp denominators and multiplicities on the rows
of the trace, `quotient_bytecode` the quotient on the quotient domain. Bytecode does not depend on the proof: every
value that is equal for all rows (literals, public values, challenges and their powers) is in a table of constants,
which `graphprover.kernels.constant_planes` computes for one proof.

A *plane* is one word for each row. An extension value takes three consecutive planes, the coordinates of 1, x, x^2.
Planes are numbered in the order constants, inputs, outputs, registers. A weighted sum with constant weights (a
fingerprint, the folding of constraints by powers of alpha, limbs joined to a word) is one instruction, LINEAR, so that
a kernel can postpone the modular reductions to its end.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from graphprover.air.description import AirDescription, Message
from graphprover.air.expression import (
    ADD,
    CONST,
    FIRST,
    LAST,
    MAIN,
    MUL,
    NEG,
    PREPROCESSED,
    PUBLIC,
    SUB,
    TRANSITION,
    Node,
    children,
)
from graphprover.field import P

LINEAR_TERMS = 16  # maximum terms of one LINEAR, so that its operands fit the cache
_SHARED = 4  # minimum constraints with a common factor that are multiplied by it once: 3 products instead of 4


class Opcode(IntEnum):
    """Instructions, with d, a, b planes (the first of three for an extension value) and c an integer."""

    ADD = 0  # d[i] = a[i] + b[i] for ``width`` planes i
    SUB = 1  # d[i] = a[i] - b[i] for ``width`` planes i
    MUL = 2  # d = a * b, base
    SCALE = 3  # d = a * b, extension times base
    SUB_BASE = 4  # d = a - b, extension minus base
    EXT_MUL = 5  # d = a * b, extension
    LINEAR = 6  # d = a + sum of weight * plane over terms[b : b + c]; d, a, weight of ``width`` planes, plane base


class Source(IntEnum):
    """The matrix that an input plane is read from."""

    MAIN = 0
    PREPROCESSED = 1
    PERMUTATION = 2  # rows 3j, 3j+1, 3j+2 are extension column j: the accumulator, then a fraction column per lookup
    SELECTORS = 3  # rows as in ``Selector``


class Selector(IntEnum):
    """Rows of the selector matrix."""

    FIRST = 0
    LAST = 1
    TRANSITION = 2
    INVERSE_VANISHING = 3


NONE, TERMINAL = -1, -2


class Weight(NamedTuple):
    """A summand of an extension constant: sign * value(node) * alpha^alpha * tau^tau * x^shift * challenge."""

    sign: int = 1
    node: int = NONE  # index into ``Bytecode.uniforms``; NONE means 1
    alpha: int = 0
    tau: int = 0
    shift: int = 0
    challenge: int = NONE  # index of a lookup, whose prefix is the factor, or TERMINAL; NONE means 1


class ConstantProgram(NamedTuple):
    """The definitions of the constant planes as arrays, which compiled code evaluates for each proof."""

    uniforms: np.ndarray  # uint64 (uniforms, 3): the operation and its operands, as in ``Bytecode.uniforms``
    base: np.ndarray  # int64, as ``Bytecode.base_constants``
    ends: np.ndarray  # int64 (extension constants,): the number of weights up to the last one of each
    weights: np.ndarray  # int64 (weights, 6): each `Weight`, with a sign of 1 or -1
    highest: tuple[int, int]  # powers of alpha and of tau
    public_values: int  # the fewest that the program reads
    prefixes: int  # the fewest that the program reads


@dataclass(frozen=True, eq=False)
class Bytecode:
    """A program of the register machine for one table; `graphprover.kernels.cpu.bytecode` runs it."""

    instructions: np.ndarray  # int32 (instructions, 6): op, width, d, a, b, c
    terms: np.ndarray  # int32 (terms, 2): plane, first constant plane of the weight
    inputs: np.ndarray  # int32 (inputs, 3): Source, row of that matrix, 0 for this row of the table or 1 for the next
    outputs: int  # number of output planes
    registers: int  # number of register planes
    uniforms: tuple[Node, ...]  # expressions without cells or selectors, children before parents
    base_constants: tuple[int, ...]  # indices of the uniforms that have a constant plane
    ext_constants: tuple[tuple[Weight, ...], ...]  # sums with three constant planes each, after the base constants

    @cached_property
    def constant_program(self) -> ConstantProgram:
        """The definitions of the constant planes as arrays."""
        weights = np.array([weight for sums in self.ext_constants for weight in sums], dtype=np.int64).reshape(-1, 6)
        _, _, alpha, tau, _, challenge = weights.T
        return ConstantProgram(
            uniforms=np.array(self.uniforms, dtype=np.uint64).reshape(-1, 3),
            base=np.array(self.base_constants, dtype=np.int64),
            ends=np.cumsum([len(sums) for sums in self.ext_constants], dtype=np.int64),
            weights=weights,
            highest=(int(alpha.max(initial=0)), int(tau.max(initial=0))),
            public_values=max((1 + a for op, a, _ in self.uniforms if op == PUBLIC), default=0),
            prefixes=1 + int(challenge.max(initial=NONE)),
        )

    @property
    def constant_planes(self) -> int:
        return len(self.base_constants) + 3 * len(self.ext_constants)


@lru_cache(maxsize=256)  # keyed by value, because each proof creates new description objects
def lookup_bytecode(description: AirDescription) -> Bytecode:
    """Return the program for the denominators and multiplicities of all D tuples of ``description.lookups``, in order.

    It runs on the trace in natural order, where FIRST, LAST and TRANSITION are 0/1 indicators. Output planes 3t..3t+2
    are the denominator prefix[lookup] - sum_i field_i * tau^(k-1-i) of tuple t; output plane 3D + t is its
    multiplicity (Haböck, eprint 2022/1530; docs/protocol.md).
    """
    build = _Builder(description, [])
    tuples = [(index, entry) for index, lookup in enumerate(description.lookups) for entry in lookup.tuples]
    denominators = [(build.denominator(index, entry), 3) for index, entry in tuples]
    multiplicities = [(build.base(entry.multiplicity), 1) for _, entry in tuples]
    return build.bytecode(denominators + multiplicities)


@lru_cache(maxsize=256)
def quotient_bytecode(description: AirDescription) -> Bytecode:
    """Return the program for the quotient sum_i c_i * alpha^(K-1-i) / Z_H on the quotient domain; 3 output planes.

    The K constraints c_i are, in order, the constraints of the AIR and, if there are lookups, U * f - V for each lookup
    with V/U the sum of its tuples' fractions and f its column, then first * acc, transition * (acc' - acc - sum f) and
    last * (terminal - acc - sum f) with acc the accumulator column. Sources: ``p3-lookup/src/logup.rs``,
    ``p3-batch-stark/src/prover.rs``.
    """
    lookups = description.lookups
    total = len(description.constraints) + (len(lookups) + 3 if lookups else 0)
    powers = iter(range(total - 1, -1, -1))
    build = _Builder(description, description.constraints)
    terms = [(node, Weight(alpha=next(powers))) for node in description.constraints]
    pins = [next(powers) for _ in lookups]
    value = build.weighted_sum(terms, ((build.pin(i), Weight(alpha=power)) for i, power in enumerate(pins)), [])
    if lookups:
        accumulator, following = (build.extension_input(0, offset) for offset in (0, 1))
        end = accumulator
        for index in range(len(lookups)):
            end = build.emit(Opcode.ADD, 3, end, build.extension_input(index + 1, 0))
        step = build.emit(Opcode.SUB, 3, following, end)
        first, transition, last = powers
        boundary: tuple[tuple[Selector, _Operand, Weight, list[Weight]], ...] = (
            (Selector.FIRST, accumulator, Weight(alpha=first), []),
            (Selector.TRANSITION, step, Weight(alpha=transition), []),
            (Selector.LAST, end, Weight(sign=-1, alpha=last), [Weight(alpha=last, challenge=TERMINAL)]),
        )
        for selector, operand, weight, constant in boundary:
            weighted = build.weighted_sum([], [(operand, weight)], constant)
            scaled = build.emit(Opcode.SCALE, 3, weighted, build.input(Source.SELECTORS, selector, 0))
            value = build.emit(Opcode.ADD, 3, value, scaled)
    inverse_vanishing = build.input(Source.SELECTORS, Selector.INVERSE_VANISHING, 0)
    return build.bytecode([(build.emit(Opcode.SCALE, 3, value, inverse_vanishing), 3)])


class _Operand(NamedTuple):
    """A value before planes are numbered."""

    kind: str  # "base" or "ext" (constants), "input", "value"
    number: int
    coordinate: int = 0  # index of the plane within an extension value

    def plane(self, coordinate: int) -> "_Operand":
        return self._replace(coordinate=coordinate)


class _Instruction(NamedTuple):
    op: Opcode
    width: int
    value: int  # number of its result, in order of emission
    a: _Operand
    b: _Operand | None
    terms: tuple[tuple[_Operand, _Operand], ...]  # (plane, weight) for LINEAR, else ()

    def operands(self) -> Iterable[_Operand]:
        yield self.a
        if self.b is not None:
            yield self.b
        for plane, _ in self.terms:
            yield plane


class _Builder:
    """An emitter of instructions for expressions, on demand and at most once for each node."""

    def __init__(self, description: AirDescription, roots: Iterable[int]) -> None:
        self.description = description
        self.nodes: list[Node] = list(description.nodes)
        self.node_index = {node: index for index, node in enumerate(self.nodes)}
        self.uniform: list[bool] = []
        self.uses: Counter[int] = Counter(roots)
        for op, a, b in self.nodes:
            below = children((op, a, b))
            self.uses.update(below)
            self.uniform.append(op in (CONST, PUBLIC) or (bool(below) and all(self.uniform[node] for node in below)))
        for lookup in description.lookups:
            for entry in lookup.tuples:
                self.uses.update((*entry.fields, entry.multiplicity))
        self.code: list[_Instruction] = []
        self.operand: dict[int, _Operand] = {}  # operands of the nodes already emitted
        self.not_linear: set[int] = set()  # nodes inside a sum with too few weights for LINEAR
        self.base_constants: dict[int, int] = {}
        self.ext_constants: dict[tuple[Weight, ...], int] = {}
        self.inputs: dict[tuple[int, int, int], int] = {}

    # Operands

    def input(self, matrix: Source, row: int, offset: int) -> _Operand:
        return _Operand("input", self.inputs.setdefault((matrix, row, offset), len(self.inputs)))

    def extension_input(self, column: int, offset: int) -> _Operand:
        # Requested together, so that the three planes are consecutive.
        coordinates = [self.input(Source.PERMUTATION, 3 * column + i, offset) for i in range(3)]
        return coordinates[0]

    def constant(self, node: int) -> _Operand:
        return _Operand("base", self.base_constants.setdefault(node, len(self.base_constants)))

    def ext_constant(self, weights: Iterable[Weight]) -> _Operand:
        return _Operand("ext", self.ext_constants.setdefault(tuple(weights), len(self.ext_constants)))

    def uniform_node(self, node: Node) -> int:
        """Return the index of a uniform expression, which is added unless the table already contains it."""
        op, a, b = node
        if op in (MUL, NEG) and all(self.nodes[child][0] == CONST for child in children(node)):
            x = self.nodes[a][1]
            node = (CONST, (x * self.nodes[b][1] if op == MUL else -x) % P, 0)
        index = self.node_index.setdefault(node, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
            self.uniform.append(True)
        return index

    def zero(self) -> _Operand:
        return self.constant(self.uniform_node((CONST, 0, 0)))

    def times(self, weight: Weight, node: int) -> Weight:
        """Return a weight times a uniform expression."""
        return weight._replace(node=node if weight.node == NONE else self.uniform_node((MUL, weight.node, node)))

    def emit(
        self,
        op: Opcode,
        width: int,
        a: _Operand,
        b: _Operand | None = None,
        terms: Iterable[tuple[_Operand, _Operand]] = (),
    ) -> _Operand:
        self.code.append(_Instruction(op, width, len(self.code), a, b, tuple(terms)))
        return _Operand("value", len(self.code) - 1)

    # Base expressions

    def base(self, root: int) -> _Operand:
        """Return the operand of a node and emit missing instructions.

        Iterative, because a sum may be deeper than Python's stack.
        """
        stack = [root]
        while stack:
            node = stack[-1]
            if node not in self.operand:
                below, make = self.plan(node)
                missing = [child for child in below if child not in self.operand]
                if missing:
                    stack.extend(reversed(missing))
                    continue
                self.operand[node] = make()
            stack.pop()
        return self.operand[root]

    def plan(self, node: int) -> tuple[Sequence[int], Callable[[], _Operand]]:
        """Return the nodes that ``node`` depends on, and a function that emits it once they have operands."""
        op, a, b = self.nodes[node]
        if self.uniform[node]:
            return (), lambda: self.constant(node)
        if op in (MAIN, PREPROCESSED):
            matrix = Source.MAIN if op == MAIN else Source.PREPROCESSED
            return (), lambda: self.input(matrix, a, b)
        if op in (FIRST, LAST, TRANSITION):
            selector = {FIRST: Selector.FIRST, LAST: Selector.LAST, TRANSITION: Selector.TRANSITION}[op]
            return (), lambda: self.input(Source.SELECTORS, selector, 0)
        form = self.linear_form(node)
        if form is not None:
            return [term for term, _, _ in form], lambda: self.linear(form)
        if op == NEG:
            return (a,), lambda: self.emit(Opcode.SUB, 1, self.zero(), self.operand[a])
        code = {ADD: Opcode.ADD, SUB: Opcode.SUB, MUL: Opcode.MUL}[op]
        return (a, b), lambda: self.emit(code, 1, self.operand[a], self.operand[b])

    def linear_form(self, root: int) -> list[tuple[int, int, int]] | None:
        """Return ``root`` as a sum of (node, sign, uniform weight or NONE) if at least two terms have a weight."""
        if root in self.not_linear or self.nodes[root][0] not in (ADD, SUB, NEG):
            return None
        form, inside = [], []
        stack = [(root, 1, NONE)]
        while stack:
            node, sign, weight = stack.pop()
            op, a, b = self.nodes[node]
            if self.uniform[node] or (node != root and self.uses[node] > 1):
                form.append((node, sign, weight))
            elif op in (ADD, SUB):
                inside.append(node)
                stack += [(b, -sign if op == SUB else sign, weight), (a, sign, weight)]
            elif op == NEG:
                inside.append(node)
                stack.append((a, -sign, weight))
            elif op == MUL and (self.uniform[a] or self.uniform[b]):
                factor, rest = (a, b) if self.uniform[a] else (b, a)
                stack.append((rest, sign, self.times(Weight(node=weight), factor).node))
            else:
                form.append((node, sign, weight))
        if sum(weight != NONE for _, _, weight in form) < 2:
            self.not_linear.update(inside)
            return None
        return form

    def linear(self, form: list[tuple[int, int, int]]) -> _Operand:
        value, terms = None, []
        for node, sign, weight in form:
            operand = self.operand[node]
            if weight != NONE:
                terms.append((operand, self.constant(weight if sign > 0 else self.uniform_node((NEG, weight, 0)))))
            elif value is None and sign > 0:
                value = operand
            else:
                value = self.emit(Opcode.ADD if sign > 0 else Opcode.SUB, 1, value or self.zero(), operand)
        return self.sum_terms(1, value or self.zero(), terms)

    def sum_terms(self, width: int, value: _Operand, terms: list[tuple[_Operand, _Operand]]) -> _Operand:
        for i in range(0, len(terms), LINEAR_TERMS):
            value = self.emit(Opcode.LINEAR, width, value, terms=terms[i : i + LINEAR_TERMS])
        return value

    # Extension values

    def weighted_sum(
        self, terms: Iterable[tuple[int, Weight]], extension: Iterable[tuple[_Operand, Weight]], constant: list[Weight]
    ) -> _Operand:
        """Emit sum weight * node + sum weight * extension value + sum constant, and return the extension value.

        ``extension`` is consumed term by term, so that a generator keeps few of its values alive.
        """
        constant = list(constant)
        weights: dict[int, list[Weight]] = {}
        for node, weight in terms:
            while True:
                op, a, b = self.nodes[node]
                if self.uniform[node]:
                    constant.append(self.times(weight, node))
                    break
                if op == NEG:
                    node, weight = a, weight._replace(sign=-weight.sign)
                elif op == MUL and self.uniform[a]:
                    node, weight = b, self.times(weight, a)
                elif op == MUL and self.uniform[b]:
                    node, weight = a, self.times(weight, b)
                else:
                    weights.setdefault(node, []).append(weight)
                    break

        shared = []
        while (factor := self.common_factor(weights)) is not None:
            group = []
            for node in [node for node in weights if self.uses[node] == 1 and factor in self.factors(node)]:
                a, b = self.factors(node)
                group += [(b if a == factor else a, weight) for weight in weights.pop(node)]
            shared.append((factor, group))

        value = self.ext_constant(constant)
        pending: list[tuple[_Operand, _Operand]] = []
        for node, sums in weights.items():
            pending.append((self.base(node), self.ext_constant(sums)))
            if len(pending) >= LINEAR_TERMS:
                value, pending = self.sum_terms(3, value, pending), []
        for operand, weight in extension:
            for i in range(3):
                pending.append((operand.plane(i), self.ext_constant([weight._replace(shift=i)])))
            if len(pending) > LINEAR_TERMS - 3:
                value, pending = self.sum_terms(3, value, pending), []
        value = self.sum_terms(3, value, pending)
        for factor, group in shared:
            inner = self.weighted_sum(group, [], [])
            value = self.emit(Opcode.ADD, 3, value, self.emit(Opcode.SCALE, 3, inner, self.base(factor)))
        return value

    def factors(self, node: int) -> tuple[int, ...]:
        op, a, b = self.nodes[node]
        return (a, b) if op == MUL else ()

    def common_factor(self, weights: Iterable[int]) -> int | None:
        """Return the factor of most of these nodes, or None if it is a factor of fewer than _SHARED unshared nodes."""
        counts: Counter[int] = Counter()
        for node in weights:
            if self.uses[node] == 1:
                counts.update(set(self.factors(node)))
        factor, count = max(counts.items(), key=lambda item: item[1], default=(0, 0))
        return factor if count >= _SHARED else None

    def denominator(self, lookup: int, entry: Message) -> _Operand:
        last = len(entry.fields) - 1
        terms = [(node, Weight(sign=-1, tau=last - i)) for i, node in enumerate(entry.fields)]
        return self.weighted_sum(terms, [], [Weight(challenge=lookup)])

    def pin(self, lookup: int) -> _Operand:
        """Emit U * f - V, by value = denominator * value - multiplicity * (product of the previous denominators)."""
        value, product = self.extension_input(lookup + 1, 0), None
        for entry in self.description.lookups[lookup].tuples:
            denominator = self.denominator(lookup, entry)
            value = self.emit(Opcode.EXT_MUL, 3, denominator, value)
            op, multiplicity, _ = self.nodes[entry.multiplicity]
            if product is None:
                value = self.emit(Opcode.SUB_BASE, 3, value, self.base(entry.multiplicity))
                product = denominator
                continue
            if op == CONST and multiplicity in (1, P - 1):
                value = self.emit(Opcode.SUB if multiplicity == 1 else Opcode.ADD, 3, value, product)
            else:
                scaled = self.emit(Opcode.SCALE, 3, product, self.base(entry.multiplicity))
                value = self.emit(Opcode.SUB, 3, value, scaled)
            if entry is not self.description.lookups[lookup].tuples[-1]:
                product = self.emit(Opcode.EXT_MUL, 3, product, denominator)
        return value

    # Planes

    def bytecode(self, outputs: list[tuple[_Operand, int]]) -> Bytecode:
        """Assign planes and return the program; ``outputs`` are (operand, width) in the order of the output planes."""
        place: dict[int, tuple[str, int]] = {}  # for each value: kind and index of its first plane
        plane = 0
        for operand, width in outputs:
            if operand.kind != "value" or operand.number in place:
                operand = self.emit(Opcode.ADD, width, operand, self.zero() if width == 1 else self.ext_constant([]))
            place[operand.number] = ("output", plane)
            plane += width

        last_use: dict[int, int] = {}
        for i, code in enumerate(self.code):
            last_use.update((operand.number, i) for operand in code.operands() if operand.kind == "value")
        free: dict[int, list[int]] = {1: [], 3: []}
        registers = 0
        for i, code in enumerate(self.code):
            for operand in {operand._replace(coordinate=0) for operand in code.operands()}:
                if operand.kind == "value" and last_use[operand.number] == i:
                    kind, register = place[operand.number]
                    if kind == "register":
                        free[self.code[operand.number].width].append(register)
            if code.value not in place:
                if not free[code.width]:
                    free[code.width].append(registers)
                    registers += code.width
                place[code.value] = ("register", free[code.width].pop())

        first = {"base": 0, "ext": len(self.base_constants)}
        first["input"] = first["ext"] + 3 * len(self.ext_constants)
        first["output"] = first["input"] + len(self.inputs)
        first["register"] = first["output"] + plane

        def plane_of(operand: _Operand) -> int:
            kind, index, coordinate = operand
            if kind == "value":
                kind, index = place[index]
            return first[kind] + (3 * index if kind == "ext" else index) + coordinate

        instructions: list[tuple[int, ...]] = []
        terms: list[tuple[int, int]] = []
        for code in self.code:
            b = len(terms) if code.b is None else plane_of(code.b)
            terms += [(plane_of(operand), plane_of(weight)) for operand, weight in code.terms]
            d = plane_of(_Operand("value", code.value))
            instructions.append((code.op, code.width, d, plane_of(code.a), b, len(code.terms)))
        return Bytecode(
            instructions=np.array(instructions, dtype=np.int32).reshape(-1, 6),
            terms=np.array(terms, dtype=np.int32).reshape(-1, 2),
            inputs=np.array(list(self.inputs), dtype=np.int32).reshape(-1, 3),
            outputs=plane,
            registers=registers,
            **self.uniforms(),
        )

    def uniforms(self) -> dict[str, tuple]:
        """Return the fields of `Bytecode` that define the constants, over a list of only the uniforms they need."""
        weights = [weight for sums in self.ext_constants for weight in sums]
        needed = {*self.base_constants, *(weight.node for weight in weights if weight.node != NONE)}
        for node in range(len(self.nodes) - 1, -1, -1):
            if node in needed:
                needed.update(children(self.nodes[node]))
        position = {node: i for i, node in enumerate(sorted(needed))} | {NONE: NONE}

        def renumbered(node: Node) -> Node:
            below = [position[child] for child in children(node)]
            return (node[0], *below, *node[1 + len(below) :])  # type: ignore[return-value]

        return {
            "uniforms": tuple(renumbered(self.nodes[node]) for node in sorted(needed)),
            "base_constants": tuple(position[node] for node in self.base_constants),
            "ext_constants": tuple(
                tuple(weight._replace(node=position[weight.node]) for weight in sums) for sums in self.ext_constants
            ),
        }
