"""Predicates of a scan that Spark would refuse, that prove nothing, or that have parameters."""

import warnings
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.types.data_types import DATE, DOUBLE, INTEGER, STRING, TIMESTAMP, StructField, StructType
from tests.builder import DELTA_RS, TableBuilder, add, bounds
from tests.each import refuses


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    builder = TableBuilder(tmp_path / "t", {"i": INTEGER, "s": STRING, "day": DATE, "x": DOUBLE, "p": STRING}, ["p"])
    builder.commit(
        add("a", bounds(10, i=(1, 9), s=("a", "b"), day=("2026-01-01", "2026-01-31")), partitionValues={"p": "1"}),
        add("b", bounds(20, i=(10, 19), s=("c", "d"), day=("2026-02-01", "2026-02-28")), partitionValues={"p": "2"}),
    )
    return ds.DeltaTable(tmp_path / "t")


def kept(table: ds.DeltaTable, where: Any, **arguments: Any) -> list[str]:
    found: list[str] = table.scan(where, **arguments).files()["path"].to_pylist()
    return found


def test_every_method_that_takes_a_predicate_takes_its_parameters(table: ds.DeltaTable) -> None:
    assert kept(table, "i = :x", params={"x": 5}) == ["a"]
    assert kept(table, "i IN (:x) AND day >= :day", params={"x": [5, 15], "day": date(2026, 2, 1)}) == ["b"]
    assert kept(table, "i = ? OR s = ?", params=[5, "c"]) == ["a", "b"]
    assert table.scan("i = :x", params={"x": 5}).where == "i = 5"
    assert table.recompute_plan("i = :x", params={"x": 5}).files == 1
    transaction = table.transaction()
    assert transaction.read("i = ?", params=[5]).files()["path"].to_pylist() == ["a"]
    assert table.transaction(read="i = :x", params={"x": 5}).version is None


@pytest.mark.parametrize("params", [{}, {"y": 1}, {"x": 1, "y": 2}, [1], 5, {"x": object()}])
def test_wrong_parameters_name_the_table(table: ds.DeltaTable, params: Any) -> None:
    calls = (lambda: table.scan("i = :x", params=params), lambda: table.transaction(read="i = :x", params=params))
    for call in calls:
        refuses(ds.DeltaSkipError, "version 0", call)


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ("i = 'abc'", "line 1, column 5: 'abc' cannot be cast to BIGINT"),
        ("i > 0 AND\n day = '2026-13-45'", "line 2, column 8: '2026-13-45' cannot be cast to DATE"),
        ("day IN ('2026-01-01', 'junk')", "'junk'"),
        ("i = 1 / 0", "Division by zero"),
        ("i = 2147483647 + 1", "out of"),
        ("false AND i = 'abc'", "'abc'"),
        ("i = 5 OR NOT (day = 'junk')", "'junk'"),
        (ds.col("day") == "junk", "'junk'"),
    ],
)
def test_constants_that_spark_cannot_evaluate_are_refused(table: ds.DeltaTable, where: Any, part: str) -> None:
    with pytest.raises(ds.PredicateError) as caught:
        table.scan(where)
    assert part in str(caught.value)
    assert "ansi=False" in str(caught.value)
    # Without ANSI mode a list with a string is one of strings, and no row fails.
    expected = {"false AND i = 'abc'": [], "day IN ('2026-01-01', 'junk')": ["a"]}
    assert kept(table, where, ansi=False) == expected.get(str(where), ["a", "b"])


@pytest.mark.parametrize(
    ("where", "ansi", "without"),
    [
        ("i = 2147483647F", [], ["a"]),
        ("i <=> 2147483647F", [], ["a"]),
        ("i IN (2147483647F, -5)", [], ["a"]),
        ("i BETWEEN 2147483647F AND 1e30F", [], ["a"]),
        ("i + 1F = 2147483648F", [], ["a", "b"]),
        ("i < 3F", ["b"], ["b"]),
        ("i IN ('7', 'x')", None, ["b"]),
    ],
)
def test_operands_meet_in_the_mode_of_the_session(
    tmp_path: Path, where: str, ansi: list[str] | None, without: list[str]
) -> None:
    builder = TableBuilder(tmp_path / "t", {"i": INTEGER})
    builder.commit(add("a", bounds(1, i=(2147483600, 2147483600))), add("b", bounds(5, i=(1, 7))))
    table = ds.DeltaTable(tmp_path / "t")
    assert kept(table, where, ansi=False) == without
    if ansi is not None:
        scan = table.scan(where, ansi=True)
        assert scan.files()["path"].to_pylist() == ansi
        again = scan.replanned(SessionMeaning("UTC", ansi=False), scan.collation_version)
        assert again.files()["path"].to_pylist() == without


