"""What a snapshot contains for the files that a transaction removes or adds again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import canonical_paths
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot, dv_ids
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.schema.arrow_values import arrow_array

__all__ = ["Known", "known_files"]

_BATCH_ROWS = 1 << 16
_COLUMNS = ("path", "deletion_vector", "base_row_id", "default_row_commit_version")


@dataclass(frozen=True, slots=True)
class Known:
    """What the snapshot contains for an active file. deleted: number of rows that its deletion vector deletes."""

    dv_id: str | None
    deleted: int
    base_row_id: int | None
    default_row_commit_version: int | None


def known_files(base: Snapshot, keys: Iterable[str], perhaps_new: Iterable[str] = ()) -> Mapping[str, Known]:
    """Look up canonical paths in the snapshot; the result has an entry for each path that is an active file.

    perhaps_new: canonical paths that are included only if their active file has a deletion vector, so that an append
    to a table without deletion vectors does not read its files.
    """
    wanted, new = list(keys), list(perhaps_new)
    if not wanted and not (new and has_feature(base.protocol, "deletionVectors")):
        return {}
    values = arrow_array([*wanted, *new], pa.string())
    known: dict[str, Known] = {}
    may_hold = _Holding(values, bool(wanted))
    for adds in base.add_batches(_BATCH_ROWS, _COLUMNS, may_hold):
        paths = canonical_paths(adds["path"])
        there = pc.is_in(paths, value_set=values)
        if not pc.any(there).as_py():
            continue
        found = adds.filter(there)
        vectors = found["deletion_vector"]
        deleted = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0).to_pylist()
        ids, versions = found["base_row_id"].to_pylist(), found["default_row_commit_version"].to_pylist()
        rows = map(Known, dv_ids(vectors).to_pylist(), deleted, ids, versions)
        known.update(zip(paths.filter(there).to_pylist(), rows, strict=True))
    required = set(wanted)
    return {key: each for key, each in known.items() if key in required or each.dv_id is not None}


@dataclass(frozen=True, slots=True)
class _Holding:
    """Whether a row group may contain one of the paths, by the path column alone: most row groups contain none.

    any_file: False if only files with deletion vectors are wanted, which a footer may rule out.
    """

    paths: pa.Array
    any_file: bool

    def __call__(self, part: CheckpointPart, group: int) -> bool:
        if not self.any_file and part.all_null(("add", "deletionVector"), group):
            return False
        return any(
            pc.any(pc.is_in(canonical_paths(_logged(adds)), value_set=self.paths)).as_py()
            for adds in part.adds(["add.path"], group, _BATCH_ROWS)
        )


def _logged(adds: pa.StructArray) -> pa.Array:
    return pc.struct_field(adds, "path").cast(pa.string())
