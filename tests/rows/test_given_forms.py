"""Files of other writers whose names and types need care: what is added is read by every reader, or refused by name."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.actions import decode_path
from deltaskip.actions.paths import encode_path
from deltaskip.errors import SchemaError
from tests.builder import logged
from tests.each import refuses

ROWS = pa.table({"id": [1, 2, 3]})


def added(table: DeltaTable) -> list[str]:
    return [add["path"] for add in logged(table.snapshot.root, kind="add")]


def test_a_colon_in_the_first_segment_is_quoted_and_decoded_once() -> None:
    for path, uri in (
        ("2024-01-01T00:00:00.parquet", "2024-01-01T00%3A00%3A00.parquet"),
        ("d=2024-01-01 10:00/a:b.parquet", "d=2024-01-01%2010%3A00/a:b.parquet"),
        ("s3:a.parquet", "s3%3Aa.parquet"),
        ("a%3Ab/c.parquet", "a%253Ab/c.parquet"),
        (":", "%3A"),
    ):
        assert encode_path(path) == uri
        assert decode_path(uri) == path


def test_files_with_a_colon_in_the_first_segment_are_added_converted_read_kept_and_cloned(tmp_path: Path) -> None:
    names = ("2024-01-01T00:00:00.parquet", "s3:a.parquet", "d=2024-01-01 10:00/a.parquet", "x%3Ay.parquet")
    for i, name in enumerate(names):
        for converts in (True, False):
            folder = tmp_path / f"{i}{converts}"
            partitioned = "/" in name
            if not converts:
                columns = "id BIGINT, d STRING" if partitioned else "id BIGINT"
                table = DeltaTable.create(folder, columns, partition_by=["d"] if partitioned else [])
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(ROWS, folder / name)
            if converts:
                table = ds.convert_to_delta(folder, partition_schema="d STRING" if partitioned else None)
            else:
                table.add_files([name])
            assert added(table) == [encode_path(name)]
            assert ":" not in added(table)[0].partition("/")[0]
            deltalake = pytest.importorskip("deltalake")
            assert deltalake.DeltaTable(str(folder)).to_pyarrow_table().num_rows == 3
            clone = table.clone(tmp_path / f"clone{i}{converts}")
            assert clone.scan().to_arrow().num_rows == 3
            table.delete()
            table.restore(table.version - 1)
            assert sorted(table.scan("id > 1").to_arrow()["id"].to_pylist()) == [2, 3]
            assert name not in [Path(path).name for path in table.vacuum(dry_run=True).files]


def of(value: Any, type_: pa.DataType) -> pa.Array:
    return pa.array([value, None], type_)


# What a file stores, the type of the table, and the values that Spark reads.
READ: dict[str, tuple[pa.Array, str, Any]] = {
    "json": (of('{"a": 1}', pa.json_(pa.string())), "STRING", '{"a": 1}'),
    "json in a struct": (pa.StructArray.from_arrays([of("{}", pa.json_(pa.string()))], names=["j"]),
        "STRUCT<j: STRING>", {"j": "{}"}),
    "json in a list": (pa.ListArray.from_arrays(pa.array([0, 1, 1]), pa.array(["{}"], pa.json_(pa.string()))),
        "ARRAY<STRING>", ["{}"]),
    "category": (of("a", pa.dictionary(pa.uint32(), pa.string())), "STRING", "a"),
    "small category": (of("a", pa.dictionary(pa.uint8(), pa.large_string())), "STRING", "a"),
    "ordered category": (of("a", pa.dictionary(pa.int8(), pa.string(), ordered=True)), "STRING", "a"),
    "category of integers": (of(5, pa.dictionary(pa.uint16(), pa.int64())), "BIGINT", 5),
    "duration": (of(5, pa.duration("us")), "BIGINT", 5),
    "boolean in a byte": (of(1, pa.bool8()), "TINYINT", 1),
    "view": (of("a", pa.string_view()), "STRING", "a"),
    "unsigned": (of(5, pa.uint32()), "BIGINT", 5),
}  # fmt: skip
REFUSED: dict[str, pa.Array] = {
    "uuid": of(b"0" * 16, pa.uuid()),
    "time": of(5, pa.time64("us")),
    "half": of(1.5, pa.float16()),
}


@pytest.mark.long
def test_every_door_reads_the_types_that_spark_reads(tmp_path: Path) -> None:
    for name, (array, ddl, value) in READ.items():
        for converts in (True, False):
            folder = tmp_path / f"{name}{converts}"
            if not converts:
                table = DeltaTable.create(folder, f"id BIGINT, x {ddl}")
            folder.mkdir(exist_ok=True)
            pq.write_table(pa.table({"id": [1, 2], "x": array}), folder / "a.parquet")
            if converts:
                table = ds.convert_to_delta(folder)
            else:
                table.add_files(["a.parquet"])
            null = {"j": None} if ddl.startswith("STRUCT") else [] if ddl.startswith("ARRAY") else None
            assert table.scan().to_arrow()["x"].to_pylist() == [value, null], name
            assert table.scan("id = 1", columns=["x"]).to_arrow()["x"].to_pylist() == [value]
            assert table.scan("x IS NOT NULL AND id = 1").to_arrow()["x"].to_pylist() == [value]
            table.update({"id": "id + 10"})
            assert table.scan("id > 10").to_arrow()["x"].to_pylist() == [value, null]


def test_the_types_that_spark_does_not_read_are_refused_by_name(tmp_path: Path) -> None:
    for name, array in REFUSED.items():
        folder = tmp_path / name
        folder.mkdir()
        pq.write_table(pa.table({"id": [1, 2], "x": array}), folder / "a.parquet")
        refuses(SchemaError, "x has a type of Parquet that Spark does not read", ds.convert_to_delta, folder)
        table = DeltaTable.create(tmp_path / f"{name}_added", "id BIGINT, x STRING")
        pq.write_table(pa.table({"id": [1, 2], "x": array}), tmp_path / f"{name}_added" / "a.parquet")
        refuses(SchemaError, r"a\.parquet cannot be added .* x has a type of Parquet", table.add_files, ["a.parquet"])
