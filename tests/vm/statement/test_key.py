"""A key belongs to one machine and one program, and its hash covers both."""

import json
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from graphprover import VerificationError, prove, verify
from graphprover.cli.main import main
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.isa import A0, Instruction, Op
from graphprover.vm.statement import statement as program_statement
from graphprover.vm.statement.key import DEFAULT_PROOFS, Key, MalformedKey, ProofKind, proof_kinds
from graphprover.vm.statement.machine import machine_digest
from graphprover.vm.statement.setup import check_key, make_key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_rules import ShardKind
from graphprover.vm.statement.version import CHIP_NUMBERS, MACHINE_DIGEST, MACHINE_VERSION
from graphprover.vm.tables import chips
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.traces.run_statement import statement_of_run
from tests.vm.assemble import CODE, Segment, X, elf, image, leave, li, words

# The digest of each version of the machine: a changed table or number takes a new version and a new line here.
DIGESTS = {
    1: "ea370f89c679a75658af834616419dfacfc2e567475fcda0eb98daeb3a652034",
    2: "947e2b23ca8fa0c799df10634298dcc66d1677d1c1c7ba14336fbd31a6ef328f",
    3: "9fc5e8870909c72a8055038bcdcb8bf49cee2f1c35e7b50e588bc3264282ed24",
    4: "593daf989310e7f373d6b23c2db2fc497fec80590268a0a9535587fcbf655462",
    5: "3c842235e0db551fab49e33c49e78aeebe83c3b7c5d84bc42702cb3f62c8f8c5",
    6: "817dfe4cab90364ed4944c5bbc276b27c1ff687e029de99310f3a2fbcc18e89d",
    7: "c7c1241f7afa18b66705aaa98eae6fd0d53e8986898bb3109563cee0b2c8d9ef",
    8: "f90364e1df65efb9d926083173b2753507bfee1d7e4b8e88607a54045a3e1dcc",
    9: "5a30f6cb82cdbf2af3e4f4bceedde0be71e3e6fb4ef87c69f4b219d971453b14",
    10: "aece7e6ab41511a276d9bbad0180af428f2901cfe7d3c59dd336a94c02ebc91a",
    11: "24f8ba3eef1db34f18265c560b37fc5ad06d2e26c50bb6c366932744186543b0",
}
OTHER_HASH = next(name for name in HASH_NAMES if name != DEFAULT_HASH)
PROGRAM = image([*li(A0, 7), Instruction(Op.ADDI, A0, A0, imm=1), *leave()])


def test_a_changed_machine_has_a_new_version() -> None:
    assert machine_digest() == MACHINE_DIGEST
    assert MACHINE_DIGEST.hex() == DIGESTS[MACHINE_VERSION] and max(DIGESTS) == MACHINE_VERSION


def test_numbers_of_chips_are_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each chip one number; two swapped numbers are another machine, even if nothing else changes."""
    assert set(CHIP_NUMBERS) == set(CHIPS) and sorted(CHIP_NUMBERS.values()) == list(range(1, len(CHIP_NUMBERS) + 1))
    swapped = {**CHIP_NUMBERS, "add": CHIP_NUMBERS["sub"], "sub": CHIP_NUMBERS["add"]}
    monkeypatch.setattr(chips, "CHIP_NUMBERS", swapped)
    described = program_statement._same_for_all, chips.chip_table
    for tables in described:
        tables.cache_clear()
    try:
        assert machine_digest() != MACHINE_DIGEST
    finally:
        for tables in described:
            tables.cache_clear()


def test_a_key_is_for_one_machine() -> None:
    data = make_key(Machine(PROGRAM)).to_bytes()
    assert Key.from_bytes(data).to_bytes() == data and MACHINE_DIGEST in data
    at = data.index(MACHINE_DIGEST)
    with pytest.raises(MalformedKey, match="for another machine"):
        Key.from_bytes(data[:at] + bytes(32) + data[at + 32 :])


def test_a_keys_hash_covers_all_of_it() -> None:
    """Give another key hash for commitments that are not the program's, even under the program's hash."""
    key = make_key(Machine(PROGRAM))
    assert key.program_hash == Machine(PROGRAM).program_hash and key.hash == make_key(Machine(PROGRAM)).hash
    for kind, proof in product(ShardKind, key.proofs):
        other = replace(key, caps=with_cap(key, kind, proof))
        assert other.program_hash == key.program_hash and other.hash != key.hash


def with_cap(key: Key, kind: ShardKind, proof: ProofKind) -> dict[ShardKind, Mapping[ProofKind, bytes]]:
    """Return the key's commitments with one of them zeros."""
    return {**key.caps, kind: {**key.caps[kind], proof: bytes(32)}}


