"""Known answers: statements and the proofs by Plonky3 0.8.0, with its transcript for some.

A folder holds statement.json (format in docs/interop.md), payload.bin (postcard of p3-batch-stark's ``BatchProof``) and
optionally transcript.txt: the challenger's initial state, then runs of absorbed and squeezed bytes. The label is the
name of the folder. tests/interop/test_binding.py defines the statements, and checks that Plonky3 gives the same files.

hashes.jsonl has a line for each commitment and each transcript of tests/interop/plonky3/src/vectors.rs, by both hashes.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.air.lookups import Interaction, Message
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.preprocessed import preprocessed_cap
from graphprover.protocol.proof import BatchProof, decode
from graphprover.protocol.verification import check_batch
from graphprover.statement.statement import binding_digest

FOLDER = Path(__file__).parent
HASHES = FOLDER / "hashes.jsonl"
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/payload.bin"))


@dataclass(frozen=True)
class Vector:
    """One statement and Plonky3's proof of it."""

    layout: Layout
    public_values: tuple[tuple[int, ...], ...]  # for each table
    preprocessed: tuple[np.ndarray, ...]  # traces (columns, rows) of the tables with preprocessed columns
    label: str
    payload: bytes

    @cached_property
    def binding(self) -> bytes:
        """Initial state of the challenger."""
        return binding_digest(self.layout, self.label, self.cap)

    @cached_property
    def cap(self) -> tuple[bytes, ...] | None:
        """Commitment to the preprocessed columns."""
        parameters = self.layout.parameters
        if not self.preprocessed:
            return None
        return preprocessed_cap(self.preprocessed, parameters.log_blowup, parameters.cap_height, parameters.hash)

    @cached_property
    def proof(self) -> BatchProof:
        """Contents of the proof."""
        return decode(self.payload, self.layout)

    def check(self, proof: BatchProof) -> None:
        """Call `check_batch` on a proof of this statement."""
        check_batch(self.layout, proof, self.public_values, self.cap, self.binding)

    def check_bytes(self, payload: bytes) -> None:
        """Decode and check a proof of this statement."""
        self.check(decode(payload, self.layout))


def load(name: str) -> Vector:
    """Return the vector with this name."""
    statement = json.loads((FOLDER / name / "statement.json").read_text())
    tables = statement["tables"]
    layout = make_layout(
        [description(table["air"]) for table in tables],
        [table["log_height"] for table in tables],
        Parameters(**statement["parameters"]),
    )
    return Vector(
        layout,
        tuple(tuple(table["public_values"]) for table in tables),
        tuple(np.array(table["preprocessed"], dtype=np.uint64) for table in tables if table["preprocessed"]),
        statement["label"],
        (FOLDER / name / "payload.bin").read_bytes(),
    )


def transcript(name: str) -> list[str]:
    """Return the lines of the vector's transcript.txt."""
    return (FOLDER / name / "transcript.txt").read_text().splitlines()


def description(json_: dict[str, Any]) -> AirDescription:
    """Return the table from the JSON of ``AirDescription.to_json``."""

    def tuple_(json_: dict[str, Any]) -> Message:
        return Message(tuple(json_["fields"]), json_["multiplicity"], json_["weight"])

    def names(prefix: str, count: int) -> tuple[str, ...]:
        return tuple(f"{prefix}{i}" for i in range(count))

    return AirDescription(
        name=json_["name"],
        main_width=json_["main_width"],
        preprocessed_width=json_["preprocessed_width"],
        num_public_values=json_["num_public_values"],
        main_names=names("main", json_["main_width"]),
        preprocessed_names=names("preprocessed", json_["preprocessed_width"]),
        public_names=names("public", json_["num_public_values"]),
        nodes=tuple(tuple(node) for node in json_["nodes"]),
        constraints=tuple(json_["constraints"]),
        constraint_labels=tuple("" for _ in json_["constraints"]),
        locals=tuple(
            Interaction(None, tuple(tuple_(t) for t in interaction["tuples"]), "") for interaction in json_["locals"]
        ),
        globals=tuple(Interaction(interaction["bus"], (tuple_(interaction),), "") for interaction in json_["globals"]),
    )


def by_matrix(rows: bytes, widths: Sequence[int]) -> list[tuple[bytes, ...]]:
    """Return [query][matrix], each row of a `RoundQueries`, from its words."""
    firsts = [8 * first for first in accumulate(widths, initial=0)]
    queries = [rows[first : first + firsts[-1]] for first in range(0, len(rows), firsts[-1])]
    return [tuple(row[first:end] for first, end in pairwise(firsts)) for row in queries]
