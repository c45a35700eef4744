"""Column mapping usage tracking: whether a column of the table was ever dropped or renamed.

# RFC Column Mapping Usage Tracking: until a column was, logical names are unique physical names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from deltaskip.actions import Metadata, Protocol
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t

_FEATURE = "columnMappingUsageTracking"


def with_tracked_usage(
    metadata: Metadata | None, protocol: Protocol, latest: Snapshot, is_new: bool
) -> Metadata | None:
    """Return the metaData action of a commit with `delta.columnMapping.hasDroppedOrRenamed`.

    The property becomes true with the first column that is dropped or renamed, and never false again. If the feature is
    new, it is true for a table whose columns are mapped already, since these may have been dropped.

    Args:
        metadata: The action of the commit; None if it has none.
        protocol: The protocol after the commit.
        latest: The version before the commit.
        is_new: Whether the commit creates the table.
    """
    if not has_feature(protocol, _FEATURE):
        return metadata
    had = not is_new and has_feature(latest.protocol, _FEATURE)
    if metadata is None and had:
        return None
    after = latest.metadata if metadata is None else metadata
    name = TableProperties.has_dropped_or_renamed.name
    told = (after.configuration if is_new else latest.properties).get(name, "").lower()
    if is_new:
        changed = told == "true"
    elif not had:
        changed = told == "true" or latest.mapping_mode != "none"
    else:
        properties = latest.typed(after.configuration).well_formed()
        names = dict(_names(t.parse_schema(after.schema_string), mapping_mode(protocol, properties), ()))
        before = _names(latest.schema, latest.mapping_mode, ())
        changed = told != "false" or any(names.get(path) != logical for path, logical in before)
    text = "true" if changed else "false"
    if after.configuration.get(name) == text:
        return metadata
    return replace(after, configuration={**after.configuration, name: text})


def _names(type_: t.DataType, mode: t.MappingMode, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The physical path and the logical name of each field, at any depth."""
    match type_:
        case t.StructType(fields):
            for field in fields:
                path = (*above, t.physical_name(field, mode))
                yield path, field.name
                yield from _names(field.type, mode, path)
        case t.ArrayType(element):
            yield from _names(element, mode, (*above, "element"))
        case t.MapType(key, value):
            yield from _names(key, mode, (*above, "key"))
            yield from _names(value, mode, (*above, "value"))
