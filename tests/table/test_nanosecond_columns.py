"""Columns of nanoseconds: read, written, with statistics, and skipped exactly to the nanosecond."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, PredicateError, RowViolation, SchemaError, UnsupportedFeature
from deltaskip.sparkexpr import types as t
from tests.each import refuses
from tests.extent import extent, seed

BASE = 1_700_000_000_000_000_000  # 2023-11-14T22:13:20Z
SECOND = "2023-11-14 22:13:20"
SCHEMA = "id BIGINT, n TIMESTAMP_NANOS, l TIMESTAMP_NANOS_NTZ"


def rows_of(*offsets: int | None, first: int = 0) -> pa.Table:
    values = [None if each is None else BASE + each for each in offsets]
    kinds = {"n": pa.timestamp("ns", "UTC"), "l": pa.timestamp("ns")}
    times = {name: pa.array(values, kind) for name, kind in kinds.items()}
    return pa.table({"id": list(range(first, first + len(values))), **times})


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    table = ds.DeltaTable.create(str(tmp_path / "t"), SCHEMA)
    for i in range(3):
        table.append(rows_of(i * 1000 + 5, i * 1000 + 7, first=2 * i))
    return table


def test_a_table_of_the_type_has_its_features_and_names(table: ds.DeltaTable) -> None:
    assert {"timestampNanos", "timestampNtz"} <= set(table.snapshot.protocol.reader_features or ())
    fields = json.loads(table.snapshot.metadata.schema_string)["fields"]
    assert [each["type"] for each in fields] == ["long", "timestamp_nanos", "timestamp_nanos_ntz"]


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("timestampNanos", t.NANOS), ("timestamp_ns", t.NANOS), ("nanosecond timestamp", t.NANOS),
        ("timestamp_ltz(9)", t.NANOS), ("timestampNanosNtz", t.NANOS_NTZ), ("timestamp_ntz_ns", t.NANOS_NTZ),
        ("nanosecond timestamp without timezone", t.NANOS_NTZ), ("timestamp_ntz(9)", t.NANOS_NTZ),
    ],
)  # fmt: skip
def test_other_spellings_are_read(name: str, type_: t.DataType) -> None:
    assert t.parse_type(json.dumps(name)) == type_


def test_files_and_statistics_have_all_digits(table: ds.DeltaTable) -> None:
    file = sorted(Path(table.uri.removeprefix("file://")).glob("*.parquet"))[0]
    kinds = {column.path: json.loads(column.logical_type.to_json()) for column in pq.ParquetFile(file).schema}
    assert [(kinds[name]["timeUnit"], kinds[name]["isAdjustedToUTC"]) for name in "nl"] == [
        ("nanoseconds", True), ("nanoseconds", False),
    ]  # fmt: skip
    stats = json.loads(table.snapshot.commit_adds["stats"].to_pylist()[-1])
    assert stats["minValues"] == {"id": 4, "n": "2023-11-14T22:13:20.000002005Z", "l": "2023-11-14T22:13:20.000002005"}
    assert stats["maxValues"]["n"] == "2023-11-14T22:13:20.000002007Z"


CASES = [
    ("{c} = '2023-11-14 22:13:20.000001007'", 1, [3]),
    ("'2023-11-14 22:13:20.000001007' < {c}", 1, [4, 5]),
    ("{c} <= '2023-11-14 22:13:20.000000006'", 1, [0]),
    ("{c} <=> '2023-11-14 22:13:20.000001005'", 1, [2]),
    ("{c} IN ('2023-11-14 22:13:20.000002007', '2023-11-14 22:13:20.000000005')", 2, [0, 5]),
    ("{c} BETWEEN '2023-11-14 22:13:20.000001' AND '2023-11-14 22:13:20.000001006'", 1, [2]),
    ("NOT {c} = '2023-11-14 22:13:20.000001007'", 3, [0, 1, 2, 4, 5]),
    ("{c} NOT IN ('2023-11-14 22:13:20.000001007')", 3, [0, 1, 2, 4, 5]),
    ("{c} < DATE'2023-11-15'", 3, [0, 1, 2, 3, 4, 5]),
    ("{c} > DATE'2023-11-15'", 0, []),
    ("{c} IS NULL", 0, []),
    ("{c} IS NOT NULL AND id = 3", 1, [3]),
]


@pytest.mark.parametrize("form", ["log", "checkpoint", "struct only"])
@pytest.mark.parametrize("column", ["n", "l"])
def test_predicates_skip_and_filter_to_the_nanosecond(table: ds.DeltaTable, column: str, form: str) -> None:
    if form != "log":
        table.alter(ds.SetProperty("delta.checkpoint.writeStatsAsJson", str(form == "checkpoint").lower()))
        table.checkpoint()
        table = ds.DeltaTable(table.uri)
    for text, files, ids in CASES:
        scan = table.scan(where=text.format(c=column))
        assert (scan.files().num_rows, sorted(scan.to_arrow()["id"].to_pylist())) == (files, ids), text
    assert table.scan(where=f"n < TIMESTAMP'{SECOND}.000001'").to_arrow()["id"].to_pylist() == [0, 1]
    assert table.scan(where=f"l < TIMESTAMP_NTZ'{SECOND}.000001'").to_arrow()["id"].to_pylist() == [0, 1]


@pytest.mark.parametrize(
    "where", ["year(n) = 2020", "n > '2500-01-01'", "n = l", "n > now()", "n + INTERVAL 1 DAY > n"]
)
def test_other_expressions_keep_every_file_and_are_left_to_spark(table: ds.DeltaTable, where: str) -> None:
    assert table.scan(where=where).files().num_rows == 3
    refuses((UnsupportedFeature, PredicateError), "Spark", lambda: table.scan(where=where).to_arrow())


def test_the_zone_of_the_session_is_that_of_text_without_one(table: ds.DeltaTable) -> None:
    for text, zone in (("2023-11-14 23:13:20.000001007", "Europe/Berlin"), ("2023-11-14T22:13:20.000001007Z", "UTC")):
        assert table.scan(where=f"n = '{text}'", time_zone=zone).to_arrow()["id"].to_pylist() == [3]


def handmade(root: Path, stats: dict[str, Any] | None, partition: dict[str, str] | None = None) -> ds.DeltaTable:
    fields = [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in (
        ("id", "long"), ("ts", "timestamp_nanos"), ("ts_ntz", "timestamp_nanos_ntz"))]  # fmt: skip
    features = ["timestampNanos", "timestampNtz"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    metadata = {
        "id": "1", "format": {"provider": "parquet", "options": {}}, "partitionColumns": list(partition or ()),
        "schemaString": json.dumps({"type": "struct", "fields": fields}), "configuration": {},
    }  # fmt: skip
    (root / "_delta_log").mkdir(parents=True)
    values = [0, 123, -123, None]
    columns = {"ts": pa.array(values, pa.timestamp("ns", "UTC")), "ts_ntz": pa.array(values, pa.timestamp("ns"))}
    kept = {name: each for name, each in columns.items() if name not in (partition or ())}
    pq.write_table(pa.table({"id": [0, 1, 2, 3], **kept}), root / "f.parquet")
    add = {"path": "f.parquet", "partitionValues": partition or {}, "size": (root / "f.parquet").stat().st_size}
    text = {} if stats is None else {"stats": json.dumps(stats)}
    actions = [{"protocol": protocol}, {"metaData": metadata},
               {"add": {**add, "modificationTime": 1, "dataChange": True, **text}}]  # fmt: skip
    (root / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return ds.DeltaTable(str(root))


# The statistics of delta-kernel-rs's test table for the types.
KERNEL = {
    "numRecords": 4,
    "minValues": {"id": 0, "ts": "1969-12-31T23:59:59.999999877Z", "ts_ntz": "1969-12-31 23:59:59.999999877"},
    "maxValues": {"id": 3, "ts": "1970-01-01T00:00:00.000000123Z", "ts_ntz": "1970-01-01 00:00:00.000000123"},
    "nullCount": {"id": 0, "ts": 1, "ts_ntz": 1},
}


@pytest.mark.parametrize("column", ["ts", "ts_ntz"])
def test_a_table_of_delta_kernel_is_read(tmp_path: Path, column: str) -> None:
    table = handmade(tmp_path, KERNEL)
    assert table.scan().to_arrow()[column].cast(pa.int64()).to_pylist() == [0, 123, -123, None]
    cases = {
        "> '1970-01-01 00:00:00.000000122'": 1,
        "> '1970-01-01 00:00:00.000000123'": 0,
        "< '1969-12-31 23:59:59.999999877'": 0,
        "<= '1969-12-31 23:59:59.999999877'": 1,
    }
    for where, kept in cases.items():
        assert table.scan(where=f"{column} {where}").files().num_rows == kept, where


@pytest.mark.parametrize(
    ("greatest", "kept_until"),
    [
        ("1970-01-01T00:00:00.001Z", 1_999_999),
        ("1970-01-01T00:00:00.001000000Z", 1_999_999),
        ("1970-01-01T00:00:00.001002Z", 1_002_999),
        ("1970-01-01T00:00:00.001002003Z", 1_002_003),
    ],
)
def test_maxima_that_may_have_been_cut_are_widened(tmp_path: Path, greatest: str, kept_until: int) -> None:
    stats = {**KERNEL, "maxValues": {"ts": greatest}}
    table = handmade(tmp_path, stats)
    for nanos, kept in ((kept_until, 1), (kept_until + 1, 0)):
        assert table.scan(where=f"ts >= '1970-01-01 00:00:00.{nanos:09}'").files().num_rows == kept, nanos


@pytest.mark.parametrize(
    "bound", ["1970-01-01T00:00:00", "x", 5, None, "3000-01-01T00:00:00Z", "1970-01-01", "1970-01-01T00:00:00Mars"]
)
def test_unusable_bounds_keep_the_file(tmp_path: Path, bound: Any) -> None:
    table = handmade(tmp_path, {**KERNEL, "minValues": {"ts": bound}, "maxValues": {"ts": bound}})
    assert table.scan(where="ts = '2020-01-01 00:00:00'").files().num_rows == 1


def test_partition_values_have_nine_digits(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(str(tmp_path / "t"), SCHEMA, partition_by=["n", "l"])
    table.append(rows_of(5, 7, None))
    log = (tmp_path / "t" / "_delta_log" / f"{1:020}.json").read_text()
    assert '"n":"2023-11-14T22:13:20.000000005Z","l":"2023-11-14 22:13:20.000000005"' in log
    for column in "nl":
        found = table.scan(where=f"{column} = '{SECOND}.000000007'")
        assert (found.files().num_rows, found.to_arrow()["id"].to_pylist()) == (1, [1])
    assert table.scan().to_arrow().sort_by("id")["n"].cast(pa.int64()).to_pylist() == [BASE + 5, BASE + 7, None]


@pytest.mark.parametrize("text", ["1970-01-01T00:00:00.123456789Z", "1970-01-01 00:00:00.123456789"])
def test_both_forms_of_partition_values_are_read(tmp_path: Path, text: str) -> None:
    table = handmade(tmp_path, None, {"ts": text})
    assert table.scan(columns=["ts"]).to_arrow()["ts"].cast(pa.int64()).to_pylist() == [123_456_789] * 4


def test_rows_are_changed_and_tables_kept_in_shape(table: ds.DeltaTable, tmp_path: Path) -> None:
    table.alter(ds.SetProperty("delta.enableChangeDataFeed", "true"))
    start = table.version
    assert table.update({"id": "id + 100"}, where=f"n = '{SECOND}.000001007'").metrics["numUpdatedRows"] == 1
    assert table.delete(f"l = '{SECOND}.000000007'").metrics["numDeletedRows"] == 1
    source = rows_of(9, 11, first=0)
    (table.merge(source, on="t.id = s.id", source_alias="s", target_alias="t")
     .when_matched_update_all().when_not_matched_insert_all().execute())  # fmt: skip
    assert table.changes(start + 1).to_arrow().schema.field("n").type == pa.timestamp("ns", "UTC")
    before = table.scan().to_arrow().sort_by("id")
    table.optimize(zorder_by=["n"])
    table.recompute_stats()
    table.clone(str(tmp_path / "clone"))
    for each in (table, ds.DeltaTable(str(tmp_path / "clone"))):
        assert each.scan().to_arrow().sort_by("id").equals(before)
        assert each.scan(where=f"n = '{SECOND}.000000011'").to_arrow()["id"].to_pylist() == [1]
    clustered = ds.DeltaTable.create(str(tmp_path / "c"), SCHEMA, cluster_by=["n"])
    clustered.append(source)
    assert clustered.scan(where=f"n > '{SECOND}.000000011'").files().num_rows == 0


def test_coarser_times_are_stored_and_others_refused(table: ds.DeltaTable) -> None:
    table.append(pa.table({"id": [9], "n": pa.array([7], pa.timestamp("ms", "Europe/Berlin"))}))
    assert table.scan(where="id = 9").to_arrow()["n"].cast(pa.int64()).to_pylist() == [7_000_000]
    with pytest.raises(RowViolation, match="TIMESTAMP_NANOS"):
        table.append(pa.table({"n": pa.array([1 << 60], pa.timestamp("us", "UTC"))}))
    for values in (
        pa.array([1], pa.timestamp("ns")),
        pa.array([1]),
        pa.array(["2020-01-01"]),
        pa.array([1], pa.date32()),
    ):
        refuses(SchemaError, "TIMESTAMP_NANOS", table.append, pa.table({"n": values}))


def test_iceberg_has_no_such_type(tmp_path: Path) -> None:
    iceberg = {"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"}
    refuses(DeltaSkipError, r"iceberg\.types", ds.DeltaTable.create, str(tmp_path / "i"), SCHEMA, properties=iceberg)


NESTED = "id BIGINT, s STRUCT<q: TIMESTAMP_NANOS_NTZ>, a ARRAY<TIMESTAMP_NANOS>, m MAP<STRING, TIMESTAMP_NANOS>"
EVERY = [1, 1_001, -1, -(1 << 63), (1 << 63) - 1]


def nested_values(rows: pa.Table) -> list[tuple[int, int, int]]:
    rows = rows.sort_by("id").combine_chunks()
    parts = (
        rows["s"].combine_chunks().field(0),
        rows["a"].combine_chunks().flatten(),
        rows["m"].combine_chunks().items,
    )
    return list(zip(*(part.cast(pa.int64()).to_pylist() for part in parts), strict=True))


def test_times_inside_of_other_values_keep_their_nanoseconds(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", NESTED)
    local, offsets = pa.array(EVERY, pa.timestamp("ns")), range(len(EVERY) + 1)
    instants = pa.array(EVERY, pa.timestamp("ns", "UTC"))
    columns = {
        "id": range(len(EVERY)),
        "s": pa.StructArray.from_arrays([local], ["q"]),
        "a": pa.ListArray.from_arrays(offsets, instants),
        "m": pa.MapArray.from_arrays(offsets, ["k"] * len(EVERY), instants),
    }
    table.append(pa.table(columns))
    wanted = [(each, each, each) for each in EVERY]
    assert nested_values(table.scan().to_arrow()) == wanted
    assert nested_values(pa.Table.from_batches(list(table.scan().to_batches()))) == wanted
    assert table.scan("s.q = '1970-01-01 00:00:00.000001001'").to_arrow()["id"].to_pylist() == [1]
    table.update({"id": "id + 10"}, "id = 4")
    table.optimize(zorder_by=["id"])
    table.delete("s.q = '1970-01-01 00:00:00.000001'")
    assert nested_values(table.scan().to_arrow()) == wanted
    table.delete("s.q = '1970-01-01 00:00:00.000001001'")
    assert nested_values(table.scan().to_arrow()) == wanted[:1] + wanted[2:]
    other = ds.DeltaTable.create(tmp_path / "other", NESTED)
    other.append(table.scan().to_arrow())
    assert nested_values(other.scan().to_arrow()) == wanted[:1] + wanted[2:]


def random_table(rng: random.Random, folder: Path) -> tuple[ds.DeltaTable, list[dict[str, Any]]]:
    """A table with times of some microseconds, and its rows; bounds of some files are cut, as other writers do."""
    partition = rng.choice([None, "p"])
    properties = {"delta.enableDeletionVectors": "true"} if rng.random() < 0.5 else {}
    ds.DeltaTable.create(folder, "id BIGINT, n TIMESTAMP_NANOS, m TIMESTAMP_NANOS, p TIMESTAMP_NANOS_NTZ", partition,
                         properties=properties)  # fmt: skip
    model: list[dict[str, Any]] = []
    zones = {"n": "UTC", "m": "UTC", "p": None}
    for _ in range(rng.randint(2, 6)):
        low = rng.randrange(4000)
        rows = [
            {name: rng.choice([None, *range(low, low + 3000, 7)]) for name in "nm"} | {"p": rng.randrange(3)}
            for _ in range(rng.randint(1, 8))
        ]
        rows = [{"id": len(model) + at, **row} for at, row in enumerate(rows)]
        times = {
            name: pa.array([None if row[name] is None else BASE + row[name] for row in rows], pa.timestamp("ns", zone))
            for name, zone in zones.items()
        }
        ds.DeltaTable(folder).append(pa.table({"id": [row["id"] for row in rows], **times}))
        model += rows
    for commit in sorted((folder / "_delta_log").glob("*.json"))[1:]:
        digits = rng.choice([3, 6, 9])
        commit.write_text(re.sub(rf"(\.[0-9]{{{digits}}})[0-9]+(Z?\\\")", r"\1\2", commit.read_text()))
    for crc in (folder / "_delta_log").glob("*.crc"):
        crc.unlink()
    table = ds.DeltaTable(folder)
    if properties and rng.random() < 0.7:
        table.delete("id % 5 = 0")
        model = [row for row in model if row["id"] % 5]
    return table, model


@pytest.mark.parametrize("number", range(extent(20, 1000)))
def test_joins_orders_and_extremes_are_those_of_all_rows(tmp_path: Path, number: int) -> None:
    rng = random.Random(seed() + number)
    table, model = random_table(rng, tmp_path / "t")

    def ids(rows: Any) -> list[int]:
        return sorted(rows.to_arrow()["id"].to_pylist())

    keys = [*rng.choices([row["n"] for row in model] or [1], k=3), rng.randrange(7000)]
    source = pa.table({
        "n": pa.array([None if each is None else BASE + each for each in keys], pa.timestamp("ns", "UTC")),
        "p": pa.array([BASE + rng.randrange(3) for _ in keys], pa.timestamp("ns")),
        "m": pa.nulls(len(keys), pa.timestamp("ns", "UTC")),
        "id": [1000 + at for at in range(len(keys))],
    })  # fmt: skip
    pairs = {(n, p.value - BASE) for n, p in zip(keys, source["p"], strict=True)}
    assert ids(table.scan().semi_join(source, "n")) == [r["id"] for r in model if r["n"] is not None and r["n"] in keys]
    found = table.scan().semi_join(source, ["n", "p"])
    assert ids(found) == [row["id"] for row in model if row["n"] is not None and (row["n"], row["p"]) in pairs]
    for op, holds in (("<", int.__lt__), ("=", int.__eq__), (">=", int.__ge__)):
        wanted = [r["id"] for r in model if None not in (r["n"], r["m"]) and holds(r["n"], r["m"])]
        assert ids(table.scan(f"n {op} m")) == wanted
    for down in (True, False):
        order = sorted(
            model, key=lambda row: (row["n"] is None, 0 if row["n"] is None else row["n"] * (-1 if down else 1))
        )
        top = table.scan().top(3, by=f"n {'DESC' if down else 'ASC'} NULLS LAST").to_arrow()["n"]
        assert [each.value and each.value - BASE for each in top] == [row["n"] for row in order[:3]]
    edge = rng.randrange(7000)
    where = f"n >= TIMESTAMP'{SECOND}Z' AND n > '{SECOND}.{edge:09}Z'"
    among = [row["n"] for row in model if row["n"] is not None and row["n"] > edge]
    [total] = table.scan(where).aggregate(low="min(n)", high="max(n)", n="count(*)", latest="max(p)").to_pylist()
    low, high = min(among, default=None), max(among, default=None)
    assert [each and each.value - BASE for each in (total["low"], total["high"])] == [low, high]
    assert total["n"] == len(among)
    table.merge(source.slice(3), "n").when_matched_update({"m": "source.n"}).when_not_matched_insert_all().execute()
    rows = ds.DeltaTable(tmp_path / "t").scan().to_arrow()
    after = {(i, n.value, m.value) for i, n, m in zip(rows["id"].to_pylist(), rows["n"], rows["m"], strict=True)}
    base = {None: None, **{each: BASE + each for row in model for each in row.values() if each is not None}}
    changed = {(r["id"], base[r["n"]], base[r["n"]] if r["n"] == keys[3] else base[r["m"]]) for r in model}
    if keys[3] not in [row["n"] for row in model]:
        changed.add((1003, BASE + keys[3], None))
    assert after == changed
