"""Top-level columns of data files, found by the columns of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.schema.mapping import field_id, physical_name
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.types import DataType, StructField, StructType

FIELD_ID = b"PARQUET:field_id"
"""The key of the field id in the metadata of an Arrow field."""


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Where files of one schema have the columns to read.

    Attributes:
        schema: The schema.
        found: Names in files, None for columns that they lack.
        names: Names in files of what is read, further columns included.
        leaves: Numbers of the Parquet columns of those that are not nested.
        parts: The paths of what is read of structs, by name.
    """

    schema: pa.Schema
    found: Mapping[str, str | None]
    names: Sequence[str]
    leaves: Mapping[str, int]
    parts: Mapping[str, Sequence[str]]

    @property
    def paths(self) -> Sequence[str] | None:
        """The columns that pyarrow reads; None for all, since it takes a dot in a name for a path."""
        return self.paths_of(self.names)

    def paths_of(self, names: Sequence[str]) -> Sequence[str] | None:
        """Return what pyarrow reads for some of the columns; None for all columns of the file."""
        if any("." in name for name in self.names):
            return None
        return [path for name in names for path in self.parts.get(name, (name,))]


class NamedColumns:
    """The columns of files of one schema.

    Args:
        schema: The Arrow schema of the files, whose names are unique.
        mode: The column mapping mode of the table.
    """

    def __init__(self, schema: pa.Schema, mode: MappingMode) -> None:
        self._schema = schema
        self._names = frozenset(schema.names)
        self._mode = mode

    def of(self, field: StructField) -> str | None:
        """Return the name of a table's column in the files; None if they lack it."""
        if self._mode == "id":
            return self._by_id.get(str(field_id(field)).encode())
        name = physical_name(field, self._mode)
        if name in self._names:
            return name
        # Spark finds columns of files in any case.
        found = self._by_folded_name.get(fold_name(name), [])
        return found[0] if len(found) == 1 else None

    @cached_property
    def _by_id(self) -> Mapping[bytes, str]:
        # The first of several with one id.
        return {(each.metadata or {}).get(FIELD_ID, b""): each.name for each in reversed(list(self._schema))}

    @cached_property
    def _by_folded_name(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._schema.names:
            found[fold_name(name)].append(name)
        return found


def stored_key(stored: pa.Field, mode: MappingMode) -> str:
    """Return what tells a field of a file's struct from the others in a column mapping mode."""
    return (stored.metadata or {}).get(FIELD_ID, b"").decode() if mode == "id" else str(stored.name)


def field_key(field: StructField, mode: MappingMode) -> str:
    """Return the `stored_key` that a table's field has in files."""
    return str(field_id(field)) if mode == "id" else physical_name(field, mode)


def parts_of(stored: pa.Field, data_type: DataType, mode: MappingMode) -> Sequence[str]:
    """Return the paths of what is read of a file's column: of structs those fields that the table's type has."""
    if not (pa.types.is_struct(stored.type) and isinstance(data_type, StructType)):
        return (stored.name,)
    fields = {field_key(each, mode): each for each in data_type.fields}
    found: list[str] = []
    for each in stored.type:
        field = fields.get(stored_key(each, mode))
        if field is not None:
            found += [f"{stored.name}.{path}" for path in parts_of(each, field.type, mode)]
    # A struct of which the file has no such field is read for where it is null.
    return found if found and not any("." in each.name for each in stored.type) else (stored.name,)
