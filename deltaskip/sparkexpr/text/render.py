"""Nodes as SQL text for explain and messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.text.sql_text import quoted_text, sql_string
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.ddl import exact_type_text
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values.calendar import format_date, format_timestamp
from deltaskip.sparkexpr.values.interval_types import INTERVALS
from deltaskip.sparkexpr.values.intervals import interval_text
from deltaskip.sparkexpr.values.nanoseconds import format_nanos

_MOST_VALUES = 8


@deep
def to_sql(node: n.Node) -> str:
    """Return `node` as Spark SQL. Long IN lists are shortened."""
    match node:
        case n.Literal(value, type_):
            return _literal(value, type_)
        case n.Column(parts) | n.FieldRef(parts):
            return ".".join(map(_name, parts))
        case n.Compare(op, left, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case n.Between((n.Compare(_, child, low), n.Compare(_, _, high))):
            return f"{_operand(child)} BETWEEN {_operand(low)} AND {_operand(high)}"
        case n.And(children):
            return " AND ".join(f"({to_sql(c)})" if isinstance(c, n.Or) else to_sql(c) for c in children)
        case n.Or(children):
            return " OR ".join(to_sql(c) for c in children)
        case n.Not(n.IsNull(child)):
            return f"{_operand(child)} IS NOT NULL"
        case n.Not(n.In(child, values)) if not len(values):
            # Spark's parser refuses an empty list.
            return f"({_operand(child)} IS NULL OR {_operand(child)} IS NOT NULL)"
        case n.In(child, values) if not len(values):
            return f"({_operand(child)} IS NULL AND {_operand(child)} IS NOT NULL)"
        case n.Not(n.In(child, values)):
            return f"{_operand(child)} NOT IN ({_values(values)})"
        case n.Not(child):
            return f"NOT ({to_sql(child)})"
        case n.IsNull(child):
            return f"{_operand(child)} IS NULL"
        case n.In(child, values):
            return f"{_operand(child)} IN ({_values(values)})"
        case n.Among(children, keys):
            return f"({', '.join(map(to_sql, children))}) IN ({len(keys):,} keys)"
        case n.Like(child, pattern, escape, case_insensitive):
            suffix = "" if escape == "\\" else f" ESCAPE {quoted_text(escape)}"
            return f"{_operand(child)} {'ILIKE' if case_insensitive else 'LIKE'} {_operand(pattern)}{suffix}"
        case n.StartsWith(child, prefix):
            return f"startswith({to_sql(child)}, {to_sql(prefix)})"
        case n.Cast(child, type_, safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({to_sql(child)} AS {simple_string(type_).upper()})"
        case n.Call(name, (left, right)) if name in (*n.ARITHMETIC, *n.BITWISE):
            return f"{_operand(left)} {name} {_operand(right)}"
        case n.Call("add_interval", (time, interval)):
            return f"{_operand(time)} + {_operand(interval)}"
        case n.Call("negative", (child,)):
            text = _operand(child)
            # Two signs begin a comment, and a sign before digits is part of the number.
            joins = text.startswith("-") or (text[:1].isdigit() and not isinstance(child, n.Literal))
            return f"-({text})" if joins else f"-{text}"
        case n.Call("~", (child,)):
            return f"~{_operand(child)}"
        case n.Call("timestampadd" | "timestampdiff" as name, (n.Literal(str() as unit), *args)):
            return f"{name}({', '.join((unit, *map(to_sql, args)))})"
        case n.Call("unix_timestamp()"):
            return "unix_timestamp()"
        case n.Call("cast(variant)" | "try_cast(variant)" as name, (child, target)):
            kind = "CAST" if name == "cast(variant)" else "TRY_CAST"
            shown = simple_string(target.type).upper() if isinstance(target, n.Literal) else "?"
            return f"{kind}({to_sql(child)} AS {shown})"
        case n.Call("dict()", args):
            return f"map({', '.join(map(to_sql, args))})"
        case n.Call(name, (child, _)) if name == n.PADDED:
            return to_sql(child)
        case n.Call("as_variant()", (child,)):
            return f"CAST({to_sql(child)} AS VARIANT)"
        case n.Call("array_sort()", args):
            return f"array_sort({', '.join(map(to_sql, args))})"
        case n.Call("arrays_zip()", args):
            return f"arrays_zip({', '.join(map(to_sql, args[len(args) // 2 :]))})"
        case n.Call("[]", (child, n.Literal(str() as name))) if _is_plain(child):
            return f"{_operand(child)}.{_name(name)}"
        case n.Call("[]", (child, key)):
            return f"{_primary(child)}[{_operand(key)}]"
        case n.Lambda(names, body):
            shown = ", ".join(map(_variable, names))
            return f"{shown if len(names) == 1 else f'({shown})'} -> {to_sql(body)}"
        case n.Variable(name):
            return _variable(name)
        case n.Call(name, args):
            return f"{name}({', '.join(map(to_sql, args))})"
        case n.Case(branches, otherwise):
            whens = " ".join(f"WHEN {to_sql(a)} THEN {to_sql(b)}" for a, b in branches)
            return f"CASE {whens}{'' if otherwise is None else ' ELSE ' + to_sql(otherwise)} END"
        case n.Collate(child, collation):
            return f"{_primary(child)} COLLATE {collation}"
        case n.Opaque(sql):
            return sql
        case _:
            return repr(node)


def exact_sql(node: n.Node) -> str:
    """Return Spark SQL with exactly the value and type of each literal, whatever the settings of a session."""
    return to_sql(_exact(node))


@deep
def _exact(node: n.Node) -> n.Node:
    match node:
        case n.Literal(float() as value):
            return n.Opaque(f"{value!r}D" if math.isfinite(value) else f"CAST('{value!r}' AS DOUBLE)")
        case n.Literal(Decimal() as value):
            return n.Opaque(f"{value:f}BD")
        case n.Literal(str() as value) if (text := sql_string(value)) != quoted_text(value):
            return n.Opaque(text)
        case n.Call("[]", (child, n.Literal(str()) as name)):
            # The name of a field is no expression.
            return n.Call("[]", (_exact(child), name))
        case n.Cast(child, type_, safe):
            return n.Opaque(f"{'TRY_CAST' if safe else 'CAST'}({exact_sql(child)} AS {exact_type_text(type_)})")
        case n.Opaque(sql, columns):
            # A line break ends a comment.
            return n.Opaque(f"({sql}\n)" if "--" in sql else f"({sql})", columns)
        case n.In(child, values) if len(values) > _MOST_VALUES:
            parts = [values[i : i + _MOST_VALUES] for i in range(0, len(values), _MOST_VALUES)]
            return n.Or(tuple(_exact(n.In(child, tuple(part))) for part in parts))
        case _:
            return n.transform(node, _exact)


def _operand(node: n.Node) -> str:
    """The text of an operand of an operator: in parentheses, unless it is one that binds more than all operators."""
    text = to_sql(node)
    is_call = isinstance(node, n.Call) and node.name not in (*n.ARITHMETIC, *n.BITWISE, "add_interval")
    return text if is_call or isinstance(node, _OPERANDS) else f"({text})"


_OPERANDS = (n.Literal, n.Column, n.FieldRef, n.Variable, n.Cast, n.StartsWith, n.Case, n.Collate, n.Opaque)


def _primary(node: n.Node) -> str:
    """The text of an operand of `[]` and COLLATE, which bind more than signs."""
    text = _operand(node)
    return f"({text})" if text.startswith(("-", "~")) or isinstance(node, n.Collate) else text


def _values(values: Sequence[n.Node]) -> str:
    shown = ", ".join(to_sql(value) for value in values[:_MOST_VALUES])
    return shown if len(values) <= _MOST_VALUES else f"{shown}, … {len(values)} values"


def _is_plain(node: n.Node) -> bool:
    """Whether a field access such as `.a` after the node applies to the whole node, without parentheses."""
    return isinstance(node, n.FieldRef | n.Column | n.Variable | n.Call) and not (
        isinstance(node, n.Call) and node.name in ("negative", "~")
    )


def _variable(name: str) -> str:
    """The name of a variable without the suffix that binding adds."""
    return _name(name.rpartition("\0")[2])


def _name(part: str) -> str:
    return part if part.isidentifier() else "`" + part.replace("`", "``") + "`"


def _literal(value: object, type_: t.DataType) -> str:
    match value:
        case tuple():
            return _nested(value, type_)
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | tuple() if type_ in INTERVALS:
            return interval_text(n.Literal(value, type_))
        case str():
            return quoted_text(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case Decimal():
            return format(value, "f")
        case int() if type_ == t.DATE:
            return f"DATE'{format_date(value)}'"
        case int() if type_ in t.NANOSECONDS:
            return f"'{format_nanos(value, type_)}'"
        case int() if type_ in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
            return _timestamp(value, type_)
        case _:
            return str(value)


def _nested(value: tuple[Any, ...], type_: t.DataType) -> str:
    match type_:
        case t.ArrayType(element):
            return f"array({', '.join([_literal(each, element) for each in value])})"
        case t.MapType(key, item):
            pairs = [f"{_literal(each, key)}, {_literal(found, item)}" for each, found in value]
            return f"map({', '.join(pairs)})"
        case t.StructType(fields):
            members = zip(value, fields, strict=True)
            shown = [f"{quoted_text(field.name)}, {_literal(each, field.type)}" for each, field in members]
            return f"named_struct({', '.join(shown)})"
        case _:
            return "a variant"


def _timestamp(micros: int, type_: t.DataType) -> str:
    text = format_timestamp(micros)
    return f"TIMESTAMP'{text} UTC'" if type_ == t.TIMESTAMP else f"TIMESTAMP_NTZ'{text}'"
