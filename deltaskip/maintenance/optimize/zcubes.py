"""Cubes: the files that one clustering wrote together, by the tags of their add actions.

# delta-spark, ZCubeInfo and ClusteringStrategy: ZCUBE_ID is the same for all files of a cube, ZCUBE_ZORDER_BY lists the
# columns that ordered its rows, and `clusteringProvider` is "liquid"
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import numpy as np

from deltaskip.dml.files_to_change import DataFiles
from deltaskip.json_text import parse_json
from deltaskip.maintenance.optimize.strategy import Strategy
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import numpy_values, one_chunk

CLUSTERING_PROVIDER = "liquid"
"""The member `clusteringProvider` of add actions that delta-spark and this package write."""

_ID = "ZCUBE_ID"
_COLUMNS = "ZCUBE_ZORDER_BY"

LARGEST_CUBE = 100 << 30
"""Cubes of this size are not clustered again, as in delta-spark."""

MOST_DELETED = 0.05
"""Files with a greater share of deleted rows are rewritten."""

# A cube is clustered again with new files once these have this share of its size, so that every row is rewritten a
# number of times that grows with the logarithm of the table.
_GROWTH = 2


@dataclass(frozen=True, slots=True)
class Clustering:
    """The files of a table to cluster.

    Attributes:
        files: All files of the table.
        cubes: Indexes of the files of each new cube.
        clustered: Number and size of the files that are clustered by the same columns, and the ids of their cubes.
    """

    files: DataFiles
    cubes: list[list[int]]
    clustered: tuple[int, int, frozenset[str]]


def cube_tags(strategy: Strategy) -> dict[str, str | None]:
    """Return the tags of the files of a new cube."""
    columns = json.dumps(strategy.names, ensure_ascii=False, separators=(",", ":"))
    return {_ID: str(uuid4()), _COLUMNS: columns}


def to_cluster(files: DataFiles, strategy: Strategy) -> Clustering:
    """Return which files are clustered together: new files, and cubes that are small compared with them.

    Files that were clustered by other columns, or by another provider, are kept unless all files are clustered again.
    """
    sizes = numpy_values(one_chunk(files.logged["size"]))
    providers = files.logged["clustering_provider"].to_pylist()
    records = files.listed["num_records"].to_pylist()
    vectors = files.listed["deletion_vector"].to_pylist()
    cubes: dict[str, list[int]] = {}
    loose: list[int] = []
    every: dict[str, list[int]] = {}
    for number, tags in enumerate(files.logged["tags"].to_pylist()):
        cube, columns = _cube_of(dict(tags or ()))
        ours = cube is not None and columns == strategy.names
        if ours:
            every.setdefault(str(cube), []).append(number)
        if strategy.full:
            loose.append(number)
        elif providers[number] not in (None, CLUSTERING_PROVIDER) or (cube is not None and not ours):
            continue
        elif cube is None or many_deleted(records[number], vectors[number]):
            loose.append(number)
        else:
            cubes.setdefault(cube, []).append(number)
    clustered = sum(map(len, every.values())), sum(int(sizes[each].sum()) for each in every.values()), frozenset(every)
    whole = len(every) == 1 and clustered[0] == len(files)
    if whole and not any(many_deleted(*each) for each in zip(records, vectors, strict=True)):
        return Clustering(files, [], clustered)
    chosen = sorted(_grown(loose, cubes, sizes, strategy))
    return Clustering(files, _divided(chosen, sizes), clustered)


def _grown(loose: list[int], cubes: Mapping[str, list[int]], sizes: Any, strategy: Strategy) -> list[int]:
    """The loose files, and the cubes that are clustered again with them."""
    chosen, total = list(loose), int(sizes[loose].sum()) if loose else 0
    by_size = sorted(cubes.values(), key=lambda numbers: int(sizes[numbers].sum()))
    if not strategy.full and not loose and sum(int(sizes[each].sum()) <= strategy.target_bytes for each in by_size) < 2:
        return []
    for numbers in by_size:
        size = int(sizes[numbers].sum())
        if size >= LARGEST_CUBE or size > max(_GROWTH * total, strategy.target_bytes):
            break
        chosen += numbers
        total += size
    return chosen


def _divided(numbers: list[int], sizes: Any) -> list[list[int]]:
    """The files in cubes of at most the largest size."""
    if not numbers:
        return []
    ends = np.cumsum(sizes[numbers], dtype=np.int64)
    parts = ((ends - 1) // LARGEST_CUBE).tolist()
    found: dict[int, list[int]] = {}
    for number, part in zip(numbers, parts, strict=True):
        found.setdefault(part, []).append(number)
    return list(found.values())


def _cube_of(tags: Mapping[str, Any]) -> tuple[str | None, list[str] | None]:
    """The id and the columns of the cube of a file; None for a file without a cube."""
    cube = tags.get(_ID)
    if not cube:
        return None, None
    try:
        columns = parse_json(tags.get(_COLUMNS) or "")
    except ValueError:
        columns = None
    named = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
    return cube, columns if named else None


def many_deleted(records: int | None, vector: Mapping[str, Any] | None) -> bool:
    """Return whether many rows of a file are deleted, or an unknown share of them."""
    if vector is None:
        return False
    return not records or (vector["cardinality"] or 0) > MOST_DELETED * records
