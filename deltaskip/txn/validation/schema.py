"""Rules for a schema and its partition columns by themselves: names, types, collations, identity and expressions.

A problem that the schema already had before the commit is not caused by the commit, and is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deltaskip.errors import DeltaSkipError, InvalidCollation, SchemaError
from deltaskip.features.change_data_feed import FEED_NAMES
from deltaskip.features.identity_columns import identity_numbers
from deltaskip.features.violation import Violation
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import beyond_one_row, columns_in, is_valid_sql, type_of_text
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import CollationId, spark_equal, spark_name
from deltaskip.txn.validation.commit_facts import CommitFacts

# Spark's Parquet writer and delta-spark refuse these characters in names of columns that are not mapped.
_NOT_IN_NAMES = frozenset(" ,;{}()\n\t=")
_PROVIDERS = ("spark", "icu")
_ATOMIC = (t.PrimitiveType, t.DecimalType)


@dataclass(frozen=True, slots=True)
class _SchemaState:
    """A schema with the state of the table that its rules depend on."""

    schema: t.StructType
    partition_columns: tuple[str, ...]
    properties: TableProperties
    mode: t.MappingMode


def new_problems(facts: CommitFacts) -> Iterator[Violation]:
    """A problem of the new schema that the old one does not have."""
    base = facts.base
    new = _SchemaState(facts.schema, facts.metadata.partition_columns, facts.properties, facts.mode)
    found = list(_problems(new))
    if not found:
        return
    old = _SchemaState(base.schema, base.partition_columns, facts.properties_before, base.mapping_mode)
    had = set(_problems(old))
    for rule, why in found:
        if (rule, why) not in had:
            yield facts.of_metadata(rule, why)


def schema_problems(
    schema: t.StructType, partition_columns: Sequence[str], properties: TableProperties, mode: t.MappingMode
) -> Iterator[tuple[str, str]]:
    """Yield each rule that a schema by itself violates, and how: "has the column x twice …"."""
    return _problems(_SchemaState(schema, tuple(partition_columns), properties, mode))


def expressions(schema: t.StructType, properties: TableProperties) -> Iterator[tuple[str, str | None]]:
    """Yield a description of each expression of the table, for messages, and its text; None if it is malformed."""
    for name, text in properties.constraints.items():
        yield f"the constraint {name}", text
    for field in schema.fields:
        for key in (t.GENERATION_KEY, t.INVARIANTS_KEY):
            if key in field.metadata:
                yield f"{key} of the column {field.name}", _expression(key, field.metadata[key])


def _problems(state: _SchemaState) -> Iterator[tuple[str, str]]:
    """Each rule that the schema violates, and how."""
    yield from _partitioning(state)
    yield from _names(state.schema, state, "")
    yield from _types(state.schema)
    for field in t.nested_fields(state.schema):
        yield from _collations(field)
    yield from _identity(state)
    yield from _expressions(state)


def _partitioning(state: _SchemaState) -> Iterator[tuple[str, str]]:
    rule, columns = "metadata.partitioning", {field.name: field for field in state.schema.fields}
    for name in state.partition_columns:
        if name not in columns:
            yield rule, f"partitions by the unknown column {name}"
        elif not _can_partition(columns[name].type):
            kind = t.simple_string(columns[name].type)
            yield rule, f"partitions by the column {name} of type {kind}, which cannot partition a table"
    for name in _twice(state.partition_columns):
        yield rule, f"partitions by the column {name} twice"
    if state.partition_columns and {*columns} <= {*state.partition_columns}:
        yield (
            rule,
            "partitions by all columns, so that no column is left for the files: keep a column that is not one of the "
            "partition columns",
        )


def _can_partition(type_: t.DataType) -> bool:
    unordered = (t.StructType, t.ArrayType, t.MapType, t.UnknownType, *t.GEOSPATIAL)
    other = isinstance(type_, unordered) and type_ not in t.NANOSECONDS
    return not other and type_ not in (t.VOID, t.VARIANT)


def _names(struct: t.StructType, state: _SchemaState, above: str) -> Iterator[tuple[str, str]]:
    for name in _twice(struct.names):
        yield "schema.duplicates", f"has the column {above}{name} twice, since names are case-insensitive"
    reserved = {} if above else _reserved(state)
    for field in struct.fields:
        name = f"{above}{field.name}"
        if not field.name:
            yield "schema.names", f"has a column without a name{f' in {above[:-1]}' if above else ''}"
        odd = sorted(_NOT_IN_NAMES.intersection(field.name))
        if odd and state.mode == "none":
            why = f"has the column {name!r} with the character {odd[0]!r}, which only mapped columns can have"
            cure = "rename the column, or enable column mapping, delta.columnMapping.mode = name in properties"
            yield "schema.names", f"{why}: {cure}"
        physical = field.metadata.get(t.PHYSICAL_NAME_KEY) if state.mode != "none" else None
        for each in {field.name, physical if isinstance(physical, str) else field.name}:
            if each.lower() in reserved:
                yield "schema.reserved", f"has the column {each}, a name that {reserved[each.lower()]} uses"
        for type_ in t.nested_types(field.type, into_structs=False):
            if isinstance(type_, t.StructType):
                yield from _names(type_, state, f"{name}.")


def _reserved(state: _SchemaState) -> Mapping[str, str]:
    """The features that use each reserved name, by the name in lower case."""
    properties = state.properties
    reserved = {}
    if properties.configuration.get(TableProperties.change_data_feed.name, "").lower() == "true":
        reserved = dict.fromkeys(FEED_NAMES, "the change data feed")
    for definition in (TableProperties.row_id_column, TableProperties.row_commit_version_column):
        name = properties.configuration.get(definition.name)
        if name:
            reserved[name.lower()] = f"row tracking ({definition.name})"
    return reserved


def _types(schema: t.StructType) -> Iterator[tuple[str, str]]:
    rule = "schema.types"
    for field in t.nested_fields(schema):
        for type_ in t.nested_types(field.type, into_structs=False):
            if isinstance(type_, t.UnknownType) and type_ not in t.NAMED_TYPES:
                yield rule, f"has the column {field.name} of type {type_.name}, which deltaskip does not support"
        for type_ in t.nested_types(field.type, into_structs=False):
            inner = {t.ArrayType: ("element",), t.MapType: ("key", "value")}.get(type(type_), ())
            if any(getattr(type_, name) == t.VOID for name in inner):
                yield rule, f"has the column {field.name} with void inside an array or map, which has no form in files"
            if isinstance(type_, t.StructType) and all(each.type == t.VOID for each in type_.fields):
                why = "with a struct of no fields but void ones" if type_.fields else "with a struct without fields"
                yield rule, f"has the column {field.name} {why}, which has no form in files"


def _collations(field: t.StructField) -> Iterator[tuple[str, str]]:
    """# COLLATIONS RFC, Writer Requirements, Specifying collations in the table schema"""
    rule, declared = "schema.collations", field.metadata.get(t.COLLATIONS_KEY)
    if not isinstance(declared, Mapping):
        return
    strings = t.string_paths(field)
    for path, text in declared.items():
        of = f"declares the collation {text!r} for {path!r}"
        if path not in strings:
            yield rule, f"{of}, where the column {field.name} has no string: remove the entry"
        try:
            identifier = CollationId.parse(text)
        except (InvalidCollation, DeltaSkipError):
            yield rule, f"{of}, which is not of the form provider.name: correct it"
            continue
        if identifier.version is not None:
            yield rule, f"{of}, but the schema names no versions: write {identifier.without_version}"
        if identifier.is_binary:
            yield rule, f"{of}, which is the default and is not written: remove the entry"
        if (why := _unreadable(identifier)) is not None:
            yield rule, f"{of}, {why}"


