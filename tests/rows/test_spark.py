"""The two evaluators of a plan against each other, and store assignment against Spark's INSERT."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.errors import RowViolation, UnsupportedFeature
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import RowPlan
from deltaskip.sparkexpr.types import DOUBLE, FLOAT, DataType, StructField, StructType
from deltaskip.sparkexpr.types.json import simple_string
from tests.each import refuses
from tests.extent import extent, some
from tests.rows.store_pairs import PAIRS, store_assignment
from tests.rows.tables import plan_for, planned, random_row, table_of
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.spark_edges import table_of as edge_table

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::deltaskip.errors.WriteWarning")]

RANDOM_ROWS = 240
VIOLATIONS_TRIED = extent(2, 30)
REFUSED_VALUES = extent(2, 8)


@pytest.fixture(scope="module")
def spark(spark: Any) -> Iterator[Any]:
    """The session, which reads old times as they are stored."""
    setting = "spark.sql.parquet.datetimeRebaseModeInRead"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "CORRECTED")
    yield spark
    spark.conf.set(setting, before)


@pytest.fixture(params=["ansi", "no ansi"])
def session(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The session with and without ANSI mode, which must make no difference."""
    spark.conf.set("spark.sql.ansi.enabled", str(request.param == "ansi").lower())
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", "true")


def by_spark(session: Any, rows: pa.Table, plan: RowPlan, folder: Path, tasks: int = 0) -> pa.Table:
    """The stored rows. Raises RowViolation as a writer would."""
    from deltaskip.spark.write.checked_rows import rows_to_write, violation_of

    path = folder / "rows.parquet"
    pq.write_table(rows, path)
    try:
        frame = rows_to_write(session.read.parquet(str(path)), plan, tasks)
        return frame.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_batches(frame._collect_as_arrow())
    except Exception as error:
        found = violation_of(error, plan)
        if found is None:
            raise
        raise found from error


def by_arrow(rows: pa.Table, plan: RowPlan) -> pa.Table:
    converter = ArrowRows(plan)
    return pa.Table.from_batches([converter.convert(rows)])


def verdict(rows: pa.Table, plan: RowPlan) -> RowViolation | None:
    try:
        by_arrow(rows, plan)
    except RowViolation as error:
        return error
    return None


def shown(table: pa.Table) -> list[dict[str, Any]]:
    """Rows that compare with NaN and -0.0, whatever the nullability and time zone of the types."""
    return [
        {name: repr(value).replace("zoneinfo.ZoneInfo(key='UTC')", "UTC") for name, value in row.items()}
        for row in table.to_pylist()
    ]


@pytest.mark.long(gate=1)
def test_both_evaluators_store_the_same_and_refuse_for_the_same_reason(session: Any, tmp_path: Path) -> None:
    plan = plan_for()
    rows = [random_row(seed) for seed in range(RANDOM_ROWS)]
    verdicts = [verdict(table_of([row]), plan) for row in rows]
    refused = {i: error for i, error in enumerate(verdicts) if error is not None}
    kept = table_of([row for i, row in enumerate(rows) if i not in refused])
    assert 40 < len(refused) < len(rows) - 40
    assert len({error.rule for error in refused.values()}) >= 9
    assert shown(by_spark(session, kept, plan, tmp_path)) == shown(by_arrow(kept, plan))
    for i, expected in list(refused.items())[:VIOLATIONS_TRIED]:
        with pytest.raises(RowViolation) as raised:
            by_spark(session, table_of([rows[i]]), plan, tmp_path)
        found = raised.value
        assert (found.rule, found.expression, found.column, found.value) == (
            expected.rule, expected.expression, expected.column, expected.value,
        )  # fmt: skip
        assert repr(found.row) == repr(expected.row)
        assert str(found) == str(expected)


