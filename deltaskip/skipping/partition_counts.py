"""Partitions of a scan from the log alone: their files, rows and bytes, and the distinct values of partition columns.

Files of one partition have equal values, however the log spells them: strings of type char(n) are padded, as in
rows. Nothing is done in Python for each file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import PartitionValueError
from deltaskip.errors import NotProvable
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, each_candidate, live_row_counts
from deltaskip.skipping.file_list import partition_structs, unreadable_value
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.partition_columns import PartitionColumn, as_in_rows, equal_values, readings
from deltaskip.sparkexpr.collations import is_utf8_binary
from deltaskip.sparkexpr.types import StructField, arrow_type, declared_collation, display_name, physical_name
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values import arrow_values

_ZERO = arrow_values.arrow_scalar(0, pa.int64())
_STRICT = pc.ScalarAggregateOptions(skip_nulls=False)
_COUNTS = ("num_files", "num_rows", "size_in_bytes")


@dataclass(frozen=True, slots=True)
class _Read:
    """The kept files of a batch. codes: for each partition column, the codes of its values."""

    codes: list[pa.Array]
    rows: pa.Array
    sizes: pa.Array
    sure: pa.Array


def partition_counts(predicate: CompiledPredicate) -> pa.Table:
    """Return one row for each partition with files that can contain matching rows, in the order of the values.

    The columns are `partition_values` (a struct, typed by the schema), `num_files`, `num_rows` (null if a file has no
    row count; deleted rows are not counted) and `size_in_bytes`.

    Raises CorruptLog for a partition value that is not of the column's type.
    """
    snapshot, zone = predicate.snapshot, predicate.portable.time_zone
    fields = snapshot.partition_fields
    keys = [f"{number}" for number in range(len(fields))]
    columns, found = _read(predicate, fields, True, False)
    files = pa.table(
        [
            *_equal_codes(snapshot, fields, columns, [each.codes for each in found], zone or "UTC"),
            *[pa.chunked_array([getattr(each, name) for each in found], pa.int64()) for name in ("rows", "sizes")],
        ],
        [*keys, "num_rows", "size_in_bytes"],
    )
    wanted: list[Any] = [("num_rows", "sum", _STRICT), ("size_in_bytes", "sum"), ([], "count_all")]
    if fields:
        grouped = files.group_by(keys).aggregate(wanted)
    else:
        # A table without partition columns is one partition, if it has files.
        grouped = files.append_column("0", pa.nulls(len(files), pa.int32())).group_by("0").aggregate(wanted)
    encoded = ((column, arrow_values.one_chunk(grouped[key])) for key, column in zip(keys, columns, strict=True))
    structs = partition_structs(snapshot, len(grouped), encoded, zone or "UTC")
    if any(map(declares_char, fields)):
        padded = [as_in_rows(values, field) for values, field in zip(structs.flatten(), fields, strict=True)]
        structs = pa.StructArray.from_arrays(padded, fields=list(structs.type))
    counts = [grouped[name] for name in ("count_all", "num_rows_sum", "size_in_bytes_sum")]
    table = pa.table([structs, *(each.cast(pa.int64()) for each in counts)], ["partition_values", *_COUNTS])
    return table.take(_order(structs.flatten())) if fields and len(table) > 1 else table


def distinct_values(predicate: CompiledPredicate, names: Sequence[str]) -> pa.Table:
    """Return the distinct values, or tuples of values, of partition columns in the matching rows, in their order.

    names: the columns, as the schema has them; the result has them in this order.
    Raises NotProvable if a column is not a partition column, or the log does not prove that a value is in a matching
    row, and CorruptLog for a partition value that is not of the column's type.
    """
    snapshot, zone = predicate.snapshot, predicate.portable.time_zone
    by_name = {field.name: field for field in snapshot.partition_fields}
    other = next((name for name in names if name not in by_name), None)
    if other is not None:
        raise _refusal(snapshot, names, f"{display_name([other])} is not a partition column")
    fields = [by_name[name] for name in names]
    for field in fields:
        collation = declared_collation(field, field.name)
        if collation is not None and not is_utf8_binary(collation):
            why = f"strings of {display_name([field.name])} may be equal under its collation {collation}"
            raise _refusal(snapshot, names, why)
    columns, found = _read(predicate, fields, False, True)
    codes = _equal_codes(snapshot, fields, columns, [each.codes for each in found], zone or "UTC")
    rows, sure = (
        pa.chunked_array([getattr(each, name) for each in found], type_)
        for name, type_ in (("rows", pa.int64()), ("sure", pa.bool_()))
    )
    filled = arrow_values.is_true(pc.greater(rows, _ZERO))
    possible = arrow_values.is_not_false(pc.not_equal(rows, _ZERO))
    for number, (field, column) in enumerate(zip(fields, columns, strict=True)):
        used = pa.chunked_array([each.codes[number] for each in found], pa.int32()).filter(possible)
        _check_single_readings(snapshot, names, field, column, used, zone)
    keys = [f"{number}" for number in range(len(names))]
    files = pa.table([*codes, pc.and_(sure, filled)], [*keys, "sure"]).filter(possible)
    grouped = files.group_by(keys).aggregate([("sure", "max")])
    unproved = pc.sum(pc.invert(grouped["sure_max"])).as_py() or 0
    if unproved:
        counted = "1 value is" if unproved == 1 else f"{unproved:,} values are"
        why = f"{counted} only in files that partly match, or have no row count"
        raise _refusal(snapshot, names, why)
    values = [
        as_in_rows(column.typed(arrow_values.one_chunk(grouped[key]), zone or "UTC"), field)
        for key, field, column in zip(keys, fields, columns, strict=True)
    ]
    table = pa.table(values, pa.schema([pa.field(field.name, arrow_type(field.type)) for field in fields]))
    return table.take(_order(values)) if len(table) > 1 else table


def _read(
    predicate: CompiledPredicate, fields: Sequence[StructField], sizes: bool, proved: bool
) -> tuple[list[PartitionColumn], list[_Read]]:
    """The partition columns, and the columns of the kept files of every batch that are needed."""
    snapshot = predicate.snapshot
    names = [physical_name(field, snapshot.mapping_mode) for field in fields]

    def read(batch: FileBatch) -> tuple[list[PartitionColumn], _Read]:
        kept = predicate.listed(batch)
        pairs = [batch.partition(name, field.type) for name, field in zip(names, fields, strict=True)]
        codes = [codes if kept is None else codes.take(kept) for _, codes in pairs]
        rows = live_row_counts(batch, kept)
        nothing = pa.nulls(len(rows), pa.int64())
        unsure = predicate.negated.kept(batch).to_arrow() if proved else None
        unsure = unsure.take(kept) if unsure is not None and kept is not None else unsure
        sure = pa.repeat(arrow_values.FALSE, len(rows)) if unsure is None else pc.invert(unsure)
        [size] = batch.rows(["size"], kept) if sizes else [nothing]
        return [column for column, _ in pairs], _Read(codes, rows, size, sure)

    found = list(each_candidate(snapshot, predicate.program, read))
    columns = found[0][0] if found else [PartitionColumn(field.type) for field in fields]
    return columns, [each for _, each in found]


def _equal_codes(
    snapshot: Snapshot,
    fields: Sequence[StructField],
    columns: Sequence[PartitionColumn],
    codes: Sequence[Sequence[pa.Array]],
    zone: str,
) -> list[pa.ChunkedArray]:
    """For each column the code of every file's value: the first of those with an equal value."""
    found = []
    for number, (field, column) in enumerate(zip(fields, columns, strict=True)):
        every = arrow_values.arrow_array(np.arange(len(column.texts), dtype=np.int32))
        try:
            column.typed(every, zone)
        except PartitionValueError as error:
            raise unreadable_value(snapshot, field, error) from error
        values = equal_values(column.read(zone).array, field)
        ids = arrow_values.numpy_values(values.dictionary_encode(null_encoding="encode").indices)
        _, first, back = np.unique(ids, return_index=True, return_inverse=True)
        equal = arrow_values.arrow_array(first[back].astype(np.int32)) if len(ids) else every
        found.append(pa.chunked_array([equal.take(each[number]) for each in codes], pa.int32()))
    return found


