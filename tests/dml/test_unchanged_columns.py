"""Updates of files whose other columns are copied: rows are those of a model, for this and for other readers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip import DeltaTable
from deltaskip.actions import AddFile, decode_path
from deltaskip.data_files import copied_row_groups
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml import arrow_execution, unchanged_columns
from deltaskip.errors import PredicateError, RowViolation, StorageError
from tests.data_files.test_copied_row_groups import GROUP, WRITERS, rows
from tests.dml.tables import files_below
from tests.each import refuses
from tests.noted import raising

Row = dict[str, Any]
COPIED: list[WrittenRows] = []
"""What was written with copies of columns."""


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unchanged_columns, "_LEAST_BYTES", 1)
    COPIED.clear()
    copy = unchanged_columns.copy_unchanged_columns

    def noted(*given: Any) -> Any:
        found = copy(*given)
        COPIED.append(found[0])
        return found

    monkeypatch.setattr(arrow_execution, "copy_unchanged_columns", noted)


UPDATES: dict[str, tuple[dict[str, str], str | None, Callable[[Row], bool], Callable[[Row], Row]]] = {
    "a number of some rows": ({"x": "id * 2"}, "id % 3 = 1", lambda r: r["id"] % 3 == 1,
        lambda r: {"x": r["id"] * 2.0}),
    "a text of one row": ({"s": "concat('!', s)"}, "id = 501", lambda r: r["id"] == 501, lambda r: {"s": f"!{r['s']}"}),
    "a field of a struct": ({"st.a": "7"}, "id < 9", lambda r: r["id"] < 9, lambda r: {"st": {**r["st"], "a": 7}}),
    "a map of every row": ({"m": "map('z', 1)"}, None, lambda r: True, lambda r: {"m": [("z", 1)]}),
    "a flag and a list": ({"b": "s IS NULL", "st.l": "array('a', s)"}, "id BETWEEN 600 AND 1200",
        lambda r: 600 <= r["id"] <= 1200, lambda r: {"b": r["s"] is None, "st": {**r["st"], "l": ["a", r["s"]]}}),
    "NaN": ({"x": "double('NaN')"}, "id = 900", lambda r: r["id"] == 900, lambda r: {"x": float("nan")}),
}  # fmt: skip


def made(folder: Path, writer: str, files: int = 1) -> DeltaTable:
    data = rows(2 * GROUP + 100)
    table = DeltaTable.create(folder / "t", data.schema)
    with table.transaction() as transaction:
        for number in range(files):
            source = folder / "t" / f"source-{number}.parquet"
            pq.write_table(data, source, row_group_size=GROUP, **WRITERS[writer])
            transaction.add(
                AddFile(source.name, {}, source.stat().st_size, 0, True, stats=f'{{"numRecords":{len(data)}}}')
            )
    return DeltaTable(folder / "t")


def chunks(file: Path, leaf: int) -> list[bytes]:
    found = []
    footer, data = pq.ParquetFile(file).metadata, file.read_bytes()
    for number in range(footer.num_row_groups):
        chunk = footer.row_group(number).column(leaf)
        start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
        found.append(data[start : start + chunk.total_compressed_size])
    return found


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("writer", WRITERS)
def test_rows_are_those_of_the_model(tmp_path: Path, writer: str, update: str) -> None:
    table = made(tmp_path, writer)
    values, where, chosen, new = UPDATES[update]
    expected = [{**row, **new(row)} if chosen(row) else row for row in rows(2 * GROUP + 100).to_pylist()]
    result = table.update(values, where)
    assert result.metrics["numUpdatedRows"] == sum(map(chosen, expected))
    [written] = [each for each in COPIED if each.files]
    target, source = tmp_path / "t" / decode_path(written.files[0].path), tmp_path / "t" / "source-0.parquet"
    # NaN differs from itself.
    assert str(table.scan().to_arrow().to_pylist()) == str(expected)
    assert str(pq.read_table(target).to_pylist()) == str(expected)
    some = [row for row in expected if 495 <= row["id"] < 905]
    assert str(table.scan("id >= 495 AND id < 905").to_arrow().to_pylist()) == str(some)
    names = ["id", "s", "x", "n", "b"]
    by_duckdb = duckdb.sql(f"SELECT {', '.join(names)} FROM '{target}' WHERE id >= 495 AND id < 905 ORDER BY id")
    assert str(by_duckdb.arrow().read_all().to_pylist()) == str([{name: row[name] for name in names} for row in some])
    by_rust = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(tmp_path / "t")))
    found = pa.table(
        by_rust.execute(f"SELECT {', '.join(names)} FROM t WHERE id >= 495 AND id < 905 ORDER BY id").read_all()
    )
    assert str(found.to_pylist()) == str([{name: row[name] for name in names} for row in some])

    before, after = pq.ParquetFile(source).metadata, pq.ParquetFile(target).metadata
    assert after.created_by == before.created_by and target.stat().st_size == written.files[0].size
    changed = {name.split(".")[0] for name in values}
    for leaf in range(before.num_columns):
        is_new = before.schema.column(leaf).path.split(".")[0] in changed
        assert is_new or chunks(source, leaf) == chunks(target, leaf)
        for number in range(before.num_row_groups):
            was, is_now = before.row_group(number).column(leaf), after.row_group(number).column(leaf)
            assert is_now.has_offset_index == was.has_offset_index
    for number in range(after.num_row_groups):
        group = after.row_group(number)
        assert group.total_byte_size == sum(group.column(i).total_uncompressed_size for i in range(after.num_columns))
    [statistics] = table.scan("id >= 0").files(stats=True)["stats"].to_pylist()
    table.recompute_stats(mode="scan")
    assert [statistics] == table.scan("id >= 0").files(stats=True)["stats"].to_pylist()


@pytest.mark.parametrize(("column", "value"), [("d", "DATE'1500-01-01'"), ("n", "1.5")])
def test_files_without_a_calendar_or_of_other_types_are_not_copied(tmp_path: Path, column: str, value: str) -> None:
    table = made(tmp_path, "plain")
    # pyarrow names no calendar, and stores decimals as bytes.
    table.update({column: value}, "id = 3")
    assert not any(each.files for each in COPIED)
    table.update({column: value}, "id = 4")
    assert any(each.files for each in COPIED)
    kept, *found = table.scan("id IN (2, 3, 4)", columns=[column]).to_arrow()[column].to_pylist()
    assert (
        list(map(str, found)) == [{"d": "1500-01-01", "n": "1.50"}[column]] * 2 and kept == rows(3)[column][2].as_py()
    )


TABLES: dict[str, tuple[dict[str, str], bool]] = {
    "plain": ({}, True),
    "names": ({"delta.columnMapping.mode": "name"}, True),
    "a feed of changes": ({"delta.enableChangeDataFeed": "true"}, True),
    "row ids": ({"delta.enableRowTracking": "true"}, False),
    "a Bloom filter of a new column": ({"deltaskip.bloomColumns": "x"}, False),
    "a Bloom filter of another column": ({"deltaskip.bloomColumns": "y"}, True),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind(tmp_path: Path, kind: str) -> None:
    properties, copies = TABLES[kind]
    ddl = "id BIGINT NOT NULL, p STRING, x BIGINT, twice BIGINT GENERATED ALWAYS AS (x * 2), y BIGINT"
    table = DeltaTable.create(tmp_path / "t", ddl, ["p"], properties=properties)
    table.alter_sql("ADD CONSTRAINT small CHECK (x + y < 1000)")
    ids = range(300)
    table.append(pa.table({"id": ids, "p": ["ab"[i % 2] for i in ids], "x": ids, "y": [1] * 300}))
    table.update({"x": "x + 100"}, "id % 5 = 0 AND p = 'a'")
    assert any(each.files for each in COPIED) == copies
    expected = [i + 100 if i % 5 == 0 and i % 2 == 0 else i for i in ids]
    found = table.scan().to_arrow().sort_by("id").to_pydict()
    assert found["x"] == expected and found["twice"] == [2 * x for x in expected]
    assert found["p"] == ["ab"[i % 2] for i in ids] and found["y"] == [1] * 300
    COPIED.clear()
    before = files_below(tmp_path / "t")
    with pytest.raises(RowViolation, match=r"small .*p=.*y=") as error:
        table.update({"x": "x + 900"}, "id = 298")
    assert error.value.row is not None and error.value.row["y"] == 1
    refuses(PredicateError, None, table.update, {"x": "x DIV (id - 7)"})
    assert files_below(tmp_path / "t") == before
    # A partition that changes moves its rows.
    table.update({"p": "'c'"}, "id < 10")
    assert not any(each.files for each in COPIED)
    assert sorted(table.scan("p = 'c'").to_arrow()["id"].to_pylist()) == list(range(10))


def test_rows_that_were_deleted_before_stay_deleted(tmp_path: Path) -> None:
    table = made(tmp_path, "plain", files=2)
    table.alter_sql("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    table.delete("id = 5")
    table.alter_sql("SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')")
    table.update({"x": "1"}, "id = 6")
    assert not any(each.files for each in COPIED)
    ids = table.scan().to_arrow()["id"].to_pylist()
    assert 5 not in ids and ids.count(6) == 2 and len(ids) == 2 * (2 * GROUP + 99)


def test_an_error_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = made(tmp_path, "plain", files=3)
    before = files_below(tmp_path / "t")
    copy, left = copied_row_groups.copy_row_groups, [1]

    def failing(*given: Any) -> Any:
        if not left:
            raise StorageError("the disk is full")
        left.pop()
        return copy(*given)

    monkeypatch.setattr("deltaskip.dml.unchanged_columns.copy_row_groups", failing)
    refuses(StorageError, "the disk is full", table.update, {"x": "1"})
    assert files_below(tmp_path / "t") == before
    monkeypatch.setattr("deltaskip.dml.unchanged_columns.copy_row_groups", copy)
    monkeypatch.setattr(pq.ParquetWriter, "write_table", raising(OSError(28, "No space left on device")))
    refuses(StorageError, "No space left", table.update, {"x": "1"})
    assert files_below(tmp_path / "t") == before
