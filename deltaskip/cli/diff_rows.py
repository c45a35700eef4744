"""The rows in which two versions of a table differ, found by counting the rows of files that only one version has."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.cli.display import json_values
from deltaskip.doors import first_line
from deltaskip.errors import SchemaError
from deltaskip.reading.arrow_rows import READ_COLUMNS, arrow_schema_of, row_reads
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar, filled
from deltaskip.table.table import DeltaTable

CHANGE_COLUMN = "_change"
"""The column that says whether the second version has the row or the first one: insert or delete."""

_SIDE, _AT = "_side", "_at"


def differing_rows(before: DeltaTable, after: DeltaTable) -> pa.RecordBatchReader:
    """Return the rows that one of two versions has, or has more often, with `CHANGE_COLUMN` before the other columns.

    Raises SchemaError if the types of a column have no common type.
    """
    scans = [table.scan(time_zone="UTC") for table in (before, after)]
    files = [scan.files(columns=READ_COLUMNS) for scan in scans]
    keys = [_key(each) for each in files]
    own = [files[side].filter(pc.invert(pc.is_in(keys[side], value_set=keys[1 - side]))) for side in (0, 1)]
    try:
        schema = pa.unify_schemas([arrow_schema_of(scan) for scan in scans], promote_options="permissive")
    except (pa.ArrowException, ValueError) as error:
        raise SchemaError(
            f"Versions {before.version} and {after.version} of {after.uri} cannot be compared, because a column has "
            f"another type: {first_line(error)}."
        ) from error
    old, new = (_rows(scan, part, schema) for scan, part in zip(scans, own, strict=True))
    found = _differing(pa.concat_tables([old, new]), len(old))
    return pa.RecordBatchReader.from_batches(found.schema, found.to_batches())


def _key(files: pa.Table) -> pa.ChunkedArray:
    """The path and the deletion vector, by which files with the same rows are recognized."""
    vector = files["deletion_vector"]
    parts = [pc.struct_field(vector, [name]) for name in ("path_or_inline_dv", "offset")]
    texts = [filled(pc.cast(part, pa.string()), "") for part in parts]
    return pc.binary_join_element_wise(files["uri"], *texts, "\0")


def _rows(scan: Any, files: pa.Table, schema: pa.Schema) -> pa.Table:
    batches = chain.from_iterable(read() for _, read in row_reads(scan, files=files))
    found = pa.Table.from_batches(batches, arrow_schema_of(scan))
    columns = [
        found[each.name].cast(each.type) if each.name in found.column_names else pa.nulls(len(found), each.type)
        for each in schema
    ]
    return pa.table(columns, schema=schema)


def _differing(rows: pa.Table, old: int) -> pa.Table:
    """The rows whose counts among the first `old` rows and among the others differ, each as often as they differ."""
    names = [str(number) for number in range(rows.num_columns)]
    sides = pa.array([-1] * old + [1] * (len(rows) - old), pa.int64())
    keyed = pa.table([*map(_comparable, rows.columns), sides, pa.array(range(len(rows)), pa.int64())],
                     names=[*names, _SIDE, _AT])  # fmt: skip
    counted = keyed.group_by(names, use_threads=False).aggregate([(_SIDE, "sum"), (_AT, "min")])
    counted = counted.filter(pc.not_equal(counted[f"{_SIDE}_sum"], arrow_scalar(0, pa.int64()))).sort_by(f"{_AT}_min")
    sums, places = counted[f"{_SIDE}_sum"].to_numpy(), counted[f"{_AT}_min"].to_numpy()
    found = rows.take(pa.array(np.repeat(places, abs(sums))))
    change = np.where(np.repeat(sums, abs(sums)) > 0, "insert", "delete")
    return found.add_column(0, CHANGE_COLUMN, pa.array(change, pa.string()))


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    """The column, or the JSON of its values if Arrow cannot group them."""
    if not pa.types.is_nested(column.type):
        return column
    values = chain.from_iterable(json_values(chunk) for chunk in column.chunks)
    return pa.array([json.dumps(value) for value in values], pa.string())
