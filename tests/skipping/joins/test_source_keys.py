"""Files are pruned by the keys of the source: exactly where that is sound."""

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.joins.name_resolution import Names
from deltaskip.skipping.joins.source_keys import KeyValues, MatchTemplate, match_template, scan_of
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.literal_list import integers
from deltaskip.sparkexpr.nodes import Literal
from deltaskip.sparkexpr.types.data_types import INTEGER, STRING
from tests.looped import looped

DDL = (
    "id INT, p STRING, d DOUBLE, ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), c CHAR(3), "
    "st STRUCT<k: INT>"
)
SOURCE = schema_of(
    "id INT, k BIGINT, p STRING, name STRING, d DOUBLE, ts TIMESTAMP, lo INT, hi INT, c STRING, flag BOOLEAN"
)
DAY = 86_400_000_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> DeltaTable:
    """Ten files of ten ids each, in partitions a and b in turn, each on a day of its own."""
    made = DeltaTable.create(tmp_path_factory.mktemp("keys") / "t", DDL, ("p", "day"))
    for number in range(10):
        ids = range(number * 10, number * 10 + 10)
        made.append(
            pa.table(
                {
                    "id": pa.array(ids, pa.int32()),
                    "p": ["ab"[number % 2]] * 10,
                    "d": [float(i) for i in ids],
                    "ts": pa.array([number * DAY + i for i in range(10)], pa.timestamp("us", "UTC")),
                    "c": [str(number)] * 10,
                    "st": [{"k": i} for i in ids],
                }
            )
        )
    return made


def template(
    table: DeltaTable, on: str, target_alias: str | None = "t", source_alias: str | None = "s"
) -> MatchTemplate:
    names = Names(table.snapshot.schema, SOURCE, target_alias, source_alias)
    return match_template(parse_sql(on), table.snapshot, SOURCE, names, "UTC")


def kept(table: DeltaTable, on: str, *values: KeyValues, **aliases: str | None) -> int:
    found = template(table, on, **aliases)
    assert len(found.keys) == len(values)
    return len(scan_of(table.snapshot, found.predicate(values), "UTC").files())


def between(least: Any, greatest: Any, has_null: bool = False, values: Any = None) -> KeyValues:
    return KeyValues(least, greatest, has_null, values)


