"""A transaction on a table into which rows can be written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from deltaskip import arguments
from deltaskip.actions import AddFile
from deltaskip.alter.alter import alter_to
from deltaskip.alter.table_changes import TableChange
from deltaskip.data_files.add_files import add_files_to
from deltaskip.data_files.append import append_to, write_metrics
from deltaskip.data_files.data import GivenRows
from deltaskip.dml.assignments import given_values
from deltaskip.dml.changed_rows import write_inserts
from deltaskip.dml.delete import delete_in
from deltaskip.dml.overwrite import overwrite_in, predicate_text
from deltaskip.dml.rows_to_change import execution_of
from deltaskip.dml.update import update_in
from deltaskip.doors import door
from deltaskip.engine import SESSION_ZONE
from deltaskip.errors import InvalidArgumentType
from deltaskip.table.methods import TableMethods, time_zone_argument
from deltaskip.table.write_methods import file_options, matching_argument, overwrite_argument
from deltaskip.transforms import Transform
from deltaskip.txn.transaction import Transaction


@door
class TableTransaction(Transaction):
    """A transaction that takes rows as well as actions, so that several writes become one version of the table.

    Created by `DeltaTable.transaction`. Each method sees the table with the earlier changes of the transaction:

        with table.transaction() as txn:
            txn.append(new_orders)
            txn.append(more_orders, schema_mode="merge")
        txn.version

    The table that began the transaction moves to the committed version. If the block raises or the commit fails, the
    data files that were written are deleted.
    """

    # The session of the appended rows, which also writes them to the change data feed.
    _session: object = None

    def __init__(
        self,
        table: TableMethods,
        operation: str,
        parameters: Mapping[str, object] | None,
        look_up_files: bool,
        user_metadata: str | None,
    ) -> None:
        super().__init__(table.snapshot, operation, parameters, look_up_files, user_metadata)
        self._table = table

    def commit(self) -> int:
        version = super().commit()
        if self._table.snapshot is self.snapshot:
            self.snapshot.followed_by = self.after
        return self._table._written(version)

    def feed_inserts(self, files: Sequence[AddFile]) -> None:
        if not isinstance(files, Sequence):
            raise InvalidArgumentType.of("files", "a sequence of AddFile", files)
        found = [arguments.instance("Each file", file, AddFile, "an AddFile") for file in files]
        # The files have the columns that this transaction has added.
        after = self.snapshot.with_state(self.protocol, self.metadata)
        write_inserts(self, found, execution_of(after, self._session, "UTC", "Appending"))

    def append(
        self,
        data: object,
        schema_mode: Literal["keep", "merge"] = "keep",
        *,
        time_zone: str = SESSION_ZONE,
        compression: str | None = None,
        max_records_per_file: int | None = None,
    ) -> None:
        """Append rows, as DeltaTable.append does, with its arguments. They are visible with the commit.

        Raises the errors of DeltaTable.append, and InvalidCommit if the transaction was already committed or discarded.
        """
        arguments.choice("schema_mode", schema_mode, "keep", "merge")
        zone = time_zone_argument(time_zone, self.snapshot.table_root)
        self._session = getattr(data, "sparkSession", None)
        files = file_options(compression, max_records_per_file)
        self.add_metrics(write_metrics(append_to(self, GivenRows(data), schema_mode, zone, files=files)))

    def add_files(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        partition_values: Mapping[str, object] | None = None,
        time_zone: str = SESSION_ZONE,
    ) -> None:
        """Add Parquet files of other writers, as DeltaTable.add_files does, with its arguments. They are never deleted.

        Raises the errors of DeltaTable.add_files, and InvalidCommit if the transaction was already committed or
        discarded.
        """
        files = arguments.paths("paths", paths)
        values = None if partition_values is None else arguments.mapping("partition_values", partition_values)
        zone = time_zone_argument(time_zone, self.snapshot.table_root)
        self.add_metrics(add_files_to(self, files, values, zone))

    def overwrite(
        self,
        data: object,
        where: object = None,
        partitions: Literal["static", "dynamic"] = "static",
        schema_mode: Literal["keep", "merge", "replace"] = "keep",
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        partition_by: str | Transform | Sequence[str | Transform] | None = None,
        on: object = None,
        source_alias: str | None = None,
        target_alias: str | None = None,
        time_zone: str = SESSION_ZONE,
        compression: str | None = None,
        max_records_per_file: int | None = None,
    ) -> None:
        """Replace rows, as DeltaTable.overwrite does, with its arguments; before other rows are written.

        Raises the errors of DeltaTable.overwrite, and InvalidCommit if the transaction has added or removed files, or
        has ended.
        """
        text = predicate_text(where, params, self.snapshot)
        replaced = overwrite_argument(text, partitions, schema_mode, partition_by)
        if on is not None:
            replaced = replace(replaced, matching=matching_argument(on, target_alias, source_alias, self.snapshot))
        zone = time_zone_argument(time_zone, self.snapshot.table_root)
        files = file_options(compression, max_records_per_file)
        self.add_metrics(overwrite_in(self, GivenRows(data), replaced, zone, files))

    def alter(self, *changes: TableChange) -> None:
        """Change columns, properties, constraints and clustering, as DeltaTable.alter does.

        Args:
            changes: Changes such as AddColumn("price", "DECIMAL(10,2)"), made in order.

        Raises:
            SchemaError: A change of a column is not possible.
            InvalidArgument: A property, constraint or feature is not possible, or a feature would be dropped.
            RowViolation: A row of the table violates a new constraint.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for a constraint.
            InvalidCommit: A constraint is added after rows, or the transaction has ended.
        """
        alter_to(self, changes)

    def delete(
        self,
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        time_zone: str = SESSION_ZONE,
    ) -> None:
        """Delete rows, as DeltaTable.delete does, with its arguments; before rows are written in the transaction.

        Raises the errors of DeltaTable.delete, and InvalidCommit if the transaction has added or removed files, or has
        ended.
        """
        zone = time_zone_argument(time_zone, self.snapshot.table_root)
        self.add_metrics(delete_in(self, predicate_text(where, params, self.snapshot), spark, zone))

    def update(
        self,
        set: Mapping[str, object],
        where: object = None,
        spark: object = None,
        *,
        params: Mapping[str, object] | Sequence[object] | None = None,
        time_zone: str = SESSION_ZONE,
    ) -> None:
        """Set columns of rows, as DeltaTable.update does, with its arguments; before other rows are written.

        Raises the errors of DeltaTable.update, and InvalidCommit if the transaction has changed files or columns, or
        has ended.
        """
        zone = time_zone_argument(time_zone, self.snapshot.table_root)
        given, predicate = given_values(set, where, params, self.snapshot.table_root)
        self.add_metrics(update_in(self, given, predicate_text(predicate, None, self.snapshot), spark, zone))
