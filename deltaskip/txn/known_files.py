"""The entries of a snapshot for the files that a transaction removes or adds again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint.read import CheckpointPart
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, no_rows

_BATCH_ROWS = 1 << 16
_COLUMNS = ("path", "size", "partition_values", "deletion_vector", "base_row_id", "default_row_commit_version")


@dataclass(frozen=True, slots=True)
class Known:
    """The entry of the snapshot for an active file.

    path: as logged. deleted: number of rows that its deletion vector deletes. stats: as logged, if they were read.
    """

    path: str
    size: int | None
    partition_values: Mapping[str, str | None] | None
    vector: actions.DeletionVectorDescriptor | None
    base_row_id: int | None
    default_row_commit_version: int | None
    stats: str | None = None

    @property
    def dv_id(self) -> str | None:
        """The unique id of the file's deletion vector; None if it has none."""
        return None if self.vector is None else self.vector.unique_id

    @property
    def deleted(self) -> int:
        """Number of rows that the deletion vector deletes."""
        return 0 if self.vector is None else self.vector.cardinality


def known_files(
    base: Snapshot, keys: Iterable[str], perhaps_new: Iterable[str] = (), stats: bool = False
) -> Mapping[str, Known]:
    """Look up keys of paths in the snapshot; the result has an entry for each path that is an active file.

    perhaps_new: keys that are included only if their active file has a deletion vector, so that an append to a table
    without deletion vectors does not read its files. stats: whether to read the statistics too.
    """
    wanted, new = list(keys), list(perhaps_new)
    if not wanted and not (new and has_feature(base.protocol, "deletionVectors")):
        return {}
    values = arrow_array([*wanted, *new], pa.string())
    known: dict[str, Known] = {}
    may_hold = _Holding(base.table_root, values, bool(wanted))
    columns = (*_COLUMNS, "stats") if stats else _COLUMNS
    for adds in base.add_batches(_BATCH_ROWS, columns, may_hold):
        paths, found = _chosen(base, adds, values)
        if not len(found):
            continue
        vectors = found["deletion_vector"]
        there_ids = actions.dv_ids(vectors).is_valid().to_pylist()
        descriptors = [
            actions.DeletionVectorDescriptor(**_complete(vector)) if valid and vector is not None else None
            for valid, vector in zip(there_ids, vectors.to_pylist(), strict=True)
        ]
        texts = found["stats"].to_pylist() if stats else [None] * len(found)
        rows = map(
            Known,
            found["path"].to_pylist(),
            found["size"].to_pylist(),
            (dict(values or ()) for values in found["partition_values"].to_pylist()),
            descriptors,
            found["base_row_id"].to_pylist(),
            found["default_row_commit_version"].to_pylist(),
            texts,
        )
        known.update(zip(paths, rows, strict=True))
    required = set(wanted)
    return {key: each for key, each in known.items() if key in required or each.vector is not None}


def active_adds(base: Snapshot, keys: Iterable[str]) -> Mapping[str, actions.AddFile]:
    """Return the add actions of active files by key; the result has an entry for each key that is an active file."""
    values = arrow_array(list(keys), pa.string())
    found: dict[str, actions.AddFile] = {}
    for adds in base.add_batches(_BATCH_ROWS, None, _Holding(base.table_root, values, True)):
        paths, chosen = _chosen(base, adds, values)
        if len(chosen):
            found.update(zip(paths, actions.add_actions(pa.Table.from_batches([chosen])), strict=True))
    return found


def _chosen(base: Snapshot, adds: pa.RecordBatch, values: pa.StringArray) -> tuple[list[str], pa.RecordBatch]:
    """The adds whose path keys are among `values`, and these keys."""
    keys = actions.table_keys(base.table_root, adds["path"])
    rows = pc.indices_nonzero(pc.is_in(keys, value_set=values))
    # Taking rows of nested columns is slow, even if there are none.
    few = len(rows) <= 1
    found = adds.slice(rows[0].as_py() if len(rows) else 0, len(rows)) if few else adds.take(rows)
    return keys.take(rows).to_pylist(), found


def listed_files(base: Snapshot, keys: pa.StringArray) -> tuple[pa.StringArray, pa.Table]:
    """Look up keys of paths in the snapshot, and return the keys and columns of those that belong to active files.

    The columns are path, size, partition_values, deletion_vector, base_row_id and default_row_commit_version.
    """
    schema = pa.schema([actions.FILE_SCHEMA.field(name) for name in _COLUMNS])
    there: list[pa.StringArray] = [keys.slice(0, 0)]
    rows: list[pa.Table] = [no_rows(schema)]
    for adds in base.add_batches(_BATCH_ROWS, _COLUMNS, _Holding(base.table_root, keys, True)):
        paths = actions.table_keys(base.table_root, adds["path"])
        wanted = pc.is_in(paths, value_set=keys)
        there.append(paths.filter(wanted))
        rows.append(pa.Table.from_batches([adds.filter(wanted)]).cast(schema))
    return pa.concat_arrays(there), pa.concat_tables(rows).combine_chunks()


@dataclass(frozen=True, slots=True)
class _Holding:
    """Whether a row group may contain one of the paths, by the path column alone: most row groups contain none.

    any_file: False if only files with deletion vectors are wanted, which a footer may rule out.
    """

    root: str
    paths: pa.Array
    any_file: bool

    def __call__(self, part: CheckpointPart, group: int) -> bool:
        if not self.any_file and part.all_null(("add", "deletionVector"), group):
            return False
        return any(
            pc.any(pc.is_in(actions.table_keys(self.root, _logged(adds)), value_set=self.paths)).as_py()
            for adds in part.adds(["add.path"], group, _BATCH_ROWS)
        )


def _logged(adds: pa.StructArray) -> pa.Array:
    return pc.struct_field(adds, "path").cast(pa.string())


def _complete(vector: dict[str, Any]) -> dict[str, Any]:
    return {**vector, "cardinality": vector["cardinality"] or 0}
