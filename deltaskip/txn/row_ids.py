"""Row tracking: new row ids above the table's high-water mark, and the ids that files keep.

# PROTOCOL, Row Tracking: the mark is in the domain `delta.rowTracking`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import pyarrow.compute as pc

from deltaskip.actions import AddFile, DomainMetadata, Protocol, canonical_path
from deltaskip.errors import CorruptLog, InvalidCommit
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot
from deltaskip.schema.properties import TableProperties
from deltaskip.txn.file_actions import num_records, parsed_stats
from deltaskip.txn.known_files import Known

__all__ = ["ROW_TRACKING_DOMAIN", "assign_row_ids", "check_enabling", "check_given_ids", "tracks_rows"]

ROW_TRACKING_DOMAIN = "delta.rowTracking"
_MARK = "rowIdHighWaterMark"
_BATCH_ROWS = 1 << 16


def tracks_rows(protocol: Protocol, properties: TableProperties) -> bool:
    """Whether writers must assign row ids: also if they are not enabled for readers, but not while suspended."""
    return has_feature(protocol, "rowTracking") and not properties.row_tracking_suspended


def check_enabling(
    base: Snapshot, properties: TableProperties, columns: Iterable[str], again: Collection[str]
) -> None:
    """Raise InvalidCommit if `delta.enableRowTracking` must not become true.

    columns: logical and physical names of the table's columns. again: canonical paths of files that the commit adds,
    which gives them row ids. Other writers must not add files in the meantime unless writers already had to assign row
    ids.
    # PROTOCOL, Row Tracking, Writer Requirements
    """
    if properties.row_tracking_suspended:
        raise InvalidCommit(
            f"The metaData of a commit to {base.root} enables row tracking although "
            f"{TableProperties.row_tracking_suspended.name} is true: unset one of them."
        )
    taken = {name.lower() for name in columns}
    for definition in (TableProperties.row_id_column, TableProperties.row_commit_version_column):
        column = (properties.configuration.get(definition.name) or "").lower()
        if not column or column in taken:
            raise InvalidCommit(
                f"The metaData of a commit to {base.root} enables row tracking, so {definition.name} must be set to a "
                f"column name that the table does not have: set it in the same transaction."
            )
        taken.add(column)
    for adds in base.add_batches(_BATCH_ROWS, ["path", "base_row_id", "default_row_commit_version"]):
        lacks = pc.or_(pc.is_null(adds["base_row_id"]), pc.is_null(adds["default_row_commit_version"]))
        for path in adds["path"].filter(lacks).to_pylist():
            if canonical_path(path) not in again:
                raise InvalidCommit(
                    f"Row tracking of {base.root} cannot be enabled while {path} has no row ids: add it again first, "
                    f"or in the same transaction."
                )


def check_given_ids(base: Snapshot, adds: Iterable[AddFile]) -> None:
    """Raise InvalidCommit if an add has row ids above the high-water mark, which other writers may have assigned."""
    given = [add for add in adds if add.base_row_id is not None]
    if not given:
        return
    mark = _high_water_mark(base)
    for add in given:
        first = add.base_row_id or 0
        last = first + max(num_records(parsed_stats(add)) or 1, 1) - 1
        if last > mark:
            raise InvalidCommit(
                f"{add.path} cannot be added to {base.root} with the row ids {first} to {last}, since only ids up to "
                f"{mark} are assigned: leave out baseRowId, and the commit assigns it."
            )


def assign_row_ids(
    adds: Iterable[AddFile], known: Mapping[str, Known], keys: Iterable[str], latest: Snapshot, version: int
) -> tuple[list[AddFile], DomainMetadata | None]:
    """The adds with base row ids and default row commit versions, and the new high-water mark if it has changed.

    A file that is added again keeps its ids. Raises InvalidCommit if an add needs new ids but has no row count.
    """
    mark = before = _high_water_mark(latest)
    assigned = []
    for add, key in zip(adds, keys, strict=True):
        old = known.get(key)
        base_row_id, commit_version = add.base_row_id, add.default_row_commit_version
        if base_row_id is None and old is not None:
            base_row_id, commit_version = old.base_row_id, old.default_row_commit_version
        if base_row_id is None:
            rows = num_records(parsed_stats(add))
            if rows is None:
                raise InvalidCommit(
                    f"{add.path} cannot be added to {latest.root}: the table has row tracking, so the statistics of "
                    f"every new file must have numRecords."
                )
            base_row_id = mark + 1
            mark += rows
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


def _high_water_mark(latest: Snapshot) -> int:
    domain = latest.domains.get(ROW_TRACKING_DOMAIN)
    if domain is None:
        # Tables of the draft protocol keep the mark in a separate action, which the protocol no longer has.
        if pc.max(latest.adds(["base_row_id"])["base_row_id"]).as_py() is not None:
            raise InvalidCommit(
                f"Files of {latest.root} have row ids, but version {latest.version} has no domain "
                f"{ROW_TRACKING_DOMAIN} with their high-water mark: set it before you add files."
            )
        return -1
    try:
        mark = int(json.loads(domain.configuration)[_MARK])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptLog(
            f"The domain {ROW_TRACKING_DOMAIN} of version {latest.version} of {latest.root} has no {_MARK}: restore "
            f"the commit that set it."
        ) from error
    return mark
