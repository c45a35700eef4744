"""Under which collations a table's log holds statistics: for explain, and for reports about a table."""

from __future__ import annotations

import json

import pyarrow.compute as pc

from deltaskip.log import Snapshot
from deltaskip.skipping.batches import candidates
from deltaskip.skipping.program import Keep, Program

__all__ = ["logged_collations"]

_GROUP = "statsWithCollation"
_MOST_TEXTS = 1000
"""Statistics in JSON of a batch of files that are looked into."""


def logged_collations(snapshot: Snapshot) -> tuple[str, ...]:
    """Identifiers under statsWithCollation, as written, sorted; of JSON texts, those of some files of each batch."""
    found = {
        path[3]
        for part in snapshot.checkpoint_parts
        for path in part.leaves
        if path[:3] == ("add", "stats_parsed", _GROUP) and len(path) > 4
    }
    for batch in candidates(snapshot, Program(Keep())):
        texts = batch.json()
        if texts is None:
            continue
        for text in texts.filter(pc.match_substring(texts, f'"{_GROUP}"')).slice(0, _MOST_TEXTS).to_pylist():
            found |= _keys(text)
    return tuple(sorted(found))


def _keys(text: str) -> set[str]:
    try:
        statistics = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    collated = statistics.get(_GROUP) if isinstance(statistics, dict) else None
    return set(collated) if isinstance(collated, dict) else set()
