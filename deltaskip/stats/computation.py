"""Statistics of Parquet files, for writers of data files: `deltaskip.stats.compute`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError, StatisticsWarning
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import CollationId, lookup
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats.stats_columns import StatColumn, indexed_columns
from deltaskip.stats.tags import stats_tags
from deltaskip.stats.tight_bounds import writes_tight_bounds
from deltaskip.storage import parse_location
from deltaskip.storage.interface import Storage
from deltaskip.storage.opening import storage_for
from deltaskip.warning import warn

if TYPE_CHECKING:
    from deltaskip.stats.file_facts import Mode, StatisticsRequest

ColumnCollations = Mapping[str, Sequence[str]]
"""Column name → versioned identifiers, such as {"name": ["icu.UNICODE_CI.77.1"]}."""


COMPUTED_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("num_records", pa.int64(), nullable=False),
        pa.field("stats", pa.string(), nullable=False),
        pa.field("tags", pa.map_(pa.string(), pa.string()), nullable=False),
    ]
)


@door
def compute(
    files: Sequence[str | os.PathLike[str]],
    schema: t.StructType | pa.Schema | str,
    *,
    collations: ColumnCollations | None = None,
    collation_versions: Sequence[str] | None = None,
    mode: Mode = "auto",
    deletion_vectors: Sequence[pa.Int64Array | None] | None = None,
    partition_columns: Sequence[str] | None = None,
    mapping_mode: t.MappingMode = "none",
    properties: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    tight_bounds: bool | None = None,
    kernel_spelling: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> pa.Table:
    """Compute the statistics of data files in the form of `add` actions.

    Args:
        files: Paths or URIs of Parquet files.
        schema: Schema of the table: a StructType, an Arrow schema, or the schemaString of the table's metadata.
        collations: Columns with collated bounds, each with versioned identifiers, such as
            `{"name": ["icu.UNICODE_CI.77.1"]}`.
        collation_versions: Versions such as `["77.1"]`, for the collations that the schema declares. Specify either
            `collations` or `collation_versions`.
        mode: "footer" leaves out statistics that the footers do not prove, "scan" reads all values, and "auto" reads
            the values of the columns for which a footer proves too little.
        deletion_vectors: For each file the positions of its deleted rows, strictly ascending from 0, or None. Bounds
            and null counts describe the other rows; `num_records` counts all rows.
        partition_columns: Partition columns of the table, which have no statistics. The default is the schema's if it
            is from `DeltaTable.schema`, otherwise none.
        mapping_mode: Column mapping mode of the table: "none", "name" or "id".
        properties: Properties of the table. `delta.dataSkippingStatsColumns` and
            `delta.dataSkippingNumIndexedCols` select the columns.
        columns: Columns with statistics, instead of the columns that the properties select.
        tight_bounds: Whether to write `tightBounds`, which tables with deletion vectors have. None: if
            `deletion_vectors` are given or the properties enable deletion vectors.
        kernel_spelling: Also write collated bounds under the upper-case identifier that Delta Kernel reads.
        storage_options: Options of the object store, as for DeltaTable.

    Returns:
        A table with one row per file, in the given order: `path` (as given), `num_records` (int64), `stats` (JSON
        text) and `tags` (map). Add both `stats` and `tags` to the `add` action: the tags name the float columns without
        NaN, and let every later version of the table skip files by their maximum.

    Raises:
        InvalidArgument, InvalidArgumentType: An argument is wrong.
        DataFileMissing: A file does not exist.
        StorageError: A file cannot be read, or is not a Parquet file.
        PredicateError: A column does not exist, or a column with collated bounds is not a string.
        SchemaError: The schema, or a property that selects the columns, is not valid.
        InvalidCollation, CollationUnavailable: A collation is unknown, or no installed library evaluates its version.
    """
    # PROTOCOL, Per-file Statistics; COLLATIONS RFC, statsWithCollation
    # Planning reads statistics and must not load the code that computes them.
    from deltaskip.stats.file_facts import FileReader, stats_json

    paths = _paths(files)
    vectors = _vectors(deletion_vectors, paths)
    if collations is not None and collation_versions is not None:
        raise InvalidArgument("Specify either collations or collation_versions, not both.")
    if collations is not None:
        arguments.mapping("collations", collations)
    versions = None if collation_versions is None else arguments.texts("collation_versions", collation_versions)
    arguments.choice("mapping_mode", mapping_mode, "none", "name", "id")
    arguments.flag("kernel_spelling", kernel_spelling)
    options = arguments.storage_settings(storage_options)
    settings = {} if properties is None else arguments.mapping("properties", properties)
    struct = _struct(schema)
    partitions = struct.partition_columns if partition_columns is None else partition_columns
    chosen = indexed_columns(
        struct,
        partition_columns=arguments.names("partition_columns", partitions),
        mapping_mode=mapping_mode,
        properties=settings,
        columns=None if columns is None else arguments.names("columns", columns),
    )
    if tight_bounds is not None:
        arguments.flag("tight_bounds", tight_bounds)
    else:
        tight_bounds = writes_tight_bounds(None, settings, has_vectors=deletion_vectors is not None)
    request = statistics_request(
        chosen,
        versions or () if collations is None else collations,
        mapping_mode=mapping_mode,
        mode=mode,
        tight_bounds=tight_bounds,
        kernel_spelling=kernel_spelling,
    )
    reader = FileReader(request)
    storage: Storage | None = None
    rows, texts, tags = [], [], []
    for path, deleted in zip(paths, vectors, strict=True):
        location = parse_location(path)
        storage = storage_for(location, options, storage)
        facts = reader.facts(storage, location, deleted=deleted)
        _check_last(path, deleted, facts.num_records)
        rows.append(facts.num_records)
        texts.append(stats_json(facts, request))
        tags.append(list(stats_tags(texts[-1], request.columns).items()))
    values: list[list[Any]] = [paths, rows, texts, tags]
    arrays = [arrow_array(each, field.type) for each, field in zip(values, COMPUTED_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=COMPUTED_SCHEMA)


def statistics_request(
    columns: Sequence[StatColumn],
    collations: ColumnCollations | Sequence[str] = (),
    *,
    mapping_mode: t.MappingMode = "none",
    mode: Mode = "auto",
    tight_bounds: bool = False,
    kernel_spelling: bool = False,
) -> StatisticsRequest:
    """Return the request for statistics of `columns`. Raises what compute raises for its arguments.

    collations: as in compute, or versions that apply to every collation of the columns.
    """
    arguments.choice("mode", mode, "auto", "footer", "scan")
    wanted = collations if isinstance(collations, Mapping) else _versions_of_declared(columns, collations)
    identifiers = _by_column(columns, wanted)
    from deltaskip.stats.file_facts import StatisticsRequest

    return StatisticsRequest(tuple(columns), identifiers, mapping_mode, mode, tight_bounds, kernel_spelling)


def _struct(schema: t.StructType | pa.Schema | str) -> t.StructType:
    match schema:
        case t.StructType():
            return schema
        case str():
            return t.parse_schema(schema)
        case pa.Schema():
            return t.from_arrow(schema)
        case _:
            raise InvalidArgumentType.of("schema", "a StructType, an Arrow schema or a str", schema)


def _paths(files: Sequence[str | os.PathLike[str]]) -> list[str]:
    if isinstance(files, str | os.PathLike):
        raise InvalidArgumentType(f"files must be a list of paths, not a {type(files).__name__}: use [{files!r}].")
    if not isinstance(files, Iterable):
        raise InvalidArgumentType.of("files", "a list of paths", files)
    paths = [os.fspath(file) if isinstance(file, os.PathLike) else file for file in files]
    return [arguments.instance("Each of files", path, str, "a path or URI (str or os.PathLike)") for path in paths]


def _vectors(
    deletion_vectors: Sequence[pa.Int64Array | None] | None, paths: Sequence[str]
) -> Sequence[pa.Int64Array | None]:
    if deletion_vectors is None:
        return [None] * len(paths)
    if not isinstance(deletion_vectors, Sequence):
        raise InvalidArgumentType.of("deletion_vectors", "a list of Arrow arrays", deletion_vectors)
    if len(deletion_vectors) != len(paths):
        raise InvalidArgument(
            f"deletion_vectors must have one element per file: {len(paths)}, not {len(deletion_vectors)}."
        )
    for path, vector in zip(paths, deletion_vectors, strict=True):
        if vector is None:
            continue
        if not isinstance(vector, pa.Array) or vector.type != pa.int64():
            raise InvalidArgumentType.of("Each of deletion_vectors", "an int64 Arrow array or None", vector)
        if vector.null_count:
            raise InvalidArgument(f"deletion_vectors must not contain nulls: the one of {path} does.")
        numbers = numpy_values(vector)
        if not (numbers[:-1] < numbers[1:]).all():
            raise InvalidArgument(
                f"The row numbers of a deletion vector must be strictly ascending; those of {path} are not."
            )
        if len(numbers) and numbers[0] < 0:
            raise InvalidArgument(f"The row numbers of a deletion vector must not be negative; one of {path} is.")
    return deletion_vectors


def _check_last(path: str, deleted: pa.Int64Array | None, rows: int) -> None:
    if deleted is not None and len(deleted) and deleted[-1].as_py() >= rows:
        raise InvalidArgument(
            f"The deletion vector of {path} contains row {deleted[-1].as_py()}, but the file has {rows} rows."
        )


def _versions_of_declared(columns: Sequence[StatColumn], versions: Sequence[str]) -> dict[str, list[str]]:
    """The identifiers of these versions for each collated column; none for a column of an unknown collation."""
    found = {}
    for column in columns:
        if column.collation is None or not versions:
            continue
        name = t.display_name(column.logical)
        if lookup.is_known(column.collation):
            collation = CollationId.parse(column.collation).without_version.canonical
            found[name] = [str(collation.with_version(version)) for version in versions]
        else:
            warn(
                f"Column {name} has the collation {column.collation!r}, which deltaskip does not know: statistics "
                "under it are not computed, the other statistics of the column are.",
                StatisticsWarning,
            )
    return found


def _by_column(columns: Sequence[StatColumn], wanted: ColumnCollations) -> tuple[tuple[str, ...], ...]:
    """Canonical identifiers of each column's collated bounds. Raises PredicateError for a name of another column."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    paths = {tuple(map(t.fold_name, column.logical)): column for column in columns}
    for name, identifiers in wanted.items():
        identifiers = arguments.texts(f"collations[{name!r}]", identifiers)
        names = t.parse_names(name, "A key of collations", PredicateError)
        column = paths.get(tuple(map(t.fold_name, names[0]))) if len(names) == 1 else None
        if column is None or column.type != t.STRING:
            raise PredicateError(f"Collated bounds need a string column with statistics, and {name} is not one.")
        found[column.logical] = tuple(dict.fromkeys(str(lookup.collation(i).id.canonical) for i in identifiers))
    return tuple(found.get(column.logical, ()) for column in columns)
