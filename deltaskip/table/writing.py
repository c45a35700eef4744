"""The methods of DeltaTable that write rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from deltaskip import arguments
from deltaskip.errors import InvalidArgument
from deltaskip.log import Snapshot, refresh
from deltaskip.schema.calendar import zone_of

if TYPE_CHECKING:
    from deltaskip.txn.result import WriteResult

__all__ = ["WritingMethods", "time_zone_argument"]


class WritingMethods:
    """Writing rows to the latest version of a table."""

    snapshot: Snapshot

    @property
    def uri(self) -> str:
        """URI of the table."""
        return self.snapshot.table_root

    def append(
        self,
        data: object,
        schema_mode: Literal["keep", "merge"] = "keep",
        *,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        time_zone: str = "UTC",
    ) -> WriteResult:
        """Append rows to the latest version of the table, and move to the version that contains them.

        Columns are matched by name, in any letter case, and stored as Spark's ANSI store assignment does. A missing
        column gets its default, the value of its expression, an identity value or NULL. Every row must satisfy the
        table's constraints.

        Args:
            data: A DataFrame of PySpark, classic or Connect, or Arrow data: an object with `__arrow_c_stream__`, such
                as tables and readers of pyarrow, and DataFrames of pandas and polars.
            schema_mode: "keep" refuses columns that the table lacks, "merge" adds them.
            txn: Application id and version, for exactly-once writes: nothing is written if the table contains this
                version of the application, or a later one.
            user_metadata: Text that the table's history has with the commit.
            time_zone: Time zone of casts between instants and local times. For a DataFrame the session's applies.

        Returns:
            The committed version and Delta's metrics; the version is None if nothing was committed.

        Raises:
            SchemaError: The columns of the rows do not fit the table.
            RowViolation: A row violates a constraint, or a value does not fit its column. Nothing was written.
            CommitConflict: Another writer changed what this write depends on.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
            StorageError: Storage failed.
            InvalidArgumentType: An argument has a wrong type.
        """
        from deltaskip.rows.append import append

        arguments.choice("schema_mode", schema_mode, "keep", "merge")
        result = append(
            self.snapshot,
            data,
            schema_mode,
            arguments.app_version("txn", txn),
            time_zone_argument(time_zone, self.uri),
            arguments.text_or_none("user_metadata", user_metadata),
        )
        self.snapshot = refresh(self.snapshot)
        return result


def time_zone_argument(time_zone: str, table: str) -> str:
    """Return the argument `time_zone`. Raises InvalidArgument if there is no such time zone."""
    try:
        zone_of(arguments.text("time_zone", time_zone))
    except LookupError as error:
        known = "a time zone such as Europe/Berlin, +02:00 or UTC"
        raise InvalidArgument(f"time_zone must be {known}, not {time_zone!r} (table {table}).") from error
    return time_zone
