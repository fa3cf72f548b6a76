"""The one exception a verifier raises."""


class VerificationError(Exception):
    """The proof does not convince: malformed, for another statement, below the asked security, or false."""

    piece: int | None = None  # of a proof in pieces, the one to blame, if it is one
