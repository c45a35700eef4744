"""Recommendations of `DeltaTable.stats()`. `stats/stats_columns.py` decides which columns have statistics."""

from pathlib import Path

import deltaskip as ds
from deltaskip.sparkexpr.types.data_types import LONG, ArrayType, DataType, StructField, StructType
from deltaskip.stats.stats_columns import indexed_columns
from tests.builder import TableBuilder, add
from tests.looped import looped

STATS_COLUMNS = "delta.dataSkippingStatsColumns"
INDEXED_COLUMNS = "delta.dataSkippingNumIndexedCols"


def column(name: str, type_: DataType = LONG) -> StructType:
    """The schema of a column p, which the tests' properties do not name, and another."""
    return StructType((StructField("p", LONG), StructField(name, type_)))


@looped(
    "schema, properties, collected",
    [
        (column("z"), {STATS_COLUMNS: "`z`"}, True),
        (column("z"), {STATS_COLUMNS: "a, Z"}, True),
        (column("z"), {STATS_COLUMNS: "a, b"}, False),
        (column("a.b"), {STATS_COLUMNS: "`a.b`"}, True),
        (column("a.b"), {STATS_COLUMNS: "a.b"}, False),
        (column("a,b"), {STATS_COLUMNS: "`a,b`"}, True),
        (column("a`b"), {STATS_COLUMNS: "`a``b`"}, True),
        (column("a b"), {STATS_COLUMNS: " `a b` "}, True),
        (column("s", StructType((StructField("x y", LONG),))), {STATS_COLUMNS: "s"}, True),
        (column("s", StructType((StructField("x y", LONG),))), {STATS_COLUMNS: "s.`x y`"}, True),
        (column("z"), {STATS_COLUMNS: "a b"}, False),
        (column("z"), {INDEXED_COLUMNS: "1"}, False),
        (column("z"), {INDEXED_COLUMNS: "2"}, True),
        (column("z"), {INDEXED_COLUMNS: "-1"}, True),
        (column("z"), {}, True),
        # An array is a leaf that counts.
        (StructType((StructField("p", ArrayType(LONG, True)), StructField("z", LONG))), {INDEXED_COLUMNS: "1"}, False),
    ],
)
def test_a_column_without_statistics_is_declared_only_if_writers_do_not_collect_them(
    tmp_path: Path, schema: StructType, properties: dict[str, str], collected: bool
) -> None:
    TableBuilder(tmp_path / "t", schema, properties=properties).commit(add("a", {"numRecords": 1}))
    table = ds.DeltaTable(tmp_path / "t")
    last = table.stats().columns[-1].name
    [action] = [advice.action for advice in table.stats().advice if advice.column == last]
    assert action == ("recompute" if collected else "declare")
    if properties.get(STATS_COLUMNS) != "a b":
        found = indexed_columns(table.schema, properties=properties)
        assert (schema.fields[1].name in {each.logical[0] for each in found}) == collected


def test_properties_that_cannot_be_read_do_not_break_the_report(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"z": LONG}, properties={INDEXED_COLUMNS: "many"}).commit(add("a", {"numRecords": 1}))
    [advice] = ds.DeltaTable(tmp_path / "t").stats().advice
    assert advice.action == "declare"
