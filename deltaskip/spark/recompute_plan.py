"""What a recomputation of statistics would do, told from the log alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow.compute as pc

from deltaskip.actions import decode_paths
from deltaskip.spark.recompute import recompute_request
from deltaskip.stats.computation import Collations
from deltaskip.stats.file_facts import Mode, StatisticsRequest
from deltaskip.stats.merge import has_statistics
from deltaskip.table.table import DeltaTable

__all__ = ["RecomputePlan", "recompute_plan"]


@dataclass(frozen=True, slots=True)
class RecomputePlan:
    """files, bytes: that would be read. columns: that would get statistics; collations: versioned, of their bounds.

    lacking: for each column the files that lack some of its statistics now, and which every predicate on it keeps.
    """

    version: int
    files: int
    bytes: int
    columns: tuple[str, ...]
    collations: tuple[str, ...]
    lacking: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """For json.dumps."""
        return asdict(self)


def recompute_plan(
    table: DeltaTable,
    where: object = None,
    columns: Sequence[str] | None = None,
    collations: Collations | Sequence[str] | None = None,
    mode: Mode = "auto",
    only_missing: bool = False,
) -> RecomputePlan:
    """What DeltaTable.recompute_stats would do with the same arguments; nothing is read but the log."""
    request = recompute_request(table.snapshot, columns, collations, mode)
    files = table.snapshot.adds(["path", "size", "stats"])
    if where is not None:
        kept = table.scan(where).files(columns=["path"])["path"].combine_chunks()
        files = files.filter(pc.is_in(decode_paths(files["path"].combine_chunks()), value_set=kept))
    singles = {".".join(column.logical): single for column, single in _by_column(request)}
    lacking = dict.fromkeys(singles, 0)
    chosen = size = 0
    for text, file_size in zip(files["stats"].to_pylist(), files["size"].to_pylist(), strict=True):
        missing = [name for name, single in singles.items() if not has_statistics(text, single)]
        for name in missing:
            lacking[name] += 1
        if missing or not only_missing:
            chosen += 1
            size += file_size
    identifiers = dict.fromkeys(identifier for each in request.collations for identifier in each)
    return RecomputePlan(table.version, chosen, size, tuple(singles), tuple(identifiers), lacking)


def _by_column(request: StatisticsRequest) -> list[tuple[Any, StatisticsRequest]]:
    pairs = zip(request.columns, request.collations, strict=True)
    return [(column, replace(request, columns=(column,), collations=(each,))) for column, each in pairs]
