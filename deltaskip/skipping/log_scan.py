"""LogScan: a predicate on a snapshot, and the facts that the log proves about files and rows that match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import pyarrow as pa

from deltaskip import arguments, errors
from deltaskip.doors import door
from deltaskip.engine import SESSION_ZONE, is_column, session_function, session_meaning
from deltaskip.engine import current_collation_version as running_collation_version
from deltaskip.log import Snapshot
from deltaskip.log.reopening import Reopened, SnapshotReference
from deltaskip.predicates import expression_node, given_predicate, node_and_texts
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.settings import options
from deltaskip.shown import html_table
from deltaskip.skipping.counts import estimated_rows, exact_count
from deltaskip.skipping.file_list import chosen_columns, files_schema
from deltaskip.skipping.file_predicates import CompiledPredicate, PortablePredicate
from deltaskip.skipping.journal import note
from deltaskip.skipping.partition_terms import PartitionAnswers
from deltaskip.skipping.read_options import ALL_ROWS, ReadOptions
from deltaskip.sparkexpr import ColumnExpr, SortTerm, as_read, diagnosis, parse_sql, to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind
from deltaskip.sparkexpr.clock import at_time, reads_clock
from deltaskip.sparkexpr.collations import SPARK_VERSION
from deltaskip.sparkexpr.comparison_collation import compared_collations
from deltaskip.sparkexpr.meaning import USUAL, SessionMeaning
from deltaskip.sparkexpr.nodes import And, Column, Deferred, Like, Literal, Node, operations
from deltaskip.sparkexpr.normalize import normalize
from deltaskip.sparkexpr.values.calendar import current_micros, zone_of
from deltaskip.sparkexpr.values.zone_rules import UnknownZone, rules_in_use
from deltaskip.stats.cache_keys import CacheKey
from deltaskip.stats.layout import Side
from deltaskip.warning import warn

if TYPE_CHECKING:
    from deltaskip.skipping.explain.report import Explain

ZONE_MUST_BE = errors.OptionAdvice("time_zone", text="time_zone must be")
_SHOWN_CHARACTERS = 200
_WITHOUT_ANSI = ". Without ANSI mode it is NULL: pass ansi=False if the session has spark.sql.ansi.enabled=false"
_SHOWN_PARTS = 20
# The display of a scan in a notebook must not take long.
_DRAWN_FILES = 100_000


@door
class LogScan(Reopened):
    """A predicate on a snapshot, and the facts that the log proves about rows that match. It does not list all files.

    Planning starts when a method is called; columns that were read stay cached with the snapshot, so that later scans
    of the same table are faster. Safe to share between threads.

    Args:
        snapshot: Snapshot to scan.
        options: The predicate, and what to read of the matching rows.

    Raises:
        PredicateError: The predicate does not parse or does not match the schema, a column does not exist, or Spark
            fails to evaluate a constant of the predicate.
        NotProvable: `strict` is true, and no part of the predicate can skip a file.
        InvalidArgument: `limit` is negative, `time_zone` is not a time zone, or `params` does not fit the predicate.
        InvalidArgumentType: An argument has the wrong type.
    """

    # The attributes in a pickle: a scan is planned again from these.
    _planned_from: ClassVar[tuple[str, ...]] = (
        "where", "_planned_at", "_has_one_time", "limit", "_named", "columns", "given", "ansi", "meaning",
        "collation_version",
    )  # fmt: skip

    _is_noted = False
    # The order whose first rows are returned; empty for any rows.
    order: tuple[SortTerm, ...] = ()

    def __init__(self, snapshot: Snapshot, options: ReadOptions = ALL_ROWS) -> None:
        self.snapshot = snapshot
        self.where = self._with_parameters(options.where, options.params)
        self._diagnosed = self._is_planned = self._has_one_time = False
        # Queries run later, or on a clock that is slightly behind this one.
        self._planned_at = current_micros()
        most = arguments.non_negative("limit", options.limit, self._at_version())
        # No table has more rows.
        self.limit = None if most is None else min(most, t.LONG_MAX)
        columns, collation_version = options.columns, options.collation_version
        self._named = None if columns is None else self._resolved(arguments.names("columns", columns))
        reads_hidden = arguments.flag("hidden", options.hidden)
        self.columns = self._named if reads_hidden or columns is not None else self._shown()
        time_zone = None if options.time_zone is None else arguments.text("time_zone", options.time_zone)
        self.ansi = None if options.ansi is None else arguments.flag("ansi", options.ansi)
        if collation_version is not None:
            arguments.collation_version("collation_version", collation_version)
        self.given = self._unread()
        self._plan_first(options.meaning, time_zone, collation_version)
        if arguments.flag("strict", options.strict):
            self._check_skips()

    def _pickled(self) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
        return _pickled_scan(self)

    @property
    def time_zone(self) -> str | None:
        """The time zone in which the scan is planned; None if it is not known."""
        return self.meaning.time_zone

    @property
    def in_ansi(self) -> bool:
        """Whether the predicate is evaluated in ANSI mode."""
        return self.meaning.ansi

    def _plan_first(self, meaning: SessionMeaning | None, time_zone: str | None, collation_version: str | None) -> None:
        """Plan the scan in the given meaning, by default that of the active session, or in the usual one."""
        of_session = time_zone == SESSION_ZONE
        if meaning is None and (of_session or self.where is not None):
            meaning = session_meaning(self.given, self.snapshot.schema)
        found = USUAL if meaning is None else meaning
        zone = found.time_zone if of_session else time_zone
        if zone is not None:
            self._check_zone(zone, required=not of_session or self._reads_zone())
        ansi = found.ansi if self.ansi is None else self.ansi
        found = replace(found, time_zone=zone, ansi=ansi)
        try:
            self._plan(found, collation_version)
        except errors.PredicateError:
            if not isinstance(self.where, str) or self.where not in found.texts:
                raise
            # The session that reads the rows may have other values of the variables.
            self._plan(replace(found, texts={self.where: None}), collation_version)

    def _plan(self, meaning: SessionMeaning, collation_version: str | None) -> None:
        """Bind and compile the predicate as a session understands it, for a version of the collations."""
        self.meaning = meaning
        self._parsed = self._parse()
        node, time_zone = self._bound(), meaning.time_zone
        if collation_version is None:
            collation_version = running_collation_version() if compared_collations(node) else SPARK_VERSION
        self.collation_version = collation_version
        self._rules: tuple[str, ...] | None = rules_in_use()
        key: CacheKey = ("partition answers", time_zone, self._rules, collation_version)
        answers = self.snapshot.cache.pinned(key, PartitionAnswers)
        predicate = PortablePredicate(node, time_zone, collation_version, self._planned_at)
        try:
            self._compiled: CompiledPredicate = predicate.compiled(self.snapshot, answers)
        except UnicodeEncodeError as error:
            raise errors.PredicateError(
                "A string of the predicate contains an unpaired surrogate and cannot be encoded as UTF-8 "
                f"{self._at_version()}."
            ) from error

    def replanned(self, meaning: SessionMeaning, collation_version: str) -> Self:
        """Return this scan, planned as a session understands its predicate.

        A region that this process does not know, but that a Spark session may know, is accepted if no timestamp is read
        in it.

        Args:
            meaning: How the session understands expressions.
            collation_version: Version of the collations that the session compares with.

        Raises:
            InvalidArgument: The time zone is not one that this process has, and timestamps are read in it.
        """
        if (meaning, collation_version) == (self.meaning, self.collation_version):
            return self
        if meaning.time_zone is not None:
            self._check_zone(meaning.time_zone, required=self._reads_zone())
        scan = copy(self)
        scan._plan(meaning, collation_version)
        return scan

    def at_one_time(self) -> Self:
        """Return this scan with the time at which it was made instead of `now()`, `current_date()` and so on."""
        if self._has_one_time or not reads_clock(self.predicate):
            return self
        scan = copy(self)
        scan._has_one_time = scan._diagnosed = True
        scan._plan(self.meaning, self.collation_version)
        return scan

    def __repr__(self) -> str:
        members = [f"{name}={value!r}" for name, value in self._given().items()]
        return f"Scan({', '.join([repr(self.snapshot.table_root), *members])})"

    def _repr_html_(self) -> str:
        given = self._given().items()
        texts = [(name, value if isinstance(value, str) else repr(value)) for name, value in given]
        shown = html_table([("table", self.snapshot.table_root), *texts])
        # The display of a scan does not plan it.
        drawn = self._is_planned and not self.compiled.portable.is_true and self.snapshot.num_files <= _DRAWN_FILES
        return shown + (self.explain()._repr_html_() if drawn else "")

    def _given(self) -> dict[str, object]:
        """The version and the arguments other than the defaults; reads nothing."""
        given: dict[str, object] = {"version": self.snapshot.version}
        if self.where is not None:
            text = self.where if isinstance(self.where, str) else to_sql(self.predicate)
            given["where"] = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
        if self._named is not None:
            given["columns"] = list(self._named)
        if self.limit is not None:
            given["limit"] = self.limit
        if self.time_zone != "UTC":
            given["time_zone"] = self.time_zone
        return given

    @property
    def compiled(self) -> CompiledPredicate:
        """The predicate as it is evaluated over the files of `snapshot`, by the rules of time zones in use."""
        if self._rules not in (None, rules_in_use()):
            self._plan(self.meaning, self.collation_version)
        if options.journal and not self._is_noted:
            self._is_noted = True
            note(self)
        return self._compiled

    @compiled.setter
    def compiled(self, chosen: CompiledPredicate) -> None:
        self._compiled, self._rules = chosen, None

    @property
    def predicate(self) -> Node:
        """The bound, normalized predicate; a TRUE literal if the scan has none."""
        return self.compiled.portable.node

    @property
    def parsed(self) -> Node | None:
        """The predicate before it is bound; None if the scan has none."""
        return self._parsed

    @property
    def asked(self) -> Node | None:
        """The predicate before it is bound, with the conditions of its joins; None if the scan has none."""
        return None if self._parsed is None else self._with_conditions(self._parsed)

    def negated(self) -> Self:
        """Return a scan of the files that can contain a row for which the predicate is not TRUE."""
        scan = copy(self)
        scan.compiled = self.compiled.negated
        return scan

    def file_batches(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return a reader of the files that can contain matching rows, which holds few of them in memory at a time.

        Iterating over the reader yields record batches of at most 8,192 files, in the order of the log. Memory grows
        with the row groups of the checkpoint and with the commits after it, not with the number of files; nothing is
        kept for later scans.

        Args:
            stats: Whether to add the column `stats`, the statistics as JSON text.
            columns: Names of the columns to return. The default is all columns except `stats`.

        Raises:
            CorruptLog: A path or partition value in the log cannot be read.
            InvalidArgument: A file list has no column of that name, or `stats` is true and not listed in `columns`.
            InvalidArgumentType: `columns` is not a list of str.
        """
        names = chosen_columns(stats, columns)
        from deltaskip.skipping.file_batches import file_batches

        batches = file_batches(self.compiled, names)
        return pa.RecordBatchReader.from_batches(files_schema(self.snapshot, names), batches)

    def total_files(self) -> int:
        """Number of files in the snapshot, including pruned files."""
        return self.snapshot.num_files

    def count(self) -> int:
        """Return the exact number of matching rows from the log alone, at most `limit`. Deleted rows do not count.

        Raises:
            NotProvable: Some files only partly match, or have no row count.
        """
        count = exact_count(self.compiled)
        return count if self.limit is None else min(count, self.limit)

    def min(self, column: str) -> Any:
        """Return the least value of a column in the matching rows from the log alone.

        Args:
            column: Name as in SQL; `a.b` is the field `b` of the struct `a`.

        Returns:
            An int, float, bool, str, Decimal or date, for partition columns also a datetime. None if no row matches or
            the column is NULL in every matching row.

        Raises:
            NotProvable: The statistics of the files do not determine the value, or the scan has a limit.
            PredicateError: The column does not exist.
            InvalidArgumentType: `column` is not a str.
        """
        return self._extreme(column, "min")

    def max(self, column: str) -> Any:
        """Return the greatest value of a column in the matching rows from the log alone.

        NaN is greater than any other number, as in Spark.

        Args:
            column: Name as in SQL; `a.b` is the field `b` of the struct `a`.

        Returns:
            As `min`.

        Raises:
            NotProvable: The statistics of the files do not determine the value, or the scan has a limit.
            PredicateError: The column does not exist.
            InvalidArgumentType: `column` is not a str.
        """
        return self._extreme(column, "max")

    def distinct(self, *columns: str) -> pa.Table:
        """Return the distinct values of partition columns in the matching rows from the log alone, sorted.

        Hidden columns count as partition columns. For several columns, the distinct combinations are returned.

        Args:
            columns: Names as in SQL, of partition columns.

        Returns:
            A table with these columns, and one row for each value or combination; NULL is a value.

        Raises:
            NotProvable: A column is not a partition column, its strings have a collation, a value is only in files that
                partly match or have no row count, or the scan has a limit.
            PredicateError: The column does not exist.
            InvalidArgument: No column is given.
            InvalidArgumentType: A column is not a str.
        """
        if not columns:
            raise errors.InvalidArgument(f"distinct needs the name of at least one column {self._at_version()}.")
        self._check_no_limit("The distinct values")
        resolved = [self._column(column).logical for column in columns]
        names = dict.fromkeys(path[0] if len(path) == 1 else t.display_name(path) for path in resolved)
        from deltaskip.skipping.partition_counts import distinct_values

        return distinct_values(self.compiled, tuple(names))

    def partitions(self) -> pa.Table:
        """Return the partitions with files that can contain matching rows, from the log alone, in order of the values.

        The columns are `partition_values` (a struct of all partition columns, including hidden ones, typed by the
        schema), `num_files`, `num_rows` (null if a file has no row count; rows that a deletion vector deletes are not
        counted) and `size_in_bytes`. A table without partition columns has one partition, if it has files.

        Raises:
            CorruptLog: A partition value in the log cannot be read.
        """
        from deltaskip.skipping.partition_counts import partition_counts

        return partition_counts(self.compiled)

    def _extreme(self, column: str, side: Side) -> Any:
        self._check_no_limit(f"The {side}imum")
        from deltaskip.skipping.min_max import exact_extreme

        return exact_extreme(self.compiled, self._column(column), side)

    def _check_no_limit(self, what: str) -> None:
        if self.limit is not None:
            raise errors.NotProvable(
                f"{what} of a scan with a limit depends on which rows are read: leave out the limit "
                f"{self._at_version()}."
            )

    def _column(self, column: str) -> t.Resolved:
        """The column that a name means in SQL."""
        arguments.text("column", column)
        snapshot = self.snapshot
        try:
            named = parse_sql(column)
            if not isinstance(named, Column):
                raise errors.PredicateError(f"{column!r} is not the name of a column.")
            return t.resolve(snapshot.schema, named.parts, snapshot.mapping_mode)
        except errors.PredicateError as error:
            raise errors.PredicateError(f"{error} {self._at_version()}") from error

    def estimated_rows(self) -> int:
        """Return the estimated number of rows in the kept files.

        Files without `numRecords` count as the average; if all files have it, this is an upper bound of the number of
        matching rows.
        """
        return estimated_rows(self.compiled)

    def explain(self) -> Explain:
        """Return how many files each part of the predicate skips, and why a part skips none."""
        from deltaskip.skipping.explain.explain import explain

        return explain(self.compiled)

    def _at_version(self) -> str:
        """The table and version, for the end of a message."""
        return f"(table {self.snapshot.table_root}, version {self.snapshot.version})"

    def _check_skips(self) -> None:
        """Raise NotProvable if no part of the predicate can skip a file."""
        explained = self.explain() if self.where is not None and self.total_files() else None
        if explained is None or explained.can_skip:
            return
        parts = [f"{leaf.predicate} ({leaf.reason or 'it is TRUE for every row'})" for leaf in explained.leaves]
        shown = "; ".join(parts[:_SHOWN_PARTS]) or str(explained.tree).upper()
        strict = errors.OptionAdvice("strict", True)
        raise errors.NotProvable(
            f"No file can be skipped, and {strict} requires that some can: {shown}"
            f"{'' if len(parts) <= _SHOWN_PARTS else f'; and {len(parts) - _SHOWN_PARTS} more'} {self._at_version()}."
        ).advising(strict)

    def _reads_zone(self) -> bool:
        """Whether the scan may read timestamps in its time zone."""
        names = self.snapshot.partition_columns
        return self.where is not None or any(
            field.type == t.TIMESTAMP and field.name in names for field in self.snapshot.schema.fields
        )

    def _check_zone(self, time_zone: str, required: bool = True) -> None:
        """Raise InvalidArgument for a wrong time zone; not `required`: accept regions that this process lacks."""
        try:
            zone_of(time_zone)
        except LookupError as error:
            if required or not isinstance(error, UnknownZone):
                raise errors.InvalidArgument(
                    f"{ZONE_MUST_BE} a time zone such as Europe/Berlin, +02:00 or UTC, not {time_zone!r} "
                    f"{self._at_version()}."
                ).advising(ZONE_MUST_BE) from error

    def _with_parameters(self, where: object, params: object) -> object:
        """The predicate with its parameters replaced by their values."""
        if isinstance(where, str) and not where.strip():
            raise errors.PredicateError(
                f'where is empty: write a condition, such as "id > 5 OR id IS NULL", or leave it out for every row '
                f"{self._at_version()}."
            )
        try:
            return given_predicate(where, params, self.snapshot.schema)
        except (errors.PredicateError, errors.InvalidArgument, errors.InvalidArgumentType) as error:
            raise type(error)(f"{error} {self._at_version()}") from error

    def _unread(self) -> object:
        """The predicate to be read in the meaning of a session. A Column without SQL text is converted once."""
        if not is_column(self.where):
            return self.where
        node, texts = node_and_texts(self.where)
        return self.where if texts else node

    def _parse(self) -> Node | None:
        """The predicate before it is bound to the schema; None for every row."""
        if self.where is None:
            return None
        try:
            return expression_node(self.given, meaning=self.meaning, schema=self.snapshot.schema)
        except errors.PredicateError as error:
            raise errors.PredicateError(f"{error} {self._at_version()}") from error

    def _bound(self) -> Node:
        if self._parsed is None:
            return Literal(True, t.BOOLEAN)
        snapshot, zone = self.snapshot, self.time_zone or "UTC"
        try:
            partitions = [field.name for field in snapshot.partition_fields]
            mode = snapshot.mapping_mode
            read = as_read(self._with_conditions(self._parsed), snapshot.schema, zone)
            bound = bind(read, snapshot.schema, partitions, mode, zone, ansi=self.in_ansi)
            bound = at_time(bound, self._planned_at, zone, ()) if self._has_one_time else bound
        except errors.PredicateError as error:
            raise errors.PredicateError(f"{error}{diagnosis.or_meant(self.where)} {self._at_version()}") from error
        if not self._diagnosed:
            self._diagnosed = True
            parts = list(operations(self._parsed))
            unknown = [said for name, said in diagnosis.unknown_functions(parts) if not session_function(name)]
            quoted = diagnosis.quoted_names(parts, snapshot.schema)
            for slip in (*diagnosis.never_true(bound), *quoted, *diagnosis.cast_strings(parts, bound), *unknown):
                warn(f"{slip} {self._at_version()}", errors.PredicateWarning)
            self._refuse_failing_constants(bound)
        return normalize(bound)

    def _with_conditions(self, node: Node) -> Node:
        """A predicate with the conditions of its joins."""
        match node:
            case Deferred():
                return node.condition(self.snapshot, self.time_zone or "UTC", self.in_ansi)
            case And(children) if type(node) is And and any(isinstance(each, And | Deferred) for each in children):
                return And(tuple(map(self._with_conditions, children)))
            case _:
                return node

    def _refuse_failing_constants(self, bound: Node) -> None:
        """Raise PredicateError for a constant that Spark fails to evaluate in ANSI mode."""
        failing = diagnosis.failing_constant(bound, self.time_zone or "UTC") if self.in_ansi else None
        if failing is None:
            return
        constant, reason = failing
        # A pattern that is not valid fails in both modes.
        cure = "" if isinstance(constant, Like) else _WITHOUT_ANSI
        raise errors.PredicateError(
            f"Spark fails to evaluate the predicate{diagnosis.place_in_text(constant, self.where)}: {reason}{cure} "
            f"{self._at_version()}.{diagnosis.or_meant(self.where)}"
        )

    def _resolved(self, columns: Sequence[str]) -> tuple[str, ...]:
        try:
            return tuple(t.resolve(self.snapshot.schema, [name]).logical[0] for name in columns)
        except errors.PredicateError as error:
            raise errors.PredicateError(f"{error} {self._at_version()}") from error

    def _shown(self) -> tuple[str, ...] | None:
        """The columns that are not hidden; None if no column is."""
        snapshot = self.snapshot
        if PARTITIONING_KEY not in snapshot.properties:
            return None
        from deltaskip.transforms.partitioning_property import hidden_columns

        left_out = hidden_columns(snapshot.schema, snapshot.partition_columns, snapshot.properties)
        return tuple(name for name in snapshot.schema.names if name not in left_out) if left_out else None


def _pickled_scan(scan: LogScan) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
    """Return a function and its arguments, whose result are the attributes of the scan."""
    state = {name: vars(scan)[name] for name in scan._planned_from if name in vars(scan)}
    state["where"] = state["given"] = chosen_by(scan).where
    return _restored, (type(scan), SnapshotReference.of(scan.snapshot), state)


def chosen_by(scan: LogScan) -> ReadOptions:
    """Return the options of a planned scan, for a scan in another process."""
    # A PySpark Column belongs to its session.
    where = ColumnExpr(scan._parsed) if is_column(scan.where) and scan._parsed is not None else scan.where
    return ReadOptions(where, scan._named, scan.limit, scan.time_zone, scan.collation_version, meaning=scan.meaning)


def _restored(made: type[LogScan], reference: SnapshotReference, state: dict[str, Any]) -> dict[str, Any]:
    scan = object.__new__(made)
    vars(scan).update(state, snapshot=reference.opened(), _diagnosed=True, _is_planned=False)
    scan._plan(state["meaning"], state["collation_version"])
    return vars(scan)