@pytest.mark.parametrize("source", some(dict.fromkeys(source for source, _ in PAIRS), 3), ids=simple_string)
def test_edges_of_types_are_stored_alike(spark: Any, source: DataType, tmp_path: Path) -> None:
    edges = edge_table(source, EDGES[source])["c"]
    targets = [target for given, target in PAIRS if given == source]
    columns, refused = [], []
    for target in targets:
        plan = planned(f"c {simple_string(target)}", StructType((StructField("c", source),)))
        fitting = []
        for i in range(len(edges)):
            row = pa.table({"c": edges.slice(i, 1)})
            try:
                by_arrow(row, plan)
            except RowViolation as error:
                refused.append((row, plan, error))
            except UnsupportedFeature:
                # Spark's result depends on its version or that of Java.
                continue
            else:
                fitting.append(i)
        columns.append(edges.take(pa.array([i if i in fitting else None for i in range(len(edges))], pa.int64())))
    names = [f"c{i}" for i in range(len(targets))]
    table = pa.table(columns, names=names)
    schema = ", ".join(f"{name} {simple_string(target)}" for name, target in zip(names, targets, strict=True))
    together = planned(schema, StructType(tuple(StructField(name, source) for name in names)))
    expected = by_arrow(table, together)
    found = by_spark(spark, table, together, tmp_path).cast(expected.schema)
    for name, target in zip(names, targets, strict=True):
        assert exact(found[name]) == exact(expected[name]), simple_string(target)
    for row, plan, error in refused[:: len(refused) // REFUSED_VALUES + 1]:
        with pytest.raises(RowViolation) as raised:
            by_spark(spark, row, plan, tmp_path)
        if source in (FLOAT, DOUBLE):
            # The text of a double depends on the version of Java.
            assert repr(float(raised.value.value or "")) == repr(float(error.value or ""))
        else:
            assert str(raised.value) == str(error)


def exact(column: pa.ChunkedArray) -> list[str]:
    from deltaskip.sparkexpr.values.arrow_values import domain_values

    return [repr(value) for value in domain_values(column)]


def test_the_pairs_that_can_be_stored_are_sparks(spark: Any) -> None:
    if spark.version < "4":
        pytest.skip("variants need Spark 4")
    from tests.rows.store_pairs import spark_store_assignment

    assert spark_store_assignment(spark) == store_assignment()


@pytest.mark.long(gate=3)
@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        ("double('nan')", "double", "decimal(10,2)"),
        ("double('-infinity')", "double", "decimal(10,2)"),
        ("double('nan')", "double", "int"),
        ("2.7D", "double", "int"),
        ("1e10D", "double", "int"),
        ("300L", "bigint", "tinyint"),
        ("12.345BD", "decimal(5,3)", "decimal(4,2)"),
        ("999.995BD", "decimal(6,3)", "decimal(5,2)"),
        ("1e300D", "double", "float"),
        ("true", "boolean", "string"),
        ("timestamp'2020-01-01 05:00:00'", "timestamp", "date"),
        ("date'2020-01-01'", "date", "timestamp"),
        ("array(1L, 300L)", "array<bigint>", "array<tinyint>"),
        ("map(1L, 300L)", "map<bigint,bigint>", "map<tinyint,int>"),
    ],
)
def test_values_are_as_insert_stores_them(spark: Any, value: str, source: str, target: str, tmp_path: Path) -> None:
    from deltaskip.spark.write.checked_rows import rows_to_write

    spark.sql("DROP TABLE IF EXISTS stored_rows")
    spark.sql(f"CREATE TABLE stored_rows (c {target}) USING parquet LOCATION '{tmp_path / 'stored'}'")
    rows = spark.sql(f"SELECT {value} AS c")
    plan = planned(f"c {target}", parse(f"c {source}"))

    def inserted() -> Any:
        rows.createOrReplaceTempView("rows_to_store")
        spark.sql("INSERT INTO stored_rows SELECT c FROM rows_to_store")
        return spark.table("stored_rows").collect()

    try:
        expected = inserted()
    except Exception as error:
        assert "CAST_OVERFLOW_IN_TABLE_INSERT" in str(error)
        expected = None
    finally:
        spark.sql("DROP TABLE stored_rows")
    if expected is None:
        refuses(Exception, "deltaskip: ", lambda: rows_to_write(rows, plan).collect())
    else:
        assert repr(rows_to_write(rows, plan).collect()) == repr(expected)


def parse(text: str) -> StructType:
    from deltaskip.sparkexpr.types.ddl import parse_columns

    return parse_columns(text)


def test_identity_values_of_many_tasks_are_unique_and_on_the_grid(session: Any) -> None:
    from deltaskip.spark.write.checked_rows import rows_to_write

    plan = planned(
        "id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH -7 INCREMENT BY -3), n BIGINT, next BIGINT GENERATED "
        "ALWAYS AS (id - 1)",
        parse("n BIGINT"),
    )
    found = rows_to_write(session.range(1000).toDF("n").repartition(7), plan, 7).collect()
    values = [row.id for row in found]
    assert len(set(values)) == 1000
    assert all(value <= -7 and (value + 7) % 3 == 0 for value in values)
    assert all(row.next == row.id - 1 for row in found)
    with pytest.raises(Exception, match="More than 3 partitions"):
        rows_to_write(session.range(1000).toDF("n").repartition(7), plan, 3).collect()


def test_identity_values_beyond_bigint_are_refused(session: Any) -> None:
    from deltaskip.spark.write.checked_rows import rows_to_write, violation_of

    plan = planned(
        "id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 9223372036854775806), n BIGINT", parse("n BIGINT")
    )
    assert [row.id for row in rows_to_write(session.range(2).coalesce(1).toDF("n"), plan, 1).collect()] == [
        2**63 - 2,
        2**63 - 1,
    ]
    with pytest.raises(Exception) as raised:
        rows_to_write(session.range(3).coalesce(1).toDF("n"), plan, 1).collect()
    assert "has no values left" in str(violation_of(raised.value, plan))


def test_a_violation_of_another_job_is_not_taken_for_one(spark: Any) -> None:
    from deltaskip.spark.write.checked_rows import violation_of

    assert violation_of(ValueError("disk full"), plan_for()) is None


def test_collated_rules_compare_under_the_collation_of_the_table(spark: Any, tmp_path: Path) -> None:
    plan = planned("s STRING COLLATE UTF8_LCASE", parse("s STRING"), configuration={"delta.constraints.c": "s = 'abc'"})
    rows = pa.table({"s": ["ABC"]})
    if spark.version < "4":
        refuses(UnsupportedFeature, "does not have the collation", by_spark, spark, rows, plan, tmp_path)
        unused = planned("s STRING COLLATE UTF8_LCASE", parse("s STRING"))
        assert by_spark(spark, rows, unused, tmp_path).to_pylist() == [{"s": "ABC"}]
    else:
        assert by_spark(spark, rows, plan, tmp_path).to_pylist() == [{"s": "ABC"}]


def test_carried_columns_are_written_beside_the_tables(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"n": [1], "_row-id-col-1": [7]})
    plan = planned("n BIGINT, g BIGINT GENERATED ALWAYS AS (n + 1)", parse("n BIGINT"))
    plan = replace(plan, carried=("_row-id-col-1",))
    assert by_spark(spark, rows, plan, tmp_path).to_pylist() == [{"n": 1, "g": 2, "_row-id-col-1": 7}]
