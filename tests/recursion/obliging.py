"""A prover that makes runs of the verifier's program halt by other rows and digests, as if hashes bound nothing.

A dropped instruction leaves a relation out, and this prover completes the run in which it does not hold. A refused run
says which other relation does not hold; a *remedy* changes the scene so that it does.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from graphprover.field import EXTENSION_DEGREE, ZERO, Ext, P, ext_inv, ext_mul, ext_sub
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.layout import QUOTIENT, Layout
from graphprover.recursion.head.memory_areas import opened_counts
from graphprover.recursion.head.words import CHUNK, ELEMENT_CELLS, HEAD_TREE, SHIFT, TRANSCRIPT_TREE
from graphprover.recursion.tables.segments import READ
from tests.recursion.attacked import Edit, Refused, Scene, decoded_program, results, taken
from tests.recursion.sites import at, sites

MOST_REMEDIES = 20
_LOW = 0xFFFFFFFF
_NO_WORD = (0, 1, 0)  # no base element
_MOST_CHUNKS = 8  # of a row that this prover adds

Remedy = Callable[[Layout, Refused], Scene | None]


def obliged(
    layout: Layout, scene: Scene, edits: Mapping[int, Edit], dropped: Collection[int]
) -> tuple[Scene, Refused | None]:
    """Return a scene in which a program without some instructions halts, or the last scene with the refusal."""
    refused = None
    for _ in range(MOST_REMEDIES):
        refused = taken(scene, edits, dropped)
        if refused is None:
            break
        of = _unknown if isinstance(refused.error, ValueError) else remedies().get(refused.pc)
        better = of(layout, refused) if of else None
        if better is None:
            break
        scene = better
    return scene, refused


@cache
def remedies() -> Mapping[int, Remedy]:
    """Return the remedy for each instruction that has one."""
    found: dict[int, Remedy] = {pc: _other_row for pc, of in enumerate(decoded_program()) if "row" in of.flags}
    found |= dict.fromkeys(at("provided_digest", "cap"), _other_digest)
    found |= dict.fromkeys(at("digest_words", "store", "provide caps"), _other_root)
    found |= dict.fromkeys(at("_grind", "require_equal"), _other_work)
    found |= dict.fromkeys(at("turn", "require", "zeros"), _other_quotients)
    for by in (2, 4, 8):
        found |= dict.fromkeys(at("_fold", "store", f"fold by {by}")[:1], _other_group)
    found |= dict.fromkeys(at("_query", "require_equal"), _other_coefficient)
    return found


def message_places(layout: Layout) -> dict[str, Ext]:
    """Return the places of messages."""
    parameters = layout.parameters
    messages = {
        "main": 0 if layout.shard else parameters.lookup_pow_bits,
        "separated" if layout.shard else "again": 0,
        "permutation": 0,
        "quotient": parameters.ood_pow_bits,
        "opening": parameters.batch_pow_bits,
        **{f"fold {i}": parameters.commit_pow_bits for i in range(len(layout.fold_log_arities))},
        "last": parameters.query_pow_bits,
    }
    places, number = dict[str, Ext](), 0
    for name, bits in messages.items():
        places[name] = TRANSCRIPT_TREE, 0, number
        number += 1 + (bits > 0)
    return places


def _operands(refused: Refused, pc: int | None = None) -> list[Ext | None]:
    """Return the values of the operands a, b, c and d of the last instruction, or of another one in its frame."""
    of = decoded_program()[refused.pc if pc is None else pc]
    return [refused.run.memory.get(refused.frame + offset) for offset in of[4:]]


def _unknown(layout: Layout, refused: Refused) -> Scene | None:
    """Set a cell that the run does not find to its value in the honest run, or to 0."""
    scene, cause = refused.run.scene, refused.error.__cause__
    if not isinstance(cause, KeyError):
        return None
    unknown, *_ = cause.args
    if isinstance(unknown, tuple):
        return replace(scene, digests={**scene.digests, unknown: (0,) * 8})
    return replace(scene, cells={**scene.cells, unknown: scene.honest.get(unknown, ZERO)})


def _other_row(layout: Layout, refused: Refused) -> Scene | None:
    """Let a row have the words that are in memory; a row that does not exist gets them, too."""
    scene, memory = refused.run.scene, refused.run.memory
    place, span, *_ = _operands(refused)
    if place is None or span is None or place[0] == HEAD_TREE:
        return None
    counter, base, end = span
    count, first = (end - base) // SHIFT, counter * CHUNK // SHIFT
    if end - base != SHIFT * count or not 0 < count <= CHUNK_WORDS or counter > _MOST_CHUNKS:
        return None
    words = list(scene.rows.get(place, ()))[: first + CHUNK_WORDS]
    is_read = decoded_program()[refused.pc].k == READ
    like = next((own for other, own in scene.rows.items() if other[:2] == place[:2]), ())
    for i in range(len(words), first + count):
        words.append(like[i] if i < len(like) else 0)
    del words[first + count :]
    for i in range(count if is_read else 0):
        wanted = memory.get(base + SHIFT * i, (words[first + i], 0, 0))
        if wanted[1:] != (0, 0):
            return None
        words[first + i] = wanted[0]
    return replace(scene, rows={**scene.rows, place: tuple(words)}) if scene.rows.get(place) != tuple(words) else None


def _other_digest(layout: Layout, refused: Refused) -> Scene | None:
    place, *words = _operands(refused)
    numbers = [number for word in words for number in word or ()]
    if place is None or len(numbers) != 9 or max(numbers[:8]) > _LOW:
        return None
    return refused.run.scene.with_numbers(place, dict(enumerate(numbers[:8])))


def _other_root(layout: Layout, refused: Refused) -> Scene | None:
    """Take the words of the message as the digest."""
    pointer, _, _, _ = _operands(refused)
    (cap,) = at("provided_digest", "cap", "provide caps")
    place = _operands(refused, cap)[0]
    if pointer is None or place is None:
        return None
    words = [refused.run.memory.get(pointer[0] + SHIFT * i, _NO_WORD) for i in range(DIGEST_WORDS)]
    if any(word[1:] != (0, 0) for word in words):
        return None
    numbers = [half for word, _, _ in words for half in (word & _LOW, word >> 32)]
    return refused.run.scene.with_numbers(place, dict(enumerate(numbers)))


def _other_work(layout: Layout, refused: Refused) -> Scene | None:
    """Let the sample of the work be 0."""
    (load,) = at("_grind", "load", "finish")
    number = _operands(refused, load)[2]
    scene = refused.run.scene
    for place, numbers in scene.digests.items():
        if place[0] == TRANSCRIPT_TREE and number == (numbers[7], 0, 0):
            return scene.with_numbers(place, {7: 0})
    return None


def _other_quotients(layout: Layout, refused: Refused) -> Scene | None:
    """Change terminals for the sum of them, then opened values of quotients for each table's constraints."""
    scene, memory = refused.run.scene, refused.run.memory
    head, of, areas = scene.head, scene.head.gates, scene.head.areas
    cells = np.array([memory.get(address, ZERO) for address in of.addresses[: of.cells].tolist()], dtype=np.uint64).T
    numbers = {address: i for i, address in enumerate(of.addresses.tolist())}
    checks = [numbers[address] for address in of.checks.tolist()]

    def checked(changed: int | None = None) -> list[Ext]:
        other = cells.copy()
        if changed is not None:
            other[0, changed] = (int(other[0, changed]) + 1) % P
        values = results(of, other, scene.gates)
        return [values[i] for i in checks]

    places, now = message_places(layout), checked()
    counts = opened_counts(layout)
    first = sum([*counts.values()][: [*counts].index(QUOTIENT)])
    free: list[tuple[int, Ext, int]] = []  # number of a cell, place and number of its first word
    if now[-1] != ZERO:
        at_terminal = head.at + areas["permutation"].elements_at + 1
        free.append((numbers[at_terminal], places["permutation"], areas["permutation"].first_element))
    else:
        for i in range(counts[QUOTIENT] // EXTENSION_DEGREE):
            word = areas["opening"].first_element + EXTENSION_DEGREE * (first + EXTENSION_DEGREE * i)
            free.append((numbers[head.at + areas["joined", QUOTIENT].at + i], places["opening"], word))
    for cell, place, word in free:
        after = checked(cell)
        for check, (before, then) in enumerate(zip(now, after, strict=True)):
            slope = ext_sub(then, before)
            if before == ZERO or slope == ZERO or (check != len(now) - 1) == (now[-1] != ZERO):
                continue
            change = ext_mul(ext_sub(ZERO, before), ext_inv(slope))
            return _added(scene, place, word, change)
    return None


def _added(scene: Scene, place: Ext, word: int, change: Ext) -> Scene | None:
    """Add to the element of three words of a row."""
    own = scene.rows[place][word : word + EXTENSION_DEGREE]
    if len(own) < EXTENSION_DEGREE:
        return None
    return scene.with_words(place, {word + k: (own[k] + change[k]) % P for k in range(EXTENSION_DEGREE)})


def _other_group(layout: Layout, refused: Refused) -> Scene | None:
    """Let the queried element of a group be the value before the fold."""
    pointer, _, value, _ = _operands(refused)
    (row,) = at("_fold", "row", sites()[refused.pc].function)
    place = _operands(refused, row)[0]
    if pointer is None or value is None or place is None:
        return None
    element = (pointer[0] - refused.frame) // ELEMENT_CELLS
    scene = refused.run.scene
    if not 0 <= EXTENSION_DEGREE * element < len(scene.rows.get(place, ())):
        return None
    return scene.with_words(place, {EXTENSION_DEGREE * element + k: value[k] for k in range(EXTENSION_DEGREE)})


def _other_coefficient(layout: Layout, refused: Refused) -> Scene | None:
    """Let the constant coefficient of the final polynomial be another one."""
    total, _, value, _ = _operands(refused)
    if total is None or value is None:
        return None
    place, scene = message_places(layout)["last"], refused.run.scene
    word = scene.head.areas["last"].first_element
    return _added(scene, place, word, ext_sub(value, total))
