"""Whatever Spark, py4j, the system or a file does below a door with a session, an error of this package leaves it.

It names the table, nothing of the failed job remains, and a commit that is there is no error (`tests/test_doors.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import py4j.java_gateway
import py4j.protocol
import pyspark.errors

import deltaskip as ds
from tests.extent import some
from tests.faults import ERRORS, PLACES, Below
from tests.test_doors import calls_of, files_of, fresh, rows, table, warehouse

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("settings_put_back")]

SPARK_S: dict[str, list[Any]] = {
    "calls": [(py4j.java_gateway.JavaMember, "__call__")],
    "commands": [(py4j.java_gateway.GatewayClient, "send_command")],
}
SPARK_ERRORS: dict[str, Callable[[], Exception]] = {
    "network": lambda: py4j.protocol.Py4JNetworkError("Answer from Java side is empty"),
    "py4j": lambda: py4j.protocol.Py4JError("An error occurred while calling o1.x\nsecond"),
    "reset": lambda: ConnectionResetError("reset by peer"),
    "pyspark": lambda: pyspark.errors.PySparkRuntimeError("boom\nsecond"),
    "refused": lambda: ConnectionRefusedError(111, "Connection refused"),
}

Act = Callable[[Path, Any, Any], object]


def merged(folder: Path, spark: Any, frame: Any) -> object:
    builder = table(folder).merge(frame, "t.id = s.id", source_alias="s", target_alias="t")
    return builder.when_matched_delete().when_not_matched_insert_all().execute()


def statement(text: str) -> Act:
    return lambda folder, spark, frame: warehouse(folder).sql(spark, text)


READS: dict[str, Act] = {
    "to_spark": lambda folder, spark, frame: table(folder).scan("id > 5").to_spark(spark),
    "planned on Spark": lambda folder, spark, frame: table(folder).scan("id > 5", engine="spark").to_spark(spark),
    "view": lambda folder, spark, frame: ds.register_view(spark, "of_faults", table(folder)),
    "changes": lambda folder, spark, frame: table(folder).changes(0).to_spark(spark),
    "query": statement("SELECT * FROM db.t WHERE id = 1"),
}
WRITES: dict[str, Act] = {
    "append": lambda folder, spark, frame: table(folder).append(frame),
    "overwrite": lambda folder, spark, frame: table(folder).overwrite(frame),
    "dynamic overwrite": lambda folder, spark, frame: table(folder).overwrite(frame, partitions="dynamic"),
    "merge": merged,
    "delete": lambda folder, spark, frame: table(folder).delete("id = 5", spark=spark),
    "update": lambda folder, spark, frame: table(folder).update({"id": "id + 100"}, "id = 7", spark=spark),
    "optimize": lambda folder, spark, frame: table(folder).optimize(spark=spark),
    "recompute_stats": lambda folder, spark, frame: table(folder).recompute_stats(spark, resume=False),
    "insert": statement("INSERT INTO db.t SELECT id, 'x' FROM range(3)"),
    "create as": statement("CREATE TABLE db.n AS SELECT 1 AS id"),
    "merge into": statement(
        "MERGE INTO db.t USING (SELECT 1L AS id, 'q' AS p) s ON db.t.id = s.id WHEN MATCHED THEN UPDATE SET p = 'q'"
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with deletion vectors and a change feed, and a table of a warehouse."""
    folder = tmp_path_factory.mktemp("faults") / "base"
    properties = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
    ds.DeltaTable.create(folder / "t", "id BIGINT, p STRING", ["p"], properties=properties).append(rows(0, 10))
    table(folder).append(rows(10, 20))
    table(folder).delete("id = 3")
    cat = warehouse(folder)
    cat.create_namespace("db")
    cat.create_table("db.t", "id BIGINT, p STRING").append(rows(0, 4))
    return folder


def versions(folder: Path) -> list[int]:
    return [table(folder).version, warehouse(folder).load_table("db.t").version]


