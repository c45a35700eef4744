"""Functions named like types, which are casts.

# Spark 4.1, FunctionRegistry.castAlias
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from deltaskip.expr.functions.function import Replaced
from deltaskip.expr.nodes import Cast, Node
from deltaskip.schema.ddl import TYPE_NAMES
from deltaskip.schema.types import DataType, DecimalType


def _cast(target: DataType, value: Node) -> Node:
    return Cast(value, target)


_NAMES = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp")

CASTS: Mapping[str, Replaced] = {
    **{name: Replaced(partial(_cast, TYPE_NAMES[name]), 1) for name in _NAMES},
    "decimal": Replaced(partial(_cast, DecimalType(10, 0)), 1),
}
