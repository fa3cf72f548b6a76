"""Attacks on the verifier's program, and the instructions without which each of them succeeds.

An attack has a false number somewhere, and the real program refuses it at one instruction. If the program without this
instruction accepts the attack, with the remedies of `obliging.py`, then the attack *kills* the mutation that drops it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import islice

from graphprover.air.expression import MUL, SUB
from graphprover.field import EXTENSION_DEGREE, ONE, ZERO, Ext, P, ext_add, ext_inv, ext_mul, ext_sub, inv
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.layout import MAIN
from graphprover.recursion.head.head import MOST_LOG_ARITY
from graphprover.recursion.head.words import CHUNK, LIST_PLACE, RUN, SHIFT, ListedWord, ListWord
from graphprover.recursion.openings import MOST_TREES
from graphprover.recursion.program.assembler import HintKind
from graphprover.recursion.program.parts import HIGH
from tests.interop.tables import PLAIN, shuffle, statements, wide
from tests.recursion.attacked import (
    AttackedRun,
    Edit,
    Scene,
    decoded_program,
    machine,
    program,
    scene_of,
    taken,
)
from tests.recursion.layered import COMMON, SHARDS, Child, child, child_of
from tests.recursion.obliging import message_places, obliged
from tests.recursion.sites import at, sites

CONTROL = {
    "jump",
    "call",
    "back",
    "halt",
}  # flags of instructions that are no mutations: nothing else says what follows
_WORK = ("lookup_pow_bits", "ood_pow_bits", "batch_pow_bits", "commit_pow_bits", "query_pow_bits")
_CHANGES: tuple[Ext, ...] = ((1, 0, 0), (0, 0, 1), (0, 1 << 20, 1 << 20))  # the last one moves a span


@dataclass(frozen=True, eq=False)
class Base:
    """A proof of which attacks are made, with one query in general: its opened rows depend on nothing else."""

    child: Child

    @cached_property
    def scene(self) -> Scene:
        """The scene of the honest run."""
        return scene_of(self.child)

    @cached_property
    def visits(self) -> Counter[int]:
        """How often the honest run takes each instruction."""
        assert taken(self.scene, {}) is None
        return Counter(machine().pcs)


@cache
def base(name: str) -> Base:
    """Return a base by its name."""
    if name in SHARDS:
        return Base(child(name))
    parameters, tables = statements()["mixed" if name == "heights" else "preprocessed bytes"]
    work = dict.fromkeys(_WORK, 2 if name == "work" else 0)
    changes = {**COMMON, **work, "num_queries": 6 if name == "stream" else 1}
    if name == "another fold":
        changes["log_final_poly_len"] = 4
    if name == "wide":
        parameters, tables = PLAIN, [wide(16), shuffle(16)]
    return Base(child_of(tables, replace(parameters, **changes)))


BASES = ("work", "another fold", "heights", "stream", "wide", "a shard with a query")


@dataclass(frozen=True, eq=False)
class Attack:
    """A scene and edits with a false number."""

    name: str
    base: Base
    scene: Scene
    edits: Mapping[int, Edit] = field(default_factory=dict)
    target: int | None = None  # the instruction that refuses it, if one of several attacks is enough


def killed(attack: Attack, dropped: Collection[int] = ()) -> int | None:
    """Return the instruction whose mutation an attack kills, or None; ``dropped``: more dropped instructions."""
    real = taken(attack.scene, attack.edits)
    if real is None:
        raise AssertionError(f"the program accepts {attack.name}")
    scene, refused = obliged(attack.base.child.layout, attack.scene, attack.edits, {real.pc, *dropped})
    if refused:
        return None
    again = real if scene is attack.scene else taken(scene, attack.edits)
    if again is None:
        raise AssertionError(f"the program accepts {attack.name} with remedies")
    return real.pc if again.pc == real.pc else None


def killed_by(attacks: Iterable[Attack], found: Mapping[int, str]) -> dict[int, str]:
    """Return ``found`` and the mutations that attacks kill: by the address of the instruction, the attack's name."""
    more = {**found}
    for attack in attacks:
        if attack.target in more:
            continue
        pc = killed(attack)
        if pc is not None:
            more.setdefault(pc, attack.name)
    return more


