"""Plonky3's verifier checks sharded proofs: each shard by ``verify_batch``, and then the sum of all terminals.

Its commitment scheme gets the separating point of a shard as one more point of the main columns.
"""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.air import Bus
from graphprover.cli.main import main
from graphprover.field import ZERO, ext_add, ext_sub
from graphprover.jobs.opening import load_packaged
from graphprover.proof.sharded import Shard, ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint
from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.protocol.proof import BatchProof, decode, encode
from graphprover.proving.prove import prove
from graphprover.runtime.errors import OK
from graphprover.statement.shards import Head, ShardedStatement, shards_of
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import verify
from graphprover.verifier.headers import layout_of_proof
from graphprover.verifier.plonky3 import PAYLOAD, STATEMENT, export, statement_json
from tests.interop import plonky3
from tests.interop.mutations import flipped, mutations
from tests.interop.tables import GRINDING, PLAIN, fibonacci, limbs, power, shuffle, squares, statements
from tests.interop.test_interop import CAP_LENGTH

MIXED = statements()["mixed"][0]
# Both buses, bytes and squares, connect different shards, and two shards have a local lookup.
TABLES = [fibonacci(8), *limbs(32), shuffle(16), *squares(8, 64), shuffle(8), power(16)]
IN_TWO = ((0, 1, 3, 5), (2, 4, 6, 7))
IN_THREE = ((0, 1, 3, 5), (2, 7), (4, 6))
PROOFS = {
    "2 shards": (PLAIN, IN_TWO),
    "3 shards": (PLAIN, IN_THREE),
    "3 shards, grinding": (GRINDING, IN_THREE),
    "3 shards, BLAKE3": (replace(GRINDING, hash=BLAKE3), IN_THREE),
    "2 shards, mixed": (MIXED, IN_TWO),
}
FLIPS = 100  # flipped bits for each shard
MUTATIONS = 40  # for each shard


@dataclass(frozen=True)
class Case:
    """A sharded proof."""

    shards: ShardedStatement
    proof: ShardedProof

    @property
    def payloads(self) -> list[bytes]:
        return [proof.payload for proof in self.proof.proofs]

    def decoded(self) -> list[BatchProof]:
        """Contents of each shard."""
        given = zip(self.proof.proofs, self.shards.statements, strict=True)
        return [decode(proof.payload, layout_of_proof(proof, statement, shard=True)) for proof, statement in given]

    def with_payloads(self, payloads: Sequence[bytes]) -> ShardedProof:
        """Return the proof with other contents of its shards."""
        proofs = zip(self.proof.proofs, payloads, strict=True)
        return ShardedProof(self.proof.joint, tuple(replace(proof, payload=payload) for proof, payload in proofs))

    def our_verdict(self, payloads: Sequence[bytes]) -> str | None:
        try:
            verify(self.with_payloads(payloads), self.shards, security=0)
        except VerificationError as error:
            return str(error)
        return None

    def their_verdicts(self, folder: Path, proofs: Sequence[Sequence[bytes]]) -> list[str | None]:
        """Return Plonky3's verdicts on contents of the shards."""
        given, known = [], dict[bytes, Path]()
        statements = [shard / STATEMENT for shard in write(folder, self.proof, self.shards)]
        for payloads in proofs:
            for payload in payloads:
                if payload not in known:
                    known[payload] = folder / f"{len(known)}.bin"
                    known[payload].write_bytes(payload)
            files = [known[payload] for payload in payloads]
            given.append([path for pair in zip(statements, files, strict=True) for path in pair])
        return plonky3.verify_all(given)


def write(folder: Path, proof: ShardedProof, statement: ShardedStatement | Statement) -> list[Path]:
    """Export the proof and return the folders of its shards."""
    for name, data in export(proof, statement).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return [folder / str(index) for index in range(len(proof.proofs))]


