"""The record of a proof that was made."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from graphprover.proof.compressed import AnyProof
from graphprover.protocol.proof import Caps
from graphprover.telemetry.model import GuestRun, Stage
from graphprover.telemetry.observation import Observation

STAGES = ("prepare", "wait", "prove", "compress", "verify")  # of a proof, in their order; "wait" is for memory


@dataclass(frozen=True)
class Made:
    """A proof, verified by its maker unless verification was left to the caller, and its cost.

    A worker returns it. The client adds the job, the worker and an error in a `graphprover.jobs.result.Result`.
    """

    proof: AnyProof
    preprocessed_caps: Caps = None  # the maker's own commitments to the preprocessed columns, one a shard; of the base
    seconds: Mapping[str, float] = field(default_factory=dict)  # by stage, of `STAGES`
    compile_seconds: float = 0.0  # of preparing and proving, in which the proof waited for kernels to be compiled
    peak_bytes: int = 0  # of the device's memory, as planned
    kept: bool = False  # the proof existed before
    shards: tuple[Mapping[str, float], ...] = ()  # seconds of each, by stage: "commit", "prove", "verify" if one by one
    cells: int = 0  # committed cells of all tables; 0 of a proof that existed before
    observation: Observation | None = None  # if `observing`
    run: GuestRun | None = None  # of a guest's job
    checksum: bytes = b""  # of a worker's job: `checksum_of` the proof after its verification; otherwise empty
    base_bytes: int | None = None  # bytes of the proof that was compressed; None if none was

    def __sizeof__(self) -> int:
        """Return the bytes that Dask counts."""
        return object.__sizeof__(self) + self.proof.size

    def with_stage(self, name: str, start: float, end: float) -> "Made":
        """Return the record with a stage between two times of `telemetry.subscribe.clock`."""
        stage = Stage(name, start, end)
        seconds = {**self.seconds, name: stage.seconds}
        seen = self.observation.with_stages([stage]) if self.observation else None
        return replace(self, seconds={one: seconds[one] for one in STAGES if one in seconds}, observation=seen)


def checksum_of(proof: AnyProof) -> bytes:
    """Return the SHA-256 of a proof's bytes.

    A worker of a batch computes it after verification. The client does not verify the payloads of a batch. It compares
    the checksum, so it notices a payload that has changed since.
    """
    return hashlib.sha256(proof.to_bytes()).digest()