def mutations() -> list[int]:
    """Return the addresses of all instructions that are mutations."""
    return [of.pc for of in decoded_program() if not CONTROL & of.flags]


def result_changed(pc: int, visit: int, change: Ext) -> Edit:
    """Return the edit before an instruction that gives the cell that it would find another value, at one visit."""

    def edit(run: AttackedRun, frame: int, number: int) -> None:
        run.hint(frame, pc)
        known = len(run.memory)
        try:
            run.steps[pc](frame)
        except Exception:  # the instruction does not hold, and is dropped
            return
        found = [*islice(reversed(run.memory), len(run.memory) - known)]
        if found and number == visit:
            run.memory[found[0]] = ext_add(run.memory[found[0]], change)

    return edit


def frame_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks that give a frame an address with a second coordinate, if it is one that a function jumps in."""
    callers = (*at("turn", "call/call_over/store", "copy"), *at("turn", "call/call_over/store", "fill"))
    callers += (*at("turn", "call/call_over/store", "queries"), *at("turn", "call/call_over/store", "query"))
    for pc in callers:
        for offset, kind, *_ in _hints(pc):
            if kind == HintKind.ALLOCATE and pc in of.visits:
                edits = {pc: hint_changed(pc, {offset: (0, 1, 0)}, 0)}
                yield Attack(f"a frame at {sites()[pc]}", of, of.scene, edits)


def _hints(pc: int) -> list[list[int]]:
    linked = program()
    return linked.hints[linked.first_hints[pc] : linked.first_hints[pc + 1]].tolist()


def hint_changed(pc: int, changes: Mapping[int, Ext], visit: int) -> Edit:
    """Return the edit before an instruction that adds to cells with hints, by their offsets, at one visit."""

    def edit(run: AttackedRun, frame: int, number: int) -> None:
        run.hint(frame, pc)
        if number == visit:
            for offset, change in changes.items():
                run.memory[frame + offset] = ext_add(run.memory[frame + offset], change)

    return edit


# Bits.


def bit_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks on the bits of numbers: one that is not boolean, one of another number, and all of another one."""
    for code, function in (("_reversed", "reversed"), ("bits_of", "query")):
        bits, adds = at(code, "require_bit", function), at(code, "add", function)
        for place, pc in enumerate(bits):
            byte, k = divmod(place, 8)
            own = bits[8 * byte : 8 * byte + 8]
            yield Attack(f"{function}: bit {place} is not boolean", of, of.scene, _other_bits(own, 7 - k))
            edits = {pc: _flipped(pc, 0), adds[place]: _right_total(adds[place])}
            yield Attack(f"{function}: bit {place} is the other one", of, of.scene, edits)
    (rest,) = at("bits_of", "require_bit", "query")[-1:]
    yield Attack("the bits of a query's sample are other ones", of, of.scene, {rest: _flipped(rest, 0)})
    rest = at("_reversed", "require_bit", "reversed")[0]
    yield Attack("the quotient of a work's sample has other bits", of, of.scene, {rest: _flipped(rest, 1)})


def _other_bits(pcs: Sequence[int], changed: int) -> Mapping[int, Edit]:
    """Return edits that give one of eight bits another value, so that the byte remains; the others are 0 or 1.

    The bit is (byte - sum of the others) / 2^k, and the others are all 1 - b.
    """

    def edited(pc: int) -> Edit:
        ((offset, _, a, _, bit),) = _hints(pc)

        def edit(run: AttackedRun, frame: int, number: int) -> None:
            run.hint(frame, pc)
            if number:
                return
            byte = run.memory[frame + a][0] >> (bit & ~7) & 0xFF
            others = sum((1 - (byte >> k & 1)) << k for k in range(8) if k != changed)
            value = (byte - others) * inv(1 << changed) % P if bit & 7 == changed else 1 - (byte >> (bit & 7) & 1)
            run.memory[frame + offset] = (value, 0, 0)

        return edit

    return {pc: edited(pc) for pc in pcs}


