"""The meaning of an expression in a session: variables that are replaced, settings that are not understood."""

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.meaning import (
    USUAL,
    SessionMeaning,
    UnknownVariable,
    called_names,
    unresolved_names,
    with_variables,
)
from deltaskip.sparkexpr.meaning_settings import PREFIXES, SETTINGS, UNRELATED, settings_that_differ
from deltaskip.sparkexpr.nodes import And, Compare, Node, SessionExpression, operations
from deltaskip.sparkexpr.types.data_types import StructType
from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import each, refuses

SCHEMA = parse_columns("i INT, s STRING, d DATE, p DECIMAL(20,2), c CHAR(3)")
VARIABLES = {"x": "a", "deep": "${x}b", "loop": "${loop}", "n": "5"}


def value_of(prefix: str | None, name: str) -> str | None:
    if prefix == "env":
        raise UnknownVariable(name)
    return VARIABLES.get(name, "") if prefix in (None, "spark", "hiveconf") else None


def left(node: Node) -> list[str]:
    """The parts that are left to the session."""
    return [part.sql for part in operations(node) if isinstance(part, SessionExpression)]


def under(text: str, schema: StructType | None = SCHEMA, **settings: str) -> Node:
    keys = {f"spark.sql.{key.replace('_', '.')}": value for key, value in settings.items()}
    return SessionMeaning.of("UTC", True, keys).node(text, schema)


def test_variables_are_replaced_as_spark_replaces_them() -> None:
    # Spark 4.1.4, VariableSubstitution
    expected = {
        "s = '${x}'": "s = 'a'",
        "${spark:x}${hiveconf:x}${none}": "aa",
        "${deep}": "ab",
        "$${x} ${x ${ x } ${} ${what:x}": "$a ${x ${ x } ${} ${what:x}",
        "a${x}${n}b": "aa5b",
        "${env:HOME}": None,
        "${loop}": None,
        "nothing": "nothing",
    }

    def check(text: str) -> None:
        assert with_variables(text, value_of) == expected[text]

    each(expected, check)


def test_without_deviations_nothing_is_left_to_the_session() -> None:
    node = parse_sql("upper(s) = 'X' AND p * 2 > 5")
    assert USUAL.node("upper(s) = 'X' AND p * 2 > 5") == node
    assert SessionMeaning.of("Asia/Tokyo", False, {"spark.sql.ansi.enabled": "false", "spark.app.name": "x"}).is_usual
    assert SessionMeaning.of("UTC", True, {row.key: row.understood[0] for row in SETTINGS if row.understood}).is_usual


def test_only_the_part_with_another_meaning_is_left_to_the_session() -> None:
    found = under("i = 3 AND to_json(s) = 'x'", jsonGenerator_ignoreNullFields="false")
    assert isinstance(found, And) and isinstance(found.children[0], Compare)
    assert left(found) == ["to_json(s)"]
    own = SessionMeaning(functions=frozenset(("upper",)))
    assert left(own.node("UPPER(s) = 'X' AND i = 1")) == ["upper(s)"]
    assert left(SessionMeaning(variables=frozenset((("v",),))).node("i = V", SCHEMA)) == ["V"]


def test_types_decide_where_they_are_known() -> None:
    key = {"decimalOperations_allowPrecisionLoss": "false"}
    assert left(under("i + 1 = 2", **key)) == []
    assert left(under("p + 1 = 2", **key)) == ["p + 1"]
    assert left(under("i + 1 = 2", None, **key)) == ["i + 1"]
    assert left(under("c = 'a'", readSideCharPadding="false")) == ["c"]
    assert left(under("s = 'a'", readSideCharPadding="false")) == []


def test_a_setting_that_nobody_knows_leaves_all_to_the_session() -> None:
    for key in PREFIXES:
        meaning = SessionMeaning.of("UTC", True, {f"{key}nobodyKnows": "1"})
        assert left(meaning.node("i = 3", SCHEMA)) == ["i = 3"]
        assert left(meaning.node(parse_sql("i = 3"), SCHEMA)) == ["i = 3"]
        assert not meaning.reads("SELECT 1")
    assert settings_that_differ(dict.fromkeys(UNRELATED, "anything")) == ()
    assert settings_that_differ({"spark.sql.shuffle.partitions": "7", "x": "a"}) == ()


def test_texts_are_left_to_the_session_only_if_they_have_what_the_setting_changes() -> None:
    cases = {
        "ansi.doubleQuotedIdentifiers": ('"s" = c', "s = 'a'"),
        "parser.escapedStringLiterals": ("s = 'a\\t'", "s = 'a'"),
        "legacy.consecutiveStringLiterals.enabled": ("s = 'a''b'", "s = 'a' OR s = 'b'"),
        "legacy.exponentLiteralAsDecimal.enabled": ("i = 1e3", "i = 13"),
        "legacy.bangEqualsNot": ("s ! LIKE 'a'", "i != 3"),
    }

    def check(key: str) -> None:
        meaning = SessionMeaning.of("UTC", True, {f"spark.sql.{key}": "true"})
        changed, same = cases[key]
        assert left(meaning.node(changed, SCHEMA)) == [changed]
        assert left(meaning.node(same, SCHEMA)) == []
        assert not meaning.reads(changed) and meaning.reads(same)

    each(cases, check)


def test_a_text_that_only_the_session_can_parse_is_left_to_it() -> None:
    refuses(PredicateError, None, USUAL.node, "i IS ! NULL")
    assert left(under("i IS ! NULL", legacy_bangEqualsNot="true")) == ["i IS ! NULL"]
    refuses(PredicateError, None, under, "i IS ! NULL", jsonGenerator_ignoreNullFields="false")
    assert left(SessionMeaning(functions=frozenset(("upper",))).node("upper(s, i) = 'X'")) == ["upper(s, i) = 'X'"]
    assert left(SessionMeaning(texts={"i = ${env:X}": None}).node("i = ${env:X}")) == ["i = ${env:X}"]


def test_calls_that_become_other_nodes_are_found_by_their_names() -> None:
    assert called_names("date(d) = '2024-01-01' AND `Upper` (s) = 'X' AND i BETWEEN 1 AND 2") == {
        "date", "upper", "between"
    }  # fmt: skip
    own = SessionMeaning(functions=frozenset(("date",)))
    assert left(own.node("date(s) = d")) == ["date(s) = d"]
    assert called_names(parse_sql("startswith(s, 'a') AND s ILIKE 'b' AND isnull(s)")) == {
        "startswith",
        "ilike",
        "isnull",
    }


def test_names_that_are_not_columns_may_be_variables() -> None:
    node = parse_sql("i = chosen AND s = session.other AND d = current_date")
    assert unresolved_names(node, SCHEMA) == [("chosen",), ("session", "other")]
