"""Random tables with their data files, for questions whose answers need rows, and a plain model of these rows."""

from __future__ import annotations

import random
from functools import cmp_to_key
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.sparkexpr.types import arrow_type
from deltaskip.sparkexpr.types.data_types import StructType
from deltaskip.sparkexpr.values.arrow_values import domain_values, typed_array
from tests.skipping.random_tables import RandomTable, random_table


def table_with_files(rng: random.Random, path: Path, max_files: int = 6) -> tuple[RandomTable, ds.DeltaTable]:
    """A table of `random_table` whose files exist; some rows of some tables are deleted by deletion vectors."""
    made = random_table(rng, path, max_files)
    for name, rows in made.files.items():
        columns = {}
        for field in made.schema.fields:
            if field.name in made.partition_columns:
                continue
            if isinstance(field.type, StructType):
                values = [tuple(row[field.name, inner.name] for inner in field.type.fields) for row in rows]
            else:
                values = [row[(field.name,)] for row in rows]
            columns[field.name] = typed_array(values, arrow_type(field.type))
        size = rng.choice([1, 2, 100])
        pq.write_table(pa.table(columns), path / name, row_group_size=size, write_page_index=rng.random() < 0.5)
    table = ds.DeltaTable(path)
    if rng.random() < 0.4:
        table.alter(ds.SetProperty("delta.enableDeletionVectors", "true"))
        table = ds.DeltaTable(path)
        column = rng.choice([field.name for field in made.schema.fields])
        table.delete(f"{column} IS {rng.choice(['', 'NOT '])}NULL AND pmod(hash({column}), 3) = {rng.randrange(3)}")
        table = ds.DeltaTable(path)
    return made, table


def columns_of(rows: pa.Table) -> dict[str, list[Any]]:
    """The values of each column, and of each field of structs as `s.b`, in the value domain."""
    found = {}
    for field in rows.schema:
        column = rows[field.name].combine_chunks()
        if pa.types.is_struct(field.type):
            column = column if isinstance(column, pa.Array) else column.chunk(0)
            for inner in field.type:
                values = domain_values(pa.compute.struct_field(column, [inner.name]))
                found[f"{field.name}.`{inner.name}`"] = values
        else:
            found[field.name] = domain_values(column)
    return found


def compared(a: Any, b: Any) -> int:
    """-1, 0 or 1, as Spark sorts two values that are not NULL."""
    if isinstance(a, float) and (a != a or b != b):
        return (a != a) - (b != b)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return (a > b) - (a < b)


def sorted_positions(columns: list[list[Any]], orders: list[tuple[bool, bool]]) -> list[int]:
    """The positions of rows in an order. orders: for each column whether it descends, and whether NULLs come first."""

    def compare(one: int, other: int) -> int:
        for values, (descending, nulls_first) in zip(columns, orders, strict=True):
            a, b = values[one], values[other]
            if a is None and b is None:
                found = 0
            elif a is None or b is None:
                found = -1 if (a is None) == nulls_first else 1
            else:
                found = -compared(a, b) if descending else compared(a, b)
            if found:
                return found
        return 0

    return sorted(range(len(columns[0])), key=cmp_to_key(compare))


def keys_at(columns: list[list[Any]], positions: list[int]) -> list[tuple[str, ...]]:
    """The values of the columns at the positions in a form in which equal values of Spark are equal."""
    return [tuple(_plain(values[place]) for values in columns) for place in positions]


def _plain(value: Any) -> str:
    return repr(value + 0.0 if isinstance(value, float) else value)
