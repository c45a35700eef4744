"""Rows in one line: `deltaskip.write`, and `DeltaTable.create` with rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import deltaskip as ds
from tests.looped import looped

ROWS = [{"id": 1, "day": "a"}, {"id": 2, "day": "b"}]
ARROW = pa.table({"id": [1, 2], "day": ["a", "b"]})
FORMS: dict[str, Callable[[], Any]] = {
    "dicts": lambda: ROWS,
    "lists": lambda: {"id": [1, 2], "day": ["a", "b"]},
    "pyarrow": lambda: ARROW,
    "batch": lambda: ARROW.to_batches()[0],
    "reader": lambda: ARROW.to_reader(),
    "dataset": lambda: pyarrow.dataset.dataset(ARROW),
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
}


def stored(table: Path) -> list[dict[str, Any]]:
    return sorted(ds.DeltaTable(table).scan().to_arrow().to_pylist(), key=lambda row: row["id"])


@looped("form", list(FORMS))
def test_every_form_of_rows_creates_a_table_which_others_read(form: str, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    makers: dict[str, Callable[[Path], object]] = {
        "write": lambda path: ds.write(path, FORMS[form](), partition_by=["day"]),
        "create": lambda path: ds.DeltaTable.create(path, FORMS[form](), partition_by=["day"]),
        "replace": lambda path: (
            ds.DeltaTable.create(path, "x INT"),
            ds.DeltaTable.create(path, FORMS[form](), partition_by=["day"], mode="replace"),
        ),
    }
    for name, make in makers.items():
        make(tmp_path / form / name)
        table = ds.DeltaTable(tmp_path / form / name)
        assert stored(tmp_path / form / name) == ROWS
        assert table.partition_columns == ("day",) and all(field.nullable for field in table.schema.fields)
        assert table.version == (name == "replace")
        other = deltalake.DeltaTable(str(tmp_path / form / name)).to_pyarrow_table()
        assert sorted(other.select(["id", "day"]).to_pylist(), key=lambda row: row["id"]) == ROWS


def test_a_second_write_appends_overwrites_or_leaves_the_table_as_its_mode_says(tmp_path: Path) -> None:
    path, more = tmp_path / "t", [{"id": 3, "day": "a"}]
    first = ds.write(path, ROWS, partition_by="day")
    assert (first.version, first.operation, first.metrics["numOutputRows"]) == (0, "WRITE", 2)
    assert ds.write(path, more, partition_by=["DAY"]).version == 1
    assert stored(path) == [*ROWS, *more]
    ignored = ds.write(path, more, "ignore")
    assert ignored.version is None and "exists" in ignored.nothing_written
    with pytest.raises(ds.TableAlreadyExists, match="mode='append', or replace all rows with mode='overwrite'"):
        ds.write(path, more, "error")
    assert ds.write(path, more, "overwrite").version == 2
    assert stored(path) == more
    table = ds.DeltaTable(path)
    assert ds.write(table, [{"id": 4, "day": "c", "n": 1}], schema_mode="merge").version == 3 == table.version
    assert ds.write(path, [{"x": 1}], "overwrite", [], schema_mode="replace").version == 4
    assert (ds.DeltaTable(path).schema.names, ds.DeltaTable(path).partition_columns) == (("x",), ())


def test_the_history_names_the_mode_and_a_repeated_version_of_an_application_is_not_written(tmp_path: Path) -> None:
    for mode, name in (
        ("append", "Append"),
        ("overwrite", "Overwrite"),
        ("error", "ErrorIfExists"),
        ("ignore", "Ignore"),
    ):
        ds.write(tmp_path / mode, ROWS, mode, "day", txn=("job", 1), user_metadata="first")
        [entry] = ds.DeltaTable(tmp_path / mode).history()
        assert entry.operation_parameters == {"mode": name, "partitionBy": '["day"]'}
        assert entry.operation_metrics["numOutputRows"] == "2"
        assert '"userMetadata":"first"' in next((tmp_path / mode / "_delta_log").glob("*.json")).read_text()
    again = ds.write(tmp_path / "append", ROWS, txn=("job", 1))
    assert again.version is None and stored(tmp_path / "append") == ROWS


def test_what_cannot_be_written_says_what_to_do_and_leaves_nothing(tmp_path: Path) -> None:
    new, there = tmp_path / "new", tmp_path / "there"
    ds.write(there, ROWS, partition_by="day")
    cases: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: ds.write(new, ROWS, "create"), ds.InvalidArgument, "mode must be append, overwrite, error or ignore"),
        (lambda: ds.write(new, {"id": [1], "n": [None]}), ds.SchemaError, r"column n .* no value .* a cast"),
        (lambda: ds.DeltaTable.create(new, {"id": [1], "n": [[]]}), ds.SchemaError, r"column n .* no value"),
        (lambda: ds.write(new, ROWS, partition_by="dya"), ds.SchemaError, "columns are id, day"),
        (lambda: ds.write(new, "id INT"), ds.InvalidArgumentType, "data must be a DataFrame"),
        (lambda: ds.write(there, ROWS, partition_by="id"), ds.InvalidArgument, "by day, and not by id: leave partit"),
        (lambda: ds.write(there, ROWS, partition_by=[]), ds.InvalidArgument, "by day, and not by no columns"),
        (lambda: ds.write(there, ROWS, schema_mode="replace"), ds.InvalidArgument, "needs mode='overwrite'"),
        (lambda: ds.write(there, [{"id": 1, "dya": "a"}]), ds.SchemaError, "dya"),
    ]
    for call, error, said in cases:
        with pytest.raises(error, match=said):
            call()
    assert not new.exists() and stored(there) == ROWS


@pytest.mark.parametrize("once", [False, True])
def test_rows_reach_a_table_created_meanwhile(once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.table import creation
    from deltaskip.table import written as module

    commit = creation.commit_with_rows

    def after_another(transaction: Any, rows: Any, zone: str) -> Any:
        monkeypatch.undo()
        ds.write(tmp_path / "t", [{"id": 0, "day": "z"}])
        return commit(transaction, rows, zone)

    monkeypatch.setattr(module, "commit_with_rows", after_another)
    if once:
        with pytest.raises(ds.CommitConflict, match="read only once: write them again"):
            ds.write(tmp_path / "t", ARROW.to_reader())
    else:
        assert ds.write(tmp_path / "t", ARROW).version == 1
    assert stored(tmp_path / "t") == [{"id": 0, "day": "z"}, *([] if once else ROWS)]
    files = list((tmp_path / "t").rglob("*.parquet"))
    assert len(files) == len(ds.DeltaTable(tmp_path / "t").scan().paths())


@pytest.mark.spark
def test_a_dataframe_of_spark_creates_a_table_with_columns_that_accept_null(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id BIGINT NOT NULL, day STRING")
    assert ds.write(tmp_path / "t", frame, partition_by=["day"]).metrics["numOutputRows"] == 2
    ds.DeltaTable.create(tmp_path / "u", frame)
    assert stored(tmp_path / "t") == stored(tmp_path / "u") == ROWS
    assert ds.DeltaTable(tmp_path / "u").schema.fields[0].nullable