def _flipped(pc: int, visit: int) -> Edit:
    """Return the edit that gives a bit its other value."""
    ((offset, *_),) = _hints(pc)

    def edit(run: AttackedRun, frame: int, number: int) -> None:
        run.hint(frame, pc)
        if number == visit:
            run.memory[frame + offset] = (1 - run.memory[frame + offset][0], 0, 0)

    return edit


def _right_total(pc: int) -> Edit:
    """Return the edit before a sum of bits that finds the sum with the other value of its last bit, at first."""
    of = decoded_program()[pc]

    def edit(run: AttackedRun, frame: int, number: int) -> None:
        bit = run.memory[frame + of.d][0]
        bit = 1 - bit if number == 0 else bit
        run.memory[frame + of.c] = ((bit + 2 * run.memory[frame + of.a][0]) % P, 0, 0)

    return edit


# Digests, messages and gates.


def base_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks that make a digest of other numbers, one of them with more coordinates, of the same elements.

    The last digest of a transcript has numbers that no message repeats, and of which a query reads one.
    """
    x_inverse = ext_inv((0, 1, 0))
    x2_inverse = ext_mul(x_inverse, x_inverse)
    partners: dict[int, tuple[int, Ext]] = {  # another number, to which 1 is added, and the change of this one
        0: (1, (0, P - 1, 0)),
        1: (2, (0, P - 1, 0)),
        2: (0, ext_sub(ZERO, x2_inverse)),
        3: (4, (0, P - 1, 0)),
        4: (5, (0, P - 1, 0)),
        5: (3, ext_sub(ZERO, x2_inverse)),
        6: (7, (0, P - 1, 0)),
    }
    pc = at("provided_digest", "require_base", "squeeze")[0]
    offsets = [offset for offset, *_ in _hints(pc)]
    for number, (partner, change) in partners.items():
        edit = hint_changed(pc, {offsets[number]: change, offsets[partner]: ONE}, of.visits[pc] - 1)
        yield Attack(f"number {number} of the last digest", of, of.scene, {pc: edit})


def root_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks that have another root in a message than in the tree."""
    layout = of.child.layout
    place = message_places(layout)["main"]
    first = len(of.scene.head.constants.before_main)
    tree = [round_.name for round_ in layout.rounds].index(MAIN)
    assert of.scene.head.areas["main"].size > first
    adds = at("digest_words", "add", "provide caps")
    for word in range(DIGEST_WORDS):
        scene = of.scene.with_words(place, {first + word: (of.scene.rows[place][first + word] + 1) % P})
        yield Attack(f"word {word} of a root", of, scene)
        edit = result_changed(adds[word], tree, ONE)
        yield Attack(f"word {word} of a root, as the sum of its halves", of, scene, {adds[word]: edit})


def head_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with a head of another digest than in the list."""
    tree, layer, index = LIST_PLACE
    place = tree, layer, index + 1
    adds = at("digest_words", "add", "child")
    for word in range(DIGEST_WORDS):
        number = of.scene.digests[place][2 * word]
        change = -1 if number else 1
        scene = of.scene.with_numbers(place, {2 * word: number + change})
        yield Attack(f"word {word} of a head's digest", of, scene)
        edit = result_changed(adds[word], 0, (-change % P, 0, 0))
        yield Attack(f"word {word} of a head's digest, as the sum of its halves", of, scene, {adds[word]: edit})


def digest_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with another number of a digest, while the words that other tables look up are the right ones.

    In the transcript it is a number of the last digest that no query reads, in a tree also the root in the message, and
    of a head also its digest in the list.
    """
    squeezed, provided, of_head = (
        at("provided_digest", "require_base", function)[0] for function in ("squeeze", "provide caps", "child")
    )
    place = message_places(of.child.layout)["main"]
    first = len(of.scene.head.constants.before_main)
    tree = [round_.name for round_ in of.child.layout.rounds].index(MAIN)
    for number, which, change in _WORDS_OF_CAPS:
        root, step = first + number // 2, HIGH if number % 2 else 1
        message = of.scene.with_words(place, {root: (of.scene.rows[place][root] + step) % P})
        listed = len(ListWord) + ListedWord.DIGEST + number // 2
        heads = of.scene.with_words(LIST_PLACE, {listed: (of.scene.rows[LIST_PLACE][listed] + step) % P})
        of_functions = (squeezed, of.visits[squeezed] - 1, of.scene), (provided, tree, message), (of_head, 0, heads)
        for pc, visit, scene in of_functions:
            function = sites()[pc].function
            own = {pc: hint_changed(pc, {_hints(pc)[number][0]: ONE}, visit)}
            yield Attack(f"number {number} of a digest in {function}", of, scene, own)
            sums = (
                *at("<genexpr>", "multiply_add", function),
                *at("provided_digest", "multiply_add", function),
            )
            edits = {**own, sums[which]: result_changed(sums[which], visit, ext_sub(ZERO, change))}
            yield Attack(f"number {number} of a digest in {function}, not of its words", of, scene, edits)


