"""Rows of a relation of DuckDB, as Arrow where Arrow has its types and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import InvalidArgument, PredicateError
from deltaskip.sparkexpr.types import display_name
from deltaskip.sparkexpr.values.arrow_nested import list_items, map_lists

# Types whose values arrive in Arrow as others.
_DUCKDB_ONLY = frozenset(("bit", "uhugeint"))
_WITHOUT_ARROW = (*_DUCKDB_ONLY, "time with time zone", "variant")
_LONGEST_HOURS = (1 << 63) // 3_600_000_000_000
"""Hours of an interval whose nanoseconds 64 bits hold."""


def rows_of_relation(relation: Any, name: str) -> pa.RecordBatchReader:
    """Return the rows of a relation of DuckDB, whose types say more than those of Arrow that it gives.

    Args:
        relation: The relation.
        name: The name of the argument, for messages.

    Raises InvalidArgument for bits, integers of 128 bits without a sign, and, while they are read, infinite times.
    """
    for column, kind in zip(relation.columns, relation.types, strict=True):
        if odd := _duckdb_types(kind) & _DUCKDB_ONLY:
            raise InvalidArgument(
                f"The column {display_name([column])} of {name} has values of DuckDB's type {odd.pop().upper()}, which "
                f"Arrow lacks: cast it, as in SELECT CAST({display_name([column])} AS VARCHAR)."
            )
    reader = pa.RecordBatchReader.from_stream(relation)

    def batches() -> Iterator[pa.RecordBatch]:
        # DuckDB 2 runs no other query while a result is open.
        with reader:
            for batch in reader:
                for column, values in zip(batch.schema.names, batch.columns, strict=True):
                    if any(map(_has_infinite_time, _flat(values))):
                        raise InvalidArgument(
                            f"The column {display_name([column])} of {name} has a date or timestamp 'infinity', which "
                            f"Delta lacks: write NULL or another time in its place."
                        )
                yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def arrow_answer(relation: Any) -> pa.RecordBatchReader:
    """Return the rows of a query of DuckDB. Sums of integers are BIGINT, as in Spark.

    Raises PredicateError for a column whose type Arrow lacks, or an interval that is too long for it; while the rows
    are read, DuckDB raises its error for a sum beyond BIGINT.
    """
    columns: list[str] = []
    changes = False
    for at, (column, kind) in enumerate(zip(relation.columns, relation.types, strict=True), 1):
        shown, name, is_interval = display_name([column]), column.replace('"', '""'), kind.id == "interval"
        if odd := _duckdb_types(kind) & ({*_WITHOUT_ARROW} if is_interval else {*_WITHOUT_ARROW, "interval"}):
            raise PredicateError(
                f"The column {shown} of the query has values of DuckDB's type {odd.pop().upper()}, which Arrow lacks: "
                f"cast it, as in CAST({shown} AS VARCHAR)."
            )
        changes |= is_interval or kind.id == "hugeint"
        # DuckDB gives nanoseconds, and multiplies without a check.
        long = f"abs(datepart('hour', #{at})) >= {_LONGEST_HOURS}"
        quoted = shown.replace("'", "''")
        error = f"error('The column {quoted} has an interval of more than 292 years, which Arrow lacks.')"
        exact = f"CASE WHEN {long} THEN {error} ELSE #{at} END" if is_interval else f"#{at}"
        columns.append((f"CAST(#{at} AS BIGINT)" if kind.id == "hugeint" else exact) + f' AS "{name}"')
    return pa.RecordBatchReader.from_stream(relation.project(", ".join(columns)) if changes else relation)


def _duckdb_types(kind: Any) -> set[str]:
    """The names of a type of DuckDB and of those inside of it."""
    inside = kind.children if kind.id in ("struct", "list", "map", "array", "union") else ()
    return {kind.id}.union(*(_duckdb_types(each) for _, each in inside if hasattr(each, "id")))


def _flat(values: pa.Array) -> Iterator[pa.Array]:
    """The values at the lowest depth of a column."""
    if pa.types.is_map(values.type):
        values = list_items(map_lists(values))
    if not pa.types.is_nested(values.type):
        yield values
    else:
        for each in values.flatten() if pa.types.is_struct(values.type) else [values.flatten()]:
            yield from _flat(each)


def _has_infinite_time(values: pa.Array) -> bool:
    """Whether dates or timestamps have a value that means infinity in DuckDB: the greatest number, or that below 0."""
    if not (pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type)):
        return False
    width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    least, most = pc.min_max(values.view(width)).as_py().values()
    limit = 2 ** (width.bit_width - 1) - 1
    return least is not None and (least <= -limit or most == limit)
