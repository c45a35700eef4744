"""The options of the data source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from deltaskip.arguments import milliseconds
from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.change_feed.states import WantedChanges
from deltaskip.change_feed.version_range import RangeEnd, VersionRange, version_range, versions_before
from deltaskip.errors import DeltaSkipError, InvalidArgument, advice_in, meant
from deltaskip.log import Snapshot
from deltaskip.log.loading import list_log
from deltaskip.reading.arrow_rows import RowReader
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.spark.source.session_checks import SessionChecks
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.nodes import And, Node
from deltaskip.sparkexpr.types import parse_names
from deltaskip.table.table import DeltaTable

STORAGE_PREFIX = "storage."
"""Options with this prefix are storage options of the table."""

_WORDS: dict[tuple[str, object], str] = {
    ("schema_mode", "merge"): 'with option("mergeSchema", "true")',
    ("schema_mode", "replace"): 'option("overwriteSchema", "true")',
    ("partitions", "dynamic"): 'option("partitionOverwriteMode", "dynamic")',
    ("where", None): "replaceWhere",
    ("on", None): "replaceOn or replaceUsing",
    ("data_change", False): 'option("dataChange", "false")',
    ("partition_by", None): "partitionBy",
    ("time_zone", None): "timeZone must be",
    ("storage_options", "in"): "in options storage.NAME",
    ("storage_options", None): "the options storage.NAME",
}
# Options in the spelling of the documentation; Spark does not distinguish letter case.
_OF_BATCHES = ("versionAsOf", "timestampAsOf", "endingVersion", "endingTimestamp", "netChanges")
_OF_STREAMS = (
    "where", "ansi", "columns", "maxPartitionBytes", "startingVersion", "startingTimestamp", "maxFilesPerTrigger",
    "maxBytesPerTrigger", "ignoreDeletes", "skipChangeCommits", "excludeRegex", "failOnDataLoss",
    "schemaTrackingLocation", "readChangeFeed", "changeSource", "snapshotFirst",
)  # fmt: skip
_READS = (*_OF_STREAMS, *_OF_BATCHES)
_OF_CHANGES = ("changeSource", "snapshotFirst", "netChanges")
_OF_APPENDS = ("ignoreDeletes", "skipChangeCommits")
_WRITES = (
    "mergeSchema", "overwriteSchema", "replaceWhere", "partitionOverwriteMode", "partitionBy", "txnAppId", "txnVersion",
    "userMetadata", "replaceUsing", "replaceOn", "targetAlias", "dataChange", "maxRecordsPerFile", "compression",
)  # fmt: skip
# Options of other formats, and the options of this format with the same meaning.
_SAME_OPTION = {"version": " Did you mean versionAsOf?", "timestamp": " Did you mean timestampAsOf?"}
# Spark adds checkpointLocation to the options of a stream.
_BOTH = ("path", "timeZone", "checkpointLocation")
_KNOWN = (*_BOTH[:2], *_READS, *_WRITES)
_FLAG_OPTIONS = (
    "ansi", "readChangeFeed", "ignoreDeletes", "skipChangeCommits", "mergeSchema", "overwriteSchema", "netChanges",
    "snapshotFirst", "failOnDataLoss", "dataChange",
)  # fmt: skip
_LIMITS = ("maxFilesPerTrigger", "maxBytesPerTrigger")
_NUMBERS = ("maxPartitionBytes", *_LIMITS, "versionAsOf", "endingVersion", "txnVersion", "maxRecordsPerFile")
_FLAGS = {"true": True, "false": False}
_SESSION_ZONE = "SPARK_SESSION_LOCAL_TIMEZONE"
_PARTITION_BYTES = 128 << 20


_CATALOG = (
    "ds.install_catalog(spark, 'lake', ds.catalog('warehouse:/data/wh')) and then CREATE TABLE lake.db.name or "
    "df.writeTo('lake.db.name') without the format for tables by name"
)
_OF_A_TABLE = ("owner", "serialization.format")
"""Options that Spark adds to CREATE TABLE … USING."""


def option_words() -> AbstractContextManager[None]:
    """Within the block, errors name options of the format rather than arguments of DeltaTable."""
    return advice_in(_WORDS)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a reader or writer, by lower-case name.

    Raises InvalidArgument for an option that does not exist, and for a value that an option does not take.
    """

    given: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str]) -> SourceOptions:
        """Return the options. Raises InvalidArgument as the class says."""
        known = {name.lower(): name for name in (*_KNOWN, *_BOTH)}
        lowered = {name.lower() if not name.lower().startswith(STORAGE_PREFIX) else name: text
                   for name, text in given.items()}  # fmt: skip
        # Spark hands over the name of a streaming query as an option.
        lowered.pop("queryname", None)
        if any(name in lowered for name in _OF_A_TABLE):
            path = lowered.get("path", "/path/to/table")
            raise InvalidArgument(
                f"The format deltaskip cannot be a table of the session's catalog: write ds.register_view(spark, "
                f"'name', {path!r}) for a view of the table, or {_CATALOG}."
            )
        if "paths" in lowered:
            raise InvalidArgument(
                "The format deltaskip reads one table at a time: load each path separately, and union the DataFrames."
            )
        for name in lowered:
            if name not in known and not name.lower().startswith(STORAGE_PREFIX):
                hint = _SAME_OPTION.get(name) or meant(name, known.values())
                raise InvalidArgument(
                    f"The format deltaskip has no option {name}.{hint} It has "
                    f"{', '.join(_KNOWN)}, and {STORAGE_PREFIX}NAME for storage options."
                )
        options = cls(lowered)
        options._check_values()
        return options

    def _check_values(self) -> None:
        """Raise InvalidArgument for a value that its option does not take, and for options that exclude each other."""
        for name in _FLAG_OPTIONS:
            self.flag(name)
        for name in _NUMBERS:
            self.number(name)
        for name in _LIMITS:
            if self.number(name) == 0:
                raise InvalidArgument(f"The option {name} must be 1 or more.")
        if self.change_source not in ("auto", "feed", "rows"):
            raise InvalidArgument(f"The option changeSource must be auto, feed or rows, not {self.change_source!r}.")
        for name in () if self.reads_changes else _OF_CHANGES:
            if name.lower() in self.given:
                raise InvalidArgument(f"The option {name} needs readChangeFeed.")
        for side in ("starting", "ending"):
            if f"{side}version" in self.given and f"{side}timestamp" in self.given:
                raise InvalidArgument(f"Specify either {side}Version or {side}Timestamp, not both.")
        if not self.starts_later:
            self.number("startingVersion")

    @property
    def starts_later(self) -> bool:
        """Whether a stream reads only versions that do not exist yet."""
        return self.given.get("startingversion", "").strip().lower() == "latest"

    @property
    def path(self) -> str:
        """Path or URI of the table."""
        found = self.given.get("path")
        if not found:
            raise InvalidArgument(
                'The format deltaskip needs the path of a table: load("/data/orders") or save("/data/orders"). A table '
                f"that CREATE TABLE or saveAsTable registers in the session's catalog has no path: drop it, and write "
                f"ds.register_view(spark, 'name', '/data/orders') for a view, or {_CATALOG}."
            )
        return found

    @property
    def storage_options(self) -> dict[str, str] | None:
        """The storage options; None if there are none."""
        size = len(STORAGE_PREFIX)
        found = {name[size:]: text for name, text in self.given.items() if name.lower().startswith(STORAGE_PREFIX)}
        return found or None

    @property
    def reads_changes(self) -> bool:
        """Whether changes are read."""
        return self.flag("readChangeFeed")

    @property
    def change_source(self) -> Any:
        """Where changes come from, as for `DeltaTable.changes`."""
        return self.given.get("changesource", "auto").strip().lower()

    @property
    def partition_bytes(self) -> int:
        """Bytes of files that one partition of the DataFrame reads."""
        return self.number("maxPartitionBytes") or _PARTITION_BYTES

    @property
    def time_zone(self) -> str:
        """Time zone of the predicate: the session's if it is given, otherwise UTC, see `session_checks`."""
        return self._told_zone or "UTC"

    @property
    def _told_zone(self) -> str | None:
        return self.given.get("timezone") or os.environ.get(_SESSION_ZONE)

    @property
    def ansi(self) -> bool:
        """The option `ansi`, by default True: Spark does not pass the session's mode to a data source."""
        return "ansi" not in self.given or self.flag("ansi")

    def session_checks(self, snapshot: Snapshot) -> SessionChecks:
        """Return the checks of the session's settings that a read assumes."""
        return SessionChecks.of(snapshot, self.given.get("where"), self._told_zone is not None, "ansi" in self.given)

    def flag(self, name: str, default: str = "false") -> bool:
        """Return an option that is true or false."""
        text = self.given.get(name.lower(), default).strip().lower()
        if text not in _FLAGS:
            raise InvalidArgument(f"The option {name} must be true or false, not {text!r}.")
        return _FLAGS[text]

    def number(self, name: str) -> int | None:
        """Return an option that is a number of 0 or more; None if it was not given."""
        text = self.given.get(name.lower())
        if text is None:
            return None
        if not text.strip().isdecimal():
            raise InvalidArgument(f"The option {name} must be a number of 0 or more, not {text!r}.")
        return int(text)

    def names(self, option: str) -> list[str] | None:
        """Return an option that is a list of top-level columns; None if it was not given."""
        text = self.given.get(option.lower())
        if text is None:
            return None
        names = parse_names(text, f"The option {option}", InvalidArgument)
        nested = next((parts for parts in names if len(parts) > 1), None)
        if nested is not None:
            raise InvalidArgument(f"The option {option} takes top-level columns, not {'.'.join(nested)}.")
        return [name for (name,) in names]

    def columns(self) -> list[str] | None:
        """Return the columns to read; None for all."""
        return self.names("columns")

    def refuse_options_of_reads(self) -> None:
        """Raise InvalidArgument for an option that a write does not take."""
        self._refuse(_READS, "reads", _WRITES)

    def refuse_options_of_writes(self) -> None:
        """Raise InvalidArgument for an option that a read does not take."""
        self._refuse(_WRITES, "writes", _READS)

    def refuse_options_of_batches(self) -> None:
        """Raise InvalidArgument for an option that a stream does not take."""
        self._refuse(_OF_BATCHES, "batch reads", _OF_STREAMS)
        if self.reads_changes:
            self._refuse(_OF_APPENDS, "streams of appended rows", [n for n in _OF_STREAMS if n not in _OF_APPENDS])

    def _refuse(self, names: Sequence[str], what: str, others: Sequence[str]) -> None:
        given = next((name for name in names if name.lower() in self.given), None)
        if given is not None:
            raise InvalidArgument(
                f"{given} is an option of {what}. The options of this operation are {', '.join(others)}."
            )

    def table(self) -> DeltaTable:
        """Return the table at the version that the options name."""
        version, time = self.number("versionAsOf"), self.given.get("timestampasof")
        return DeltaTable(self.path, version, time, self.storage_options)

    def table_at(self, version: int) -> DeltaTable:
        """Return the table at a version."""
        return DeltaTable(self.path, version, storage_options=self.storage_options)

    def first_version(self) -> int | None:
        """Return the first version that a stream reads; None if it begins with the latest version, or after it.

        Raises InvalidArgument for a version that does not follow the latest one, and for a time after its commit.
        """
        if self.starts_later:
            return None
        start = self._bound("starting")
        if not isinstance(start, str):
            latest = self.table().version
            if start is not None and start > latest + 1:
                raise InvalidArgument(
                    f"startingVersion is {start}, but the latest version of {self.path} is {latest}: leave it out, or "
                    f"give a version up to {latest + 1}."
                )
            return start
        bounds = RangeEnd(timestamp_ms=milliseconds(start, self.path, "startingTimestamp")), None
        found = version_range(self.table().snapshot, *bounds, allow_out_of_range=True)
        if found.end < found.start:
            raise InvalidArgument(
                f"startingTimestamp is {start}, but version {found.end} of {self.path}, the latest one, was committed "
                f"before: give a time up to that of its commit, or startingVersion=latest for versions that do not "
                f"exist yet."
            )
        return found.start

    def scan(self) -> TableScan:
        """Return the scan that the options describe."""
        scan = self.table().scan(self.given.get("where"), self.columns(), time_zone=self.time_zone, ansi=self.ansi)
        nested = next((path for path in scan.paths_by_name.values() if len(path) > 1), None)
        if nested is not None:
            raise InvalidArgument(
                f"The option columns of the format deltaskip names top-level columns: replace {'.'.join(nested)} by "
                f"{nested[0]}, and select the field from the DataFrame (table {self.path})."
            )
        return scan

    def changes(self) -> ChangeScan:
        """Return the scan of the change data feed that the options describe."""
        start, end = (self._bound(side) for side in ("starting", "ending"))
        if start is None:
            raise InvalidArgument("readChangeFeed needs the option startingVersion or startingTimestamp.")
        table = DeltaTable(self.path, storage_options=self.storage_options)
        chosen = self.given.get("where"), self.columns()
        which: dict[str, Any] = {"source": self.change_source, "net": self.flag("netChanges")}
        which["snapshot_first"] = self.flag("snapshotFirst")
        return table.changes(start, end, *chosen, time_zone=self.time_zone, ansi=self.ansi, **which)

    def changes_between(self, first: int, last: int, latest: Snapshot, snapshot_first: bool = False) -> ChangeScan:
        """Return the changes of versions in the columns of a later version.

        Args:
            first: The first version.
            last: The last version; `first - 1` for no changes.
            latest: The later version.
            snapshot_first: Whether the rows of the first version are read as inserts.
        """
        listing = list_log(latest.storage, latest.root, first - versions_before(latest, first), checksums=False)
        if not self.flag("failOnDataLoss", "true"):
            first = max(first, min(listing.commits, default=first))
        at_end = self.table_at(last).snapshot if first <= last < latest.version else None
        versions = VersionRange(first, last, latest, listing, at_end)
        chosen = self.given.get("where"), self.columns()
        options = ReadOptions(*chosen, time_zone=self.time_zone, ansi=self.ansi)
        return ChangeScan(versions, options, WantedChanges(self.change_source, snapshot_first=snapshot_first))

    def change_columns(self) -> ChangeScan:
        """Return a scan that has the columns of the changes, and perhaps no changes."""
        if any(name in self.given for name in ("endingversion", "endingtimestamp")):
            return self.changes()
        latest = DeltaTable(self.path, storage_options=self.storage_options).snapshot
        return self.changes_between(latest.version + 1, latest.version, latest)

    def narrowed(self, scan: TableScan | ChangeScan, predicates: Sequence[Node]) -> TableScan | ChangeScan:
        """Return a scan of the rows of another scan that also match these predicates.

        Predicates that cannot be evaluated without Spark are left out.
        """
        found = [each for each in predicates if _is_evaluated(each, scan, self.time_zone)]
        if not found:
            return scan
        if not isinstance(scan, ChangeScan):
            given = self.given.get("where")
            where = And((*(() if given is None else (parse_sql(given),)), *found))
            return TableScan(
                scan.snapshot, ReadOptions(where, self.columns(), time_zone=self.time_zone, ansi=self.ansi)
            )
        return scan.narrowed(None, found[0] if len(found) == 1 else And(tuple(found)))

    def _bound(self, side: str) -> int | str | None:
        version = self.number(f"{side}Version")
        return self.given.get(f"{side}timestamp") if version is None else version


def _is_evaluated(predicate: Node, scan: TableScan | ChangeScan, time_zone: str) -> bool:
    """Whether a predicate fits the columns of a scan and can be evaluated in this process."""
    try:
        RowReader.of(TableScan(scan.snapshot, ReadOptions(predicate, time_zone=time_zone)), files=1)
    except DeltaSkipError:
        return False
    return True
