"""Rules for the statistics of added files.

# PROTOCOL, Per-file Statistics, Column Invariants, Clustered Table; COLLATIONS RFC, Writer Requirements
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from deltaskip.actions import AddFile
from deltaskip.errors import InvalidCollation
from deltaskip.features.clustering import EXPRESSIONS
from deltaskip.features.registry import feature_names
from deltaskip.features.violation import Violation
from deltaskip.json_text import member_at
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import CollationId
from deltaskip.sparkexpr.values import JSON_FLOATS, exactly
from deltaskip.sparkexpr.values.calendar import parse_date, read_timestamp
from deltaskip.stats.layout import EXPRESSION_STATS
from deltaskip.stats.stats_columns import indexed_columns
from deltaskip.txn.intent import dv_id
from deltaskip.txn.validation.commit_facts import CommitFacts
from deltaskip.txn.validation.domains import listed_collations

_GROUPS = ("nullCount", "minValues", "maxValues")
_COLLATED = "statsWithCollation"

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatisticsRules:
    """The rules for the statistics of a commit's files, by physical paths of columns.

    types: of every leaf. orders: how to compare the bounds of each leaf that has an order. not_null: leaves that are
    never null; counted: those of them for which the table's properties require statistics. clustering: the
    clustering columns.
    """

    facts: CommitFacts
    types: Mapping[_Path, t.DataType]
    orders: tuple[tuple[_Path, Callable[[Any], Any]], ...]
    not_null: tuple[_Path, ...]
    counted: frozenset[_Path]
    clustering: tuple[_Path, ...]
    collations: frozenset[CollationId]

    @classmethod
    def of(cls, facts: CommitFacts) -> StatisticsRules:
        """The rules of the table as it is after the commit."""
        if not facts.intent.adds:
            return cls(facts, {}, (), (), frozenset(), (), frozenset())
        schema = facts.physical_schema
        by_name = dict(zip(facts.schema.names, schema.names, strict=True))
        partitions = {(by_name[name],) for name in facts.metadata.partition_columns if name in by_name}
        leaves = [leaf for leaf in _leaves(schema, (), True) if leaf[0] not in partitions]
        types = {path: type_ for path, type_, _ in leaves}
        required = tuple(path for path, type_, never_null in leaves if never_null and _has_null_count(type_))
        orders = tuple((path, order) for path, type_ in types.items() if (order := _order(type_)) is not None)
        counted = _indexed(facts) if required else frozenset()
        return cls(facts, types, orders, required, counted, facts.clustering, listed_collations(facts))


def statistics_violations(
    rules: StatisticsRules, key: str, add: AddFile, stats: Mapping[str, Any]
) -> Iterator[Violation]:
    """Statistics that contradict themselves or the table's rules for new files.

    A file that is added again with another deletion vector keeps the bounds that its writer computed, which are not
    checked again.
    """
    old = rules.facts.known.get(key)
    check = _StatisticsCheck(rules, key, add, rules.facts.rows(key))
    yield from check.counts(stats)
    if old is None or old.dv_id == dv_id(add):
        yield from check.bounds(stats, "minValues", "maxValues")
        yield from check.collated(stats)
    if old is None:
        yield from check.clustering(stats)
    else:
        yield from check.expressions(stats)
    if add.data_change and (old is None or old.dv_id == dv_id(add)):
        yield from check.not_null(stats)


@dataclass(frozen=True, slots=True)
class _StatisticsCheck:
    rules: StatisticsRules
    key: str
    add: AddFile
    rows: int | None

    def counts(self, stats: Mapping[str, Any]) -> Iterator[Violation]:
        rows = stats.get("numRecords")
        if rows is not None and self.rows is None:
            yield self.violation("statistics.counts", f"numRecords of its statistics is {rows!r}, not a count of rows")
        for group in _GROUPS:
            if not isinstance(stats.get(group, {}), dict | None):
                yield self.violation("statistics.json", f"{group} of its statistics is not a JSON object")
        if not isinstance(stats.get("tightBounds"), bool | None):
            yield self.violation("statistics.json", "tightBounds of its statistics is not true or false")
        for path, count in _values(stats.get("nullCount")):
            if count is None or (type(count) is int and 0 <= count <= (rows or 0)):
                continue
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                why = f"the null count of {'.'.join(path)} is {count!r}, not a count of rows"
                yield self.violation("statistics.counts", why)
            if rows is not None and count > rows:
                yield self.violation(
                    "statistics.counts", f"the null count of {'.'.join(path)} is {count} for {rows} rows"
                )

    def bounds(self, stats: Mapping[str, Any], low: str, high: str) -> Iterator[Violation]:
        lows, highs = stats.get(low), stats.get(high)
        for path, order in self.rules.orders:
            values = member_at(lows, path), member_at(highs, path)
            if values == (None, None):
                continue
            keys: list[Any] = []
            for value in values:
                try:
                    keys.append(None if value is None else order(value))
                except (ValueError, TypeError, InvalidOperation, OverflowError):
                    why = f"the bound {value!r} of {'.'.join(path)} is not a value of its type"
                    yield self.violation("statistics.json", why)
                    return
            if None not in keys and keys[0] > keys[1]:
                what = f"the minimum {values[0]!r} of {'.'.join(path)} is above its maximum {values[1]!r}"
                yield self.violation("statistics.bounds", f"{what}; correct the statistics or leave them out")

    def collated(self, stats: Mapping[str, Any]) -> Iterator[Violation]:
        collated = stats.get(_COLLATED)
        if not collated:
            return
        rule, facts = "statistics.collations", self.rules.facts
        if not isinstance(collated, dict):
            yield self.violation("statistics.json", f"{_COLLATED} of its statistics is not a JSON object")
            return
        if facts.features.isdisjoint(feature_names("collations")):
            why = "its collated statistics need the table feature collations; set a protocol that lists it"
            yield self.violation("protocol.unlisted", why)
        for name in collated:
            unlisted = self._unlisted(name)
            if unlisted is not None:
                # Bounds that the file already has are kept, such as bounds of a retired version.
                had = (facts.stats_before(self.key) or {}).get(_COLLATED)
                if not isinstance(had, dict) or name not in had:
                    yield self.violation(rule, unlisted)

    def _unlisted(self, name: str) -> str | None:
        """Why bounds under the collation must not be added; None if they may be."""
        try:
            identifier = CollationId.parse(name)
        except InvalidCollation as error:
            return f"{_COLLATED} of its statistics is malformed: {error}"
        if identifier.version is None:
            return f"its bounds under {name} have no version; add the version of the library"
        if identifier.canonical in self.rules.collations:
            return None
        why = f"its bounds under {name} are of a version that the metadata domain collations does not list"
        return f"{why}; set the domain in the same transaction"

    def clustering(self, stats: Mapping[str, Any]) -> Iterator[Violation]:
        rows = self.rows
        for path in self.rules.clustering if rows != 0 else ():
            nulls = member_at(stats.get("nullCount"), path)
            lacks = nulls is None or (
                nulls != rows and None in (member_at(stats.get(group), path) for group in _GROUPS[1:])
            )
            type_ = self.rules.types.get(path)
            if rows is None or (lacks and type_ is not None and _order(type_) is not None):
                why = f"a file of a clustered table needs statistics of the clustering column {'.'.join(path)}"
                yield self.violation("statistics.clustering", f"{why}; deltaskip.stats.compute computes them")

    def expressions(self, stats: Mapping[str, Any]) -> Iterator[Violation]:
        """Bounds of clustering expressions that the file had and must keep."""
        if EXPRESSIONS not in self.rules.facts.features:
            return
        had = (self.rules.facts.stats_before(self.key) or {}).get(EXPRESSION_STATS)
        has = stats.get(EXPRESSION_STATS)
        lost = set(had if isinstance(had, dict) else ()) - set(has if isinstance(has, dict) else ())
        if lost:
            why = f"its statistics lose the bounds {', '.join(sorted(lost))} of clustering expressions; keep them"
            yield self.violation("statistics.clustering", why)

    def not_null(self, stats: Mapping[str, Any]) -> Iterator[Violation]:
        if self.rows == 0 or self.add.deletion_vector is not None:
            return
        for path in self.rules.not_null:
            count = member_at(stats.get("nullCount"), path)
            if count is None and path in self.rules.counted:
                why = f"{'.'.join(path)} is NOT NULL, but the statistics have no null count that shows it"
                yield self.violation("statistics.not-null", f"{why}; deltaskip.stats.compute computes it")
            if count:
                why = f"{'.'.join(path)} is NOT NULL, but the statistics have a null count of {count}"
                yield self.violation("statistics.not-null", why)

    def violation(self, rule: str, why: str) -> Violation:
        return self.rules.facts.of_file(self.add, rule, why)


def _leaves(struct: t.StructType, above: _Path, never_null: bool) -> Iterator[tuple[_Path, t.DataType, bool]]:
    """Physical path and type of each leaf, and whether neither it nor a struct around it can be null."""
    for field in struct.fields:
        path, required = (*above, field.name), never_null and not field.nullable
        if isinstance(field.type, t.StructType):
            yield from _leaves(field.type, path, required)
        else:
            yield path, field.type, required


def _indexed(facts: CommitFacts) -> frozenset[_Path]:
    """Physical paths of the columns that have statistics by the table's properties."""
    columns = indexed_columns(
        facts.schema,
        partition_columns=facts.metadata.partition_columns,
        mapping_mode=facts.mode,
        properties=facts.metadata.configuration,
    )
    return frozenset(column.physical for column in columns)


