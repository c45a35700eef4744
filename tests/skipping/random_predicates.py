"""Random predicates over a random table's columns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from deltaskip.expr.nodes import And, Column, Compare, In, IsNull, Like, Literal, Node, Not, Or, StartsWith
from deltaskip.schema.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)
from tests.skipping.random_tables import RandomTable, leaf_fields, random_value

_NUMBERS: tuple[DataType, ...] = (BYTE, SHORT, INTEGER, LONG, DOUBLE, FLOAT, DecimalType(12, 3), DecimalType(38, 10))
_TIMES: tuple[DataType, ...] = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def random_predicate(rng: random.Random, table: RandomTable, depth: int = 2) -> Node:
    """AND, OR and NOT over comparisons, IN, IS NULL, LIKE and startswith; literals often are values of the table."""
    if depth and rng.random() < 0.6:
        kind = rng.random()
        if kind < 0.2:
            return Not(random_predicate(rng, table, depth - 1))
        children = tuple(random_predicate(rng, table, depth - 1) for _ in range(rng.randint(2, 3)))
        return And(children) if kind < 0.6 else Or(children)
    path, type_ = rng.choice(leaf_fields(table.schema))
    return _leaf(rng, table, path, type_)


def _leaf(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: DataType) -> Node:
    column = Column(path)
    kind = rng.random()
    if kind < 0.12:
        return IsNull(column)
    if type_ == BOOLEAN and kind < 0.3:
        return column
    if type_ == STRING and kind < 0.4:
        text = str(_literal(rng, table, path, type_).value or "")[: rng.choice([0, 1, 2, 31, 32, 40])]
        if rng.random() < 0.5:
            return StartsWith(column, Literal(text, STRING))
        escaped = "".join("\\" + c if c in "%_\\" else c for c in text)
        return Like(column, Literal(escaped + rng.choice(["", "%", "%b", "_", "%%"]), STRING))
    if kind < 0.55:
        count = rng.choice([0, 1, 2, 3, 12]) or 1
        return In(column, tuple(_literal(rng, table, path, type_) for _ in range(count)))
    literal: Node = _literal(rng, table, path, _comparable(rng, type_))
    op = rng.choice(("=", "!=", "<", "<=", ">", ">=", "<=>"))
    return Compare(op, column, literal) if rng.random() < 0.7 else Compare(op, literal, column)


def _comparable(rng: random.Random, type_: DataType) -> DataType:
    """Mostly the column's own type; sometimes one that Spark would cast to or from."""
    if rng.random() < 0.7:
        return type_
    family: Sequence[DataType] = next((f for f in (_NUMBERS, _TIMES) if type_ in f), (type_,))
    if isinstance(type_, DecimalType):
        family = _NUMBERS
    return rng.choice(family)


def _literal(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: DataType) -> Literal:
    if rng.random() < 0.05:
        return Literal(None, type_)
    if type_ == dict(leaf_fields(table.schema))[path] and rng.random() < 0.6:
        present: list[Any] = [row[path] for rows in table.files.values() for row in rows if row[path] is not None]
        if present:
            return Literal(rng.choice(present), type_)
    return Literal(random_value(rng, type_), type_)
