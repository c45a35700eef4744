"""Parses column names and resolves them to fields of a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from deltaskip.arguments import unicode_text
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, PredicateError, SchemaError
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.data_types import PHYSICAL_NAME_KEY, StructField
from deltaskip.sparkexpr.types.declared_collations import renamed

ColumnPath = tuple[str, ...]
"""The parts of a column's name, from the top-level column to the field."""

_NAME_PART = regex(r"\s*(?:`((?:[^`]|``)*)`|([^\s`.,]+))\s*([.,]|$)")


class AmbiguousName(PredicateError):
    """The name refers to several columns or fields."""


class InsideCollection(PredicateError):
    """The name refers to a field inside an array or a map, where a row has many values and statistics do not exist."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A field that is nested only in structs.

    Attributes:
        logical: The path in logical names.
        physical: The path in physical names.
        type: The field's type.
        nullable: Whether the field or an enclosing struct can be null.
        field: The field in the schema.
    """

    logical: tuple[str, ...]
    physical: tuple[str, ...]
    type: t.DataType
    nullable: bool
    field: t.StructField


def resolve(
    struct: t.StructType, parts: Sequence[str], mode: MappingMode = "none", case_sensitive: bool = False
) -> Resolved:
    """Resolve a column name as Spark does.

    Args:
        struct: The table's schema.
        parts: The name, already split: `a.b` is ("a", "b") and the quoted name `` `a.b` `` is ("a.b",). Each part must
            match one field.
        mode: The table's column mapping mode.
        case_sensitive: Whether letter case must match. If not, two fields whose names differ only in case are
            ambiguous, even if one matches exactly (Spark's AMBIGUOUS_REFERENCE).

    Raises:
        PredicateError: The name is unknown; the message suggests the nearest names.
        AmbiguousName: The name is ambiguous. A subclass of PredicateError.
        InsideCollection: The path continues inside an array or map. A subclass of PredicateError.
    """
    if not parts:
        raise PredicateError("The column name is empty.")
    logical: list[str] = []
    physical: list[str] = []
    nullable = False
    current: t.DataType = struct
    for part in parts:
        try:
            field = _step(current, logical, part, case_sensitive)
        except PredicateError as error:
            whole = None if logical or len(parts) < 2 else _whole(struct, ".".join(parts), case_sensitive)
            if whole is not None and type(error) is PredicateError:
                raise PredicateError(
                    f"There is no column {display_name(parts)}: write {display_name([whole])}, in backticks, for the "
                    f"column of this name."
                ) from error
            if not logical and type(error) is PredicateError and _has(struct, parts[1:], case_sensitive):
                raise PredicateError(
                    f"There is no column {display_name(parts)}: write {display_name(parts[1:])} without the name of "
                    f"the table."
                ) from error
            raise
        logical.append(field.name)
        physical.append(physical_name(field, mode))
        nullable = nullable or field.nullable
        current = field.type
    return Resolved(tuple(logical), tuple(physical), current, nullable, field)


def _whole(struct: t.StructType, name: str, case_sensitive: bool) -> str | None:
    """The column of a name that has dots; None if there is none."""
    wanted = name if case_sensitive else fold_name(name)
    found = _names.of(struct.fields, case_sensitive).get(wanted, [])
    return found[0].name if len(found) == 1 else None


def _has(struct: t.StructType, parts: Sequence[str], case_sensitive: bool) -> bool:
    try:
        return bool(parts) and resolve(struct, parts, case_sensitive=case_sensitive) is not None
    except PredicateError:
        return False


def leaves(struct: t.StructType, mode: MappingMode = "none") -> list[Resolved]:
    """All fields that are not structs, arrays or maps and are nested only in structs, in order."""
    return list(_leaves(struct, mode, (), (), False))


def fields_at(struct: t.StructType, paths: Mapping[str, Sequence[str]]) -> list[t.StructField]:
    """Return the fields at paths under other names; paths of other columns are left out."""
    known = {name: path for name, path in paths.items() if path[0] in struct.names}
    return [renamed(resolve(struct, path, case_sensitive=True).field, name) for name, path in known.items()]


