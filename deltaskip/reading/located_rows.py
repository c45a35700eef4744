"""Rows of files with the column `_metadata`, read by pyarrow. Every file is one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from deltaskip.actions import hadoop_path
from deltaskip.errors import UnsupportedFeature
from deltaskip.features.row_tracking import row_id_columns, stable_commit_versions, stable_row_ids
from deltaskip.reading.arrow_rows import READ_COLUMNS, RowReader
from deltaskip.reading.read_plan import METADATA
from deltaskip.reading.row_groups import RowGroups
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.types import StructField
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar
from deltaskip.storage import storage_for

LOCATED_COLUMNS = [*READ_COLUMNS, "base_row_id", "default_row_commit_version"]
"""Columns of `Scan.files()` that LocatedReader needs. It also needs file_path, as `_metadata` has it."""

_IDS = ("row_id", "row_commit_version")


@dataclass(frozen=True, slots=True)
class LocatedReader(RowReader):
    """Reads the rows of files that are not deleted, with the column `_metadata` as the last one. It can be pickled.

    Attributes:
        members: The fields of `_metadata`.
        ids: The columns in which files have the fields of _IDS, if any.
    """

    members: Sequence[StructField] = ()
    ids: Sequence[StructField] = ()

    @classmethod
    def with_members(cls, scan: Scan, files: int, members: Sequence[StructField]) -> LocatedReader:
        """Return the reader of a scan without a predicate.

        Args:
            scan: The scan.
            files: Number of files that will be read.
            members: Fields of `read_plan.metadata_fields` to return in `_metadata`.

        Raises UnsupportedFeature if the table has a column that is named as that of the row ids.
        """
        found = row_id_columns(scan.snapshot.table_properties)
        ids = () if found is None or not {field.name for field in members} & {*_IDS} else found.fields
        taken = next((field.name for field in ids if field.name in scan.snapshot.schema.names), None)
        if taken is not None:
            raise UnsupportedFeature(f"The column {taken!r} of {scan.snapshot.root} has the name of its row ids.")
        return replace(cls.of(scan, files, extra=ids), members=tuple(members), ids=ids)

    def read(self, file: pa.Table, groups: RowGroups | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file; see RowReader.read."""
        values = self._values_of(file)
        types = [pa.field(field.name, stored_type(field.type), field.nullable) for field in self.members]
        schema = self.schema.append(pa.field(METADATA, pa.struct(types), nullable=False))
        for _, batch in self.rows.live(file, groups):
            rows = self._record_batch(batch.columns, len(batch))
            of_rows = {"row_index": arrow_array(batch.positions, pa.int64())}
            if self.ids:
                row_ids, versions = (batch.columns[field.name] for field in self.ids)
                of_rows["row_id"] = stable_row_ids(row_ids, values["row_id"], of_rows["row_index"])
                of_rows["row_commit_version"] = stable_commit_versions(versions, values["row_commit_version"])
            arrays = [of_rows.get(each.name, values.get(each.name)) for each in types]
            arrays = [pa.repeat(each, len(batch)) if isinstance(each, pa.Scalar) else each for each in arrays]
            located = pa.StructArray.from_arrays(arrays, fields=types)
            yield pa.RecordBatch.from_arrays([*rows.columns, located], schema=schema)

    def read_files(self, files: pa.Table) -> Iterator[pa.RecordBatch]:
        """Yield the rows of several files; see RowReader.read_files."""
        for number in range(len(files)):
            yield from self.read(files.slice(number, 1))

    def _values_of(self, file: pa.Table) -> dict[str, pa.Scalar]:
        """The values that all rows of a file share; its size and time are those of storage."""
        path = file["file_path"][0].as_py()
        found: dict[str, Any] = {"file_path": path, "file_name": path.rpartition("/")[2], "file_block_start": 0}
        if not {field.name for field in self.members} <= {*found, "row_index", *_IDS}:
            location = hadoop_path(self.rows.table_root, file["uri"][0].as_py())
            info = storage_for(location, near=self.rows.storage).info(location)
            found |= {"file_size": info.size, "file_block_length": info.size}
            found["file_modification_time"] = arrow_scalar(info.modified_ms * 1000, pa.timestamp("us", "UTC"))
        found |= dict(zip(_IDS, (file["base_row_id"][0], file["default_row_commit_version"][0]), strict=True))
        return {name: value if isinstance(value, pa.Scalar) else pa.scalar(value) for name, value in found.items()}