def proved(tables: Sequence[Table], shares: Sequence[Sequence[int]], parameters: Parameters, label: str = "") -> Case:
    shards = shards_of(Statement(tables, label), shares)
    proof = prove(shards, "sync", parameters=parameters)
    assert isinstance(proof, ShardedProof)
    return Case(shards, proof)


@cache
def case(name: str) -> Case:
    parameters, shares = PROOFS[name]
    return proved(TABLES, shares, parameters)


def files(*folders: Path) -> list[Path]:
    """Return the files of these shards, in this order."""
    return list(chain.from_iterable((folder / STATEMENT, folder / PAYLOAD) for folder in folders))


@pytest.mark.parametrize("name", PROOFS)
def test_accepted(name: str, tmp_path: Path) -> None:
    """No shard has terminals that sum to zero, which ``verify_batch`` alone would require."""
    proof, shards = case(name).proof, case(name).shards
    assert verify(proof, Statement(TABLES), security=0).shards == len(proof.proofs)
    for batch in case(name).decoded():
        assert total([batch]) != ZERO
    write(tmp_path, proof, shards)
    assert plonky3.verify_shards(tmp_path) is None
    assert export(proof, shards) == export(proof, Statement(TABLES))


def test_one_whose_shards_balance_is_accepted(tmp_path: Path) -> None:
    """Then ``verify_batch`` of each shard accepts too."""
    balanced = proved(TABLES, ((0, 1, 2), (3, 4, 5, 6, 7)), GRINDING)
    assert [total([batch]) for batch in balanced.decoded()] == [ZERO, ZERO]
    write(tmp_path, balanced.proof, balanced.shards)
    assert plonky3.verify_shards(tmp_path) is None


@pytest.mark.parametrize("name", PROOFS)
def test_plonky3_proves_the_same_bytes(name: str, tmp_path: Path) -> None:
    """Plonky3's prover, given the digests of all shards, draws the same challenges as ours."""
    given = zip(write(tmp_path, case(name).proof, case(name).shards), case(name).shards.statements, strict=True)
    for (folder, statement), payload in zip(given, case(name).payloads, strict=True):
        plonky3.write_traces(tmp_path / "traces", statement.tables)
        plonky3.prove(folder / STATEMENT, tmp_path / "traces", tmp_path / "proof")
        assert (tmp_path / "proof").read_bytes() == payload


def test_exported_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    proof = prove(load_packaged("examples/memory").record(), security=60, shards=2)
    assert isinstance(proof, ShardedProof)
    proof.save("proof.bin")
    assert main(["export", "proof.bin", "-o", "out"]) == OK
    assert plonky3.verify_shards(tmp_path / "out") is None
    Path("out/1", PAYLOAD).write_bytes(proof.proofs[0].payload)
    assert plonky3.verify_shards(tmp_path / "out") is not None


# Assumptions of `verify_shard` in tests/interop/plonky3/src/setup.rs.


def test_the_sum_of_terminals_is_the_last_check_and_alone_in_its_error() -> None:
    crates = plonky3.sources()
    verifier = (crates["p3-batch-stark"] / "src/verifier/mod.rs").read_text()
    _, verify_batch = verifier.split("pub fn verify_batch<")
    assert verify_batch.endswith("    lookup_gadget.verify_terminal_sum(lookup_terminals)?;\n\n    Ok(())\n}\n")
    # There is no earlier return with success, and no other check of the sum with the same error.
    assert len(re.findall(r"\bOk\(\(\)\)|\breturn Ok\b", verify_batch)) == 1
    assert verifier.count("verify_terminal_sum") == 1
    found = {}
    for crate, folder in crates.items():
        for file in folder.glob("src/**/*.rs") if crate.startswith("p3-") else ():
            if file.name != "tests.rs" and "TerminalSumNonZero" in (text := file.read_text()):
                found[f"{crate}/{file.name}"] = [line.strip() for line in text.splitlines() if "SumNonZero" in line]
    assert found == {
        "p3-lookup/logup.rs": ["return Err(LookupError::TerminalSumNonZero);"],
        "p3-lookup/types.rs": ["TerminalSumNonZero,"],
    }


