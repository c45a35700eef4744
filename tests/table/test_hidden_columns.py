"""Hidden partition columns: what scans, the change feed, merges and writers without Spark do with them."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deltaskip import DeltaTable, SetProperty, transforms
from deltaskip.errors import RowViolation, SchemaError
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.sparkexpr.types.data_types import LONG, StructType
from deltaskip.sparkexpr.values.hashes import spark_hash
from deltaskip.transforms.partitioning_property import hidden_columns

DDL = "id BIGINT, ts TIMESTAMP, name STRING"
FEED = {"delta.enableChangeDataFeed": "true"}
HIDDEN = ("id_bucket", "ts_day")


def instant(day: int) -> datetime:
    return datetime(2024, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)


def rows(ids: list[int], day: int | None = None) -> pa.Table:
    times = [instant(i % 5 if day is None else day) for i in ids]
    columns = {"id": pa.array(ids, pa.int64()), "ts": pa.array(times, pa.timestamp("us", "UTC"))}
    return pa.table({**columns, "name": [f"n{i}" for i in ids]})


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    by = [transforms.bucket("id", 4), transforms.date("ts")]
    made = DeltaTable.create(tmp_path / "t", DDL, by, properties={**FEED, "delta.enableDeletionVectors": "true"})
    made.append(rows(list(range(10))))
    return made.refresh()


def bucket_of(value: int) -> int:
    hashed = spark_hash(value, LONG)
    assert hashed is not None
    return hashed % 4


def images(table: DeltaTable, version: int) -> list[tuple[Any, ...]]:
    feed = table.changes(version, version, hidden=True).to_arrow().to_pylist()
    return sorted((row["_change_type"], row["id"], row["id_bucket"], row["ts_day"]) for row in feed)


def test_the_columns_are_in_the_schema_and_scans_leave_them_out(table: DeltaTable) -> None:
    assert table.hidden_columns == HIDDEN
    assert table.schema.names == ("id", "ts", "name", *HIDDEN)
    assert table.scan().columns == ("id", "ts", "name")
    assert table.scan(hidden=True).columns is None
    assert table.scan(columns=["ts_day", "id"]).columns == ("ts_day", "id")
    assert table.scan("ts_day = '2024-01-02'").columns == ("id", "ts", "name")
    assert "columns=" not in repr(table.scan())


def test_a_table_without_hidden_columns_is_read_whole(tmp_path: Path) -> None:
    generated = "ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))"
    made = DeltaTable.create(tmp_path / "t", generated, [transforms.date("ts")])
    assert made.partition_columns == ("day",)
    assert made.hidden_columns == ()
    assert made.scan().columns is None


def test_a_partition_column_of_the_table_stays_beside_a_hidden_one(tmp_path: Path) -> None:
    mixed = DeltaTable.create(tmp_path / "mixed", DDL, ["name", transforms.date("ts")])
    assert (mixed.partition_columns, mixed.hidden_columns) == (("name", "ts_day"), ("ts_day",))
    plain = DeltaTable.create(tmp_path / "plain", DDL, ["name"])
    assert (plain.partition_columns, plain.hidden_columns, plain.properties) == (("name",), (), {})


def test_the_property_hides_only_generated_partition_columns(table: DeltaTable) -> None:
    text = '[{"transform": "day", "source": "ts", "field": "name", "hidden": true}, 5, {"field": "ts_day"}]'
    assert hidden_columns(table.schema, table.partition_columns, {PARTITIONING_KEY: text}) == ()
    assert hidden_columns(table.schema, (), table.properties) == ()
    only = StructType(tuple(field for field in table.schema.fields if field.name in HIDDEN))
    assert hidden_columns(only, table.partition_columns, table.properties) == ()
    table.alter(SetProperty(PARTITIONING_KEY, text))
    assert table.refresh().scan().columns is None


def test_predicates_can_use_them(table: DeltaTable) -> None:
    bucket = bucket_of(6)
    found = table.scan(f"id_bucket = {bucket} AND ts_day = DATE'2024-01-02'").files()["partition_values"].to_pylist()
    assert found == [{"id_bucket": bucket, "ts_day": date(2024, 1, 2)}]


def test_the_change_feed_leaves_them_out(table: DeltaTable) -> None:
    feed = ("_change_type", "_commit_version", "_commit_timestamp")
    assert tuple(table.changes(1).to_arrow().column_names) == ("id", "ts", "name", *feed)
    assert tuple(table.changes(1, hidden=True).to_arrow().column_names) == (*table.schema.names, *feed)
    assert tuple(table.changes(1, columns=["ts_day"]).to_arrow().column_names) == ("ts_day", *feed)
    assert len(table.changes(1, where="ts_day = '2024-01-02'").to_arrow()) == 2


def test_an_update_moves_a_row_to_another_partition(table: DeltaTable) -> None:
    table.update({"ts": "TIMESTAMP'2024-02-01 12:00:00Z'"}, "id = 3")
    table.refresh()
    before, after = date(2024, 1, 4), date(2024, 2, 1)
    assert images(table, 2) == [
        ("update_postimage", 3, bucket_of(3), after),
        ("update_preimage", 3, bucket_of(3), before),
    ]


def test_a_merge_with_all_columns_computes_them(table: DeltaTable) -> None:
    merge = table.merge(rows([3, 77], day=9), on="t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    table.refresh()
    moved = date(2024, 1, 10)
    assert images(table, 2) == [
        ("insert", 77, bucket_of(77), moved),
        ("update_postimage", 3, bucket_of(3), moved),
        ("update_preimage", 3, bucket_of(3), date(2024, 1, 4)),
    ]


def test_a_merge_still_needs_the_other_columns(table: DeltaTable) -> None:
    merge = table.merge(rows([3]).drop_columns(["name"]), on="t.id = s.id", source_alias="s", target_alias="t")
    with pytest.raises(SchemaError, match="The source has no column name"):
        merge.when_matched_update_all().execute()


def test_values_that_are_given_must_be_those_of_the_transform(table: DeltaTable) -> None:
    given = rows([50]).append_column("id_bucket", pa.array([bucket_of(50)], pa.int32()))
    table.append(given)
    with pytest.raises(RowViolation, match="id_bucket"):
        table.append(rows([51]).append_column("id_bucket", pa.array([bucket_of(51) + 1], pa.int32())))


def test_a_delete_by_a_hidden_column_removes_whole_files(table: DeltaTable) -> None:
    result = table.delete("ts_day = DATE'2024-01-02'")
    assert result.metrics["numRemovedFiles"] == len({bucket_of(1), bucket_of(6)})
    assert table.refresh().scan("ts_day = DATE'2024-01-02'").files().num_rows == 0


def test_rows_that_replace_the_schema_keep_the_hidden_partitioning(table: DeltaTable) -> None:
    new = rows([1, 2, 3]).append_column("extra", pa.array([1, 2, 3]))
    table.overwrite(new, schema_mode="replace")
    assert table.schema.names == ("id", "ts", "name", "extra", *HIDDEN)
    assert (table.partition_columns, table.hidden_columns) == (HIDDEN, HIDDEN)
    assert table.scan().to_arrow().sort_by("id").to_pylist() == new.to_pylist()
    with pytest.raises(SchemaError, match=r"cannot be partitioned by days\(ts\)"):
        table.overwrite(new.drop_columns(["ts"]), schema_mode="replace")


def test_rows_that_replace_the_schema_can_be_partitioned_by_other_transforms(table: DeltaTable) -> None:
    table.overwrite(rows([1, 2, 3]), schema_mode="replace", partition_by=["name", transforms.month("ts")])
    assert table.partitioning == (transforms.identity("name"), transforms.month("ts"))
    assert (table.hidden_columns, table.scan().count()) == (("ts_month",), 3)
    table.overwrite(rows([1, 2, 3]), schema_mode="replace", partition_by=[])
    assert (table.partition_columns, PARTITIONING_KEY in table.properties) == ((), False)
