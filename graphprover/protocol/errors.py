"""The exception that verifiers raise."""


class VerificationError(Exception):
    """A proof is rejected: malformed, for another statement, below the required security, or false."""

    shard: int | None = None  # index of the faulty shard of a sharded proof, if known


def shard_error(index: int, reason: object) -> VerificationError:
    """Return the error of shard ``index`` of a proof; its message names the shard."""
    error = VerificationError(f"shard {index}: {reason}")
    error.shard = index
    return error
