"""Assignment of row ids to new files, above the high-water mark that the domain `delta.rowTracking` keeps.

# PROTOCOL, Row Tracking
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow.compute as pc

from deltaskip.actions import AddFile, DomainMetadata
from deltaskip.errors import CorruptLog
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.features.violation import Violation
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.sparkexpr.types import LONG_MAX
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.txn.known_files import Known

# The member of the domain's configuration with the highest row id that was assigned.
_MARK = "rowIdHighWaterMark"


def assign_row_ids(
    adds: Iterable[AddFile], known: Mapping[str, Known], keys: Iterable[str], latest: Snapshot, version: int
) -> tuple[list[AddFile], DomainMetadata | None]:
    """Return the adds with base row ids and default row commit versions, and the new high-water mark if it has changed.

    A file that is added again keeps its ids. Every add that needs new ones has a row count.

    Args:
        adds: The adds of the commit.
        known: Entries of files that the table has, by key.
        keys: The key of each add.
        latest: The version before the commit.
        version: The version of the commit.

    Raises:
        InvalidCommit: No row ids are left, or the table has row ids without their mark.
        CorruptLog: The mark cannot be read.
    """
    mark = before = high_water_mark(latest)
    assigned = []
    for add, key in zip(adds, keys, strict=True):
        old = known.get(key)
        base_row_id, commit_version = add.base_row_id, add.default_row_commit_version
        if base_row_id is None and old is not None:
            base_row_id, commit_version = old.base_row_id, old.default_row_commit_version
        if base_row_id is None:
            base_row_id = mark + 1
            mark += num_records(parsed_stats(add.stats)) or 0
            if mark > LONG_MAX:
                raise Violation(
                    "row-ids.assigned",
                    f"{latest.root} has no row ids left: the highest one of version {latest.version} is {before}; "
                    f"copy the rows to another table",
                ).error()
        assigned.append(
            replace(
                add,
                base_row_id=base_row_id,
                default_row_commit_version=version if commit_version is None else commit_version,
            )
        )
    if mark == before:
        return assigned, None
    return assigned, DomainMetadata(ROW_TRACKING_DOMAIN, json.dumps({_MARK: mark}, separators=(",", ":")))


def high_water_mark(latest: Snapshot) -> int:
    """Return the highest row id that was assigned; -1 if there is none. Raises as `assign_row_ids` does."""
    domain = latest.domains.get(ROW_TRACKING_DOMAIN)
    if domain is None:
        # Tables of the draft protocol keep the mark in a separate action, which the protocol no longer has.
        if pc.max(latest.adds(["base_row_id"])["base_row_id"]).as_py() is not None:
            raise Violation(
                "row-ids.assigned",
                f"Files of {latest.root} have row ids, but version {latest.version} has no domain "
                f"{ROW_TRACKING_DOMAIN} with their high-water mark: set it before you add files",
            ).error()
        return -1
    try:
        mark = int(parse_json(domain.configuration)[_MARK])
        if not -1 <= mark <= LONG_MAX:
            raise ValueError(f"{mark} is not a row id")
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise CorruptLog(
            f"The domain {ROW_TRACKING_DOMAIN} of version {latest.version} of {latest.root} has no {_MARK}: restore "
            f"the commit that set it."
        ) from error
    return mark
