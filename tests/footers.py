"""Parquet files with a changed footer, as other writers make them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaskip.kernels.thrift_compact import read_fields, write_fields

# parquet.thrift: fields of SchemaElement, and the kinds of Thrift's compact protocol.
REPETITION, NAME, CHILDREN, CONVERTED, SCALE, PRECISION, LOGICAL = 3, 4, 5, 6, 7, 8, 10
I32, BINARY, STRUCT = 5, 8, 12
Element = dict[int, tuple[int, Any]]


def change_footer(path: Path, change: Callable[[list[Element], dict[int, Any]], None]) -> None:
    """Change the elements of the schema, or other fields of the footer, in place."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    fields = read_fields(data[-8 - size : -8])
    elements = fields[2][1][1]
    change(elements, fields)
    elements[:] = [dict(sorted(element.items())) for element in elements]
    footer = write_fields(fields)
    path.write_bytes(data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def change_types(names: Mapping[str, Element]) -> Callable[[list[Element], dict[int, Any]], None]:
    """A change of the leaves with these names, at any depth: their logical type is replaced."""

    def change(elements: list[Element], fields: dict[int, Any]) -> None:
        for element in elements:
            found = names.get(element[NAME][1].decode())
            if found is not None and CHILDREN not in element:
                element.pop(LOGICAL, None)
                element |= found

    return change


def decimal_type(precision: int, scale: int) -> Element:
    """The type of a leaf of bytes that is a decimal, for `change_types`."""
    return {CONVERTED: (I32, 5), SCALE: (I32, scale), PRECISION: (I32, precision)}


def optional_keys(elements: list[Element], fields: dict[int, Any]) -> None:
    """Lists of required structs `key` and `value` become maps with optional keys, as Hive writes them.

    A required group takes no level, so that the pages stay as they are.
    """
    at = 0
    while at + 3 < len(elements):
        outer, middle, _, key = elements[at : at + 4]
        if LOGICAL in outer and middle[NAME][1] == b"list" and key[NAME][1] == b"key":
            outer.pop(LOGICAL)
            outer[CONVERTED] = (I32, 1)
            middle |= {NAME: (BINARY, b"map"), CHILDREN: (I32, 2)}
            del elements[at + 2]
        at += 1
    for group in fields[4][1][1]:
        for chunk in group[1][1][1]:
            path = chunk[3][1][3][1][1]
            for place in range(len(path) - 2, 0, -1):
                if path[place - 1 : place + 1] == [b"list", b"element"] and path[place + 1] in (b"key", b"value"):
                    path[place - 1 : place + 1] = [b"map"]


def nullable_pairs(pairs: list[Any], key: pa.DataType, value: pa.DataType) -> pa.Array:
    """Lists of pairs, which `optional_keys` makes maps."""
    entry = pa.field("element", pa.struct([("key", key), ("value", value)]), nullable=False)
    given = [None if each is None else [{"key": k, "value": v} for k, v in each] for each in pairs]
    return pa.array(given, pa.list_(entry))
