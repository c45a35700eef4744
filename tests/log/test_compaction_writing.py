"""Log compactions that commits leave: readers find the same table in them as in the commits."""

import json
import random
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.log.compaction_writing import write_compaction
from tests.log.builder import TableBuilder, add, log_name, remove
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

__all__ = ["server"]


def rows(start: int) -> pa.Table:
    return pa.table({"id": list(range(start, start + 10)), "s": ["x"] * 10})


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_table_is_the_same_without_its_commits(tmp_path: Path, vectors: str) -> None:
    properties = {"delta.checkpointInterval": "100", "delta.enableDeletionVectors": vectors}
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING", properties=properties)
    chance = random.Random(7)
    for number in range(41):
        match chance.randrange(4):
            case 0:
                table.delete(f"id % 10 = {number % 10}")
            case 1:
                table.update({"s": f"'u{number}'"}, f"id % 7 = {number % 7}")
            case _:
                table.append(rows(10 * number), txn=("app", number))
    while table.version < 41:
        table.append(rows(10 * table.version))
    log = tmp_path / "t" / "_delta_log"
    assert sorted(path.name[:41] for path in log.glob("*.compacted.json")) == [
        f"{first:020d}.{first + 19:020d}" for first in (1, 21)
    ]
    assert ds.verify(tmp_path / "t", data=True).findings == ()
    expected = table.scan().to_arrow().sort_by("id")
    if vectors == "false":
        found = deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table().sort_by("id")
        assert found.to_pylist() == expected.to_pylist()
    apps = dict(table.app_versions)
    for version in range(1, 41):
        (log / log_name(version, "json")).unlink()
    opened = ds.DeltaTable(tmp_path / "t")
    assert opened.scan().to_arrow().sort_by("id").to_pylist() == expected.to_pylist()
    assert dict(opened.app_versions) == apps
    assert opened.schema == table.schema


@pytest.mark.parametrize("damage", [None, b"damaged", b"", b'{"add":{"path":"a","partitionValues":{},"size":1}}\n' * 2])
def test_compactions_replace_many_commits(server: SlowS3, request: pytest.FixtureRequest, damage: bytes | None) -> None:
    name = f"t{request.node.callspec.indices['damage']}"
    path = server.folder / "bucket" / name
    table = ds.DeltaTable.create(path, "id BIGINT, s STRING", properties={"delta.checkpointInterval": "100"})
    for number in range(45):
        table.append(rows(10 * number), txn=("app", number))
    table.delete("id < 15")
    [first, second] = sorted(path.glob("_delta_log/*.compacted.json"))
    if damage is not None:
        second.write_bytes(damage)
    # It would list the files, so that neither commits nor compactions are read.
    (path / "_delta_log" / log_name(46, "crc")).unlink()
    server.begin()
    found = stored_at(server, name)
    texts = [each.split()[1].rpartition("/")[2] for each in server.log if each.endswith(".json")]
    expected = [first.name, second.name, *(log_name(version, "json") for version in (0, *range(41, 47)))]
    assert set(texts) >= set(expected) and (damage is not None or len(texts) == len(expected))
    assert found.version == 46 and found.app_versions == table.app_versions
    assert found.scan().to_arrow().sort_by("id") == table.scan().to_arrow().sort_by("id")
    table.append(rows(1000))
    assert found.refresh().scan().to_arrow().num_rows == 10 * 46 - 15
    found.update({"s": "'y'"}, "id = 20")
    assert table.refresh().scan("id = 20").to_arrow()["s"].to_pylist() == ["y"]


@pytest.mark.filterwarnings("error::deltaskip.errors.ChecksumWarning")
def test_a_compaction_that_contradicts_the_checksum_is_not_used(server: SlowS3) -> None:
    path = server.folder / "bucket" / "lying"
    table = ds.DeltaTable.create(path, "id BIGINT, s STRING", properties={"delta.checkpointInterval": "100"})
    for number in range(65):
        table.append(rows(10 * number))
    [first, *_] = sorted(path.glob("_delta_log/*.compacted.json"))
    lines = first.read_text().splitlines(keepends=True)
    first.write_text("".join(line for line in lines if line != next(each for each in lines if '"add"' in each)))
    assert stored_at(server, "lying").scan().to_arrow().num_rows == table.scan().to_arrow().num_rows


def test_tables_with_frequent_checkpoints_have_none(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    for number in range(20):
        table.append(pa.table({"id": [number]}))
    assert not list(tmp_path.glob("t/_delta_log/*.compacted.json"))


@pytest.mark.parametrize("last", [[{"somethingNew": {"x": 1}}], [add("f3", dv="q")], [{"add": {"size": 1}}, add("g")]])
def test_what_has_no_reconciled_form_is_not_compacted(table: TableBuilder, last: list[dict[str, object]]) -> None:
    for version in range(20):
        table.commit(add(f"f{version}"))
    text = "".join(json.dumps(each) + "\n" for each in last)
    table.raw_commit(20, text)
    snapshot = table.load(19)
    assert write_compaction(snapshot, 20) is None
    table.raw_commit(20, json.dumps(remove("f3")) + "\n")
    assert write_compaction(snapshot, 20) == f"{1:020d}.{20:020d}.compacted.json"
    assert write_compaction(snapshot, 20) is None


@pytest.mark.parametrize("hint", [True, False])
def test_a_store_lists_a_long_log_from_the_checkpoint_on(server: SlowS3, hint: bool) -> None:
    path = server.folder / "bucket" / f"long{hint}"
    table = TableBuilder(path)
    for version in range(2_200):
        table.commit(add(f"f{version}"), *([remove(f"f{version - 1}")] if version else []))
    ds.DeltaTable(path, version=2_150).checkpoint()
    if not hint:
        (table.log / "_last_checkpoint").unlink()
    server.begin()
    found = stored_at(server, path.name)
    assert found.scan().files()["uri"].to_pylist() == [f"s3://bucket/{path.name}/f2199"]
    # The first page, beside the hint, and what follows the checkpoint; else all three pages.
    assert sum("list-type" in each for each in server.log) == (2 if hint else 1 + 3)
    table.commit(add("more"))
    server.begin()
    assert found.refresh().version == 2_200
    assert sum("list-type" in each for each in server.log) == 1
