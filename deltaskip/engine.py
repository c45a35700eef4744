"""The engine that reads rows and runs jobs: its interface, and its implementation, which is loaded on first use.

Importing deltaskip and planning a scan import nothing of Spark.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, overload

import pyarrow as pa

from deltaskip.doors import door
from deltaskip.errors import InvalidArgument, SparkUnavailable
from deltaskip.extras import install_command
from deltaskip.sparkexpr.collations import installed_spark_version

if TYPE_CHECKING:
    from deltaskip.log import Snapshot
    from deltaskip.sparkexpr import SortTerm
    from deltaskip.sparkexpr.meaning import SessionMeaning
    from deltaskip.sparkexpr.nodes import Node
    from deltaskip.sparkexpr.types import StructType

SESSION_ZONE = "session"
"""The time zone of the active session, or UTC without one, as an argument."""

_COLUMN_PACKAGE = "pyspark"
_ENGINE = "deltaskip.spark.spark_engine"
"""The module whose constant `ENGINE` is the implementation. Its package is above, so it is loaded by name."""
_T = TypeVar("_T")
# Settings that change this often while a read is planned change all the time.
_MOST_PLANS = 20


class PlannedScan(Protocol):
    """A scan that can be planned again for the settings of a session; see `LogScan`."""

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot to read."""

    @property
    def where(self) -> object:
        """The predicate as the caller wrote it; None for every row."""

    @property
    def given(self) -> object:
        """The predicate for which a session is asked what it means: SQL text, a node, or a column with SQL text."""

    @property
    def columns(self) -> Sequence[str] | None:
        """Top-level columns to read; None for all."""

    @property
    def limit(self) -> int | None:
        """Highest number of rows to return; None for no limit."""

    @property
    def time_zone(self) -> str | None:
        """The time zone in which the files were pruned."""

    @property
    def collation_version(self) -> str:
        """The version of the collations by which the files were pruned."""

    @property
    def predicate(self) -> Node:
        """The bound predicate; a TRUE literal if the scan has none."""

    def replanned(self, meaning: SessionMeaning, collation_version: str) -> Self:
        """The scan as a session understands and compares it; the same scan if nothing differs."""


class ListedScan(PlannedScan, Protocol):
    """The members of a scan that an engine needs to read its rows; see `Scan`."""

    @property
    def order(self) -> Sequence[SortTerm]:
        """The order whose first rows are returned, as many as the limit; empty for any rows."""

    @property
    def compiled(self) -> Any:
        """The predicate of the files, as `skipping` evaluates it."""

    def files(self) -> pa.Table:
        """The files that may contain matching rows."""


class Engine(Protocol):
    """Operations that need a query engine. Sessions, columns and DataFrames are the engine's objects.

    A package above that needs more methods declares a separate protocol, such as `ChangingEngine` of `dml`. The
    implementation has the methods of all protocols.
    """

    @property
    def version(self) -> str:
        """Version of the engine's client library, such as "4.1.4"."""

    def scan_to_dataframe(self, session: Any, scan: ListedScan, metadata: bool = False, listing: bool = True) -> Any:
        """A DataFrame of exactly the rows that match the scan, with the table's schema.

        metadata: Add the column `_metadata` (file_path, row_index, row_id, row_commit_version). listing: Whether the
        engine lists the files, instead of taking their sizes and times from the log.
        """

    def query(
        self,
        session: Any,
        text: str,
        scans: Mapping[str, Any],
        conditions: Mapping[str, str],
        metadata: Collection[str],
    ) -> Any:
        """A DataFrame of a query, in which `{name}` stands for all rows of the files that a scan keeps.

        conditions: By name, the predicate of the rows that the name stands for, as SQL text; no entry for all rows.
        metadata: Names of relations that have the column `_metadata`.
        """

    def arrow_to_dataframe(self, session: Any, rows: pa.Table) -> Any:
        """A DataFrame of the rows of an Arrow table."""

    def stream_to_dataframe(self, session: Any, options: Mapping[str, str]) -> Any:
        """A streaming DataFrame of a table's rows, then of appended rows. options: Options of the format."""

    def register_format(self, session: Any) -> None:
        """Let a session find the format deltaskip."""

    def session_id(self, session: Any) -> str:
        """The id of a session, the same for every Python object that wraps it."""

    def substituted(self, session: Any, text: str) -> str:
        """SQL text with its variables replaced, as the session replaces them."""

    def meaning(
        self, session: Any | None, given: object = None, schema: StructType | None = None
    ) -> SessionMeaning | None:
        """How a session understands expressions.

        session: None for the active session of this process; then the answer is None if no session answers. given: the
        expression, for whose functions and names that are not columns the session is asked, too.
        """

    def active_settings(self) -> SessionMeaning | None:
        """What the settings of the active session of this process change; None if no session answers."""

    def is_classic(self, session: Any) -> bool:
        """Whether a session is one of this process, and not of Spark Connect."""

    def session_function(self, name: str) -> bool:
        """Whether the active session of this process has a function of this name."""

    def collation_version(self, session: Any) -> str | None:
        """The version by which the session compares collated strings; None if it does not report a version."""

    def active_collation_version(self) -> str | None:
        """The collation version of the active session; None without a session, or if it does not report a version."""

    def files_read(self, frame: Any) -> int | None:
        """The number of data files that the engine read for a DataFrame that has run; None if it is not reported."""

    def session_time_zone(self) -> str | None:
        """The time zone of the active session of this process; None if no session answers."""

    def column_to_node(self, column: Any, read: Callable[[str], Node] = ...) -> Node:
        """The unbound predicate of an engine's column expression; `Opaque` for parts that have no node.

        read: Returns the node of SQL text in it; by default as without a session.
        """

    def column_to_term(self, column: Any, read: Callable[[str], Node] = ...) -> SortTerm:
        """The term of an order that an engine's column expression stands for, such as `F.desc("ts")`.

        read: See `column_to_node`.
        """

    def as_columns_of(self, column: Any, table: str, qualifier: str | None, source: Any = None) -> Any:
        """A column expression with names in place of columns of the table's DataFrames.

        table: The location of the table. qualifier: Its name in expressions. source: The DataFrame that is merged,
        whose columns stay.
        """

    def has_session(self) -> bool:
        """Whether this process has an active session."""

    def check_stored_text(self, session: Any, texts: Iterable[tuple[str, str]], snapshot: Snapshot) -> None:
        """Raise UnsupportedFeature for text of a table that calls more than Spark's built-in functions of values.

        texts: A description of each text, for messages, and the text.
        """

    def writing_session(self, session: Any) -> AbstractContextManager[None]:
        """Return a context in which several threads may write data files through the session."""

    def local_session(self, scratch: Path) -> AbstractContextManager[Any]:
        """The active session of this process, otherwise a new local one that keeps its files in `scratch`."""