def _unreadable(identifier: CollationId) -> str | None:
    """Why Spark cannot read a table with the collation; None if it can.

    # Spark 4.1, DataType.fromJson: the provider is spark or icu, in any letter case, and need not match the name
    """
    if identifier.provider.lower() not in _PROVIDERS:
        return f"whose provider {identifier.provider!r} no reader knows: the providers are spark and icu"
    try:
        spark_name(identifier.name)
    except InvalidCollation:
        try:
            same = spark_equal(identifier.name)
        except InvalidCollation:
            same = None
        cure = "choose a name of Spark's, such as icu.UNICODE_CI" if same is None else f"write icu.{same}"
        return f"which Spark does not know, so that it could not read the table: {cure}"
    return None


def _identity(state: _SchemaState) -> Iterator[tuple[str, str]]:
    rule = "schema.identity"
    top = set(state.schema.fields)
    for field in t.nested_fields(state.schema):
        try:
            numbers = identity_numbers(field)
        except SchemaError as error:
            yield rule, f"is malformed: {error}"
            continue
        if numbers is None:
            continue
        start, step, mark = numbers
        if field.type != t.LONG or field not in top:
            yield rule, f"makes {field.name} an identity column, which must be a top-level bigint"
        if (
            field.name in state.partition_columns
            or t.GENERATION_KEY in field.metadata
            or t.DEFAULT_KEY in field.metadata
        ):
            yield rule, f"makes {field.name} an identity column, which cannot partition, be generated or have a default"
        if mark is not None and (mark - start) * step < 0:
            yield rule, f"has the mark {mark} before the start {start} of the identity column {field.name}"


