"""A table on HDFS, committed to, checkpointed and cleaned up as one on disk; also by writers that are killed."""

from collections.abc import Callable

import pytest

import deltaskip as ds
from deltaskip.storage import hadoop
from deltaskip.storage.hadoop import HadoopStorage
from tests.storage.hdfs import NEEDS_HDFS, Cluster, cluster, serve
from tests.txn.killed import replacing, steps_of
from tests.txn.tables import append_in_threads, conflict_over_one_file, file, gone, put_table

__all__ = ["cluster"]

pytestmark = [*NEEDS_HDFS, pytest.mark.usefixtures("without_look_ups")]

THREADS, COMMITS = 4, 5


@pytest.fixture
def served(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A folder of the test's own; locations on HDFS open without a Spark session."""
    monkeypatch.setattr(hadoop, "session_storage", hadoop.session_storage)
    serve(cluster)
    return f"{cluster.uri}/{request.node.name}"


def paths(root: str) -> list[str]:
    return sorted(ds.DeltaTable(root).scan().files(columns=["path"])["path"].to_pylist())


@pytest.mark.long
def test_commits_of_many_writers_are_there_once_each(cluster: Cluster, served: str) -> None:
    root = put_table(cluster.storage(), f"{served}/a table %41 é", {"delta.checkpointInterval": "5"})
    versions = append_in_threads(lambda: ds.DeltaTable(root), THREADS, COMMITS)
    assert sorted(versions) == list(range(1, THREADS * COMMITS + 1))
    assert paths(root) == sorted(f"t{thread}-{number}" for thread in range(THREADS) for number in range(COMMITS))
    checkpoint = ds.DeltaTable(root).snapshot.checkpoint
    assert checkpoint is not None and checkpoint.version == THREADS * COMMITS


def test_conflicts_are_found_and_nothing_is_written(cluster: Cluster, served: str) -> None:
    table = ds.DeltaTable(put_table(cluster.storage(), served))
    conflict_over_one_file(table)


def test_a_log_is_cleaned_up_behind_its_checkpoint(cluster: Cluster, served: str) -> None:
    storage = cluster.storage()
    table = ds.DeltaTable(put_table(storage, served))
    for name in "abc":
        txn = table.refresh().transaction()
        txn.add(file(name))
        txn.commit()
    table.refresh().checkpoint()
    assert table.clean_up_log() == []
    _age(storage, f"{served}/_delta_log")
    deleted = table.clean_up_log()
    assert len(deleted) >= 3
    names = [info.name for info in storage.list_from(f"{served}/_delta_log", "")]
    assert f"{0:020d}.json" not in names and f"{3:020d}.checkpoint.parquet" in names
    assert (ds.DeltaTable(served).version, paths(served)) == (3, ["a", "b", "c"])


def _age(storage: HadoopStorage, log: str) -> None:
    for info in storage.list_from(log, ""):
        storage._files.setTimes(storage._path(info.path), 1_000_000_000_000, -1)


def begun(stop: int, port: str, token: str, uri: str, folder: str) -> Callable[[], object]:
    """A writer on a table of version 0 without files and version 1 with two, a and b."""
    cluster = Cluster(int(port), token, uri)
    serve(cluster)
    root = put_table(cluster.storage(), f"{folder}/{stop}")
    first = ds.DeltaTable(root).transaction(look_up_files=False)
    first.add(file("a"), file("b"))
    first.commit()
    return replacing(root).commit


@pytest.fixture(scope="module")
def killed(cluster: Cluster) -> tuple[str, list[str]]:
    """The folder of the tables, and at which step the writer of each was killed."""
    folder = f"{cluster.uri}/killed"
    return folder, steps_of(begun, cluster.port, cluster.token, cluster.uri, folder, most=None, too_many=50)


@pytest.mark.long
def test_a_killed_writer_leaves_the_old_or_the_new_version(killed: tuple[str, list[str]], served: str) -> None:
    folder, steps = killed
    assert steps[:6] == ["prepared", "opened", "written", "synced", "renamed", "committed"]
    for stop, step in enumerate(steps):
        expected = (1, ["a", "b"]) if stop < steps.index("renamed") else (2, ["b", "new"])
        table = ds.DeltaTable(f"{folder}/{stop}")
        assert (table.version, paths(f"{folder}/{stop}")) == expected, step
        txn = table.transaction(read="true")
        txn.remove(gone("b"))
        assert txn.commit() == table.version + 1