FIVE = between(5, 5)
NULL = KeyValues(None, None, True)
FEW = tuple(Literal(value, INTEGER) for value in (5, 93))
MANY = integers(pa.array([*range(200, 300), 5, 93], pa.int64()))
SAYS_NOTHING = (
    "t.id = s.p", "t.p = s.k", "t.c = s.c", "id = 5", "t.id != s.id", "NOT (t.id = s.id)", "t.id + s.id = 10",
    "t.ts = s.name", "t.d = s.id", "t.p COLLATE UTF8_LCASE = s.p", "some_udf(t.id) = s.id",
    "CASE WHEN s.flag THEN t.id ELSE 0 END = s.id",
)  # fmt: skip
# The condition, the values of each key, the files that are kept, and other aliases.
KEPT: dict[str, list[tuple[str, list[KeyValues], int, dict[str, str | None]]]] = {
    "a range of keys keeps its files": [
        ("t.id = s.id", [between(15, 32)], 3, {}), ("s.id = t.id", [between(15, 32)], 3, {}),
        ("t.id = s.k", [between(15, 2**40)], 9, {}), ("st.k = s.id", [between(15, 15)], 1, {})],
    "few keys keep only the files that have them": [
        ("t.id = s.id", [between(5, 93, values=FEW)], 2, {}), ("t.id = s.id", [between(5, 299, values=MANY)], 2, {})],
    "keys of partition columns and of their sources prune": [
        ("t.id = s.id AND t.p = s.p", [between(0, 99), between("a", "a")], 5, {}),
        ("t.ts = s.ts", [between(3 * DAY, 3 * DAY + 5)], 1, {}),
        ("CAST(t.ts AS DATE) = CAST(s.ts AS DATE)", [between(3, 4)], 2, {})],
    "null keys never match but by the null-safe comparison": [
        ("t.id = s.id", [NULL], 0, {}), ("t.id <=> s.id", [NULL], 0, {}),
        ("t.id <=> s.id", [between(5, 5, True)], 1, {}), ("t.id = s.id", [between(5, 5, True)], 1, {})],
    "conditions on the target alone prune": [
        ("t.id < 20 AND s.flag", [], 2, {}), ("t.id = s.id AND t.id >= 90", [between(0, 99)], 1, {})],
    "inequalities prune by the extreme that they allow": [
        ("t.id BETWEEN s.lo AND s.hi", [between(40, 70), between(50, 75)], 4, {}),
        ("t.id < s.hi", [between(5, 25)], 3, {}), ("s.hi < t.id", [between(85, 95)], 2, {})],
    "alternatives prune if each does": [
        ("t.id = s.id OR t.d = s.d", [FIVE, between(95.0, 95.0)], 2, {}),
        ("t.id = s.id OR upper(s.name) = 'X'", [FIVE], 10, {})],
    "what Spark may convert or is not understood says nothing": [(on, [], 10, {}) for on in SAYS_NOTHING],
    "names are read as Spark reads them": [
        ("hi = t.id", [FIVE], 1, {}), ("T.ID = S.ID", [FIVE], 1, {}),
        # A qualifier that nobody told of is one that the DataFrame of the source has.
        ("t.id = u.id", [FIVE], 1, {"source_alias": None}),
        # Both sides have the name.
        ("id = s.k", [], 10, {"target_alias": None}),
        # The source may be named like a struct of the target: the name of a side goes before that of a column.
        ("st.k = t.id", [FIVE], 1, {"source_alias": "st"}),
        # What the DataFrame of the source is named is not known.
        ("st.k = t.id", [], 10, {"source_alias": None})],
}  # fmt: skip


@looped("case", KEPT)
def test_files_are_kept_by_the_keys(table: DeltaTable, case: str) -> None:
    found = [kept(table, on, *values, **aliases) for on, values, _, aliases in KEPT[case]]
    assert found == [number for _, _, number, _ in KEPT[case]]


def test_nan_is_beyond_every_bound(table: DeltaTable, tmp_path: Path) -> None:
    assert kept(table, "t.d = s.d", between(85.0, 85.0)) == 1
    # Files written here say whether they have NaN.
    assert kept(table, "t.d = s.d", between(85.0, math.nan)) == 2
    assert kept(table, "t.d = s.d", between(math.nan, math.nan)) == 10
    other = DeltaTable.create(tmp_path / "t", DDL, ("p", "day"))
    for values in ([1.0, math.nan], [2.0], [90.0, None]):
        other.append(pa.table({"d": pa.array(values, pa.float64())}))
    assert kept(other, "t.d = s.d", between(85.0, math.nan)) == 2
    assert kept(other, "t.d = s.d", between(math.nan, math.nan)) == 3


def test_every_matching_file_is_kept(table: DeltaTable) -> None:
    chosen = random.Random(7)
    for _ in range(200):
        keys = [chosen.choice([None, chosen.randrange(-20, 120)]) for _ in range(chosen.randrange(1, 6))]
        known = [key for key in keys if key is not None]
        values = KeyValues(
            min(known, default=None),
            max(known, default=None),
            None in keys,
            tuple(Literal(key, INTEGER) for key in sorted(set(known))) if chosen.random() < 0.5 and known else None,
        )
        found = template(table, "t.id = s.id AND t.p = s.p")
        letters = KeyValues("a", "b", False, (Literal("a", STRING), Literal("b", STRING)))
        paths = set(scan_of(table.snapshot, found.predicate([values, letters]), "UTC").paths())
        for key in known:
            assert set(table.scan(f"id = {key}").paths()) <= paths
