"""The transcript in the verifier's program: messages, their digests, proofs of work and challenges.

A message is an opened row whose words are in memory, at a place of the transcript with the number of the message. Its
digest is provided there. So each message has one digest, which the first four words of the next message are.

*Freedom.* A prover chooses the block's words beyond the end of a message, and a word below 2^32 - 1 has two encodings.
So a message has several digests. Each of them costs a hash, like the digest of another message: one more try at the
next challenge, as another nonce is. Two digests with the same words mod p are a collision in all but a few bits.

*Samples.* The eight numbers of a digest are in memory from the last one on, since samples are read from the end of a
digest. A sample has the two numbers of its bytes in reversed order, the first one for the lower half. A sample of p or
more would be drawn again: the program refuses those with the upper half 2^32 - 1, which one of 2^32 has.
"""

from collections.abc import Callable, Sequence
from functools import cache

from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.recursion.head.fields import (
    BITS,
    CHALLENGES,
    CHUNK,
    ELEMENT_CELLS,
    JOINT,
    SHIFT,
    STREAM_WORDS,
    Field,
    Fold,
    Message,
)
from graphprover.recursion.program.assembler import Cell, Function, Hint
from graphprover.recursion.program.hints import HintKind
from graphprover.recursion.program.parts import (
    DIGEST_NUMBERS,
    HIGH,
    Parts,
    argument,
    digest_words,
    provided_digest,
    record,
    words,
)
from graphprover.recursion.tables.segments import READ

_BYTE = 8

Body = Callable[[Function, Sequence[Cell]], Sequence[Cell]]  # of a loop


