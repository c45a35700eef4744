"""A data file that is open for reading."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.reading.column_chunks import ROWS_PER_MATCH
from deltaskip.records import dataclass
from deltaskip.stats.footer import Footer, OpenSource, read_footer
from deltaskip.storage.range_file import RemoteInput

# The value of ROWS_PER_MATCH for remote files, where reading bytes takes longer than decoding them.
_FAR_ROWS_PER_MATCH = 3


@dataclass(frozen=True)
class OpenFile:
    """A data file that is open for reading: the source of its bytes, its location, pyarrow's reader and schema."""

    source: pa.NativeFile
    location: str
    parquet: pq.ParquetFile
    schema: pa.Schema

    @property
    def one_in(self) -> int:
        """Rows are taken from their pages if at most one in this many is wanted; otherwise all are decoded."""
        return _FAR_ROWS_PER_MATCH if isinstance(self.source, RemoteInput) else ROWS_PER_MATCH

    @cached_property
    def own_footer(self) -> Footer | None:
        """The footer, read once for all row groups; None if it is damaged."""
        try:
            return read_footer(OpenSource(self.source), self.location)
        except (StorageError, UnsupportedFeature):
            return None
