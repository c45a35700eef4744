"""The statistics that the log contains, usable or not."""

from __future__ import annotations

from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.json_text import parse_json
from deltaskip.kernels.stats_json import INVALID, JSON_NULL, MISSING, extract_leaves
from deltaskip.log import Snapshot
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.skipping.batches import FileBatch, candidates
from deltaskip.skipping.program import Keep, Program
from deltaskip.stats.layout import StatLeaf

_GROUP = "statsWithCollation"
_MOST_TEXTS = 1000
"""JSON texts of a batch that are searched for collations."""


def logged_collations(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the collation identifiers under `statsWithCollation`, as written and sorted.

    In JSON, only the first texts of each batch are searched.
    """
    found = {
        path[3]
        for part in snapshot.checkpoint_parts
        for path in part.leaves
        if path[:3] == ("add", "stats_parsed", _GROUP) and len(path) > 4
    }
    for batch in candidates(snapshot, Program(Keep())):
        pieces = (texts.filter(pc.match_substring(texts, f'"{_GROUP}"')) for texts in batch.adds.json())
        for text in islice((text for piece in pieces for text in piece.to_pylist()), _MOST_TEXTS):
            found |= _keys(text)
    return tuple(sorted(found))


def is_logged(snapshot: Snapshot, leaf: StatLeaf) -> bool:
    """Return whether the log has a value of the statistic for some active file, usable as a bound or not."""
    paths = [spelling.path for spelling in leaf.spellings]
    return any(_has_some(batch, paths) for batch in candidates(snapshot, Program(Keep())))


def _has_some(batch: FileBatch, paths: list[tuple[str, ...]]) -> bool:
    rows = batch.live(None)
    columns = [column.is_valid() for column in batch.adds.struct_leaves(paths) if column is not None]
    absent = arrow_array([MISSING, JSON_NULL, INVALID], pa.uint8())
    kinds = [[found.kind for found in extract_leaves(texts, paths)] for texts in batch.adds.json()]
    for of_path in zip(*kinds, strict=True):
        columns.append(pc.invert(pc.is_in(pa.concat_arrays(of_path), value_set=absent)))
    return any(pc.any(column if rows is None else column.take(rows)).as_py() for column in columns)


def _keys(text: str) -> set[str]:
    try:
        statistics = parse_json(text)
    except ValueError:
        return set()
    collated = statistics.get(_GROUP) if isinstance(statistics, dict) else None
    return set(collated) if isinstance(collated, dict) else set()
