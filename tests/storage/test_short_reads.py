"""Reads of which fewer bytes arrive than the store listed: the rows of the table, or an error that says so."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import ChecksumWarning, DeltaSkipError, StorageError
from tests.each import each
from tests.extent import some
from tests.storage.counted import server, stored_at
from tests.storage.slow_s3 import SlowS3

pytest.importorskip("obstore")
__all__ = ["server"]

# name, properties, whether a JSON checkpoint replaces the commits
TABLES = (
    ("commits", {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}),
    ("classic", {"delta.checkpointInterval": "4"}),
    ("v2", {"delta.checkpointInterval": "4", "delta.checkpointPolicy": "v2"}),
    ("json", {"delta.checkpointPolicy": "v2"}),
)


def made(folder: Path, properties: dict[str, str]) -> list[int]:
    """A table with several commits, and its rows."""
    table = ds.DeltaTable.create(folder, "id BIGINT, p STRING", ["p"], properties=properties)
    for number in range(4):
        table.append(pa.table({"id": range(10 * number, 10 * number + 6), "p": ["a", "b", "c"] * 2}))
    table.delete("id = 21")
    if folder.name == "json":
        log = folder / "_delta_log"
        commits = [log / f"{version:020}.json" for version in range(4)]
        lines = [line for commit in commits for line in commit.read_text().splitlines()]
        kept = [line for line in lines if "commitInfo" not in line]
        metadata = json.dumps({"checkpointMetadata": {"version": 3}})
        name = f"{3:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json"
        (log / name).write_text("".join(f"{line}\n" for line in [metadata, *kept]))
        for commit in commits:
            commit.unlink()
    return sorted(ds.DeltaTable(folder).scan().to_arrow()["id"].to_pylist())


@pytest.fixture(scope="module")
def tables(server: SlowS3) -> dict[str, list[int]]:
    return {name: made(server.folder / "bucket" / name, properties) for name, properties in TABLES}


def cuts(file: Path) -> Iterator[int]:
    """Lengths at which a file is cut: for text at the end of each line, where what is left is valid."""
    data = file.read_bytes()
    yield 0
    if file.suffix == ".json":
        yield from [at + 1 for at, byte in enumerate(data[:-1]) if byte == ord("\n")]
    yield from (len(data) // 2, len(data) - 1)


@pytest.mark.filterwarnings("ignore::deltaskip.errors.ChecksumWarning")
@pytest.mark.parametrize("name", [name for name, _ in TABLES])
def test_a_read_that_is_short_is_never_fewer_rows(server: SlowS3, tables: dict[str, list[int]], name: str) -> None:
    folder = server.folder / "bucket" / name
    files = [path for path in folder.rglob("*") if path.is_file()]
    wrong_files = set()

    def check(case: tuple[str, int]) -> None:
        key, length = case
        server.cut = lambda got, data: data[:length] if got == f"{name}/{key}" else data
        try:
            found = sorted(stored_at(server, name).scan().to_arrow()["id"].to_pylist())
        except DeltaSkipError as error:
            wrong_files.add(key)
            assert Path(key).name in str(error), error
        else:
            assert found == tables[name]
        finally:
            server.cut = lambda _key, data: data

    cases = [(path.relative_to(folder).as_posix(), length) for path in files for length in cuts(path)]
    each(some(cases, 40), check)
    assert len(wrong_files) > 2


def test_a_read_that_is_short_once_is_repeated(server: SlowS3, tables: dict[str, list[int]]) -> None:
    seen = set()
    # Otherwise the table is opened without its first commits.
    for checksum in server.folder.glob("bucket/commits/_delta_log/*.crc"):
        checksum.unlink()

    def cut(key: str, data: bytes) -> bytes:
        first = key not in seen
        seen.add(key)
        return data[: data.find(b"\n") + 1] if first and key.endswith("0.json") else data

    server.cut = cut
    assert sorted(stored_at(server, "commits").scan().to_arrow()["id"].to_pylist()) == tables["commits"]
    server.cut = lambda key, data: data[: data.find(b"\n") + 1] if key.endswith("0.json") else data
    with pytest.raises(StorageError, match=r"0{20}\.json: it has \d+ bytes, and the storage returned \d+"):
        stored_at(server, "commits").scan().to_arrow()
    server.cut = lambda _key, data: data


def test_a_local_commit_that_was_cut_differs_from_its_checksum(tmp_path: Path) -> None:
    made(tmp_path / "t", {})
    for number in range(1, 6):
        copy = Path(shutil.copytree(tmp_path / "t", tmp_path / f"{number}"))
        commit = copy / "_delta_log" / f"{number:020}.json"
        lines = commit.read_text().splitlines(keepends=True)
        commit.write_text("".join(lines[:-1]))
        with pytest.warns(ChecksumWarning, match="a commit or checkpoint was changed after it was written"):
            ds.DeltaTable(copy)