@pytest.mark.parametrize("where", ["concat(u, 'x') = 'AX'", "u || 'x' IN ('AX')", "concat(u, 'x') LIKE '%X'"])
def test_a_function_of_a_collated_column_is_compared_under_its_collation(tmp_path: Path, where: str) -> None:
    builder = TableBuilder(
        tmp_path / "t", StructType((StructField("u", STRING, True, {"__COLLATIONS": {"u": "icu.UNICODE_CI"}}),))
    )
    builder.commit(add("a", bounds(10, u=("a", "b"))))
    assert kept(ds.DeltaTable(tmp_path / "t"), where) == ["a"]


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("coalesce(i, 'x') = 5", ["a"]),
        ("if(i > 5, true, day = 'junk')", ["a", "b"]),
        ("CASE WHEN i > 5 THEN true ELSE day = 'junk' END", ["a", "b"]),
    ],
)
def test_constants_that_spark_passes_over_are_accepted(table: ds.DeltaTable, where: str, files: list[str]) -> None:
    assert kept(table, where) == files


@pytest.mark.parametrize(
    "where", ["i = NULL", "i != NULL", "NULL < i", "i IN (NULL)", "i NOT IN (1, NULL)", "i = 1 AND s = NULL"]
)
def test_a_comparison_with_null_warns(table: ds.DeltaTable, where: str) -> None:
    with pytest.warns(ds.PredicateWarning, match="never TRUE") as caught:
        table.scan(where)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]


def test_a_number_that_no_float_is_warns(tmp_path: Path) -> None:
    rows = pa.table({"f": pa.array([0.1, 0.5, float("nan")], pa.float32())})
    table = ds.DeltaTable.create(tmp_path / "f", rows.schema)
    table.append(rows)
    for where in ("f = 0.1", "0.1 = f", "f <=> 1e300", [("f", "=", 0.1)], ds.col("f") == 0.1):
        with pytest.warns(ds.PredicateWarning, match=r"is never TRUE, because f is a FLOAT"):
            assert table.scan(where).count() == 0, where
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = [table.scan(f"f = {text}").count() for text in ("CAST(0.1 AS FLOAT)", "0.5", "double('NaN')")]
        assert counts == [1, 1, 1] and table.scan("f < 0.1").count() == 0


@pytest.mark.parametrize("where", ["i IS NULL", "i <=> NULL", "i IN (1, NULL)", "i = 1 OR i IS NULL", None])
def test_what_may_be_true_does_not_warn(table: ds.DeltaTable, where: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.scan(where)


@pytest.mark.parametrize(
    ("where", "part"),
    [
        ("initcap(s) = 'A'", "initcap(s) = 'A' (no rule bounds s"),
        ("i + day_of(s) > 5", "day_of"),
        ("rand() < 0.5", "rand() < 0.5"),
        ("x > 5", "no file has nullCount(x)"),
        ("i = 1 OR initcap(s) = 'A'", "initcap(s)"),
        ("i = i", "i = i"),
    ],
)
@pytest.mark.filterwarnings("ignore::deltaskip.PredicateWarning")
def test_strict_scans_are_refused_where_nothing_prunes(table: ds.DeltaTable, where: str, part: str) -> None:
    table.scan(where)
    with pytest.raises(ds.NotProvable) as caught:
        table.scan(where, strict=True)
    assert part in str(caught.value)
    assert "strict=True" in str(caught.value)
    assert "version 0" in str(caught.value)


@pytest.mark.parametrize(
    ("where", "files"),
    [
        (None, ["a", "b"]),
        ("i = 1", ["a"]),
        ("i > -5", ["a", "b"]),
        ("i = 1 AND initcap(s) = 'A'", ["a"]),
        ("p = '1'", ["a"]),
        ("upper(p) = '9'", []),
        ("i IS NULL", []),
        ("false", []),
        ("i IS NOT NULL", ["a", "b"]),
    ],
)
def test_strict_scans_need_some_part_that_prunes(table: ds.DeltaTable, where: str | None, files: list[str]) -> None:
    assert kept(table, where, strict=True) == files


def test_strict_names_files_whose_writer_may_omit_nan(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"x": DOUBLE})
    builder.commit(add("a", bounds(10, x=(1.0, 9.0))), engine=DELTA_RS)
    opened = ds.DeltaTable(tmp_path / "t")
    refuses(ds.NotProvable, "NaN", opened.scan, "x > 100", strict=True)
    opened.scan("x < 0", strict=True)


