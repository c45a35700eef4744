"""Partition values of a file list: their distinct tuples, and the forms in which Spark receives them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.pandas.types import from_arrow_type

from deltaskip.actions.partition_folders import HIVE_NULL
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.calendar import format_date
from deltaskip.schema.mapping import physical_name
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import BYTE, DATE, INTEGER, LONG, SHORT, STRING, DataType, StructField, StructType
from deltaskip.spark.columns.literal_columns import carrier_sql, carriers, decoded_sql
from deltaskip.spark.columns.spark_types import logical_type

_INTEGERS = (BYTE, SHORT, INTEGER, LONG)
# Text that every writer writes into a directory name without escapes, and that Spark reads from it unchanged.
_UNESCAPED = re.compile(r"[A-Za-z0-9_\-+.,@()]+|[A-Za-z0-9_\-+.,@()][A-Za-z0-9_\-+.,@() ]*[A-Za-z0-9_\-+.,@()]")


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """Partition values of a list of files.

    fields: the partition columns. values: for each of them an array of carriers, one per file. codes: for each file the
    number of its tuple; files with the same code have the same values. tuples: for each code the row of one file.
    """

    fields: tuple[StructField, ...]
    values: tuple[pa.Array, ...]
    codes: NDArray[np.int64]
    tuples: NDArray[np.int64]

    def tuple_of(self, code: int) -> tuple[Any, ...]:
        """Carriers of the tuple `code`, in the order of `fields`."""
        row = int(self.tuples[code])
        return tuple(column[row].as_py() for column in self.values)


def partition_table(files: pa.Table, schema: StructType, partition_columns: Sequence[str]) -> PartitionTable:
    """The partition values of `files`, from its column `partition_values` with typed fields under logical names."""
    by_name = {f.name: f for f in schema.fields}
    fields = tuple(by_name[name] for name in partition_columns)
    structs = files["partition_values"].combine_chunks()
    values = tuple(carriers(pc.struct_field(structs, [name]), by_name[name].type) for name in partition_columns)
    codes = np.zeros(len(files), np.int64)
    for column in values:
        encoded = column.dictionary_encode(null_encoding="encode")
        joint = codes * len(encoded.dictionary) + encoded.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(joint, return_inverse=True)[1].reshape(-1).astype(np.int64)
    tuples = np.unique(codes, return_index=True)[1].astype(np.int64)
    return PartitionTable(fields, values, codes, tuples)


def constants(table: PartitionTable, code: int) -> dict[str, str]:
    """SQL texts of the values of the tuple `code`, by logical name of the partition column."""
    values = zip(table.fields, table.tuple_of(code), strict=True)
    return {field.name: decoded_sql(carrier_sql(value), field.type, logical_type(field)) for field, value in values}


def indexed(table: PartitionTable, code: str) -> dict[str, str]:
    """SQL texts of the values of the tuple whose number a column has, by logical name of the partition column."""
    found = {}
    for field, values in zip(table.fields, table.values, strict=True):
        texts = json.dumps(values.take(arrow_array(table.tuples)).to_pylist())
        # Spark parses this constant once, when it optimizes the plan.
        type_ = from_arrow_type(values.type).simpleString()
        tuples = f"from_json({carrier_sql(texts)}, 'array<{type_}>', map('mode', 'FAILFAST'))"
        found[field.name] = decoded_sql(f"get({tuples}, {quoted_name(code)})", field.type, logical_type(field))
    return found


def hive_directory(table: PartitionTable, code: int, mode: MappingMode) -> str | None:
    """The directories `name=value/…` from which Spark reads exactly the tuple `code`, or None if that is not certain.

    It is certain for strings, integers and dates that need no escape: null and "" share a directory, and for other
    types Spark parses only its own format, and timestamps in the session's time zone.
    """
    parts = []
    for field, value in zip(table.fields, table.tuple_of(code), strict=True):
        text = _directory_text(value, field.type)
        name = physical_name(field, mode)
        if text is None or not _UNESCAPED.fullmatch(name):
            return None
        parts.append(f"{name}={text}")
    return "/".join(parts)


def _directory_text(value: Any, data_type: DataType) -> str | None:
    if value is None:
        return None
    if data_type in _INTEGERS:
        return str(value)
    if data_type == DATE:
        text = format_date(value)
        return text if len(text) == len("yyyy-MM-dd") else None
    if data_type == STRING and value != HIVE_NULL and _UNESCAPED.fullmatch(value):
        return str(value)
    return None