def collation_of(resolved: Resolved) -> str | None:
    """The collation identifier that the schema declares for a string field, as written; None means UTF8_BINARY.

    # COLLATIONS RFC, Specifying collations in the table schema: the key is the path from the nearest StructField.
    """
    if resolved.type != t.STRING:
        return None
    return t.declared_collation(resolved.field, resolved.field.name)


def collation_inside(field: t.StructField) -> str | None:
    """A collation that the schema declares for a string in a field, at any depth; None if it declares no collation."""
    declared = field.metadata.get(t.COLLATIONS_KEY)
    if declared:
        first = next(iter(declared.values()), None) if isinstance(declared, Mapping) else None
        return str(first) if first is not None else "unknown"
    for each in t.nested_types(field.type, into_structs=False):
        for inner in each.fields if isinstance(each, t.StructType) else ():
            found = collation_inside(inner)
            if found is not None:
                return found
    return None


def display_name(parts: Sequence[str]) -> str:
    """A column name as SQL text: parts joined by dots, with backticks around parts that need them."""
    return ".".join(p if p.replace("_", "a").isalnum() else "`" + p.replace("`", "``") + "`" for p in parts)


def fold_name(name: str) -> str:
    """A key that is equal for two names if Spark considers them equal, ignoring case.

    Like Java's equalsIgnoreCase, it converts each character to upper and then to lower case, one to one: ß is not ss.
    """
    return name.lower() if name.isascii() else "".join(map(_fold_character, name))


def near_names(name: str, names: Sequence[str]) -> list[str]:
    """Return at most three names with a similar spelling, the nearest first."""
    # Only messages need this import.
    from difflib import get_close_matches

    by_key = {fold_name(each): each for each in names}
    return [by_key[key] for key in get_close_matches(fold_name(name), list(by_key), n=3, cutoff=0.5)]


def _step(current: t.DataType, above: Sequence[str], part: str, case_sensitive: bool) -> t.StructField:
    match current:
        case t.StructType(fields):
            return _pick(fields, above, part, case_sensitive)
        case t.ArrayType() | t.MapType():
            kind = "an array" if isinstance(current, t.ArrayType) else "a map"
            raise InsideCollection(
                f"{display_name((*above, part))} is inside {kind}: {display_name(above)} has no single value per row."
            )
        case _:
            name = display_name((*above, part))
            raise PredicateError(f"{name} does not exist: {display_name(above)} is not a struct.")


def _pick(fields: Sequence[t.StructField], above: Sequence[str], part: str, case_sensitive: bool) -> t.StructField:
    wanted = part if case_sensitive else fold_name(part)
    found = _names.of(fields, case_sensitive).get(wanted, [])
    if len(found) == 1:
        return found[0]
    name = display_name((*above, part))
    if found:
        candidates = ", ".join(display_name((*above, f.name)) for f in found)
        raise AmbiguousName(f"Column {name} is ambiguous: it could be {candidates}.")
    raise PredicateError(f"There is no column {name}; {_suggestion(fields, above, part)}")


class _Names:
    """A cache of the fields of structs by name or folded name: predicates name many columns of a few structs."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bool], tuple[Sequence[t.StructField], dict[str, list[t.StructField]]]] = {}
        self._left = _MOST_FIELDS

    def of(self, fields: Sequence[t.StructField], case_sensitive: bool) -> dict[str, list[t.StructField]]:
        # The key is the identity, which the cached fields keep alive: comparing wide structs is slow.
        key = id(fields), case_sensitive
        known = self._known.get(key)
        if known is not None:
            return known[1]
        index: dict[str, list[t.StructField]] = {}
        for field in fields:
            index.setdefault(field.name if case_sensitive else fold_name(field.name), []).append(field)
        if self._left < len(fields):
            self._known, self._left = {}, _MOST_FIELDS
        self._known[key] = fields, index
        self._left -= len(fields) + 1
        return index


_MOST_FIELDS = 50_000
_names = _Names()


def _inner_paths(fields: Sequence[t.StructField], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of the fields of structs, at any depth."""
    for field in fields:
        if isinstance(field.type, t.StructType):
            for inner in field.type.fields:
                yield (*above, field.name, inner.name)
            yield from _inner_paths(field.type.fields, (*above, field.name))


