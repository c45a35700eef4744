"""No table at the path: each case said in its own words, with a cure."""

from pathlib import Path

import pytest

from deltaskip.errors import TableNotFound
from deltaskip.log import load_snapshot
from deltaskip.storage import open_storage
from tests.log.builder import TableBuilder, add
from tests.looped import looped

CREATE = "create a table with deltaskip.write(folder, rows)"


def message(path: Path) -> str:
    with pytest.raises(TableNotFound) as raised:
        load_snapshot(*open_storage(path))
    text = str(raised.value)
    assert str(path) in text
    return text


# What there is (a folder ends with a slash), the path, what is said of it; {} is the folder of the test.
LOG = "t/_delta_log/00000000000000000000.json"
CASES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "no such path": ((), "nothing", "no such path"),
    "a file": (("x.parquet",), "x.parquet", f"specify a folder. To make a table of its rows, {CREATE}."),
    "an empty folder": (("t/",), "t", f"neither files nor a _delta_log folder. Check the path, or {CREATE}."),
    "a folder without a log": (("t/notes.txt",), "t", "has no _delta_log folder; check the path"),
    "a folder of Parquet files": (
        ("t/part-0.parquet",), "t", "with deltaskip.convert_to_delta(path) or CONVERT TO DELTA, or read it with spark"),
    "an empty log": (("t/_delta_log/",), "t", "_delta_log contains no commit and no checkpoint"),
    "a log without commits": (
        tuple(f"t/_delta_log/{name}" for name in ("_last_checkpoint", "notes.txt", "00000000000000000000.crc")), "t",
        "_delta_log contains no commit and no checkpoint"),
    "the log itself": ((LOG,), "t/_delta_log", "open {}/t instead"),
    "a folder inside the log": ((LOG, "t/_delta_log/_sidecars/"), "t/_delta_log/_sidecars", "open {}/t instead"),
    "a partition's folder": ((LOG, "t/day=1/a.parquet"), "t/day=1", "inside the Delta table {}/t"),
    "a partition's file": ((LOG, "t/day=1/a.parquet"), "t/day=1/a.parquet", "inside the Delta table {}/t"),
}  # fmt: skip


@looped("case", CASES)
def test_each_case_has_words_of_its_own(tmp_path: Path, case: str) -> None:
    there, path, said = CASES[case]
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).touch()
    found = message(tmp_path / path)
    assert found.endswith(said) if said.endswith(".") else said.format(tmp_path) in found


def test_a_path_that_is_spelled_like_that_of_a_table(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "customers").commit([add("a")])
    (tmp_path / "custom").mkdir()
    assert message(tmp_path / "custmers").endswith(f"Did you mean {tmp_path / 'customers'}?")
    for other in ("orders", "custo"):  # near to nothing, and to a folder that is no table
        assert message(tmp_path / other).endswith(f"no such path. Check the path, or {CREATE}.")


def test_a_name_of_a_catalog_in_place_of_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("sales.orders", "lake.sales.orders"):
        assert f"a name in a catalog? Then open it with ds.catalog(…).load_table({name!r})" in message(tmp_path / name)
    for path in ("orders", "a.b.c.d", "2024.01", "folder/sales.orders"):
        assert "a name in a catalog" not in message(tmp_path / path)
