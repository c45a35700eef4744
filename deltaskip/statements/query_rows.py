"""The rows of a query without a session, for statements that write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from deltaskip.errors import PredicateError
from deltaskip.reading.table_scan import TableScan
from deltaskip.rows.arrow_layout import with_schema
from deltaskip.schema.user_schema import schema_of
from deltaskip.sparkexpr import sql_name
from deltaskip.sparkexpr import types as t
from deltaskip.statements.local_query import local_rows
from deltaskip.statements.queries import QuerySession


class QueryRows:
    """Rows with the names of a DataFrame's methods that statements call.

    Args:
        batches: The rows, which are read once.
        times: The values of type TIMESTAMP_NTZ that Spark has as TIMESTAMP or DATE.
        collated: The columns that declare collations of their strings.
    """

    def __init__(
        self, batches: pa.RecordBatchReader, times: tuple[str, ...] = (), collated: Iterable[t.StructField] = ()
    ) -> None:
        self.times = times
        self.schema = t.with_collations(batches.schema, collated)
        self._batches = with_schema(batches, self.schema)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [*self.schema.names]

    def toDF(self, *names: str) -> QueryRows:  # noqa: N802 - as of a DataFrame
        """The rows under other names."""
        schema = pa.schema([field.with_name(name) for field, name in zip(self.schema, names, strict=True)])
        return QueryRows(with_schema(self._batches, schema))

    def with_constants(self, constants: Mapping[str, pa.Array]) -> QueryRows:
        """The rows with further columns, each of which has one value, given as an array of one."""
        added = [pa.field(name, value.type) for name, value in constants.items()]
        schema = pa.schema([*self.schema, *added])

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in self._batches:
                values = (pa.repeat(value[0], batch.num_rows) for value in constants.values())
                yield pa.RecordBatch.from_arrays([*batch.columns, *values], schema=schema)

        return QueryRows(pa.RecordBatchReader.from_batches(schema, batches()))

    @property
    def kinds(self) -> list[str]:
        """The names of the columns' types in lower case, with the collations that they declare."""
        declared = ((field, t.collation_inside(field)) for field in schema_of(self.schema).fields)
        return [
            sql_name(field.type).lower() + (f" collate {t.collation_name(name)}" if name else "")
            for field, name in declared
        ]

    def limit(self, most: int) -> QueryRows:
        """The first rows. No more batches are read than have them."""
        found, rows = [], 0
        while rows < most and (batch := next(self._batches, None)) is not None:
            found.append(batch)
            rows += batch.num_rows
        return QueryRows(pa.Table.from_batches(found, self.schema).slice(0, most).to_reader())

    def collect(self) -> list[tuple[Any, ...]]:
        """The values of each row."""
        return [*zip(*(column.to_pylist() for column in self._batches.read_all().columns), strict=True)]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._batches.__arrow_c_stream__(requested_schema)


def rows_to_write(session: QuerySession, text: str) -> tuple[QueryRows, list[TableScan]]:
    """Return the rows of a query, and the scans of the latest version of tables through which it reads them.

    For arguments and errors, see `local_rows`. Raises PredicateError if DuckDB may compute other rows than Spark.
    """
    found = local_rows(session, text, None, session.time_zone)
    said = found.warning
    if found.texts:
        said = f"'{found.texts[0]}' in double quotes is a name in DuckDB and a text in Spark. {said}".rstrip()
    if said:
        raise PredicateError(
            f"{said} Such rows are not written unasked: write the query otherwise, pass a session as the "
            f"first argument of sql(), or append the rows of deltaskip.sql(text)."
        )
    return QueryRows(found.batches, found.times, found.declared), [*found.latest]
