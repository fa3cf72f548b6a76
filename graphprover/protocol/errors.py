"""The one exception a verifier raises."""


class VerificationError(Exception):
    """The proof does not convince: malformed, for another statement, below the asked security, or false."""
