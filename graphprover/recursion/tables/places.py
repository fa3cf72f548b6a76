"""The places of words in each row of `blake3`.

A round of BLAKE3 mixes the columns of the 4 x 4 state, and then its diagonals. A row has four lanes, and a lane has the
words a, b, c and d of one call of G.

*The reflection.* A row with columns has column j in lane j: its words are (0, j), (1, j), (2, j), (3, j). The next row
has diagonal -j mod 4 in lane j: (0, -j), (1, 1 - j), (2, 2 - j), (3, 3 - j). So word w of lane j comes from lane
(w - j) mod 4 of the row before. From diagonals to columns it is the same rule, since w - (w - j) = j: one transition
serves all rows, without a flag that selects.

*The message.* Lane j takes the words 2 j and 2 j + 1 of its row. A row with columns has the message in the order of its
round. In a row with diagonals the first eight words belong to the reflected diagonals, lane by lane, and the last
eight are the words that the columns have taken. So a row's words come from the row before, by one of two permutations
in turn.
"""

from graphprover.protocol.blake3 import MESSAGE_PERMUTATION

ROWS = 16  # of a compression: its state before, two rows a round, the digest
LAST = ROWS - 1
LANES = 4
BYTES = 4  # of a word
WORDS = 16  # of a block


def reflected(word: int, lane: int) -> int:
    """Return the lane of the row before that has the word 0 to 3 (a to d) of a lane; its own inverse."""
    return (word - lane) % LANES


# For each word of a row, its place in the row before: for rows with columns, and for rows with diagonals.
_DIAGONALS = [8 + 2 * reflected(0, lane) + half for lane in range(LANES) for half in range(2)]
TO_DIAGONALS = (*_DIAGONALS, *range(8))
TO_COLUMNS = tuple(TO_DIAGONALS.index(place) for place in MESSAGE_PERMUTATION)


def _places() -> tuple[tuple[int, ...], ...]:
    """Return for each row of a compression the place of each word of the block."""
    places = [TO_COLUMNS]  # the first row with columns is next, which has the block in its order
    for row in range(1, ROWS):
        before = TO_COLUMNS if row % 2 else TO_DIAGONALS
        places.append(tuple(before.index(place) for place in places[-1]))
    return tuple(places)


PLACES = _places()
