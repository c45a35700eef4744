"""Tables on HDFS through the session: rows, statistics and commits are those of a local copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import DataFileMissing, StorageError, UnsupportedFeature
from deltaskip.storage import hadoop, open_storage
from deltaskip.storage.hadoop import HadoopStorage
from tests import corpus
from tests.each import refuses
from tests.spark.recompute.test_job import make_table, recomputed, without_spark
from tests.storage.hdfs import NEEDS_HDFS, Cluster, cluster, uploaded

__all__ = ["cluster"]

pytestmark = pytest.mark.spark

ODD = "a b%20[1]{é}"


@pytest.fixture
def local(spark: Any) -> HadoopStorage:
    """The local file system as Hadoop has it."""
    return HadoopStorage(spark.sparkContext._gateway, spark.sparkContext._jsc.hadoopConfiguration(), "file://")


def test_the_session_serves_any_scheme_that_its_configuration_knows(spark: Any) -> None:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    refuses(StorageError, r"Unsupported scheme 'odd' of odd://host/t", open_storage, "odd://host/t")
    configuration.set("fs.odd.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystem")
    configuration.set("fs.viewfs.mounttable.host.link./t", "file:///tmp")
    try:
        storage, root = open_storage("odd://host/t")
    finally:
        configuration.unset("fs.odd.impl")
        configuration.unset("fs.viewfs.mounttable.host.link./t")
    assert isinstance(storage, HadoopStorage)
    assert (storage.base, root) == ("odd://host", "odd://host/t")


def test_a_location_without_host_is_told(spark: Any) -> None:
    refuses(StorageError, r"Cannot open hdfs:///data/t: .*no host", open_storage, "hdfs:///data/t")


@pytest.mark.parametrize("size", [0, 10, 70_000])
def test_files_are_read_through_the_session(local: HadoopStorage, tmp_path: Path, size: int) -> None:
    folder = tmp_path / ODD
    folder.mkdir()
    (folder / "x é").write_bytes(bytes(range(256)) * (size // 256) + bytes(size % 256))
    (folder / "y").mkdir()
    data = (folder / "x é").read_bytes()
    found, directory = local.list_from(f"file://{folder}", "")
    assert (found.kind, directory.name, directory.kind) == ("file", "y", "directory")
    assert (found.name, found.size) == ("x é", size)
    assert found.path == f"file://{folder}/x é"
    assert found.modified_ms // 1000 == int((folder / "x é").stat().st_mtime)
    assert (local.read(found.path), local.size(found.path), local.exists(found.path)) == (data, size, True)
    assert local.read_range(found.path, 5, size) == data[5:]
    assert local.read_range(found.path, 5, 50_000) == data[5:50_005]
    assert bytes(local.read_joined([found, found])[0]) == data * 2
    with local.open_input(found.path) as file:
        assert file.read() == data
    for act in (local.read, local.size, local.open_input, lambda path: local.list_from(path, "")):
        refuses(FileNotFoundError, "nothing", act, f"file://{folder}/nothing")


def test_a_local_file_system_is_not_committed_to(local: HadoopStorage, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"Cannot commit to file://.*/x: .*FileSystem is not known to rename"):
        local.put_if_absent(f"file://{tmp_path}/x", b"")
    assert list(tmp_path.iterdir()) == []


def test_the_session_writes_files(local: HadoopStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hadoop, "_ATOMIC_RENAME", local._files.getClass().getName())
    path = f"file://{tmp_path}/{ODD}/x"
    local.put_if_absent(path, b"first")
    refuses(FileExistsError, "x", local.put_if_absent, path, b"second")
    assert local.read(path) == b"first"
    local.put(path, b"third" * 20_000)
    assert local.read(path) == b"third" * 20_000
    with local.publish(path) as name:
        Path(name).write_bytes(b"late")
    with local.publish(f"{path}2") as name:
        Path(name).write_bytes(b"published")
    assert [(f.name, f.size) for f in local.list_from(f"file://{tmp_path}/{ODD}", "x")] == [("x", 100_000), ("x2", 9)]
    local.delete(path)
    local.delete(path)
    assert not local.exists(path)
    assert [f.name for f in local.list_from(f"file://{tmp_path}/{ODD}", "") if f.name.endswith(".tmp")] == []


class TestHdfs:
    """On a cluster of one name node and one data node."""

    pytestmark = NEEDS_HDFS

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("name", "modes"), [("gen__types_dv", ["auto", "scan"]), ("gen__types_cm_id_part", ["auto", "footer"])]
    )
    def test_rows_and_statistics_are_those_of_a_local_copy(
        self, spark: Any, cluster: Cluster, name: str, modes: list[Any]
    ) -> None:
        folder = corpus.table(name).path
        there, here = ds.DeltaTable(uploaded(folder, *self._root(cluster, name))), ds.DeltaTable(folder)
        assert there.uri.startswith(cluster.uri) and isinstance(there.snapshot.storage, HadoopStorage)
        rows = [table.scan().to_spark(spark).toArrow().to_pylist() for table in (there, here)]
        assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1])) and rows[0]
        for mode in modes:
            found = recomputed(spark, there, mode=mode)
            expected = without_spark(here, mode=mode)
            assert dict(zip(found["path"].to_pylist(), found["stats"].to_pylist(), strict=True)) == expected

    def test_statistics_are_committed(self, spark: Any, cluster: Cluster, tmp_path: Path) -> None:
        here = make_table(tmp_path / "t")
        there = ds.DeltaTable(uploaded(tmp_path / "t", *self._root(cluster, "committed")))
        batch = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
        done = there.recompute_stats(spark, collations={"name": ["icu.UNICODE_CI.77.1"]})
        assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == batch
        expected = without_spark(here, collations={"name": ["icu.UNICODE_CI.77.1"]})
        adds = ds.DeltaTable(there.snapshot.root).snapshot.adds(["path", "stats"])
        assert dict(zip(adds["path"].to_pylist(), adds["stats"].to_pylist(), strict=True)) == expected
        assert (done.files, there.version) == (12, 1)
        there.checkpoint()
        there = ds.DeltaTable(there.snapshot.root)
        assert there.snapshot.checkpoint is not None
        where = "id BETWEEN 700 AND 720"
        assert len(there.scan(where).paths()) == 1
        assert there.scan(where).to_spark(spark).count() == here.scan(where).to_spark(spark).count() == 21

    @pytest.mark.long(gate=1)
    @pytest.mark.parametrize("first", [1, 3])
    def test_footers_that_prove_nothing_are_not_looked_for_further(
        self, spark: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
    ) -> None:
        monkeypatch.setattr("deltaskip.spark.recompute.hadoop_files._FIRST_FOOTERS", first)
        here = make_table(tmp_path / "t")
        there = ds.DeltaTable(uploaded(tmp_path / "t", *self._root(cluster, f"first{first}")))
        for columns in (["id"], ["x"]):
            found = recomputed(spark, there, columns=columns)
            expected = recomputed(spark, here, columns=columns)
            assert found.select(["path", "stats", "num_records"]) == expected.select(["path", "stats", "num_records"])
            assert set(found["scanned"].to_pylist()) == ({0} if columns == ["id"] else {1})

    def test_large_files_are_read_by_the_driver(
        self, spark: Any, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("deltaskip.settings.options.executor_file_bytes", 10_000)
        here = make_table(tmp_path / "t")
        there = ds.DeltaTable(uploaded(tmp_path / "t", *self._root(cluster, "large")))
        found = recomputed(spark, there, mode="scan")
        expected = without_spark(here, mode="scan")
        assert dict(zip(found["path"].to_pylist(), found["stats"].to_pylist(), strict=True)) == expected

    def test_a_missing_file_is_named(self, spark: Any, cluster: Cluster, tmp_path: Path) -> None:
        make_table(tmp_path / "t")
        storage, root = self._root(cluster, "missing")
        there = ds.DeltaTable(uploaded(tmp_path / "t", storage, root))
        storage.delete(f"{root}/part 4.parquet")
        for mode in ("auto", "scan"):
            refuses(DataFileMissing, r"part 4\.parquet", recomputed, spark, there, mode=mode)
        refuses(DataFileMissing, r"part 4\.parquet", lambda: there.scan().to_spark(spark))

    def test_a_hidden_file_is_refused(self, spark: Any, cluster: Cluster, tmp_path: Path) -> None:
        make_table(tmp_path / "t")
        log = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
        log.write_text(log.read_text().replace("part%204.parquet", "_part.parquet"))
        (tmp_path / "t" / "part 4.parquet").rename(tmp_path / "t" / "_part.parquet")
        there = ds.DeltaTable(uploaded(tmp_path / "t", *self._root(cluster, "hidden")))
        with pytest.raises(UnsupportedFeature, match=r"skips the data file hdfs://.*/_part\.parquet"):
            recomputed(spark, there, mode="scan")

    def test_a_damaged_file_is_named(self, spark: Any, cluster: Cluster, tmp_path: Path) -> None:
        make_table(tmp_path / "t")
        storage, root = self._root(cluster, "damaged")
        there = ds.DeltaTable(uploaded(tmp_path / "t", storage, root))
        data = (tmp_path / "t" / "part 4.parquet").read_bytes()
        start = pq.read_metadata(tmp_path / "t" / "part 4.parquet").row_group(0).column(0).data_page_offset
        storage.put(f"{root}/part 4.parquet", data[: start - 8] + bytes(64) + data[start + 56 :])
        with pytest.raises(StorageError, match=r"The data file hdfs://.*/part 4\.parquet cannot be read"):
            recomputed(spark, there, mode="scan")

    def _root(self, cluster: Cluster, name: str) -> tuple[HadoopStorage, str]:
        return cluster.storage(), f"{cluster.uri}/spark/{ODD}/{name}"
