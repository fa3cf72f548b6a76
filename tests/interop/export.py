"""Writes a proof out for Plonky3's own verifier: ``python -m tests.interop.export PROGRAM PROOF FOLDER``.

FOLDER gets ``statement.json`` and ``payload.bin``, the arguments of the crate's ``verify``. Everything in the statement
but the public values, the heights and the parameters comes from the program, not from the proof.
"""

import sys
from dataclasses import replace
from pathlib import Path

from graphprover.envelope import Proof
from graphprover.programs import open_program
from graphprover.protocol.layout import make_layout
from graphprover.statement import binding_digest
from tests.interop.plonky3 import write_statement


def export(program: str, proof: Proof, folder: Path) -> None:
    """Raises ValueError where the header of the proof does not fit the program."""
    statement = open_program(program).statement_of(proof)
    layout = make_layout(statement.descriptions, proof.log_heights, proof.parameters)
    cap = statement.preprocessed_cap(proof.parameters.log_blowup, proof.parameters.cap_height)
    tables = [replace(t, public_values=v) for t, v in zip(statement.tables, proof.public_values, strict=True)]
    folder.mkdir(parents=True, exist_ok=True)
    binding = binding_digest(layout, proof.label, cap)
    write_statement(folder / "statement.json", proof.parameters, tables, binding, proof.log_heights)
    (folder / "payload.bin").write_bytes(proof.payload)


if __name__ == "__main__":
    program, proof, folder = sys.argv[1:]
    export(program, Proof.from_bytes(Path(proof).read_bytes()), Path(folder))
