"""The table property that lists the partition transforms of a table, in order.

It is a JSON list of {"transform", "source", "field"}, with "hidden" for columns that a transform has added. For a
generated column, the expression is authoritative, and the entry describes it. For another column, the transform has
Iceberg's meaning (UTC, counted from 1970), and another writer writes the values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.schema.properties import PARTITIONING_KEY
from deltaskip.sparkexpr.types import GENERATION_KEY, StructType
from deltaskip.transforms.generated_columns import Partitioned
from deltaskip.transforms.transform import Identity, Transform

_TRANSFORM = regex(r"(identity|year|years|month|months|day|days|date|hour|hours|datehour)|(bucket|truncate)\[(\d+)]")
_ALIASES = {"years": "year", "months": "month", "days": "day", "date": "day", "hours": "hour", "datehour": "hour"}


@dataclass(frozen=True, slots=True)
class Declared:
    """An entry of the property.

    Attributes:
        source: Parts of the source column's name; one part may contain the dots of a path.
        field: Name of the partition column.
        name: identity, year, month, day, hour, bucket or truncate.
        width: Number of buckets, or the width of `truncate`; 0 for other transforms.
        hidden: Whether the transform has added the column.
    """

    source: tuple[str, ...]
    field: str
    name: str
    width: int = 0
    hidden: bool = False


def declared(text: str | None) -> list[Declared]:
    """Return the entries of the property, without malformed and unsupported entries."""
    try:
        entries = parse_json(text) if text else []
    except ValueError:
        return []
    found: list[Declared] = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        name, source, field = entry.get("transform"), entry.get("source"), entry.get("field")
        match = _TRANSFORM.fullmatch(name) if isinstance(name, str) else None
        if match is None or not isinstance(field, str) or not isinstance(source, str | list):
            continue
        plain = match[1] and _ALIASES.get(match[1], match[1])
        parts = (source,) if isinstance(source, str) else tuple(map(str, source))
        found.append(Declared(parts, field, plain or match[2], int(match[3] or 0), entry.get("hidden") is True))
    return found


def hidden_columns(
    schema: StructType, partition_columns: Sequence[str], properties: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the partition columns that a transform has added to a table and that `SELECT *` omits.

    The property alone does not hide a column: it must also be a generated column and a partition column.
    """
    listed = {entry.field for entry in declared(properties.get(PARTITIONING_KEY)) if entry.hidden}
    if not listed:
        return ()
    generated = {field.name for field in schema.fields if GENERATION_KEY in field.metadata}
    found = tuple(name for name in partition_columns if name in listed and name in generated)
    return found if len(found) < len(schema.fields) else ()


def declaration(transforms: Sequence[Transform], made: Partitioned) -> str | None:
    """Return the value of the property for these transforms; None if all are identity transforms."""
    if not any(len(each.path) > 1 or not isinstance(each, Identity) for each in transforms):
        return None
    entries = [
        {
            "transform": each.kind,
            "source": each.path[0] if len(each.path) == 1 else list(each.path),
            "field": column,
            **({"hidden": True} if column in made.hidden else {}),
        }
        for each, column in zip(transforms, made.partition_columns, strict=True)
    ]
    return json.dumps(entries, ensure_ascii=False)


def renamed_declaration(text: str, old: Sequence[str], new_name: str) -> str:
    """Return the property after a column or a nested field was renamed.

    Malformed entries and entries of unknown transforms are renamed, too.

    Args:
        text: The property, a JSON list.
        old: The path in the spelling of the schema.
        new_name: The new last part of the path.
    """
    old = list(old)
    entries = parse_json(text)
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        source = entry.get("source")
        parts = [source] if isinstance(source, str) else source
        if isinstance(parts, list) and parts[: len(old)] == old:
            parts = [*old[:-1], new_name, *parts[len(old) :]]
            entry["source"] = parts[0] if len(parts) == 1 else parts
        if old == [entry.get("field")]:
            entry["field"] = new_name
    return json.dumps(entries, ensure_ascii=False)
