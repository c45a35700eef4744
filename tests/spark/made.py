"""Small tables as the reader takes them, made file by file: no log, no statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.actions import DELETION_VECTOR
from deltaskip.reading.read_plan import ReadPlan, StoredTable, WantedRows
from deltaskip.spark.read.dataframe import plan_to_dataframe
from deltaskip.spark.read.session_facts import listing_of
from deltaskip.sparkexpr.types import MappingMode
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import StructType


@dataclass
class MadeTable:
    """Files under `root`, with the partition values and deleted rows that a log would give them."""

    root: Path
    schema: StructType
    partition_columns: Sequence[str] = ()
    mode: MappingMode = "none"
    paths: list[str] = field(default_factory=list)
    values: list[Mapping[str, Any]] = field(default_factory=list)
    deleted: list[Sequence[int] | None] = field(default_factory=list)

    def add(
        self, path: str, rows: pa.Table, values: Mapping[str, Any] | None = None, deleted: Sequence[int] | None = None
    ) -> MadeTable:
        """Writes a file; `path` is its name on disk."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, target)
        self.paths.append(path)
        self.values.append(values or {})
        self.deleted.append(deleted)
        return self

    def files(self) -> pa.Table:
        """The Files table; the deletion vector of file `i` has `i` as its offset."""
        types = {f.name: arrow_type(f.type) for f in self.schema.fields}
        arrays = [pa.array([v.get(name) for v in self.values], types[name]) for name in self.partition_columns]
        fields = [pa.field(name, types[name]) for name in self.partition_columns]
        structs = (
            pa.StructArray.from_arrays(arrays, fields=fields)
            if fields
            else pa.Array.from_buffers(pa.struct([]), len(self.paths), [None])
        )
        vectors = [None if rows is None else _vector(i, len(rows)) for i, rows in enumerate(self.deleted)]
        return pa.table(
            {
                "uri": [self.root.as_uri() + "/" + quote(path, safe="/") for path in self.paths],
                "partition_values": structs,
                "deletion_vector": pa.array(vectors, DELETION_VECTOR),
            }
        )

    def frame(self, spark: Any, **options: Any) -> Any:
        """The table through Spark. options: those of a plan, such as `where` and `columns`."""
        root = self.root.as_uri()
        table = StoredTable(root, self.schema, self.mode, self.partition_columns)
        positions = [None if rows is None else pa.array(rows, pa.int64()) for rows in self.deleted]
        plan = ReadPlan.of(table, self.files(), WantedRows(positions), listing_of(spark, root))
        return plan_to_dataframe(spark, replace(plan, **options))


def _vector(offset: int, cardinality: int) -> dict[str, Any]:
    names = DELETION_VECTOR.names
    return dict(zip(names, ("i", "", offset, 0, cardinality), strict=True))
