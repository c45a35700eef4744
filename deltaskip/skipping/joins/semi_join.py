"""The condition of a semi-join on the rows of a table: their keys are among those of other rows.

Keys are compared as `=` compares two columns: after casts to the type that both have in common, strings without a
collation under that of the table. NULL equals nothing, NaN equals NaN, and 0.0 equals -0.0. The condition is a
predicate over the table that the keys imply (source_keys), so that files are skipped as by any other predicate, and
beside it, unless that is exact, the set of the keys (docs/pages/soundness.md, Joins).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.recursion import deep
from deltaskip.skipping.joins.source_keys import SourceKey, compared, key_values
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_binary
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.normalize import FALSE_LITERAL
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values import KeyTuples
from deltaskip.sparkexpr.values.arrow_values import arrow_array, distinct_rows, numpy_values, one_chunk

_CURE = "Join in Spark: scan.to_spark(spark).join(rows, on, 'left_semi')."


class KeyJoin(n.Deferred):
    """The condition that columns of a table, together, are the key of a row, before it is bound.

    Args:
        paths: The columns of the table.
        rows: The keys, one column for each, under any names.
        schema: The columns of `rows`, with their collations.
        label: What is joined, for `explain`.
    """

    __slots__ = ("_conditions", "label", "paths", "rows", "schema")

    def __init__(self, paths: Sequence[tuple[str, ...]], rows: pa.Table, schema: t.StructType, label: str) -> None:
        self.paths = tuple(paths)
        names = [f"k{place}" for place in range(len(self.paths))]
        self.schema = t.StructType(
            tuple(
                t.StructField(name, each.type, each.nullable, dict(t.rekeyed_metadata(each, name)))
                for name, each in zip(names, schema.fields, strict=True)
            )
        )
        self.rows = _distinct(rows.rename_columns(names))
        self.label = label
        self._conditions: dict[tuple[str, bool], n.Node] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyJoin, (self.paths, self.rows, self.schema, self.label)

    def __repr__(self) -> str:
        named = ", ".join(map(t.display_name, self.paths))
        return f"({named}) IN ({len(self.rows):,} keys)"

    def condition(self, snapshot: Snapshot, time_zone: str, ansi: bool) -> n.Node:
        """Return the condition over the columns of the table, not bound.

        Args:
            snapshot: The table.
            time_zone: The time zone in which dates become times.
            ansi: Whether types meet as in ANSI mode.

        Raises:
            PredicateError: A column does not exist, its type is not comparable, or a key cannot be cast.
            UnsupportedFeature: Only Spark compares the types.
        """
        key = time_zone, ansi
        if key not in self._conditions:
            self._conditions[key] = self._condition(snapshot, time_zone, ansi)
        return self._conditions[key]

    def _condition(self, snapshot: Snapshot, time_zone: str, ansi: bool) -> n.Node:
        children, keys, types = [], [], []
        valid = np.ones(len(self.rows), np.bool_)
        for path, field in zip(self.paths, self.schema.fields, strict=True):
            side, values, met = self._compared(snapshot, path, field, time_zone, ansi)
            valid &= numpy_values(values.is_valid())
            children.append(side)
            keys.append(values)
            types.append(met)
        if not valid.all():
            keys = [each.filter(arrow_array(valid)) for each in keys]
        if not len(keys[0]):
            return FALSE_LITERAL
        implied: list[n.Node] = []
        for (child, is_ordered), values, met in zip(children, keys, types, strict=True):
            if not isinstance(met, t.StructType | t.ArrayType):
                key = SourceKey(child, met, True, is_ordered)
                implied.append(compared("=", child, key, key_values(values, key, True)))
        if len(self.paths) == 1 and implied and _is_exact(implied[0]):
            return implied[0]
        among = n.Among(tuple(child for child, _ in children), KeyTuples(keys, types))
        return n.And((*implied, among)) if implied else among

    def _compared(
        self, snapshot: Snapshot, path: tuple[str, ...], field: t.StructField, time_zone: str, ansi: bool
    ) -> tuple[tuple[n.Node, bool], pa.Array, t.DataType]:
        """A column, with whether it is compared by the order of bytes, and its keys, all in the type of `=`."""
        found = t.resolve(snapshot.schema, path, snapshot.mapping_mode)
        column = t.StructField("t", found.type, found.nullable, dict(t.rekeyed_metadata(found.field, "t")))
        scope = t.StructType((column, field))
        try:
            equal = n.Compare("=", n.Column(("t",)), n.UncollatedColumn((field.name,)))
            bound = bind_expression(equal, scope, time_zone=time_zone, ansi=ansi)
        except PredicateError as error:
            raise PredicateError(f"The keys of a semi-join on {self.label} cannot be compared: {error}") from error
        met = type_of(bound.left) if isinstance(bound, n.Compare) else None
        if not isinstance(bound, n.Compare) or met is None or not _is_comparable(met, column, field):
            raise UnsupportedFeature(
                f"The types {t.simple_string(column.type)} and {t.simple_string(field.type)} of a semi-join on "
                f"{self.label} with {snapshot.root} are compared by Spark alone. {_CURE}"
            )
        place = EvaluationPlace(snapshot.root, _CURE, "", what="The key of a semi-join")
        right = LocalExpression(bound.right, scope, place, time_zone=time_zone, ansi=ansi)
        values = right.values({field.name: one_chunk(self.rows[field.name])}, len(self.rows))
        is_ordered = met != t.STRING or is_binary(comparison_collation(bound.left, bound.right))
        return (_over(bound.left, path), is_ordered), values, met


def without_joins(node: n.Node) -> tuple[n.Node | None, list[KeyJoin]]:
    """Return a predicate without its semi-joins, None if nothing else is in it, and these."""
    match node:
        case KeyJoin():
            return None, [node]
        case n.And(children) if not isinstance(node, n.Between):
            found = [without_joins(child) for child in children]
            joins = [join for _, each in found for join in each]
            if not joins:
                return node, []
            rest = tuple([each for each, _ in found if each is not None])
            return None if not rest else rest[0] if len(rest) == 1 else n.And(rest), joins
        case _:
            return node, []


def _is_exact(node: n.Node) -> bool:
    """Whether a predicate that keys imply holds for no other row: it compares for equality with all keys."""
    return node == FALSE_LITERAL or isinstance(node, n.In) or (isinstance(node, n.Compare) and node.op == "=")


@deep
def _over(node: n.Node, path: tuple[str, ...]) -> n.Node:
    """A bound cast of a column, over the column of the table, not bound."""
    return n.Column(path) if isinstance(node, n.FieldRef) else n.transform(node, lambda child: _over(child, path))


def _is_comparable(type_: t.DataType, *fields: t.StructField) -> bool:
    """Whether this process compares values of a type as Spark does.

    It leaves char(n), which Spark pads, maps, and strings in structs that are not compared by their bytes.
    """
    if not isinstance(type_, t.StructType | t.ArrayType | t.MapType):
        return not any(map(declares_char, fields))
    inside = [each for field in fields for each in (field, *t.nested_fields(field.type))]
    collated = any({t.COLLATIONS_KEY, t.CHAR_VARCHAR_KEY} & each.metadata.keys() for each in inside)
    return not collated and not any(isinstance(each, t.MapType) for each in t.nested_types(type_))


def _distinct(rows: pa.Table) -> pa.Table:
    """The rows without NULL, each once, unless their types cannot be grouped."""
    rows = rows.drop_null()
    if any(pa.types.is_nested(each) or pa.types.is_null(each) for each in rows.schema.types):
        return rows
    return distinct_rows(rows)
