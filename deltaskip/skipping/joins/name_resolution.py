"""The meaning of names in the expressions of a MERGE: columns of the target or of the source."""

from __future__ import annotations

from typing import Literal

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.recursion import deep
from deltaskip.schema.relations import Relation, resolve_among
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Node, columns_of, walk
from deltaskip.sparkexpr.text.sql_text import quoted_path, sql_tokens

MergeSide = Literal["target", "source"]

_SIDES: tuple[MergeSide, MergeSide] = ("target", "source")


def default_aliases(target: str | None, source: str | None, of_frame: bool) -> tuple[str | None, str | None]:
    """Return the names of both sides, by default `target` and `source`.

    Args:
        target: The given name of the target, or None.
        source: The given name of the source, or None.
        of_frame: Whether the source is a DataFrame, which may have an alias. Then the default is None.
    """
    names = (target, source)
    found = [
        name if name is not None or (other is not None and t.fold_name(other) == default) else default
        for name, other, default in zip(names, names[::-1], _SIDES, strict=True)
    ]
    return found[0], source if of_frame else found[1]


def condition_of(on: object, schema: t.StructType, target: str | None, source: str | None) -> object:
    """Return the condition of a merge: names of key columns mean that both sides are equal there.

    Args:
        on: The condition, or the names as a list, or as text with commas. The name of a boolean column alone is a
            condition.
        schema: The schema of the table.
        target: The name of the table in expressions; None for `target`.
        source: The name of the source.

    Raises PredicateError if the list contains a string that is not a name.
    """
    given = list(on) if isinstance(on, list | tuple) else [on]
    if not given or not all(isinstance(name, str) and name.strip() for name in given):
        return on
    types = {t.fold_name(field.name): field.type for field in schema.fields}
    names: list[tuple[str, ...]] = []
    try:
        # A path of nested fields has no other symbols, unless its names are quoted.
        whole = isinstance(on, str) and t.fold_name(on) not in types
        if whole and any(token.kind == "symbol" and token.text not in ".," for token in sql_tokens(str(on))):
            return on
        for name in map(str, given):
            names += [(name,)] if t.fold_name(name) in types else t.parse_names(name, "on", PredicateError)
    except (PredicateError, SchemaError):
        if isinstance(on, str):
            return on
        raise
    known = [types.get(t.fold_name(path[0])) for path in names]
    if isinstance(on, str) and (None in known or (known == [t.BOOLEAN] and len(names[0]) == 1)):
        return on
    sides = target or "target", source or "source"
    return " AND ".join(" = ".join(quoted_path((side, *path)) for side in sides) for path in names)


