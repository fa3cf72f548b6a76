"""The sponge against a mutable one written from Plonky3's description, and proofs of work."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.field import P
from graphprover.protocol import hashing
from graphprover.protocol.challenger import Challenger
from tests.hashes import BOTH, digest

SEED = bytes(range(32))


class Sponge:
    """An input buffer, and an output buffer that is popped from its end."""

    def __init__(self, hash: str, initial: bytes) -> None:
        self.hash = hash
        self.input = bytearray(initial)
        self.output = bytearray()

    def observe(self, data: bytes) -> None:
        for byte in data:
            self.output.clear()
            self.input.append(byte)

    def byte(self) -> int:
        if not self.output:
            squeezed = digest(self.hash, bytes(self.input))
            self.input, self.output = bytearray(squeezed), bytearray(squeezed)
        return self.output.pop()


actions = st.lists(st.one_of(st.binary(max_size=60), st.integers(0, 70)), max_size=12)


@given(st.sampled_from(BOTH), st.binary(max_size=40), actions)
def test_agrees_with_a_mutable_sponge(hash: str, initial: bytes, steps: list[bytes | int]) -> None:
    ours, sponge = Challenger(hash, initial), Sponge(hash, initial)
    for step in steps:
        if isinstance(step, bytes):
            ours = ours.absorb(step)
            sponge.observe(step)
        else:
            ours, sampled = ours.sample_bytes(step)
            assert sampled == bytes(sponge.byte() for _ in range(step))


def test_a_state_is_a_value() -> None:
    start = Challenger("keccak", SEED)
    assert start.sample_ext() == start.sample_ext()
    assert start == Challenger("keccak", SEED)
    assert start.absorb(b"a").sample() != start.absorb(b"b").sample()


def test_words_are_absorbed_as_eight_little_endian_bytes() -> None:
    assert Challenger("keccak", SEED).absorb_words(1, P - 1) == Challenger(
        "keccak", SEED + b"\x01" + bytes(7) + (P - 1).to_bytes(8, "little")
    )


def test_an_extension_element_is_three_samples() -> None:
    state, coordinates = Challenger("keccak", SEED), []
    for _ in range(3):
        state, coordinate = state.sample()
        coordinates.append(coordinate)
    assert Challenger("keccak", SEED).sample_ext() == (state, tuple(coordinates))


def test_words_of_p_and_above_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [P, 2**64 - 1, P - 1, 5]
    # A digest is read from its last byte, each word from its least significant byte.
    squeezed = b"".join(word.to_bytes(8, "big") for word in reversed(drawn))
    constant = replace(hashing.HASHES["keccak"], digest=lambda data: squeezed)
    monkeypatch.setitem(hashing.HASHES, "keccak", constant)
    state, first = Challenger("keccak", SEED).sample()
    state, second = state.sample()
    assert (first, second) == (P - 1, 5)


@given(st.integers(0, 64), st.integers(0, 20))
def test_bits_are_the_lowest_of_eight_bytes_each(bits: int, count: int) -> None:
    state, expected = Challenger("keccak", SEED), []
    for _ in range(count):
        state, word = state.sample_bytes(8)
        expected.append(int.from_bytes(word, "little") % 2**bits)
    assert Challenger("keccak", SEED).sample_bits(bits, count) == (state, expected)


@given(st.sampled_from(BOTH), st.binary(max_size=50), st.integers(0, 40))
def test_a_nonce_passes_when_the_hash_of_seed_and_nonce_has_zero_bits(hash: str, message: bytes, sampled: int) -> None:
    state, _ = Challenger(hash, SEED).absorb(message).sample_bytes(sampled)
    bits = 3
    passed = []
    for nonce in range(24):
        hashed = digest(hash, state.grinding_seed() + nonce.to_bytes(8, "little"))
        after, passes = state.check_work(bits, nonce)
        assert passes == (int.from_bytes(hashed[-8:], "big") % 2**bits == 0)
        assert after.pending == hashed
        passed.append(passes)
    assert False in passed


def test_no_work_absorbs_nothing_and_wants_the_nonce_zero() -> None:
    state = Challenger("keccak", SEED).absorb(b"message")
    assert state.check_work(0, 0) == (state, True)
    assert state.check_work(0, 1) == (state, False)
