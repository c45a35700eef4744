"""The methods of DeltaTable that read more than one of its versions: changes and streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from deltaskip import arguments
from deltaskip.engine import SESSION_ZONE, engine
from deltaskip.errors import InvalidArgument, InvalidArgumentType, OptionAdvice, VersionNotFound
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.table.methods import TableMethods

if TYPE_CHECKING:
    import pyarrow as pa

    from deltaskip.change_feed.change_scan import ChangeScan
    from deltaskip.change_feed.version_range import RangeEnd


class ReadingMethods(TableMethods):
    """Reading the changes of a table, and following it."""

    def changes(
        self,
        start: int | date | str | None = None,
        end: int | date | str | None = None,
        where: object = None,
        columns: Sequence[str] | None = None,
        *,
        allow_out_of_range: bool = False,
        time_zone: str | None = SESSION_ZONE,
        collation_version: str | None = None,
        params: Mapping[str, object] | Sequence[object] | None = None,
        strict: bool = False,
        ansi: bool | None = None,
        hidden: bool = False,
        source: Literal["auto", "feed", "rows"] = "auto",
        net: bool = False,
        snapshot_first: bool = False,
    ) -> ChangeScan:
        """Return a scan of the rows that versions inserted, deleted and updated.

        Changes come from the change data feed (`delta.enableChangeDataFeed`), and in versions without it from the files
        that a version adds and removes, whose rows are compared by their ids (`delta.enableRowTracking`), or by their
        values if `source` is "rows". Rows have the columns of the last version.

        Args:
            start: First version, or a time: the first version that was committed at or after it, as a datetime, a
                date or ISO 8601 text. A time without a time zone is in UTC. The default is version 0.
            end: Last version, or a time: the last version that was committed at or before it. A version that does not
                exist yet means the latest version. The default is the version of this table, or the latest if the
                start is newer.
            where: Predicate on the rows, as for `scan`. It may use `_change_type`, `_commit_version` and
                `_commit_timestamp`. The default matches every change.
            columns: Top-level columns of the table to read; the columns of the feed follow. The default is all columns
                except the hidden ones.
            allow_out_of_range: Whether a start after the latest version means no changes, and an end time after the
                last commit means that commit. By default both raise VersionNotFound.
            time_zone: Session time zone, as for `scan`.
            collation_version: Version of the collations that the rows will be compared with, as for `scan`.
            params: Values of the parameters of SQL text, as for `scan`.
            strict: Whether to raise NotProvable if no part of the predicate can skip a file, as for `scan`.
            ansi: Whether Spark evaluates the predicate in ANSI mode, as for `scan`.
            hidden: Whether to read partition columns that a transform has added, as for `scan`.
            source: "feed" to read only the feed, "rows" to compare rows in every version, "auto" for the feed in
                versions that have it, and row ids in the others. By their ids, rows that RESTORE brings back to other
                values are updates, and if one image of an update matches the predicate, both are returned. With "rows",
                versions without row ids are compared by whole rows: equal rows of added and removed files only moved,
                and an update is a delete and an insert.
            net: Whether to return one change of each row for the whole range: its values before the first version and
                after the last one, with the version of its last change. A row that was inserted and deleted has no
                change, and neither has one whose values are as they were. Rows are followed by their ids; with
                `source` "rows" by their values, if a version has no ids.
            snapshot_first: Whether the rows of the first version are returned as inserts, in place of its changes. With
                `net`, the rows of the last version are inserts.

        Raises:
            VersionNotFound: The start is after the latest version, no version is as old or new as a time, or the
                commits of the range have been cleaned up.
            InvalidArgument: A version of the range has neither the feed nor row ids, the end is before the start, or an
                argument has a wrong value.
            SchemaError: The schema changed in the range so that one DataFrame cannot have the rows of all versions.
            NotProvable: `strict` is true, and no part of the predicate can skip a file.
            PredicateError: The predicate does not parse or does not match the schema, or a column does not exist.
            CorruptLog: The log violates the Delta protocol.
            InvalidArgumentType: An argument has the wrong type.
        """
        # Reading a table at one version must not import the change data feed.
        from deltaskip.change_feed.change_scan import ChangeScan
        from deltaskip.change_feed.states import WantedChanges
        from deltaskip.change_feed.version_range import version_range
        from deltaskip.skipping.read_options import ReadOptions

        bounds = self._bound("start", start), self._bound("end", end)
        versions = version_range(self.snapshot, *bounds, arguments.flag("allow_out_of_range", allow_out_of_range))
        chosen = (where, columns, None, time_zone, collation_version)
        options = ReadOptions(*chosen, params=params, strict=strict, ansi=ansi, hidden=hidden)
        of: Any = arguments.choice("source", source, "auto", "feed", "rows")
        whole = arguments.flag("net", net)
        if whole and of == "feed":
            feed = OptionAdvice("source", "feed")
            raise InvalidArgument(
                f"net changes of {self.snapshot.root} are found by comparing rows, and not from the feed: leave out "
                f"{feed}."
            ).advising(feed)
        first = arguments.flag("snapshot_first", snapshot_first)
        return ChangeScan(versions, options, WantedChanges(of, whole, first))

    def files_since(self, version: int, time_zone: str = SESSION_ZONE) -> pa.Table:
        """Return the files that the versions after `version`, up to this table's version, added and removed.

        One row for each add and remove action, in the order of the log, with the columns `version`, `action` ("add" or
        "remove"), `path` (decoded), `uri` (absolute, percent-encoded), `size` (bytes), `partition_values` (a struct,
        typed by the schema), `data_change` (false for actions that move rows without changing them, as in OPTIMIZE) and
        `deletion_vector` (a struct, null for files without one). Size and partition values are null if a remove action
        does not have them. A version that changes the deletion vector of a file removes the file and adds it. Only the
        commits are read, no checkpoint.

        Args:
            version: The known version, which must not be newer than this table.
            time_zone: Time zone of timestamps without a zone in partition values.
                The default is the active Spark session's, and UTC without a session.

        Raises:
            VersionNotFound: The version is newer than this table, or the commits after it have been cleaned up.
            CorruptLog: A commit is missing or damaged, or a path or partition value cannot be read.
            InvalidArgument: The version is negative, or `time_zone` is not a time zone.
            InvalidArgumentType: An argument has the wrong type.
        """
        from deltaskip.change_feed.added_and_removed_files import file_changes
        from deltaskip.table.methods import time_zone_argument

        root = self.snapshot.root
        known = arguments.non_negative("version", version, f"(table {root})")
        if known is None:
            raise InvalidArgumentType.of("version", "an int", version)
        if known > self.snapshot.version:
            raise VersionNotFound(
                f"files_since needs a version up to {self.snapshot.version}, the version of this table of {root}: "
                f"call refresh for newer ones."
            )
        zone = time_zone_argument(time_zone, root)
        return file_changes(self.snapshot, known, zone)

    def read_stream(
        self,
        spark: Any,
        where: object = None,
        columns: Sequence[str] | None = None,
        *,
        starting_version: int | Literal["latest"] | None = None,
        starting_timestamp: date | str | None = None,
        max_files_per_trigger: int | None = None,
        ignore_deletes: bool = False,
        skip_change_commits: bool = False,
        max_bytes_per_trigger: int | None = None,
        changes: bool = False,
        source: Literal["auto", "feed", "rows"] = "auto",
        params: Mapping[str, object] | Sequence[object] | None = None,
    ) -> Any:
        """Return a streaming DataFrame of the rows of the table, and then of new rows.

        The DataFrame is `spark.readStream.format("deltaskip")`. A query that is restarted with its checkpoint continues
        where it ended, and reads every row once. A query begins with all rows of the latest version, regardless of the
        version of this object, unless a start is given. Later versions that delete or change rows end the query with
        an error.

        Args:
            spark: A session of Spark 4.0 or newer, classic or Connect. Its workers need deltaskip.
            where: Predicate of the rows, as for `scan`. It also skips files.
            columns: Top-level columns to read. The default is all columns except the hidden ones.
            starting_version: Read only the rows that this version and later versions append; "latest" for versions that
                do not exist yet.
            starting_timestamp: Read only the rows of appends that were committed at or after this time, a datetime,
                a date or ISO 8601 text. A time without a time zone is in UTC.
            max_files_per_trigger: Maximum number of files of a micro-batch. The default is all available files.
            ignore_deletes: Whether to skip versions that only delete files.
            skip_change_commits: Whether to skip versions that delete, change or restore rows, with the rows that they
                write.
            max_bytes_per_trigger: Bytes of files of a micro-batch, which has at least one file. The default is all
                available files.
            changes: Whether to follow the changes of the table, as `changes` returns them, after the rows of the latest
                version as inserts, or from the given start on. A micro-batch has all changes of a version or none.
            source: Where changes come from, as for `changes`.
            params: Values of the parameters of `where`, as for `scan`.

        Raises:
            SparkUnavailable: PySpark is not installed.
            UnsupportedFeature: The session runs Spark 3.5.
            PredicateError: The predicate has no SQL text.
            InvalidArgument: An argument has a wrong value.
            InvalidArgumentType: An argument has the wrong type.
        """
        from deltaskip.dml.overwrite import predicate_text

        root = self.snapshot.table_root
        latest = isinstance(starting_version, str) and starting_version == "latest"
        first = None if latest else arguments.non_negative("starting_version", starting_version, f"(table {root})")
        if starting_version is not None and starting_timestamp is not None:
            raise InvalidArgument(f"Specify either starting_version or starting_timestamp, not both (table {root}).")
        if starting_timestamp is not None:
            arguments.milliseconds(starting_timestamp, root, "starting_timestamp")
        if isinstance(starting_timestamp, date):
            starting_timestamp = starting_timestamp.isoformat()
        names = None if columns is None else arguments.names("columns", columns)
        given = {
            "where": predicate_text(where, params, self.snapshot),
            "columns": None if names is None else ", ".join(map(quoted_name, names)),
            "startingVersion": "latest" if latest else first,
            "startingTimestamp": starting_timestamp,
            "maxFilesPerTrigger": arguments.non_negative("max_files_per_trigger", max_files_per_trigger),
            "maxBytesPerTrigger": arguments.non_negative("max_bytes_per_trigger", max_bytes_per_trigger),
            "readChangeFeed": "true" if arguments.flag("changes", changes) else None,
            "changeSource": arguments.choice("source", source, "auto", "feed", "rows") if changes else None,
            "ignoreDeletes": "true" if arguments.flag("ignore_deletes", ignore_deletes) else None,
            "skipChangeCommits": "true" if arguments.flag("skip_change_commits", skip_change_commits) else None,
        }
        options = {name: str(value) for name, value in given.items() if value is not None}
        settings = getattr(self.snapshot.storage, "options", None) or {}
        options |= {f"storage.{name}": value for name, value in settings.items()}
        return engine(f"Following {root} through Spark").stream_to_dataframe(spark, {"path": root, **options})

    def _bound(self, argument: str, value: object) -> RangeEnd | None:
        from deltaskip.change_feed.version_range import RangeEnd

        if value is None:
            return None
        root = self.snapshot.root
        if isinstance(value, date | str):
            return RangeEnd(timestamp_ms=arguments.milliseconds(value, root, argument))
        try:
            return RangeEnd(version=arguments.non_negative(argument, value, f"(table {root})"))
        except InvalidArgumentType as error:
            raise InvalidArgumentType.of(argument, "an int, a datetime, a date or a str", value) from error
