"""No table at the path: each case said in its own words, with a cure."""

from pathlib import Path

import pytest

from deltaskip.errors import TableNotFound
from deltaskip.log import load_snapshot
from deltaskip.storage import open_storage
from tests.log.builder import TableBuilder, add

CREATE = "create a table with deltaskip.write(folder, rows)"


def message(path: Path) -> str:
    with pytest.raises(TableNotFound) as raised:
        load_snapshot(*open_storage(path))
    text = str(raised.value)
    assert str(path) in text
    return text


def test_no_such_path(tmp_path: Path) -> None:
    assert "no such path" in message(tmp_path / "nothing")


def test_a_path_that_is_spelled_like_that_of_a_table(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "customers").commit([add("a")])
    (tmp_path / "custom").mkdir()
    assert message(tmp_path / "custmers").endswith(f"Did you mean {tmp_path / 'customers'}?")
    for other in ("orders", "custo"):  # near to nothing, and to a folder that is no table
        assert message(tmp_path / other).endswith(f"no such path. Check the path, or {CREATE}.")


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    file.touch()
    assert message(file).endswith(f"specify a folder. To make a table of its rows, {CREATE}.")


def test_an_empty_folder(tmp_path: Path) -> None:
    assert message(tmp_path).endswith(f"neither files nor a _delta_log folder. Check the path, or {CREATE}.")


def test_a_folder_without_a_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    assert "has no _delta_log folder; check the path" in message(tmp_path)


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").touch()
    assert "with deltaskip.convert_to_delta(path) or CONVERT TO DELTA, or read it with spark" in message(tmp_path)


@pytest.mark.parametrize("names", [[], ["_last_checkpoint", "notes.txt", "00000000000000000000.crc"]])
def test_an_empty_log(tmp_path: Path, names: list[str]) -> None:
    (tmp_path / "_delta_log").mkdir()
    for name in names:
        (tmp_path / "_delta_log" / name).touch()
    assert "_delta_log contains no commit and no checkpoint" in message(tmp_path)


def test_the_log_itself(table: TableBuilder) -> None:
    table.commit(add("a"))
    assert f"open {table.path} instead" in message(table.log)


def test_a_folder_inside_the_log(table: TableBuilder) -> None:
    table.commit(add("a"))
    folder = table.log / "_sidecars"
    folder.mkdir()
    assert f"open {table.path} instead" in message(folder)


def test_a_partition_s_folder(table: TableBuilder) -> None:
    table.commit(add("day=1/a.parquet"))
    folder = table.path / "day=1"
    folder.mkdir()
    (folder / "a.parquet").touch()
    assert f"inside the Delta table {table.path}" in message(folder)
    assert f"inside the Delta table {table.path}" in message(folder / "a.parquet")


def test_a_name_of_a_catalog_in_place_of_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("sales.orders", "lake.sales.orders"):
        assert f"a name in a catalog? Then open it with ds.catalog(…).load_table({name!r})" in message(tmp_path / name)
    for path in ("orders", "a.b.c.d", "2024.01", "folder/sales.orders"):
        assert "a name in a catalog" not in message(tmp_path / path)