def transcript(parts: Parts) -> Function:
    """Return the function that replays the transcript.

    It takes the head's address and the place of the first message, and returns the address of the first query's sample
    and the place after the last message.
    """
    finish, absorb = _finish(parts), _absorb(parts)
    draw, commit = _draw(parts), _commit(parts, absorb, _challenge(parts))
    f = parts.program.function("transcript", arguments=2, results=2)
    head, place = f.arguments
    carried: Sequence[Cell] = head, *f.call(finish, [place, f.linear(1, head, SHIFT * Field.MAIN)])
    for lookups, field in ((_lookups_alone, Field.ALONE), (_lookups_of_shard, Field.SHARD)):
        (turns,) = words(f, argument(f, 0), field)
        carried = f.loop(turns, carried, lookups(parts, absorb, draw))
    head, place, digest, _ = carried
    for field, name in ((Field.PERMUTATION, "alpha"), (Field.QUOTIENT, "zeta"), (Field.OPENINGS, "gamma")):
        place, digest, samples = f.call(absorb, [place, f.linear(1, head, SHIFT * field), digest])
        f.call(draw, [head, samples, f.constant(CHALLENGES.index(name))])
    place, digest = f.call(commit, [head, place, digest])
    place, digest, samples = f.call(absorb, [place, f.linear(1, head, SHIFT * Field.LAST), digest])
    turns, at = words(f, head, Field.STREAM, Field.STREAM_AT)

    def turn(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        place, at, digest, samples = cells
        following = g.linear(1, digest, DIGEST_NUMBERS)
        _chain(g, at, digest)
        _short(g, parts, place, at, following)
        (x2,) = parts.fixed(g, parts.x2)
        return g.add(place, x2), g.linear(1, at, SHIFT * STREAM_WORDS), following, samples

    place, *_, samples = f.loop(turns, [place, at, digest, samples], turn)
    f.give_back([samples, place])
    return f


def _lookups_alone(parts: Parts, absorb: Function, draw: Function) -> Body:
    """Return the body that draws the lookup challenges of a proof in one shard, from the digest of its first message.

    This body and the next one carry the head's address, a place, a digest and the next sample.
    """

    def body(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        head, place, digest, samples = cells
        (x2,) = parts.fixed(g, parts.x2)
        (again,) = words(g, head, Field.AGAIN_AT)
        following = g.linear(1, digest, DIGEST_NUMBERS)
        _chain(g, again, digest)
        _short(g, parts, place, again, following)
        g.call(draw, [head, samples, g.constant(CHALLENGES.index("sigma"))])
        of_tau = g.linear(1, samples, 2 * EXTENSION_DEGREE)
        g.call(draw, [head, of_tau, g.constant(CHALLENGES.index("tau"))])
        return head, g.add(place, x2), following, of_tau

    return body


def _lookups_of_shard(parts: Parts, absorb: Function, draw: Function) -> Body:
    """Return the body that draws a shard's separating point and absorbs the values there, up to the shard's digest.

    The digest, the lookup challenges and the sum of the terminals are in the head: its verifier has drawn the
    challenges from the digests of all shards, and adds up the sums. The next message begins with the head's digest.
    """

    def body(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        head, place, digest, samples = cells
        (lowest,) = g.call(draw, [head, samples, g.constant(CHALLENGES.index("separating"))])
        to, joint = words(g, head, Field.CHALLENGES_AT, Field.JOINT_AT)
        point = g.load(to, CHALLENGES.index("separating"))
        g.divide(g.constant(1), g.subtract(point, lowest))  # so that the point is not in the base field
        for number, name in enumerate(JOINT):
            g.store(to, CHALLENGES.index(name), g.load(joint, ELEMENT_CELLS * number))
        return head, *g.call(absorb, [place, g.linear(1, head, SHIFT * Field.SEPARATED), digest])

    return body


@cache
def _squeeze(parts: Parts) -> Function:
    """Return the function that hashes a message, and writes its digest's numbers to memory, the last one first."""
    f = parts.program.function("squeeze", arguments=5)
    place, base, chunks, end, to = f.arguments
    x2, both = parts.fixed(f, parts.x2, parts.both)
    span = f.multiply_add(base, both, f.linear(CHUNK, x2))
    beyond = f.add(chunks, f.subtract(end, base), k=-CHUNK, l=-CHUNK)
    tail = f.multiply(beyond, x2)

    def turn(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        span, step, place, tail = cells
        g.row(place, READ, span)
        return g.add(span, step), step, place, tail

    span, _, place, tail = f.loop(chunks, [span, f.linear(CHUNK, both, 1), place, tail], turn)
    f.row(place, READ, f.add(span, tail))
    to = argument(f, -1)
    for k, number in enumerate(provided_digest(f, parts, place)):
        f.store(to, DIGEST_NUMBERS - 1 - k, number)
    f.give_back([])
    return f


def _chain(f: Function, base: Cell, digest: Cell) -> None:
    """Require the first words of a message to be a digest."""
    digest_words(f, base, [f.load(digest, DIGEST_NUMBERS - 1 - k) for k in range(DIGEST_NUMBERS)])


def _short(f: Function, parts: Parts, place: Cell, base: Cell, to: Cell, words: int = DIGEST_WORDS) -> None:
    """Hash a message of one chunk."""
    f.call(_squeeze(parts), [place, base, f.constant(0), f.linear(1, base, SHIFT * words), to])


@cache
def _finish(parts: Parts) -> Function:
    """Return the function that hashes a message and checks the work after it.

    It takes the place and the record of the message, and returns the next place, the last digest, and the next sample.
    """
    reversed_ = _reversed(parts)
    f = parts.program.function("finish", arguments=2, results=3)
    place, pointer = f.arguments
    base, chunks, end, works = record(f, pointer, list(Message)[: Message.WORKS + 1])
    digest = f.allocate()
    f.call(_squeeze(parts), [place, base, chunks, end, digest])
    (x2,) = parts.fixed(f, parts.x2)

    def work(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        place, digest, pointer = cells
        base, factor = record(g, pointer, [Message.WORK_AT, Message.FACTOR])
        _chain(g, base, digest)
        following = g.allocate()
        _short(g, parts, place, base, following, DIGEST_WORDS + 1)
        (sampled,) = g.call(reversed_, [g.load(following)])
        rest = g.hint(Hint(HintKind.QUOTIENT, sampled, factor))
        g.call(reversed_, [rest])  # which has 32 bits
        g.require_equal(g.multiply(rest, factor), sampled)
        (x2,) = parts.fixed(g, parts.x2)
        return g.add(place, x2), following, pointer

    place, digest, pointer = f.loop(works, [f.add(place, x2), digest, pointer], work)
    (works,) = record(f, pointer, [Message.WORKS])
    f.give_back([place, digest, f.add(works, digest, k=2)])
    return f


def _absorb(parts: Parts) -> Function:
    """Return the function that hashes a message after a digest, with the results of `_finish`."""
    finish = _finish(parts)
    f = parts.program.function("absorb", arguments=3, results=3)
    place, pointer, digest = f.arguments
    (base,) = record(f, pointer, [Message.AT])
    _chain(f, base, digest)
    f.give_back(f.call(finish, [place, pointer]))
    return f


def _commit(parts: Parts, absorb: Function, challenge: Function) -> Function:
    """Return the function that draws the challenge of each fold.

    It takes the head's address, a place and a digest, and returns the next place and the last digest.
    """
    f = parts.program.function("commit", arguments=3, results=2)
    head, place, digest = f.arguments
    turns, pointer = words(f, head, Field.FOLDS, Field.FOLDS_AT)

    def turn(g: Function, cells: Sequence[Cell]) -> Sequence[Cell]:
        pointer, place, digest = cells
        place, digest, samples = g.call(absorb, [place, pointer, digest])
        power, _ = g.call(challenge, [samples])
        (to,) = record(g, pointer, [Fold.BETA])
        g.store(to, 0, power)
        for k in range(1, 4):
            power = g.multiply(power, power)
            g.store(to, k, power)
        return g.linear(1, pointer, SHIFT * len([*Message, *Fold])), place, digest

    _, place, digest = f.loop(turns, [pointer, place, digest], turn)
    f.give_back([place, digest])
    return f


def _draw(parts: Parts) -> Function:
    """Return the function that draws a challenge of the head.

    It takes the head's address, the one of three samples, and the number of the challenge. It returns the challenge's
    lowest coefficient.
    """
    f = parts.program.function("draw", arguments=3, results=1)
    head, samples, number = f.arguments
    drawn, lowest = f.call(_challenge(parts), [samples])
    (to,) = words(f, head, Field.CHALLENGES_AT)
    f.store(f.add(to, number), 0, drawn)
    f.give_back([lowest])
    return f


@cache
def _challenge(parts: Parts) -> Function:
    """Return the function that draws an extension element from three samples at an address.

    It returns the element and its lowest coefficient.
    """
    reversed_ = _reversed(parts)
    f = parts.program.function("challenge", arguments=1, results=2)
    (samples,) = f.arguments
    x, x2 = parts.fixed(f, parts.x, parts.x2)
    one, drawn = f.constant(1), []
    for k in range(EXTENSION_DEGREE):
        lower, upper = (f.call(reversed_, [f.load(samples, 2 * k + half)])[0] for half in range(2))
        f.divide(one, f.linear(1, upper, 1 - HIGH))  # so that it is not 2^32 - 1, and the sample below p
        drawn.append(f.add(upper, lower, k=HIGH))
    f.give_back([f.multiply_add(drawn[2], x2, f.multiply_add(drawn[1], x, drawn[0])), drawn[0]])
    return f


@cache
def _reversed(parts: Parts) -> Function:
    """Return the function that reverses the bytes of a number of 32 bits."""
    f = parts.program.function("reversed", arguments=1, results=1)
    (number,) = f.arguments
    size, zero = BITS // _BYTE, f.constant(0)
    numbers = []
    for at in range(size):
        total = zero
        for k in reversed(range(_BYTE)):
            bit = f.hint(Hint(HintKind.BIT, number, number=_BYTE * at + k))
            f.require_bit(bit)
            total = f.add(total, bit, k=2)
        numbers.append(total)
    totals = []
    for order in (numbers[::-1], numbers):  # from the highest byte on
        total = order[0]
        for byte in order[1:]:
            total = f.add(total, byte, k=1 << _BYTE)
        totals.append(total)
    f.require_equal(totals[0], number)
    f.give_back(totals[1:])
    return f


def bits_of(f: Function, number: Cell, cells: Sequence[Cell]) -> None:
    """Require a number to have 32 bits. The cells get the bits of the number with reversed bytes, the lowest first."""
    total = f.constant(0)
    for k in reversed(range(BITS)):
        cell = cells[_BYTE * (BITS // _BYTE - 1 - k // _BYTE) + k % _BYTE]
        f.advise(cell, Hint(HintKind.BIT, number, number=k))
        f.require_bit(cell)
        total = f.add(total, cell, k=2)
    f.require_equal(total, number)
