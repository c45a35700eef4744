"""A table on an S3-compatible server, committed to, checkpointed and cleaned up as one on disk."""

from __future__ import annotations

import json
import threading

import pytest

import deltaskip as ds
from deltaskip.errors import CommitConflict
from deltaskip.schema import schema_to_json
from deltaskip.storage import Storage
from tests.storage.s3 import endpoint, s3_options, store
from tests.txn.tables import SCHEMA, file, gone, protocol_of

__all__ = ["endpoint", "s3_options", "store"]

THREADS, COMMITS = 4, 6


@pytest.fixture(params=["classic", "v2"])
def uri(request: pytest.FixtureRequest, store: tuple[Storage, str]) -> str:
    """A table that is checkpointed every five commits."""
    storage, root = store
    root = f"{root}-table".replace("[", "-").replace("]", "-")
    properties = {"delta.checkpointInterval": "5", "delta.checkpointPolicy": request.param}
    features = ["v2Checkpoint"] if request.param == "v2" else []
    head = [
        {"protocol": protocol_of(features)},
        {
            "metaData": {
                "id": "s3", "format": {"provider": "parquet", "options": {}}, "schemaString": schema_to_json(SCHEMA),
                "partitionColumns": [], "configuration": properties,
            }
        },
    ]
    text = "".join(json.dumps(line) + "\n" for line in head)
    storage.put_if_absent(f"{root}/_delta_log/{0:020d}.json", text.encode())
    return root


def test_commits_of_many_writers_are_there_once_each(uri: str, s3_options: dict[str, str]) -> None:
    versions: list[int] = []
    failed: list[BaseException] = []

    def write(name: str) -> None:
        try:
            table = ds.DeltaTable(uri, storage_options=s3_options)
            for number in range(COMMITS):
                txn = table.refresh().transaction()
                txn.add(file(f"{name}-{number}"))
                versions.append(txn.commit())
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(f"t{number}",)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(versions) == list(range(1, THREADS * COMMITS + 1))
    table = ds.DeltaTable(uri, storage_options=s3_options)
    expected = sorted(f"t{thread}-{number}" for thread in range(THREADS) for number in range(COMMITS))
    assert sorted(table.scan().files(columns=["path"])["path"].to_pylist()) == expected
    assert table.snapshot.checkpoint is not None
    assert table.snapshot.checkpoint.version == 20
    table.snapshot.storage.read(f"{uri}/_delta_log/{20:020d}.crc")


def test_conflicts_are_found_and_nothing_is_written(uri: str, s3_options: dict[str, str]) -> None:
    table = ds.DeltaTable(uri, storage_options=s3_options)
    first = table.transaction()
    first.add(file("a"))
    first.commit()
    table.refresh()
    mine, other = table.transaction(), table.transaction()
    mine.remove(gone("a"))
    other.remove(gone("a"))
    other.commit()
    with pytest.raises(CommitConflict, match="ended a"):
        mine.commit()
    assert table.refresh().version == 2
    assert table.clean_up_log() == []