@pytest.mark.parametrize("version", ["abc", "x", "", " 77.1", "latest"])
def test_a_collation_version_that_is_none_is_refused_by_name(table: ds.DeltaTable, version: str) -> None:
    refuses(ds.InvalidArgument, "collation_version must be the version", table.scan, "i = 1", collation_version=version)


@pytest.fixture
def days(tmp_path: Path) -> ds.DeltaTable:
    """A file for each of the last 30 days and the next 2, in a date partition and in columns."""
    builder = TableBuilder(
        tmp_path / "days", {"ts": TIMESTAMP, "day": DATE, "i": INTEGER, "p": DATE, "key": STRING}, ["p", "key"]
    )
    files = []
    for ago in range(30, -3, -1):
        moment = datetime.now(UTC) - timedelta(days=ago)
        day = moment.date().isoformat()
        start, end = (f"{day}T{clock}Z" for clock in ("00:00:00.000", "23:59:59.000"))
        statistics = bounds(5, ts=(start, end), day=(day, day), i=(1, 2))
        files.append(add(f"{ago:02d}", statistics, partitionValues={"p": day, "key": day.replace("-", "")}))
    builder.commit(*files)
    return ds.DeltaTable(tmp_path / "days")


@pytest.mark.parametrize(
    ("where", "oldest"),
    [
        ("ts >= now() - INTERVAL 7 DAYS", 7),
        ("ts > current_timestamp - INTERVAL '7' DAY AND ts < now()", 7),
        ("day >= current_date() - 7", 7),
        ("day BETWEEN date_sub(current_date(), 7) AND current_date()", 7),
        ("NOT (current_date() - INTERVAL 7 DAYS > day)", 7),
        ("datediff(current_date(), day) <= 7", 7),
        ("p > date_add(current_date, -7)", 6),
        ("p IN (current_date(), DATE'today' - 1)", 1),
        ("p = 'today'", 0),
        ("key >= date_format(current_date() - 7, 'yyyyMMdd')", 7),
        ("CAST(key AS INT) >= CAST(date_format(dateadd(DAY, -7, now()), 'yyyyMMdd') AS INT)", 7),
        ("i = 1 AND p >= current_date() - 7", 7),
    ],
)
def test_the_last_days_prune(days: ds.DeltaTable, where: str, oldest: int) -> None:
    # Shortly after midnight, the slack reaches into the day before.
    found = kept(days, where)
    assert found[0] in (f"{oldest:02d}", f"{oldest + 1:02d}")
    assert set(found) >= set(kept(days, "p >= current_date()"))
    unknown = kept(days, where, time_zone=None)
    assert set(unknown) >= set(found)
    assert len(unknown) <= len(found) + 3


@pytest.mark.parametrize("where", ["ts < now()", "day != current_date()", "month(day) = month(current_date())"])
def test_what_a_later_query_may_match_is_kept_and_says_why(days: ds.DeltaTable, where: str) -> None:
    assert len(kept(days, where)) == 33
    [leaf] = days.scan(where).explain().leaves
    assert "the query" in leaf.reason
    assert "later time" in leaf.reason or "the time of the query" in leaf.reason


def test_rows_that_match_whenever_the_query_runs_are_counted(days: ds.DeltaTable) -> None:
    assert days.scan("day < current_date() + 1000").count() == 165
    assert days.scan("ts < now() OR i > 0").count() == 165
    for where in ("day >= current_date() - 10", "day < current_date() - 10"):
        with pytest.raises(ds.NotProvable):
            days.scan(where).count(read=False)


def test_a_plan_keeps_its_time(days: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = days.scan("day >= current_date()")
    before = scan.paths()
    monkeypatch.setattr("deltaskip.skipping.log_scan.current_micros", lambda: 0)
    assert scan.paths() == before
    assert scan.replanned(SessionMeaning("+02:00"), scan.collation_version).total_files() == 33
    assert len(kept(days, "day >= current_date()")) == 33


def test_the_name_of_a_column_in_quotes_is_told(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING")
    for where in ("\"name\" <> 'Anna'", "'NAME' = 'Anna'", "'name' LIKE 'A%'", "'name' IN ('a', 'b')"):
        for door in (lambda text: table.scan(text).files(), table.delete):
            with pytest.warns(ds.PredicateWarning, match="is a text, .*and not the column: write `"):
                door(where)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for where in ("name = 'name'", "'x' = 'y'", "`name` <> 'Anna'"):
            table.scan(where).files()
