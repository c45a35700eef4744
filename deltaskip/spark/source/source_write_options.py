"""The options of the data source's writes."""

from __future__ import annotations

from deltaskip.dml.overwrite import Overwrite
from deltaskip.errors import InvalidArgument, TableNotFound
from deltaskip.records import dataclass
from deltaskip.rows.plan import SchemaMode
from deltaskip.spark.source.options import SourceOptions
from deltaskip.table.methods import time_zone_argument
from deltaskip.table.table import DeltaTable
from deltaskip.table.write_methods import overwrite_argument

_MODES = ("static", "dynamic")


@dataclass(frozen=True, slots=True)
class SourceWriteOptions:
    """The options of a write.

    Attributes:
        source: All options as given.
        overwrites: Whether the mode is overwrite, and not append.

    Raises:
        InvalidArgument: An option belongs to reads or to the other mode.
    """

    source: SourceOptions
    overwrites: bool

    def __post_init__(self) -> None:
        self.source.refuse_options_of_reads()
        if not self.overwrites:
            for name in ("replaceWhere", "partitionOverwriteMode", "overwriteSchema"):
                if name.lower() in self.source.given:
                    raise InvalidArgument(f'The option {name} goes with mode("overwrite"), not with append.')

    @property
    def time_zone(self) -> str | None:
        """The time zone; None if it was not given. Raises InvalidArgument if the time zone does not exist."""
        zone = self.source.given.get("timezone")
        return None if zone is None else time_zone_argument(zone, self.source.path)

    @property
    def app_version(self) -> tuple[str, int] | None:
        """Application id and version of an exactly-once write."""
        app_id, version = self.source.given.get("txnappid"), self.source.number("txnVersion")
        if app_id is None and version is None:
            return None
        if app_id is None or version is None:
            raise InvalidArgument("Specify both of the options txnAppId and txnVersion, or neither.")
        return app_id, version

    @property
    def app_id(self) -> str:
        """The name of a streaming query in the table. Raises InvalidArgument if it was not given."""
        found = self.source.given.get("txnappid")
        if not found or "txnversion" in self.source.given:
            without = " without txnVersion, which is the number of a batch" if "txnversion" in self.source.given else ""
            raise InvalidArgument(
                f"A stream that writes the format deltaskip needs the option txnAppId{without}: choose a name that no "
                f"other query on this table uses, and a new name for each new checkpoint location."
            )
        return found

    @property
    def user_metadata(self) -> str | None:
        """Text to record with the commit in the table's history."""
        return self.source.given.get("usermetadata")

    @property
    def schema_mode(self) -> SchemaMode:
        """The treatment of the schema: "keep", "merge" or "replace"."""
        merges, replaces = self.source.flag("mergeSchema"), self.source.flag("overwriteSchema")
        if merges and replaces:
            raise InvalidArgument("Specify either mergeSchema or overwriteSchema, not both.")
        return "replace" if replaces else "merge" if merges else "keep"

    @property
    def partition_by(self) -> list[str] | None:
        """The partition columns of a table that is created, or whose schema is replaced; None if not given."""
        return [] if not self.source.given.get("partitionby", "x").strip() else self.source.names("partitionBy")

    def replacement(self) -> Overwrite | None:
        """Return the rows to overwrite; None for an append. Raises InvalidArgument as `Overwrite` does."""
        if not self.overwrites:
            return None
        mode = self.source.given.get("partitionoverwritemode", "static").strip().lower()
        if mode not in _MODES:
            raise InvalidArgument(f"The option partitionOverwriteMode must be static or dynamic, not {mode!r}.")
        where = self.source.given.get("replacewhere")
        partition_by = self.partition_by if self.schema_mode == "replace" else None
        return overwrite_argument(where, mode, self.schema_mode, partition_by)

    def table(self) -> DeltaTable | None:
        """Return the latest version of the table; None if there is none.

        Raises InvalidArgument if the table exists and `partitionBy` was given without `overwriteSchema`.
        """
        try:
            table = DeltaTable(self.source.path, storage_options=self.source.storage_options)
        except TableNotFound:
            return None
        if self.partition_by is not None and self.schema_mode != "replace":
            raise InvalidArgument(
                f"The table {table.uri} exists, and partitionBy does not change how it is partitioned: leave out the "
                f'option, or add overwriteSchema=true to mode("overwrite").'
            )
        return table
