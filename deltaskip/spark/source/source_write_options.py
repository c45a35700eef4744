"""The options of the data source's writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deltaskip.dml.merge.clauses import checked_condition
from deltaskip.dml.overwrite import Matching, Overwrite
from deltaskip.errors import InvalidArgument, SchemaError, TableNotFound
from deltaskip.records import dataclass
from deltaskip.rows.plan import SchemaMode
from deltaskip.schema.relations import unqualified_text
from deltaskip.spark.source.options import SourceOptions
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.types import StructType, fold_name
from deltaskip.table.methods import time_zone_argument
from deltaskip.table.table import DeltaTable
from deltaskip.table.write_methods import file_options, overwrite_argument
from deltaskip.txn.write_options import FileOptions

_MODES = ("static", "dynamic")
_MATCHING = ("replaceUsing", "replaceOn")
_OTHER_ROWS = (*_MATCHING, "replaceWhere", "partitionOverwriteMode")


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
            for name in ("replaceWhere", "partitionOverwriteMode", "overwriteSchema", *_MATCHING):
                if name.lower() in self.source.given:
                    raise InvalidArgument(f'The option {name} goes with mode("overwrite"), not with append.')
            if not self.data_change:
                raise InvalidArgument(
                    "An append adds rows, so the option dataChange cannot be false: rows that are only written again "
                    'replace themselves, with mode("overwrite") and replaceWhere.'
                )
        # delta-spark 4.4, validateReplaceOnOrUsingOptionCombinations
        matching = next((name for name in _MATCHING if name.lower() in self.source.given), None)
        if matching is not None:
            others = [name for name in _OTHER_ROWS if name.lower() in self.source.given and name != matching]
            others += ["overwriteSchema"] * self.source.flag("overwriteSchema")
            others += ["dataChange"] * (not self.data_change)
            if others:
                raise InvalidArgument(f"The options {matching} and {others[0]} exclude each other: leave out one.")

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

    @property
    def names_rows(self) -> str:
        """The first option that names rows to replace; "" for none."""
        return next((name for name in _OTHER_ROWS if name.lower() in self.source.given), "")

    def refuse_for_new_table(self) -> None:
        """Raise InvalidArgument for an option that names rows of the table, which is created or replaced as a whole.

        # delta-spark 4.4, dfv2CreateReplaceIncompatibleReplaceOnOrUsingError
        """
        if self.names_rows or not self.data_change:
            raise InvalidArgument(
                f"The option {self.names_rows or 'dataChange'} needs a table whose other rows stay, and "
                f"{self.source.path} is created or replaced as a whole: write with insertInto."
            )

    @property
    def of_files(self) -> dict[str, Any]:
        """The arguments of the methods of tables for the new files."""
        rows = self.source.number("maxRecordsPerFile")
        return {"compression": self.source.given.get("compression"), "max_records_per_file": rows}

    @property
    def of_commit(self) -> dict[str, Any]:
        """The arguments of the methods of tables for the commit."""
        return {"txn": self.app_version, "user_metadata": self.user_metadata}

    @property
    def data_change(self) -> bool:
        """Whether the write changes rows, and does not only write them again."""
        return self.source.flag("dataChange", "true")

    @property
    def files(self) -> FileOptions:
        """How the data files are made. Raises InvalidArgument for a codec that does not exist."""
        return file_options(**self.of_files)

    def replacement(self, table: DeltaTable, incoming: StructType) -> Overwrite | None:
        """Return the rows to overwrite; None for an append.

        Args:
            table: The table.
            incoming: The columns of the new rows.

        Raises:
            InvalidArgument: Options exclude each other, or a value is not valid.
            PredicateError: The condition under which rows are replaced is not valid.
            SchemaError: The table or the rows lack a column of `replaceUsing`.
        """
        if not self.overwrites:
            return None
        mode = self.source.given.get("partitionoverwritemode", "static").strip().lower()
        if mode not in _MODES:
            raise InvalidArgument(f"The option partitionOverwriteMode must be static or dynamic, not {mode!r}.")
        where, alias = self.source.given.get("replacewhere"), self.source.given.get("targetalias")
        if where is not None and alias is not None:
            where = unqualified_text(where, table.schema, [(alias,)])
        partition_by = self.partition_by if self.schema_mode == "replace" else None
        found = overwrite_argument(where, mode, self.schema_mode, partition_by)
        matching = self._matching(table, incoming, alias)
        return found if matching is None else replace(found, matching=matching)

    def _matching(self, table: DeltaTable, incoming: StructType, alias: str | None) -> Matching | None:
        """The condition under which new rows replace rows; None for the other options.

        Spark does not pass the alias of a DataFrame: it is the name in the condition that is not the table's.
        """
        using, on = self.source.given.get("replaceusing"), self.source.given.get("replaceon")
        if using is not None:
            # delta-spark 4.4, parsedReplaceUsingColsList
            names = list(dict.fromkeys(name.strip() for name in using.split(",")))
            if "" in names:
                raise InvalidArgument(f"The option replaceUsing must not contain empty column names: {using!r}.")
            for name in names:
                for what, schema in (("table", table.schema), ("rows", incoming)):
                    if fold_name(name) not in map(fold_name, schema.names):
                        raise SchemaError(
                            f"The option replaceUsing of a write to {table.uri} names the column {name}, which the "
                            f"{what} lack{'s' if what == 'table' else ''}: {', '.join(schema.names)}."
                        )
            return Matching.of(names, table.schema, None, None)
        if on is None:
            return None
        columns = {fold_name(name) for schema in (table.schema, incoming) for name in schema.names}
        first = (parts[0] for parts in columns_of(parse_sql(on)) if len(parts) > 1)
        qualifiers = {fold_name(name): name for name in first if fold_name(name) not in columns}
        qualifiers.pop(fold_name(alias or "target"), None)
        source = next(iter(qualifiers.values())) if len(qualifiers) == 1 else None
        return Matching(checked_condition("on", on), (), alias, source)

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
