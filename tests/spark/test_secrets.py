"""What is a secret in the settings of a session is not shown by errors, logs, warnings, reprs and tracebacks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import py4j.java_gateway
import py4j.protocol
import pyspark.errors

import deltaskip as ds
from deltaskip.spark.session import error_conversion
from tests.faults import Below
from tests.test_doors import calls_of, rows, table, warehouse
from tests.test_secrets import KEY, SECRET, TOKEN, without_secret

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

SESSION_S = {"spark.hadoop.fs.s3a.secret.key": SECRET, "spark.datasource.oauth.token": TOKEN}
HADOOP_S = {"fs.azure.account.key.acc.dfs.core.windows.net": KEY, "fs.s3a.bucket.b.session.token": TOKEN}
ERRORS: list[Callable[[str], Exception]] = [
    lambda text: py4j.protocol.Py4JError(f"An error occurred while calling o1.load: {text}\nmore {text}"),
    lambda text: py4j.protocol.Py4JNetworkError(text),
    lambda text: pyspark.errors.PySparkRuntimeError(f"conf {text}"),
    lambda text: pyspark.errors.AnalysisException(f"[X] https://h/p?k={text} denied\n{text}"),
    lambda text: ConnectionRefusedError(111, f"refused {text}"),
]
ACTS: dict[str, Callable[[Path, Any], object]] = {
    "to_spark": lambda folder, spark: table(folder).scan("id > 5").to_spark(spark),
    "append": lambda folder, spark: table(folder).append(spark.range(1).selectExpr("id", "'a' AS p")),
    "delete": lambda folder, spark: table(folder).delete("id = 5", spark=spark),
    "merge": lambda folder, spark: (table(folder) .merge(spark.range(1), "t.id = s.id", source_alias="s",
        target_alias="t") .when_matched_delete() .execute()),
    "view": lambda folder, spark: ds.register_view(spark, "of_secrets", table(folder)),
    "statement": lambda folder, spark: warehouse(folder).sql(spark, "SHOW TABLES IN db"),
    "recompute_stats": lambda folder, spark: table(folder).recompute_stats(spark, resume=False),
}  # fmt: skip


@pytest.fixture
def settings(spark: Any, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A session with secrets, which is given to this package for the first time."""
    # At DEBUG py4j logs every value that any call passes on.
    caplog.set_level(logging.INFO, "py4j")
    error_conversion._known.discard(spark)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in SESSION_S.items():
        spark.conf.set(name, value)
    for name, value in HADOOP_S.items():
        hadoop.set(name, value)
    yield
    for name in SESSION_S:
        spark.conf.unset(name)
    for name in HADOOP_S:
        hadoop.unset(name)


@pytest.mark.usefixtures("settings")
def test_settings_of_a_session_are_not_shown(spark: Any, tmp_path: Path) -> None:
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING").append(rows(0, 10))
    warehouse(tmp_path).create_namespace("db")
    places, number, raised = [(py4j.java_gateway.JavaMember, "__call__")], 0, 0
    for act in ACTS.values():
        calls = calls_of(lambda folder: act(folder, spark), places, tmp_path)  # noqa: B023
        for at in sorted({calls // 2, calls - 2} & set(range(calls))):
            number += 1
            text = (SECRET, KEY, TOKEN)[number % 3]
            below = Below(places, at, lambda: ERRORS[number % 5](text))  # noqa: B023

            def failing() -> object:
                with below.running():  # noqa: B023
                    return act(tmp_path, spark)  # noqa: B023

            raised += without_secret(failing) is not None
    assert raised > 5