def _order(type_: t.DataType) -> Callable[[Any], Any] | None:
    """A function that makes bounds of the type comparable, and raises for other values; None without an order."""
    return _decimal if isinstance(type_, t.DecimalType) else _ORDERS.get(type_)


def _has_null_count(type_: t.DataType) -> bool:
    """Whether every writer of statistics counts nulls of the type."""
    return isinstance(type_, t.PrimitiveType | t.DecimalType) and type_ not in (t.VARIANT, t.VOID)


def _values(tree: Any, above: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """The leaves of an object, and their paths."""
    for name, value in tree.items() if isinstance(tree, dict) else ():
        if isinstance(value, dict):
            yield from _values(value, (*above, name))
        else:
            yield (*above, name), value


def _number(value: Any) -> float | int:
    if type(value) is not int and type(value) is not float:
        raise ValueError(value)
    return value


def _floating(value: Any) -> float | int | None:
    number = JSON_FLOATS[value] if isinstance(value, str) and value in JSON_FLOATS else _number(value)
    return None if math.isnan(number) else number


def _decimal(value: Any) -> Decimal | float | int:
    return exactly(value) if isinstance(value, str) else _number(value)


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise ValueError(value)
    return value.encode("utf-8", "surrogatepass")


def _date(value: Any) -> int | None:
    if not isinstance(value, str):
        raise ValueError(value)
    days = parse_date(value)
    if days is None:
        raise ValueError(value)
    return days


def _timestamp(value: Any) -> int | None:
    """Microseconds of the local time; None if a zone makes it incomparable with other strings."""
    if not isinstance(value, str):
        raise ValueError(value)
    parsed = read_timestamp(value)
    if parsed is None:
        raise ValueError(value)
    return parsed.local_micros if parsed.zone in (None, "Z", "UTC") else None


_ORDERS: Mapping[t.DataType, Callable[[Any], Any]] = {
    **dict.fromkeys(t.INTEGRAL_BITS, _number),
    **dict.fromkeys(t.FLOATING, _floating),
    **dict.fromkeys((t.TIMESTAMP, t.TIMESTAMP_NTZ), _timestamp),
    t.DATE: _date,
    t.STRING: _text,
}