def test_a_key_has_commitments_for_the_proofs_that_were_asked_for() -> None:
    """Take hashes and rates in any order, and equal ones once; commitments do not depend on the others."""
    machine = Machine(PROGRAM)
    default = make_key(machine)
    assert default.proofs == proof_kinds([DEFAULT_HASH], [8, 4, 2, 4]) == DEFAULT_PROOFS
    key = make_key(machine, proof_kinds(HASH_NAMES, [2, 64]))
    assert Key.from_bytes(key.to_bytes()) == key
    assert [(proof.hash, proof.log_blowup) for proof in key.proofs] == [*product(HASH_NAMES, (1, 6))]
    common = set(key.proofs) & set(default.proofs)
    assert common and all(key.caps[kind][proof] == default.caps[kind][proof] for kind in ShardKind for proof in common)
    check_key(key, machine)
    other = replace(key, caps=with_cap(key, ShardKind.FIRST, key.proofs[-1]))
    with pytest.raises(VerificationError, match="commits to another program"):
        check_key(other, machine)
    for hashes, rates, message in (
        ([DEFAULT_HASH], [3], "rate 1/3: choose 1/2, .* or 1/64"),
        (["md5"], [2], "hash 'md5': choose keccak or blake3"),
        ([], [2], "at least one hash"),
        ([DEFAULT_HASH], [], "at least one hash and one rate"),
    ):
        with pytest.raises(ValueError, match=message):
            proof_kinds(hashes, rates)


def test_entries_of_a_key_are_in_order() -> None:
    """Refuse entries twice, in another order, and of unknown hashes and rates."""
    data = make_key(Machine(PROGRAM), proof_kinds(HASH_NAMES, [2])).to_bytes()
    head, first, second = data[:-196], data[-196:-98], data[-98:]
    assert Key.from_bytes(head + first + second).to_bytes() == data
    for entries in (second + first, first + first, b"\2" + first[1:], first[:1] + b"\0" + first[2:]):
        with pytest.raises(MalformedKey, match="not in order"):
            Key.from_bytes(head + entries)
    for damaged in (head, data[:-1], data + b"\0"):
        with pytest.raises(MalformedKey, match="recreate it"):
            Key.from_bytes(damaged)


def test_setup_takes_hashes_and_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verify a proof by the key that has its commitment; another key's error says how to make that key."""
    guest, proof, key = (str(tmp_path / name) for name in ("guest.elf", "proof.bin", "guest.vk"))
    Path(guest).write_bytes(elf([Segment(CODE, words(leave(0)), X)]))
    options = ["--hash", OTHER_HASH, "--rate", "32"]
    assert main(["prove", guest, *options, "--security", "40", "-o", proof]) == OK
    assert main(["setup", guest, "-o", key]) == OK
    capsys.readouterr()
    assert main(["verify", proof, key, "--security", "40"]) == FAILED
    error = capsys.readouterr().err
    assert f"no commitment for a proof with {OTHER_HASH} at rate 1/32, but for {DEFAULT_HASH} at rate 1/2, " in error
    assert f"recreate it with `graphprover setup --hash {OTHER_HASH} --rate 32`" in error
    assert main(["setup", guest, *options, "--rate", "4", "-o", key]) == OK
    assert f"proofs        {OTHER_HASH} at 1/4, 1/32" in capsys.readouterr().out
    assert main(["verify", proof, key, "--security", "40"]) == main(["inspect", key, guest]) == OK
    capsys.readouterr()
    assert main(["inspect", key, "--json"]) == OK
    said = json.loads(capsys.readouterr().out)
    assert said["proofs"] == [{"hash": OTHER_HASH, "rate": 4}, {"hash": OTHER_HASH, "rate": 32}]


