"""Converting a folder of Parquet files to a table."""

from __future__ import annotations

import os
from collections.abc import Mapping

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import InvalidArgument, TableNotFound
from deltaskip.log import load_snapshot
from deltaskip.log.new_table import check_no_table
from deltaskip.schema.properties import TableProperties
from deltaskip.storage import open_storage
from deltaskip.table.methods import time_zone_argument
from deltaskip.table.table import DeltaTable
from deltaskip.txn.latest import opening_after


@door
def convert_to_delta(
    path: str | os.PathLike[str],
    partition_schema: object = None,
    *,
    properties: Mapping[str, str] | None = None,
    time_zone: str = SESSION_ZONE,
    storage_options: Mapping[str, str] | None = None,
) -> DeltaTable:
    """Convert a folder of Parquet files to a table at the same location, and return it. Needs no Spark.

    The files are not changed; their statistics come from their footers. The columns are the columns of all files,
    nullable, and merged where files differ: Spark's schema in a footer takes precedence, and byte, short and int become
    the widest of them. Hidden files are left out, as are files that a streaming query of Spark has not committed to the
    folder. If the folder is already a Delta table, this table is returned.

    Args:
        path: The folder, as for DeltaTable.
        partition_schema: The partition columns in the order of the folders `column=value`, such as "day DATE, n INT",
            or a schema of PySpark, Arrow or deltaskip. Values must have these types. None for no partition columns.
        properties: Properties of the table. Files with nanoseconds need `delta.feature.timestampNanos`, `supported`,
            since Spark does not read such columns.
        time_zone: Time zone of timestamps in directory names.
            The default is the active Spark session's, and UTC without a session.
        storage_options: Options of object stores, as for DeltaTable.

    Raises:
        DataFileMissing: The folder does not exist or contains no data files.
        SchemaError: Columns of two files cannot be merged, or have a type or name that a table cannot have.
        InvalidArgument: The directories do not match the partition columns, or a value does not have its column's type.
        RowViolation: A row violates the length of a CHAR or VARCHAR.
        TableAlreadyExists: Another writer creates a table in the folder at the same time.
        InvalidCommit: A rule of the protocol forbids the table.
        StorageError: A file cannot be read.
        InvalidArgumentType: An argument has a wrong type.
    """
    # Reading a table does not need these imports.
    from deltaskip.maintenance.convert import CONVERT, add_folder, read_folder
    from deltaskip.schema.user_schema import schema_of
    from deltaskip.table.creation import TableDefinition, creation

    options = arguments.storage_settings(storage_options)
    storage, root = open_storage(arguments.path("path", path), options)
    zone = time_zone_argument(time_zone, root)
    configuration = {} if properties is None else arguments.texts_by_name("properties", properties)
    if TableProperties(configuration, root).mapping_mode != "none":
        raise InvalidArgument(
            f"The property {TableProperties.mapping_mode.name} cannot be set while {root} is converted, because its "
            f"files have no physical names: set it afterwards."
        )
    partitions = None if partition_schema is None else schema_of(partition_schema)
    try:
        load_snapshot(storage, root)
    except TableNotFound:
        check_no_table(storage, root)
        folder = read_folder(storage, root, partitions, zone, "delta.feature.timestampNanos" in configuration)
        operation = (CONVERT, folder.parameters)
        definition = TableDefinition(folder.schema, folder.partition_columns, properties=configuration)
        transaction = creation(storage, root, definition, operation)
        add_folder(transaction, folder, zone)
        transaction.commit()
        with opening_after(f"{root} was converted"):
            return DeltaTable(path, storage_options=storage_options)
    return DeltaTable(path, storage_options=storage_options)
