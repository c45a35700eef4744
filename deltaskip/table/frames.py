"""Tables as DataFrames of other libraries, in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from deltaskip.doors import door
from deltaskip.table.table import DeltaTable

if TYPE_CHECKING:
    import pandas
    import polars


@door
def scan_polars(
    table: str | os.PathLike[str] | DeltaTable,
    where: object = None,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
    *,
    version: int | None = None,
    timestamp: date | str | None = None,
    params: Mapping[str, object] | Sequence[object] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> polars.LazyFrame:
    """Return the rows of a table as a Polars LazyFrame, which reads only the data that its query needs.

    See `TableScan.to_polars`.

    Args:
        table: A local path, a URI or a DeltaTable.
        where: Predicate of the rows, as for `DeltaTable.scan`.
        columns: Columns to read, as for `DeltaTable.scan`.
        limit: Maximum number of rows; which rows is not defined.
        version: The version to read; the latest by default.
        timestamp: The time of the version to read, as for DeltaTable.
        params: Values of the parameters of `where`.
        storage_options: Options of object stores, as for DeltaTable.

    Raises:
        TableNotFound: There is no table.
        PredicateError: The predicate is not valid, or a column does not exist.
        InvalidArgument: An argument has a wrong value.
        InvalidArgumentType: An argument has a wrong type.
        UnsupportedFeature: Polars is not installed.
    """
    opened = _opened(table, version, timestamp, storage_options)
    return opened.scan(where, columns, limit, params=params).to_polars(lazy=True)


@door
def read_pandas(
    table: str | os.PathLike[str] | DeltaTable,
    where: object = None,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
    *,
    types: Literal["numpy", "arrow"] = "numpy",
    version: int | None = None,
    timestamp: date | str | None = None,
    params: Mapping[str, object] | Sequence[object] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> pandas.DataFrame:
    """Return the rows of a table as a pandas DataFrame.

    types: "numpy" or "arrow", as for `TableScan.to_pandas`. The other arguments and the errors are those of
    `scan_polars`; UnsupportedFeature is raised if only Spark can read a file or evaluate the predicate, StorageError if
    a file cannot be read.
    """
    opened = _opened(table, version, timestamp, storage_options)
    return opened.scan(where, columns, limit, params=params).to_pandas(types)


def _opened(table: Any, version: int | None, timestamp: Any, storage_options: Mapping[str, str] | None) -> DeltaTable:
    if isinstance(table, DeltaTable) and version is timestamp is storage_options is None:
        return table
    location = table.uri if isinstance(table, DeltaTable) else table
    return DeltaTable(location, version=version, timestamp=timestamp, storage_options=storage_options)
