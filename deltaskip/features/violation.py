"""What in a commit violates a rule of the table `deltaskip.txn.validation.commit_rules`."""

from __future__ import annotations

from deltaskip.errors import DeltaSkipError, InvalidCommit, UnsupportedFeature
from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """What in a commit violates a rule.

    Attributes:
        rule: The name of the rule.
        message: The table, what is wrong and what to do.
        is_unsupported: Whether the features of the table forbid the commit, and not its actions by themselves.
        cause: The error that shows it, if one does.
    """

    rule: str
    message: str
    is_unsupported: bool = False
    cause: Exception | None = None

    def error(self) -> DeltaSkipError:
        """Return the error to raise."""
        text = f"{self.message.rstrip('.')} (rule {self.rule})."
        found = UnsupportedFeature(text) if self.is_unsupported else InvalidCommit(text, self.rule)
        found.__cause__ = self.cause
        return found
