"""Rules for changes of the schema by a commit: existing files stay valid.

# PROTOCOL, Type Widening, Column Mapping, CHECK Constraints, Identity Columns
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.features.identity_columns import IDENTITY_MARK, identity_numbers
from deltaskip.features.registry import feature_names
from deltaskip.features.violation import Violation
from deltaskip.json_text import parse_json
from deltaskip.recursion import deep
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY, TypeChange, is_widening, type_changes
from deltaskip.sparkexpr import columns_in, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.nodes import FieldRef, Node, Opaque, transform, walk
from deltaskip.sparkexpr.types.lengths import holds_all, text_length, with_lengths
from deltaskip.txn.validation.commit_facts import CommitFacts
from deltaskip.txn.validation.schema import expressions

_RULE_KEYS = (t.INVARIANTS_KEY, t.GENERATION_KEY, t.IDENTITY_PREFIX)


def change_violations(facts: CommitFacts) -> Iterator[Violation]:
    """A change of the metadata that files of the table may violate, or that contradicts itself."""
    if facts.intent.copies_state:
        return
    dependence = file_dependence(facts)
    if dependence is not None and not facts.ends_every_file:
        yield facts.of_metadata(
            "schema.existing-files",
            f"{dependence}, which files of version {facts.base.version} may violate: remove them in the same "
            f"transaction, or make the change with Spark",
        )
    first = next(chain(_of_columns(facts, facts.base.schema, facts.schema, ""), _of_dependents(facts)), None)
    # Counting the files of a large table takes longer than all other checks.
    if first is not None and not facts.ends_every_file:
        yield first


def needs_every_file(facts: CommitFacts) -> bool:
    """Whether changes of the metadata are valid only for the files of the base, so that other writers add none."""
    # A constraint that its writer has checked holds only for the files that it knew.
    checked = bool(facts.intent.constraints_checked)
    return facts.intent.copies_state or checked or file_dependence(facts) is not None


def file_dependence(facts: CommitFacts) -> str | None:
    """The part of the new metadata that existing files may violate; None if there is none."""
    base, metadata = facts.base, facts.metadata
    before = base.table_properties.constraints
    for name, text in facts.properties.constraints.items():
        if before.get(name) != text and name not in facts.intent.constraints_checked:
            return f"sets the constraint {name}"
    if set(facts.properties.iceberg_compat) - set(facts.properties_before.iceberg_compat):
        return "enables Iceberg compatibility"
    before_columns = _physical_names(base.schema, base.partition_columns, base.mapping_mode)
    if _physical_names(facts.schema, metadata.partition_columns, facts.mode) != before_columns:
        return "changes the partition columns"
    if facts.mode != base.mapping_mode and (base.mapping_mode, facts.mode) != ("none", "name"):
        return "changes the column mapping mode"
    return next(_dependent_columns(facts, base.schema, facts.schema, ""), None)


def _physical_names(schema: t.StructType, names: tuple[str, ...], mode: t.MappingMode) -> list[str]:
    by_name = {field.name: field for field in schema.fields}
    return [t.physical_name(by_name[name], mode) if name in by_name else name for name in names]


def _dependent_columns(facts: CommitFacts, old: t.StructType, new: t.StructType, above: str) -> Iterator[str]:
    before = facts.base.mapping_mode
    by_name = {field.name: field for field in old.fields}
    by_physical = {t.physical_name(field, before): field for field in old.fields}
    for field in new.fields:
        name = f"{above}{field.name}"
        same_name = by_name.pop(field.name, None)
        physical = t.physical_name(field, facts.mode)
        known = by_physical.get(physical)
        if same_name is not None and before == "none" and physical != field.name:
            yield f"changes the physical name of the column {name}"
        if not field.nullable and (known is None or known.nullable):
            yield f"sets the column {name} to NOT NULL"
        for key, value in field.metadata.items():
            ruled = key.startswith(_RULE_KEYS) and key != IDENTITY_MARK
            if not ruled or (known is not None and known.metadata.get(key) == value):
                continue
            if known is None or key != t.GENERATION_KEY or not _is_renamed(facts, known.metadata.get(key), value):
                yield f"sets {key} of the column {name}"
        if known is None:
            continue
        if _shortened(facts, with_lengths(known).type, with_lengths(field).type):
            yield f"sets the type of the column {name} to {field.metadata[t.CHAR_VARCHAR_KEY]}"
        yield from _dependent_types(facts, known.type, field.type, name)
    for gone in by_name.values():
        if facts.mode == "none":
            yield f"drops the column {above}{gone.name}"


def _is_renamed(facts: CommitFacts, old: object, new: object) -> bool:
    """Whether a generation expression is unchanged except for new names of its columns."""
    base = facts.base

    @deep
    def by_file(node: Node) -> Node:
        return replace(node, logical=()) if isinstance(node, FieldRef) else transform(node, by_file)

    try:
        before = bind_expression(parse_sql(str(old)), base.schema, base.partition_columns, base.mapping_mode)
        columns = facts.metadata.partition_columns
        after = bind_expression(parse_sql(str(new)), facts.schema, columns, facts.mode)
    except PredicateError:
        return False
    # A property that is not understood may name a column.
    return by_file(before) == by_file(after) and not any(isinstance(each, Opaque) for each in walk(before))


def _dependent_types(facts: CommitFacts, old: t.DataType, new: t.DataType, name: str) -> Iterator[str]:
    match old, new:
        case t.StructType(), t.StructType():
            yield from _dependent_columns(facts, old, new, f"{name}.")
        case t.ArrayType(a, before), t.ArrayType(b, after):
            if before and not after:
                yield f"sets the elements of the column {name} to NOT NULL"
            yield from _dependent_types(facts, a, b, f"{name}.element")
        case t.MapType(k, v, before), t.MapType(l, w, after):
            if before and not after:
                yield f"sets the values of the column {name} to NOT NULL"
            yield from _dependent_types(facts, k, l, f"{name}.key")
            yield from _dependent_types(facts, v, w, f"{name}.value")
        case _ if old == t.VOID and all(field.nullable for field in t.nested_fields(new)):
            # PROTOCOL, Void Type: files do not have the column, so their rows are NULL whatever its type is.
            return
        case _ if old != new:
            if not is_widening(old, new):
                yield f"changes the type of the column {name}"
            elif facts.features.isdisjoint(feature_names("typeWidening")) or not facts.properties.type_widening:
                enabled = TableProperties.type_widening.name
                yield f"changes the type of the column {name} while {enabled} is not true"


def _shortened(facts: CommitFacts, old: t.DataType, new: t.DataType) -> bool:
    """Whether values of the old type may be too long for a char(n) or varchar(n) in the new one."""
    match old, new:
        case t.StructType(), t.StructType():
            before = {t.physical_name(field, facts.base.mapping_mode): field.type for field in old.fields}
            pairs = ((before.get(t.physical_name(field, facts.mode)), field.type) for field in new.fields)
            return any(was is not None and _shortened(facts, was, now) for was, now in pairs)
        case t.ArrayType(a), t.ArrayType(b):
            return _shortened(facts, a, b)
        case t.MapType(k, v), t.MapType(l, w):
            return _shortened(facts, k, l) or _shortened(facts, v, w)
        case _:
            return old != t.VOID and text_length(new) is not None and not holds_all(new, old)


def _of_columns(facts: CommitFacts, old: t.StructType, new: t.StructType, above: str) -> Iterator[Violation]:
    by_physical = {t.physical_name(field, facts.base.mapping_mode): field for field in old.fields}
    for field in new.fields:
        known = by_physical.get(t.physical_name(field, facts.mode))
        if known is not None:
            name = f"{above}{field.name}"
            yield from _of_type_changes(facts, known, field, name)
            yield from _of_identity_mark(facts, known, field)
            yield from _of_nested(facts, known.type, field.type, name)


def _of_nested(facts: CommitFacts, old: t.DataType, new: t.DataType, name: str) -> Iterator[Violation]:
    match old, new:
        case t.StructType(), t.StructType():
            yield from _of_columns(facts, old, new, f"{name}.")
        case t.ArrayType(a), t.ArrayType(b):
            yield from _of_nested(facts, a, b, f"{name}.element")
        case t.MapType(k, v), t.MapType(l, w):
            yield from _of_nested(facts, k, l, f"{name}.key")
            yield from _of_nested(facts, v, w, f"{name}.value")


def _of_type_changes(facts: CommitFacts, old: t.StructField, new: t.StructField, name: str) -> Iterator[Violation]:
    """Entries of `delta.typeChanges` that are dropped, or that do not lead from each old type to the new one."""
    rule = "schema.type-changes"
    try:
        after = type_changes(new.metadata)
        before = type_changes(old.metadata)
    except SchemaError as error:
        if new.metadata.get(TYPE_CHANGES_KEY) == old.metadata.get(TYPE_CHANGES_KEY):
            return
        yield facts.of_metadata(rule, f"is malformed: the column {name}: {error}")
        return
    if after[: len(before)] != before:
        why = f"drops entries of {TYPE_CHANGES_KEY} of the column {name}, which files with the narrower type need"
        yield facts.of_metadata(rule, f"{why}; keep them")
    reached = {path: (was, now) for path, was, now in _leaves(old.type, new.type, "")}
    at = {path: was for path, (was, _) in reached.items()}
    for change in after[len(before) :]:
        current = at.get(change.field_path)
        if current != change.from_type or not _allowed(change):
            why = f"claims in {TYPE_CHANGES_KEY} that the column {_at(name, change.field_path)} changed from "
            why += f"{change.from_type} to {change.to_type}, but "
            is_type = "it has no such part" if current is None else f"its type was {current}"
            cause = is_type if current != change.from_type else "such a change is not allowed"
            yield facts.of_metadata(rule, f"{why}{cause}; record just the changes that the schema makes")
        at[change.field_path] = change.to_type
    for path, (was, now) in reached.items():
        if at[path] != now and was != t.VOID.name:
            why = f"changes the type of the column {_at(name, path)} from {was} to {now}"
            why = f"{why}, but {TYPE_CHANGES_KEY} leads to {at[path]}; record the change there"
            yield facts.of_metadata(rule, why)


def _leaves(old: t.DataType, new: t.DataType, path: str) -> Iterator[tuple[str, str, str]]:
    """Path, old and new type of each part of a field's type up to nested structs."""
    match old, new:
        case t.StructType(), t.StructType():
            return
        case t.ArrayType(a), t.ArrayType(b):
            yield from _leaves(a, b, _at(path, "element"))
        case t.MapType(k, v), t.MapType(l, w):
            yield from _leaves(k, l, _at(path, "key"))
            yield from _leaves(v, w, _at(path, "value"))
        case _:
            yield path, _type_name(old), _type_name(new)