class Names:
    """The names of both sides.

    Args:
        target: The schema of the target.
        source: The schema of the source.
        target_alias: The name of the target; None for none.
        source_alias: The name of the source; None if the names of its DataFrame are not known yet.
        is_plain: Whether strings of the source without a collation are compared under the table's, as literals are.

    Attributes:
        is_plain: Whether that matters, since the table has collated strings.
    """

    def __init__(
        self,
        target: t.StructType,
        source: t.StructType,
        target_alias: str | None,
        source_alias: str | None,
        is_plain: bool = False,
    ) -> None:
        fields = (each for field in target.fields for each in (field, *t.nested_fields(field.type)))
        self.is_plain = is_plain and any(t.COLLATIONS_KEY in each.metadata for each in fields)
        self._relations = (
            Relation(target, () if target_alias is None else ((target_alias,),)),
            Relation(source, None if source_alias is None else ((source_alias,),)),
        )

    @property
    def source_has_any_name(self) -> bool:
        """Whether any qualifier of a column may be an alias inside the source's DataFrame."""
        return self._relations[1].qualifiers is None

    def resolved(self, parts: tuple[str, ...]) -> tuple[MergeSide, tuple[str, ...]]:
        """Return the side that a name is a column of, and its path there.

        Raises:
            UnknownName: Neither side has the column, or no side has the qualifier.
            AmbiguousName: Both sides have it.
            InsideCollection: The path continues inside an array or map.
            PredicateError: The column has no such field.
        """
        number, found = resolve_among(self._relations, parts)
        return _SIDES[number], found.logical

    def source_column(self, path: tuple[str, ...]) -> n.Column:
        """Return a column of the source, whose strings have the collation of a literal if the source is plain."""
        return n.UncollatedColumn(path) if self.is_plain else n.Column(path)

    @deep
    def with_literal_strings(self, node: Node) -> Node:
        """Return an expression for Spark, in which plain strings of the source are compared as literals are.

        # Spark 4.1, CollationTypeCoercion: a string that is cast from BINARY has the strength of a literal
        """
        found = self.side(node.parts) if isinstance(node, n.Column) else None
        if found is None:
            changed = n.transform(node, self.with_literal_strings)
            if changed is not node and isinstance(node, n.Cast) and node.type == t.STRING:
                sides = {side[0] if (side := self.side(parts)) else None for parts in columns_of(node)}
                return n.Cast(n.Cast(changed, t.BINARY), t.STRING) if sides == {"source"} else changed
            return changed
        if found[0] == "target" or not self.is_plain:
            return node
        column = t.resolve(self._relations[1].schema, found[1])
        in_bytes = _in_bytes(column.type)
        is_collated = any(t.COLLATIONS_KEY in each.metadata for each in (column.field, *t.nested_fields(column.type)))
        return node if is_collated or in_bytes == column.type else n.Cast(n.Cast(node, in_bytes), column.type)

    def name(self, side: MergeSide, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return the name of a column of a side in expressions."""
        qualifiers = self._relations[_SIDES.index(side)].qualifiers
        return (*qualifiers[0], *path) if qualifiers else path

    def side(self, parts: tuple[str, ...]) -> tuple[MergeSide, tuple[str, ...]] | None:
        """Return the result of `resolved`, or None if it is not certain."""
        try:
            return self.resolved(parts)
        except PredicateError:
            return None


def _in_bytes(data_type: t.DataType) -> t.DataType:
    """The type with BINARY for STRING at every depth."""
    match data_type:
        case t.ArrayType(element, nulls):
            return t.ArrayType(_in_bytes(element), nulls)
        case t.MapType(key, value, nulls):
            return t.MapType(_in_bytes(key), _in_bytes(value), nulls)
        case t.StructType(fields):
            return t.StructType(tuple(t.StructField(f.name, _in_bytes(f.type), f.nullable) for f in fields))
    return t.BINARY if data_type == t.STRING else data_type


def check_sides(on: Node, names: Names, table: str, prepared: bool = False) -> None:
    """Check that an ON condition compares both sides, as a whole, or is a literal such as TRUE.

    A condition with an opaque part is left to the function that binds it. Unknown names of a DataFrame are resolved
    when the source is prepared: until then, a condition with such names may be invalid for another reason.

    Args:
        on: The condition.
        names: The names of both sides.
        table: The location of the target, for messages.
        prepared: Whether the source has every name of the condition.

    Raises PredicateError for a condition on one side alone: each row of the target would match all rows of the source
    or none.
    """
    if isinstance(on, n.Literal) or any(isinstance(part, n.Opaque) and not part.columns for part in walk(on)):
        return
    sides = {found and found[0] for found in map(names.side, columns_of(on))}
    if None in sides or len(sides) == len(_SIDES):
        return
    if not prepared and names.source_has_any_name and any(len(parts) > 1 for parts in columns_of(on)):
        return
    [*only] = map(str, sides)
    named = f"only columns of the {only[0]}" if only else "no column"
    raise PredicateError(
        f"The condition {to_sql(on)} of a merge into {table} names {named}, so each row of one side would match all "
        f"rows of the other, or none: compare columns of both sides, such as target.id = source.id, or write TRUE or "
        f"FALSE to mean that."
    )
