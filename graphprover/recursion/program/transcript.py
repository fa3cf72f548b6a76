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
from dataclasses import dataclass, field
from functools import cache

from graphprover.field import EXTENSION_DEGREE
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.recursion.head.words import (
    BETA_CELLS,
    BITS,
    CHALLENGES,
    CHUNK,
    ELEMENT_CELLS,
    JOINT,
    SHIFT,
    STREAM_WORDS,
    FoldWord,
    HeadWord,
    MessageWord,
)
from graphprover.recursion.program.assembler import FrameCell, Hint, HintKind, Routine
from graphprover.recursion.program.parts import (
    DIGEST_NUMBERS,
    HIGH,
    VerifierParts,
    argument,
    digest_words,
    provided_digest,
    record,
    words,
)
from graphprover.recursion.tables.segments import READ

_BYTE = 8


@dataclass(eq=False)
class Transcript:
    """A transcript in a frame of a function, with the operations of a verifier's challenger.

    Each of them adds instructions to the function, and moves on.
    """

    f: Routine
    parts: VerifierParts
    head: FrameCell  # address of the head
    place: FrameCell  # of the next message
    digest: FrameCell  # address of the last digest
    samples: FrameCell  # address of the next sample
    _drawn: bool = field(default=False, init=False)  # whether the element of these samples is drawn

    def observe(self, message: HeadWord) -> None:
        """Hash a message by its record in the head, and check the work that follows it."""
        pointer = self.f.linear(1, self.head, SHIFT * message)
        self.place, self.digest, self.samples = self.f.call(_absorb(self.parts), [self.place, pointer, self.digest])
        self._drawn = False

    def observe_digest(self, base: FrameCell) -> None:
        """Hash the last digest alone, as the message at an address: samples go on in its digest."""
        self.digest = _hash_digest(self.f, self.parts, self.place, base, self.digest)

    def observe_folds(self) -> None:
        """Observe the message of each fold, and sample its challenge."""
        self.place, self.digest = self.f.call(_commit(self.parts), [self.head, self.place, self.digest])

    def sample(self, name: str) -> FrameCell:
        """Draw a challenge of the head; return its lowest coefficient."""
        if self._drawn:
            self.samples = self.f.linear(1, self.samples, 2 * EXTENSION_DEGREE)
        self._drawn = True
        (lowest,) = self.f.call(_draw(self.parts), [self.head, self.samples, self.f.constant(CHALLENGES.index(name))])
        return lowest

    def sample_queries(self) -> None:
        """Observe digests until all queries have a sample; the first one is the next sample."""
        turns, at = words(self.f, self.head, HeadWord.STREAM, HeadWord.STREAM_AT)

        def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
            place, at, digest, samples = cells
            digest = _hash_digest(g, self.parts, place, at, digest)
            return _after(g, self.parts, place), g.linear(1, at, SHIFT * STREAM_WORDS), digest, samples

        self.place, _, self.digest, self.samples = self.f.loop(turns, [self.place, at, self.digest, self.samples], turn)

    def when(self, flag: HeadWord, part: "Callable[[Transcript], None]") -> None:
        """Take a part of the transcript if a word of the head is 1; the function's first argument is the head."""

        def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
            inner = Transcript(g, self.parts, *cells)
            part(inner)
            return inner.head, inner.place, inner.digest, inner.samples

        (turns,) = words(self.f, argument(self.f, 0), flag)
        self.head, self.place, self.digest, self.samples = self.f.loop(
            turns, [self.head, self.place, self.digest, self.samples], turn
        )