# Proofs to refuse.


@pytest.mark.parametrize("name", PROOFS)
def test_refused_with_one_bit_flipped(name: str, tmp_path: Path) -> None:
    payloads, mutants = case(name).payloads, list[list[bytes]]()
    for index, payload in enumerate(payloads):
        mutants += ([*payloads[:index], other, *payloads[index + 1 :]] for other in flipped(payload, FLIPS))
    verdicts = case(name).their_verdicts(tmp_path, [payloads, *mutants])
    assert verdicts[0] is None and len(verdicts) == 1 + FLIPS * len(payloads)
    for number, verdict in enumerate(verdicts[1:]):
        assert verdict is not None and f"shard {number // FLIPS}: " in verdict


@pytest.mark.parametrize("name", PROOFS)
def test_refused_with_other_contents(name: str, tmp_path: Path) -> None:
    payloads, mutants = case(name).payloads, list[list[bytes]]()
    given = zip(case(name).proof.proofs, case(name).shards.statements, strict=True)
    for index, (proof, statement) in enumerate(given):
        spoiled = mutations(
            random.Random(name), proof.payload, layout_of_proof(proof, statement, shard=True), MUTATIONS
        )
        mutants += ([*payloads[:index], other, *payloads[index + 1 :]] for other in spoiled)
    for mutant, their in zip(mutants, case(name).their_verdicts(tmp_path, mutants), strict=True):
        our = case(name).our_verdict(mutant)
        assert our is not None, their
        assert their is not None or CAP_LENGTH.search(our), our


@pytest.mark.parametrize("parameters", [PLAIN, GRINDING], ids=["plain", "grinding"])
def test_refused_with_terminals_that_were_forged_to_cancel(parameters: Parameters, tmp_path: Path) -> None:
    """A table provides one entry too many: each shard is valid alone, and only the sum is wrong."""
    tables = list(TABLES)
    main = tables[4].main
    assert main is not None
    spoiled = main.copy()
    spoiled[1, 2] += np.uint64(1)
    tables[4] = replace(tables[4], main=spoiled)
    false = proved(tables, IN_THREE, parameters)
    batches = false.decoded()
    missing = total(batches)
    assert missing != ZERO
    forged = [[with_terminal(batch, missing) if i == j else batch for i, batch in enumerate(batches)] for j in range(3)]
    assert all(total(each) == ZERO for each in forged)
    honest, *others = false.their_verdicts(
        tmp_path, [false.payloads, *([encode(batch) for batch in each] for each in forged)]
    )
    assert honest is not None and "the lookup terminals of all shards do not add up to zero" in honest
    for index, verdict in enumerate(others):
        assert verdict is not None and f"shard {index}: " in verdict


def test_refused_with_other_values_at_the_separating_point(tmp_path: Path) -> None:
    """One bit of a value in each table, values of another table, and none."""
    first, *_ = case("3 shards").decoded()
    payloads = case("3 shards").payloads
    values = [table.main_separated or b"" for table in first.openings]
    mutants = [with_separated(first, [*values[:i], flip(own), *values[i + 1 :]]) for i, own in enumerate(values)]
    mutants += [with_separated(first, [*values[1:], values[0]]), with_separated(first, [None] * len(values))]
    honest, *verdicts = case("3 shards").their_verdicts(tmp_path, [payloads, *([m, *payloads[1:]] for m in mutants)])
    assert honest is None
    for mutant, verdict in zip(mutants, verdicts, strict=True):
        assert verdict is not None and "shard 0: " in verdict
        assert case("3 shards").our_verdict([mutant, *payloads[1:]]) is not None


def with_separated(batch: BatchProof, values: Sequence[bytes | None]) -> bytes:
    """Return the encoding with other values at the separating point, by table."""
    given = zip(batch.openings, values, strict=True)
    return encode(replace(batch, openings=tuple(replace(table, main_separated=own) for table, own in given)))


