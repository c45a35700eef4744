"""The schema of new data files: physical names, Parquet field ids, and the columns that files contain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema.arrow import VARIANT_STORAGE, arrow_type
from deltaskip.schema.mapping import NESTED_IDS_KEY, field_id, physical_name
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.types import VOID, ArrayType, DataType, MapType, StructField, StructType

_FIELD_ID = b"PARQUET:field_id"


def parquet_schema(schema: StructType, columns: Sequence[int], mode: MappingMode) -> tuple[pa.Schema, list[int]]:
    """Return the Arrow schema of the data files and the columns that it consists of.

    Names are physical, and ids of column mapping become Parquet field ids. All fields are optional, as delta-spark
    writes them: NOT NULL is a rule of the table, which changes without rewriting files. Void columns are left out.

    Args:
        schema: Schema of the table.
        columns: Positions of the columns that files may contain.
        mode: Column mapping mode of the table.

    Raises:
        SchemaError: A column's type is not supported, or column mapping lacks a name.
    """
    # PROTOCOL, Void Type: "void columns are never written to data files".
    kept = [i for i in columns if schema.fields[i].type != VOID]
    return pa.schema([_field(schema.fields[i], mode) for i in kept]), kept


def leaf_paths(name: str, data_type: pa.DataType) -> Iterator[str]:
    """Yield the path of each leaf of a column in Parquet's schema, such as `tags.list.element`."""
    if pa.types.is_struct(data_type):
        for i in range(data_type.num_fields):
            field = data_type.field(i)
            yield from leaf_paths(f"{name}.{field.name}", field.type)
    elif pa.types.is_list(data_type):
        yield from leaf_paths(f"{name}.list.element", data_type.value_type)
    elif pa.types.is_map(data_type):
        yield from leaf_paths(f"{name}.key_value.key", data_type.key_type)
        yield from leaf_paths(f"{name}.key_value.value", data_type.item_type)
    else:
        yield name


def viewed(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Return the array under a type that differs in names, ids and nullability, and lacks void fields of structs."""
    if data_type == VARIANT_STORAGE and array.null_count:
        # Both members are required, also below a null.
        members = [pc.fill_null(member, b"") for member in array.flatten()]
        return pa.StructArray.from_arrays(members, fields=list(VARIANT_STORAGE), mask=array.is_null())
    if array.type == data_type:
        return array
    if not pa.types.is_struct(data_type):
        return array.view(data_type)
    # Unlike `field`, `flatten` applies the offset of a slice.
    kept = [field for field in array.flatten() if not pa.types.is_null(field.type)]
    fields = [data_type.field(i) for i in range(data_type.num_fields)]
    arrays = [viewed(each, field.type) for each, field in zip(kept, fields, strict=True)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=array.is_null() if array.null_count else None)


def _field(field: StructField, mode: MappingMode) -> pa.Field:
    name = physical_name(field, mode)
    nested = field.metadata.get(NESTED_IDS_KEY) if mode != "none" else None
    ids: Mapping[str, Any] = nested if isinstance(nested, Mapping) else {}
    data_type = _type(field.type, mode, name, ids)
    return pa.field(name, data_type, True, _metadata(field_id(field) if mode != "none" else None))


def _type(data_type: DataType, mode: MappingMode, path: str, ids: Mapping[str, Any]) -> pa.DataType:
    """The Arrow type with physical names. ids: of elements, keys and values below `path`."""
    match data_type:
        case StructType(fields):
            return pa.struct([_field(field, mode) for field in fields if field.type != VOID])
        case ArrayType(element):
            inner = f"{path}.element"
            return pa.list_(pa.field("element", _type(element, mode, inner, ids), True, _metadata(ids.get(inner))))
        case MapType(key, value):
            of_key, of_value = f"{path}.key", f"{path}.value"
            return pa.map_(
                pa.field("key", _type(key, mode, of_key, ids), False, _metadata(ids.get(of_key))),
                pa.field("value", _type(value, mode, of_value, ids), True, _metadata(ids.get(of_value))),
            )
        case _:
            return arrow_type(data_type)


def _metadata(number: int | None) -> dict[bytes, bytes] | None:
    return None if number is None else {_FIELD_ID: str(number).encode()}
