"""Which rows of a batch match the predicate of a scan, evaluated in this process as Spark evaluates it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy.typing as npt

from deltaskip.reading.stored_rows import StoredBatch
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations import Collation, Collations
from deltaskip.sparkexpr.evaluation import CollatedOrder
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import StructType
from deltaskip.sparkexpr.values.zone_rules import SharedRules


class MatchingRows:
    """Finds the rows for which a predicate is TRUE. It can be pickled.

    Args:
        predicate: The predicate, bound and normalized, such as `Scan.predicate`.
        schema: The schema of the table.
        table: The location of the table, for messages.
        time_zone: The time zone in which the predicate is evaluated.
        cure: The advice after the message that only Spark can evaluate it.
        after_failure: The sentence after the message that the predicate fails for a row.
        collation_version: The version of the collations under which this process compares strings; None if it compares
            none.
        ansi: Whether an expression that fails for a row also fails in Spark. Without ANSI mode it is NULL or wraps
            around, which is left to Spark.

    Raises:
        UnsupportedFeature: The predicate has a part that is left to Spark, see `check_decidable`, or a string of type
            char(n) that it is not known how Spark compares, see `padded_column`.
    """

    def __init__(
        self,
        predicate: Node,
        schema: StructType,
        table: str,
        time_zone: str,
        cure: str,
        after_failure: str = "",
        *,
        collation_version: str | None = None,
        ansi: bool = True,
    ) -> None:
        place = EvaluationPlace(table, cure, after_failure, what="The predicate")
        collations = None if collation_version is None else _CollationsOf(collation_version)
        self._expression = LocalExpression(
            predicate, schema, place, time_zone=time_zone, collations=collations, ansi=ansi
        )
        self._zone_rules = SharedRules()

    def mask(self, batch: StoredBatch) -> npt.NDArray[Any]:
        """Return whether the predicate is TRUE for each row. For errors, see `LocalExpression.mask`."""
        return self._expression.mask(batch.columns, len(batch))


def check_decidable(predicate: Node, table: str, cure: str) -> None:
    """Raise UnsupportedFeature for a bound predicate with a part that is left to Spark, whatever rows there are.

    Args:
        predicate: The predicate.
        table: The location of the table, for messages.
        cure: The advice after the message.
    """
    LocalExpression(predicate, StructType(()), EvaluationPlace(table, cure, what="The predicate"))


@dataclass(frozen=True, slots=True)
class _CollationsOf(CollatedOrder):
    """The collations of a version, which are opened in each process."""

    version: str

    def evaluator(self, collation: str) -> Collation | None:
        return _collations(self.version).evaluator(collation)

    def order(self, collation: str, left: str, right: str) -> int:
        return _collations(self.version).order(collation, left, right)


@lru_cache
def _collations(version: str) -> Collations:
    return Collations(version)
