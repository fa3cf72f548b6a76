"""Keccak-256 of a message: against an independent implementation, and against forgeries."""

from collections.abc import Callable

import numpy as np
import pytest
from Crypto.Hash import keccak as oracle
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air.debugger import FailingConstraint, UnbalancedBus
from graphprover.examples import keccak
from graphprover.examples.keccak import nibbles, sponge
from graphprover.statement.check import check
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak import wide_traces as keccak_traces
from graphprover.vm.accelerators.keccak.digits import KeccakDigits
from graphprover.vm.accelerators.keccak.planes import KeccakPlanes
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from tests.examples.mutation import Inputs, stated, unnoticed, with_trace, wrong_public_values

TABLES = keccak.tables()


def findings(inputs: Inputs) -> list:
    return check(stated(TABLES, inputs))


def message(length: int) -> bytes:
    return np.random.default_rng(length).bytes(length)


def digest(data: bytes) -> str:
    return oracle.new(digest_bits=256, data=data).hexdigest()


@pytest.mark.parametrize("length", [0, 1, 134, 135, 136, 137, 271, 272, 5000])
def test_it_holds_for_every_kind_of_padding(length: int) -> None:
    data = message(length)
    inputs = keccak.prove_inputs(data)
    assert findings(inputs) == []
    assert keccak.describe([public for _, public in inputs]) == {"digest": digest(data), "length": str(length)}


@settings(max_examples=10)
@given(st.binary(max_size=700))
def test_the_digest_of_any_message(data: bytes) -> None:
    (_, public), *_ = keccak.prove_inputs(data)
    assert keccak.describe([public, [], [], [], []])["digest"] == digest(data)


def test_without_input_it_hashes_something() -> None:
    assert findings(keccak.prove_inputs(None)) == []


def test_degrees() -> None:
    descriptions = [air.describe() for air in TABLES]
    assert [max(d.degrees[node] for node in d.constraints) for d in descriptions[:3]] == [3, 3, 3]
    assert [d.log_quotient_chunks for d in descriptions] == [1, 1, 1, 2, 0]
    assert [len(d.lookups) for d in descriptions] == [13, 250, 41, 2, 1]  # two messages of a bus share a column


