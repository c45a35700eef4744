"""The files that an interrupted recomputation already finished, so that the next run can skip them.

The statistics of a file depend on its values, and its values never change: statistics that the same version of this
package computed with the same settings, and that nobody has replaced since, need not be computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import CommitInfo, canonical_paths
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.log.commit import read_commits
from deltaskip.log.file_names import LogFile
from deltaskip.log.segment import list_commits
from deltaskip.log.stats_provenance import COMPUTE_OPERATION
from deltaskip.txn.operation_parameters import parameter_value
from deltaskip.version import engine_info

__all__ = ["computed_before"]

# An interrupted run is among the newest commits of the table.
_NEWEST_COMMITS = 1000
_HEAD_BYTES = 64 << 10
_READERS = 32


def computed_before(snapshot: Snapshot, parameters: Mapping[str, Any]) -> pa.Array:
    """Canonical paths of the files whose statistics were computed with these operation parameters.

    These are the files whose newest add is in a commit of the operation COMPUTE STATS, written by this version of the
    package with the same parameters, among the newest thousand commits.
    """
    first = max(0, snapshot.version - _NEWEST_COMMITS + 1)
    listed = list_commits(snapshot.storage, snapshot.root, first)
    files = [file for file in listed if file.version <= snapshot.version]
    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        done = list(pool.map(lambda file: _is_of(_provenance(snapshot, file), parameters), files))
    found: pa.Array = pa.nulls(0, pa.string())
    if not any(done):
        return found
    for file, is_done in list(zip(files, done, strict=True))[done.index(True) :]:
        actions = read_commits(snapshot.storage, snapshot.root, [file], ["path"]).actions
        adds = actions.filter(pc.invert(actions["is_remove"]))
        paths = canonical_paths(adds["path"].combine_chunks())
        found = found.filter(pc.invert(pc.is_in(found, value_set=paths)))
        if is_done:
            found = pa.concat_arrays([found, paths])
    return found


def _provenance(snapshot: Snapshot, file: LogFile) -> CommitInfo | None:
    """The first action of a commit if it is the commitInfo of a recomputation, which this package writes first."""
    head = snapshot.storage.read_range(file.path, 0, _HEAD_BYTES)
    if COMPUTE_OPERATION.encode() not in head:
        return None
    line, end, _ = head.partition(b"\n")
    if not end and file.file.size > _HEAD_BYTES:
        line = snapshot.storage.read(file.path).partition(b"\n")[0]
    try:
        action = parse_json(line)
    except ValueError:
        return None
    info = action.get("commitInfo") if isinstance(action, dict) else None
    return CommitInfo.from_json(info) if isinstance(info, dict) else None


def _is_of(info: CommitInfo | None, parameters: Mapping[str, Any]) -> bool:
    if info is None or info.operation != COMPUTE_OPERATION or info.engine_info != engine_info():
        return False
    logged = info.members.get("operationParameters")
    if not isinstance(logged, dict) or set(logged) != set(parameters):
        return False
    return all(parameter_value(logged[name], value) == value for name, value in parameters.items())
