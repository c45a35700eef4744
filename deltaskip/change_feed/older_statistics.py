"""Statistics of removed files from the version before a feed, where its own commits do not have them.

A remove action seldom has statistics. Those of the add that comes back with another deletion vector do not serve, since
they need not cover the rows that this vector deletes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, canonical_paths
from deltaskip.change_feed.change_columns import FEED_NAMES
from deltaskip.change_feed.changed_files import ChangedFiles
from deltaskip.engine import is_column
from deltaskip.errors import CorruptLog, DeltaSkipError, VersionNotFound
from deltaskip.expr import columns_of, parse_sql, to_node, with_parameters
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.replay import dv_ids
from deltaskip.schema.arrow_values import FALSE, NOTHING, arrow_array, arrow_scalar, numpy_values, one_chunk

__all__ = ["reads_statistics", "with_older_statistics"]

_BATCH_ROWS = 1 << 16
_COPIED = ("stats", "tags", "deletion_vector")


def reads_statistics(where: object, params: object, snapshot: Snapshot) -> bool:
    """Whether a predicate uses columns that have statistics, other than partition columns and those of the feed."""
    if where is None:
        return False
    if is_column(where):
        return True
    try:
        filled = with_parameters(where, params)
        node = parse_sql(filled) if isinstance(filled, str) else to_node(filled)
    except DeltaSkipError:
        # The scan raises it, with the table.
        return False
    others = {name.lower() for name in (*snapshot.partition_columns, *FEED_NAMES)}
    return any(path[0].lower() not in others for path in columns_of(node))


def with_older_statistics(changes: ChangedFiles, snapshot: Snapshot, start: int) -> ChangedFiles:
    """Return the files with statistics of those that versions from `start` on removed, from the version before it.

    Files of which that version has none stay as they are, and so do all if its log files were deleted.
    """
    lacking = pc.and_(pc.equal(changes.types, arrow_scalar("delete", pa.string())), pc.is_null(changes.adds["stats"]))
    rows = np.flatnonzero(numpy_values(pc.fill_null(one_chunk(lacking), FALSE)))
    if not start or not len(rows):
        return changes
    index = arrow_array(rows, pa.int64())
    paths = canonical_paths(one_chunk(changes.adds["path"].take(index)))
    vectors = pc.fill_null(dv_ids(changes.before.take(index)), NOTHING)
    try:
        older = load_snapshot(snapshot.storage, snapshot.root, start - 1)
        found = _files(older, paths)
    except (VersionNotFound, CorruptLog):
        return changes
    # At one version a path has one add, which covers the rows of its own deletion vector; without one, of the file.
    at = pc.index_in(paths, value_set=canonical_paths(one_chunk(found["path"])))
    there = numpy_values(at.is_valid())
    place = numpy_values(pc.fill_null(at, arrow_scalar(0, pa.int32()))).astype(np.int64)
    if len(found):
        its = pc.fill_null(dv_ids(one_chunk(found["deletion_vector"])), NOTHING).take(arrow_array(place))
        same = pc.or_(pc.equal(its, vectors), pc.equal(its, NOTHING))
        there = there & numpy_values(same)
    if not there.any():
        return changes
    own = np.arange(len(changes.adds), dtype=np.int64)
    own[rows[there]] = len(changes.adds) + place[there]
    columns = {name: one_chunk(changes.adds[name]) for name in FILE_SCHEMA.names}
    for name in _COPIED:
        joined = pa.concat_arrays([columns[name], one_chunk(found[name])])
        columns[name] = joined.take(arrow_array(own))
    return replace(changes, adds=pa.table(columns, schema=FILE_SCHEMA))


def _files(snapshot: Snapshot, paths: pa.Array) -> pa.Table:
    """The files of a snapshot with these canonical paths that have statistics."""
    wanted = paths.unique()
    found = []
    for batch in snapshot.add_batches(_BATCH_ROWS, ["path", *_COPIED]):
        mask = pc.and_(
            pc.is_in(canonical_paths(batch.column("path")), value_set=wanted), pc.is_valid(batch.column("stats"))
        )
        found.append(batch.filter(mask))
    schema = pa.schema([FILE_SCHEMA.field(name) for name in ("path", *_COPIED)])
    return pa.Table.from_batches([batch.cast(schema) for batch in found if len(batch)], schema).combine_chunks()
