"""A sample of a table's rows, and small tables that have its rows in another layout.

A layout is simulated by a table in a temporary folder with the columns of the queries, whose files hold a few hundred
rows each: so partition values, statistics and their use are those of the real code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.data_files.append import append_to
from deltaskip.data_files.data import GivenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.files_to_change import kept_files
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.maintenance.optimize.rewriting import RowOrder, placed
from deltaskip.maintenance.optimize.strategy import curve_through
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import tuple_codes
from deltaskip.storage import open_storage
from deltaskip.table.creation import TableDefinition, creation

_MOST_FILES = 256
_MOST_SIMULATED = 400
_ROWS_PER_FILE = 250
_FILLER = "_deltaskip_filler"
# What a field of a simulated table keeps of its metadata: the collation, and the length of CHAR and VARCHAR.
_DROPPED = ("delta.", "CURRENT_DEFAULT", "EXISTS_DEFAULT")


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a table.

    Attributes:
        schema: The columns that queries use, with the partition columns.
        partition_columns: Names of the partition columns.
        files: Rows of each file that was read.
    """

    schema: t.StructType
    partition_columns: tuple[str, ...]
    files: tuple[pa.Table, ...]

    @property
    def rows(self) -> pa.Table:
        """The rows of all files."""
        return pa.concat_tables(self.files)

    def distinct(self, column: str) -> int | None:
        """Return the number of distinct values of a column in the sample; None for nested columns."""
        values = self.rows[column] if column in self.rows.column_names else None
        return None if values is None or pa.types.is_nested(values.type) else int(pc.count_distinct(values).as_py())

    def as_it_is(self) -> list[pa.Table]:
        """Return the rows in files as they are now."""
        return list(self.files)

    def ordered(self, columns: Sequence[t.Resolved], new_files: int) -> list[pa.Table]:
        """Return the rows in files as OPTIMIZE would write them, ordered along a curve within each partition.

        Args:
            columns: The columns that order them.
            new_files: Number of files of the whole table after it.
        """
        count = min(new_files, _MOST_SIMULATED)
        rows = self.rows
        found = []
        for part in self._partitions(rows, self.partition_columns):
            share = max(1, round(count * len(part) / max(1, len(rows))))
            order = placed(part.to_batches(), RowOrder(tuple(columns), curve_through(columns), share))
            ends = (np.arange(1, share + 1) * len(order)) // share
            starts = np.concatenate([[0], ends[:-1]])
            found += [part.take(pa.array(order[start:end])) for start, end in zip(starts, ends, strict=True)]
        return [each for each in found if len(each)]

    def partitioned(self, column: str) -> list[pa.Table]:
        """Return the rows in one file for each value of a column."""
        return list(self._partitions(self.rows, (column,)))

    def _partitions(self, rows: pa.Table, names: Sequence[str]) -> Iterator[pa.Table]:
        if not names:
            yield rows
            return
        codes = tuple_codes([rows[name] for name in names], len(rows))
        for code in np.unique(codes):
            yield rows.filter(pa.array(codes == code))


def sampled(snapshot: Snapshot, columns: Sequence[str], new_files: int) -> Sample:
    """Return a sample of the rows of a version, from at most 256 files at even distances in the order of the log.

    Args:
        snapshot: The version.
        columns: Names of its columns that are read.
        new_files: Number of files into which the rows will be divided.
    """
    files = kept_files(Scan(snapshot))
    places = np.unique(np.linspace(0, len(files) - 1, min(len(files), _MOST_FILES)).astype(int)).tolist()
    chosen = files.take(places)
    wanted = max(_ROWS_PER_FILE, -(-min(new_files, _MOST_SIMULATED) * _ROWS_PER_FILE // max(1, len(places))))
    names = {t.fold_name(name) for name in (*columns, *snapshot.partition_columns)}
    fields = [field for field in snapshot.schema.fields if t.fold_name(field.name) in names]
    execution = ArrowExecution(snapshot, "UTC")
    found = []
    for at in range(len(chosen)):
        rows = chosen.live_rows[at].as_py()
        step = max(1, (rows or 0) // wanted)
        read = execution.rows(
            [RowsOfFiles(chosen.take([at]).listed)], t.StructType(tuple(fields)), None, snapshot.mapping_mode
        )
        parts = [batch.take(pa.array(np.arange(0, batch.num_rows, step))) for batch in read]
        if parts:
            found.append(pa.Table.from_batches(parts))
    plain = [replace(field, nullable=True, metadata=_kept(field)) for field in fields]
    return Sample(t.StructType(tuple(plain)), tuple(snapshot.partition_columns), tuple(found))


def _kept(field: t.StructField) -> dict[str, object]:
    return {key: value for key, value in field.metadata.items() if not key.startswith(_DROPPED)}


def simulated(
    folder: str, schema: t.StructType, files: Sequence[pa.Table], partition_columns: Sequence[str]
) -> Snapshot:
    """Return a new table with the given rows in each file.

    Args:
        folder: Its folder, which does not exist.
        schema: Its columns.
        files: The rows of each file, which belong to one partition.
        partition_columns: Names of the partition columns.
    """
    properties = {TableProperties.num_indexed_columns.name: "-1", TableProperties.mapping_mode.name: "name"}
    if len(partition_columns) == len(schema.fields):  # a table needs a column that is not one of them
        schema = t.StructType((*schema.fields, t.StructField(_FILLER, t.BOOLEAN)))
    storage, root = open_storage(folder)
    transaction = creation(storage, root, TableDefinition(schema, partition_columns, properties=properties))
    for rows in files:
        append_to(transaction, GivenRows(rows))
    transaction.commit()
    return load_snapshot(storage, root)