# A number of a digest, the sum of numbers that has it, and its factor there.
_WORDS_OF_CAPS: tuple[tuple[int, int, Ext], ...] = (
    (0, 0, (1, 0, 0)),
    (2, 1, (0, 0, 1)),
    (3, 2, (1, 0, 0)),
    (5, 3, (0, 0, 1)),
    (6, 4, (1, 0, 0)),
)


def zero_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with a false terminal or opened value, whose checks are read as zeros."""
    load = at("turn", "load", "zeros")[1]
    offset = decoded_program()[load].c

    def edit(run: AttackedRun, frame: int, number: int) -> None:
        run.memory[frame + offset] = ZERO

    for attack in number_attacks(of):
        yield replace(attack, name=f"{attack.name}, and zeros for checks", edits={load: edit})


def inverse_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with a false inverse, and with the right result of its product or of the difference to 1."""
    scene, gates = of.scene, of.scene.head.gates
    addresses = gates.addresses.tolist()
    begin = len(addresses) - len(gates.kinds)
    uses = [*zip(addresses[begin:], gates.kinds.tolist(), gates.first.tolist(), gates.second.tolist(), strict=True)]
    for place in gates.inverses.tolist():
        inverse = addresses[place]
        value = ext_add(scene.honest[inverse], ONE)
        for product, kind, *operands in uses:
            if kind != MUL or place not in operands:
                continue
            differences = [own for own, kind, first, _ in uses if kind == SUB and addresses[first] == product]
            for right in (product, *differences):
                false = {inverse: value, right: scene.honest[right]}
                yield Attack(f"a false inverse at {inverse}, with {right}", of, replace(scene, gates=false))


def number_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with a false terminal, opened value or coefficient."""
    scene, areas, places = of.scene, of.scene.head.areas, message_places(of.child.layout)
    words = {
        "a terminal": ("permutation", areas["permutation"].first_element),
        "an opened value": ("opening", areas["opening"].first_element),
        "a coefficient of the final polynomial": ("last", areas["last"].first_element + EXTENSION_DEGREE),
    }
    for name, (message, word) in words.items():
        own = scene.rows[places[message]]
        yield Attack(name, of, scene.with_words(places[message], {word: (own[word] + 1) % P}))


def group_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with a false element in a group of a fold, false works, and samples of p or more."""
    scene, layout = of.scene, of.child.layout
    for (tree, layer, index), own in scene.rows.items():
        if tree >= MOST_TREES + len(layout.rounds) and len(own) <= EXTENSION_DEGREE << MOST_LOG_ARITY:
            for word in range(0, len(own), EXTENSION_DEGREE):
                other = scene.with_words((tree, layer, index), {word: (own[word] + 1) % P})
                yield Attack(f"word {word} of the group at {tree, layer, index}", of, other)
    quotient = message_places(layout)["quotient"]
    if layout.parameters.ood_pow_bits:
        place = quotient[0], quotient[1], quotient[2] + 1
        other = _with_digest(scene, place, {7: scene.digests[place][7] ^ 1 << 24})
        yield Attack("a nonce without work", of, other)
        return
    for number in (6, 4, 2):  # upper halves
        yield Attack(f"half {number} of zeta is 2^32 - 1", of, _with_digest(scene, quotient, {number: HIGH - 1}))


