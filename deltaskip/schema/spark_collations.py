"""Finds the strings of a table whose collation Spark does not support.

# COLLATIONS RFC, Reader Requirements: the feature is writer-only. A reader that does not know a collation reads the
strings, and must not evaluate a predicate under another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import is_utf8_binary, spark_collation


def unknown_collations(struct: t.StructType, has_collations: bool) -> dict[str, str]:
    """The declared collation of each string, at any depth, whose collation Spark does not support, by path.

    has_collations: Whether this version of Spark has collations; Spark 3.5 has none.
    """
    return {
        path: identifier
        for path, identifier in _declared(struct, "")
        if not is_utf8_binary(identifier) and not (has_collations and spark_collation(identifier))
    }


def _declared(struct: t.StructType, above: str) -> Iterator[tuple[str, str]]:
    """Path and identifier of every string at any depth that declares a collation."""
    for field in struct.fields:
        yield from _inside(field, field.type, field.name, f"{above}{t.display_name((field.name,))}")


def _inside(field: t.StructField, data_type: t.DataType, path: str, shown: str) -> Iterator[tuple[str, str]]:
    match data_type:
        case t.StructType():
            yield from _declared(data_type, f"{shown}.")
        case t.ArrayType(element):
            yield from _inside(field, element, f"{path}.element", f"{shown}.element")
        case t.MapType(key, value):
            yield from _inside(field, key, f"{path}.key", f"{shown}.key")
            yield from _inside(field, value, f"{path}.value", f"{shown}.value")
        case _ if data_type == t.STRING:
            identifier = t.declared_collation(field, path)
            if identifier is not None:
                yield shown, identifier