def _expressions(state: _SchemaState) -> Iterator[tuple[str, str]]:
    rule = "schema.expressions"
    generated = {field.name.lower() for field in state.schema.fields if t.GENERATION_KEY in field.metadata}
    for what, text in expressions(state.schema, state.properties):
        if text is None or not is_valid_sql(text):
            yield rule, f"has {what}, whose expression cannot be parsed: correct it"
            continue
        for parts in columns_in(text, state.schema):
            if not _resolves(parts, state.schema):
                yield rule, f"has {what}, which uses {'.'.join(parts)}, but the table has no such column"
            elif what.startswith(t.GENERATION_KEY) and parts[0].lower() in generated:
                yield rule, f"has {what}, which uses the generated column {parts[0]}"
        others = beyond_one_row(text, state.schema) if what.startswith(t.GENERATION_KEY) else []
        for part in others[:1]:
            yield rule, f"has {what}, which contains {part}: its value must follow from the other columns of the row"
    for field in state.schema.fields:
        text = field.metadata.get(t.GENERATION_KEY)
        found = type_of_text(text, state.schema) if isinstance(text, str) and isinstance(field.type, _ATOMIC) else None
        if found not in (None, t.VOID, field.type):
            types = f"{t.simple_string(field.type)}, but its expression is of type {t.simple_string(found)}"
            yield rule, f"has the generated column {field.name} of type {types}: cast the expression"
    for field in t.nested_fields(state.schema):
        if t.DEFAULT_KEY in field.metadata:
            text = field.metadata[t.DEFAULT_KEY]
            if not isinstance(text, str) or not is_valid_sql(text):
                yield rule, f"has a default of the column {field.name} that cannot be parsed: correct {t.DEFAULT_KEY}"
            elif columns_in(text, t.StructType()):
                yield rule, f"has a default of the column {field.name} that uses other columns"
    if "" in state.properties.constraints:
        yield rule, "has a constraint without a name"
    for name in _twice(tuple(state.properties.constraints)):
        yield rule, f"has the constraint {name} twice, since names are case-insensitive"


def _resolves(parts: Sequence[str], schema: t.StructType) -> bool:
    """Whether the name refers to a column, or to something inside it; only fields of structs are checked."""
    current: t.DataType = schema
    for part in parts:
        if not isinstance(current, t.StructType):
            return True
        found = [field for field in current.fields if field.name.lower() == part.lower()]
        if not found:
            return False
        current = found[0].type
    return True


def _expression(key: str, value: Any) -> str | None:
    """The text of a generation expression or invariant; None if it is malformed."""
    if key == t.GENERATION_KEY:
        return value if isinstance(value, str) else None
    return t.invariant_expression(value)


def _twice(names: Sequence[str]) -> list[str]:
    counts = Counter(name.lower() for name in names)
    return sorted(name for name, count in counts.items() if count > 1)
