"""The collations under which rows are compared now."""

from __future__ import annotations

from functools import cached_property

from deltaskip.collations.collation import Collation
from deltaskip.engine import collation_version
from deltaskip.skipping.proofs.collated import Collations


class RunningCollations:
    """Collations as the running session compares, else as the installed Spark does, else as Spark 4.1.

    It asks for the version when it first compares.
    """

    @cached_property
    def _collations(self) -> Collations:
        return Collations(collation_version())

    def evaluator(self, collation: str) -> Collation | None:
        """See expr.evaluation.columns.CollatedOrder.evaluator."""
        return self._collations.evaluator(collation)

    def order(self, collation: str, left: str, right: str) -> int:
        """See expr.evaluation.columns.CollatedOrder.order."""
        return self._collations.order(collation, left, right)
