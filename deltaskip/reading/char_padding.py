"""Strings of type char(n) as Spark reads them: padded with spaces to n characters, at every depth."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema.arrow_nested import changed_inside
from deltaskip.schema.lengths import char_length, holds_char, with_lengths
from deltaskip.schema.types import DataType, StructField


def char_columns(fields: Iterable[StructField]) -> dict[str, DataType]:
    """Return the names of the columns with strings of type char(n), and their types as they are declared."""
    declared = ((field.name, with_lengths(field).type) for field in fields)
    return {name: data_type for name, data_type in declared if holds_char(data_type)}


def padded(array: pa.Array, declared: DataType) -> pa.Array:
    """Return a column with its strings of type char(n) padded.

    Args:
        array: The column, with the names of the table.
        declared: Its type, of `char_columns`.

    # Spark 4.1, spark.sql.readSideCharPadding
    """
    if not holds_char(declared):
        return array
    length = char_length(declared)
    return changed_inside(array, declared, padded) if length is None else pc.utf8_rpad(array, length)