def test_refused_where_two_shards_shift_their_terminals(tmp_path: Path) -> None:
    """The sum of all terminals is unchanged."""
    first, second, third = case("3 shards").decoded()
    shifted = [with_terminal(first, (5, 0, 0)), with_terminal(second, (0, 0, 0), (5, 0, 0)), third]
    assert total(shifted) == ZERO
    (verdict,) = case("3 shards").their_verdicts(tmp_path, [[encode(batch) for batch in shifted]])
    assert verdict is not None and "shard 0: " in verdict


def total(batches: Sequence[BatchProof]) -> tuple[int, int, int]:
    """Return the sum of all terminals."""
    found = ZERO
    for terminal in chain.from_iterable(batch.terminals for batch in batches):
        found = found if terminal is None else ext_add(found, terminal)
    return found


def with_terminal(batch: BatchProof, less: tuple[int, int, int], more: tuple[int, int, int] = ZERO) -> BatchProof:
    """Return the shard with the difference added to one terminal that is not the head's."""
    at = max(i for i, terminal in enumerate(batch.terminals) if terminal is not None)
    terminals = list(batch.terminals)
    terminals[at] = ext_add(ext_sub(terminals[at] or ZERO, less), more)
    return replace(batch, terminals=tuple(terminals))


def test_refused_unless_all_shards_are_there_in_order(tmp_path: Path) -> None:
    first, second, third = write(tmp_path / "own", case("3 shards").proof, case("3 shards").shards)
    two = write(tmp_path / "two", case("2 shards").proof, case("2 shards").shards)
    shuffled = TABLES[6].main
    assert shuffled is not None
    another = proved([*TABLES[:6], replace(TABLES[6], main=shuffled + np.uint64(1)), TABLES[7]], IN_THREE, PLAIN)
    other = write(tmp_path / "other", another.proof, another.shards)
    ground = write(tmp_path / "ground", case("3 shards, grinding").proof, case("3 shards, grinding").shards)
    reasons = {
        "shard 1 in place of shard 0": files(second, first, third),
        "2 shards of 3": files(first, second),
        "3 shards of 2": files(two[0], second, third),
        "shard 0 in place of shard 1": files(first, first, third),
        "shard 1 is of another proof": files(first, other[1], third),
        "shard 2 is of another proof": files(first, second, ground[2]),
        "a statement that is no shard": plain(tmp_path),
        # Contents of one shard with the statement of another.
        "shard 0: ": [first / STATEMENT, two[0] / PAYLOAD, *files(second, third)],
        "shard 1: ": [*files(first), second / STATEMENT, other[1] / PAYLOAD, *files(third)],
        "shard 2: panic: not what the lookup challenges were drawn from": [
            *files(first, second),
            *(third / STATEMENT, other[2] / PAYLOAD),
        ],
        "shard 1: the values at the separating point are not of all main columns": [
            *files(first),
            *(second / STATEMENT, third / PAYLOAD),
            *(third / STATEMENT, second / PAYLOAD),
        ],
    }
    verdicts = plonky3.verify_all([files(first, second, third), *reasons.values()])
    assert verdicts[0] is None
    for reason, verdict in zip(reasons, verdicts[1:], strict=True):
        assert verdict is not None and reason in verdict


def test_refused_for_another_label(tmp_path: Path) -> None:
    """The label of one shard, or of all, differs."""
    folders = write(tmp_path, case("3 shards").proof, case("3 shards").shards)
    for folder in folders:
        text = json.loads((folder / STATEMENT).read_text())
        (folder / "other.json").write_text(json.dumps(text | {"label": "another"}))
    other = [path for folder in folders for path in (folder / "other.json", folder / PAYLOAD)]
    one, every = plonky3.verify_all([[*files(folders[0]), *other[2:4], *files(folders[2])], other])
    assert one is not None and "shard 1 has another label than shard 0" in one
    assert every is not None and "shard 0: " in every


