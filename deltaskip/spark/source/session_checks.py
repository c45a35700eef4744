"""Checks, in the tasks of a read, that the session has the settings which a data source assumes.

Spark passes a data source neither the time zone nor the ANSI mode of the session for planning, but tasks have both.
# Spark 4.1, SQLExecution.withSQLConfPropagated: settings of the session are local properties of its tasks
"""

from __future__ import annotations

import time

import pyarrow.compute as pc
from pyspark import TaskContext

from deltaskip.errors import InvalidArgument
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.rows.zone_dependence import predicate_depends_on_zone
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.types import TIMESTAMP
from deltaskip.sparkexpr.values.arrow_values import one_chunk

_ANSI = "spark.sql.ansi.enabled"
_ZONE = "spark.sql.session.timeZone"
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions")
_JAVA_ZONE = regex(r"-Duser\.timezone=(\S+)")
_UTC = frozenset(("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "Zulu", "UCT", "Etc/UCT", "Universal", "+00:00"))


@dataclass(frozen=True, slots=True)
class SessionChecks:
    """The settings that the session must have. It can be pickled.

    Attributes:
        utc: The parts that depend on the time zone, assumed as UTC, for messages; None if no part does.
        ansi: The predicate that was planned for ANSI mode, for messages; None if the mode is known.
        table: The location of the table.
    """

    utc: str | None
    ansi: str | None
    table: str

    @classmethod
    def of(cls, snapshot: Snapshot, where: str | None, zone_told: bool, ansi_told: bool) -> SessionChecks:
        """Return the checks for a read.

        Args:
            snapshot: The table.
            where: The predicate of the read; None for all rows.
            zone_told: Whether the time zone is known.
            ansi_told: Whether the ANSI mode is known.
        """
        depending = None if zone_told else _depending(snapshot, where)
        return cls(depending, None if ansi_told else where, snapshot.table_root)

    def check(self) -> None:
        """Raise InvalidArgument in a task if the session has other settings."""
        task = TaskContext.get()
        if task is None:
            return
        if self.utc is not None and not _is_utc(task):
            raise untold_zone(self.utc, self.table)
        if self.ansi is not None and task.getLocalProperty(_ANSI) == "false":
            raise InvalidArgument(
                f"The session evaluates without ANSI mode, which Spark does not tell the format deltaskip when the "
                f'predicate {self.ansi} of {self.table} is planned: add option("ansi", "false").'
            )


def untold_zone(what: str, table: str) -> InvalidArgument:
    """Return the error for a part that depends on the session's time zone, which a data source does not get."""
    return InvalidArgument(
        f"{what} of {table} may depend on the time zone of the session, which Spark does not tell the format "
        f'deltaskip: add option("timeZone", spark.conf.get("spark.sql.session.timeZone")).'
    )


def _depending(snapshot: Snapshot, where: str | None) -> str | None:
    """The part of a read that depends on the time zone of the session; None if there is none."""
    if where is not None and predicate_depends_on_zone(where, snapshot.schema):
        return f"The predicate {where}"
    zoned = (f.name for f in snapshot.partition_fields if f.type == TIMESTAMP and _are_zoned(snapshot, f.name))
    return next((f"The values of the partition column {name}" for name in zoned), None)


def _are_zoned(snapshot: Snapshot, name: str) -> bool:
    """Whether the instants of a partition column's values depend on the time zone."""
    first, second = (
        one_chunk(Scan(snapshot, ReadOptions(time_zone=zone)).files(columns=["partition_values"])["partition_values"])
        for zone in ("UTC", "+18:00")
    )
    return not pc.struct_field(first, [name]).equals(pc.struct_field(second, [name]))


def _is_utc(task: TaskContext) -> bool:
    """Whether the session is in UTC: by its setting, or else by the time zone of the JVM, which is the machine's."""
    zone = task.getLocalProperty(_ZONE)
    if zone is None:
        given = (_JAVA_ZONE.search(task.getLocalProperty(name) or "") for name in _JAVA_OPTIONS)
        zone = next((found[1] for found in given if found is not None), None)
    return zone in _UTC if zone is not None else set(time.tzname) <= _UTC
