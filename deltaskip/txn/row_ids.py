"""Row tracking: new row ids above the table's high-water mark, and the ids that files keep.

# PROTOCOL, Row Tracking: the mark is in the domain `delta.rowTracking`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from deltaskip.actions import AddFile, DomainMetadata
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.log import Snapshot
from deltaskip.txn.known_files import Known
from deltaskip.txn.validation.row_tracking import MARK, high_water_mark
from deltaskip.txn.validation.rules import refusal
from deltaskip.txn.validation.statistics import num_records, parsed_stats

__all__ = ["assign_row_ids"]

# PROTOCOL, Row Tracking: row ids are 64-bit integers.
_MOST = (1 << 63) - 1


def assign_row_ids(
    adds: Iterable[AddFile], known: Mapping[str, Known], keys: Iterable[str], latest: Snapshot, version: int
) -> tuple[list[AddFile], DomainMetadata | None]:
    """The adds with base row ids and default row commit versions, and the new high-water mark if it has changed.

    A file that is added again keeps its ids. Every add that needs new ones has a row count.
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
            if mark > _MOST:
                raise refusal(
                    "row-ids.assigned",
                    f"{latest.root} has no row ids left: the highest one of version {latest.version} is {before}; "
                    f"copy the rows to another table",
                )
        assigned.append(
            replace(
                add,
                base_row_id=base_row_id,
                default_row_commit_version=version if commit_version is None else commit_version,
            )
        )
    if mark == before:
        return assigned, None
    return assigned, DomainMetadata(ROW_TRACKING_DOMAIN, json.dumps({MARK: mark}, separators=(",", ":")))