def _at(path: str, part: str) -> str:
    return f"{path}.{part}" if path and part else path or part


def _type_name(type_: t.DataType) -> str:
    name: Any = parse_json(t.type_to_json(type_))
    return name if isinstance(name, str) else str(name.get("type"))


def _allowed(change: TypeChange) -> bool:
    try:
        old, new = (t.parse_type(json.dumps(text)) for text in (change.from_type, change.to_type))
    except SchemaError:
        return False
    return is_widening(old, new)


def _of_identity_mark(facts: CommitFacts, old: t.StructField, new: t.StructField) -> Iterator[Violation]:
    try:
        before, after = identity_numbers(old), identity_numbers(new)
    except SchemaError:
        return
    if before is None or after is None or before[2] is None:
        return
    step, mark = after[1], after[2]
    if mark is None or (mark - before[2]) * step < 0:
        why = f"moves the mark of the identity column {new.name} back from {before[2]} to {mark}"
        yield facts.of_metadata("schema.identity", f"{why}, so that values would be given twice; keep it")


def _of_dependents(facts: CommitFacts) -> Iterator[Violation]:
    """A column that changes its type, and that an expression of the table uses."""
    base = facts.base
    old = {t.physical_name(field, base.mapping_mode): field for field in base.schema.fields}
    changed = {}
    for field in facts.schema.fields:
        known = old.get(t.physical_name(field, facts.mode))
        if known is not None and _shape(known.type) != _shape(field.type):
            changed[field.name.lower()] = field.name
    for what, text in expressions(facts.schema, facts.properties) if changed else ():
        for parts in columns_in(text or ""):
            name = changed.get(parts[0].lower())
            if name is not None and _uses_changed(facts, old, parts):
                why = f"changes the type of the column {name}, which {what} uses"
                yield facts.of_metadata("schema.dependents", f"{why}; drop that first")


def _uses_changed(facts: CommitFacts, old: dict[str, t.StructField], parts: tuple[str, ...]) -> bool:
    """Whether the type at the path of a name differs before and after."""
    after: t.DataType = facts.schema
    before: t.DataType | None = None
    for i, part in enumerate(parts):
        if not isinstance(after, t.StructType):
            break
        field = next((f for f in after.fields if f.name.lower() == part.lower()), None)
        if field is None:
            return False
        physical = t.physical_name(field, facts.mode)
        if i == 0:
            before = old[physical].type
        elif isinstance(before, t.StructType):
            mode = facts.base.mapping_mode
            before = next((f.type for f in before.fields if t.physical_name(f, mode) == physical), None)
        after = field.type
    return before is not None and _shape(before) != _shape(after)


def _shape(type_: t.DataType) -> object:
    """The type without the names and metadata of nested fields, which do not affect expressions."""
    match type_:
        case t.StructType(fields):
            return {field.name: _shape(field.type) for field in fields}
        case t.ArrayType(element):
            return "array", _shape(element)
        case t.MapType(key, value):
            return "map", _shape(key), _shape(value)
        case _:
            return type_
