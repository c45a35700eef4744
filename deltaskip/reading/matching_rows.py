"""Which rows of a batch match the predicate of a scan, evaluated in this process as Spark evaluates it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy.typing as npt

from deltaskip.reading.stored_rows import StoredBatch
from deltaskip.sparkexpr import EvaluationError, Undecided, needs_session, padded_column, public_errors, to_sql
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.evaluation import Evaluator, left_to_spark
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import StructType, display_name
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
        self._predicate = predicate
        self._ansi = ansi
        self._table = table
        self._zone = time_zone
        self._zone_rules = SharedRules()
        self._cure = cure
        self._after_failure = after_failure
        self._collation_version = collation_version
        check_decidable(predicate, table, cure)
        padded = padded_column(predicate, schema)
        if padded is not None:
            name, declared = display_name(padded[0]), padded[1]
            why = f"{name} is {declared} and padded by Spark; trim({name}) can be evaluated."
            raise needs_session(_described(predicate), table, why, cure)

    def mask(self, batch: StoredBatch) -> npt.NDArray[Any]:
        """Return whether the predicate is TRUE for each row.

        Raises:
            UnsupportedFeature: Only Spark can evaluate the predicate for a row.
            PredicateError: The predicate fails for a row.
        """
        node = self._predicate
        with public_errors(lambda: _described(node), self._table, self._cure, self._after_failure):
            try:
                return Evaluator(node, self._zone, self._collations).mask(batch.columns, len(batch))
            except EvaluationError as error:
                if self._ansi or isinstance(error, Undecided):
                    raise
                raise Undecided(
                    f"what fails in ANSI mode has a value without it, which is left to Spark. {error}"
                ) from error

    @property
    def _collations(self) -> Collations | None:
        return None if self._collation_version is None else _collations(self._collation_version)


def check_decidable(predicate: Node, table: str, cure: str) -> None:
    """Raise UnsupportedFeature for a bound predicate with a part that is left to Spark, whatever rows there are.

    Args:
        predicate: The predicate.
        table: The location of the table, for messages.
        cure: The advice after the message.
    """
    why = left_to_spark(predicate)
    if why is not None:
        raise needs_session(_described(predicate), table, why, cure)


def _described(predicate: Node) -> str:
    return f"The predicate {to_sql(predicate)}"


@lru_cache
def _collations(version: str) -> Collations:
    return Collations(version)
