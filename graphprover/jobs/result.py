"""The result of a job."""

from collections.abc import Mapping
from dataclasses import dataclass

from graphprover.jobs.job import Job
from graphprover.proof.compressed import AnyProof
from graphprover.prover.made import Made
from graphprover.runtime.display.notebook import html, quoted, short


@dataclass(frozen=True, eq=False)
class Result:
    """The result of a job: a proof, verified by its maker, or an error, which a `Made` alone cannot hold."""

    job: Job
    made: Made | None = None  # the proof, and how it was made
    error: Exception | None = None
    worker: str = ""  # the address of the worker that made it; empty in this process
    attempts: int = 1

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        facts = {"worker": short(self.worker or "this process"), "attempts": self.attempts}
        rows = [(stage, f"{seconds:.3f}") for stage, seconds in self.seconds.items()]
        return html(self._title, facts, [("stage", "seconds"), *rows] if rows else [])

    @property
    def _title(self) -> str:
        came = f"{type(self.error).__name__}: {short(self.error)}"
        if self.proof:
            came = f"a proof of {self.proof.size:,} bytes, {'kept' if self.kept else 'made'}"
        return f"Result of {quoted(self.job.name or self.job.prover.name)}: {came}"

    @property
    def proof(self) -> AnyProof | None:
        """The proof, or None if there is an error."""
        return self.made.proof if self.made else None

    @property
    def kept(self) -> bool:
        """Whether the proof existed before and is good enough."""
        return self.made is not None and self.made.kept

    @property
    def seconds(self) -> Mapping[str, float]:
        """The seconds of each stage; empty if there is no proof."""
        return self.made.seconds if self.made else {}