@overload
def engine(act: str) -> Engine: ...
@overload
def engine(act: str, role: type[_T]) -> _T: ...
def engine(act: str, role: type[Any] = Engine) -> Any:
    """Return the engine, loading it on the first call.

    Args:
        act: The operation that needs the engine, as the beginning of a sentence: "Reading /data/sales through Spark".
        role: The interface of a package above this one, which every implementation has as well.

    Raises:
        SparkUnavailable: PySpark is not installed, or this installation of deltaskip has no engine.
    """
    try:
        return _loaded()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == __package__:
            missing = "the Spark integration of deltaskip, which this installation does not contain"
        else:
            missing = f"{package.replace('pyspark', 'PySpark')}, which is not installed"
        raise SparkUnavailable(f"{act} needs {missing}. Run: {install_command('spark')}") from error


def active_engine() -> Engine | None:
    """Return the engine if the process has an active session; None otherwise. Never loads the library."""
    found = _asked(_loaded)
    return found if found is not None and found.has_session() else None


def current_collation_version() -> str:
    """Return the collation version of the running Spark session, else of the installed Spark, else of Spark 4.1.

    Loads neither the engine nor its library unless the process has loaded the library already.
    """
    found = _asked(lambda: _loaded().active_collation_version())
    return installed_spark_version() if found is None else found


def is_column(value: object) -> bool:
    """Whether `value` is a column expression of the engine. Loads neither the engine nor its library."""
    kind = type(value)
    return kind.__module__.partition(".")[0] == _COLUMN_PACKAGE and kind.__name__ not in ("SparkSession", "Row")


def session_function(name: str) -> bool:
    """Return whether the active session has this function; False without a session. Never loads the library."""
    return _asked(lambda: _loaded().session_function(name)) or False


def zone_or_session(time_zone: str) -> str:
    """Return a time zone; for SESSION_ZONE the active session's, or UTC without a session. Never loads the library."""
    if time_zone != SESSION_ZONE:
        return time_zone
    return _asked(lambda: _loaded().session_time_zone()) or "UTC"


def session_meaning(given: object, schema: StructType | None) -> SessionMeaning | None:
    """Return how the active session understands an expression; None without a session. Never loads the library.

    Args:
        given: The expression, as SQL text or a node; None for the settings of the session alone.
        schema: The columns of the expression.
    """
    return _asked(lambda: _loaded().meaning(None, given, schema))


def in_one_meaning(session: Any, act: Callable[[], _T]) -> _T:
    """Return what a function returns that plans a read, during which a session has the same settings.

    Another thread may set them meanwhile, so that files are skipped by one time zone, and rows filtered by another.

    Args:
        session: The session; None without one.
        act: The function, which is called again if the settings have changed.

    Raises InvalidArgument if they change each time.
    """
    if session is None or not (made := _loaded()).is_classic(session):
        return act()
    for _ in range(_MOST_PLANS):
        before = made.meaning(session)
        found = act()
        if made.meaning(session) == before:
            return found
    raise InvalidArgument(
        "The settings of the Spark session were changed each time while a read was planned: give each thread a session "
        "of its own (spark.newSession())."
    )


def session_settings() -> SessionMeaning | None:
    """Return what the settings of the active session change; None without one. Never loads the library.

    Unlike `session_meaning`, it does not let this process use the session's rules of time zones.
    """
    return _asked(lambda: _loaded().active_settings())


def _asked(question: Callable[[], _T]) -> _T | None:
    """The answer of the engine; None if the process has not loaded its library. The question does not load it."""
    if f"{_COLUMN_PACKAGE}.sql" not in sys.modules:
        return None
    try:
        return question()
    except ModuleNotFoundError:
        return None


@cache
def _loaded() -> Engine:
    made: Engine = importlib.import_module(_ENGINE).ENGINE
    return made


@door
def register_format(spark: Any) -> None:
    """Let a session find the format `deltaskip` of `spark.read`, `spark.readStream`, and `df.write`.

    Spark finds the format without this call if deltaskip is installed for the interpreter of its Python workers:
    `PYSPARK_PYTHON`, or else `python3`. After this call, a local classic session uses the interpreter of this process
    for the format, unless `PYSPARK_PYTHON` or `spark.pyspark.python` names another interpreter.

    Args:
        spark: A session of Spark 4.0 or newer, classic or Connect.

    Raises:
        SparkUnavailable: PySpark is not installed.
        UnsupportedFeature: Spark 3.5 has no data sources in Python.
        InvalidArgument: The session was stopped.
        InvalidArgumentType: `spark` is not a session.
    """
    engine("The format deltaskip").register_format(spark)
