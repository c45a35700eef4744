"""Errors of Spark as errors of this package, wrong sessions, and URI schemes. Needs no session."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tests.looped import looped

pytest.importorskip("pyspark")

import deltaskip as ds
from deltaskip.spark.read.file_paths import spark_paths
from deltaskip.spark.session import checks
from deltaskip.spark.session.checks import check_frame, checked, running_interpreter
from deltaskip.spark.session.error_conversion import predicate_errors_named, spark_errors_named
from deltaskip.spark.write import parquet_writes
from deltaskip.storage import LocalStorage
from tests.each import refuses

TABLE = "s3a://b/t (version 3)"


class FakePy4J(Exception):
    """An error of py4j, as far as its text goes."""


FakePy4J.__module__ = "py4j.protocol"


class AnalysisException(Exception):
    """An error of PySpark."""


AnalysisException.__module__ = "pyspark.errors.exceptions.captured"


class Conf(dict[str, str]):
    """Settings of a session or a SparkContext."""

    def contains(self, key: str) -> bool:
        return key in self


def session(**settings: str) -> Any:
    """A Connect session with settings; dots are written as two underscores."""
    conf = Conf({key.replace("__", "."): value for key, value in settings.items()})
    return SimpleNamespace(version="4.1.4", conf=conf, createDataFrame=lambda: None)


def raised(error: Exception, spark: Any = None) -> ds.DeltaSkipError:
    with pytest.raises(ds.DeltaSkipError) as found, spark_errors_named(spark or session(), TABLE, "read"):
        raise error
    assert found.value.__suppress_context__
    assert TABLE in str(found.value) and "\n" not in str(found.value)
    return found.value


@looped(
    "text, kind, parts",
    [
        ("java.lang.RuntimeException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
         ds.StorageError, ["hadoop-aws", "spark.jars.packages", "spark.hadoop.fs.s3a.access.key"]),
        ('UnsupportedFileSystemException: No FileSystem for scheme "s3a"', ds.StorageError, ["hadoop-aws"]),
        ('UnsupportedFileSystemException: No FileSystem for scheme "gs"', ds.StorageError, ["gcs-connector"]),
        ("Class org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem not found",
         ds.StorageError, ["hadoop-azure", "abfss://"]),
        ('No FileSystem for scheme "foo"', ds.StorageError, ["foo://", "spark.hadoop.fs.foo.impl"]),
        ("java.lang.IllegalArgumentException: java.net.UnknownHostException: nohost\n\tat x",
         ds.StorageError, ["nohost", "check the host"]),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", ds.SparkUnavailable, ["PYSPARK_PYTHON"]),
        ("Cannot call methods on a stopped SparkContext.", ds.SparkUnavailable, ["new session"]),
        ("<_MultiThreadedRendezvous: StatusCode.UNAVAILABLE>", ds.SparkUnavailable, ["new session"]),
        ("org.apache.spark.SparkException: Job aborted.\n\tat java", ds.StorageError, ["Job aborted"]),
        ("", ds.StorageError, ["FakePy4J"]),
    ],
)  # fmt: skip
def test_errors_of_spark_name_the_table_the_reason_and_the_cure(text: str, kind: type, parts: list[str]) -> None:
    error = raised(FakePy4J(text))
    assert type(error) is kind
    assert all(part in str(error) for part in parts), str(error)


def test_an_analysis_error_names_the_version_of_spark() -> None:
    error = raised(AnalysisException("[X] It cannot be read. SQLSTATE: 1\n\nJVM stacktrace"))
    assert type(error) is ds.UnsupportedFeature and str(error).startswith("Spark 4.1.4 cannot read s3a://b/t")


def test_a_refused_connection_is_a_session_that_does_not_respond() -> None:
    assert type(raised(ConnectionRefusedError(111, "Connection refused"))) is ds.SparkUnavailable


@pytest.mark.parametrize("error", [ValueError("own"), ds.CorruptLog("named"), KeyError("x")])
def test_other_errors_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as found, spark_errors_named(session(), TABLE, "read"):
        raise error
    assert found.value is error


def test_a_predicate_that_spark_refuses_is_a_predicate_error() -> None:
    with pytest.raises(ds.PredicateError, match=r"for /t: \[UNRESOLVED\] x\."), predicate_errors_named("/t"):
        raise AnalysisException("[UNRESOLVED] x.\nmore")


@pytest.mark.parametrize(
    "wrong", [None, "local", 5, object(), {}, ds, type(session())], ids=lambda each: type(each).__name__
)
def test_what_is_no_session_is_a_wrong_type(wrong: object) -> None:
    refuses(ds.InvalidArgumentType, "spark must be a SparkSession", checked, wrong)


def test_a_stopped_session_is_named() -> None:
    stopped = session()
    stopped.is_stopped = True
    refuses(ds.InvalidArgument, "stopped", checked, stopped)
    frame = SimpleNamespace(sparkSession=stopped)
    with pytest.raises(ds.InvalidArgument, match="data is a DataFrame of a session that was stopped: make it again"):
        check_frame(frame, "data")


def test_workers_of_a_local_session_run_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(checks, "_WITH_PACKAGE", {"asked"})

    def inside(master: str, **settings: str) -> str:
        conf = Conf({key.replace("__", "."): value for key, value in settings.items()})
        spark = SparkSession.__new__(SparkSession)
        spark._sc = SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: conf, applicationId="asked")
        with running_interpreter(spark):
            found = spark._sc.pythonExec
        assert spark._sc.pythonExec == "python3"
        return found

    assert inside("local[*]") == inside("local[2]") == inside("local") == sys.executable
    assert inside("yarn") == inside("spark://host:7077") == "python3"
    assert inside("local[*]", spark__pyspark__python="another-python") == "python3"
    monkeypatch.setenv("PYSPARK_PYTHON", "another-python")
    assert inside("local[*]") == "python3"


@looped(
    "uri, settings, options, expected",
    [
        ("file:///a/b.parquet", {}, None, "file:/a/b.parquet"),
        ("s3://b/k%20x.parquet", {}, None, "s3a://b/k x.parquet"),
        ("s3n://b/k", {}, None, "s3a://b/k"),
        ("s3a://b/k", {}, None, "s3a://b/k"),
        ("s3://b/k", {"spark__hadoop__fs__s3__impl": "x.Y"}, None, "s3://b/k"),
        ("gs://b/k", {}, None, "gs://b/k"),
        ("gcs://b/k", {}, None, "gs://b/k"),
        ("hdfs://h:1/k", {}, None, "hdfs://h:1/k"),
        ("abfss://c@a.dfs.core.windows.net/k", {}, None, "abfss://c@a.dfs.core.windows.net/k"),
        ("az://c/k", {}, {"azure_storage_account_name": "a"}, "abfss://c@a.dfs.core.windows.net/k"),
        ("abfs://c/k", {}, {"AZURE_STORAGE_ACCOUNT_NAME": "a"}, "abfss://c@a.dfs.core.windows.net/k"),
        ("azure://c/k", {"spark__hadoop__fs__azure__impl": "x.Y"}, None, "azure://c/k"),
    ],
)
def test_schemes_are_those_that_hadoop_knows(
    uri: str, settings: dict[str, str], options: dict[str, str] | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    assert spark_paths(session(**settings), [uri, uri], options) == [expected, expected]


def test_an_azure_container_without_its_account_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    refuses(ds.StorageError, r"az://c.*abfss://c@ACCOUNT", lambda: spark_paths(session(), ["az://c/k"], None))


def test_spark_writes_to_the_name_of_a_store_that_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    writer: Any = SimpleNamespace(options=lambda **_: writer, parquet=asked.append)
    monkeypatch.setattr(parquet_writes, "described_jobs", lambda *_: nullcontext())
    monkeypatch.setattr(parquet_writes, "files_below", lambda *_: [])
    frame: Any = SimpleNamespace(write=writer, sparkSession=session())
    assert parquet_writes.write_parquet(frame, LocalStorage(), "s3://b/t é", "part-1").num_rows == 0
    assert asked == ["s3a://b/t é/part-1"]
