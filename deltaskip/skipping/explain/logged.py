"""The statistics that the log contains, usable or not."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.json_text import parse_json
from deltaskip.kernels.stats_json import INVALID, JSON_NULL, MISSING, extract_leaves
from deltaskip.log import Snapshot
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.skipping.batches import Batch, candidates
from deltaskip.skipping.program import Keep, Program
from deltaskip.stats.layout import StatLeaf

__all__ = ["is_logged", "logged_collations"]

_GROUP = "statsWithCollation"
_MOST_TEXTS = 1000
"""JSON texts of a batch that are searched for collations."""


def logged_collations(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the collation identifiers under `statsWithCollation`, as written and sorted.

    Of statistics in JSON, the first texts of each batch are searched.
    """
    found = {
        path[3]
        for part in snapshot.checkpoint_parts
        for path in part.leaves
        if path[:3] == ("add", "stats_parsed", _GROUP) and len(path) > 4
    }
    for batch in candidates(snapshot, Program(Keep())):
        texts = batch.adds.json()
        if texts is None:
            continue
        for text in texts.filter(pc.match_substring(texts, f'"{_GROUP}"')).slice(0, _MOST_TEXTS).to_pylist():
            found |= _keys(text)
    return tuple(sorted(found))


def is_logged(snapshot: Snapshot, leaf: StatLeaf) -> bool:
    """Return whether the log has a value of the statistic for some active file, usable as a bound or not."""
    paths = [spelling.path for spelling in leaf.spellings]
    return any(_has_some(batch, paths) for batch in candidates(snapshot, Program(Keep())))


def _has_some(batch: Batch, paths: list[tuple[str, ...]]) -> bool:
    rows = batch.live(None)
    columns = [column.is_valid() for column in batch.adds.struct_leaves(paths) if column is not None]
    texts = batch.adds.json()
    if texts is not None and texts.null_count < len(texts):
        absent = arrow_array([MISSING, JSON_NULL, INVALID], pa.uint8())
        columns += [pc.invert(pc.is_in(found.kind, value_set=absent)) for found in extract_leaves(texts, paths)]
    return any(pc.any(column if rows is None else column.take(rows)).as_py() for column in columns)


def _keys(text: str) -> set[str]:
    try:
        statistics = parse_json(text)
    except ValueError:
        return set()
    collated = statistics.get(_GROUP) if isinstance(statistics, dict) else None
    return set(collated) if isinstance(collated, dict) else set()
