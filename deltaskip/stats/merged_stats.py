"""Changes of a file's statistics: merging computed statistics, widening, and the check that they are complete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from deltaskip.json_text import member_at, parse_json
from deltaskip.sparkexpr.collations import CollationId
from deltaskip.sparkexpr.types import FLOATING
from deltaskip.stats.file_facts import StatisticsRequest
from deltaskip.stats.layout import COLLATED, EXPRESSION_STATS
from deltaskip.stats.tight_bounds import TIGHT_BOUNDS, is_wide
from deltaskip.stats.written_bounds import json_string

_GROUPS = ("minValues", "maxValues", "nullCount")


class _Number(str):
    """A JSON number as written, with all its digits."""


def merged_stats(old: str | None, new: str, request: StatisticsRequest) -> str:
    """Replace the statistics of the request's columns in `old` by those in `new`, and keep other columns.

    If the kept statistics are wide, the result is wide: its bounds are still bounds, and null counts of 0 and of all
    rows keep their meaning (PROTOCOL, Per-file Statistics). Collated bounds of other identifiers are kept. If `old` is
    not a JSON object, the result is `new`.
    """
    before = _parsed(old)
    if not before:
        return new
    found = _parsed(new)
    paths = [column.physical for column in request.columns]
    kept = {group: _without(before.get(group), paths) for group in _GROUPS}
    tight = found.pop(TIGHT_BOUNDS, None)
    if any(map(_has_leaf, kept.values())) and is_wide(before):
        tight = False
    merged = {**found, **{group: _over(kept[group], found.get(group)) for group in _GROUPS}}
    collated = _over(_without_replaced(before.get(COLLATED), request), found.get(COLLATED))
    merged = {key: value for key, value in merged.items() if value or key not in _GROUPS}
    merged.pop(COLLATED, None)
    if tight is not None:
        merged[TIGHT_BOUNDS] = tight
    if collated:
        merged[COLLATED] = collated
    return _text(merged)


def with_expression_stats(new: str, old: str | None, computed: Mapping[str, str]) -> str:
    """Return statistics with the bounds of expressions.

    Args:
        new: The statistics of the file.
        old: Its statistics as logged, whose bounds of other expressions are kept.
        computed: The bounds of each signature, as JSON.
    """
    kept = _as_object(_parsed(old).get(EXPRESSION_STATS))
    members = {name: _text(bounds) for name, bounds in kept.items()} | dict(computed)
    inner = ",".join(f"{json_string(name)}:{text}" for name, text in members.items())
    return f'{new[:-1]},"{EXPRESSION_STATS}":{{{inner}}}}}' if members else new


def lacks_expressions(text: str | None, signatures: Iterable[str]) -> bool:
    """Whether a file's statistics have no bounds under some of the signatures of expressions."""
    wanted = set(signatures)
    return bool(wanted) and not wanted <= _as_object(_parsed(text).get(EXPRESSION_STATS)).keys()


def widened_stats(text: str | None, num_records: int, deleted: int) -> str:
    """Return the statistics of a file whose deletion vector is about to grow: bounds of all its rows, in the wide form.

    Bounds stay as they are. Null counts are kept if they say that no row or every row is null.
    # PROTOCOL, Per-file Statistics, tightBounds

    Args:
        text: The statistics as logged.
        num_records: Number of rows in the file, including deleted rows.
        deleted: Number of rows that are already deleted.
    """
    stats = _parsed(text)
    every = num_records if is_wide(stats) else num_records - deleted
    counts = _wide_counts(stats.get("nullCount"), every, _Number(num_records))
    stats = {**stats, "numRecords": _Number(num_records), "nullCount": counts, TIGHT_BOUNDS: False}
    if not counts:
        del stats["nullCount"]
    return _text(stats)


def has_statistics(text: str | None, request: StatisticsRequest) -> bool:
    """Whether a file's statistics contain everything in the request.

    That is a row count, null counts, and the bounds of every column that is not null in all rows.
    """
    stats = _parsed(text)
    return _has_count(stats) and not any(True for _ in _lacking(stats, request))


