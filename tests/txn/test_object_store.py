"""A table on an S3-compatible server, committed to, checkpointed and cleaned up as one on disk."""

import pytest

import deltaskip as ds
from deltaskip.storage import Storage
from tests.storage.s3 import endpoint, s3_options, store
from tests.txn.tables import append_in_threads, conflict_over_one_file, put_table

pytestmark = pytest.mark.usefixtures("without_look_ups")

__all__ = ["endpoint", "s3_options", "store"]

THREADS, COMMITS = 4, 3


@pytest.fixture(params=["classic", "v2"])
def uri(request: pytest.FixtureRequest, store: tuple[Storage, str]) -> str:
    """A table that is checkpointed every five commits."""
    storage, root = store
    root = f"{root}-table".replace("[", "-").replace("]", "-")
    properties = {"delta.checkpointInterval": "5", "delta.checkpointPolicy": request.param}
    features = ["v2Checkpoint"] if request.param == "v2" else []
    return put_table(storage, root, properties, features)


def test_commits_of_many_writers_are_there_once_each(uri: str, s3_options: dict[str, str]) -> None:
    versions = append_in_threads(lambda: ds.DeltaTable(uri, storage_options=s3_options), THREADS, COMMITS)
    assert sorted(versions) == list(range(1, THREADS * COMMITS + 1))
    table = ds.DeltaTable(uri, storage_options=s3_options)
    expected = sorted(f"t{thread}-{number}" for thread in range(THREADS) for number in range(COMMITS))
    assert sorted(table.scan().files(columns=["path"])["path"].to_pylist()) == expected
    assert table.snapshot.whole.checkpoint is not None
    assert table.snapshot.whole.checkpoint.version == 10
    table.snapshot.storage.read(f"{uri}/_delta_log/{10:020d}.crc")


def test_conflicts_are_found_and_nothing_is_written(uri: str, s3_options: dict[str, str]) -> None:
    table = ds.DeltaTable(uri, storage_options=s3_options)
    conflict_over_one_file(table)
    assert table.clean_up_log() == []
