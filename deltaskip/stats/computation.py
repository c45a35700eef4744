"""Statistics of Parquet files, for those who write data files themselves; `deltaskip.stats.compute`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaskip.collations import registry
from deltaskip.collations.identifier import CollationId
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.schema.arrow import from_arrow
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.json import parse_schema
from deltaskip.schema.mapping import MappingMode
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.resolve import display_name, fold_name
from deltaskip.schema.types import STRING, StructType
from deltaskip.stats.columns import StatColumn, indexed_columns, parse_names
from deltaskip.storage.interface import Storage
from deltaskip.storage.location import parse_location
from deltaskip.storage.opening import storage_for

if TYPE_CHECKING:
    from deltaskip.stats.file_facts import Mode, StatisticsRequest

__all__ = ["RESULT_SCHEMA", "Collations", "compute", "statistics_request"]

Collations = Mapping[str, Sequence[str]]
"""Column name → versioned identifiers, such as {"name": ["icu.UNICODE_CI.77.1"]}."""

RESULT_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("num_records", pa.int64(), nullable=False),
        pa.field("stats", pa.string(), nullable=False),
    ]
)


def compute(
    files: Sequence[str | os.PathLike[str]],
    schema: StructType | pa.Schema | str,
    *,
    collations: Collations | Sequence[str] = (),
    mode: Mode = "auto",
    deletion_vectors: Sequence[pa.Int64Array | None] | None = None,
    partition_columns: Sequence[str] = (),
    mapping_mode: MappingMode = "none",
    properties: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    tight_bounds: bool | None = None,
    kernel_spelling: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> pa.Table:
    """The statistics of each data file as an `add` action holds them: RESULT_SCHEMA, a row a file, in their order.

    files: paths or URIs of Parquet files. schema: the table's, as a StructType, an Arrow schema or schemaString.
    collations: for which columns to write collated bounds, and under which exact versions; a sequence of versions
    ("77.1") stands for these versions of every collation that the schema declares. mode: "footer" leaves out what
    footers do not prove, "scan" reads all values, "auto" reads those of the columns that a footer does not prove.
    deletion_vectors: for each file the rows that are deleted, ascending from 0, or None; bounds and null counts are
    those of the other rows, num_records counts all. properties: the table's, of which dataSkippingStatsColumns and
    dataSkippingNumIndexedCols choose the columns; `columns` chooses in their place. tight_bounds: whether to write
    `tightBounds`, which tables with deletion vectors have; None: where deletion_vectors are given, or the properties
    enable them. kernel_spelling: write collated bounds a second time under the upper-case identifier that Delta Kernel
    looks up.

    # PROTOCOL, Per-file Statistics; COLLATIONS RFC, statsWithCollation
    Raises DataFileMissing, StorageError for a file that is no Parquet file, SchemaError for columns that do not exist,
    CollationUnavailable and InvalidCollation for collations that nothing here evaluates.
    """
    # Planning reads statistics and must not load what computes them.
    from deltaskip.stats.file_facts import FileReader, stats_json

    if deletion_vectors is not None and len(deletion_vectors) != len(files):
        raise ValueError(f"There are {len(files)} files and {len(deletion_vectors)} deletion vectors.")
    settings = properties or {}
    chosen = indexed_columns(
        _struct(schema),
        partition_columns=partition_columns,
        mapping_mode=mapping_mode,
        properties=settings,
        columns=columns,
    )
    if tight_bounds is None:
        tight_bounds = deletion_vectors is not None or TableProperties(settings).deletion_vectors
    request = statistics_request(
        chosen,
        collations,
        mapping_mode=mapping_mode,
        mode=mode,
        tight_bounds=tight_bounds,
        kernel_spelling=kernel_spelling,
    )
    reader = FileReader(request)
    storage: Storage | None = None
    rows, texts = [], []
    for i, file in enumerate(files):
        location = parse_location(file)
        storage = storage_for(location, storage_options, storage)
        deleted = None if deletion_vectors is None else deletion_vectors[i]
        facts = reader.facts(storage, location, deleted=deleted)
        rows.append(facts.num_records)
        texts.append(stats_json(facts, request))
    paths = [os.fspath(file) for file in files]
    arrays = [arrow_array(paths, pa.string()), arrow_array(rows, pa.int64()), arrow_array(texts, pa.string())]
    return pa.Table.from_arrays(arrays, schema=RESULT_SCHEMA)


def statistics_request(
    columns: Sequence[StatColumn],
    collations: Collations | Sequence[str] = (),
    *,
    mapping_mode: MappingMode = "none",
    mode: Mode = "auto",
    tight_bounds: bool = False,
    kernel_spelling: bool = False,
) -> StatisticsRequest:
    """The request for `columns`; collations as in compute. Raises as compute does for them, before any file is read."""
    if mode not in ("auto", "footer", "scan"):
        raise InvalidArgument(f"mode must be auto, footer or scan, not {mode!r}.")
    wanted = collations if isinstance(collations, Mapping) else _versions_of_declared(columns, collations)
    identifiers = _by_column(columns, wanted)
    from deltaskip.stats.file_facts import StatisticsRequest

    return StatisticsRequest(tuple(columns), identifiers, mapping_mode, mode, tight_bounds, kernel_spelling)


def _struct(schema: StructType | pa.Schema | str) -> StructType:
    match schema:
        case StructType():
            return schema
        case str():
            return parse_schema(schema)
        case pa.Schema():
            return from_arrow(schema)
        case _:
            raise SchemaError(f"A schema must be a StructType, an Arrow schema or JSON, not {type(schema).__name__}.")


def _versions_of_declared(columns: Sequence[StatColumn], versions: Sequence[str]) -> dict[str, list[str]]:
    return {
        display_name(column.logical): [
            str(CollationId.parse(column.collation).without_version.with_version(version)) for version in versions
        ]
        for column in columns
        if column.collation is not None and versions
    }


def _by_column(columns: Sequence[StatColumn], wanted: Collations) -> tuple[tuple[str, ...], ...]:
    """The canonical identifiers of each column's collated bounds. Raises SchemaError for a name that is no string's."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    paths = {tuple(map(fold_name, column.logical)): column for column in columns}
    for name, identifiers in wanted.items():
        names = parse_names(name, "A key of collations")
        column = paths.get(tuple(map(fold_name, names[0]))) if len(names) == 1 else None
        if column is None or column.type != STRING:
            raise SchemaError(f"There is no string column {name} with statistics, so it can have no collated bounds.")
        found[column.logical] = tuple(dict.fromkeys(str(registry.collation(i).id.canonical) for i in identifiers))
    return tuple(found.get(column.logical, ()) for column in columns)
