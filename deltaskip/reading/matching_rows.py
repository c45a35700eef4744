"""Which rows of a batch match the predicate of a scan, evaluated in this process as Spark evaluates it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.collations.collation import Collation
from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.expr import EvaluationError, Undecided, columns_of, top_level_columns
from deltaskip.expr.by_column import true_and_unknown
from deltaskip.expr.by_column_functions import in_layout
from deltaskip.expr.evaluate import left_to_spark
from deltaskip.expr.nodes import And, FieldRef, Node
from deltaskip.expr.render import to_sql
from deltaskip.reading.stored_rows import StoredBatch
from deltaskip.rows.arrow_expressions import column_at, row_values
from deltaskip.schema.lengths import char_type
from deltaskip.schema.resolve import display_name
from deltaskip.schema.types import StructType
from deltaskip.skipping.proofs.collated import Collations

__all__ = ["MatchingRows", "check_decidable", "padded_column", "true_by_column"]

# Up to this share of rows is copied before the next part of a conjunction is evaluated.
_FEW = 0.25


class MatchingRows:
    """Finds the rows for which a predicate is TRUE. It can be pickled.

    Args:
        predicate: The predicate, bound and normalized, such as `Scan.predicate`.
        schema: The schema of the table.
        table: The location of the table, for messages.
        time_zone: The time zone in which the predicate is evaluated.
        cure: The sentence after the message that only Spark can evaluate it.
        after_failure: The sentence after the message that the predicate fails for a row.
        collation_version: The version of the collations under which this process compares strings; None if it does
            not.
        ansi: Whether a failure for a row is one in Spark. Without ANSI mode it is NULL or wraps around, which is left
            to Spark.

    Raises:
        UnsupportedFeature: The predicate compares a column of type char(n), or has a part that is left to Spark, see
            `check_decidable`.
    """

    def __init__(
        self,
        predicate: Node,
        schema: StructType,
        table: str,
        time_zone: str,
        cure: str,
        after_failure: str = "",
        collation_version: str | None = None,
        ansi: bool = True,
    ) -> None:
        self._predicate = predicate
        self._ansi = ansi
        self._table = table
        self._zone = time_zone
        self._cure = cure
        self._after_failure = f" {after_failure}" if after_failure else ""
        self._collation_version = collation_version
        check_decidable(predicate, table, cure)
        padded = padded_column(predicate, schema)
        if padded is not None:
            name, declared = padded
            raise UnsupportedFeature(
                f"The predicate {to_sql(predicate)} compares {name} of {table}, which is {declared} and padded by "
                f"Spark, so it cannot be evaluated without Spark. {cure}",
                needs_session=True,
            )

    def mask(self, batch: StoredBatch) -> npt.NDArray[Any]:
        """Return whether the predicate is TRUE for each row.

        Raises:
            UnsupportedFeature: Only Spark can evaluate the predicate for a row.
            PredicateError: The predicate fails for a row.
        """
        collations = self._collations
        evaluator = _no_collation if collations is None else collations.evaluator
        if isinstance(self._predicate, And):
            mask = _all_true(self._predicate, batch, self._zone, evaluator)
            if mask is not None:
                return mask
        found = _by_column(self._predicate, batch, self._zone, evaluator)
        if found is None:
            return self._by_row(batch)
        true, unknown = found
        if unknown.any():
            true = true.copy()
            true[unknown] = self._by_row(batch.filter(unknown))
        return true

    @property
    def _collations(self) -> Collations | None:
        return None if self._collation_version is None else _collations(self._collation_version)

    def _by_row(self, batch: StoredBatch) -> npt.NDArray[Any]:
        node, root, collations = self._predicate, self._table, self._collations
        order = None if collations is None else collations.order
        try:
            values = row_values(node, batch.columns, len(batch.positions), self._zone, order)
        except (Undecided, LookupError) as error:
            why = error if isinstance(error, Undecided) else f"the order of a string under {error} is not known."
            raise UnsupportedFeature(
                f"The predicate {to_sql(node)} cannot be evaluated over rows of {root} without Spark: {why} "
                f"{self._cure}",
                needs_session=True,
            ) from error
        except EvaluationError as error:
            if not self._ansi:
                raise UnsupportedFeature(
                    f"The predicate {to_sql(node)} cannot be evaluated over rows of {root} without Spark: what fails "
                    f"in ANSI mode has a value without it, which is left to Spark. {error} {self._cure}",
                    needs_session=True,
                ) from error
            raise PredicateError(
                f"The predicate {to_sql(node)} fails for a row of {root}: {error}{self._after_failure}"
            ) from error
        return np.array([value is True for value in values], np.bool_)


def check_decidable(predicate: Node, table: str, cure: str) -> None:
    """Raise UnsupportedFeature for a bound predicate with a part that is left to Spark, whatever rows there are.

    Args:
        predicate: The predicate.
        table: The location of the table, for messages.
        cure: The sentence after the message.
    """
    why = left_to_spark(predicate)
    if why is not None:
        raise UnsupportedFeature(
            f"The predicate {to_sql(predicate)} cannot be evaluated over rows of {table} without Spark: {why} {cure}",
            needs_session=True,
        )


def true_by_column(predicate: Node, batch: StoredBatch, time_zone: str) -> npt.NDArray[Any] | None:
    """Return for each row whether a predicate is TRUE; None if it must be evaluated row by row.

    No row fails where it is not None.
    """
    found = _by_column(predicate, batch, time_zone, _no_collation)
    return None if found is None else found[0]


def _no_collation(_: str) -> None:
    return None


@lru_cache
def _collations(version: str) -> Collations:
    return Collations(version)


def _by_column(
    predicate: Node, batch: StoredBatch, time_zone: str, collation_of: Callable[[str], Collation | None]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]] | None:
    """For each row, whether the predicate is TRUE, and whether that is open; nothing is open without collations."""
    known: dict[FieldRef, pa.Array] = {}

    def values(column: FieldRef) -> pa.Array:
        if column not in known:
            known[column] = in_layout(column.type, column_at(batch.columns, column.logical))
        return known[column]

    try:
        return true_and_unknown(predicate, values, len(batch.positions), time_zone, collation_of)
    except pa.ArrowException:
        return None


def _all_true(
    predicate: And, batch: StoredBatch, time_zone: str, collation_of: Callable[[str], Collation | None]
) -> npt.NDArray[Any] | None:
    """Which rows make every part TRUE: if parts have left few rows, the next part is evaluated for these only.

    None if a part cannot be evaluated by column for all of these.
    """
    names = top_level_columns(predicate)
    rows = np.arange(len(batch.positions))
    left = StoredBatch(rows, {name: array for name, array in batch.columns.items() if name in names})
    keep = np.ones(len(rows), np.bool_)
    for part in predicate.children:
        found = _by_column(part, left, time_zone, collation_of)
        if found is None or found[1].any():
            return None
        keep &= found[0]
        if np.count_nonzero(keep) <= _FEW * len(keep):
            left = left.filter(keep)
            keep = np.ones(len(left.positions), np.bool_)
        if not len(keep):
            break
    mask = np.zeros(len(rows), np.bool_)
    mask[left.positions[keep]] = True
    return mask


def padded_column(predicate: Node, schema: StructType) -> tuple[str, str] | None:
    """Return name and type of a column of type char(n), which Spark compares padded to its length; None if none is."""
    for path in sorted(columns_of(predicate)):
        if declared := char_type(schema, path):
            return display_name(path), declared
    return None