def _with_digest(scene: Scene, place: Ext, changes: Mapping[int, int]) -> Scene:
    """Return the scene with other numbers of a digest, also in the message after it."""
    scene = scene.with_numbers(place, changes)
    numbers, following = scene.digests[place], (place[0], place[1], place[2] + 1)
    if following not in scene.rows:
        return scene
    words = {word: (numbers[2 * word] + HIGH * numbers[2 * word + 1]) % P for word in range(DIGEST_WORDS)}
    return scene.with_words(following, words)


def shard_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks on a shard: other values before its digest than in the openings, and a point in the base field."""
    scene, places = of.scene, message_places(of.child.layout)
    first, own = DIGEST_WORDS, scene.rows[places["separated"]]
    for word in range(first, first + EXTENSION_DEGREE + RUN):  # of the column of the head, and a whole run after it
        other = scene.with_words(places["separated"], {word: (own[word] + 1) % P})
        yield Attack(f"word {word - first} of the separated values", of, other)
    in_base = _with_digest(scene, places["main"], dict.fromkeys((2, 3, 4, 5), 0))
    yield Attack("a separating point in the base field", of, in_base)


def gate_attacks(of: Base) -> Iterator[Attack]:
    """Yield attacks with another result of one gate, of each chunk from the last one on."""
    scene, first = of.scene, 0
    at_gates = scene.head.start.at + CHUNK * scene.head.read_chunks
    for kind, chunks in enumerate(scene.head.gates.chunks):
        instructions = at("_gates", "gate", f"gates {kind}")
        for word in range(1, CHUNK_WORDS):
            for chunk in reversed(range(first, first + chunks)):
                address = at_gates + CHUNK * chunk + SHIFT * word
                value = ext_add(scene.honest[address], ONE)
                cells, gates = {**scene.cells, address: value}, {address: value}
                other = replace(scene, cells=cells, gates=gates)
                yield Attack(f"gate {word} of chunk {chunk}", of, other, target=instructions[word - 1])
        first += chunks


def pair_attack(of: Base) -> tuple[Attack, Sequence[int]]:
    """Return an attack with another root in a message than in the tree, and the checks that must be gone together.

    The numbers n_0 and n_1 have more coordinates: n_0 + n_1 X is the same, and n_0 + 2^32 n_1 is greater by 1.
    """
    place, first = message_places(of.child.layout)["main"], len(of.scene.head.constants.before_main)
    scene = of.scene.with_words(place, {first: (of.scene.rows[place][first] + 1) % P})
    pcs = at("provided_digest", "require_base", "provide caps")
    second = ext_inv(ext_sub((HIGH, 0, 0), (0, 1, 0)))
    changes = {0: ext_sub(ONE, ext_mul((HIGH, 0, 0), second)), 1: second}
    tree = [round_.name for round_ in of.child.layout.rounds].index(MAIN)
    edit = hint_changed(pcs[0], {_hints(pcs[0])[i][0]: change for i, change in changes.items()}, tree)
    return Attack("two numbers of a root", of, scene, {pcs[0]: edit}), pcs[:2]


def idle(of: Base) -> set[int]:
    """Return the instructions of mutations that find no cell in an honest run: at each visit, they only compare."""
    found, busy = set[int](), set[int]()

    def noted(pc: int) -> Edit:
        def edit(run: AttackedRun, frame: int, number: int) -> None:
            run.hint(frame, pc)
            known = len(run.memory)
            run.steps[pc](frame)
            (busy if len(run.memory) > known else found).add(pc)

        return edit

    edits = {pc: noted(pc) for pc in mutations()}
    refused = taken(of.scene, edits)
    assert refused is None
    return found - busy
