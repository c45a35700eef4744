"""DeltaTable.compatibility names what other engines refuse or get wrong, as these do in the installed releases."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.table.compatibility import ENGINES, FACTS

PLAIN = pa.table({"id": [1, 2, 3], "s": ["a", "b", None]})
IDS = pa.array([1, 2], pa.int64())


def one(column: str, kind: pa.DataType, *values: Any) -> pa.Table:
    return pa.table({"id": IDS, column: pa.array(values, kind)})


def nothing(table: ds.DeltaTable) -> None:
    """Change nothing."""


# A table for each property: columns, rows, properties, partition columns, and what happens to it then.
Made = tuple[str, pa.Table | None, dict[str, str], list[str], Callable[[ds.DeltaTable], Any]]
S = "id BIGINT, s STRING"
TABLES: dict[str, Made] = {
    "plain": (S, PLAIN, {}, ["s"], nothing),
    "deletion vectors": (S, PLAIN, {"delta.enableDeletionVectors": "true"}, [], lambda t: t.delete("id = 2")),
    "column mapping": (S, PLAIN, {"delta.columnMapping.mode": "name"}, [], nothing),
    "partition columns under column mapping": (S, PLAIN, {"delta.columnMapping.mode": "name"}, ["s"], nothing),
    "type widening": ("id BIGINT, i INT", one("i", pa.int32(), 1, 2), {"delta.enableTypeWidening": "true"}, [],
        lambda t: t.alter_sql("ALTER COLUMN i TYPE BIGINT")),
    "V2 checkpoints": (S, PLAIN, {"delta.checkpointPolicy": "v2"}, [], nothing),
    "VACUUM protocol check": (S, PLAIN, {"delta.feature.vacuumProtocolCheck": "supported"}, [], nothing),
    "collations": ("id BIGINT, s STRING COLLATE UNICODE_CI", PLAIN, {}, [], nothing),
    "CHAR(n) and VARCHAR(n)": ("id BIGINT, c ARRAY<CHAR(3)>", one("c", pa.list_(pa.string()), ["ab"], []), {}, [],
        nothing),
    "NaN and -0.0": ("id BIGINT, g FLOAT", one("g", pa.float32(), 0.5, 1.0), {}, [], nothing),
    "-0.0 as a partition value": ("id BIGINT, g DOUBLE", one("g", pa.float64(), 0.5, -0.0), {}, ["g"], nothing),
    "negative DECIMAL partition values with a fraction": ("id BIGINT, x DECIMAL(10,2)",
        one("x", pa.decimal128(10, 2), Decimal("-1.50"), Decimal("-2")), {}, ["x"], nothing),
    "BINARY partition columns": ("id BIGINT, b BINARY", one("b", pa.binary(), b"a", b"b"), {}, ["b"], nothing),
    "folders without the names of partitions": (S, PLAIN, {"delta.randomizeFilePrefixes": "true"}, ["s"], nothing),
    "nested columns": ("id BIGINT, l ARRAY<INT>", one("l", pa.list_(pa.int32()), [1], [2]), {}, [], nothing),
    "TIMESTAMP_NTZ": ("id BIGINT, n TIMESTAMP_NTZ", one("n", pa.timestamp("us"), datetime(2020, 1, 1), None), {}, [],
        nothing),
    "VARIANT": ("id BIGINT, v VARIANT", None, {}, [], nothing),
    "GEOMETRY and GEOGRAPHY": ("id BIGINT, g GEOMETRY(4326)", None, {}, [], nothing),
    "VOID columns": ("id BIGINT, v VOID", pa.table({"id": IDS}), {}, [], nothing),
    "features that few writers know": (S, PLAIN, {"delta.enableRowTracking": "true"}, [], nothing),
    "computed and checked columns": (S, PLAIN, {"delta.constraints.c": "id > 0"}, [], nothing),
    "clustering, row tracking, change data feed": (S, PLAIN, {"delta.enableChangeDataFeed": "true"}, [], nothing),
    "partitions of times": ("id BIGINT, p TIMESTAMP", one("p", pa.timestamp("us", "UTC"), datetime(2020, 1, 1, 5,
        tzinfo=UTC), None), {}, ["p"], nothing),
}  # fmt: skip
# Also found in these tables, beside their own property.
TOO = {
    "-0.0 as a partition value": {"NaN and -0.0"},
    "partition columns under column mapping": {"column mapping", "folders without the names of partitions"},
    "CHAR(n) and VARCHAR(n)": {"nested columns"},
    "collations": {"features that few writers know"},
    "features that few writers know": {"clustering, row tracking, change data feed"},
}
ALWAYS = "a Delta log"
# Tables without rows, and one whose log a test changes.
NOT_READ = {"VARIANT", "GEOMETRY and GEOGRAPHY", "partitions of times"}
# Engines have the rows of tables with these, and go wrong in conditions.
NOT_IN_ROWS = {"partition columns", "collations", "NaN and -0.0", "-0.0 as a partition value"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ds.DeltaTable]:
    root, made = tmp_path_factory.mktemp("compatibility"), {}
    for number, (rule, (columns, rows, properties, partitions, then)) in enumerate(TABLES.items()):
        table = ds.DeltaTable.create(root / str(number), columns, partitions, properties=properties)
        if rows is not None:
            table.append(rows)
        then(table)
        made[rule] = table
    return made


def test_each_property_is_found_in_the_tables_that_have_it(tables: dict[str, ds.DeltaTable]) -> None:
    for rule, table in tables.items():
        found = {each.rule for each in table.compatibility()}
        parted = {"partition columns"} if TABLES[rule][3] else set()
        assert found == {ALWAYS} | ({rule} & {fact.rule for fact in FACTS}) | TOO.get(rule, set()) | parted, rule
    without = {fact.rule for fact in FACTS} - set(TABLES) - {ALWAYS, "partition columns"}
    assert without == {"TIMESTAMP partition columns in the zone of a writer"}


def test_folders_in_another_zone_than_the_log_are_found(tables: dict[str, ds.DeltaTable]) -> None:
    table = tables["partitions of times"]
    assert table.compatibility(["polars"]) == ()
    [add] = [each for each in table.scan().files().to_pylist() if "2020" in each["path"]]
    # As delta-spark 4.4.0 writes it in a session in New York: the folder is local, the value in the log is in UTC.
    add["path"] = "p=2020-01-01%2000%253A00%253A00/part.parquet"
    assert add["partition_values"] == {"p": datetime(2020, 1, 1, 5, tzinfo=UTC)}
    values, size = {"p": "2020-01-01T05:00:00.000000Z"}, add["size"]
    action = {"path": add["path"], "partitionValues": values, "size": size, "modificationTime": 0, "dataChange": True}
    log = Path(table.uri.removeprefix("file://")) / "_delta_log" / f"{table.version + 1:020}.json"
    log.write_text(json.dumps({"add": action}))
    [found] = ds.DeltaTable(table.uri).compatibility(["polars"])
    assert (found.where, found.operation, found.effect) == (("p",), "read", "wrong")


def test_engines_are_named_and_unknown_ones_refused(tables: dict[str, ds.DeltaTable]) -> None:
    found = tables["VARIANT"].compatibility(["duckdb", "polars", "duckdb"])
    assert [each.engine for each in found] == ["duckdb", "polars"]
    assert found[0].release.startswith("DuckDB ") and found[0].instead.startswith("table.scan().to_duckdb")
    with pytest.raises(InvalidArgument, match=r"'poolars', of which nothing is known; known are .*Did you mean polars"):
        tables["plain"].compatibility(["poolars"])
    with pytest.raises(InvalidArgumentType, match="engines"):
        tables["plain"].compatibility("polars")
    assert {name for fact in FACTS for engines, _, _ in (*fact.reads, *fact.writes) for name in engines.split()} == set(
        ENGINES
    )


def polars_rows(path: str) -> list[dict[str, Any]]:
    polars = pytest.importorskip("polars")
    return list(polars.scan_delta(path).collect().to_dicts())


def duckdb_rows(path: str) -> list[dict[str, Any]]:
    duckdb = pytest.importorskip("duckdb")
    extension = pytest.importorskip("duckdb_extension_delta", reason="duckdb-extension-delta is not installed (bench)")
    binary = next(Path(extension.__file__).parent.rglob("delta.duckdb_extension"))
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        connection.execute(f"LOAD '{binary}'")
        return list(connection.execute(f"FROM delta_scan('{path}')").to_arrow_table().to_pylist())


def deltalake_rows(path: str) -> list[dict[str, Any]]:
    deltalake = pytest.importorskip("deltalake")
    return list(deltalake.DeltaTable(path).to_pyarrow_table().to_pylist())


@pytest.mark.reference
@pytest.mark.parametrize("engine", ["polars", "duckdb", "deltalake"])
def test_the_installed_engines_do_what_the_facts_say(tables: dict[str, ds.DeltaTable], engine: str) -> None:
    read = {"polars": polars_rows, "duckdb": duckdb_rows, "deltalake": deltalake_rows}[engine]
    wrong = {}
    for rule, table in tables.items():
        if rule in NOT_READ:
            continue
        facts = [each for each in table.compatibility([engine]) if each.operation == "read"]
        expected = [each.effect for each in facts if each.rule not in NOT_IN_ROWS]
        wanted = "refused" if "refused" in expected else "wrong" if expected else "right"
        try:
            rows = read(table.uri.removeprefix("file://"))
            right = sorted(rows, key=repr) == sorted(table.scan().to_arrow().to_pylist(), key=repr)
            does = "right" if right else "wrong"
        except Exception:  # of any library, such as a panic
            does = "refused"
        if does != wanted:
            wrong[rule] = (does, wanted)
    assert not wrong


@pytest.mark.reference
def test_deltalake_takes_computed_conditions_on_partition_columns_as_true(tables: dict[str, ds.DeltaTable]) -> None:
    deltalake = pytest.importorskip("deltalake")
    found = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(tables["plain"].uri))
    assert pa.table(found.execute("SELECT id FROM t WHERE s = 'a'").read_all()).num_rows == 1
    computed = "SELECT id FROM t WHERE CASE WHEN s = 'a' THEN true ELSE false END"
    assert pa.table(found.execute(computed).read_all()).num_rows == PLAIN.num_rows
