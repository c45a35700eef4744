"""The table of functions, collected from the modules of their families.

The table has only deterministic functions. A call of another function, or with unsupported types, stays untyped and
proves nothing.

# Spark 4.1, FunctionRegistry and the inputTypes of its expressions
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from deltaskip.sparkexpr.functions.bits import BITS
from deltaskip.sparkexpr.functions.collections import COLLECTIONS
from deltaskip.sparkexpr.functions.conditions import CONDITIONS
from deltaskip.sparkexpr.functions.encodings import ENCODINGS, HASHING
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Present, Replaced
from deltaskip.sparkexpr.functions.jsons import JSONS
from deltaskip.sparkexpr.functions.lambdas import LAMBDAS
from deltaskip.sparkexpr.functions.number_formats import NUMBER_FORMATS
from deltaskip.sparkexpr.functions.numbers import NUMBERS, ROUNDING
from deltaskip.sparkexpr.functions.patterns import PATTERNS
from deltaskip.sparkexpr.functions.printf import PRINTF
from deltaskip.sparkexpr.functions.shapes import SHAPES
from deltaskip.sparkexpr.functions.text import TEXT
from deltaskip.sparkexpr.functions.text_parts import MASKING
from deltaskip.sparkexpr.functions.time_formats import TIME_FORMATS
from deltaskip.sparkexpr.functions.time_making import TIME_MAKING
from deltaskip.sparkexpr.functions.time_sums import TIME_SUMS
from deltaskip.sparkexpr.functions.times import TIMES
from deltaskip.sparkexpr.functions.transcendental import TRANSCENDENTAL
from deltaskip.sparkexpr.functions.urls import URLS
from deltaskip.sparkexpr.functions.variants import VARIANTS
from deltaskip.sparkexpr.nodes import Cast, Node
from deltaskip.sparkexpr.types.data_types import DataType, DecimalType
from deltaskip.sparkexpr.types.ddl import TYPE_NAMES


def _cast(target: DataType, value: Node) -> Node:
    return Cast(value, target)


# Functions that have the name of a type: Spark 4.1, FunctionRegistry.castAlias.
_TYPES = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary", "date", "timestamp")

_CASTS: Mapping[str, Replaced] = {
    **{name: Replaced(partial(_cast, TYPE_NAMES[name]), 1) for name in _TYPES},
    "decimal": Replaced(partial(_cast, DecimalType(10, 0)), 1),
}

_FAMILIES: Sequence[Mapping[str, FunctionRow]] = (
    NUMBERS,
    ROUNDING,
    TRANSCENDENTAL,
    BITS,
    NUMBER_FORMATS,
    CONDITIONS,
    TEXT,
    ENCODINGS,
    PATTERNS,
    PRINTF,
    MASKING,
    URLS,
    TIMES,
    TIME_FORMATS,
    TIME_MAKING,
    TIME_SUMS,
    HASHING,
    _CASTS,
    COLLECTIONS,
    LAMBDAS,
    JSONS,
    VARIANTS,
    SHAPES,
)
_ROWS = [(name, row) for family in _FAMILIES for name, row in family.items()]

FUNCTIONS: Mapping[str, Function] = {name: row for name, row in _ROWS if isinstance(row, Function)}
REPLACED: Mapping[str, Replaced] = {name: row for name, row in _ROWS if isinstance(row, Replaced)}
PRESENT: Mapping[str, DataType] = {name: row.type for name, row in _ROWS if isinstance(row, Present)}
ALIASES: Mapping[str, str] = {alias: name for name, row in _ROWS for alias in row.aliases}
