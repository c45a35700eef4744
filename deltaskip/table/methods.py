"""The common base of the methods of DeltaTable."""

from __future__ import annotations

from typing import TypeVar

from deltaskip import arguments
from deltaskip.engine import SESSION_ZONE, zone_or_session
from deltaskip.errors import InvalidArgument
from deltaskip.log import Snapshot
from deltaskip.progress import LOGGER
from deltaskip.skipping.log_scan import ZONE_MUST_BE
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.txn.latest import latest_after
from deltaskip.txn.write_options import WriteOptions

_R = TypeVar("_R")


class TableMethods:
    """Base class of the method groups of DeltaTable: the snapshot, and the checks of common arguments."""

    snapshot: Snapshot

    @property
    def uri(self) -> str:
        """URI of the table."""
        return self.snapshot.table_root

    def _write_options(self, txn: object, user_metadata: object, time_zone: str = SESSION_ZONE) -> WriteOptions:
        """The common arguments of writes, checked. Raises InvalidArgument and InvalidArgumentType."""
        return WriteOptions(
            arguments.app_version("txn", txn),
            arguments.text_or_none("user_metadata", user_metadata),
            time_zone_argument(time_zone, self.uri),
        )

    def _moved(self, result: _R) -> _R:
        """Move to the latest version, and return the result of the operation."""
        self.snapshot = latest_after(self.snapshot)
        return result


def time_zone_argument(time_zone: str, table: str) -> str:
    """Return the argument `time_zone`, or its default. Raises InvalidArgument if the zone does not exist."""
    zone = zone_or_session(arguments.text("time_zone", time_zone))
    try:
        zone_of(zone)
    except LookupError as error:
        known = "a time zone such as Europe/Berlin, +02:00 or UTC"
        whose = ", that of the active Spark session" if time_zone == SESSION_ZONE else ""
        raise InvalidArgument(f"{ZONE_MUST_BE} {known}, not {zone!r}{whose} (table {table}).").advising(
            ZONE_MUST_BE
        ) from error
    if time_zone == SESSION_ZONE and zone != "UTC":
        LOGGER.info("%s: the time zone is that of the active Spark session, %s", table, zone)
    return zone
