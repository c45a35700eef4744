"""Parses the types in CAST and after `::`, including Spark types to which deltaskip cannot cast.

# Spark 4.1, SqlBaseParser.g4: dataType
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

from deltaskip.errors import InvalidCollation, SchemaError
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.text.tokens import NAMES, Tokens
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.ddl import DECIMAL_NAMES, TYPE_NAMES
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.numerals import integer_of

Type: TypeAlias = t.DataType | None
"""A rule that returns a type, or None for a Spark type to which deltaskip cannot cast, such as char(3)."""
_Rule: TypeAlias = Generator[Any, Any, Type]

_LENGTHS = ("char", "character", "varchar")
_AREAS = ("geography", "geometry")
_MONTHS, _TIMES = ("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND")


def read_type(tokens: Tokens) -> _Rule:
    """Read a type. Raises PredicateError if the text is not a type."""
    token = tokens.token
    if token.kind not in NAMES:
        raise tokens.error("a type is missing") if token.kind == "end" else tokens.unexpected()
    tokens.advance()
    name = token.text.lower()
    if name in ("array", "map", "struct"):
        return (yield from _inner_types(tokens, name))
    if name in DECIMAL_NAMES:
        sizes = _sizes(tokens)
        try:
            return t.DecimalType(*(sizes or [10]), *([0] if len(sizes) < 2 else []))
        except (SchemaError, TypeError) as error:
            raise tokens.error(str(error).rstrip("."), token.start) from error
    if name in _LENGTHS:
        if len(_sizes(tokens)) != 1:
            raise tokens.error(f"the type {token.text} needs a length, such as {name}(10)", token.start)
        return None
    if name == "interval":
        _interval_fields(tokens)
        return None
    if name in _AREAS:
        tokens.expect("(")
        tokens.advance()
        tokens.expect(")")
        return None
    if name == "time":
        _sizes(tokens)
        _without_zone(tokens)
        return None
    if name not in TYPE_NAMES:
        raise tokens.error(f"{token.text} is not a type of Spark SQL", token.start)
    if name == "timestamp" and _without_zone(tokens):
        return t.TIMESTAMP_NTZ
    if name == "string" and tokens.key == "COLLATE":
        tokens.advance()
        try:
            CollationId.named(tokens.token.text)
        except InvalidCollation as error:
            raise tokens.error(str(error).rstrip(".")) from error
        tokens.advance()
        if tokens.key == ".":
            raise tokens.error("the name of a collation has no dots")
        return None
    found = TYPE_NAMES[name]
    return None if found == t.VOID else found


def _inner_types(tokens: Tokens, name: str) -> _Rule:
    """The types between angle brackets, if any."""
    if name == "struct" and tokens.take("<>"):
        return None
    if not tokens.take("<"):
        return None
    found: Type = None
    if name == "array":
        element: Type = yield read_type(tokens)
        found = None if element is None else t.ArrayType(element)
    elif name == "map":
        key: Type = yield read_type(tokens)
        tokens.expect(",")
        value: Type = yield read_type(tokens)
        found = None if key is None or value is None else t.MapType(key, value)
    elif tokens.key != ">":
        found = yield from _fields(tokens)
    tokens.expect(">")
    return found


def _fields(tokens: Tokens) -> _Rule:
    """name[:] type [NOT NULL] [COMMENT text], …"""
    found: dict[str, t.StructField] = {}
    plain = True
    while True:
        if tokens.token.kind not in NAMES:
            raise tokens.unexpected("a field's name")
        name = tokens.advance().text
        tokens.take(":")
        type_: Type = yield read_type(tokens)
        nullable = not tokens.take("NOT")
        if not nullable:
            tokens.expect("NULL")
        if tokens.take("COMMENT"):
            if tokens.token.kind != "string":
                raise tokens.unexpected("the comment")
            tokens.advance()
        plain &= type_ is not None and fold_name(name) not in found
        if type_ is not None:
            found[fold_name(name)] = t.StructField(name, type_, nullable)
        if not tokens.take(","):
            return t.StructType(tuple(found.values())) if plain else None


def _sizes(tokens: Tokens) -> list[int]:
    """The integers in parentheses; an empty list without parentheses."""
    if not tokens.take("("):
        return []
    found: list[int] = []
    while True:
        if not (tokens.token.kind == "number" and tokens.token.text.isdigit()):
            raise tokens.unexpected("a number")
        found.append(integer_of(tokens.advance().text))
        if not tokens.take(","):
            break
    tokens.expect(")", "a parenthesis is not closed")
    return found


def _interval_fields(tokens: Tokens) -> None:
    """[YEAR [TO MONTH] | DAY [TO SECOND] | …]"""
    for units in (_MONTHS, _TIMES):
        if tokens.key in units:
            tokens.advance()
            if tokens.key == "TO":
                tokens.advance()
                if tokens.key not in units[1:]:
                    raise tokens.unexpected(units[-1])
                tokens.advance()


def _without_zone(tokens: Tokens) -> bool:
    """Read WITHOUT TIME ZONE if it is next; return whether it was."""
    if not (tokens.key == "WITHOUT" and tokens.peek().is_word("TIME") and tokens.peek(2).is_word("ZONE")):
        return False
    for _ in range(3):
        tokens.advance()
    return True
