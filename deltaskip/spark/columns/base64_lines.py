"""Predicates with base64 in sessions in which its text is not divided into lines.

# Spark 4.1, spark.sql.chunkBase64String.enabled
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from deltaskip.errors import UnsupportedFeature
from deltaskip.expr.nodes import Call, Literal, Node, walk
from deltaskip.log import Snapshot
from deltaskip.spark.session.active import base64_has_lines


def check_base64(spark: SparkSession, snapshot: Snapshot, predicate: Node) -> None:
    """Raise UnsupportedFeature if a bound predicate calls base64 and the session, unlike deltaskip, adds no lines."""
    if any(map(_is_base64, walk(predicate))) and not base64_has_lines(spark):
        raise UnsupportedFeature(
            f"The predicate of {snapshot.table_root} (version {snapshot.version}) has base64, whose text has "
            f"lines here and none in this session: set spark.sql.chunkBase64String.enabled to true, or compare binary, "
            f"as in b = unbase64('…')."
        )


def _is_base64(node: Node) -> bool:
    match node:
        case Call("base64"):
            return True
        case Call("to_char", (_, Literal(str() as form))):
            return form.strip().lower() == "base64"
    return False
