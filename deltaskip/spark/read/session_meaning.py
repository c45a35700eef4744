"""How a session understands expressions: its settings, and what it says of an expression's variables and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from deltaskip.engine import is_column
from deltaskip.errors import PredicateError
from deltaskip.lazy_regex import regex
from deltaskip.predicates import node_and_texts
from deltaskip.spark.session.active import running_session
from deltaskip.spark.session.java_rules import use_session_rules
from deltaskip.spark.session.own_texts import hidden_in_flight, replaces_variables
from deltaskip.spark.session.session_settings import all_settings, is_classic, java_view
from deltaskip.sparkexpr import parse_sql, to_node
from deltaskip.sparkexpr.functions import FUNCTION_NAMES, OF_SHAPES
from deltaskip.sparkexpr.meaning import SessionMeaning, UnknownVariable, called_names, unresolved_names, with_variables
from deltaskip.sparkexpr.meaning_settings import IN_SPARK_3, LANGUAGE
from deltaskip.sparkexpr.nodes import Call, Node, operations
from deltaskip.sparkexpr.text.sql_text import quoted_path
from deltaskip.sparkexpr.types import StructType

_SEDONA = "org.apache.spark.sql.sedona_sql."
_ANSI, _ZONE = "spark.sql.ansi.enabled", "spark.sql.session.timeZone"
# Spark 4.1, VariableSubstitution: all of these name settings of the session.
_OF_SETTINGS = (None, "spark", "sparkconf", "hivevar", "hiveconf")

# By a JVM, or a session of Spark Connect.
_defaults: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()
# Spark 4.1, SQLConf.redactOptions; the defaults of the two settings.
_SECRET = regex("(?i)secret|password|token|access[.]?key|url")
_REDACTIONS = ("spark.redaction.regex", "spark.sql.redaction.options.regex")


def session_meaning(
    spark: SparkSession, given: Iterable[object] = (), schema: StructType | None = None, *, at_once: bool = False
) -> SessionMeaning:
    """Return how a session understands expressions. Its settings are one question.

    Args:
        spark: A session, classic or Connect.
        given: The expressions: SQL text, nodes, Columns, and expressions of `deltaskip.col`. The session is also asked
            for their variables and functions, if they have any.
        schema: The columns of the expressions, to ask whether other names are variables; None to ask for none.
        at_once: Whether a server is not asked for its functions, which takes longer than the rest of a plan.
    """
    return meaning_in_flight(spark, given, schema, at_once=at_once)[1]()


def meaning_in_flight(
    spark: SparkSession, given: Iterable[object] = (), schema: StructType | None = None, *, at_once: bool = False
) -> tuple[SessionMeaning, Callable[[], SessionMeaning]]:
    """Return `session_meaning` before a server has said which functions it has, and the function that waits for it.

    The first is right unless functions of the session hide Spark's.
    """
    use_session_rules(spark)
    settings = _settings(spark)
    expressions = [part for each in given for part in _parts(each)]
    if any(_calls(each) for each in expressions):
        settings |= _language(spark)
    meaning = _of_settings(spark, settings)
    texts: dict[str, str | None] = {}
    for each in expressions:
        if isinstance(each, str) and replaces_variables(each, settings):
            found = with_variables(each, partial(_value, spark, settings))
            if found != each:
                texts[each] = found
    read = [texts.get(each) if each in texts else each for each in expressions]
    names = {name for each in read if each is not None for name in called_names(each)}
    asked = names & FUNCTION_NAMES if is_classic(spark) or not at_once else frozenset[str]()
    own = hidden_in_flight(spark, asked, settings)
    of_shapes = _own_shape_functions(spark, frozenset(names)) if names & OF_SHAPES else frozenset[str]()
    variables = frozenset[tuple[str, ...]]()
    if schema is not None:
        unknown = {parts for each in read if each is not None for parts in _unknown_names(each, schema)}
        variables = frozenset(tuple(map(str.lower, each)) for each in unknown if _is_variable(spark, each))
    meaning = replace(meaning, texts=texts, variables=variables)
    return replace(meaning, functions=of_shapes), lambda: replace(meaning, functions=own() | of_shapes)


def _own_shape_functions(spark: SparkSession, names: frozenset[str]) -> frozenset[str]:
    """Return which of OF_SHAPES are functions of the session's user, so that their meaning is not known."""
    found = set()
    for name in names & OF_SHAPES:
        if spark.catalog.functionExists(name) and not spark.catalog.getFunction(name).className.startswith(_SEDONA):
            found.add(name)
    return frozenset(found)


