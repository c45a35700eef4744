"""Partition values of a file list: distinct tuples, and how Spark gets them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

from deltaskip.schema.calendar import format_date
from deltaskip.schema.mapping import MappingMode, physical_name
from deltaskip.schema.types import BYTE, DATE, INTEGER, LONG, SHORT, STRING, DataType, StructField, StructType
from deltaskip.spark.literals import carriers, decoded
from deltaskip.spark.types import logical_type

__all__ = ["PartitionTable", "constants", "hive_directory", "partition_table"]

_INTEGERS = (BYTE, SHORT, INTEGER, LONG)
# Text that every writer puts into a directory name as it is, and that Spark takes out of it as it is.
_UNESCAPED = re.compile(r"[A-Za-z0-9_\-+.,@()]+|[A-Za-z0-9_\-+.,@()][A-Za-z0-9_\-+.,@() ]*[A-Za-z0-9_\-+.,@()]")
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """Partition values of a list of files.

    fields: the partition columns. values: one carrier column each, a row a file. codes: for each file the number of
    its tuple; files of equal code have equal values. tuples: a row's number for each code.
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
    """The partition values of `files` (its column `partition_values`, typed, under logical names)."""
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


def constants(table: PartitionTable, code: int) -> dict[str, Column]:
    """A literal for each partition column, by logical name, of the tuple `code`."""
    values = zip(table.fields, table.tuple_of(code), strict=True)
    return {field.name: decoded(F.lit(carrier), field.type, logical_type(field)) for field, carrier in values}


def hive_directory(table: PartitionTable, code: int, mode: MappingMode) -> str | None:
    """The directories `name=value/…` from which Spark reads exactly the tuple `code`, or None where that is not sure.

    Sure are strings, integers and dates that need no escape: null and "" share a directory, and of other types Spark
    reads its own spelling only, timestamps in the session's time zone.
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
    if data_type == STRING and value != _HIVE_NULL and _UNESCAPED.fullmatch(value):
        return str(value)
    return None
