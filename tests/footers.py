"""Parquet files with a changed footer, as other writers make them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from deltaskip.kernels.thrift_compact import read_fields, write_fields

# parquet.thrift: fields of SchemaElement, and the kinds of Thrift's compact protocol.
REPETITION, NAME, CHILDREN, CONVERTED, LOGICAL = 3, 4, 5, 6, 10
STRUCT = 12
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
