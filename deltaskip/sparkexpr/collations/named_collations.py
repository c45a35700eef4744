"""Collations by their names, in one version."""

from __future__ import annotations

from dataclasses import field

from deltaskip.errors import DeltaSkipError, InvalidCollation
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations import lookup
from deltaskip.sparkexpr.collations.collation import Collation
from deltaskip.sparkexpr.collations.collation_id import CollationId


@dataclass(frozen=True, slots=True)
class Collations:
    """The collations of a schema or an expression, all in the version under which an engine compares strings."""

    version: str
    _found: dict[str, Collation | None] = field(default_factory=dict, repr=False, compare=False)

    def evaluator(self, collation: str) -> Collation | None:
        """Return the collation of that name (from a schema or COLLATE); None if it is not available."""
        if collation not in self._found:
            identifier = self.identifier(collation)
            self._found[collation] = None if identifier is None else lookup.find(identifier)
        return self._found[collation]

    def identifier(self, collation: str) -> CollationId | None:
        """Return the identifier with the version; None for an unknown name."""
        try:
            named = CollationId.named(collation).canonical
        except InvalidCollation:
            return None
        return named.with_version(self.version) if named.version is None else named

    def unavailable(self, collation: str) -> str:
        """Return the reason why `evaluator` returns None for the collation."""
        identifier = self.identifier(collation)
        if identifier is None:
            return f"the collation {collation} is not known"
        try:
            lookup.collation(identifier)
        except InvalidCollation:
            return f"the collation {collation} is not known"
        except DeltaSkipError as error:
            return str(error).rstrip(".")
        return f"the collation {identifier} cannot be evaluated"

    def order(self, collation: str, left: str, right: str) -> int:
        """Return -1, 0 or 1 as Spark compares the two strings; raise LookupError if unknown (evaluation.rows.Order)."""
        found = self.evaluator(collation)
        if found is None:
            raise LookupError(self.unavailable(collation))
        if not (found.trusts(left) and found.trusts(right)):
            raise LookupError(f"the collation {found.id.text} does not decide the order of these strings")
        return found.compare_values(left, right)
