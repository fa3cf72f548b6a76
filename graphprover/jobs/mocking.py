"""Mock proofs for tests of applications: a run with its traces checked, in the place of its proof."""

from pathlib import Path
from typing import Any

from graphprover.jobs.job import Job
from graphprover.jobs.recipe import Recipe
from graphprover.proof.mock import MockProof
from graphprover.protocol.errors import VerificationError
from graphprover.prover.prepare import ready
from graphprover.statement.check import check


def mock_proof(of: Recipe, data: bytes | Path | None = None, **options: Any) -> MockProof:
    """Run a program, check the traces against all constraints, and return a mock of the proof.

    The mock is of one shard. Its parameters are the ones of the proof, or of the base of a compressed proof.

    Args:
        of: The program and the options of the proof.
        data: The input.
        options: The fields of the `Job` about the run.

    Raises:
        VerificationError: The traces violate a constraint, or a bus does not balance.
        Exception: every exception of `graphprover.Prover.prove` before the proof.
    """
    job, program = Job(Recipe(of.program, of.level, of.layers, debug=of.debug), data, **options), of.program
    run = job.recorded(None, job.run_options())
    if job.max_cost is not None:
        program.cost_about(run).check(job.max_cost)
    statement = program.statement_about(run, commit_input=job.commit_input, rate=job.layout_rate())
    prepared = ready(statement, job.level_of(statement))
    if job.prover.layers:
        from graphprover.prover.layers import check_prepared  # here, because other proofs need no layers

        check_prepared(prepared)
    (alone,) = statement.statements
    if findings := check(alone):
        more = f", and {len(findings) - 1:,} more errors" if len(findings) > 1 else ""
        raise VerificationError("asked.mock", f"{findings[0]}{more}")
    return MockProof(prepared.shards[0].header)
