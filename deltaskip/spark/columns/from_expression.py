"""Conversion of Catalyst's expressions to predicate nodes.

A classic Column of Spark 3.5 is a tree of unresolved expressions. Spark pushes resolved expressions down to a scan.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import Any

from deltaskip.recursion import deep
from deltaskip.spark.columns.column_parts import cast, declared_literal, extract, function, opaque, option, sequence
from deltaskip.spark.session.active import active_session_ansi, session_reads_as_before
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import to_node
from deltaskip.sparkexpr.functions import ALIASES, FUNCTIONS
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import STRING, DecimalType, parse_type
from deltaskip.sparkexpr.values import SPARK_SEED, exactly

_PACKAGES = ("org.apache.spark.sql.catalyst.expressions.", "org.apache.spark.sql.catalyst.analysis.")

# Expressions whose name differs from their function's name. Their children are the arguments of the function, in order.
_FUNCTIONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "And": "and",
    "Or": "or",
    "Not": "not",
    "IsNull": "isnull",
    "IsNotNull": "isnotnull",
    "StartsWith": "startswith",
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "Remainder": "%",
    "IntegralDivide": "div",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "BitwiseNot": "~",
    "ShiftLeft": "shiftleft",
    "ShiftRight": "shiftright",
    "ShiftRightUnsigned": "shiftrightunsigned",
    "Pmod": "pmod",
    "UnaryMinus": "negative",
    "If": "if",
    "CurrentDate": "current_date",
    "CurrentTimestamp": "current_timestamp",
    "LocalTimestamp": "localtimestamp",
}


# Expressions with an evaluation mode. `_TRIED` has the functions that return NULL where these expressions fail.
_WITH_MODE = frozenset(("Add", "Subtract", "Multiply", "Divide", "Remainder", "IntegralDivide", "Pmod"))
# Expressions with a datetime pattern. spark.sql.legacy.timeParserPolicy=LEGACY selects the patterns of Spark 2.
_BY_PATTERN = frozenset(("DateFormatClass", "FromUnixTime", "GetTimestamp", "ToUnixTimestamp", "UnixTimestamp"))
_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}

# Expressions with the name of a function but other arguments, or another meaning in an earlier version, or parameters
# that are not children: options, a schema, a type, or names of fields.
_OTHERWISE = frozenset(
    (
        *("StringTrimBoth", "ToBinary", "TryToBinary", "Encode", "Decode", "StringDecode", "Base64"),
        *("JsonToStructs", "StructsToJson", "VariantGet", "ArraysZip", "SchemaOfJson"),
    )
)


@deep
def expression_to_node(tree: Any) -> Node:
    """The node for an expression. Unknown expressions become Opaque, with the columns that could be determined."""
    package, _, kind = tree.getClass().getName().rpartition(".")
    if f"{package}." not in _PACKAGES:
        return _unknown(tree)
    match kind:
        case "UnresolvedAttribute":
            return n.Column(tuple(sequence(tree.nameParts())))
        case "AttributeReference":
            return n.Column((str(tree.name()),))
        case "GetStructField":
            return _field(tree)
        case "GetArrayStructFields":
            return function("[]", (expression_to_node(tree.child()), n.Literal(str(tree.field().name()), STRING)))
        case "CreateNamedStruct":
            # The children of `struct` include the names of its fields.
            return function("named_struct", _children(tree))
        case "GetMapValue":
            return function("[]", _children(tree))
        case "GetArrayItem":
            return function("[]" if tree.failOnError() else "get", _children(tree))
        case "ElementAt":
            # Only expressions that Spark derives from others have a default for positions outside of an array.
            if tree.defaultValueOutOfBound().isDefined():
                return _unknown(tree)
            return function("element_at" if tree.failOnError() else "try_element_at", _children(tree))
        case "Literal":
            return _value(tree.value(), tree.dataType())
        case "Alias":
            return expression_to_node(tree.child())
        case "Cast":
            if _is_collating(tree):
                return opaque("a cast", (expression_to_node(tree.child()),))
            return cast(expression_to_node(tree.child()), tree.dataType().json(), _mode(tree))
        case "UnresolvedExtractValue":
            return extract(expression_to_node(tree.child()), expression_to_node(tree.extraction()))
        case "CaseWhen":
            pairs = sequence(tree.branches())
            branches = tuple((expression_to_node(pair._1()), expression_to_node(pair._2())) for pair in pairs)
            otherwise = option(tree.elseValue())
            return n.Case(branches, None if otherwise is None else expression_to_node(otherwise))
        case "In":
            values = map(expression_to_node, sequence(tree.list()))
            return n.In(expression_to_node(tree.value()), tuple(values))
        case "InSet":
            values = map(_value, _elements(tree.hset()), repeat(tree.child().dataType()))
            return n.In(expression_to_node(tree.child()), tuple(values))
        case "Like" | "ILike":
            escape = n.Literal(str(tree.escapeChar()), STRING)
            operands = expression_to_node(tree.left()), expression_to_node(tree.right())
            return function(kind, (*operands, escape))
        case "UnresolvedFunction":
            args = tuple(map(expression_to_node, sequence(tree.arguments())))
            name = ".".join(sequence(tree.nameParts()))
            plain = not tree.isDistinct() and not tree.filter().isDefined()
            return function(name, args) if plain else opaque(name, args)
        case _ if kind in _WITH_MODE:
            mode, name = _mode(tree), _FUNCTIONS[kind]
            if mode == "try":
                name = _TRIED.get(name, f"try_{kind.lower()}")
            return function(name, _children(tree)) if mode in (None, "try") else opaque(kind, _children(tree))
        case _ if kind in _FUNCTIONS:
            return function(_FUNCTIONS[kind], _children(tree))
        case _ if kind in _OTHERWISE:
            return _unknown(tree)
        case "StringLocate":
            start = str(tree.start().toString())
            return function("locate", _children(tree)[: 2 if start == "1" else 3])
        case "StringTrim" | "StringTrimLeft" | "StringTrimRight":
            # The characters to trim are the first argument and the second child.
            return function(str(tree.prettyName()), _children(tree)[::-1])
        case "Unhex" | "UnBase64" if tree.failOnError():
            return _unknown(tree)
        case "Elt" if not tree.failOnError() and active_session_ansi() is not False:
            # Elt returns NULL for an index without a value.
            return _unknown(tree)
        case "UnixTimestamp" if str(tree.left().dataType().typeName()) in ("timestamp", "date"):
            # Only strings have a format.
            return function("unix_timestamp", _children(tree)[:1])
        case "ParseUrl" if not tree.failOnError():
            # The function is try_parse_url, or parse_url without ANSI mode.
            return function("try_parse_url", _children(tree))
        case _ if kind in _BY_PATTERN and session_reads_as_before():
            return opaque(kind, _children(tree))
        case "GetTimestamp":
            return _time_read(tree)
        case "MakeTimestamp":
            name = "make_timestamp" if str(tree.dataType().typeName()) == "timestamp" else "make_timestamp_ntz"
            return function(f"try_{name}" if _tried(tree) else name, _children(tree))
        case "TimestampAdd" | "TimestampDiff":
            return function(kind.lower(), (declared_literal(str(tree.unit()).upper(), STRING), *_children(tree)))
        case "SecondWithFraction" | "YearOfWeek":
            field = "SECOND" if kind == "SecondWithFraction" else "YEAROFWEEK"
            return function("date_part", (declared_literal(field, STRING), *_children(tree)))
        case "Murmur3Hash" | "XxHash64" if tree.seed() != SPARK_SEED:
            return _unknown(tree)
        case "Size" if tree.legacySizeOfNull():
            return _unknown(tree)
        case "ArrayInsert" if tree.legacyNegativeIndex():
            return _unknown(tree)
        case _:
            # The expression stores the name under which it was called.
            name = str(tree.prettyName()).lower()
            known = ALIASES.get(name, name) in FUNCTIONS
            return function(name, _children(tree)) if known else _unknown(tree)


def _time_read(tree: Any) -> Node:
    """The node of a timestamp that is parsed with a pattern."""
    local = str(tree.dataType().typeName()) != "timestamp"
    tried = _tried(tree)
    if local and tried:
        return _unknown(tree)
    name = "to_timestamp_ntz" if local else "try_to_timestamp" if tried else "to_timestamp"
    return function(name, _children(tree))


def _tried(tree: Any) -> bool:
    """Whether an expression returns NULL instead of failing, although the session is in ANSI mode."""
    return not tree.failOnError() and active_session_ansi() is not False


def _mode(tree: Any) -> str | None:
    """The mode of an expression: "try" returns NULL for a failure, "legacy" is not ANSI, None is the session's mode.

    Functions such as try_to_date contain expressions in the legacy mode even if the session is in ANSI mode.
    """
    mode = str(tree.evalMode().toString()).rstrip("$")
    if mode == "TRY":
        return "try"
    return "legacy" if mode == "LEGACY" and active_session_ansi() is not False else None


def _value(value: Any, java_type: Any) -> Node:
    """The literal for a value of Catalyst: days, microseconds, UTF8String, Decimal.

    Strings with a collation are compared under the collation of their column.
    """
    text = str(java_type.json())
    data_type = STRING if text.startswith('"string') else parse_type(text)
    if value is None:
        return declared_literal(None, data_type)
    if data_type == STRING:
        return declared_literal(value.toString(), data_type)
    if isinstance(data_type, DecimalType):
        return to_node(exactly(value.toString()))
    return opaque("a literal", ()) if hasattr(value, "getClass") else declared_literal(value, data_type)


def _field(tree: Any) -> Node:
    """The node of a field of a struct: a column if the struct is a column."""
    child = expression_to_node(tree.child())
    name = str(tree.childSchema().fields()[tree.ordinal()].name())
    if not isinstance(child, n.Column):
        return function("[]", (child, n.Literal(name, STRING)))
    return n.Column((*child.parts, name))


def _is_collating(tree: Any) -> bool:
    """Whether a cast only changes the collation of a string."""
    child = tree.child()
    return str(tree.dataType().json()).startswith('"string') and (
        child.resolved() and str(child.dataType().json()).startswith('"string')
    )


def _elements(found: Any) -> Iterator[Any]:
    """The elements of a Scala Set."""
    iterator = found.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _children(tree: Any) -> tuple[Node, ...]:
    return tuple(map(expression_to_node, sequence(tree.children())))


def _unknown(tree: Any) -> Node:
    return opaque(tree.getClass().getSimpleName(), _children(tree))
