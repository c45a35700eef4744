"""Texts and Columns that go to a session: they mean the same whatever the session has set, or are refused."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import deltaskip as ds
from deltaskip import AddConstraint, DeltaTable
from deltaskip.delta import DeltaTable as NamedTable
from deltaskip.errors import RowViolation, UnsupportedFeature
from deltaskip.spark.session.own_texts import (
    OF_SHAPES,
    OWN_FUNCTIONS,
    check_functions,
    hidden_functions,
    own_literal,
    own_text,
)
from deltaskip.sparkexpr.text.sql_text import quoted_name, sql_string
from deltaskip.sparkexpr.types.ddl import exact_type_text, parse_type_text
from tests.contracts.doors import connect_session
from tests.each import each, refuses
from tests.extent import WHOLE
from tests.spark.under_settings import NAMES, NTZ, ODD, ODD_SETTINGS, OTHER_SETTINGS, operations

pytestmark = pytest.mark.spark
PACKAGE = Path(ds.__file__).parent


def session(spark: Any, **settings: str) -> Any:
    """A session with settings of its own."""
    own = spark.newSession()
    for key, value in {"spark.sql.session.timeZone": "America/New_York", **settings}.items():
        own.conf.set(key, value)
    return own


def differences(spark: Any, folder: Path, settings: dict[str, str], partition_by: tuple[str, ...]) -> None:
    usual, odd = (
        dict(operations(session(spark, **given), folder / name, partition_by))
        for name, given in (("usual", {}), ("odd", settings))
    )

    def same(name: str) -> None:
        assert odd[name]() == usual[name]()

    each(usual, same)


@pytest.mark.usefixtures("found_by_a_job")
def test_operations_have_the_same_result_under_odd_settings(spark: Any, tmp_path: Path) -> None:
    differences(spark, tmp_path, ODD_SETTINGS, ())


@pytest.mark.long
@pytest.mark.usefixtures("found_by_a_job")
@pytest.mark.parametrize("settings", [ODD_SETTINGS, *OTHER_SETTINGS], ids=range(1 + len(OTHER_SETTINGS)))
@pytest.mark.parametrize("partition_by", [(NAMES[0],), ("day",)])
def test_partitioned_tables_have_the_same_rows_under_other_settings(
    spark: Any, tmp_path: Path, settings: dict[str, str], partition_by: tuple[str, ...]
) -> None:
    differences(spark, tmp_path, settings, partition_by)


ODD_COLUMNS = (
    "id INT, `a.b` INT NOT NULL, axb INT, `c|d` STRING, c STRING, d STRING, `f-1` DOUBLE, `it's` CHAR(3), "
    "`s+t` STRUCT<`x-y`: INT NOT NULL, z: DOUBLE>, `l.*` ARRAY<STRUCT<`n|o`: VARCHAR(3)>>, `.*` STRING"
)


def written_and_read(spark: Any, folder: Path, properties: dict[str, str]) -> list[Any]:
    """What doors read of a table whose names could be regular expressions, after each change."""
    table = DeltaTable.create(
        folder, ODD_COLUMNS, [".*"], properties={"delta.enableChangeDataFeed": "true"} | properties
    )
    names = [quoted_name(name) for name in table.schema.names]
    found: list[Any] = []

    def note() -> None:
        read = table.refresh().scan()
        rows = read.to_spark(spark)
        found.append([rows.columns, sorted(map(repr, rows.collect()))])
        if not WHOLE and len(found) > 3:
            return
        ds.register_view(spark, "odd_names", table.refresh())
        found.append(sorted(map(repr, spark.sql("SELECT * FROM odd_names").collect())))
        found.append(sorted(map(repr, table.scan("id > 1", columns=["a.b", "c"]).to_spark(spark).collect())))

    row = (3, 4, "cd", "c", "d", 0.5, "q", (7, 1.5), [("r",)], "p")
    for i in (1, 2):
        table.append(spark.createDataFrame([(i, *row)], re.sub(r"(VAR)?CHAR.3.", "STRING", ODD_COLUMNS)))
    note()
    table.update({"axb": "axb + 1", "c": "d"}, "id = 1", spark=spark)
    note()
    source = spark.sql("SELECT 2 AS id, 'new' AS c UNION ALL SELECT 9, 'no'")
    table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"c": "s.c"}).execute()
    note()
    whole = table.refresh().scan().to_spark(spark).withColumn("id", F.col("id") + 5)
    table.merge(whole, "t.id = s.id", "s", "t").when_matched_update_all().when_not_matched_insert_all().execute()
    note()
    table.overwrite(table.refresh().scan("id = 6").to_spark(spark), where="id = 6")
    table.delete("id = 2", spark=spark)
    note()
    with pytest.raises(RowViolation, match=r"a\.b") as raised:
        table.append(
            spark.sql(f"SELECT 5 AS id, CAST(NULL AS INT) AS n, {', '.join(['NULL'] * 9)}").toDF(*table.schema.names)
        )
    found.append(raised.value.row)
    feed = table.refresh().changes(0).to_spark(spark)
    found.append(sorted(map(repr, feed.drop("_commit_timestamp").collect())))
    assert len(names) == len(found[0][0])
    return found


@pytest.mark.long(gate=1)
@pytest.mark.usefixtures("found_by_a_job")
@pytest.mark.parametrize("properties", [{"delta.columnMapping.mode": "name"}, {}], ids=["mapped", "plain"])
def test_names_are_no_regular_expressions(spark: Any, tmp_path: Path, properties: dict[str, str]) -> None:
    patterns = session(spark, **{"spark.sql.parser.quotedRegexColumnNames": "true"})
    expected = written_and_read(session(spark), tmp_path / "usual", properties)
    assert written_and_read(patterns, tmp_path / "patterns", properties) == expected


def test_names_of_a_table_given_by_position_are_no_regular_expressions(spark: Any, tmp_path: Path) -> None:
    def inserted(own: Any, folder: Path) -> list[str]:
        catalog = ds.catalog(f"warehouse:{folder}")
        catalog.sql(own, "CREATE NAMESPACE db")
        catalog.sql(
            own, f"CREATE TABLE db.t ({ODD_COLUMNS}) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
        )
        values = "1, 2, 3, 'cd', 'c', 'd', 0.5D, 'q', named_struct('a', 7, 'b', 1.5D)"
        row = f"{values}, array(named_struct('a${{x}}', 'r')), 'p'"
        catalog.sql(own, f"INSERT INTO db.t SELECT {row}")
        return [*map(repr, catalog.sql(own, "SELECT * FROM db.t").collect())]

    patterns = session(spark, **{"spark.sql.parser.quotedRegexColumnNames": "true"})
    assert inserted(patterns, tmp_path / "patterns") == inserted(session(spark), tmp_path / "usual")


def test_literals_types_and_names_mean_the_same_under_every_setting(spark: Any) -> None:
    texts = [*ODD, "\0", "\x7f\u2028", "😀$", "''", "a''b", "\\'", "${", "$${x}", "${x}${x"]
    types = ("timestamp", "array<timestamp>", "map<timestamp_ntz,timestamp>", "struct<select:timestamp,`${x}`:int>")

    def check(settings: dict[str, str]) -> None:
        own = session(spark, **settings)
        found = own.sql(own_text(own, f"SELECT {', '.join(map(sql_string, texts))}")).head()
        assert list(found) == texts
        literals = [text for text in texts if settings is not ODD_SETTINGS or not re.search(r"'|\\$", text)]
        shown = ", ".join(own_literal(own, text) for text in literals)
        assert list(own.sql(own_text(own, f"SELECT {shown}")).head()) == literals
        for text in set(texts) - set(literals):
            refuses(UnsupportedFeature, "has no form in SQL text for this session", own_literal, own, text)
        frame = own.createDataFrame([tuple(range(len(NAMES)))], list(NAMES))
        names = [f"{quoted_name(name)} AS {quoted_name(name + '!')}" for name in NAMES]
        assert frame.selectExpr(*(own_text(own, text) for text in names)).columns == [f"{name}!" for name in NAMES]
        casts = [f"CAST(NULL AS {exact_type_text(parse_type_text(each))})" for each in types]
        given = own.sql(own_text(own, f"SELECT {', '.join(casts)}")).schema
        assert [field.dataType.simpleString() for field in given.fields] == [each.replace("`", "") for each in types]

    each([{}, ODD_SETTINGS, *OTHER_SETTINGS], check)


@pytest.mark.usefixtures("found_by_a_job")
def test_a_function_that_hides_one_of_spark_is_refused(spark: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING, s STRUCT<x: FLOAT>", ["p"])
    query = "SELECT 1L AS id, 'a' AS p, named_struct('x', 1F) AS s"
    table.append(session(spark).sql(query))

    def check(name: str) -> None:
        own = session(spark)
        rows = own.sql(query)
        own.udf.register("not_of_spark", lambda value: value)
        own.udf.register("upper", lambda value: "mine")
        assert hidden_functions(own, OWN_FUNCTIONS | {"upper"}) == {"upper"}
        assert table.scan("id = 1").to_spark(own).count() == 1
        own.udf.register(name, lambda *values: "mine")
        assert hidden_functions(own, OWN_FUNCTIONS | {"upper"}) == {"upper", name}
        changes = (
            lambda: table.append(rows),
            lambda: table.update({"id": "id + 1"}, "id > 0", spark=own),
            lambda: table.merge(rows, "t.id = s.id", "s", "t").when_matched_delete().execute(),
            lambda: table.scan(engine="spark").to_spark(own),
        )
        for refused in changes:
            refuses(UnsupportedFeature, f"a function {name} of its own, which hides Spark's", refused)
        assert table.refresh().version == 1
        if name == "coalesce":
            # A read that does not call it.
            assert table.scan().to_spark(own).count() == table.scan().count()

    each(("coalesce", "when", "struct"), check)


def test_a_server_is_asked_for_its_functions_before_each_use(spark: Any) -> None:
    own = connect_session(spark)
    few = {"upper", "coalesce", "cast", "try_cast"}
    hides = tuple(map(int, own.version.split(".")[:2])) < (4, 2)
    for _ in range(2):  # the second time by what calls mean
        check_functions(own)
        assert hidden_functions(own, few) == hidden_functions(own, {*few, "schema_of_json"}) == set()
    own.udf.register("coalesce", lambda *values: "mine")
    assert hidden_functions(own, few) == ({"coalesce"} if hides else set())
    assert hidden_functions(own, {*few, "schema_of_json"}) == ({"coalesce"} if hides else set())
    assert hidden_functions(own, {*few, *OWN_FUNCTIONS}) == ({"coalesce"} if hides else set())
    with pytest.raises(UnsupportedFeature, match="a function coalesce of its own") if hides else nullcontext():
        check_functions(own)
    check_functions(own, {"length", "rpad"})


def test_the_list_of_own_functions_is_complete() -> None:
    # Names before a parenthesis that are not functions in SQL texts, and functions of pyspark that are not in a plan.
    others = {"cast", "try_cast", "col", "lit", "expr", "broadcast", "call_function", "collate", "ilike", "like"}
    others |= {"bitwise_not", "timestamp_add", "timestamp_diff", "not", "mode", "update", "range"}
    # By what it returns, rows are only divided over files.
    others |= {"lower"}
    assert set(_called()) - others - OWN_FUNCTIONS - OF_SHAPES == set()


def _called() -> Iterator[str]:
    """Names of the functions that texts and Columns of the package call."""
    texts = [*(PACKAGE / "spark").rglob("*.py"), *(PACKAGE / "rows").glob("*.py"), *(PACKAGE / "dml").rglob("*.py")]
    texts += [PACKAGE / "features/row_tracking.py", PACKAGE / "maintenance/partitioning.py"]
    sql = re.compile(r"(?<![\w.])([a-z][a-z_0-9]*|IF)\((?!\))")
    for path in texts:
        if path.stem in ("install", "planned_statements", "own_texts", "options", "session_checks", "callbacks"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Attribute(value=ast.Name(id="F"), attr=name):
                    yield name
                case ast.JoinedStr(values=parts):
                    text = "".join(part.value if isinstance(part, ast.Constant) else "?" for part in parts)
                    if not re.search(r"[a-z] [a-z]+ [a-z]+ [a-z]", text):
                        yield from (name.lower() for name in sql.findall(text))


ESCAPED = {"spark.sql.parser.escapedStringLiterals": "true"}
QUOTED = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}
CONSECUTIVE = {"spark.sql.legacy.consecutiveStringLiterals.enabled": "true"}
EXPONENT = {"spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true"}


def test_stored_text_that_means_something_else_in_a_session_is_refused(spark: Any, tmp_path: Path) -> None:
    def check(numbered: tuple[int, tuple[dict[str, str], str, str]]) -> None:
        number, (settings, column, check) = numbered
        table = DeltaTable.create(
            tmp_path / str(number), f"s STRING, x STRING, ts TIMESTAMP{column}",
            properties={"delta.feature.allowColumnDefaults": "supported"},
        )  # fmt: skip
        if check:
            table.alter(AddConstraint("c", check))
        values = "SELECT 'q' AS s, '2026-01-01 00:00:00' AS x, timestamp_micros(0) AS ts"
        [key] = settings
        own = session(spark, **settings)
        with pytest.raises(UnsupportedFeature, match=f"means something else in this session, which has {key}"):
            table.append(own.sql(values))
        assert table.refresh().version == (1 if check else 0)
        table.append(session(spark).sql(values))

    refused = [
        (ESCAPED, "", r"s != 'a\tb'"), (ESCAPED, r", g STRING GENERATED ALWAYS AS (concat(s, 'a\tb'))", ""),
        (ESCAPED, r", d STRING DEFAULT 'a\tb'", ""), (QUOTED, "", '"s" != x'), (CONSECUTIVE, "", "s != 'a''b'"),
        (EXPONENT, "", "length(s) < 1e3"), (ESCAPED, "", "s != r'a'"),
        (NTZ, ", g TIMESTAMP GENERATED ALWAYS AS (CAST(x AS TIMESTAMP))", ""),
        (NTZ, "", "to_timestamp(x) > timestamp_micros(0)"), (NTZ, "", "x::timestamp > timestamp_micros(0)"),
    ]  # fmt: skip
    each(enumerate(refused), check)


def test_stored_text_without_anything_that_settings_change_is_written(spark: Any, tmp_path: Path) -> None:
    schema = "timestamp TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(timestamp AS DATE)), d DOUBLE DEFAULT 1.5"
    table = DeltaTable.create(tmp_path / "t", schema, properties={"delta.feature.allowColumnDefaults": "supported"})
    table.alter(AddConstraint("c", "timestamp > TIMESTAMP'2020-01-01 00:00:00' AND true"))
    own = session(spark, **ODD_SETTINGS)
    table.append(own.sql("SELECT TIMESTAMP_LTZ'2026-01-01 00:30:00' AS timestamp"))
    assert [str(row["day"]) for row in table.scan().to_arrow().to_pylist()] == ["2026-01-01"]
    with pytest.raises(RowViolation, match="constraint c") as error:
        table.append(own.sql("SELECT TIMESTAMP_LTZ'2019-01-01 00:30:00.123456' AS timestamp"))
    assert error.value.row is not None
    assert str(error.value.row["timestamp"]) == "2019-01-01 05:30:00.123456+00:00"


def test_definitions_of_columns_have_the_type_that_timestamp_is_in_the_session(spark: Any, tmp_path: Path) -> None:
    # delta-spark 4.4 in a session with this setting: CREATE, ADD COLUMN, ALTER COLUMN TYPE, DeltaTableBuilder.
    own, catalog = session(spark, **NTZ), ds.catalog(f"warehouse:{tmp_path}")

    def types(name: str) -> list[str]:
        return [exact_type_text(field.type) for field in catalog.load_table(f"db.{name}").schema.fields]

    catalog.sql(own, "CREATE NAMESPACE db")
    properties = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
    catalog.sql(
        own, f"CREATE TABLE db.t (a TIMESTAMP, b TIMESTAMP_LTZ, c DATE, timestamp DATE) USING delta {properties}"
    )
    catalog.sql(own, "ALTER TABLE db.t ADD COLUMNS (d STRUCT<timestamp: TIMESTAMP, e: VARCHAR(3)>)")
    catalog.sql(own, "ALTER TABLE db.t ALTER COLUMN c TYPE TIMESTAMP")
    catalog.sql(own, "CREATE TABLE db.s AS SELECT CAST('2026-01-01 00:00:00' AS TIMESTAMP) AS a")
    NamedTable.create(own).location(str(tmp_path / "db/b")).addColumn("a", "TIMESTAMP").execute()
    assert types("t") == [
        "timestamp_ntz", "timestamp_ltz", "timestamp_ntz", "date", "struct<`timestamp`:timestamp_ntz,`e`:string>",
    ]  # fmt: skip
    assert types("s") == types("b") == ["timestamp_ntz"]
    for usual in (session(spark), None):
        catalog.sql(usual, "CREATE OR REPLACE TABLE db.s (a TIMESTAMP)")
        assert types("s") == ["timestamp_ltz"]
