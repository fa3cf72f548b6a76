"""The one exception a verifier raises."""


class VerificationError(Exception):
    """The proof does not convince: malformed, for another statement, below the asked security, or false."""

    piece: int | None = None  # of a proof in pieces, the index of the one that is at fault, if that is known


def piece_error(index: int, reason: object) -> VerificationError:
    """Return the error of one piece of a proof, whose message names the piece."""
    error = VerificationError(f"piece {index}: {reason}")
    error.piece = index
    return error
