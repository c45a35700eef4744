"""Row tracking: fresh row ids above the table's high-water mark, and the ids that files keep.

# PROTOCOL, Row Tracking; today's protocol: the mark is the domain `delta.rowTracking`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, DomainMetadata, Metadata, Protocol, canonical_paths
from deltaskip.errors import CorruptLog, InvalidCommit
from deltaskip.features.registry import has_feature
from deltaskip.features.writing import is_true
from deltaskip.kernels.conversion import arrow_array
from deltaskip.log import Snapshot, dv_ids
from deltaskip.log.live_adds import live_adds

__all__ = ["ROW_TRACKING_DOMAIN", "Known", "assign_row_ids", "known_files", "num_records", "tracks_rows"]

ROW_TRACKING_DOMAIN = "delta.rowTracking"
_MARK = "rowIdHighWaterMark"
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Known:
    """What the snapshot says of a file that is added again."""

    dv_id: str | None
    base_row_id: int | None
    default_row_commit_version: int | None


def known_files(base: Snapshot, keys: Iterable[str]) -> Mapping[str, Known]:
    """By canonical path, those of the paths that are active files of the snapshot."""
    wanted = arrow_array(list(keys), pa.string())
    if not len(wanted):
        return {}
    known: dict[str, Known] = {}
    for adds in live_adds(base, _BATCH_ROWS, ["path", "deletion_vector", "base_row_id", "default_row_commit_version"]):
        paths = canonical_paths(adds["path"])
        there = pc.is_in(paths, value_set=wanted)
        if not pc.any(there).as_py():
            continue
        found = adds.filter(there)
        ids, versions = found["base_row_id"].to_pylist(), found["default_row_commit_version"].to_pylist()
        vectors = dv_ids(found["deletion_vector"]).to_pylist()
        rows = map(Known, vectors, ids, versions)
        known.update(zip(paths.filter(there).to_pylist(), rows, strict=True))
    return known


def tracks_rows(protocol: Protocol, metadata: Metadata) -> bool:
    """Whether writers must assign row ids: also where they are not enabled for readers, but not while suspended."""
    return has_feature(protocol, "rowTracking") and not is_true(metadata.configuration, "delta.rowTrackingSuspended")


def assign_row_ids(
    adds: Iterable[AddFile], known: Mapping[str, Known], keys: Iterable[str], latest: Snapshot, version: int
) -> tuple[list[AddFile], DomainMetadata | None]:
    """The adds with a base row id and a default row commit version each, and the new high-water mark if it has moved.

    A file that is added again keeps the ids it had. Raises InvalidCommit where an add needs fresh ids and does not say
    how many rows it has.
    """
    mark = before = _high_water_mark(latest)
    assigned = []
    for add, key in zip(adds, keys, strict=True):
        old = known.get(key)
        base_row_id, commit_version = add.base_row_id, add.default_row_commit_version
        if base_row_id is None and old is not None:
            base_row_id, commit_version = old.base_row_id, old.default_row_commit_version
        if base_row_id is None:
            rows = num_records(add)
            if rows is None:
                raise InvalidCommit(
                    f"{add.path} cannot be added to {latest.root}: the table tracks rows, so the statistics of every "
                    f"new file must have numRecords."
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


def num_records(add: AddFile) -> int | None:
    """Number of rows in the data file, those that a deletion vector deletes included; None where it is not said."""
    try:
        stats = json.loads(add.stats) if add.stats else {}
    except ValueError:
        return None
    rows = stats.get("numRecords") if isinstance(stats, dict) else None
    return rows if isinstance(rows, int) and not isinstance(rows, bool) and rows >= 0 else None


def _high_water_mark(latest: Snapshot) -> int:
    domain = latest.domains.get(ROW_TRACKING_DOMAIN)
    if domain is None:
        # Tables of the draft keep the mark in an action of its own, which is gone from today's protocol.
        if pc.max(latest.adds(["base_row_id"])["base_row_id"]).as_py() is not None:
            raise InvalidCommit(
                f"Files of {latest.root} have row ids, but version {latest.version} has no domain "
                f"{ROW_TRACKING_DOMAIN} with their high-water mark: set it before adding files."
            )
        return -1
    try:
        mark = json.loads(domain.configuration)[_MARK]
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptLog(
            f"The domain {ROW_TRACKING_DOMAIN} of version {latest.version} of {latest.root} has no {_MARK}: restore "
            f"the commit that set it."
        ) from error
    return int(mark)
