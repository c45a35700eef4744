"""Files with changes, grouped by how their rows are read."""

from __future__ import annotations

import pyarrow as pa

from deltaskip.dml.positions import RowPositions
from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files with changes, and which rows of each are changes.

    Attributes:
        files: Rows of `ChangeScan.files()`.
        deleted: For each file the deletion vector of rows that are no changes; null for a file without such rows.
        positions: The positions of the rows that are changes, for files of which these are the rows in one deletion
            vector and not in another; None for files of which every row is a change unless it is deleted.
    """

    files: pa.Table
    deleted: pa.StructArray
    positions: RowPositions | None = None
