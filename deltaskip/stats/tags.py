"""Tags of add actions with facts about NaN that their statistics lack.

Other writers may leave NaN out of the maximum (docs/pages/soundness.md, trap 1), and the commit that names a file's
writer is deleted eventually. Tags stay with the file in every checkpoint.

* `deltaskip.stats` is written by deltaskip, for new files and with recomputed statistics: the float columns without a
  NaN in the file, as far as its values were looked at. That is a fact about the file, whose values never change, and
  stays true if another writer replaces the statistics and keeps the tag.
* Tags of Databricks and of delta-spark's OPTIMIZE name the job that wrote the file together with its statistics, and
  these writers record NaN. Other tags prove nothing: several engines set VORDER or ICEBERG_COMPAT_VERSION, for example.

# PROTOCOL, Add File: tags, "Map containing metadata about this logical file"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.json_text import compact_json, member_at, parse_json
from deltaskip.sparkexpr.types import FLOATING
from deltaskip.sparkexpr.values.arrow_values import FALSE, arrow_array, is_true
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.version import engine_info

STATS_TAG = "deltaskip.stats"

_WITHOUT_NAN = "withoutNaN"
_ENGINE = "engine"
_Path = tuple[str, ...]

_SPARK_JOBS = (("ZCUBE_ID",), ("INSERTION_TIME", "OPTIMIZE_TARGET_SIZE"))
"""Sets of tags: only a job that wrote the file and collected its statistics sets all tags of a set."""

_MOST_VALUES = 10_000
"""The most distinct values of the tag that are parsed. If there are more, which no table needs, all count as absent."""


def stats_tags(
    stats: str, columns: Iterable[StatColumn], before: Mapping[str, str | None] | None = None
) -> dict[str, str | None]:
    """Return the tags of a file whose statistics of `columns` were computed from its values.

    Args:
        stats: The computed statistics.
        columns: Columns that were computed. The tag lists the float columns whose maximum exists and is not NaN, and
            columns that are null in every row.
        before: Tags of the file so far. Other tags are kept, and so are columns that were computed before.
    """
    tags = dict(before or {})
    known = _without_nan(tags.get(STATS_TAG))
    found = _computed_without_nan(stats, columns, known or frozenset())
    if known is None or found != known:
        tags[STATS_TAG] = _tag(found)
    return tags


def written_tags(stats: str | None, columns: Iterable[StatColumn]) -> dict[str, str | None] | None:
    """Return the tags of a new file whose statistics of `columns` were computed from its values.

    None if there is nothing to say: no float column is free of NaN.
    """
    found = None if stats is None else _computed_without_nan(stats, columns)
    return {STATS_TAG: _tag(found)} if found else None


def nan_absent(values_of: Callable[[str], pa.Array], path: _Path) -> pa.BooleanArray:
    """Return for each file whether its tag lists the column as one without NaN.

    Args:
        values_of: Returns the value of a tag in each file, null for files without it.
        path: Physical names of the column.
    """
    texts = values_of(STATS_TAG)
    unknown = pa.repeat(FALSE, len(texts))
    if texts.null_count == len(texts):
        return unknown
    coded = texts.cast(pa.binary()).dictionary_encode()
    if len(coded.dictionary) > _MOST_VALUES:
        return unknown
    listed = [path in (_without_nan(text) or ()) for text in coded.dictionary.to_pylist()]
    return is_true(arrow_array(listed, pa.bool_()).take(coded.indices))


def records_nan(values_of: Callable[[str], pa.Array]) -> pa.BooleanArray:
    """Return for each file whether its tags prove that its statistics come from a writer that records NaN.

    Args:
        values_of: Returns the value of a tag in each file, null for files without it.
    """
    return reduce(pc.or_, (reduce(pc.and_, (values_of(name).is_valid() for name in names)) for names in _SPARK_JOBS))


def _computed_without_nan(
    stats: str, columns: Iterable[StatColumn], known: frozenset[_Path] = frozenset()
) -> frozenset[_Path]:
    """The float columns without NaN: from `columns` by their computed statistics, and other known ones."""
    floats = [column.physical for column in columns if column.type in FLOATING]
    if not floats:
        return known
    computed = parse_json(stats)
    return known.difference(floats).union(path for path in floats if _lacks_nan(computed, path))


@lru_cache
def _tag(without_nan: frozenset[_Path]) -> str:
    value = {_ENGINE: engine_info(), _WITHOUT_NAN: sorted(map(list, without_nan))}
    return compact_json(value)


def _without_nan(text: str | bytes | None) -> frozenset[_Path] | None:
    """The columns that a tag lists; None if it is missing or deltaskip did not write it."""
    try:
        value = parse_json(text) if text else None
    except ValueError:
        return None
    listed = value.get(_WITHOUT_NAN) if isinstance(value, dict) else None
    if not isinstance(listed, list) or not all(isinstance(path, list) for path in listed):
        return None
    if not all(isinstance(name, str) for path in listed for name in path):
        return None
    return frozenset(map(tuple, listed))


def _lacks_nan(stats: Mapping[str, Any], path: _Path) -> bool:
    """Whether computed statistics prove that no value of the float column is NaN: they record it as the maximum."""
    nulls = member_at(stats.get("nullCount"), path)
    if nulls is not None and nulls == stats.get("numRecords"):
        return True
    high = member_at(stats.get("maxValues"), path)
    return high is not None and high != "NaN"