def _check_single_readings(
    snapshot: Snapshot,
    names: Sequence[str],
    field: StructField,
    column: PartitionColumn,
    codes: pa.ChunkedArray,
    zone: str | None,
) -> None:
    """Raise NotProvable for a string that Delta readers interpret differently, or whose time zone is not known."""
    odd = column.read(zone).odd
    if not odd.any():
        return
    values = column.values(zone)
    for code in np.intersect1d(np.flatnonzero(odd), arrow_values.numpy_values(codes)).tolist():
        possible = readings(values[code], column.texts[code], field.type)
        if possible is None or len(possible) > 1:
            shown = f"{column.texts[code]!r} of {display_name([field.name])}"
            raise _refusal(snapshot, names, f"the logged value {shown} can be read in several ways")


def _order(values: Sequence[pa.Array]) -> pa.Array:
    """Positions in the order of the values, NULL first."""
    columns = [column for each in values for column in (each.is_valid(), each)]
    names = [f"{number}" for number in range(len(columns))]
    return pc.sort_indices(pa.table(columns, names), sort_keys=[(name, "ascending") for name in names])


def _refusal(snapshot: Snapshot, names: Sequence[str], why: str) -> NotProvable:
    shown = ", ".join(display_name([name]) for name in names)
    return NotProvable(
        f"The log of {snapshot.table_root} at version {snapshot.version} does not prove the distinct values of "
        f"{shown}: {why}. Read them with to_spark(spark).select({', '.join(map(repr, names))}).distinct()."
    )
