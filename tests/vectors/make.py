"""Write the test vectors, the annotated proof and machine.json: python -m tests.vectors.make.

The package makes the proofs, `independent` the intermediate values; test_vectors.py compares them with the package's.
"""

import argparse
import gzip
import json
import shutil
from dataclasses import replace
from typing import Any

import numpy as np

from graphprover import prove
from graphprover.air import Air
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.parameters import HASH_NAMES, Parameters
from graphprover.statement.shards import shards_of
from graphprover.statement.statement import Statement, Table
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.key import ProofKind
from graphprover.vm.statement.machine import machine_json
from graphprover.vm.statement.setup import make_key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run
from tests.test_must_fail import PARAMETERS, numbers
from tests.vectors import FOLDER, annotated, independent, refused
from tests.vm.assemble import CODE, Segment, X, elf, leave, li, words

DOCS = FOLDER.parents[1] / "docs"
OF_GUEST = Parameters("keccak", 1, 1, 0, 3, 0, 0, 0, 0, 0, 0)
OF_TINY = Parameters("blake3", 1, 1, 0, 1, 0, 0, 0, 0, 0, 4)
# Outputs `abc`: its length as a word, and the bytes in the next word.
ABC = [*li(5, OUTPUT_BASE), *li(6, 3), Instruction(Op.SD, rs1=5, rs2=6), *li(6, 0x636261)]
PROGRAM = elf([Segment(CODE, words([*ABC, Instruction(Op.SD, rs1=5, rs2=6, imm=8), *leave()]), X)])


class Squares(Air):
    """Numbers that rise by one, and their squares."""

    columns = ("x", "square")
    public_values = ("first",)

    def define(self, t: Any) -> None:
        t.first_row(t.x - t.public.first)
        t.every_row(t.square - t.x * t.x)
        t.transition(t.next.x - t.x - 1)


class One(Air):
    """One number."""

    columns = ("x",)
    trace = np.array([[5]], dtype=np.uint64)

    def define(self, t: Any) -> None:
        t.every_row(t.x - t.x)


TINY = Statement([Table(Squares(), (3,), np.array([[3, 4], [9, 16]], dtype=np.uint64))], "squares")


def main() -> None:
    """Write all files."""
    for folder in ("statements", "proofs", "refused", "guests"):
        shutil.rmtree(FOLDER / folder, ignore_errors=True)
        (FOLDER / folder).mkdir()
    (DOCS / "machine.json.gz").write_bytes(gzip.compress(machine_json().encode(), 9, mtime=0))
    write_json("statements/numbers.json", stated(numbers()))
    write_json("statements/tiny.json", stated(TINY))
    (FOLDER / "proofs/tiny.bin").write_bytes(prove(TINY, "sync", parameters=OF_TINY).to_bytes())
    machine = Machine(load_elf(PROGRAM))
    key = make_key(machine, [ProofKind(code, 1) for code in range(len(HASH_NAMES))])
    (FOLDER / "guests/abc.elf").write_bytes(PROGRAM)
    (FOLDER / "guests/abc.vk").write_bytes(key.to_bytes())
    entries = []
    for hash in HASH_NAMES:
        own, statement = replace(PARAMETERS, hash=hash), numbers()
        tables = {"statement": "statements/numbers.json"}
        entries.append(entry(f"numbers-{hash}", prove(statement, "sync", parameters=own), tables))
        sharded = shards_of(statement, [[0], [1]])
        entries.append(entry(f"shards-{hash}", prove(sharded, "sync", parameters=own), tables))
        run = statement_of_run(machine, execute(machine.image, record=True), f"abc {machine.program_hash.hex()}")
        proof = prove(run, "sync", parameters=replace(OF_GUEST, hash=hash))
        entries.append(entry(f"guest-{hash}", proof, {"key": "guests/abc.vk", "program": "guests/abc.elf"}))
    write_json("vectors.json", {"proofs": entries})
    write_json("refused.json", {"refused": refused.write()})
    (DOCS / "annotated_proof.md").write_text(annotated.page())


def entry(name: str, proof: Proof | ShardedProof, of: dict[str, str]) -> dict[str, Any]:
    """Write a proof, and return its entry in vectors.json."""
    found = {"name": name, "file": f"proofs/{name}.bin"} | of
    (FOLDER / found["file"]).write_bytes(proof.to_bytes())
    return found | independent.values(found)


def stated(statement: Statement) -> dict[str, Any]:
    """Return a statement as JSON, without what the files of its proofs state."""
    tables = [
        {
            "air": table.air.describe().to_json(),
            "public_values": None if table.public_values is None else list(table.public_values),
            "preprocessed": None if table.preprocessed is None else table.preprocessed.tolist(),
        }
        for table in statement.tables
    ]
    return {"tables": tables}


def write_json(name: str, value: Any) -> None:
    """Write a JSON file, with each element of a list of objects on lines of its own."""
    (FOLDER / name).write_text(json.dumps(value, separators=(",", ":"), allow_nan=False).replace("},{", "},\n{") + "\n")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    main()
