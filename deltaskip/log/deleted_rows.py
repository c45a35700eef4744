"""The rows of data files that deletion vectors delete, checked to be rows of the files.

A vector takes a few bytes for billions of rows, and eight bytes of memory for each, so the number of rows of a file is
compared with the vector's cardinality before the vector is read. The number comes from the log, or from the file's
footer if the vector deletes so many rows that a missing or wrong number would be harmful.
# PROTOCOL, Deletion Vectors; Per-file Statistics, numRecords
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import hadoop_path
from deltaskip.log.deletion_vectors import read_deletion_vectors
from deltaskip.sparkexpr.values.arrow_values import one_chunk
from deltaskip.stats.footer import stored_file_rows
from deltaskip.storage import Storage

# Up to this many deleted rows, the log's number of rows of a file is trusted, or need not be known.
_FEW_ROWS = 1 << 24


def read_deleted_rows(
    storage: Storage, table_root: str, files: pa.Table, vectors: pa.StructArray | None = None
) -> list[pa.Int64Array | None]:
    """Return the ordinals, from 0, of the deleted rows of each file, ascending; None without a deletion vector.

    Args:
        storage: Storage of the table.
        table_root: The table's URI or absolute local path.
        files: Columns of `Scan.files()`: uri, deletion_vector unless `vectors` is given, and num_records if it is
            known.
        vectors: The deletion vector of each file, as structs of FILE_SCHEMA.

    Raises:
        CorruptDeletionVector: A vector is damaged, or deletes rows that its file does not have.
        DataFileMissing: The file of a vector does not exist, or a data file whose footer is needed.
        StorageError: A data file whose footer is needed is damaged.
    """
    vectors = one_chunk(files["deletion_vector"]) if vectors is None else vectors
    if vectors.null_count == len(vectors):
        return [None] * len(vectors)
    cardinalities = pc.struct_field(vectors, "cardinality").to_pylist()
    counts: list[int | None] = [None] * len(files)
    if "num_records" in files.column_names:
        counts = files["num_records"].to_pylist()
    rows = [
        _rows(storage, table_root, files, number, counts[number], cardinality) if valid else None
        for number, (cardinality, valid) in enumerate(zip(cardinalities, vectors.is_valid().to_pylist(), strict=True))
    ]
    return read_deletion_vectors(storage, table_root, vectors, rows)


def _rows(
    storage: Storage, table_root: str, files: pa.Table, number: int, known: int | None, cardinality: int | None
) -> int | None:
    """The number of rows of a file; None if it is not known and the vector deletes few rows.

    The footer is not read for a vector that deletes more rows than the log records.
    """
    deleted = cardinality or 0
    if deleted <= _FEW_ROWS or (known is not None and deleted > known):
        return known
    return stored_file_rows(storage, hadoop_path(table_root, files["uri"][number].as_py()))