def transcript(parts: VerifierParts) -> Routine:
    """Return the function that replays the transcript.

    It takes the head's address and the place of the first message, and returns the address of the first query's sample
    and the place after the last message.
    """
    for make in (_reversed, _finish, _absorb, _draw, _commit):  # a program has its functions in this order
        make(parts)
    f = parts.program.function("transcript", arguments=2, results=2)
    head, place = f.arguments
    t = Transcript(f, parts, head, *f.call(_finish(parts), [place, f.linear(1, head, SHIFT * HeadWord.MAIN)]))
    t.when(HeadWord.ALONE, _sample_lookups)
    t.when(HeadWord.SHARD, _separate)
    t.observe(HeadWord.PERMUTATION)
    t.sample("alpha")
    t.observe(HeadWord.QUOTIENT)
    t.sample("zeta")
    t.observe(HeadWord.OPENINGS)
    t.sample("gamma")
    t.observe_folds()
    t.observe(HeadWord.LAST)
    t.sample_queries()
    f.give_back([t.samples, t.place])
    return f


def _sample_lookups(t: Transcript) -> None:
    """Draw the lookup challenges of a proof in one shard: their samples are of two digests."""
    (x2,) = t.parts.fixed(t.f, t.parts.x2)
    t.observe_digest(*words(t.f, t.head, HeadWord.AGAIN_AT))
    t.sample("sigma")
    t.sample("tau")
    t.place = t.f.add(t.place, x2)  # of the digest


def _separate(t: Transcript) -> None:
    """Draw a shard's separating point and absorb the values there, up to the shard's digest.

    The digest, the lookup challenges and the sum of the terminals are in the head: its verifier has drawn the
    challenges from the digests of all shards, and adds up the sums. The next message begins with the head's digest.
    """
    f, lowest = t.f, t.sample("separating")
    to, joint = words(f, t.head, HeadWord.CHALLENGES_AT, HeadWord.JOINT_AT)
    point = f.load(to, CHALLENGES.index("separating"))
    f.divide(f.constant(1), f.subtract(point, lowest))  # so that the point is not in the base field
    for number, name in enumerate(JOINT):
        f.store(to, CHALLENGES.index(name), f.load(joint, ELEMENT_CELLS * number))
    t.observe(HeadWord.SEPARATED)


@cache
def _squeeze(parts: VerifierParts) -> Routine:
    """Return the function that hashes a message, and writes its digest's numbers to memory, the last one first."""
    f = parts.program.function("squeeze", arguments=5)
    place, base, chunks, end, to = f.arguments
    x2, both = parts.fixed(f, parts.x2, parts.both)
    span = f.multiply_add(base, both, f.linear(CHUNK, x2))
    beyond = f.add(chunks, f.subtract(end, base), k=-CHUNK, l=-CHUNK)
    tail = f.multiply(beyond, x2)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
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


def _begin_with(f: Routine, digest: FrameCell, base: FrameCell) -> None:
    """Require the first words of a message to be a digest."""
    digest_words(f, base, [f.load(digest, DIGEST_NUMBERS - 1 - k) for k in range(DIGEST_NUMBERS)])


def _hash_short(
    f: Routine, parts: VerifierParts, place: FrameCell, base: FrameCell, to: FrameCell, words: int = DIGEST_WORDS
) -> None:
    """Hash a message of one chunk."""
    f.call(_squeeze(parts), [place, base, f.constant(0), f.linear(1, base, SHIFT * words), to])


def _hash_digest(f: Routine, parts: VerifierParts, place: FrameCell, base: FrameCell, digest: FrameCell) -> FrameCell:
    """Hash a digest alone, as the message at an address; return the address of its digest, right after the first."""
    following = f.linear(1, digest, DIGEST_NUMBERS)
    _begin_with(f, digest, base)
    _hash_short(f, parts, place, base, following)
    return following


def _after(f: Routine, parts: VerifierParts, place: FrameCell) -> FrameCell:
    """Return the place of the message after one."""
    (x2,) = parts.fixed(f, parts.x2)
    return f.add(place, x2)


