"""Plans evaluated on Arrow data."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaskip.actions import decode_path
from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.errors import RowViolation, SchemaError, UnsupportedFeature
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.arrow_layout import plain_batches
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.collations.lookup import SPARK_VERSION
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import from_arrow
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.stats_columns import indexed_columns
from deltaskip.storage import LocalStorage
from tests.each import refuses
from tests.extent import extent
from tests.noted import raising
from tests.rows.tables import plan_for, planned, random_row, table_of


def converted(schema: str, rows: pa.Table, time_zone: str = "UTC", **options: Any) -> list[dict[str, Any]]:
    converter = ArrowRows(planned(schema, rows.schema, **options), time_zone)
    return [row for batch in rows.to_batches() for row in converter.convert(batch).to_pylist()]


def test_a_plain_append_passes_the_same_buffers_through() -> None:
    rows = pa.table({"a": pa.array(range(1000)), "b": ["x"] * 1000, "c": [[1]] * 1000})
    plan = planned("a BIGINT NOT NULL, b STRING, c ARRAY<BIGINT>", rows.schema)
    batch = rows.to_batches()[0]
    found = ArrowRows(plan).convert(batch)
    for name in ("a", "b"):
        assert found[name].buffers()[-1].address == batch[name].buffers()[-1].address
    assert found["c"].values.buffers()[1].address == batch["c"].values.buffers()[1].address


def test_constraints_of_comparisons_are_evaluated_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "deltaskip.sparkexpr.evaluation.batch.evaluate", raising(AssertionError("evaluated row by row"))
    )
    rows = pa.table(
        {
            "a": pa.array([1, 2], pa.int32()),
            "s": ["x", None],
            "d": [date(2020, 1, 1)] * 2,
            "x": pa.array([Decimal("1.50")] * 2),
            "st": [{"f": 1.5}] * 2,
        }
    )
    schema = "a INT, s STRING, d DATE, x DECIMAL(3,2), st STRUCT<f: DOUBLE>"
    constraint = (
        "a >= 1 AND (s IS NULL OR s <> '' AND NOT s = 'y') AND d > DATE'2019-01-01' AND x < 2 "
        "AND a IN (1, 2, 3) AND st.f > 1"
    )
    assert len(converted(schema, rows, configuration={"delta.constraints.c": constraint})) == 2
    with pytest.raises(RowViolation) as raised:
        converted(schema, rows, configuration={"delta.constraints.c": "a < 2 OR s = 'x'"})
    assert raised.value.row is not None and raised.value.row["a"] == 2


@pytest.mark.parametrize(
    ("constraint", "broken"),
    [
        ("f > 1", [None, -0.0]),
        ("f = f", [None]),
        ("f <=> f", []),
        ("f > 1e308D", [2.0, None, -0.0]),
        ("f IS NOT NULL", [None]),
        ("f + 1 > 1", [None, -0.0]),
        ("f = 0", [2.0, None, float("nan")]),
        ("f < double('NaN')", [None, float("nan")]),
        ("f IN (2, double('NaN'))", [None, -0.0]),
    ],
)
def test_conditions_have_sparks_null_and_nan(constraint: str, broken: list[Any]) -> None:
    values: list[Any] = [2.0, None, -0.0, float("nan")]
    found = []
    for value in values:
        rows = pa.table({"f": pa.array([value], pa.float64())})
        try:
            converted("f DOUBLE", rows, configuration={"delta.constraints.c": constraint})
        except RowViolation as error:
            assert error.rule == "c" and error.expression == constraint
            found.append(value)
    assert list(map(repr, found)) == list(map(repr, broken))


@pytest.mark.filterwarnings("ignore::deltaskip.errors.WriteWarning")
def test_both_ways_of_evaluation_agree_on_random_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for()
    rows = [table_of([random_row(seed)]) for seed in range(extent(80, 400))]

    def verdicts() -> list[str]:
        found = []
        for row in rows:
            try:
                found.append(repr(ArrowRows(plan).convert(row).to_pylist()))
            except RowViolation as error:
                found.append(str(error))
        return found

    def nothing_known(batch: Any, node: Node) -> pa.Scalar:
        batch.unknown.append(np.ones(batch.rows, np.bool_))
        return pa.nulls(1, arrow_type(type_of(node)))[0]

    by_columns = verdicts()
    monkeypatch.setattr("deltaskip.sparkexpr.evaluation.batch.Batch.value", nothing_known)
    assert verdicts() == by_columns


def test_a_violation_names_the_rule_its_expression_and_the_row() -> None:
    rows = pa.table(
        {
            "id": [1, -1],
            "ts": pa.array([0, 1], pa.timestamp("us", "UTC")),
            "m": pa.array([[], [("k", [1, None])]], pa.map_(pa.string(), pa.list_(pa.int64()))),
        }
    )
    with pytest.raises(RowViolation) as raised:
        converted(
            "id BIGINT, ts TIMESTAMP, m MAP<STRING, ARRAY<BIGINT>>",
            rows,
            configuration={"delta.constraints.positive": "id > 0"},
        )
    error = raised.value
    assert (error.rule, error.expression) == ("positive", "id > 0")
    assert error.row == {"id": -1, "ts": datetime(1970, 1, 1, 0, 0, 0, 1, UTC), "m": {"k": [1, None]}}
    assert str(error).startswith("A row violates the CHECK constraint positive (id > 0) of /data/t: id=-1, ts=")


@pytest.mark.parametrize(
    ("schema", "values", "row"),
    [
        ("s STRUCT<a: STRUCT<b: BIGINT NOT NULL>>", [{"a": {"b": 1}}, {"a": None}], 1),
        ("s STRUCT<a: STRUCT<b: BIGINT NOT NULL>>", [{"a": {"b": 1}}, None], 1),
        ("s STRUCT<a: STRUCT<b: BIGINT NOT NULL>>", [{"a": {"b": 1}}, {"a": {"b": None}}], 1),
        ("s ARRAY<STRUCT<b: BIGINT NOT NULL>>", [[], None, [None], [{"b": 1}], [{"b": 1}, {"b": None}]], 4),
        ("s MAP<STRING, STRUCT<b: BIGINT NOT NULL>>", [[("k", None)], None, [("k", {"b": None})]], 2),
        ("s ARRAY<ARRAY<STRUCT<b: BIGINT NOT NULL>>>", [[[{"b": 1}], None], [[], [None, {"b": None}]]], 1),
        ("s STRUCT<a: ARRAY<STRUCT<b: BIGINT NOT NULL>>>", [{"a": None}, None, {"a": [{"b": None}]}], 2),
    ],
)
def test_not_null_finds_the_first_row_at_every_depth(schema: str, values: list[Any], row: int) -> None:
    from deltaskip.rows.arrow_layout import stored_type
    from deltaskip.sparkexpr.types.ddl import parse_columns

    column = pa.array(values, stored_type(parse_columns(schema).fields[0].type))
    rows = pa.table({"n": range(len(values)), "s": column})
    with pytest.raises(RowViolation, match="NOT NULL") as raised:
        converted(f"n BIGINT, {schema}", rows)
    assert raised.value.row is not None and raised.value.row["n"] == row
    assert len(converted(f"n BIGINT, {schema}", rows.slice(0, row))) == row


@pytest.mark.parametrize(
    ("schema", "values", "row"),
    [
        ("s VARCHAR(2)", ["é😀", None, "abc"], 2),
        ("s CHAR(2)", ["a", "ab", "ab "], 2),
        ("s ARRAY<VARCHAR(1)>", [["a", None], [], None, ["a", "bc"]], 3),
        ("s MAP<VARCHAR(1), STRING>", [[("a", "long")], [("ab", "x")]], 1),
        ("s STRUCT<a: ARRAY<STRUCT<v: VARCHAR(1)>>>", [{"a": [{"v": "x"}, None]}, {"a": [{"v": "xy"}]}], 1),
    ],
)
def test_lengths_count_code_points_at_every_depth(schema: str, values: list[Any], row: int) -> None:
    from deltaskip.rows.arrow_layout import stored_type
    from deltaskip.sparkexpr.types.ddl import parse_columns

    column = pa.array(values, stored_type(parse_columns(schema).fields[0].type))
    rows = pa.table({"n": range(len(values)), "s": column})
    with pytest.raises(RowViolation, match="longer string") as raised:
        converted(f"n BIGINT, {schema}", rows)
    assert raised.value.row is not None and raised.value.row["n"] == row
    assert converted(f"n BIGINT, {schema}", rows.slice(0, row)) == rows.slice(0, row).to_pylist()


def test_empty_partition_strings_are_null_before_rules_are_checked() -> None:
    # Rule 15.
    rows = pa.table({"p": ["", "x"], "n": [1, 2]})
    found = [{"p": None, "n": 1}, {"p": "x", "n": 2}]
    assert converted("p STRING, n BIGINT", rows, partition_columns=["p"]) == found
    assert converted("p STRING, n BIGINT", rows) == rows.to_pylist()
    refuses(RowViolation, None, converted, "p STRING NOT NULL, n BIGINT", rows, partition_columns=["p"])
    for rule in ({"configuration": {"delta.constraints.c": "p <> 'y'"}}, {"where": "p = '' OR p = 'x'"}):
        refuses(RowViolation, None, converted, "p STRING, n BIGINT", rows, partition_columns=["p"], **rule)


def test_generated_columns_use_the_stored_values_and_the_time_zone() -> None:
    rows = pa.table({"ts": pa.array([1_710_052_200_000_000, None], pa.timestamp("us", "UTC"))})
    schema = "ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), y INT GENERATED ALWAYS AS (year(ts))"
    assert converted(schema, rows, "Asia/Tokyo")[0]["day"] == date(2024, 3, 10)
    assert converted(schema, rows)[1] == {"ts": None, "day": None, "y": None}
    given = rows.append_column("day", pa.array([date(2024, 3, 9), None]))
    with pytest.raises(RowViolation, match="generated column: day <=> CAST") as raised:
        converted(schema, given)
    assert raised.value.column == "day"


def test_defaults_are_evaluated_once_and_stored_by_the_columns_type() -> None:
    rows = pa.table({"a": [1, 2]})
    plan = planned(
        "a BIGINT, d DECIMAL(5,2) DEFAULT 1.255, s STRING DEFAULT 7, t TIMESTAMP DEFAULT current_timestamp(), "
        "day DATE DEFAULT current_date, b TINYINT DEFAULT 3, n ARRAY<INT> DEFAULT NULL",
        rows.schema,
    )
    found = ArrowRows(plan, "Asia/Tokyo", now_micros=86_399_000_000).convert(rows).to_pylist()
    now = datetime(1970, 1, 1, 23, 59, 59, tzinfo=UTC)
    expected = {"d": Decimal("1.26"), "s": "7", "t": now, "day": date(1970, 1, 2), "b": 3, "n": None}
    assert found == [{"a": a, **expected} for a in (1, 2)]
    refuses(RowViolation, "300 does not fit", converted, "a BIGINT, b TINYINT DEFAULT 300", rows)


@pytest.mark.parametrize(
    ("schema", "configuration"),
    [
        ("s STRING", {"delta.constraints.c": "to_csv(struct(s)) <> 'x'"}),
        ("s STRING, u STRING DEFAULT uuid()", {}),
        ("s STRING, u STRING GENERATED ALWAYS AS (to_csv(struct(s)))", {}),
        ("s STRING, u ARRAY<STRING> DEFAULT sentences('a')[0]", {}),
        ("s STRING COLLATE UNICODE_CI", {"delta.constraints.c": "s LIKE 'x%'"}),
    ],
)
def test_what_only_spark_evaluates_says_that_a_session_is_needed(schema: str, configuration: dict[str, str]) -> None:
    refuses(UnsupportedFeature, "Spark session", converted, schema, pa.table({"s": ["x"]}), configuration=configuration)


def test_collated_rules_use_the_given_collations() -> None:
    plan = planned(
        "s STRING COLLATE UTF8_LCASE",
        pa.schema([("s", pa.string())]),
        configuration={"delta.constraints.c": "s = 'abc'"},
    )

    collations = Collations(SPARK_VERSION)
    assert ArrowRows(plan, collations=collations).convert(pa.table({"s": ["ABC"]})).to_pylist() == [{"s": "ABC"}]
    refuses(RowViolation, None, lambda: ArrowRows(plan, collations=collations).convert(pa.table({"s": ["x"]})))


def test_an_error_of_an_expression_is_a_violation() -> None:
    with pytest.raises(RowViolation, match="Division by zero"):
        converted("a BIGINT", pa.table({"a": [0]}), configuration={"delta.constraints.c": "1 / a > 0"})


def test_identity_values_continue_over_batches_and_the_state_is_kept() -> None:
    rows = pa.table({"a": ["x", "y", "z"]})
    schema = (
        "id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY -5), a STRING, g BIGINT GENERATED "
        "ALWAYS AS (id * 2)"
    )
    converter = ArrowRows(planned(schema, rows.schema))
    found = [row for batch in rows.to_batches(max_chunksize=2) for row in converter.convert(batch).to_pylist()]
    assert [(row["id"], row["g"]) for row in found] == [(10, 20), (5, 10), (0, 0)]
    assert converter.identities["id"].mark == 0
    last = planned("id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 9223372036854775806), a STRING", rows.schema)
    refuses(SchemaError, "no values left", lambda: ArrowRows(last).convert(rows))


def test_streams_divide_large_batches_and_leave_out_empty_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.settings.options.write_batch_bytes", 1_000)
    rows = pa.table({"a": range(1_000)})
    batches = [*rows.to_batches(), *rows.slice(0, 0).to_batches()]
    found = list(plain_batches(batches, from_arrow(rows.schema), "t"))
    assert [batch.num_rows for batch in found] == [125] * 8
    assert pa.Table.from_batches(found) == rows


@pytest.mark.filterwarnings("ignore::deltaskip.errors.WriteWarning")
def test_converted_rows_are_written_as_data_files(tmp_path: Path) -> None:
    plan = plan_for()
    rows = [row for row in map(random_row, range(60)) if row_fits(row)]
    table = table_of(rows)
    schema = plan.written_schema
    columns = indexed_columns(schema, partition_columns=plan.partition_columns, mapping_mode="none")
    layout = DataFileLayout(
        LocalStorage(),
        str(tmp_path),
        schema,
        plan.partition_columns,
        "none",
        statistics_request(columns, mapping_mode="none"),
    )
    converter = ArrowRows(plan)
    files = write_data_files(converter.stream(table.to_batches(max_chunksize=7)), layout).files
    partitions = {row["part"] or None for row in rows}
    assert {file.partition_values["part"] for file in files} == partitions
    written = [
        {**row, "part": file.partition_values["part"]}
        for file in files
        for row in pq.ParquetFile(tmp_path / decode_path(file.path)).read().to_pylist()
    ]
    expected = ArrowRows(plan).convert(table).to_pylist()
    assert sorted(map(repr_of, written)) == sorted(map(repr_of, expected))


def row_fits(row: dict[str, Any]) -> bool:
    try:
        ArrowRows(plan_for()).convert(table_of([row]))
    except RowViolation:
        return False
    return True


def repr_of(row: dict[str, Any]) -> str:
    return repr(sorted(row.items())).replace("zoneinfo.ZoneInfo(key='UTC')", "utc")


def test_batches_without_rows_and_columns_in_chunks_are_converted() -> None:
    schema = "a INT NOT NULL, g INT GENERATED ALWAYS AS (a + 1), d INT DEFAULT 1, l ARRAY<VARCHAR(1)>"
    rows = pa.table({"a": pa.chunked_array([[1], [2, 3]], pa.int64()), "l": pa.chunked_array([[["a"]], [[], None]])})
    plan = planned(schema, rows.schema, configuration={"delta.constraints.c": "a < 9"})
    whole = ArrowRows(plan).convert(rows)
    assert [row["g"] for row in whole.to_pylist()] == [2, 3, 4]
    empty = ArrowRows(plan).convert(rows.slice(0, 0))
    assert empty.num_rows == 0 and empty.schema == whole.schema


def test_carried_columns_stay_as_they_are() -> None:
    plan = replace(planned("a BIGINT", parse_columns("a BIGINT")), carried=("_row-id-col-1",))
    (batch,) = pa.table({"_row-id-col-1": [7], "a": [1]}).to_batches()
    assert ArrowRows(plan).convert(batch).to_pylist() == [{"a": 1, "_row-id-col-1": 7}]
