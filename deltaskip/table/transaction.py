"""A transaction on a table into which rows can be written."""

from __future__ import annotations

from typing import Literal

from deltaskip import arguments
from deltaskip.rows.append import append_to, write_metrics
from deltaskip.rows.data import GivenRows
from deltaskip.table.writing import time_zone_argument
from deltaskip.txn.transaction import Transaction

__all__ = ["TableTransaction"]


class TableTransaction(Transaction):
    """A transaction that takes rows beside actions, so that several writes become one version of the table.

    Created by `DeltaTable.transaction`. Each method sees the table with what the transaction did before:

        with table.transaction() as txn:
            txn.append(new_orders)
            txn.append(more_orders, schema_mode="merge")
        txn.version

    If the block raises or the commit fails, the data files that were written are deleted.
    """

    def append(
        self, data: object, schema_mode: Literal["keep", "merge"] = "keep", *, time_zone: str = "UTC"
    ) -> None:
        """Append rows, as DeltaTable.append does. They are written now and become visible with the commit.

        Args:
            data: A DataFrame of PySpark, or Arrow data, as for DeltaTable.append.
            schema_mode: "keep" refuses columns that the table lacks, "merge" adds them.
            time_zone: Time zone of casts between instants and local times. For a DataFrame the session's applies.

        Raises:
            SchemaError: The columns of the rows do not fit the table.
            RowViolation: A row violates a constraint, or a value does not fit its column. Nothing was written.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
            StorageError: The files cannot be written.
            InvalidArgumentType: An argument has a wrong type.
            InvalidCommit: The transaction was already committed or discarded.
        """
        arguments.choice("schema_mode", schema_mode, "keep", "merge")
        zone = time_zone_argument(time_zone, self.snapshot.table_root)
        self.add_metrics(write_metrics(append_to(self, GivenRows(data), schema_mode, zone)))
