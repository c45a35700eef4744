"""Partition values of a list of files: the distinct tuples, and the directories whose names encode them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from deltaskip.actions.partition_folders import HIVE_NULL
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, one_chunk, tuple_codes
from deltaskip.sparkexpr.values.calendar import format_date

_INTEGERS = (t.BYTE, t.SHORT, t.INTEGER, t.LONG)
# Text that every writer writes into a directory name without escapes, and that Spark reads from it unchanged.
_UNESCAPED = regex(r"[A-Za-z0-9_\-+.,@()]+|[A-Za-z0-9_\-+.,@()][A-Za-z0-9_\-+.,@() ]*[A-Za-z0-9_\-+.,@()]")


@dataclass(frozen=True, slots=True)
class PartitionTuples:
    """Partition values of a list of files.

    Attributes:
        fields: The partition columns.
        values: For each of them the values of the files, as an array of the column's type.
        codes: For each file the index of its tuple; files with the same code have the same values.
        tuples: For each code the index of one file that has it.
    """

    fields: tuple[t.StructField, ...]
    values: tuple[pa.Array, ...]
    codes: NDArray[np.int64]
    tuples: pa.Int64Array

    @classmethod
    def of(cls, files: pa.Table, schema: t.StructType, partition_columns: Sequence[str]) -> PartitionTuples:
        """Return the tuples in the column `partition_values` of `files`, whose fields are typed and logically named."""
        by_name = {f.name: f for f in schema.fields}
        structs = one_chunk(files["partition_values"])
        values = tuple(pc.struct_field(structs, [name]) for name in partition_columns)
        codes = tuple_codes(values, len(files))
        tuples = arrow_array(np.unique(codes, return_index=True)[1], pa.int64())
        return cls(tuple(by_name[name] for name in partition_columns), values, codes, tuples)

    def directories(self, mode: t.MappingMode) -> list[str | None]:
        """For each tuple the directories `name=value/…` from which Spark reads exactly it; None if that is not certain.

        It is certain for strings, integers and dates that need no escape: null and "" share a directory, and for other
        types Spark parses only its own format, and timestamps in the session's time zone.
        """
        names = [t.physical_name(field, mode) for field in self.fields]
        if not all(map(_UNESCAPED.fullmatch, names)):
            return [None] * len(self.tuples)
        columns = [
            [_directory_text(value, field.type) for value in domain_values(values.take(self.tuples))]
            for field, values in zip(self.fields, self.values, strict=True)
        ]
        rows = zip(*columns, strict=True)
        return [None if None in row else "/".join(map("{}={}".format, names, row)) for row in rows]


def _directory_text(value: Any, data_type: t.DataType) -> str | None:
    if value is None:
        return None
    if data_type in _INTEGERS:
        return str(value)
    if data_type == t.DATE:
        text = format_date(value)
        return text if len(text) == len("yyyy-MM-dd") else None
    if data_type == t.STRING and value != HIVE_NULL and _UNESCAPED.fullmatch(value):
        return str(value)
    return None
