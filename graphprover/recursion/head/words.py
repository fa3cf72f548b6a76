"""The words of a head, and their places in the memory of a run.

The *list of heads* has one chunk of 128 words. A head has chunks of 128 words, too. Word i of the list, or of the first
chunks of a head, is 2 i cells after its address. The other chunks of a head have gates (gates.py). A *record* is a
number of words that follow each other. An *address* is a word with the address of a cell.
"""

from enum import IntEnum, auto

from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.recursion.tables.segments import STRIDE

LIST = 256  # the address of the list of heads; cells before are the first function's
SHIFT = STRIDE  # addresses of a word
CHUNK = 256  # addresses of a chunk
HEAD_TREE, TRANSCRIPT_TREE = 1, 2  # numbers of places that no Merkle tree has
LIST_PLACE = HEAD_TREE, 0, 0  # of the digest of the list of heads; the heads' digests have the indices from 1 on

# In the order of their cells; the last two are of a shard alone: its separating point, and the sum of its terminals.
CHALLENGES = ("sigma", "tau", "alpha", "zeta", "gamma", "separating", "total")
JOINT = ("sigma", "tau", "total")  # the elements that the head of a shard has


class ListWord(IntEnum):
    """The first words of the list of heads, before the records of its children."""

    CHILDREN = 0  # number of records


class ListedWord(IntEnum):
    """The words of a record about a head in the list."""

    AT = 0  # address of the head
    DIGEST = auto()  # of the head: its first word


class MessageWord(IntEnum):
    """The words of a record about a message of the transcript."""

    AT = 0  # address of its first word
    CHUNKS = auto()  # of 128 words, but the last one
    END = auto()  # address after its last word
    WORKS = auto()  # 1 if a proof of work follows, else 0
    WORK_AT = auto()  # address of the first word of the message with the nonce
    FACTOR = auto()  # 2^bits of the work


class FoldWord(IntEnum):
    """The words of a record about a fold, after its message."""

    OF_1 = len(MessageWord)  # 1 for a fold by 2^1, else 0; the next two for 2^2 and 2^3
    OF_2 = auto()
    OF_3 = auto()
    SHIFT = auto()  # bits of a query's row that earlier folds have taken
    PLACE = auto()  # address of the place of the groups' digests, without their index
    BETA = auto()  # address of the challenge and its squares
    JOINING = auto()  # number of the last record about the height that joins after it; 0 for none


class HeightWord(IntEnum):
    """The words of a record about a height at one or two points, the tallest height first; the first one is number 1.

    A height of a shard has two records. The first one is about the separating point.
    """

    DROP = 0  # bits of a query's row that a row of this height has not
    SPANS = auto()  # chunks of all its rows
    MORE = auto()  # 1 if the record before is about this height, too
    AT_ZETA = auto()  # address of the sum of opened values at zeta
    ZETA = auto()  # address of zeta
    AT_NEXT = auto()  # the same at the next row's point
    NEXT = auto()


class CopyWord(IntEnum):
    """The words of a record about words of the head that a message has, at most RUN of them."""

    END = 0  # address after them
    TO = auto()  # address after them in the message
    ENTRY = auto()  # address of the instruction that copies the first one


class FillWord(IntEnum):
    """The words of a record about the weights of columns of a matrix, at most RUN of them."""

    TO = 0  # address after them
    COLUMNS = auto()
    ENTRY = auto()  # address of the instruction that writes the first one
    FIRST = auto()  # address of the power of gamma of the first column, at zeta
    SECOND = auto()  # the same at the next row's point; of a zero if the matrix is not opened there


class HeadWord(IntEnum):
    """The words of a head that have fixed places."""

    READ_CHUNKS = 0  # after the first
    PRODUCTS = auto()  # chunks of gates of each kind
    SUMS = auto()
    DIFFERENCES = auto()
    GATES = auto()  # address of the first chunk of gates
    GATE_SPAN = auto()  # address of its span
    COPIES = auto()  # number of records
    COPIES_AT = auto()
    REPEATS = auto()  # number of records about opened values that the message of a shard before the digest has, too
    REPEATS_AT = auto()
    PACKS = auto()  # frames of 42 elements in the head
    PACKS_AT = auto()
    OPENED = auto()  # the same for opened values,
    OPENED_AT = auto()
    TERMINALS = auto()  # terminals,
    TERMINALS_AT = auto()
    POLYNOMIAL = auto()  # and the final polynomial
    POLYNOMIAL_AT = auto()
    ALONE = auto()  # 1 for a proof in one shard
    AGAIN_AT = auto()  # address of the message that is the digest for its second lookup challenge
    SHARD = auto()  # 1 for a shard
    JOINT_AT = auto()  # address of the first of the elements that its head has
    STREAM = auto()  # digests of queries after the first
    STREAM_AT = auto()  # address of their messages
    CHALLENGES_AT = auto()
    CHAIN = auto()  # eighths of the chain of opened values
    CHAIN_AT = auto()  # address of its last element
    CHAIN_TO = auto()  # address of its last sum
    QUOTIENT_JOINS = auto()  # eighths of joined values
    QUOTIENT_JOINS_AT = auto()
    QUOTIENT_JOINS_TO = auto()
    PERMUTATION_JOINS = auto()
    PERMUTATION_JOINS_AT = auto()
    PERMUTATION_JOINS_TO = auto()
    ZEROS = auto()  # number of addresses of cells that are 0
    ZEROS_AT = auto()
    FILLS = auto()  # number of records
    FILLS_AT = auto()
    TREES = auto()  # number of records: address of the cap's first word, address of its place
    TREES_AT = auto()
    HEIGHTS = auto()  # number of records
    HEIGHTS_AT = auto()
    HEIGHTS_TO = auto()
    TALLEST = auto()  # number of the last record about the tallest height
    SPANS_AT = auto()  # address of the first place and span of a chunk, the tallest height first
    FOLDS = auto()  # number of records
    FOLDS_AT = auto()
    QUERIES = auto()
    BITS = auto()  # of a query's row
    ENTRY = auto()  # address of the instruction that begins with the highest bit
    COEFFICIENTS = auto()  # eighths of the final polynomial
    COEFFICIENTS_AT = auto()  # address of its last coefficient
    FINAL_DROP = auto()  # bits that the folds have taken
    ZERO = auto()  # 0
    MAIN = 64  # record (`MessageWord`) with the public values
    SEPARATED = 70  # records, too
    PERMUTATION = 76
    QUOTIENT = 82
    OPENINGS = 88
    LAST = 94  # with the final polynomial


FIELDS = HeadWord.LAST + len(MessageWord)
LISTED_WORDS = ListedWord.DIGEST + DIGEST_WORDS  # of a record in the list
HEIGHT_CELLS = 8  # of a height's cells in memory, of which the first ones are in the order of `HeightWord`
SPAN_CELLS = 12  # from one chunk's place to the next one's; its span is at half
BETA_CELLS = 4  # of a fold: the challenge and its squares
ELEMENT_CELLS = 6  # of an element of three words
FRAME_ELEMENTS = 42  # elements of a frame
UNROLLED = 8  # elements of a turn that chains, joins or evaluates
RUN = 64  # words of a record about words that are copied, or columns
STREAM_WORDS = 8  # from the message of one digest to the next one's: a block
BITS = 32  # of a number

# Marks of the instructions that a head names, and instructions of each word, each column or each bit.
COPY_ENTRY, COPY_STEPS = "copy", 2  # the first word of a full run
FILL_ENTRY, FILL_STEPS = "fill", 4  # the first column of a full run
ENTRY, ENTRY_STEPS = "the highest bit", 3