@cache
def _finish(parts: VerifierParts) -> Routine:
    """Return the function that hashes a message and checks the work after it.

    It takes the place and the record of the message, and returns the next place, the last digest, and the next sample.
    """
    f = parts.program.function("finish", arguments=2, results=3)
    place, pointer = f.arguments
    base, chunks, end, works = record(f, pointer, list(MessageWord)[: MessageWord.WORKS + 1])
    digest = f.allocate()
    f.call(_squeeze(parts), [place, base, chunks, end, digest])

    def work(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        place, digest, pointer = cells
        digest = _grind(g, parts, place, digest, pointer)
        return _after(g, parts, place), digest, pointer

    place, digest, pointer = f.loop(works, [_after(f, parts, place), digest, pointer], work)
    (works,) = record(f, pointer, [MessageWord.WORKS])
    f.give_back([place, digest, f.add(works, digest, k=2)])
    return f


def _grind(f: Routine, parts: VerifierParts, place: FrameCell, digest: FrameCell, pointer: FrameCell) -> FrameCell:
    """Check a proof of work: the first sample after its nonce is a multiple of 2^bits. Return its digest's address."""
    base, factor = record(f, pointer, [MessageWord.WORK_AT, MessageWord.FACTOR])
    _begin_with(f, digest, base)
    following = f.allocate()
    _hash_short(f, parts, place, base, following, DIGEST_WORDS + 1)
    (sampled,) = f.call(_reversed(parts), [f.load(following)])
    rest = f.hint(Hint(HintKind.QUOTIENT, sampled, factor))
    f.call(_reversed(parts), [rest])  # which has 32 bits
    f.require_equal(f.multiply(rest, factor), sampled)
    return following


@cache
def _absorb(parts: VerifierParts) -> Routine:
    """Return the function that hashes a message after a digest, with the results of `_finish`."""
    f = parts.program.function("absorb", arguments=3, results=3)
    place, pointer, digest = f.arguments
    (base,) = record(f, pointer, [MessageWord.AT])
    _begin_with(f, digest, base)
    f.give_back(f.call(_finish(parts), [place, pointer]))
    return f


@cache
def _commit(parts: VerifierParts) -> Routine:
    """Return the function that draws the challenge of each fold.

    It takes the head's address, a place and a digest, and returns the next place and the last digest.
    """
    f = parts.program.function("commit", arguments=3, results=2)
    head, place, digest = f.arguments
    turns, pointer = words(f, head, HeadWord.FOLDS, HeadWord.FOLDS_AT)

    def turn(g: Routine, cells: Sequence[FrameCell]) -> Sequence[FrameCell]:
        pointer, place, digest = cells
        place, digest, samples = g.call(_absorb(parts), [place, pointer, digest])
        power, _ = g.call(_challenge(parts), [samples])
        (to,) = record(g, pointer, [FoldWord.BETA])
        g.store(to, 0, power)
        for k in range(1, BETA_CELLS):
            power = g.multiply(power, power)
            g.store(to, k, power)
        return g.linear(1, pointer, SHIFT * len([*MessageWord, *FoldWord])), place, digest

    _, place, digest = f.loop(turns, [pointer, place, digest], turn)
    f.give_back([place, digest])
    return f


@cache
def _draw(parts: VerifierParts) -> Routine:
    """Return the function that draws a challenge of the head.

    It takes the head's address, the one of three samples, and the number of the challenge. It returns the challenge's
    lowest coefficient.
    """
    f = parts.program.function("draw", arguments=3, results=1)
    head, samples, number = f.arguments
    drawn, lowest = f.call(_challenge(parts), [samples])
    (to,) = words(f, head, HeadWord.CHALLENGES_AT)
    f.store(f.add(to, number), 0, drawn)
    f.give_back([lowest])
    return f


@cache
def _challenge(parts: VerifierParts) -> Routine:
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
def _reversed(parts: VerifierParts) -> Routine:
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


def bits_of(f: Routine, number: FrameCell, cells: Sequence[FrameCell]) -> None:
    """Require a number to have 32 bits. The cells get the bits of the number with reversed bytes, the lowest first."""
    total = f.constant(0)
    for k in reversed(range(BITS)):
        cell = cells[_BYTE * (BITS // _BYTE - 1 - k // _BYTE) + k % _BYTE]
        f.advise(cell, Hint(HintKind.BIT, number, number=k))
        f.require_bit(cell)
        total = f.add(total, cell, k=2)
    f.require_equal(total, number)