def _suggestion(fields: Sequence[t.StructField], above: Sequence[str], part: str) -> str:
    near = near_names(part, [f.name for f in fields])
    inner = [] if above else [path for path in _inner_paths(fields, ()) if fold_name(path[-1]) == fold_name(part)]
    if inner:
        return "did you mean " + " or ".join(map(display_name, inner[:3])) + "?"
    if near:
        return "did you mean " + " or ".join(display_name((*above, name)) for name in near) + "?"
    if not fields:
        return "the schema has no columns here."
    shown = ", ".join(display_name((*above, f.name)) for f in fields[:8])
    return f"the columns are {shown}{' …' if len(fields) > 8 else '.'}"


def _leaves(
    struct: t.StructType, mode: MappingMode, logical: tuple[str, ...], physical: tuple[str, ...], nullable: bool
) -> Iterator[Resolved]:
    for field in struct.fields:
        path = (*logical, field.name)
        stored = (*physical, physical_name(field, mode))
        can_be_null = nullable or field.nullable
        match field.type:
            case t.StructType():
                yield from _leaves(field.type, mode, path, stored, can_be_null)
            case t.ArrayType() | t.MapType():
                continue
            case _:
                yield Resolved(path, stored, field.type, can_be_null, field)


def _fold_character(character: str) -> str:
    upper = character.upper()
    if len(upper) != 1:
        title = character.title()
        upper = title if len(title) == 1 else character
    return upper.lower()[:1]


def parse_names(text: str, where: str, error: type[DeltaSkipError] = SchemaError) -> list[tuple[str, ...]]:
    """Parse column names separated by commas into their parts. where: Description of the text, for errors.

    Raises `error` if the text is not a list of names.
    """
    names: list[tuple[str, ...]] = []
    parts: list[str] = []
    position = 0
    while position < len(text) and text.strip():
        match = _NAME_PART.match(text, position)
        if match is None:
            raise error(f"{where} is {text!r}, which is not a list of column names such as a, b.c, `d e`.")
        quoted, plain, separator = match.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        if separator != ".":
            names.append(tuple(parts))
            parts = []
        position = match.end()
        if separator and position == len(text):
            raise error(f"{where} is {text!r}, which ends in {separator!r}: a column name is missing.")
    return names


def column_path(argument: str, column: object) -> ColumnPath:
    """Return the parts of a column's name, which is a str with dots between the parts, or a sequence of parts.

    A str without dots, commas and backticks is one part, whatever other characters it contains.

    Raises InvalidArgument for a str that is not a name, and InvalidArgumentType for other values.
    """
    if isinstance(column, str):
        text = unicode_text(argument, column)
        if text.strip() and not any(each in text for each in ".,`"):
            return (text.strip(),)
        names = parse_names(text, argument, InvalidArgument)
        if len(names) != 1:
            raise InvalidArgument(
                f"{argument} must be the name of one column, not {column!r}: put a name with a comma in backticks, as "
                f"'`a,b`'."
            )
        return names[0]
    if isinstance(column, Sequence) and column and all(isinstance(part, str) for part in column):
        return tuple(unicode_text(argument, part) for part in column)
    raise InvalidArgumentType.of(argument, "the name of a column, or a tuple of its parts", column)


MappingMode = Literal["none", "name", "id"]
"""How fields are found in data files: by their names, by other names, or by numbers."""


def physical_name(field: StructField, mode: MappingMode) -> str:
    """Return the name of `field` in data files, statistics and partition values.

    Raises SchemaError if the mode requires a physical name and the field has none.
    """
    if mode == "none":
        return field.name
    name = field.metadata.get(PHYSICAL_NAME_KEY)
    if not isinstance(name, str) or not name:
        raise SchemaError(
            f"Column {field.name!r} has no {PHYSICAL_NAME_KEY} in its metadata although the table's column mapping "
            f"mode is {mode!r}; the schema in the log is damaged."
        )
    return name
