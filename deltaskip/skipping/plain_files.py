"""Whether the rows of data files, as Spark's own Parquet reader returns them, are the rows of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from deltaskip.actions import hadoop_path
from deltaskip.errors import UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.schema.mapping import physical_schema
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY
from deltaskip.sparkexpr import types as t
from deltaskip.stats.footer import read_footer

PLAIN_COLUMNS = ("uri", "size", "deletion_vector")
"""The columns of files that `check_plain` needs."""

_NAME = 4
_FOOTER_READERS = 16


def check_plain(snapshot: Snapshot, files: pa.Table) -> None:
    """Check that files have all columns of the table, under their names and types, and no other rows.

    The footer of each file is read.

    Args:
        snapshot: The table.
        files: The files, with PLAIN_COLUMNS.

    Raises:
        UnsupportedFeature: The rows of the files differ from those of the table; the message says how.
        DataFileMissing: A file does not exist.
        StorageError: A file cannot be read.
    """
    reason = next(_reasons(snapshot, files), None)
    if reason is not None:
        raise UnsupportedFeature(
            f"The paths of data files of {snapshot.table_root} are not enough to read version {snapshot.version}, "
            f"because {reason}: read the rows with to_spark(spark)."
        )


def _reasons(snapshot: Snapshot, files: pa.Table) -> Iterator[str]:
    schema, mode = snapshot.schema, snapshot.mapping_mode
    fields = [each for field in schema.fields for each in (field, *t.nested_fields(field.type))]
    if snapshot.partition_columns:
        yield f"the values of the partition columns {', '.join(snapshot.partition_columns)} are in the log"
    stored = [f for field in physical_schema(schema, mode).fields for f in (field, *t.nested_fields(field.type))]
    renamed = next((a.name for a, b in zip(fields, stored, strict=True) if a.name != b.name), None)
    if renamed is not None:
        yield f"files have the column {renamed} under a physical name"
    changed = next((each.name for each in fields if TYPE_CHANGES_KEY in each.metadata), None)
    if changed is not None:
        yield f"the type of the column {changed} was widened, and files may have the old one"
    declared = [t.CHAR_VARCHAR_KEY, t.COLLATIONS_KEY]
    lost = next((each.name for each in fields if any(key in each.metadata for key in declared)), None)
    if lost is not None:
        yield f"files do not have the length or the collation of the column {lost}"
    deleted = len(files) - files["deletion_vector"].null_count
    if deleted:
        yield f"{deleted} of {len(files)} files have deleted rows"
    yield from _missing(snapshot, files, Counter(each.name for each in fields))


def _missing(snapshot: Snapshot, files: pa.Table, names: Counter[str]) -> Iterator[str]:
    """The reason that a file lacks a column, also inside structs."""
    root = snapshot.table_root
    locations = [hadoop_path(root, uri) for uri in files["uri"].to_pylist()]

    def lacking(location: str, size: int) -> Counter[str]:
        footer = read_footer(snapshot.storage, location, size)
        return names - Counter(element[_NAME].decode() for element in footer.elements if _NAME in element)

    with ThreadPoolExecutor(_FOOTER_READERS, "deltaskip") as pool:
        for location, found in zip(locations, pool.map(lacking, locations, files["size"].to_pylist()), strict=True):
            if found:
                yield f"the file {location} lacks the column {next(iter(found))}"
