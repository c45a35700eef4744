"""Predicates over shapes through Spark, which has none up to 4.3.

A session with the functions of Apache Sedona evaluates them; in other sessions, shapely does on the executors.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from deltaskip.errors import UnsupportedFeature
from deltaskip.recursion import deep
from deltaskip.spark.read.session_meaning import substituted
from deltaskip.spark.session.own_texts import OF_SHAPES as CALLED
from deltaskip.spark.session.own_texts import check_functions
from deltaskip.sparkexpr import EvaluationError, parse_sql, to_sql
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.functions import OF_SHAPES, SHAPE_PREDICATES, library, related

_PREFIX = "deltaskip_"


def with_shapes(spark: SparkSession, where: Any, schema: t.StructType, table: str) -> Any:
    """Return a predicate whose parts over shapes a session without such functions can evaluate.

    Args:
        spark: The session.
        where: SQL text or a node; other predicates are returned unchanged.
        schema: The columns.
        table: The table, for messages.

    Raises:
        UnsupportedFeature: Only Apache Sedona evaluates a part, or shapely is not installed here.
        PredicateError: A part is not valid, such as for shapes of two coordinate reference systems.
    """
    if isinstance(where, str):
        if not any(name in where.lower() for name in SHAPE_PREDICATES):
            return where
        parsed = parse_sql(substituted(spark, where))
    elif isinstance(where, n.Node):
        parsed = where
    else:
        return where
    called = {part.name for part in n.walk(parsed) if isinstance(part, n.Call)} & set(SHAPE_PREDICATES)
    missing = {name for name in called if not spark.catalog.functionExists(name)}
    if not missing:
        return where
    try:
        # The executors need it, too: their error names the module.
        library()
    except EvaluationError as error:
        raise UnsupportedFeature(
            f"Predicates over rows of {table} cannot be evaluated: {str(error).rstrip('.')}, also for the executors. A "
            f"session with the functions of Apache Sedona does without."
        ) from error
    check_functions(spark, CALLED)
    for name in missing:
        _register(spark, name)

    @deep
    def visited(part: n.Node) -> n.Node:
        if isinstance(part, n.Call) and part.name in missing:
            bound = bind_expression(part, schema)
            args = bound.args if isinstance(bound, n.Call) else part.args
            if any(isinstance(type_of(arg), t.GeographyType) for arg in args):
                raise _needs_sedona(part, table, "shapely computes on a plane, and edges of GEOGRAPHY lie on a sphere")
            shapes = [_wkb(arg, part, table) for arg in args[:2]]
            return n.Call(_PREFIX + part.name, (*shapes, *(visited(arg) for arg in part.args[2:])))
        return n.transform(part, visited)

    return visited(parsed)


def _wkb(shape: n.Node, part: n.Node, table: str) -> n.Node:
    """The WKB of a shape: a constant that this process computes, or an expression of Spark."""
    inner = list(n.walk(shape))
    if not any(isinstance(each, n.FieldRef) for each in inner):
        try:
            return n.Literal(evaluate(shape, {}), t.BINARY)
        except EvaluationError as error:
            raise _needs_sedona(part, table, str(error).rstrip(".")) from error
    if any(isinstance(each, n.Call) and each.name in OF_SHAPES for each in inner):
        raise _needs_sedona(part, table, "a shape is made of the text of a column")
    return n.Call("st_asbinary", (shape,))


def _needs_sedona(part: n.Node, table: str, why: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{to_sql(part)} cannot be evaluated over rows of {table}: {why}. Use a session with the functions of Apache "
        f"Sedona."
    )


def _register(spark: SparkSession, name: str) -> None:
    """Register a predicate in the session, under a name of its own."""
    # New in Spark 4.1; older versions read no files with shapes.
    from pyspark.sql.functions import arrow_udf

    def of_shapes(left: pa.Array, right: pa.Array) -> pa.Array:
        return related_on_executor(name, left, right)

    def of_distances(left: pa.Array, right: pa.Array, distance: pa.Array) -> pa.Array:
        return related_on_executor(name, left, right, distance)

    if not spark.catalog.functionExists(_PREFIX + name):
        given = of_distances if name == "st_dwithin" else of_shapes
        spark.udf.register(_PREFIX + name, arrow_udf(given, "boolean"))


def related_on_executor(name: str, *args: pa.Array) -> pa.Array:
    """Return `related` for arrays, of which those of a constant are one value."""
    given = [each[0] if len(each) and len(each.unique()) == 1 else each for each in args]
    if any(isinstance(each, pa.Scalar) and not each.is_valid for each in given):
        return pa.nulls(len(args[0]), pa.bool_())
    if not any(isinstance(each, pa.Array) for each in given):
        given[0] = args[0]
    return related(name, given)
