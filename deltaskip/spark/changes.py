"""Changes of rows through Spark: one job finds the rows that match, and one writes rows of files into new files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.dml.execution import CHANGE_TYPE, RowExecution, RowIdColumns, RowsOfFiles, copying_plan
from deltaskip.dml.positions import RowPositions
from deltaskip.expr.collation import compared_collations
from deltaskip.features.deletion_vectors import read_deletion_vectors
from deltaskip.log import Snapshot
from deltaskip.rows.parquet_files import DataFileLayout
from deltaskip.rows.written import WrittenRows
from deltaskip.schema.arrow_values import arrow_array, one_chunk
from deltaskip.schema.mapping import MappingMode
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import StructType
from deltaskip.skipping.scan import Scan
from deltaskip.spark.client import union
from deltaskip.spark.collation_versions import session_collation_version
from deltaskip.spark.collations import check_compared
from deltaskip.spark.failures import condition_errors_named, predicate_errors_named
from deltaskip.spark.projection import with_declared_lengths
from deltaskip.spark.read import source_of
from deltaskip.spark.scans import PositionalRows, rows_at
from deltaskip.spark.write import write_dataframe

__all__ = ["SparkExecution"]

_FILE = "__deltaskip_file"
_POSITION = "__deltaskip_position"
_BASE = "__deltaskip_base_row_id"
_VERSION = "__deltaskip_commit_version"
_BLOCK = "__deltaskip_block"
_BITS = "__deltaskip_bits"
# Rows that one value of bitmap_construct_agg covers, a bit for each.
_BLOCK_ROWS = 32768


class SparkExecution(RowExecution):
    """Reads and writes rows of a table by Spark jobs.

    Args:
        spark: A session, classic or Connect.
        snapshot: The table.
    """

    def __init__(self, spark: SparkSession, snapshot: Snapshot) -> None:
        self._spark = spark
        self._snapshot = snapshot

    @property
    def time_zone(self) -> str:
        """The time zone of the session."""
        return str(self._spark.conf.get("spark.sql.session.timeZone"))

    def planned(self, scan: Scan) -> Scan:
        """The scan in the session's time zone and for its version of the collations."""
        check_compared(self._snapshot, scan.predicate, self._spark.version)
        compares = compared_collations(scan.predicate)
        version = session_collation_version(self._spark) if compares else scan.collation_version
        return scan.replanned(self.time_zone, version)

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        """See RowExecution.matching. Tasks return a bit for each row of blocks in which some row matches."""
        snapshot = self._snapshot
        schema, mode = snapshot.schema, snapshot.mapping_mode
        values = {_FILE: _numbers(files)}
        frame = self._rows(files, schema, mode, self._deleted(files), position=_POSITION, values=values)
        beside = [F.col(_FILE), F.col(_POSITION)]
        with predicate_errors_named(snapshot.table_root):
            frame = with_declared_lengths(frame, schema, beside).where(str(scan.where))
            frame = frame.select(*beside)
        block = F.expr(f"{_POSITION} DIV {_BLOCK_ROWS}").alias(_BLOCK)
        bits = F.bitmap_construct_agg(F.col(_POSITION) % _BLOCK_ROWS).alias(_BITS)
        found: list[list[tuple[int, Any]]] = [[] for _ in range(len(files))]
        with condition_errors_named(self._spark, snapshot.root, str(scan.where)):
            for row in frame.groupBy(F.col(_FILE), block).agg(bits).collect():
                found[row[0]].append((row[1], row[2]))
        return RowPositions(_positions(blocks) for blocks in found)

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """See RowExecution.write."""
        frame = union([self._part(part, schema, row_ids, layout) for part in parts])
        extra = [field.name for field in layout.extra]
        plan = copying_plan(self._snapshot.root, schema, layout.partition_columns, extra)
        return write_dataframe(frame, plan, layout)

    def _part(
        self, part: RowsOfFiles, schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> DataFrame:
        positions = self._deleted(part.files) if part.positions is None else part.positions
        columns = [F.col(quoted_name(field.name)) for field in schema.fields]
        mode = layout.mapping_mode
        if row_ids is None:
            frame = self._rows(part.files, schema, mode, positions, part.only)
            change = [] if part.change is None else [F.lit(part.change).alias(CHANGE_TYPE.name)]
            return frame.select(*columns, *change)
        values = {_BASE: one_chunk(part.files["base_row_id"])}
        values[_VERSION] = one_chunk(part.files["default_row_commit_version"])
        stored = [row_ids.row_id, row_ids.commit_version]
        frame = self._rows(part.files, schema, mode, positions, part.only, _POSITION, values, stored)
        fresh = F.col(_BASE) + F.col(_POSITION)
        ids = F.coalesce(F.col(quoted_name(row_ids.row_id)), fresh).alias(row_ids.row_id)
        version = F.coalesce(F.col(quoted_name(row_ids.commit_version)), F.col(_VERSION)).alias(row_ids.commit_version)
        return frame.select(*columns, ids, version)

    def _rows(
        self,
        files: pa.Table,
        schema: StructType,
        mode: MappingMode,
        positions: Sequence[pa.Int64Array] | None,
        only: bool = False,
        position: str | None = None,
        values: Mapping[str, pa.Array] | None = None,
        stored: Sequence[str] = (),
    ) -> DataFrame:
        snapshot = self._snapshot
        source = source_of(
            self._spark,
            table_root=snapshot.table_root,
            schema=schema,
            mapping_mode=mode,
            partition_columns=snapshot.partition_columns,
            files=files,
            storage_options=getattr(snapshot.storage, "options", None),
        )
        for name in stored:
            source.data.add(name, spark_types.LongType())
        return rows_at(source, PositionalRows(positions, only, position, values or {}, stored))

    def _deleted(self, files: pa.Table) -> list[pa.Int64Array] | None:
        """The deleted rows of each file; None if there are none."""
        vectors = one_chunk(files["deletion_vector"])
        if vectors.null_count == len(vectors):
            return None
        snapshot = self._snapshot
        nothing = arrow_array([], pa.int64())
        found = read_deletion_vectors(snapshot.storage, snapshot.table_root, vectors)
        return [nothing if rows is None else rows for rows in found]


def _numbers(files: pa.Table) -> pa.Array:
    return arrow_array(np.arange(len(files), dtype=np.int64))


def _positions(blocks: Sequence[tuple[int, Any]]) -> pa.Int64Array:
    """The positions of the bits that are set in the blocks of one file."""
    found: list[npt.NDArray[Any]] = []
    for number, bits in sorted(blocks, key=lambda block: block[0]):
        inside = np.flatnonzero(np.unpackbits(np.frombuffer(bytes(bits), np.uint8), bitorder="little"))
        found.append(inside.astype(np.int64) + number * _BLOCK_ROWS)
    return arrow_array(np.concatenate(found) if found else np.zeros(0, np.int64))
