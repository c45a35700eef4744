"""Arguments of delta-spark's methods: checks that raise its errors, and expressions over an alias of the table."""

from __future__ import annotations

from typing import Any

from deltaskip.engine import is_column
from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.predicates import written_node
from deltaskip.recursion import deep
from deltaskip.schema.relations import qualifier_length, unqualified_text
from deltaskip.sparkexpr.nodes import Column, Node, Opaque, UnprintableExpression, transform
from deltaskip.sparkexpr.types import StructType


def typed_string(what: str, value: object) -> str:
    """Return a string. Raises InvalidArgumentType, which is a TypeError."""
    if type(value) is not str:
        raise InvalidArgumentType(f"{what} must be str. {found(value)}")
    return value


def names_argument(what: str, values: tuple[Any, ...]) -> tuple[str, ...]:
    """Return names that are given as separate arguments or as a list. Raises InvalidArgumentType."""
    chosen = values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values
    return tuple(typed_string(what, each) for each in chosen)


def found(value: object) -> str:
    """Return the end of a message: a value and its type."""
    return f"Found {value} with type {type(value)}"


def string_argument(name: str, value: object) -> str:
    """Return a string. Raises InvalidArgument, which is a ValueError."""
    return _of(name, value, str, "a string")  # type: ignore[no-any-return]


def boolean_argument(name: str, value: object) -> bool:
    """Return a bool. Raises InvalidArgument."""
    return _of(name, value, bool, "a boolean")  # type: ignore[no-any-return]


def number_argument(name: str, value: object) -> int:
    """Return an int. Raises InvalidArgument."""
    return _of(name, value, int, "an int")  # type: ignore[no-any-return]


def integer_argument(name: str, value: object) -> int:
    """Return an int that is not a bool, such as a protocol version. Raises InvalidArgument."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidArgument(f"The {name} needs to be an integer but got '{type(value)}'.")
    return value


def condition(value: object) -> Any:
    """Return a condition: SQL text, a Column or None. Raises InvalidArgumentType."""
    if value is None or type(value) is str or _is_column(value):
        return value
    raise InvalidArgumentType(
        f"'condition' must be a Spark SQL Column or a string (expression in SQL syntax), found to be of type "
        f"{type(value)}"
    )


def assignments(value: object, name: str) -> dict[str, Any]:
    """Return expressions by column: a dict of str to SQL text or Column.

    Raises InvalidArgument if the argument is missing, InvalidArgumentType for another type.
    """
    if value is None:
        raise InvalidArgument(f"{name} cannot be None")
    if type(value) is not dict:
        raise InvalidArgumentType(f"{name} must be a dict, found to be {type(value)}")
    for key, each in value.items():
        if type(key) is not str:
            raise InvalidArgumentType(
                f"Keys of dict in {name} must contain only strings with column names, found '{key}' of type "
                f"'{type(key)}'"
            )
        if type(each) is not str and not _is_column(each):
            raise InvalidArgumentType(
                f"Values of dict in {name} must contain only Spark SQL Columns or strings (expressions in SQL syntax) "
                f"as values, found '{each}' of type '{type(each)}'"
            )
    return value


def frame(value: object, name: str) -> Any:
    """Return a DataFrame. Raises InvalidArgument if it is missing, InvalidArgumentType for another type."""
    if value is None:
        raise InvalidArgument(f"{name} cannot be None")
    if not is_column(value) or not hasattr(value, "sparkSession"):
        raise InvalidArgumentType(f"Type of {name} must be DataFrame.")
    return value


def clone_arguments(target: object, is_shallow: object, replace: object, properties: object) -> None:
    """Check the arguments that all cloning methods share. Raises InvalidArgument."""
    string_argument("target", target)
    boolean_argument("isShallow", is_shallow)
    boolean_argument("replace", replace)
    if properties is None:
        return
    if not isinstance(properties, dict):
        raise InvalidArgument(f"properties needs to be a dict but got '{type(properties)}'.")
    for key, value in properties.items():
        string_argument(f"All property keys including {key}", key)
        string_argument(f"All property values including {value}", value)


def _of(name: str, value: object, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidArgument(f"{name} needs to be {what} but got '{type(value)}'.")
    return value


def _is_column(value: object) -> bool:
    return is_column(value) and type(value).__name__ == "Column"


def without_alias(value: Any, alias: str | None, schema: StructType) -> Any:
    """Return a condition or value whose columns have no alias before their names.

    Args:
        value: SQL text, a Column, or None.
        alias: The alias; None if the table has no alias.
        schema: The table's columns.
    """
    if value is None or alias is None:
        return value
    if isinstance(value, str):
        return unqualified_text(value, schema, [(alias,)])
    return _node(written_node(value, "An expression of pyspark"), alias, schema) if is_column(value) else value


@deep
def _node(node: Node, alias: str, schema: StructType) -> Node:
    match node:
        case Column(parts):
            return Column(parts[qualifier_length(parts, schema, [(alias,)]) :])
        case UnprintableExpression():
            return node
        case Opaque(sql):
            return Opaque(unqualified_text(sql, schema, [(alias,)]))
        case _:
            return transform(node, lambda each: _node(each, alias, schema))