def lacking_columns(text: str | None, request: StatisticsRequest) -> tuple[list[int], bool]:
    """(positions of the request's columns whose statistics lack something, whether the present bounds are wide)."""
    stats = _parsed(text)
    if not _has_count(stats):
        return list(range(len(request.columns))), False
    return list(_lacking(stats, request)), is_wide(stats)


def _wide_counts(tree: Any, every: int, num_records: _Number) -> dict[str, Any]:
    """The null counts of 0 and of `every` row; the latter become the count of all rows."""
    found: dict[str, Any] = {}
    for name, value in _as_object(tree).items():
        if isinstance(value, dict):
            found[name] = _wide_counts(value, every, num_records)
        elif value == "0":
            found[name] = value
        elif value == str(every):
            found[name] = num_records
    return found


def _has_count(stats: Mapping[str, Any]) -> bool:
    return isinstance(stats.get("numRecords"), _Number)


def _lacking(stats: Mapping[str, Any], request: StatisticsRequest) -> Iterator[int]:
    collated = _as_object(stats.get(COLLATED))
    for i, (column, identifiers) in enumerate(zip(request.columns, request.collations, strict=True)):
        nulls = member_at(stats.get("nullCount"), column.physical)
        if nulls is not None and nulls == stats["numRecords"]:
            continue
        holders: list[Sequence[Mapping[str, Any]]] = [[stats]] if column.bounded else []
        if column.type in FLOATING and _excludes_a_zero(stats, column.physical):
            yield i
            continue
        holders += [_spelled(collated, [identifier]) for identifier in identifiers]
        if nulls is None or not all(any(_has_bounds(one, column.physical) for one in spelled) for spelled in holders):
            yield i


def _excludes_a_zero(stats: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Whether a bound is a zero that readers who order -0.0 below 0.0 take for a bound of that zero alone."""
    low, high = (member_at(stats.get(group), path) for group in _GROUPS[:2])
    return low in ("0.0", "0") or high in ("-0.0", "-0")


def _has_bounds(holder: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    return all(member_at(holder.get(group), path) is not None for group in _GROUPS[:2])


def _parsed(text: str | None) -> dict[str, Any]:
    try:
        value = parse_json(text, parse_float=_Number, parse_int=_Number) if text else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _without(tree: Any, paths: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    left = _as_object(tree)
    for path in paths:
        holder = member_at(left, path[:-1])
        if isinstance(holder, dict):
            holder.pop(path[-1], None)
    return left


def _without_replaced(collated: Any, request: StatisticsRequest) -> dict[str, Any]:
    """The collated bounds without those that the request computes, however their identifiers are spelled."""
    left = _as_object(collated)
    for column, identifiers in zip(request.columns, request.collations, strict=True):
        for holder in _spelled(left, identifiers):
            for group in _GROUPS[:2]:
                holder[group] = _without(holder.get(group), [column.physical])
    bounds = {name: _as_object(holder) for name, holder in left.items()}
    return {name: holder for name, holder in bounds.items() if any(map(_has_leaf, holder.values()))}


def _spelled(collated: Mapping[str, Any], identifiers: Iterable[str]) -> list[dict[str, Any]]:
    """The bounds under some identifiers, in any spelling of them."""
    wanted = {CollationId.parse(identifier).canonical for identifier in identifiers}
    return [
        bounds
        for name, bounds in collated.items()
        if isinstance(bounds, dict) and (found := CollationId.parsed(name)) is not None and found.canonical in wanted
    ]


def _has_leaf(tree: Any) -> bool:
    return any(map(_has_leaf, tree.values())) if isinstance(tree, dict) else True


def _over(under: dict[str, Any], over: Any) -> dict[str, Any]:
    """Merge both trees; `over` replaces equal keys."""
    merged = dict(under)
    for name, value in _as_object(over).items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _over(merged[name], value) if both else value
    return merged


def _text(value: Any) -> str:
    match value:
        case _Number():
            return str(value)
        case str():
            return json_string(value)
        case Mapping():
            return "{" + ",".join(f"{json_string(name)}:{_text(each)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_text, value)) + "]"
        case _:
            return json.dumps(value)
