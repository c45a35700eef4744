"""The common base of the methods of DeltaTable."""

from __future__ import annotations

from typing import TypeVar

from deltaskip import arguments
from deltaskip.engine import SESSION_ZONE, zone_or_session
from deltaskip.errors import DeltaSkipError, InvalidArgument, MaintenanceWarning
from deltaskip.log import Snapshot
from deltaskip.progress import LOGGER
from deltaskip.skipping.log_scan import ZONE_MUST_BE
from deltaskip.sparkexpr.values.calendar import zone_of
from deltaskip.storage import address_of
from deltaskip.txn.latest import latest_after
from deltaskip.txn.write_options import WriteOptions
from deltaskip.warning import warn

_R = TypeVar("_R")


class TableMethods:
    """Base class of the method groups of DeltaTable: the snapshot, and the checks of common arguments."""

    snapshot: Snapshot

    @property
    def uri(self) -> str:
        """URI of the table, by which it can be opened: percent-encoded for local files, and not in object stores."""
        return address_of(self.snapshot.root)

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

    def _written(self, result: _R) -> _R:
        """Do as `_moved` after a write, and join small files if the table asks for auto compaction.

        Issues a MaintenanceWarning instead of an error, which would say that nothing was written.
        """
        self._moved(result)
        if not self.snapshot.table_properties.auto_compact:
            return result
        from deltaskip.maintenance.optimize.optimize import optimize
        from deltaskip.maintenance.optimize.strategy import LEAST_SMALL_FILES, OptimizeRequest

        if self.snapshot.num_files < LEAST_SMALL_FILES:
            return result
        try:
            compacted = optimize(self.snapshot, OptimizeRequest(auto=True), progress=lambda *_: None).version
            return result if compacted is None else self._moved(result)
        except DeltaSkipError as error:
            warn(f"The rows are written, but the auto compaction of {self.uri} failed: {error}", MaintenanceWarning)
        return self._moved(result)


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