def test_refused_for_another_hash(tmp_path: Path) -> None:
    """The hash of one shard, or of all, differs."""
    folders = write(tmp_path, case("3 shards").proof, case("3 shards").shards)
    for folder in folders:
        stated = json.loads((folder / STATEMENT).read_text())
        stated["parameters"]["hash"] = BLAKE3
        (folder / "other.json").write_text(json.dumps(stated))
    other = [path for folder in folders for path in (folder / "other.json", folder / PAYLOAD)]
    one, every = plonky3.verify_all([[*files(folders[0]), *other[2:4], *files(folders[2])], other])
    assert one is not None and "shard 1 has other parameters than shard 0" in one
    assert every is not None and "shard 0: " in every


def plain(folder: Path) -> list[Path]:
    """Return two proofs without shards, in place of shards."""
    tables = [fibonacci(8)]
    proof = prove(Statement(tables), "sync", parameters=PLAIN)
    for name, data in export(proof, Statement(tables)).items():
        (folder / name).write_bytes(data)
    return files(folder, folder)


@pytest.mark.parametrize("name", ["3 shards", "3 shards, grinding"])
def test_refused_for_other_digests(name: str, tmp_path: Path) -> None:
    """The challenges are drawn from a digest that is not a shard's, or not from all digests."""
    folders, digests = write(tmp_path, case(name).proof, case(name).shards), case(name).proof.joint.digests
    others = [tuple(flip(digest) if i == j else digest for i, digest in enumerate(digests)) for j in range(3)]
    for given in (*others, digests[:2]):
        for folder in folders:
            text = json.loads((folder / STATEMENT).read_text())
            text["shard"]["digests"] = [digest.hex() for digest in given]
            (folder / "other.json").write_text(json.dumps(text))
        paths = [path for folder in folders[: len(given)] for path in (folder / "other.json", folder / PAYLOAD)]
        (verdict,) = plonky3.verify_all([paths])
        assert verdict is not None and "shard 0: " in verdict


def flip(digest: bytes) -> bytes:
    """Return the digest with one bit flipped."""
    return digest[:-1] + bytes([digest[-1] ^ 1])


# Heads do not determine the numbers of buses, which connect shards.


class Sending(Head):
    """A table whose column need not be zero."""

    def define(self, t: Any) -> None:
        for name, width in self.buses:
            t.provide(Bus(name), [t.none] * width, t.none)


def numbered(folder: Path, *buses: Sequence[tuple[str, int]], head: type[Head] = Head) -> str:
    """Return the verdict on two shards whose heads name these buses, without a proof; each has a local lookup."""
    own = [[shuffle(8), table] for table in squares(8, 64)]
    joint, paths = Joint((bytes(32), bytes(32))), list[Path]()
    proof: Any = None  # never read
    for index, (named, tables) in enumerate(zip(buses, own, strict=True)):
        given = [Table(head(named, 2), (0, 0), np.zeros((1, 8), dtype=np.uint64)), *tables]
        heights = [plonky3.log_height(table) for table in given]
        paths += (folder / f"{index}.json", folder / "empty")
        paths[-2].write_text(statement_json(PLAIN, given, heights, "", Shard(joint, index, proof)))
        paths[-1].touch()
    (verdict,) = plonky3.verify_all([paths])
    assert verdict is not None
    return verdict


def test_numbers_of_buses_are_checked(tmp_path: Path) -> None:
    bus, unused, wider = ("squares", 2), ("unused 0", 2), ("unused 0", 3)
    assert "shard 0: not a proof" in numbered(tmp_path, [bus], [bus, unused])
    reasons = {
        "shard 1: a bus has another number than in another shard": [unused, bus],
        "shard 1: a bus or local lookup has the number of another one in another shard": [bus],
        "the widest tuples of the shards differ": [bus, wider],
    }
    for reason, buses in reasons.items():
        assert reason in numbered(tmp_path, [bus], buses)
    sending = numbered(tmp_path, [bus], [bus, unused], head=Sending)
    assert "shard 0: its first table sends something" in sending
