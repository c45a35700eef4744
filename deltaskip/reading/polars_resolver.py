"""A scan as a LazyFrame whose files Polars reads itself, where its reader has exactly the rows of the scan.

Polars gives the filters of a query to the resolver, which chooses the files by them, and applies them again while it
reads. It has threads of its own, and decodes other columns only where rows match.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Self

import polars
from polars.lazyframe.resolver import LazyFrameResolver

from deltaskip.actions import hadoop_paths
from deltaskip.reading.arrow_rows import READ_COLUMNS
from deltaskip.reading.julian import is_of_old_writer
from deltaskip.reading.metrics import ReadCounts
from deltaskip.reading.pushed import pushed_polars_filter
from deltaskip.reading.small_files import FileKind, kinds_of
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.stats.footer import writer_of

if TYPE_CHECKING:
    from deltaskip.reading.table_scan import TableScan

# Footers of more files than these are not read before a query is known: deltaskip reads the rows.
_MOST_FILES = 1000
# Writers whose bounds in footers Polars may use, from these versions on.
_WRITERS = {b"parquet-cpp-arrow": (10, 0), b"parquet-mr": (1, 10), b"parquet-rs": (50, 0)}


class ScanResolver(LazyFrameResolver):
    """Chooses the files of a scan for each query of Polars.

    Args:
        scan: The scan.
        schema: The schema of its rows.
    """

    def __init__(self, scan: TableScan, schema: polars.Schema) -> None:
        self._scan, self._schema = scan, schema

    @classmethod
    def of(cls, scan: TableScan, schema: polars.Schema) -> Self | None:
        """Return the resolver of a scan; None if Polars would not read the same rows from a file."""
        fields, snapshot = scan.columns_of_files, scan.snapshot
        if not fields or scan.where is not None or snapshot.num_files > _MOST_FILES:
            return None
        if len(fields) < len(scan.paths_by_name) or not all(map(_is_plain, fields)):
            return None
        files = scan.files(columns=READ_COLUMNS)
        if files["deletion_vector"].null_count < len(files):
            return None
        locations = hadoop_paths(snapshot.table_root, files["uri"]).to_pylist()
        kinds = kinds_of(locations)
        paths = {} if kinds is None else dict(zip(kinds, locations, strict=True))
        alike = kinds is not None and all(_reads_alike(kind, path, fields, schema) for kind, path in paths.items())
        return cls(scan, schema) if alike else None

    def schema(self) -> polars.Schema:
        """Return the schema of the rows."""
        return self._schema

    def cse_eq(self, other: object) -> bool:
        """Return whether another resolver has the same rows."""
        return isinstance(other, ScanResolver) and other._scan is self._scan

    def resolve_lazyframe(
        self, *, limit: int | None = None, filters: Sequence[Any] = (), **_: object
    ) -> polars.LazyFrame:
        """Return the rows of the files that can match the filters. Polars applies the filters to them again."""
        scan, counts = self._scan, ReadCounts()
        given = [each.expr for each in filters]
        pushed, exact = pushed_polars_filter(scan, reduce(and_, given)) if given else (None, True)
        files = scan.narrowed(None, pushed).files(columns=["uri", "size"])
        counts.plan_ends()
        counts.add(len(files), 0)
        snapshot, size = scan.snapshot, exact_sum(files["size"])
        scan.note_metrics(counts.metrics("Polars reads", snapshot, len(files), size, 0))
        if not len(files):
            return polars.LazyFrame(schema=self._schema)
        paths = hadoop_paths(snapshot.table_root, files["uri"]).to_pylist()
        options: dict[str, Any] = {"extra_columns": "ignore", "glob": False, "hive_partitioning": False}
        # Polars skips row groups by the bounds of expressions, such as y + 1, also where values wrap around.
        options["use_statistics"] = exact
        found = polars.scan_parquet(paths, schema=self._schema, **options)
        # a hint, which is beyond the numbers of rows for slice(1): Polars takes its rows from these again
        return found if limit is None or filters or limit >> 32 else found.head(limit)


def _is_plain(field: t.StructField) -> bool:
    """Whether Polars has the values of a column as files have them."""
    return t.is_ordered(field.type) and field.type not in t.NANOSECONDS and not declares_char(field)


def _reads_alike(kind: FileKind, path: str, fields: Sequence[t.StructField], schema: polars.Schema) -> bool:
    """Whether Polars reads the same columns from files of a kind, with bounds in footers that it may use."""
    name, *version = writer_of(kind.created_by)
    if tuple(version) < _WRITERS.get(name, (1 << 31,)) or is_of_old_writer(kind.metadata):
        return False
    columns = [kind.columns.get(field.name) for field in fields]
    for column, field in zip(columns, fields, strict=True):
        if column is None or column.is_int96 or column.arrow != stored_type(field.type):
            return False
    if not kind.seen_by_others:
        kind.seen_by_others.update(polars.read_parquet_schema(path))
    return all(kind.seen_by_others.get(name) == expected for name, expected in schema.items())
