"""The exceptions that verifiers raise, each with the identifier of its rule in docs/refusals.md."""

from collections.abc import Iterator
from contextlib import contextmanager


class _ByRule(Exception):
    """An error by a rule of docs/refusals.md; its text is the message alone."""

    shard: int | None = None  # index of the faulty shard of a sharded proof, if known

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule, message)  # both, so that a pickled error is the same
        self.rule = rule

    def __str__(self) -> str:
        return str(self.args[1])

    def refusal(self, message: str | None = None) -> "VerificationError":
        """Return the refusal of a proof by the same rule, with another message or this one."""
        error = VerificationError(self.rule, str(self) if message is None else message)
        error.shard = self.shard
        return error


class VerificationError(_ByRule):
    """A proof is rejected: malformed, for another statement, below the required security, or false."""


class RuleError(_ByRule, ValueError):
    """A value is out of a rule by which verifiers refuse proofs; provers raise it too."""


@contextmanager
def by_rule(rule: str) -> Iterator[None]:
    """Raise a ValueError of the block as an error by this rule."""
    try:
        yield
    except ValueError as error:
        raise RuleError(rule, str(error)) from None


def shard_error(index: int, reason: _ByRule) -> VerificationError:
    """Return the error of shard ``index`` of a proof; its message names the shard."""
    error = reason.refusal(f"shard {index}: {reason}")
    error.shard = index
    return error