def walked(spark: Any, base: Path, folder: Path, name: str, act: Act, places: dict[str, list[Any]]) -> int:
    """Let calls of a door fail, and return how many errors left it."""
    frame = spark.range(8, 14).selectExpr("id", "'a' AS p")
    number = raised = 0
    for kind, each in places.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = calls_of(lambda where: act(where, spark, frame), each, fresh(base, folder))
        errors = SPARK_ERRORS if kind in SPARK_S else ERRORS
        for at in sorted({0, calls // 3, calls // 2, calls - 3, calls - 1} & set(range(calls))):
            number += 1
            error = list(errors)[(number + len(name)) % len(errors)]
            before, known = files_of(fresh(base, folder)), versions(folder)
            try:
                with warnings.catch_warnings(), Below(each, at, errors[error]).running():
                    warnings.simplefilter("ignore", ds.MaintenanceWarning)
                    act(folder, spark, frame)
            except ds.DeltaSkipError as found:
                raised += 1
                where = (name, kind, at, calls, error, str(found))
                assert any(text in str(found) for text in (str(folder), str(base), "db.t", "db.n")), where
                assert "\n" not in str(found) and len(str(found)) < 1_500, where
                assert kind not in SPARK_S or not isinstance(found, ds.UnexpectedError), where
                if "but cannot be read now: open it" not in str(found):
                    assert versions(folder) == known, where
                    if kind != "deletes":
                        assert files_of(folder) == before, where
    return raised


@pytest.mark.parametrize("door", some(list(READS), 1))
def test_reads_let_no_error_of_spark_out(spark: Any, base: Path, tmp_path: Path, door: str) -> None:
    places = {**SPARK_S, "reads": PLACES["reads"], "system": PLACES["system"]}
    assert walked(spark, base, tmp_path / "w", door, READS[door], places) > 3


@pytest.mark.parametrize("jobs", ["auto", "always"])
@pytest.mark.parametrize("door", some(list(WRITES), 1))
def test_writes_let_no_error_of_spark_out_and_leave_nothing(
    spark: Any, base: Path, tmp_path: Path, door: str, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.spark_jobs", jobs)
    assert walked(spark, base, tmp_path / "w", door, WRITES[door], {**SPARK_S, **PLACES}) > 5


def test_an_answer_that_spark_cannot_make_is_a_warning(spark: Any, base: Path, tmp_path: Path) -> None:
    folder = fresh(base, tmp_path / "w")
    failing = pytest.MonkeyPatch()
    failing.setattr(type(spark), "createDataFrame", lambda *_, **__: (_ for _ in ()).throw(SPARK_ERRORS["network"]()))
    with failing.context(), pytest.warns(ds.MaintenanceWarning, match=r"statement has succeeded.*pyarrow\.Table"):
        answer = warehouse(folder).sql(spark, "DELETE FROM db.t WHERE id = 1")
    failing.undo()
    assert answer.to_pylist() == [{"num_affected_rows": 1}]
    assert warehouse(folder).load_table("db.t").scan().count() == 3


_READS = (
    "SHOW TABLES IN db", "SHOW PARTITIONS db.p", "SHOW TBLPROPERTIES db.t", "SHOW COLUMNS IN db.t", "SHOW NAMESPACES",
    "SHOW CREATE TABLE db.t", "DESCRIBE db.t", "DESCRIBE DETAIL db.t", "DESCRIBE HISTORY db.t", "DESCRIBE NAMESPACE db",
    "SELECT count(*) FROM db.t", "VACUUM db.t DRY RUN",
)  # fmt: skip


def test_an_answer_of_a_statement_that_only_reads_is_an_error_if_spark_cannot_make_it(
    spark: Any, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = warehouse(fresh(base, tmp_path / "w"))
    tables.sql(None, "CREATE TABLE db.p (id INT, p INT) PARTITIONED BY (p)")
    monkeypatch.setattr(
        type(spark), "createDataFrame", lambda *_, **__: (_ for _ in ()).throw(SPARK_ERRORS["network"]())
    )
    for text in _READS:
        with pytest.raises(ds.SparkUnavailable):
            tables.sql(spark, text)


def test_a_session_that_ends_within_a_block_does_not_fail_it(spark: Any) -> None:
    from deltaskip.spark.session.session_settings import session_settings

    key = "spark.sql.files.maxRecordsPerFile"
    gone = SPARK_ERRORS["network"]()
    failing = pytest.MonkeyPatch()
    with pytest.warns(ds.MaintenanceWarning, match=f"{key} of the Spark"), session_settings(spark, {key: "7"}):
        for method in ("set", "unset"):
            failing.setattr(type(spark.conf), method, lambda *_: (_ for _ in ()).throw(gone))
    failing.undo()
    spark.conf.unset(key)