def test_inspect_says_what_a_key_is_for_and_whether_it_is_a_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guest, other, key = (str(tmp_path / name) for name in ("guest.elf", "other.elf", "vk"))
    Path(guest).write_bytes(elf([Segment(CODE, words(leave(1)), X)]))
    Path(other).write_bytes(elf([Segment(CODE, words(leave(2)), X)]))
    assert main(["setup", guest, "-o", key]) == OK
    made = Key.from_bytes(Path(key).read_bytes())
    printed = capsys.readouterr().out
    assert made.hash.hex() in printed and made.program_hash.hex() in printed
    assert "64 for the program, no data\n" in printed
    assert main(["inspect", key, guest]) == OK
    assert made.hash.hex() in capsys.readouterr().out
    assert main(["inspect", key, "--json"]) == OK
    said = json.loads(capsys.readouterr().out)
    assert (said["key_hash"], said["machine"], said["program"]) == (made.hash.hex(), MACHINE_VERSION, None)
    assert main(["inspect", key, other]) == FAILED
    assert "not the key of" in capsys.readouterr().err
    for forged, cause in (
        (replace(made, caps=with_cap(made, ShardKind.FIRST, DEFAULT_PROOFS[2])), "commits to another program"),
        (replace(made, caps=with_cap(made, ShardKind.SHORT, DEFAULT_PROOFS[1])), "commits to another program"),
        (replace(made, caps=with_cap(made, ShardKind.OTHER, DEFAULT_PROOFS[0])), "commits to another program"),
        (replace(made, entry=made.entry + 4), "another entry"),
    ):
        Path(key).write_bytes(forged.to_bytes())
        assert main(["inspect", key, guest]) == FAILED
        assert cause in capsys.readouterr().err
    for version, size in ((1, 162), (2, 194), (3, 290), (4, 386), (5, 98)):
        Path(key).write_bytes((b"graphprover key" + bytes([version])).ljust(size, b"\0"))
        assert main(["inspect", key]) == USAGE
        assert "recreate it" in capsys.readouterr().err


def test_a_damaged_key_is_told_from_a_damaged_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuse a key whose numbers fit no program; for other keys and all proofs, name both files in the error."""
    guest, proof, key = (str(tmp_path / name) for name in ("guest.elf", "proof.bin", "guest.vk"))
    Path(guest).write_bytes(elf([Segment(CODE, words(leave(0)), X)]))
    assert main(["setup", guest, "-o", key]) == main(["prove", guest, "--security", "60", "-o", proof]) == OK
    whole = Path(key).read_bytes()
    verify_it = ["verify", proof, key, "--security", "60"]
    assert main(verify_it) == OK
    capsys.readouterr()
    codes = Counter[int]()
    for at in (*range(0, 98, 3), 64, 65, *(98 + 98 * entry + at for entry in range(3) for at in (1, 2, 34, 66))):
        Path(key).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        code = main(verify_it)
        error = capsys.readouterr().err
        codes[code] += 1
        assert code == OK or (key in error and error.count("\n") == 1), error
        assert code != USAGE or proof not in error
        assert (
            code != FAILED or f"or the key {key} is damaged: check it by `graphprover inspect {key} GUEST.ELF`" in error
        )
    # Eight commitments are of other rates and kinds, and the program uses no memory that begins elsewhere.
    assert codes[USAGE] > codes[FAILED] > 0 and codes[OK] == 9
    Path(key).write_bytes(b"x" + whole[1:])
    assert main(["inspect", key]) == FAILED
    assert capsys.readouterr().err.endswith("not a graphprover proof, a verifying key, an ELF file or a .py file\n")

    Path(proof).write_bytes(Path(proof).read_bytes()[:-1])
    Path(key).write_bytes(whole)
    assert main(verify_it) == FAILED
    error = capsys.readouterr().err
    assert f"{proof}: not valid: " in error and key not in error


def test_a_key_has_the_rows_of_some_table() -> None:
    """Refuse logarithms that no table has, which would otherwise count as those of the lowest table."""
    whole = make_key(Machine(PROGRAM)).to_bytes()
    for at, allowed in ((64, range(6, 27)), (65, (*range(6, 27), 255))):
        for log in range(256):
            data = whole[:at] + bytes([log]) + whole[at + 1 :]
            if log in allowed:
                assert Key.from_bytes(data).to_bytes() == data
                continue
            with pytest.raises(MalformedKey) as refused:
                Key.from_bytes(data)
            assert refused.value.rule == "key.rows"


def test_a_hostile_key_costs_no_memory() -> None:
    """Refuse a proof for a key whose tables have 2^26 rows, with less than 64 MiB."""
    execution = execute(PROGRAM, record=True)
    proof = prove(statement_of_run(Machine(PROGRAM), execution), security=80)
    key = replace(make_key(Machine(PROGRAM)), log_program_rows=26, log_data_rows=26)
    numbers = proof.public_values[0][3:]
    numbers, heights = (*numbers[:2], 3, *numbers[2:]), (6, 26, 6, 26, *proof.log_heights[3:])
    public = ((*proof.public_values[0][:3], *numbers), *proof.public_values[1:3], (), *proof.public_values[3:])
    hostile = replace(proof, log_heights=heights, public_values=public)
    tracemalloc.start()
    with pytest.raises(VerificationError, match=r"the proof ends inside|entries where"):
        verify(hostile, key.statement_of(hostile), security=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
