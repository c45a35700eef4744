"""Tables to write to: logs with every property and feature that a test names, and actions for them."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.actions import AddFile, DeletionVectorDescriptor, RemoveFile
from deltaskip.errors import CommitConflict
from deltaskip.sparkexpr.types import INTEGER, LONG, STRING, StructField, StructType
from deltaskip.storage import Storage
from tests.builder import TableBuilder, json_lines, logged, metadata, protocol_of

SCHEMA = StructType((StructField("id", LONG), StructField("name", STRING), StructField("part", INTEGER)))


def make_table(
    path: Path,
    properties: Mapping[str, str] | None = None,
    features: Sequence[str] = (),
    schema: StructType = SCHEMA,
    partition_by: Sequence[str] = (),
    actions: Sequence[Mapping[str, Any]] = (),
    protocol: Mapping[str, Any] | None = None,
) -> ds.DeltaTable:
    """Version 0 of a table; with `features` its protocol lists just those."""
    builder = TableBuilder(path, schema, partition_by, properties, protocol or protocol_of(features))
    builder.commit(*actions, engine=None, operation="CREATE", inCommitTimestamp=1_700_000_000_000)
    return ds.DeltaTable(path)


def put_table(
    storage: Storage, root: str, properties: Mapping[str, str] | None = None, features: Sequence[str] = ()
) -> str:
    """The root of a new table of a storage; version 0 has no files."""
    head = [{"protocol": protocol_of(features)}, metadata(SCHEMA, properties=properties)]
    storage.put_if_absent(f"{root}/_delta_log/{0:020d}.json", json_lines(head).encode())
    return root


def append_in_threads(opened: Callable[[], ds.DeltaTable], threads: int, commits: int) -> list[int]:
    """The versions that so many writers made, one file a commit: t0-0, t0-1 …, t1-0 …; raises what a writer raised."""

    def write(name: str) -> list[int]:
        table = opened()
        versions = []
        for number in range(commits):
            txn = table.refresh().transaction()
            txn.add(file(f"{name}-{number}"))
            versions.append(txn.commit())
        return versions

    with ThreadPoolExecutor(threads) as pool:
        return [version for made in pool.map(write, [f"t{i}" for i in range(threads)]) for version in made]


def conflict_over_one_file(table: ds.DeltaTable) -> None:
    """Two writers remove the only file: the second conflicts, and writes nothing."""
    with table.transaction() as first:
        first.add(file("a"))
    table.refresh()
    mine, other = table.transaction(), table.transaction()
    mine.remove(gone("a"))
    other.remove(gone("a"))
    other.commit()
    with pytest.raises(CommitConflict, match="removed a"):
        mine.commit()
    assert table.refresh().version == 2


def file(path: str, low: int = 0, high: int = 9, rows: int = 10, **members: Any) -> AddFile:
    """An add of a file of so many rows whose id is within [low, high]."""
    stats = {"numRecords": rows, "minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}}
    usual = {"partition_values": {}, "size": 100, "modification_time": 1, "data_change": True}
    return AddFile(path, **{**usual, "stats": json.dumps(stats), **members})


def gone(path: str, **members: Any) -> RemoveFile:
    """A remove of a file."""
    return RemoveFile(path, **{"data_change": True, "deletion_timestamp": 1_700_000_000_000, "size": 100, **members})


def vector(name: str) -> DeletionVectorDescriptor:
    """A deletion vector that is never read."""
    return DeletionVectorDescriptor("u", f"ab{name:0>18}", 40, 2, 1)


def append(table: ds.DeltaTable, *files: AddFile) -> int:
    """Commit the files as a blind append to the table's latest version."""
    txn = ds.DeltaTable(table.snapshot.root).transaction(look_up_files=False)
    txn.add(*files)
    return txn.commit()


def actions(path: Path, version: int, name: str) -> list[dict[str, Any]]:
    """The members of a commit's actions of that name."""
    return [line[name] for line in logged(path, version) if name in line]


def paths(path: Path) -> list[str]:
    """Active files of the latest version, sorted."""
    return sorted(ds.DeltaTable(path).scan().files(columns=["path"])["path"].to_pylist())


def commits(table: ds.DeltaTable) -> int:
    """Number of commits in the log."""
    return len(list(Path(table.snapshot.root, "_delta_log").glob("*.json")))
