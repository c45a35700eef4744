"""Resolves column names among relations. The name or alias of a relation may qualify its columns.

# Spark 4.1, AttributeSeq.resolve: the longest qualifier that has a column of the next name takes precedence, and a
# qualifier takes precedence over a struct of its name; fields are only looked up inside the column that was found
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import with_names

_MOST_QUALIFIERS = 3


class UnknownName(SchemaError, PredicateError):
    """No relation has a column of this name, qualified or not."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or another source of columns.

    Attributes:
        schema: The columns.
        qualifiers: The names, as tuples of parts, that may qualify the columns. None if they are not known, as for a
            DataFrame; then any name may be a qualifier, except the qualifiers of other relations.
    """

    schema: t.StructType
    qualifiers: tuple[tuple[str, ...], ...] | None = ()


def resolve_among(relations: Sequence[Relation], parts: tuple[str, ...]) -> tuple[int, t.Resolved]:
    """Return the index of the relation that has a column or field of this name, and the resolved column.

    Raises:
        UnknownName: The column does not exist; the message suggests others.
        AmbiguousName: Several relations have the column, or it is not known whether a part is a qualifier.
        InsideCollection: The path continues inside an array or map.
        PredicateError: The column has no such field.
    """
    found: list[tuple[int, int]] = []
    for length in _lengths(parts):
        having = [i for i, each in enumerate(relations) if _has_column(each.schema, parts[length])]
        may = {i: _qualifies(relations, i, parts[:length]) for i in having}
        found += [(i, length) for i in having if may[i] is not False]
        if any(may.values()):
            break
    if not found:
        raise _unknown(relations, parts)
    if len(found) > 1:
        raise _ambiguous(relations, parts, found)
    [(number, length)] = found
    return number, t.resolve(relations[number].schema, parts[length:])


def qualifier_length(parts: Sequence[str], schema: t.StructType, qualifiers: Collection[tuple[str, ...]]) -> int:
    """Return the number of leading parts of a name that are a qualifier of a relation.

    It is 0 if the name begins with a column. If the relation has no such column, it is the length of the longest
    qualifier with which the name begins.
    """
    known = {_folded(each) for each in qualifiers}
    lengths = [length for length in _lengths(parts) if length == 0 or _folded(parts[:length]) in known]
    # Spark 4.1, UnresolvedStar.expand: a relation takes precedence over a struct
    found = (length for length in lengths if parts[length] == "*" or _has_column(schema, parts[length]))
    return next(found, lengths[0])


def unqualified_text(
    text: str, schema: t.StructType, qualifiers: Collection[tuple[str, ...]], instead: str = ""
) -> str:
    """Return an SQL expression without the qualifiers of a relation before its columns.

    Args:
        text: The expression. Invalid SQL is returned unchanged.
        schema: The columns of the relation.
        qualifiers: The names that may qualify the columns.
        instead: The replacement of a qualifier, with its dot.
    """
    return with_names(text, lambda parts: (qualifier_length(parts, schema, qualifiers), instead))


def _lengths(parts: Sequence[str]) -> range:
    """The possible lengths of a qualifier, the longest first."""
    return range(min(len(parts) - 1, _MOST_QUALIFIERS), -1, -1)


def _qualifies(relations: Sequence[Relation], number: int, qualifier: tuple[str, ...]) -> bool | None:
    """Whether a qualifier, which may be empty, may precede the columns of a relation; None if it is not known."""
    own = relations[number].qualifiers
    if not qualifier:
        return True
    wanted = _folded(qualifier)
    if own is not None:
        return wanted in map(_folded, own)
    others = (each.qualifiers or () for i, each in enumerate(relations) if i != number)
    return False if any(wanted in map(_folded, each) for each in others) else None


def _has_column(schema: t.StructType, name: str) -> bool:
    wanted = t.fold_name(name)
    return any(t.fold_name(field.name) == wanted for field in schema.fields)


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(t.fold_name, parts))


def _ambiguous(
    relations: Sequence[Relation], parts: tuple[str, ...], found: Sequence[tuple[int, int]]
) -> t.AmbiguousName:
    names = [name for i, length in found for name in _spelled(relations[i], t.display_name(parts[length:]))]
    shown = f": it could be {' or '.join(dict.fromkeys(names))}" if len(set(names)) > 1 else ""
    return t.AmbiguousName(f"Column {t.display_name(parts)} is ambiguous{shown}.")


def _unknown(relations: Sequence[Relation], parts: tuple[str, ...]) -> UnknownName:
    """The error for a name that does not exist."""
    shown = t.display_name(parts)
    for length in _lengths(parts):
        prefix = _folded(parts[:length])
        named = [each for each in relations if each.schema.fields and prefix in map(_folded, each.qualifiers or ())]
        if named:
            columns = [field.name for each in named for field in each.schema.fields]
            near = [t.display_name((*parts[:length], name)) for name in t.near_names(parts[length], columns)]
            return UnknownName(f"There is no column {shown}; {_meant(near) or _columns(named)}")
    last = parts[1] if len(parts) > 1 and any(_has_column(each.schema, parts[1]) for each in relations) else parts[0]
    near = [
        spelled
        for each in relations
        for name in t.near_names(last, [field.name for field in each.schema.fields])
        for spelled in _spelled(each, _quoted(name))
    ]
    if len(parts) == 1:
        return UnknownName(f"There is no column {shown}; {_meant(near[:3]) or _columns(relations)}")
    names = [t.display_name(q) for each in relations if each.schema.fields for q in (each.qualifiers or ())[:1]]
    known = f"the known names are {' and '.join(names)}." if names else _columns(relations)
    return UnknownName(
        f"{t.display_name(parts[:1])} of {shown} is neither the name of a table nor a column: "
        f"{_meant(near[:3]) or known}"
    )


def _spelled(relation: Relation, column: str) -> list[str]:
    """A column, qualified with the name of its relation if it is known."""
    if not relation.qualifiers:
        return [column]
    return [f"{t.display_name(relation.qualifiers[0])}.{column}"]


def _meant(near: Sequence[str]) -> str:
    return f"did you mean {' or '.join(near)}?" if near else ""


def _columns(relations: Sequence[Relation]) -> str:
    names = [name for each in relations for field in each.schema.fields for name in _spelled(each, _quoted(field.name))]
    return f"the columns are {', '.join(names[:8])}{' …' if len(names) > 8 else '.'}"


def _quoted(name: str) -> str:
    return t.display_name((name,))
