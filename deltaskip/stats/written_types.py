"""The Arrow schema that pyarrow, Polars and arrow-rs write into the footer of a Parquet file (ARROW:schema).

Parquet's types decide what a file's rows are. Some types of the Arrow schema are in the way: pyarrow cannot read nested
dictionaries of several row groups, and other libraries cannot read views of lists, and extension types that they do not
know or that a program has registered.
"""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache

import pyarrow as pa

from deltaskip.sparkexpr import types as t

ARROW_SCHEMA = b"ARROW:schema"
"""The key of the Arrow schema in a footer."""
_VIEWS = {pa.list_view(pa.null()).id, pa.large_list_view(pa.null()).id}


@lru_cache(256)
def has_only_written(arrow_schema: bytes) -> bool:
    """Return whether a value of ARROW_SCHEMA has types to leave out.

    They are views of lists, dictionaries inside of columns, and extension types, which a program may register later.
    """
    try:
        pending = list(pa.ipc.read_schema(pa.py_buffer(b64decode(arrow_schema))))
    except (pa.ArrowException, OSError, ValueError):
        return True
    while pending:
        field = pending.pop()
        kind = field.type
        inner = [kind.field(number) for number in range(kind.num_fields)]
        has_codes = any(pa.types.is_dictionary(each.type) for each in inner)
        if has_codes or kind.id in _VIEWS or t.extension_name(field) is not None:
            return True
        pending += inner
    return False


def parquet_type(arrow: pa.DataType) -> pa.DataType:
    """Return `storage_type` with lists for views of lists, and the values of dictionaries, at any depth.

    Of these Parquet has no types: pyarrow, Polars and arrow-rs note them in the footer of a file (ARROW:schema).
    """
    if isinstance(arrow, pa.BaseExtensionType):
        return parquet_type(arrow.storage_type)
    if pa.types.is_dictionary(arrow):
        return parquet_type(arrow.value_type)
    if pa.types.is_list_view(arrow):
        arrow = pa.list_(arrow.value_field)
    elif pa.types.is_large_list_view(arrow):
        arrow = pa.large_list(arrow.value_field)
    return t.with_inner(arrow, lambda field: field.with_type(parquet_type(field.type)).remove_metadata())
