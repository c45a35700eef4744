"""SQL statements as values: every form, expressions as typed, and errors with their place."""

from __future__ import annotations

import random

import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, InvalidArgument, PredicateError
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.statements.grammar import GRAMMAR, NEAREST
from deltaskip.statements.inserting import Insert
from deltaskip.statements.reader import StatementTable
from deltaskip.statements.row_statements import MergeInto, Update
from deltaskip.statements.run import parse_statement
from deltaskip.statements.show_statements import DescribeTable
from deltaskip.statements.statement import Statement
from deltaskip.statements.table_statements import CreateTable
from tests.cases import cases
from tests.looped import looped
from tests.statements.texts import STATEMENTS


@looped("text", STATEMENTS)
def test_every_statement_of_the_list_is_read_with_and_without_a_semicolon_in_any_case(text: str) -> None:
    found = parse_statement(text)
    assert parse_statement(f"/* one */ {text} ; -- end") == found
    assert type(parse_statement(text.lower())) is type(found)


def test_the_list_has_a_statement_for_every_form_of_the_table() -> None:
    for form in GRAMMAR:
        assert any(
            all(i < len(words) and words[i].upper() in each for i, each in enumerate(form.begins))
            for words in (text.split() for text in STATEMENTS)
        ), form.form


def test_create_table_keeps_transforms_columns_and_clauses_in_any_order() -> None:
    found = parse_statement(
        "CREATE TABLE IF NOT EXISTS a.`b c` (id BIGINT NOT NULL, ts TIMESTAMP, y INT GENERATED ALWAYS AS (year(ts))) "
        "COMMENT 'it''s' PARTITIONED BY (days(ts), bucket(16, id), y) USING delta TBLPROPERTIES ('k' = 'v', a.b = 1)"
    )
    assert found == CreateTable(
        ("a", "b c"),
        parse_columns("id BIGINT NOT NULL, ts TIMESTAMP, y INT GENERATED ALWAYS AS (year(ts))"),
        (ds.transforms.date("ts"), ds.transforms.bucket("id", 16), ds.transforms.identity("y")),
        properties=(("k", "v"), ("a.b", "1")),
        comment="it's",
        provider="delta",
        if_not_exists=True,
    )


def test_rule_24_expressions_keep_the_text_as_typed() -> None:
    found = parse_statement("UPDATE t SET d = cast( ts  as date ) /* x */, e = 'a;b' WHERE  hour(ts)<3 AND v:a.b = 1")
    assert found == Update(
        ("t",), ((("d",), "cast( ts  as date )"), (("e",), "'a;b'")), where="hour(ts)<3 AND v:a.b = 1"
    )
    merged = parse_statement(
        "MERGE INTO t USING s ON CASE WHEN t.a THEN s.b ELSE s.c END = 1 "
        "WHEN MATCHED AND CASE WHEN s.x THEN 1 END > 0 THEN DELETE"
    )
    assert isinstance(merged, MergeInto)
    assert merged.on == "CASE WHEN t.a THEN s.b ELSE s.c END = 1"
    assert merged.clauses[0].where == "CASE WHEN s.x THEN 1 END > 0"


@looped(
    "text, name",
    [
        ("DESCRIBE t VERSION AS OF 3", StatementTable(("t",), 3)),
        ("DESCRIBE t FOR VERSION AS OF '3'", StatementTable(("t",), 3)),
        ("DESCRIBE t FOR SYSTEM_VERSION AS OF 3", StatementTable(("t",), 3)),
        ("DESCRIBE a.t@v12", StatementTable(("a", "t"), 12)),
        ("DESCRIBE t@20260131120000123", StatementTable(("t",), None, "'2026-01-31 12:00:00.123'")),
        ("DESCRIBE t TIMESTAMP AS OF '2026-01-01'", StatementTable(("t",), None, "'2026-01-01'")),
        ("DESCRIBE t FOR SYSTEM_TIME AS OF date_sub(current_date(), 1)",
            StatementTable(("t",), None, "date_sub(current_date(), 1)")),
        ("DESCRIBE t TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY",
            StatementTable(("t",), None, "current_timestamp() - INTERVAL 1 DAY")),
        ("DESCRIBE t TIMESTAMP AS OF TIMESTAMP '2026-01-01'", StatementTable(("t",), None, "TIMESTAMP '2026-01-01'")),
    ],
)  # fmt: skip
def test_time_travel_in_names(text: str, name: StatementTable) -> None:
    found = parse_statement(text)
    assert isinstance(found, DescribeTable)
    assert found.name == name


@looped(
    "text, place, reason",
    [("CREATE TABLE t\n(id BIGNT)", "line 2, column 5", "BIGNT"), *cases(__file__, "wrong_statements.txt")],
)
def test_a_wrong_statement_names_the_place_and_the_reason(text: str, place: str, reason: str) -> None:
    with pytest.raises(PredicateError) as raised:
        parse_statement(text)
    assert f"at {place}:" in str(raised.value)
    assert reason in str(raised.value)


@looped("word", NEAREST)
def test_a_statement_that_is_not_supported_names_the_nearest(word: str) -> None:
    begins = "CREATE OR REPLACE " if word in ("VIEW", "FUNCTION") else ""
    with pytest.raises(InvalidArgument, match="is not supported: use") as raised:
        parse_statement(f"{begins}{word} something")
    assert NEAREST[word] in str(raised.value)


def test_the_condition_of_replace_on_ends_at_the_query() -> None:
    condition = "t.map = s.values AND s.id IN (SELECT 1) AND CASE WHEN s.x THEN (t.y) ELSE true END"
    for query, alias in (("SELECT 1 AS id", None), ("(SELECT 1 AS id) AS s", "s"), ("(SELECT 1 AS id) s", "s")):
        found = parse_statement(f"INSERT INTO db.t AS t REPLACE ON {condition} {query}")
        assert isinstance(found, Insert)
        assert found.matching is not None
        assert (found.matching.on, found.matching.target, found.matching.source) == (condition, "t", alias)
        assert found.query == "SELECT 1 AS id"


def test_columns_and_a_query_contradict_each_other() -> None:
    with pytest.raises(InvalidArgument, match="leave out the columns"):
        parse_statement("CREATE TABLE t (id INT) AS SELECT 1")


def test_random_damage_raises_an_error_of_ours_or_gives_a_statement() -> None:
    rng = random.Random(20261122)
    pieces = [word for text in STATEMENTS for word in text.split()] + list("()',`;=.@*") + ["--", "/*"]
    for _ in range(6000):
        words = rng.choice(STATEMENTS).split(" ")
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(words))
            match rng.randrange(4):
                case 0:
                    del words[at]
                case 1:
                    words.insert(at, rng.choice(pieces))
                case 2:
                    words[at] = rng.choice(pieces)
                case _:
                    words[at] = words[at][: rng.randrange(len(words[at]) + 1)]
            words = words or [""]
        try:
            assert isinstance(parse_statement(" ".join(words)), Statement)
        except DeltaSkipError as error:
            assert str(error)
