"""SQL text that a table stores calls Spark's own functions only, whichever door hands it to Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.errors import DeltaSkipError, UnsupportedFeature
from deltaskip.spark.session.session_settings import session_settings
from deltaskip.spark.write.checked_rows import ALLOW_REFLECTION, _Parsed, _problem, _Tokens
from tests.builder import TableBuilder
from tests.each import refuses
from tests.extent import some

pytestmark = pytest.mark.spark

_HOME = "'java.lang.System', 'getProperty', 'user.home'"

# Texts that run code of somebody else, or read what is no value of the row. {0} is a call of the function `reflect`.
REFUSED = (
    f"reflect({_HOME})", f"java_method({_HOME})", f"TRY_Reflect({_HOME})", f"`Java_Method`({_HOME})",
    f"builtin.reflect({_HOME})", f"system . builtin . `reflect`({_HOME})", f"IDENTIFIER('java_' || 'method')({_HOME})",
    f"upper(concat('a', reflect({_HOME})))",
    f"element_at(transform(array(v), x -> reflect({_HOME})), 1)",
    f"aggregate(array(v), '', (a, x) -> concat(a, java_method({_HOME})))",
    f"CASE WHEN v = 'a' THEN reflect({_HOME}) ELSE v END", f"v || /* ' */ reflect({_HOME}) /* ' */",
    f"v -- \\\n || 'x'\n || reflect({_HOME})", f"v -- ' \r || reflect({_HOME}) -- '",
    f"concat('\\'', reflect({_HOME}), '\\'')", f"concat(r'\\', reflect({_HOME}), r'\\')",
    f"v) || reflect({_HOME}) || (v", "stored_text_udf(v)", "`Stored_Text_UDF`(v)", "session.stored_text_udf(v)",
    "stored_text_sql(v)", "spark_catalog.default.stored_text_udf(v)",
    "from_avro(CAST(v AS BINARY), '\"string\"', map('avroSchemaUrl', 'file:/tmp/schema'))",
    "from_protobuf(CAST(v AS BINARY), 'java.lang.System')",
    "from_xml(v, 'a STRING', map('rowValidationXSDPath', '/etc/hostname')).a",
    "(SELECT max(id) FROM range(3))", "IF(EXISTS (SELECT 1), v, v)", "IF(v IN (SELECT 'a'), v, v)",
    "IF(v IN (FROM range(3) SELECT 'a'), v, v)", "'${env:HOME}'", "concat('${spark.app.name}', v)",
    "'${system:user.name}'",
)  # fmt: skip
ACCEPTED = (
    "v", "upper(v)", "`Lower`(v)",
    "concat(v, 'reflect(1)', \"java_method('a')\", '(SELECT 1)', '$ { } ${} $a')",
    "CAST(CAST(v AS DECIMAL(10, 2)) AS STRING)",
    "CASE WHEN (v) IN ('a', 'b') AND NOT (v LIKE 'x%') THEN (v) ELSE ('q') END",
    "substring(v FROM 1 FOR 2)", "TRIM(BOTH 'x' FROM v)", "array_join(transform(array(v), x -> upper(x)), ',')",
    "named_struct('reflect', v).reflect", "coalesce(v, current_user())", "date_format(DATE '2024-01-01', 'yyyy')",
)  # fmt: skip


@pytest.fixture(scope="module")
def session(spark: Any) -> Iterator[Any]:
    """The session, with functions of its own."""
    spark.udf.register("stored_text_udf", lambda _: "ran", "string")
    spark.sql("CREATE OR REPLACE TEMPORARY FUNCTION stored_text_sql(x STRING) RETURNS STRING RETURN upper(x)")
    yield spark
    spark.sql("DROP TEMPORARY FUNCTION IF EXISTS stored_text_sql")
    spark.sql("DROP TEMPORARY FUNCTION IF EXISTS stored_text_udf")


def table_of(path: Path, features: list[str], fields: list[dict[str, Any]], **configuration: str) -> DeltaTable:
    """A table as a stranger may write it: nothing here checks its expressions."""
    named = [{"type": "string", "nullable": True, "metadata": {}, **field} for field in fields]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": features}
    builder = TableBuilder(path, {}, protocol=protocol)
    metadata = builder._head[1]["metaData"]
    metadata["schemaString"] = json.dumps({"type": "struct", "fields": named})
    metadata["configuration"] = configuration
    builder.commit()
    return DeltaTable(path)


def tables(path: Path, text: str) -> dict[str, DeltaTable]:
    """Tables with the text as a generated column, a default, a CHECK constraint and an invariant."""
    v = {"name": "v"}
    generated = {"name": "g", "metadata": {"delta.generationExpression": text}}
    default = {"name": "g", "metadata": {"CURRENT_DEFAULT": text}}
    holds = f"({text}) IS NOT NULL"
    invariant = {"name": "v", "metadata": {"delta.invariants": json.dumps({"expression": {"expression": holds}})}}
    return {
        "generated": table_of(path / "generated", ["generatedColumns"], [v, generated]),
        "default": table_of(path / "default", ["allowColumnDefaults"], [v, default]),
        "check": table_of(path / "check", ["checkConstraints"], [v], **{"delta.constraints.c": holds}),
        "invariant": table_of(path / "invariant", ["invariants"], [invariant]),
    }


def test_text_is_refused_by_its_tree_and_by_its_tokens_alike(session: Any) -> None:
    for calls in (_Parsed(session), _Tokens(session)):
        assert [text for text in REFUSED if _problem(text, calls) is None] == []
        assert {text: _problem(text, calls) for text in ACCEPTED if _problem(text, calls) is not None} == {}
    assert _problem("BUILTIN.upper(v) || System.Builtin.`lower`(v)", _Parsed(session)) is None


def test_no_place_of_an_expression_runs_what_the_author_of_the_table_chose(session: Any, tmp_path: Path) -> None:
    rows = session.range(3).select(F.concat(F.lit("a"), "id").alias("v"))
    for i, text in enumerate(REFUSED):
        for kind, table in tables(tmp_path / str(i), text).items():
            if kind == "default" and "v" in text.split("(")[-1] and text.startswith("v"):
                continue
            refuses(DeltaSkipError, None, table.append, rows)
            assert table.version == 0, (kind, text)
    found = tables(tmp_path / "own", "concat('x', '-')")
    assert [table.append(rows).version for table in found.values()] == [1, 1, 1, 1]


def test_the_refusal_names_the_expression_the_call_the_table_and_the_cure(session: Any, tmp_path: Path) -> None:
    rows = session.range(1).selectExpr("'a' AS v")
    named = {"generated": "column g", "default": "column g", "check": "rule c", "invariant": "invariant of v"}
    for kind, table in tables(tmp_path, f"java_method({_HOME})").items():
        with pytest.raises(UnsupportedFeature) as caught:
            table.append(rows)
        message = str(caught.value)
        for part in (named[kind], "java_method", str(tmp_path / kind), "allow_reflection=True", ALLOW_REFLECTION):
            assert part in message


def doors(session: Any) -> dict[str, Callable[[DeltaTable], object]]:
    rows = session.range(3).selectExpr("concat('a', id) AS v")

    def merged(table: DeltaTable) -> object:
        merge = table.merge(rows, "t.v = s.v", source_alias="s", target_alias="t")
        return merge.when_matched_update({"v": "concat(s.v, 'x')"}).when_not_matched_insert({"v": "s.v"}).execute()

    def in_a_transaction(table: DeltaTable) -> object:
        with table.transaction() as transaction:
            return transaction.append(rows)

    return {
        "append": lambda table: table.append(rows),
        "evolving append": lambda table: table.append(rows.selectExpr("v", "1 AS more"), schema_mode="merge"),
        "overwrite": lambda table: table.overwrite(rows),
        "part": lambda table: table.overwrite(rows, where="v LIKE 'a%'"),
        "merge": merged,
        "transaction": in_a_transaction,
    }


def test_every_door_refuses_and_a_trusting_handle_or_session_does_not(session: Any, tmp_path: Path) -> None:
    for name, write in some(doors(session).items(), 2):
        for kind, table in tables(tmp_path / name, f"reflect({_HOME})").items():
            refuses(UnsupportedFeature, "calls reflect", write, table)
            assert DeltaTable(table.uri).version == 0
            write(DeltaTable(table.uri, allow_reflection=True))
            assert DeltaTable(table.uri).version == 1, (name, kind)
            # What the handle was told holds for its later versions, and for no other handle.
            with pytest.raises(UnsupportedFeature, match="calls reflect"):
                write(DeltaTable(table.uri))
    table = tables(tmp_path / "session", f"reflect({_HOME})")["generated"]
    with session_settings(session, {ALLOW_REFLECTION: "true"}):
        table.append(session.range(1).selectExpr("'a' AS v"))
    assert table.scan().to_arrow()["g"].to_pylist() == [str(Path.home())]


def test_updates_do_not_evaluate_it_either(session: Any, tmp_path: Path) -> None:
    # Only a generated column of what changes is computed again.
    found = tables(tmp_path / "of_v", f"concat(v, reflect({_HOME}))")
    found["default"] = tables(tmp_path / "plain", f"reflect({_HOME})")["default"]
    for kind, table in found.items():
        trusted = DeltaTable(table.uri, allow_reflection=True)
        trusted.append(session.range(3).selectExpr("concat('a', id) AS v"))
        table.refresh()
        new = {"g": "DEFAULT"} if kind == "default" else {"v": "concat(v, 'x')"}
        refuses(UnsupportedFeature, "calls reflect", table.update, new, None, session)
        trusted.update(new, None, session)
        assert trusted.version == 2


def test_statements_and_installed_catalogs_do_not_evaluate_it(session: Any, tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path / 'house'}")
    catalog.create_namespace(("db",))
    tables(tmp_path / "house" / "db", f"reflect({_HOME})")
    installed = ds.install_catalog(session, "stored_text", catalog)
    try:
        for name in ("generated", "default", "check", "invariant"):
            columns = "(v)" if name in ("generated", "default") else ""
            for text in ("VALUES ('a')", "SELECT concat('x', id) FROM range(2)"):
                with pytest.raises(UnsupportedFeature, match="calls reflect"):
                    catalog.sql(session, f"INSERT INTO db.{name} {columns} {text}")
            with pytest.raises(Exception, match=r"calls reflect|NOT_CONSTANT"):
                session.sql(f"INSERT INTO stored_text.db.{name} {columns} VALUES ('a')")
        with pytest.raises(UnsupportedFeature, match="calls reflect"):
            catalog.sql(session, "INSERT INTO db.default VALUES ('a', DEFAULT), ('b', 'c')")
    finally:
        installed.close()


def test_a_constraint_is_not_tried_on_rows_if_it_calls_a_function_of_the_session(session: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "v STRING")
    table.append(session.range(1).selectExpr("'a' AS v"))
    with pytest.raises(UnsupportedFeature, match="calls stored_text_udf"):
        table.alter(ds.AddConstraint("c", "stored_text_udf(v) = 'ran'"))
    trusting = DeltaTable(tmp_path / "t", allow_reflection=True)
    trusting.alter(ds.AddConstraint("c", "stored_text_udf(v) = 'ran'"))
    trusting.append(session.range(1).selectExpr("'b' AS v"))
    with pytest.raises(UnsupportedFeature, match="calls stored_text_udf"):
        DeltaTable(tmp_path / "t").append(session.range(1).selectExpr("'b' AS v"))


def test_expressions_of_the_caller_may_call_anything(session: Any, tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "v STRING")
    rows = session.range(1).selectExpr("'ran' AS v")
    table.overwrite(rows, where="v = stored_text_udf(v)")
    table.update({"v": "stored_text_udf(v)"}, "stored_text_udf(v) = 'ran'", session)
    merge = table.merge(rows, "t.v = s.v", source_alias="s", target_alias="t")
    merge.when_matched_update({"v": "stored_text_udf(s.v)"}).execute()
    assert table.scan().to_arrow()["v"].to_pylist() == ["ran"]


def test_a_built_in_function_that_the_session_has_replaced_is_one_of_the_session(session: Any, tmp_path: Path) -> None:
    table = tables(tmp_path, "initcap(v)")["check"]
    other = session.newSession()
    rows = other.range(1).selectExpr("'a' AS v")
    table.append(rows)
    other.udf.register("initcap", lambda _: "ran", "string")
    refuses(UnsupportedFeature, "calls initcap", table.append, rows)
