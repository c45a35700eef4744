"""Rows written to a table in one call, which creates the table if there is none."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from deltaskip import arguments
from deltaskip.data_files.data import GivenRows
from deltaskip.doors import door
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import CommitConflict, InvalidArgument, TableAlreadyExists, TableNotFound
from deltaskip.log.new_table import already_exists, check_no_files
from deltaskip.storage import open_storage
from deltaskip.table.creation import TableDefinition, columns_of_rows, commit_with_rows, creation
from deltaskip.table.methods import time_zone_argument
from deltaskip.table.table import DeltaTable
from deltaskip.transforms import Transform
from deltaskip.transforms.parse_transforms import transforms_of
from deltaskip.txn.operation import record_version
from deltaskip.txn.result import WriteResult
from deltaskip.txn.write_options import WriteOptions

Mode = Literal["append", "overwrite", "error", "ignore"]
_OPERATION = "WRITE"


@door
def write(
    table: str | os.PathLike[str] | DeltaTable,
    data: object,
    mode: Mode = "append",
    partition_by: str | Transform | Sequence[str | Transform] | None = None,
    *,
    schema_mode: Literal["keep", "merge", "replace"] = "keep",
    properties: Mapping[str, str] | None = None,
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    time_zone: str = SESSION_ZONE,
    storage_options: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write rows to a table, which is created with the columns of the rows if there is none; one commit either way.

    All columns of a new table accept NULL. For other columns or clustering, call `DeltaTable.create`, which also takes
    rows.

    Args:
        table: A local path or a URI, as for DeltaTable, or a DeltaTable, which moves to the version that is written.
        data: The rows, as for `DeltaTable.append`: a DataFrame of Spark, pandas or Polars, Arrow data, or a list of
            dicts.
        mode: What happens if the table exists: "append" adds the rows, "overwrite" replaces all rows by them, "error"
            raises TableAlreadyExists, and "ignore" writes nothing.
        partition_by: Partition columns of a new table, and transforms, as for `DeltaTable.create`. An existing table
            must be partitioned by them, unless `schema_mode` is "replace". The default is no partition columns for a
            new table, and those of an existing one.
        schema_mode: What happens with other columns than those of an existing table, as for `DeltaTable.append` and
            `DeltaTable.overwrite`.
        properties: Properties of a new table, such as `{'delta.columnMapping.mode': 'name'}`, with which names of
            columns may have blanks. An existing table keeps its own.
        txn: Application id and version, for exactly-once writes, as for `DeltaTable.append`.
        user_metadata: Text to record with the commit in the table's history.
        time_zone: Time zone of casts between instants and local times, as for `DeltaTable.append`.
        storage_options: Options of object stores, as for DeltaTable.

    Returns:
        The committed version and Delta's metrics; the version is None if nothing was committed.

    Raises:
        TableAlreadyExists: The table exists, and the mode is "error".
        SchemaError: The columns of the rows do not fit the table, or cannot be columns of a table.
        RowViolation: A row violates a constraint, or a value does not fit its column. Nothing was written.
        CommitConflict: Another writer changed data or metadata on which the write depends, or created the table.
        UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
        StorageError: Storage failed.
        InvalidArgument: The rows cannot be read or computed, or an argument has a wrong value.
        InvalidArgumentType: An argument has a wrong type.
    """
    arguments.choice("mode", mode, "append", "overwrite", "error", "ignore")
    arguments.choice("schema_mode", schema_mode, "keep", "merge", "replace")
    if schema_mode == "replace" and mode != "overwrite":
        raise InvalidArgument(f"schema_mode='replace' replaces all rows: it needs mode='overwrite', not {mode!r}.")
    transforms = None if partition_by is None else transforms_of(partition_by)
    given = {} if properties is None else arguments.texts_by_name("properties", properties)
    opened = table if isinstance(table, DeltaTable) else _opened(table, storage_options)
    if opened is None:
        location = arguments.path("table", table)
        options = WriteOptions(
            arguments.app_version("txn", txn),
            arguments.text_or_none("user_metadata", user_metadata),
            time_zone_argument(time_zone, location),
        )
        rows = GivenRows(data)
        try:
            return _created(location, rows, mode, transforms or (), given, options, storage_options)
        except TableAlreadyExists as error:
            # Another writer was first.
            if mode == "error":
                raise
            opened = DeltaTable(location, storage_options=storage_options)
            if mode != "ignore" and not rows.repeatable:
                raise CommitConflict(
                    f"Another writer has created the table {opened.uri}, and the rows can be read only once: write "
                    f"them again, from a new reader.",
                    "protocol",
                ) from error
    if mode == "error":
        raise already_exists(opened.uri, "add rows with mode='append', or replace all rows with mode='overwrite'")
    if mode == "ignore":
        return WriteResult(None, _OPERATION, nothing_written=f"because the table {opened.uri} exists")
    _check_partitioning(opened, transforms, schema_mode)
    named: dict[str, Any] = {"txn": txn, "user_metadata": user_metadata, "time_zone": time_zone}
    if mode == "append":
        return opened.append(data, schema_mode, **named)  # type: ignore[arg-type]
    replaced = transforms if schema_mode == "replace" else None
    return opened.overwrite(data, schema_mode=schema_mode, partition_by=replaced, **named)


def _opened(table: str | os.PathLike[str], storage_options: Mapping[str, str] | None) -> DeltaTable | None:
    try:
        return DeltaTable(table, storage_options=storage_options)
    except TableNotFound:
        return None


def _created(
    location: str,
    rows: GivenRows,
    mode: Mode,
    partition_by: Sequence[Transform],
    properties: Mapping[str, str],
    options: WriteOptions,
    storage_options: Mapping[str, str] | None,
) -> WriteResult:
    """Create the table with the rows. Raises TableAlreadyExists."""
    storage, root = open_storage(location, arguments.storage_settings(storage_options))
    definition = TableDefinition(columns_of_rows(rows, root), partition_by, properties=properties)
    transaction = creation(storage, root, definition, user_metadata=options.user_metadata)
    check_no_files(storage, root)
    # delta-spark, WriteIntoDelta: the name of the mode in the history
    name = {"append": "Append", "overwrite": "Overwrite", "error": "ErrorIfExists", "ignore": "Ignore"}[mode]
    partitions = list(transaction.metadata.partition_columns)
    transaction.set_operation(_OPERATION, {"mode": name, "partitionBy": partitions})
    record_version(transaction, options.txn)
    metrics = commit_with_rows(transaction, rows, options.time_zone)
    return WriteResult(transaction.version, _OPERATION, metrics, cost=transaction.cost.cost, time_zone=transaction.zone)


def _check_partitioning(table: DeltaTable, given: Sequence[Transform] | None, schema_mode: str) -> None:
    """Raise InvalidArgument if an existing table is partitioned otherwise than by the given columns."""
    if given is None or schema_mode == "replace" or [*map(_folded, given)] == [*map(_folded, table.partitioning)]:
        return
    there, wanted = (", ".join(map(str, each)) or "no columns" for each in (table.partitioning, given))
    raise InvalidArgument(
        f"The table {table.uri} is partitioned by {there}, and not by {wanted}: leave partition_by out, "
        f"or replace all rows and the partitioning by mode='overwrite' with schema_mode='replace'."
    )


def _folded(transform: Transform) -> str:
    return str(transform).lower()