@pytest.mark.parametrize("samples", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_changed_cells_are_noticed(samples: int) -> None:
    inputs = keccak.prove_inputs(message(137))
    missed = unnoticed(TABLES, inputs, samples)
    assert all(free(inputs, *cell) for cell in missed)


def free(inputs: Inputs, table: str, column: str, row: int) -> bool:
    """Return whether nothing reads a cell: of a number without lookups, an idle row, or row 0 of a permutation."""
    if table == "keccak_digits":
        return not KeccakDigits().view(inputs[3][0]).count[:, row].any()
    if table == "keccak_planes":
        return not KeccakPlanes().view(inputs[2][0]).on[row]
    rounds = KeccakRounds().view(inputs[1][0])
    idle, first = not rounds.step[:, row].any(), rounds.step[0, row] * rounds.turn[0, row]
    return table == "keccak_rounds" and (idle or (first and column.startswith(("iota", "parity", "theta"))))


def test_wrong_public_values_are_noticed() -> None:
    inputs = keccak.prove_inputs(message(10))
    for changed in wrong_public_values(inputs):
        (finding,) = findings(changed)
        assert isinstance(finding, FailingConstraint) and finding.table == "sponge"


def forge(length: int, change: Callable[..., None]) -> list:
    """Return the findings after ``change`` modified columns of the sponge; the xor table follows."""
    inputs = keccak.prove_inputs(message(length))
    main = inputs[0][0].copy()
    columns = sponge.Sponge().view(main)
    change(columns)
    counts = nibbles.trace(columns.message, columns.old)
    return findings([(main, inputs[0][1]), *inputs[1:4], (counts, [])])


def set_byte(columns, row: int, byte: int, value: int) -> None:  # type: ignore[no-untyped-def]
    """Write a byte of the message, and the xor that belongs to it."""
    for i, nibble in enumerate((value & 15, value >> 4)):
        at = 2 * byte + i
        columns.message[at, row] = nibble
        columns.new[at, row] = nibble ^ int(columns.old[at, row])


def test_a_changed_byte_breaks_the_chain() -> None:
    found = forge(300, lambda c: set_byte(c, 3, 5, 0x42))
    assert any("next rate[16][1]" in dict(f.cells) for f in found if isinstance(f, FailingConstraint))

    def consistently(c) -> None:  # type: ignore[no-untyped-def]
        set_byte(c, 16, 5, 0x42)  # the lane that the permutation gets without the queue

    (finding,) = forge(300, consistently)
    assert isinstance(finding, UnbalancedBus) and "keccak-f" in finding.bus


def test_a_byte_out_of_range_is_no_byte() -> None:
    def carry(c) -> None:  # type: ignore[no-untyped-def]
        c.message[2, 0] += 16  # the same byte as a field element: 16 + 16 (n - 1)
        c.message[3, 0] -= 1

    inputs = keccak.prove_inputs(b"\x00\xff" * 20)
    main = inputs[0][0].copy()
    carry(sponge.Sponge().view(main))
    (finding,) = check(with_trace(TABLES, inputs, 0, main))
    assert isinstance(finding, UnbalancedBus) and "xor" in finding.bus


@pytest.mark.parametrize(
    ("row", "byte", "value"),
    [
        (1, 2, 0x00),  # the padding does not start
        (1, 2, 0x81),  # it starts and ends at once, in the middle
        (1, 2, 0x06),  # as in SHA-3
        (1, 3, 0x01),  # it starts twice
        (9, 0, 0xFF),  # a nonzero byte in between
        (16, 7, 0x00),  # it does not end
    ],
)
def test_padding_is_forced(row: int, byte: int, value: int) -> None:
    found = forge(10, lambda c: set_byte(c, row, byte, value))
    assert any("pad *" in f.label for f in found if isinstance(f, FailingConstraint))


def test_the_message_ends_where_its_length_says() -> None:
    def later(c) -> None:  # type: ignore[no-untyped-def]
        c.pad[2, 1] = 0  # the byte 0x01 becomes a byte of the message
        c.length[2:] += 1

    assert any("pad *" in f.label for f in forge(10, later))
    inputs = keccak.prove_inputs(message(10))
    (main, public), *others = inputs
    longer = main.copy()
    later(sponge.Sponge().view(longer))
    assert findings([(longer, [*public[:8], 11]), *others])


def test_padding_in_one_block_ends_the_message() -> None:
    """Two blocks, each of which ends with padding."""
    found = findings(keccak.absorb(np.concatenate([sponge.padded(message(100)), sponge.padded(b"")]), 100))
    assert any("t.next.active" in f.label for f in found if isinstance(f, FailingConstraint))


@pytest.mark.parametrize("order", [[0, 2], [1, 0, 2], [0, 1, 1, 2]], ids=["skipped", "swapped", "repeated"])
def test_blocks_in_another_order_have_another_digest(order: list[int]) -> None:
    (_, true), *_ = keccak.prove_inputs(message(300))
    length = 136 * (len(order) - 1) + 300 % 136
    (main, _), *others = keccak.absorb(sponge.padded(message(300))[order], length)
    found = findings([(main, [*true[:8], length]), *others])
    assert any("public digest[0]" in dict(f.cells) for f in found)
    assert len(found) == 8  # the only finding


def test_blocks_swapped_in_the_table_alone_break_the_chain() -> None:
    def swap(c) -> None:  # type: ignore[no-untyped-def]
        for column in (c.message, c.new, c.old, c.rate, c.capacity):
            column[..., :34] = np.roll(column[..., :34], 17, axis=-1)

    found = forge(300, swap)
    assert any(isinstance(f, UnbalancedBus) and "keccak-f" in f.bus for f in found)


def test_a_block_skipped_in_the_table_alone_breaks_the_chain() -> None:
    def skip(c) -> None:  # type: ignore[no-untyped-def]
        for name, column in vars(c).items():
            if name not in ("lane", "block"):
                column[..., 17:-17] = column[..., 34:].copy()

    found = forge(300, skip)
    assert any(isinstance(f, UnbalancedBus) and "keccak-f" in f.bus for f in found)


@pytest.mark.parametrize("call", [0, 2])
def test_every_call_is_answered_once(call: int) -> None:
    """A permutation answers no call twice, and none that is not there."""
    inputs = keccak.prove_inputs(message(200))
    main = inputs[1][0].copy()
    KeccakRounds().view(main).call[25:50] = call
    found = check(with_trace(TABLES, inputs, 1, main))
    assert any(isinstance(f, UnbalancedBus) and "keccak-f" in f.bus for f in found)


def test_an_unasked_permutation_is_noticed() -> None:
    inputs = keccak.prove_inputs(message(300))
    blocks = keccak_traces.blocks_of(np.zeros((keccak_f.WORDS, 4), dtype=np.uint64))
    inputs[1] = keccak_traces.rounds_trace(range(4), blocks, 128), []
    inputs[2] = keccak_traces.planes_trace(range(4), blocks, 64), []
    inputs[3] = keccak_traces.digits_trace(blocks), []
    (finding,) = findings(inputs)
    assert isinstance(finding, UnbalancedBus) and "keccak-f" in finding.bus and finding.total >= 4


def test_a_message_without_an_end_is_none() -> None:
    """All rows are active: there is no row after the last block, which would bind the digest."""

    def endless(c) -> None:  # type: ignore[no-untyped-def]
        c.active[:] = 1

    assert any("t.last_row(t.active)" in f.label for f in forge(10, endless) if isinstance(f, FailingConstraint))
