"""Small local data files, read together: one call of a kernel decodes a column of all of them.

Opening a file with pyarrow and handing its columns over holds the GIL, for longer than decoding a small file takes.
Files that the kernel does not read, or that have different schemas, are left to pyarrow, and so are files that seem
damaged, so that pyarrow raises the error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.kernels.parquet_files import ParquetFiles
from deltaskip.path_bytes import encoded
from deltaskip.reading.plain_columns import PlainColumn, dictionary_of, from_buffers, leaf_numbers, rows_at
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.parquet_input import ParquetInput
from deltaskip.storage import is_local

# Limits of the files that are decoded at once: rows, bytes of the pages, and bytes of the strings of a column.
_MOST_ROWS = 1 << 20
_MOST_PLAIN_BYTES = 64 << 20
_MOST_STRING_BYTES = 256 << 20
# If at most one in this many rows is taken, the others are not decoded.
_ROWS_PER_TAKEN = 2
# Number of schemas to cache.
_MOST_KINDS = 64
# So many files are opened at a time.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class FileKind:
    """Files of one writer with the same schema and metadata.

    Attributes:
        schema: Their Arrow schema.
        metadata: Their pairs of keys and values.
        created_by: The writer.
        columns: The columns that the kernel reads, by name.
        seen_by_others: The types that another reader gives the columns, by name, where it was asked.
    """

    schema: pa.Schema
    metadata: Mapping[bytes, bytes]
    created_by: bytes
    columns: Mapping[str, PlainColumn]
    seen_by_others: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, path: bytes) -> FileKind:
        """Return the kind of a file. Raises pyarrow.ArrowException and OSError."""
        with pa.OSFile(path, "rb") as source:
            parquet = ParquetInput(source)
            schema, footer = parquet.schema_arrow, parquet.metadata
        numbers = leaf_numbers(schema) if len(set(schema.names)) == len(schema.names) else {}
        found = {name: PlainColumn.of(footer.schema, schema, name, number) for name, number in numbers.items()}
        columns = {name: column for name, column in found.items() if column is not None}
        return cls(schema, footer.metadata or {}, (footer.created_by or "").encode(), columns)


_KINDS: dict[bytes, FileKind] = {}


def kinds_of(locations: Sequence[str]) -> list[FileKind] | None:
    """Return the kind of each file; None if one of them is not local, or is not read here."""
    if not all(is_local(location) and "\0" not in location for location in locations):
        return None
    found: list[FileKind] = []
    for start in range(0, len(locations), _AT_ONCE):
        paths = [encoded(location) for location in locations[start : start + _AT_ONCE]]
        files = ParquetFiles(paths)
        try:
            for number, path in enumerate(paths):
                key = files.key(number)
                kind = None if key is None else _kind_of(key, path)
                if kind is None:
                    return None
                found.append(kind)
        finally:
            files.close()
    return found


def _kind_of(key: bytes, path: bytes) -> FileKind | None:
    """The kind of files with a key, of which `path` is one; None if pyarrow cannot read it."""
    kind = _KINDS.get(key)
    if kind is None:
        try:
            kind = FileKind.of(path)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return None
        if len(_KINDS) >= _MOST_KINDS:
            _KINDS.clear()
        _KINDS[key] = kind
    return kind


class SmallFiles:
    """Files that are open to be read together.

    Args:
        files: The files, which have the same schema.
        kind: Their kind.
    """

    def __init__(self, files: ParquetFiles, kind: FileKind) -> None:
        self._files = files
        self._kind = kind
        self._starts = np.cumsum([0, *(files.rows(number) for number in range(len(files)))], dtype=np.int64)

    @classmethod
    def runs(cls, locations: Sequence[str]) -> Iterator[tuple[int, SmallFiles | None]]:
        """Yield the number of files in each run, and the opened files; None if they must be read one by one.

        The files of a run have the same schema, and are as many as may be decoded at once. They are closed afterwards.

        Args:
            locations: The locations of the files.
        """
        if not all(is_local(location) and "\0" not in location for location in locations):
            yield len(locations), None
            return
        paths = [encoded(location) for location in locations]
        files = ParquetFiles(paths)
        counts = _run_lengths(files)
        end = 0
        for count in counts:
            start, end = end, end + count
            if len(counts) > 1:
                files.close()
                files = ParquetFiles(paths[start:end])
            opened = cls._of(files, paths[start])
            try:
                yield count, opened
            finally:
                files.close()

    @classmethod
    def _of(cls, files: ParquetFiles, path: bytes) -> SmallFiles | None:
        """Files with one schema; None if they must be read one by one. path: The first file."""
        key = _key(files, 0)
        # The file may have been replaced meanwhile.
        if key is None or len(_run_lengths(files)) > 1:
            return None
        kind = _kind_of(key, path)
        return None if kind is None else cls(files, kind)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the files."""
        return self._kind.schema

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """The pairs of keys and values in the footers."""
        return self._kind.metadata

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Number of rows before each file; the last element is the number of all rows."""
        return self._starts

    def columns(
        self,
        names: Sequence[str],
        positions: npt.NDArray[np.int64] | None,
        views: Collection[str] = (),
        encoded: Collection[str] = (),
    ) -> dict[str, pa.Array] | None:
        """Return columns of the files, concatenated; None if pyarrow must read one of them.

        Args:
            names: Names of top-level columns.
            positions: The rows to read, counted from the first of the first file, ascending; None for all.
            views: The columns whose strings may be views.
            encoded: The columns whose strings are returned as dictionaries, of which an entry may be there twice,
                where all files have dictionaries.
        """
        found: dict[str, pa.Array] = {}
        for name in names:
            column = self._kind.columns.get(name)
            array = None
            if column is not None and name in encoded and column.arrow == pa.string():
                array = self._column(column, positions, False, True)
            if column is not None and array is None:
                array = self._column(column, positions, name in views)
            if array is None:
                return None
            found[name] = array
        return found

    def _column(
        self, column: PlainColumn, positions: npt.NDArray[np.int64] | None, views: bool, encoded: bool = False
    ) -> pa.Array | None:
        rows = int(self._starts[-1])
        few = positions is not None and len(positions) * _ROWS_PER_TAKEN <= rows
        wanted = np.ascontiguousarray(positions, np.int64) if few else None
        views = views and column.has_bytes and not few
        try:
            buffers = self._files.take(wanted, column.number, *column.stored_as, _MOST_STRING_BYTES, views, encoded)
        except ValueError:
            return None
        count = rows if wanted is None else len(wanted)
        array = dictionary_of(count, *buffers) if encoded else from_buffers(column.arrow, count, buffers, views)
        return array if few or positions is None else rows_at(array, arrow_array(positions, pa.int64()))


def _key(files: ParquetFiles, number: int) -> bytes | None:
    """The key that files of one kind share; None for a file that the kernel does not read."""
    small = files.rows(number) <= _MOST_ROWS and files.plain_size(number) <= _MOST_PLAIN_BYTES
    return files.key(number) if small else None


def _run_lengths(files: ParquetFiles) -> list[int]:
    """The lengths of runs of consecutive files that have the same key and may be decoded at once."""
    lengths: list[int] = []
    last: bytes | None = None
    rows = plain_bytes = 0
    for number in range(len(files)):
        key = _key(files, number)
        rows, plain_bytes = rows + files.rows(number), plain_bytes + files.plain_size(number)
        fits = rows <= _MOST_ROWS and plain_bytes <= _MOST_PLAIN_BYTES
        if lengths and key == last and (key is None or fits):
            lengths[-1] += 1
        else:
            lengths.append(1)
            rows, plain_bytes = files.rows(number), files.plain_size(number)
        last = key
    return lengths