def active_session_meaning(given: object, schema: StructType | None) -> SessionMeaning | None:
    """How the active session of this process understands expressions; None if no session answers.

    given: The expression whose functions and unknown names the session is asked for; None for none.
    """
    try:
        active = running_session()
        return None if active is None else session_meaning(active, [given], schema, at_once=True)
    except Exception:  # a session that was stopped, or whose server is gone
        return None


def active_settings() -> SessionMeaning | None:
    """What the settings of the active session of this process change; None if no session answers."""
    try:
        active = running_session()
        return None if active is None else _of_settings(active, _settings(active))
    except Exception:  # a session that was stopped, or whose server is gone
        return None


def _settings(spark: SparkSession) -> dict[str, str]:
    return {**(IN_SPARK_3 if pyspark.__version__.startswith("3.") else {}), **all_settings(spark)}


def _of_settings(spark: SparkSession, settings: Mapping[str, str]) -> SessionMeaning:
    ansi, zone = (settings.get(key) or _default(spark, key) for key in (_ANSI, _ZONE))
    return SessionMeaning.of(zone, ansi.strip().lower() == "true", settings)


def _default(spark: SparkSession, key: str) -> str:
    """The value of a setting that the session has not set. A JVM, or the server of a session, is asked once."""
    known = _defaults.setdefault(java_view(spark) if is_classic(spark) else spark, {})
    if key not in known:
        known[key] = str(spark.conf.get(key))
    return known[key]


def _parts(given: object) -> list[str | Node]:
    """An expression as nodes and SQL text."""
    if is_column(given):
        node, texts = node_and_texts(given)
        return [node, *texts]
    return [] if given is None else [given if isinstance(given, str) else to_node(given)]


def _calls(expression: str | Node) -> bool:
    """Whether an expression may call a function."""
    return (
        "(" in expression if isinstance(expression, str) else any(isinstance(e, Call) for e in operations(expression))
    )


def _language(spark: SparkSession) -> dict[str, str]:
    """The language of a JVM in which letters have another case than in English; empty for others, and for Connect."""
    if not is_classic(spark):
        return {}
    language = language_of(java_view(spark))
    return {LANGUAGE: language} if language in ("tr", "az", "lt") else {}


@lru_cache(1)
def language_of(jvm: Any) -> str:
    """The language of the default locale of a JVM."""
    return str(jvm.java.util.Locale.getDefault().getLanguage())


def substituted(spark: SparkSession, text: str) -> str:
    """Return a text with its references to variables replaced, as the session does before it reads the text.

    A text with a reference whose value this process cannot know is returned unchanged.
    """
    if not replaces_variables(text, spark.conf):
        return text
    return with_variables(text, partial(_value, spark, all_settings(spark))) or text


def _value(spark: SparkSession, settings: Mapping[str, str], prefix: str | None, name: str) -> str | None:
    """The value of a reference to a variable; None for a prefix that Spark does not have."""
    if prefix in _OF_SETTINGS:
        if _SECRET.search(name) or any(key in settings for key in _REDACTIONS):
            # Spark replaces such a variable by a text that hides its value.
            raise UnknownVariable(name)
        try:
            return str(spark.conf.get(name, ""))
        except Exception as error:  # the empty default has not the type of the setting
            raise UnknownVariable(name) from error
    if prefix not in ("env", "system"):
        return None
    if not is_classic(spark):
        raise UnknownVariable(name)
    system: Any = java_view(spark).java.lang.System
    found = system.getenv(name) if prefix == "env" else system.getProperty(name)
    return None if found is None else str(found)


def _unknown_names(given: str | Node, schema: StructType) -> list[tuple[str, ...]]:
    try:
        return unresolved_names(parse_sql(given) if isinstance(given, str) else given, schema)
    except PredicateError:
        return []


def _is_variable(spark: SparkSession, parts: tuple[str, ...]) -> bool:
    """Whether a name is a variable of the session."""
    try:
        _ = spark.sql(f"SELECT {quoted_path(parts)}").schema
    except AnalysisException:
        return False
    return True
