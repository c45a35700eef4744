"""Conversion of all predicates and expressions that callers may pass to the types that the package reads.

A predicate is SQL text, an expression of `deltaskip.col`, a PySpark Column, a list of tuples as in pyarrow and
delta-rs, or an expression of Polars or pyarrow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deltaskip.engine import engine, is_column
from deltaskip.errors import InvalidArgumentType, PredicateError, PredicateWarning
from deltaskip.lazy_regex import regex
from deltaskip.recursion import deep
from deltaskip.sparkexpr import ColumnExpr, parse_sql, to_node, with_parameters
from deltaskip.sparkexpr.bind import with_shapes
from deltaskip.sparkexpr.meaning import USUAL, SessionMeaning
from deltaskip.sparkexpr.nodes import Column, Node, Opaque, transform
from deltaskip.sparkexpr.text.sql_text import quoted_text
from deltaskip.sparkexpr.types import StructType, fold_name
from deltaskip.warning import warn

_BARE_DATE = regex(r"\s*\d{4}-\d{1,2}-\d{1,2}\s*")


def given_predicate(where: object, params: object, schema: StructType) -> object:
    """Return a predicate as SQL text, an expression of `deltaskip.col` or a PySpark Column; None for every row.

    Args:
        where: The predicate in any accepted type.
        params: Values of the parameters of SQL text.
        schema: The schema of the table, whose types decide whether an expression of another library means the same in
            Spark.

    Raises:
        PredicateError: A parameter has no value, Spark SQL has no such value, or an expression of another library may
            have another meaning in Spark.
        InvalidArgument: A list of tuples has a wrong value, or a value has no parameter.
        InvalidArgumentType: `params` or a part of a list has a wrong type.
    """
    if isinstance(where, bool | np.bool_):
        raise InvalidArgumentType(
            f"where must be a predicate, not {where}: Python has decided it already, as it does with col('id') is None "
            f"or 'id' == 5; write deltaskip.col('id').is_null() or \"id IS NULL\", and leave where out for every row."
        )
    if params is not None or where is None or isinstance(where, str | ColumnExpr | Node):
        where = with_parameters(where, params)
        return ColumnExpr(_of_columns(to_node(where), schema)) if isinstance(where, ColumnExpr) else where
    if isinstance(where, (list, tuple)):
        from deltaskip.sparkexpr import tuples_node

        return ColumnExpr(_of_columns(tuples_node(where), schema))
    module = type(where).__module__
    if module.startswith("polars.") and hasattr(where, "meta"):
        return ColumnExpr(_of_polars(where, schema))
    if module.startswith("pyarrow.") and type(where).__name__ == "Expression":
        return ColumnExpr(_of_arrow(where, schema))
    if not is_column(where) and (callable(where) or hasattr(where, "__len__")):
        forms = "SQL text, deltaskip.col('id') > 5, or tuples like [('id', '>', 5)]"
        if str(getattr(where, "dtype", "")) in ("bool", "boolean", "Boolean"):
            raise InvalidArgumentType(
                f"where must be {forms}, not {type(where).__name__} of bool: a mask has values of rows that are read "
                f"already; write what it compares, as deltaskip.col('id') > 5 for df['id'] > 5."
            )
        raise InvalidArgumentType.of("where", forms, where)
    return where


def expression_node(
    given: Any, what: str = "A predicate of pyspark", meaning: SessionMeaning = USUAL, schema: StructType | None = None
) -> Node:
    """Return the unbound node of an expression.

    Args:
        given: SQL text, an expression of `deltaskip.col`, a PySpark Column, or a constant.
        what: The operation that needs PySpark, for the message if it is not installed.
        meaning: How the session that evaluates the expression understands it.
        schema: See `SessionMeaning.node`.
    """
    if is_column(given):
        return meaning.node(engine(what).column_to_node(given, meaning.node))
    return meaning.node(given if isinstance(given, str) else to_node(given), schema)


def written_node(given: Any, what: str = "A predicate of pyspark") -> Node:
    """Return the unbound node of an expression in which the SQL text of a PySpark Column is an Opaque node, as written.

    A session may read the text otherwise than deltaskip. given and what: See `expression_node`.
    """
    return engine(what).column_to_node(given, Opaque) if is_column(given) else expression_node(given, what)


def as_columns_of(given: Any, table: str, qualifier: str | None = None, source: Any = None) -> Any:
    """Return an expression with names in place of columns of the table's DataFrames, such as `table.toDF()["id"]`.

    Args:
        given: The expression; a PySpark Column can hold columns of DataFrames.
        table: The location of the table.
        qualifier: The name of the table in expressions; None for none.
        source: The DataFrame that is merged into the table, whose columns stay.

    Raises PredicateError for a column of another DataFrame.
    """
    if not is_column(given):
        return given
    return engine("An expression of pyspark").as_columns_of(given, table, qualifier, source)


def node_and_texts(column: Any) -> tuple[Node, list[str]]:
    """Return the node of a PySpark Column as understood without a session, and the SQL text in it, as of F.expr."""
    texts: list[str] = []

    def read(text: str) -> Node:
        texts.append(text)
        return parse_sql(text)

    return engine("A predicate of pyspark").column_to_node(column, read), texts


def new_value_node(given: Any, table: str) -> Node:
    """Return the node of a new value of a column. Raises PredicateError with the table for text that is not SQL."""
    try:
        return expression_node(given, "A new value of pyspark")
    except PredicateError as error:
        if not isinstance(given, str):
            raise
        why = str(error).replace("the predicate", "it")
        raise PredicateError(f"The new value {given} for {table} is not valid: {why}.{in_quotes(given)}") from error


def in_quotes(text: str) -> str:
    """Return the sentence for a new value that was perhaps meant as a string, with a leading blank."""
    return f' New values are SQL, in which a text is written in quotes: "{quoted_text(text)}".'


def warn_of_bare_date(what: str, text: str) -> None:
    """Warn of a date without quotes as a new value, which is a subtraction. what: The new value, for the message."""
    if _BARE_DATE.fullmatch(text):
        date = text.strip()
        warn(
            f"{what} is SQL, in which {date} is a subtraction of numbers: write DATE{quoted_text(date)} for the date, "
            f"or {quoted_text(date)} with its quotes for the text.",
            PredicateWarning,
        )


def _of_columns(node: Node, schema: StructType) -> Node:
    """A predicate of names in Python over the columns of a table, with the shapes of its dicts.

    A name with dots is a column of this name if there is no column of the name before the first dot.
    """
    return with_shapes(with_dotted_names(node, schema), schema)


def with_dotted_names(node: Node, schema: StructType) -> Node:
    """Return an expression of `deltaskip.col` in which columns whose names have dots are those of the schema."""
    dotted = {fold_name(name): name for name in schema.names if "." in name}
    if not dotted:
        return node
    first = {fold_name(name) for name in schema.names}

    @deep
    def visited(part: Node) -> Node:
        if isinstance(part, Column) and fold_name(part.parts[0]) not in first:
            name = dotted.get(fold_name(".".join(part.parts)))
            return part if name is None else Column((name,))
        return transform(part, visited)

    return visited(node)


def _of_polars(where: Any, schema: StructType) -> Node:
    from deltaskip.sparkexpr import Inexact, refused
    from deltaskip.sparkexpr.polars_expressions import PolarsTranslation, polars_tree

    tree = None
    try:
        tree = polars_tree(where)
        return PolarsTranslation(schema).node(tree)
    except Inexact as error:
        from deltaskip.sparkexpr.polars_expressions import spark_text

        sql = None if error.part is None else spark_text(error.part)
        raise refused("Polars", str(where), error, error.part is tree, sql) from error


def _of_arrow(where: Any, schema: StructType) -> Node:
    from deltaskip.sparkexpr import Inexact, refused
    from deltaskip.sparkexpr.arrow_expressions import ArrowTranslation, arrow_tree, has_conditions

    tree = None
    try:
        tree = arrow_tree(where)
        return ArrowTranslation(schema).node(tree)
    except Inexact as error:
        raise refused("pyarrow", str(where), error, not has_conditions(tree)) from error
