"""The one exception a verifier raises."""


class VerificationError(Exception):
    """The proof does not convince: malformed, for another statement, below the asked security, or false."""

    shard: int | None = None  # of a sharded proof, the index of the one that is at fault, if that is known


def shard_error(index: int, reason: object) -> VerificationError:
    """Return the error of one shard of a proof, whose message names the shard."""
    error = VerificationError(f"shard {index}: {reason}")
    error.shard = index
    return error
