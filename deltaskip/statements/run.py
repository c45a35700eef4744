"""Running SQL text: a statement over the tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.arguments import unicode_text
from deltaskip.catalogs.table_catalog import TableCatalog
from deltaskip.doors import first_line
from deltaskip.engine import engine
from deltaskip.errors import (
    InvalidArgument,
    InvalidArgumentType,
    MaintenanceWarning,
    PredicateError,
    PredicateWarning,
    SchemaError,
    advice_in,
)
from deltaskip.sparkexpr import with_parameters
from deltaskip.sparkexpr.text.sql_text import sql_error
from deltaskip.sparkexpr.types import TIMESTAMP, DataType
from deltaskip.sparkexpr.types.ddl import timestamp_of
from deltaskip.statements.from_the_log import Query
from deltaskip.statements.grammar import GRAMMAR, NEAREST, StatementForm
from deltaskip.statements.queries import QuerySession, explained
from deltaskip.statements.reader import StatementReader
from deltaskip.statements.statement import Statement, StatementSession
from deltaskip.warning import warn

_WORDS: dict[tuple[str, object], str] = {
    ("schema_mode", "merge"): "by WITH SCHEMA EVOLUTION",
    ("except_", None): "name the columns to set,",
    ("if_exists", True): "IF EXISTS",
}


def text_first(spark: Any, text: object, params: Any) -> tuple[Any, str, Any]:
    """Return the session, the text and the parameters of a call whose first argument may be the text."""
    if isinstance(spark, str):
        if text is not None and params is not None:
            raise InvalidArgumentType("sql takes a session, a text and its params: the first two are both text.")
        spark, text, params = None, spark, text if params is None else params
    elif text is None:
        raise InvalidArgumentType.of("spark", "a SparkSession before the text, None, or the text itself", spark)
    return spark, unicode_text("text", text), params


def answer_locally(session: QuerySession, text: str, params: object, time_zone: str = "UTC") -> pa.Table:
    """Return the rows of one SELECT, or of EXPLAIN of one, without a session.

    See `local_rows` and `local_plan`. Warns of functions with another meaning.
    """
    from deltaskip.statements.local_query import local_plan, local_rows

    query = explained(text)
    if query is not None:
        return local_plan(session, query, params, time_zone)
    found = local_rows(session, text, params, time_zone)
    if found.warning:
        warn(found.warning, PredicateWarning)
    return found.batches.read_all()


def run_statement(
    catalog: TableCatalog,
    spark: Any,
    text: str | None = None,
    params: Mapping[str, object] | Sequence[object] | None = None,
) -> Any:
    """Run an SQL statement; see TableCatalog.sql."""
    spark, text, params = text_first(spark, text, params)
    if spark is not None:
        text = engine("A statement through Spark").substituted(spark, text)
    given = str(with_parameters(text, params))
    statement = parse_statement(given, timestamp_of(spark, given))
    session = StatementSession(spark, catalog)
    if spark is None and isinstance(statement, Query):
        proved = statement.from_log(session)
        return answer_locally(session, text, params) if proved is None else proved
    with advice_in(_WORDS):
        answer = statement.run(session)
    if spark is None or not isinstance(answer, pa.Table):
        return answer
    try:
        return engine("The answer of a statement").arrow_to_dataframe(spark, answer)
    except Exception as error:
        if statement.only_reads:
            raise
        # An error would suggest that the statement failed and should be repeated.
        warn(
            f"The statement has succeeded, but Spark cannot make a DataFrame of its answer, which is returned "
            f"as a pyarrow.Table: {first_line(error)}.",
            MaintenanceWarning,
        )
        return answer


def parse_statement(text: str, timestamp: DataType = TIMESTAMP) -> Statement:
    """Return the statement of a text.

    Names and keywords are read here; expressions and queries keep their text as typed.

    Args:
        text: The text.
        timestamp: The type that TIMESTAMP means in definitions of columns.

    Raises:
        PredicateError: The text is not a statement; the message has the line and column of the first error.
        InvalidArgument: The statement is one that is not supported, or contradicts itself.
    """
    try:
        reader = StatementReader(text, timestamp=timestamp)
        if reader.at_end:
            raise sql_error(text, 0, "the statement is empty")
        form = _form(reader)
        reader.at = len(form.begins)
        statement = form.read(reader)
        reader.finish()
        return statement
    except SchemaError as error:
        raise PredicateError(str(error)) from error
    except RecursionError:
        raise PredicateError(f"The SQL text is nested too deeply: {text[:150]}") from None


def _form(reader: StatementReader) -> StatementForm:
    """The form that reads the statement."""
    for form in GRAMMAR:
        if all(i < len(reader.tokens) and reader.tokens[i].is_word(*words) for i, words in enumerate(form.begins)):
            return form
    if reader.begins_query():
        return next(form for form in GRAMMAR if "SELECT" in form.begins[0])
    first = reader.tokens[0]
    words = first.text.upper() if first.kind == "word" else ""
    if words in ("CREATE", "ALTER", "DROP", "SHOW", "DESCRIBE", "DESC"):
        later = (token.text.upper() for token in reader.tokens[1:5] if token.is_word("VIEW", "FUNCTION"))
        words = next(later, words)
    if words not in NEAREST:
        raise reader.error("a statement begins with a word such as SELECT, INSERT, CREATE, ALTER or DESCRIBE")
    shown = " ".join(token.text for token in reader.tokens[:2] if token.kind == "word")
    raise InvalidArgument(f"{shown} is not supported: use {NEAREST[words]}.")
