"""Finds the columns of a table in data files, and which stored types can be read as the table's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from deltaskip.fork_safety import cached_property
from deltaskip.records import dataclass
from deltaskip.schema.mapping import PARQUET_ID, field_id, field_key, stored_key
from deltaskip.sparkexpr import types as t

_IS_BYTES = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
)
# Whether a stored type can be read as a type that is not nested.
_READABLE: Mapping[t.DataType, Sequence[Callable[[pa.DataType], bool]]] = {
    t.BOOLEAN: (pa.types.is_boolean,),
    t.DATE: (pa.types.is_date,),
    t.TIMESTAMP: (pa.types.is_timestamp,),
    t.TIMESTAMP_NTZ: (pa.types.is_timestamp, pa.types.is_date),
    **dict.fromkeys((t.STRING, t.BINARY), _IS_BYTES),
    **dict.fromkeys((t.FLOAT, t.DOUBLE), (pa.types.is_floating, pa.types.is_integer)),
    **dict.fromkeys((t.BYTE, t.SHORT, t.INTEGER, t.LONG), (pa.types.is_integer,)),
}


@dataclass(frozen=True, slots=True)
class FileLayout:
    """Where files of one schema have the columns to read.

    Attributes:
        schema: The schema.
        found: Names of the columns in files; None for columns that the files lack.
        names: Names of the columns in files, including further columns.
        leaves: Indexes of the Parquet columns of columns that are not nested.
        parts: The paths to read in structs, by name.
    """

    schema: pa.Schema
    found: Mapping[str, str | None]
    names: Sequence[str]
    leaves: Mapping[str, int]
    parts: Mapping[str, Sequence[str]]

    @property
    def nested(self) -> Mapping[str, Sequence[str]]:
        """The columns that are nested, and the paths to read of each."""
        return {name: self.parts.get(name, (name,)) for name in self.names if name not in self.leaves}

    @property
    def paths(self) -> Sequence[str] | None:
        """The columns that pyarrow reads; None for all, since it takes a dot in a name for a path."""
        return self.paths_of(self.names)

    def paths_of(self, names: Sequence[str]) -> Sequence[str] | None:
        """Return the paths that pyarrow reads for some of the columns; None for all columns of the file."""
        if any("." in name for name in self.names):
            return None
        return [path for name in names for path in self.parts.get(name, (name,))]


class NamedColumns:
    """The columns of files of one schema.

    Args:
        schema: The Arrow schema of the files, whose names are unique.
        mode: The column mapping mode of the table.
    """

    def __init__(self, schema: pa.Schema, mode: t.MappingMode) -> None:
        self._schema = schema
        self._names = frozenset(schema.names)
        self._mode = mode

    def of(self, field: t.StructField) -> str | None:
        """Return the name of a table's column in the files; None if they lack it."""
        # PROTOCOL, Column Mapping, Reader Requirements: in id mode, files without field ids have NULL. A column without
        # an id is found by its name, as Spark does; the type of a change is such a column.
        if self._mode == "id" and field_id(field) is not None:
            return self._by_id.get(field_key(field, self._mode).encode())
        name = t.physical_name(field, self._mode)
        if name in self._names:
            return name
        # Spark finds columns of files in any letter case.
        found = self._by_folded_name.get(t.fold_name(name), [])
        return found[0] if len(found) == 1 else None

    @cached_property
    def _by_id(self) -> Mapping[bytes, str]:
        # The first of several columns with the same id.
        return {(each.metadata or {}).get(PARQUET_ID, b""): each.name for each in reversed(list(self._schema))}

    @cached_property
    def _by_folded_name(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._schema.names:
            found[t.fold_name(name)].append(name)
        return found


def parts_of(stored: pa.Field, data_type: t.DataType, mode: t.MappingMode) -> Sequence[str]:
    """Return the paths to read in a file's column: for a struct, the fields that the table's type has."""
    if not (pa.types.is_struct(stored.type) and isinstance(data_type, t.StructType)):
        return (stored.name,)
    fields = {field_key(each, mode): each for each in data_type.fields}
    found: list[str] = []
    for each in stored.type:
        field = fields.get(stored_key(each, mode))
        if field is not None:
            found += [f"{stored.name}.{path}" for path in parts_of(each, field.type, mode)]
    # If the file has none of the fields, the struct is still read, because it may be null.
    return found if found and not any("." in each.name for each in stored.type) else (stored.name,)


def is_readable_as(stored: pa.DataType, data_type: t.DataType) -> bool:
    """Whether a file's column can be read as the table's type, unchanged or after widening.

    # PROTOCOL, Type Widening; another kind of type, such as a string for a number, is an error of the file.

    Args:
        stored: The Arrow type of the column in the file, with the names of the table at every depth.
        data_type: The type of the table.
    """
    stored = in_files(stored)
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_null(stored):
        return True
    match data_type:
        case t.StructType(fields):
            by_name = {field.name: field.type for field in fields}
            return pa.types.is_struct(stored) and all(
                each.name not in by_name or is_readable_as(each.type, by_name[each.name]) for each in stored
            )
        case t.ArrayType(element):
            return _is_list(stored) and is_readable_as(stored.value_type, element)
        case t.MapType(key, value):
            if not pa.types.is_map(stored):
                return False
            return is_readable_as(stored.key_type, key) and is_readable_as(stored.item_type, value)
        case t.DecimalType():
            return bool(pa.types.is_decimal(stored) or pa.types.is_integer(stored))
        case _:
            kinds = _READABLE.get(data_type)
            return kinds is None or any(is_kind(stored) for is_kind in kinds)


def in_files(stored: pa.DataType) -> pa.DataType:
    """Return the type that Spark reads from a file for a type that only pyarrow has.

    JSON (a logical type of Parquet, or a type in the writer's Arrow schema) is a string, and durations are integers.
    """
    if isinstance(stored, pa.BaseExtensionType):
        return in_files(stored.storage_type)
    if pa.types.is_duration(stored):
        return pa.int64()
    return t.with_inner(stored, lambda field: field.with_type(in_files(field.type)))


def _is_list(stored: pa.DataType) -> bool:
    return bool(pa.types.is_list(stored) or pa.types.is_large_list(stored) or pa.types.is_fixed_size_list(stored))
