"""Ids and physical names of mapped columns, and table properties, that no commit may set."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from deltaskip.schema.properties import TableProperties, TableProperty
from deltaskip.sparkexpr.types import ArrayType, StructField, StructType
from tests.looped import looped
from tests.txn.tables import append, file, make_table
from tests.txn.validation.cases import Case, changed, check, check_each, column, mapped, stats

HIGHEST = "delta.columnMapping.maxColumnId"
MODE = "delta.columnMapping.mode"
NAME: dict[str, Any] = {"properties": {MODE: "name", HIGHEST: "2"}, "features": ["columnMapping"]}


def only(*fields: StructField) -> StructType:
    """A schema of these columns."""
    return StructType(fields)


OLD: dict[str, Any] = {**NAME, "schema": only(mapped("id", 1), mapped("b", 2)), "files": [file("a", stats=stats())]}
TWO = (mapped("id", 1), mapped("b", 2))


def to(*fields: StructField, highest: str = "3", **properties: str) -> Any:
    """Set these columns and the highest id."""
    return changed(only(*fields), properties={HIGHEST: highest, **properties})


MAPPING = {
    "new column": Case(to(*TWO, mapped("c", 3)), **OLD),
    "renamed": Case(to(mapped("id", 1), mapped("B2", 2, "col-b")), **OLD),
    "swapped names": Case(to(mapped("b", 1, "col-id"), mapped("id", 2, "col-b")), **OLD),
    "dropped": Case(to(mapped("id", 1)), **OLD),
    "dropped and added anew": Case(to(mapped("id", 1), mapped("b", 3, "col-new")), **OLD),
    "no id": Case(to(*TWO, column("c", delta__columnMapping__physicalName="col-c")), "mapping.ids", "no column id",
        **OLD),
    "no physical name": Case(to(*TWO, column("c", delta__columnMapping__id=3)), "mapping.ids", "physicalName", **OLD),
    "empty physical name": Case(to(*TWO, column("c", delta__columnMapping__id=3,
        delta__columnMapping__physicalName="")), "mapping.ids", **OLD),
    "id of text": Case(to(*TWO, mapped("c", "3")), "mapping.ids", **OLD),
    "id 0": Case(to(*TWO, mapped("c", 0)), "mapping.ids", "32-bit", **OLD),
    "id of 64 bits": Case(to(*TWO, mapped("c", 1 << 31), highest=str(1 << 31)), "mapping.ids", "32-bit", **OLD),
    "no id in a struct": Case(to(*TWO, mapped("c", 3, None, only(column("x")))), "mapping.ids", **OLD),
    "no id in an array": Case(to(*TWO, mapped("c", 3, None, ArrayType(only(column("x"))))), "mapping.ids", **OLD),
    "one id twice": Case(to(*TWO, mapped("c", 2)), "mapping.ids", "id 2 twice", **OLD),
    "one id twice, nested": Case(to(*TWO, mapped("c", 3, None, only(mapped("x", 3)))), "mapping.ids", "id 3 twice",
        **OLD),
    "one physical name twice": Case(to(*TWO, mapped("c", 3, "col-b")), "mapping.ids", "col-b twice", **OLD),
    "one physical name twice by letter case": Case(to(*TWO, mapped("c", 3, "COL-B")), "mapping.ids", **OLD),
    "another physical name": Case(to(mapped("id", 1), mapped("b", 2, "col-x")), "mapping.ids", "keep it", **OLD),
    "another id": Case(to(mapped("id", 1), mapped("b", 3)), "mapping.ids", "from 2 to 3", **OLD),
    "highest id below the highest": Case(to(*TWO, mapped("c", 3), highest="2"), "mapping.highest-id", **OLD),
    "highest id lowered": Case(to(mapped("id", 1), highest="1"), "mapping.highest-id", "previous value, 2", **OLD),
    "highest id removed": Case(changed(only(*TWO), without=[HIGHEST]), "mapping.highest-id", **OLD),
    "highest id of text": Case(to(*TWO, highest="many"), "properties.values", **OLD),
    "id of a dropped column": Case(to(mapped("id", 1), mapped("c", 2, "col-c")), "mapping.reuse", "id 2",
        before=to(mapped("id", 1), highest="2"), **OLD),
    "physical name of a dropped column": Case(to(mapped("id", 1), mapped("c", 3, "col-b")), "mapping.reuse", "col-b",
        before=to(mapped("id", 1), highest="2"), **OLD),
    "physical name in the statistics of a file": Case(to(*TWO, mapped("c", 3, "gone")), "mapping.reuse", "gone",
        **{**OLD, "files": [file("a", stats=stats(nullCount={"id": 0, "gone": 3}))]}),
    "mode by id": Case(changed(properties={MODE: "id"}), "schema.existing-files", "mapping mode", **OLD),
    "mode none": Case(changed(properties={MODE: "none"}), "schema.existing-files", **OLD),
    "another mode": Case(changed(properties={MODE: "both"}), "properties.values", **OLD),
    "mode by name": Case(changed(only(mapped("id", 1, "id"), mapped("b", 2, "b")), properties=NAME["properties"]),
        features=["columnMapping"], schema=only(column("id"), column("b")), files=[file("a")]),
    "mode by name with other names": Case(changed(only(mapped("id", 1), mapped("b", 2, "b")),
        properties=NAME["properties"]), "schema.existing-files", "physical name", features=["columnMapping"],
        schema=only(column("id"), column("b")), files=[file("a")]),
    "mode by name with new columns": Case(changed(only(mapped("id", 1, "id"), mapped("b", 2)),
        properties=NAME["properties"]), features=["columnMapping"], schema=only(column("id")), files=[file("a")]),
    "mode by id with files": Case(changed(only(mapped("id", 1, "id")), properties={MODE: "id", HIGHEST: "1"}),
        "schema.existing-files", features=["columnMapping"], schema=only(column("id")), files=[file("a")]),
    "odd names": Case(to(*TWO, mapped("a b,;=", 3, "col-odd")), **OLD),
    "partition column renamed": Case(changed(only(mapped("id", 1), mapped("p", 2, "col-b")), ["p"],
        properties={HIGHEST: "2"}), **NAME, schema=only(*TWO), partition_by=["b"],
        files=[file("a", partition_values={"col-b": "1"}, stats=stats())]),
    "partition column dropped": Case(changed(only(mapped("id", 1)), properties={HIGHEST: "2"}), "metadata.partitioning",
        **NAME, schema=only(*TWO), partition_by=["b"]),
}  # fmt: skip


def test_mapped_columns_keep_what_files_know_them_by(tmp_path: Path) -> None:
    check_each(MAPPING, tmp_path)


def test_names_of_columns_that_were_dropped_long_ago_are_found_in_the_log(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", NAME["properties"], NAME["features"], only(*TWO))
    for act in (to(mapped("id", 1), highest="2"), changed(properties={"x": "y"}), changed(properties={"x": "z"})):
        txn = table.refresh().transaction()
        act(txn)
        txn.commit()
    append(table, file("a", stats=stats()))
    table.refresh().checkpoint()
    refused = Case(to(mapped("id", 1), mapped("c", 3, "col-b")), "mapping.reuse")
    txn = table.transaction()
    refused.act(txn)
    with pytest.raises(ValueError, match=r"col-b, which a dropped column had.*\(rule mapping\.reuse\)"):
        txn.commit()


TYPED = {each.name: each for each in vars(TableProperties).values() if isinstance(each, TableProperty)}
# Any text, and texts with tests of their own.
FREE = {
    name
    for name, each in TYPED.items()
    if (each.default is None and ("Name" in name or name.endswith("-preview"))) or name.endswith("Columns")
}


@looped(
    "name, text",
    itertools.product(
        sorted(set(TYPED) - FREE), ["", "junk", "true ", "interval 1 month", "-7", "99999999999999999999"]
    ),
)
def test_every_property_is_parsed_as_delta_spark_would(tmp_path: Path, name: str, text: str) -> None:
    if name == "delta.dataSkippingNumIndexedCols" and text == "-7":
        text = "-"
    check(Case(changed(properties={name: text}), "properties.values", name), tmp_path)


PROPERTIES = {
    "a folder of any length": Case(changed(properties={"delta.randomPrefixLength": "10000000"}), "properties.values",
        "an integer from 1 to 255"),
    "a folder of the greatest length": Case(changed(properties={"delta.randomPrefixLength": "255"})),
    "another prefix": Case(changed(properties={"x.y": "z", "deltax": "1", "pipelines.autoOptimize": "junk"})),
    "unknown": Case(changed(properties={"delta.appendonly": "true"}), "properties.unknown", "delta.appendonly"),
    "unknown, any case": Case(changed(properties={"DELTA.appendOnly": "true"}), "properties.unknown"),
    "a feature": Case(changed(properties={"delta.feature.appendOnly": "supported"}), "properties.unknown", "protocol"),
    "a version": Case(changed(properties={"delta.minReaderVersion": "2"}), "properties.unknown", "protocol"),
    "unknown, but there already": Case(changed(properties={"x": "y"}), properties={"delta.odd": "1",
        "delta.tuneFileSizesForRewrites": "maybe"}),
    "unused ones": Case(changed(properties={"delta.autoOptimize.optimizeWrite": "true", "delta.targetFileSize": "1g"})),
    "unused ones that do not parse": Case(changed(properties={"delta.randomizeFilePrefixes": "sure"}),
        "properties.values"),
    "columns of statistics": Case(changed(properties={"delta.dataSkippingStatsColumns": "id,name"})),
    "half a name of statistics": Case(changed(properties={"delta.dataSkippingStatsColumns": "id,`na"}),
        "properties.values"),
    "number": Case(changed(configuration={"x": 1}), "commit.actions"),
    "null": Case(changed(properties={"x": None}), "commit.actions"),
    "enablement version": Case(changed(properties={"delta.inCommitTimestampEnablementVersion": "0"}),
        "properties.guarded", features=["inCommitTimestamp"], properties={"delta.enableInCommitTimestamps": "true"}),
    "enablement time": Case(changed(properties={"delta.inCommitTimestampEnablementTimestamp": "5"}),
        "properties.guarded"),
    "protection lowered": Case(changed(properties={"delta.requireCheckpointProtectionBeforeVersion": "2"}),
        "properties.guarded", "below 3", properties={"delta.requireCheckpointProtectionBeforeVersion": "3"},
        features=["checkpointProtection"]),
    "protection removed": Case(changed(without=["delta.requireCheckpointProtectionBeforeVersion"]),
        "properties.guarded", properties={"delta.requireCheckpointProtectionBeforeVersion": "3"},
        features=["checkpointProtection"]),
    "row ids elsewhere": Case(changed(properties={"delta.rowTracking.materializedRowIdColumnName": "other"}),
        "row-ids.columns", "keep it", properties={"delta.rowTracking.materializedRowIdColumnName": "_row"}),
    "row ids nowhere": Case(changed(without=["delta.rowTracking.materializedRowIdColumnName"]), "row-ids.columns",
        "removes", properties={"delta.rowTracking.materializedRowIdColumnName": "_row"}),
    "row ids and versions in one column": Case(changed(properties={
        "delta.rowTracking.materializedRowIdColumnName": "_Row",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_row"}), "row-ids.columns", "different"),
    "row ids without a name": Case(changed(properties={"delta.rowTracking.materializedRowIdColumnName": ""}),
        "row-ids.columns"),
    "row tracking enabled and suspended": Case(changed(properties={"delta.rowTrackingSuspended": "true"}),
        "row-ids.enabling", features=["rowTracking", "domainMetadata"], properties={"delta.enableRowTracking": "true"}),
}  # fmt: skip


def test_properties_mean_something_to_every_reader(tmp_path: Path) -> None:
    check_each(PROPERTIES, tmp_path)
