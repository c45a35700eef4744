"""The scans of a plan: Spark's Parquet scans of the files, combined with partition values and deletion vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_type

from deltaskip.actions.paths import escape_globs
from deltaskip.errors import SchemaError, UnsupportedFeature
from deltaskip.reading.file_scans import ConstantScan, EntryScan, FileScan, HiveScan, JoinedScan, UnlistedScan
from deltaskip.reading.marked_rows import WORD_SHIFT
from deltaskip.reading.partition_tuples import PartitionTuples
from deltaskip.reading.read_plan import FILE_FACTS, METADATA, ReadPlan, StoredTable, fact_column
from deltaskip.schema.type_widening import TYPE_CHANGES_KEY
from deltaskip.spark.columns.arrow_frame import arrow_frame
from deltaskip.spark.columns.spark_types import data_schema, holds_void, logical_type, spark_schema, spark_type
from deltaskip.spark.columns.to_column import carrier_sql, carriers, decoded_sql
from deltaskip.spark.read.file_index import listing_by_spark, unlisted_scan
from deltaskip.spark.read.file_paths import check_not_hidden, in_hadoop, metadata_path, needs_own_scan
from deltaskip.spark.read.plan_statistics import with_estimates
from deltaskip.spark.read.reader_settings import check_settings
from deltaskip.spark.session.own_texts import check_functions, own_column, selected
from deltaskip.spark.session.releases import loaded, metadata_column, union_of_frames
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.meaning import called_names
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array

FIELD_ID_READ = "spark.sql.parquet.fieldId.read.enabled"
_NULL_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"

UNPUSHED: dict[t.DataType, str] = {t.FLOAT: "1F", t.DOUBLE: "1D"}
"""Types whose predicates must not reach Spark's Parquet reader, with the number one as SQL text.

The reader compares with bounds and dictionaries as Java compares objects: -0.0 is not 0.0, and NaN, which most writers
leave out of the bounds, is not expected. It would skip row groups with matching rows. The product of a column and one
has the same values, and Spark does not push down predicates on it.
"""

READER_OPTIONS = {
    "mergeSchema": "false",
    # A file says by its footer if it has the calendar of old writers, and no setting of the session for files without
    # a word about it. # Spark 4.1, DataSourceUtils.datetimeRebaseSpec
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    # A file that the log lists and storage does not have is an error, whatever the settings of the session.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "recursiveFileLookup": "false",
    # Spark leaves out files of such names without a word, also if they are given. # Spark 4.3, HadoopFSUtils
    "ignoredPathSegmentRegex": "^[._]",
}
"""Options of each scan of data files, in place of the settings of the session."""

PARQUET_FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
"""The format of each scan. Only this class has the column _metadata; by the name "parquet", the setting
spark.sql.sources.useV1SourceList of the session would choose the class. # Spark 4.1, DataSource.lookupDataSourceV2
"""

# Spark 4.1, DataType.defaultSize
_LONG_BYTES, _STRING_BYTES = 8, 20

_PATH = "__deltaskip_path"
_ROW = "__deltaskip_row"
_KEY = "__deltaskip_key"
_WORDS = "__deltaskip_words"
_MARKED = "__deltaskip_marked"
_NOTHING = "__deltaskip_nothing"
_FILE = "__deltaskip_file_number"
_ENTRY_FILE = "__deltaskip_entry_file"
_ANY_WORDS = "__deltaskip_any_words"

# Functions that joins with rows of the log call, and those of Columns that rebuild nested values.
_IN_JOINS = frozenset(("coalesce", "concat", "get", "getbit", "raise_error", "shiftright", "xxhash64"))
_OF_COLUMNS = frozenset(("isnotnull", "struct", "transform", "transform_keys", "transform_values", "when"))


def scanned_rows(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """Return the rows of the scans of a plan: columns of the table, path, position, values of the file, own columns.

    Columns that a file lacks are null in its rows. All columns are nullable; strings have their collation. With
    mapping_mode "id" the session's spark.sql.parquet.fieldId.read.enabled is set to true permanently: Spark reads it
    when the DataFrame runs, and it affects only schemas with field ids.

    Args:
        spark: A session, classic or Connect.
        plan: The plan; its predicate, columns and limit are left to the caller.

    Raises:
        DataFileMissing: A file is not in storage.
        SchemaError: The table has no columns, or a type that Spark cannot read.
        UnsupportedFeature: This version of Spark cannot read the table, or skips a file because of its name.
        Exception: If files disappear or are damaged later, Spark raises an error when the DataFrame runs.
    """
    _check_readable(spark, plan.table)
    if not plan.scans:
        # Spark knows no size of an empty DataFrame, but that no row is FALSE, and plans no join with such rows.
        return spark.createDataFrame([], _schema(plan)).where(F.lit(False))
    check_settings(spark, plan)
    plan = _located(spark, plan)
    with listing_by_spark(spark, plan.paths, plan.table.root):
        frame = union_of_frames(_scan(spark, plan, scan) for scan in plan.scans)
        # Connect checks the paths only when a request needs them.
        _ = frame.schema
    return frame


def widened(spark: SparkSession, schema: t.StructType) -> str | None:
    """The first column whose type was widened, if this version of Spark does not read such columns."""
    if not spark.version.startswith("3."):
        return None
    return next((field.name for field in schema.fields if TYPE_CHANGES_KEY in field.metadata), None)


def check_has_columns(schema: t.StructType, table: str) -> None:
    """Raise SchemaError for a table without columns."""
    if not schema.fields:
        raise SchemaError(f"The table {table} has no columns, so there is nothing to read; add columns first.")


def tuples_of(spark: SparkSession, table: PartitionTuples) -> DataFrame:
    """The tuples of partition values in the order of their codes, under names that no column of a file has."""
    return _values_of(spark, table, table.tuples, {})


def _values_of(
    spark: SparkSession, table: PartitionTuples, rows: pa.Int64Array, others: Mapping[str, pa.Array]
) -> DataFrame:
    """The partition values of these files, under names that no column of a file has, and other columns."""
    names = _tuple_names(table)
    carried = dict(zip(names, _carried(table, rows), strict=True))
    frame = arrow_frame(spark, pa.table({**carried, **others}))
    return selected(
        frame,
        *(
            f"{decoded_sql(quoted_name(name), field.type, logical_type(field))} AS {quoted_name(name)}"
            for name, field in zip(names, table.fields, strict=True)
        ),
        *map(quoted_name, others),
    )


def with_values_of_files(frame: DataFrame, plan: ReadPlan, path: str, values: Mapping[str, pa.Array]) -> DataFrame:
    """Rows of a plan with values of their file in further columns.

    Only the rows of `frame`, which the caller has filtered, are joined with the values, not every row that is scanned.

    Args:
        frame: The rows.
        plan: The plan.
        path: The column of `frame` with the path of a row's file.
        values: One value for each file, by the name of the new column.
    """
    paths = [*map(in_hadoop(frame.sparkSession, plan.table.storage_options), plan.paths)]
    joined = _with_files(frame, path, {_KEY: _keys(paths), **values})
    found = [f"{_of_file(path, quoted_name(name))} AS {quoted_name(name)}" for name in values]
    return selected(joined, *map(quoted_name, frame.columns), *found)


def _check_readable(spark: SparkSession, table: StoredTable) -> None:
    """Check that this Spark reads the columns of a table, and let it read them by id if the mapping mode is id."""
    check_has_columns(table.schema, table.root)
    column = widened(spark, table.schema)
    if column is not None:
        raise UnsupportedFeature(
            f"The type of column {column!r} of {table.root} was widened, which the Parquet reader of Spark "
            f"{spark.version} does not support; read it with Spark 4.0 or newer."
        )
    if table.has_shapes and tuple(map(int, spark.version.split(".")[:2])) < (4, 1):
        raise UnsupportedFeature(
            f"{table.root} has a column of shapes, and the Parquet reader of Spark {spark.version} cannot open its "
            f"files, also for other columns; read it with Spark 4.1 or newer, or without Spark."
        )
    if table.mapping_mode == "id":
        spark.conf.set(FIELD_ID_READ, "true")


def _located(spark: SparkSession, plan: ReadPlan) -> ReadPlan:
    """The plan with the paths of the session's Hadoop. Raises UnsupportedFeature for a file that Spark skips."""
    located = in_hadoop(spark, plan.table.storage_options)
    paths = [*map(located, plan.paths)]
    check_not_hidden(paths, plan.table.root)
    scans = (replace(s, base_path=located(s.base_path)) if isinstance(s, HiveScan) else s for s in plan.scans)
    return replace(plan, paths=paths, scans=tuple(scans))


def _schema(plan: ReadPlan) -> spark_types.StructType:
    """The columns of the rows of a plan without files."""
    schema, wanted = spark_schema(plan.table.schema), plan.wanted
    for name, kind in ((wanted.path, spark_types.StringType()), (wanted.position, spark_types.LongType())):
        if name is not None:
            schema.add(name, kind)
    for name in FILE_FACTS if wanted.facts else ():
        schema.add(fact_column(name), spark_type(FILE_FACTS[name]))
    for name, values in wanted.values.items():
        schema.add(name, from_arrow_type(values.type))
    names = _own_names(plan)
    return spark_types.StructType([*schema.fields, *(f for f in _own_fields(plan) if f.name in names)])


def _scan(spark: SparkSession, plan: ReadPlan, scan: FileScan) -> DataFrame:
    """The rows of one scan of a plan."""
    if isinstance(scan, JoinedScan):
        # Connect has no JVM to pass files to.
        listed = plan.unlisted(scan.rows) if hasattr(spark, "_jvm") else None
        return _joined(spark, plan, scan) if listed is None else _numbered(spark, plan, scan, listed)
    if isinstance(scan, EntryScan):
        return _entries(spark, plan, scan)
    located = plan.wanted.path is not None or plan.wanted.position is not None
    return _projected(plan, _files(spark, plan, scan, located), _partition_values(plan, scan))


def _numbered(spark: SparkSession, plan: ReadPlan, scan: JoinedScan, listed: UnlistedScan) -> DataFrame:
    """Rows of files that are passed to Spark, each with its number, its partition values and its other values.

    The values are partition columns of the scan, and the rows that are left out, such as the deleted ones, are known by
    the number of their file. So nothing depends on how Spark writes a path, and Spark estimates the size of the rows as
    that of the files: # Spark 4.1, SizeInBytesOnlyStatsPlanVisitor: an anti join has the size of its left side
    """
    marked, rows = scan.marked, arrow_array(scan.rows, pa.int64())
    numbers = arrow_array(np.arange(len(rows), dtype=np.int64))
    beside = {name: column.take(rows) for name, column in plan.wanted.values.items()}
    values = _values_of(spark, plan.partitions, rows, {_FILE: numbers, **beside})
    frame = _files(spark, plan, listed, located=True, values=values, own_bytes=_LONG_BYTES * (1 + len(beside)))
    if marked is not None:
        if marked.words is None:
            files = pa.table({_KEY: numbers.take(marked.files), _MARKED: marked.numbers})
            same = f"{_FILE} = {_KEY} AND {_ROW} = {_MARKED}"
        else:
            files = pa.table({_KEY: numbers, _WORDS: marked.words}).filter(pa.array(np.array(marked.counts) > 0))
            same = f"{_FILE} = {_KEY} AND {_is_bit(_WORDS, 1)}"
        frame = _with_rows(frame, files, F.expr(same), "left_semi" if scan.only else "left_anti")
    columns = {
        f.name: quoted_name(name) for f, name in zip(plan.partitions.fields, _tuple_names(plan.partitions), strict=True)
    }
    return _projected(plan, frame, columns, [*map(quoted_name, beside)])


def _joined(spark: SparkSession, plan: ReadPlan, scan: JoinedScan) -> DataFrame:
    """Rows of the files, joined with partition values and marked rows, such as the deleted ones, from the log.

    It is a left join, and a row without a match raises an error: a path that Spark writes differently than
    metadata_path must not lose rows or return deleted ones. The check uses the row's path, so that Spark can neither
    fold it nor move it below the join.
    """
    marked, rows = scan.marked, arrow_array(scan.rows, pa.int64())
    keys = _keys([plan.paths[row] for row in scan.rows])
    values = {f"__deltaskip_{i}": column for i, column in enumerate(_carried(plan.partitions, rows))}
    words = {_WORDS: marked.words} if marked is not None and marked.words is not None else {}
    beside = {name: column.take(rows) for name, column in plan.wanted.values.items()}
    frame = _files(spark, plan, scan, located=True)
    frame = _with_files(frame, _PATH, {_KEY: keys, **values, **words, **beside})
    if words:
        frame = frame.where(_of_file(_PATH, _is_bit(_WORDS, int(scan.only))))
    elif marked is not None:
        frame = frame.where(_of_file(_PATH, "true"))
        numbers = {_KEY + "2": keys.take(marked.files), _MARKED: marked.numbers}
        same = F.expr(f"{_PATH} = {_KEY}2 AND {_ROW} = {_MARKED}")
        frame = _with_rows(frame, pa.table(numbers), same, "left_semi" if scan.only else "left_anti")
    columns = {
        field.name: _of_file(_PATH, decoded_sql(name, field.type, logical_type(field)))
        for field, name in zip(plan.partitions.fields, values, strict=True)
    }
    return _projected(plan, frame, columns)


def _entries(spark: SparkSession, plan: ReadPlan, scan: EntryScan) -> DataFrame:
    """The rows of all entries in the table's columns. Each file is read once.

    Rows without an entry are dropped before the others are multiplied by their entries.
    """
    marked, every = scan.marked, arrow_array(np.arange(len(scan.rows), dtype=np.int64))
    values = {f"__deltaskip_entry_{i}": carriers(scan.values[f.name], f.type) for i, f in enumerate(scan.fields)}
    entries = pa.table({_ENTRY_FILE: arrow_array(scan.files, pa.int64()), **values})
    partitions = {f"__deltaskip_{i}": column for i, column in enumerate(_carried(plan.partitions, every))}
    of_file = {_KEY: _keys(plan.paths), _FILE: every, **partitions}
    if marked.words is None:
        entries = entries.take(marked.files).append_column(_MARKED, marked.numbers)
        holds, same_row = "true", f"{_ROW} = {_MARKED}"
    else:
        entries = entries.append_column(_WORDS, marked.words)
        of_file[_ANY_WORDS] = marked.joint_words(scan.files, len(every))
        holds, same_row = _is_bit(_ANY_WORDS, 1), _is_bit(_WORDS, 1)
    frame = _with_files(_files(spark, plan, scan, located=True), _PATH, of_file).where(_of_file(_PATH, holds))
    # The index is never NULL, but Spark must not conclude that the join above may drop such rows.
    same = F.expr(f"{_of_file(_PATH, _FILE)} = {_ENTRY_FILE} AND {same_row}")
    frame = _with_rows(frame, entries, same, "inner")
    named = [*zip(plan.partitions.fields, partitions, strict=True), *zip(scan.fields, values, strict=True)]
    columns = {field.name: decoded_sql(name, field.type, logical_type(field)) for field, name in named}
    return _selected(plan, frame, columns)


def _with_files(frame: DataFrame, path: str, files: Mapping[str, pa.Array]) -> DataFrame:
    """Rows with the values of their files, which `_of_file` reads.

    Spark looks up a number in half the time that it needs for a string of this length.
    """
    same = F.expr(f"xxhash64({path}) = xxhash64({_KEY})")
    return _with_rows(frame, pa.table(files), same, "left")


def _with_rows(frame: DataFrame, rows: pa.Table, same: Column, how: str) -> DataFrame:
    """The rows of a DataFrame, joined with rows of the log that every task receives."""
    check_functions(frame.sparkSession, _IN_JOINS)
    return frame.join(F.broadcast(arrow_frame(frame.sparkSession, rows)), same, how)


def _of_file(path: str, value: str) -> str:
    """A value of a row's file as SQL text, from the SQL text of the value in the rows of `_with_files`.

    It raises an error if the join has found no file, or another file whose path has the same hash.
    """
    lost = f"raise_error(concat('deltaskip has no log entry for the data file ', {path}))"
    return f"CASE WHEN NOT ({path} <=> {_KEY}) THEN {lost} ELSE {value} END"


def _is_bit(words: str, value: int) -> str:
    """Whether the row's bit has this value, 0 or 1, as SQL text."""
    word = f"get({words}, CAST(shiftright({_ROW}, {WORD_SHIFT}) AS INT))"
    return f"coalesce(getbit({word}, CAST({_ROW} % {1 << WORD_SHIFT} AS INT)), 0) = {value}"


def _projected(
    plan: ReadPlan, frame: DataFrame, partition_values: Mapping[str, str], values: Sequence[str] | None = None
) -> DataFrame:
    """The columns of the table, and the columns beside them.

    partition_values: SQL text by logical name. values: SQL text of the values of files; None after `_with_files`.
    """
    wanted = plan.wanted
    for name in partition_values.keys() & {field.name for field in wanted.own}:
        value = f"coalesce({partition_values[name]}, {quoted_name(name)})"
        partition_values = {**partition_values, name: value}
    places = (_PATH, wanted.path), (_ROW, wanted.position)
    beside = [f"{name} AS {quoted_name(new)}" for name, new in places if new is not None]
    beside += map(fact_column, FILE_FACTS if wanted.facts else ())
    if values is None:
        values = [f"{_of_file(_PATH, quoted_name(name))} AS {quoted_name(name)}" for name in wanted.values]
    beside += values
    beside += map(quoted_name, _own_names(plan))
    return _selected(plan, frame, partition_values, beside)


def _files(
    spark: SparkSession,
    plan: ReadPlan,
    scan: FileScan,
    located: bool,
    values: DataFrame | None = None,
    own_bytes: int = 0,
) -> DataFrame:
    """Rows of the files under physical names; a HiveScan and an UnlistedScan add partition columns.

    located: Whether to add the path of each row's file and the position in it. values: For an UnlistedScan a row for
    each file with its partition columns; None for those of the plan. own_bytes: See `unlisted_scan`.
    """
    data = data_schema(plan.data, plan.table.mapping_mode)
    fields = [*data.fields, *_own_fields(plan)]
    if isinstance(scan, HiveScan):
        named = zip(_hive_names(plan), plan.partitions.fields, strict=True)
        # Spark reads no value of a collated type from a directory.
        fields += [spark_types.StructField(name, spark_type(field.type)) for name, field in named]
    if not data.fields and not plan.wanted.own:
        # Without a field the reader would infer a schema; with a field that no file has, it still counts the rows.
        fields.append(spark_types.StructField(_NOTHING, spark_types.BooleanType()))
    schema, paths = spark_types.StructType(fields), [plan.paths[row] for row in scan.rows]
    given = _given(plan, scan)
    if given is None:
        frames = _listed_by_spark(spark, scan, schema, paths)
    else:
        codes: Sequence[int] | None = None
        if values is not None:
            codes = range(len(paths))
        elif isinstance(scan, UnlistedScan):
            values, codes = tuples_of(spark, plan.partitions), plan.partitions.codes[list(scan.rows)].tolist()
        listed = partial(unlisted_scan, spark, schema, plan.table.root, paths, *given, READER_OPTIONS)
        frames = [listed(values=values, codes=codes, own_bytes=own_bytes, location_bytes=_location_bytes(plan))]
    if plan.estimates is not None:
        names = dict(zip(plan.stored_schema.names, plan.table.schema.names, strict=True))
        names |= {
            name: field.name for name, field in zip(_tuple_names(plan.partitions), plan.partitions.fields, strict=True)
        }
        share = len(paths) / len(plan.paths) / len(frames)
        frames = [with_estimates(frame, plan.table.root, plan.estimates, share, names) for frame in frames]
    if located:
        hidden = METADATA in (name.lower() for name in schema.names)
        frames = [_with_location(frame, hidden, plan.wanted.facts) for frame in frames]
    return union_of_frames(frames)


def _location_bytes(plan: ReadPlan) -> int:
    """The bytes of a row's location that a plan returns, as Spark estimates them."""
    kinds = [*FILE_FACTS.values()] if plan.wanted.facts else []
    kinds += [t.STRING] * (plan.wanted.path is not None) + [t.LONG] * (plan.wanted.position is not None)
    return sum(_STRING_BYTES if kind == t.STRING else _LONG_BYTES for kind in kinds)


def _listed_by_spark(
    spark: SparkSession, scan: FileScan, schema: spark_types.StructType, paths: Sequence[str]
) -> list[DataFrame]:
    """Spark's scans of the files: one for most files, and one for each path that cannot be read with others."""
    reader = spark.read.format(PARQUET_FORMAT).schema(schema).options(**READER_OPTIONS)
    if isinstance(scan, HiveScan):
        reader = reader.option("basePath", scan.base_path)
    alone = set(paths if len(paths) == 1 else filter(needs_own_scan, paths))
    together = [escape_globs(path) for path in paths if path not in alone]
    frames = [loaded(reader, together)] if together else []
    return frames + [reader.option("__globPaths__", "false").load(path) for path in alone]


def _given(plan: ReadPlan, scan: FileScan) -> tuple[Sequence[int], Sequence[int]] | None:
    """The sizes and times of the files of a scan; None if Spark lists them."""
    if isinstance(scan, UnlistedScan):
        return scan.sizes, scan.times
    if plan.sizes is None or plan.times is None:
        return None
    return [plan.sizes[row] for row in scan.rows], [plan.times[row] for row in scan.rows]


def _with_location(frame: DataFrame, hidden: bool, facts: bool) -> DataFrame:
    """A scan with the file path of each row and its row number in the file.

    hidden: Whether the files have a column with the name of Spark's metadata column. facts: Whether to add FILE_FACTS.
    """
    fields = {_PATH: "file_path", _ROW: "row_index", **{fact_column(name): name for name in FILE_FACTS if facts}}
    if not hidden:
        return frame.selectExpr("*", *(f"{METADATA}.{field} AS {name}" for name, field in fields.items()))
    metadata = metadata_column(frame)
    return frame.select("*", *(metadata[field].alias(name) for name, field in fields.items()))


def _keys(paths: Sequence[str]) -> pa.StringArray:
    """The paths as Spark writes them in its metadata."""
    return pa.array([metadata_path(path) for path in paths], pa.string())


def _hive_names(plan: ReadPlan) -> list[str]:
    """The names of the partition columns in directory names."""
    names = dict(zip(plan.table.schema.names, plan.stored_schema.names, strict=True))
    return [names[field.name] for field in plan.partitions.fields]


def _own_fields(plan: ReadPlan) -> list[spark_types.StructField]:
    """The columns that files have under the same names."""
    return [spark_types.StructField(field.name, logical_type(field)) for field in plan.wanted.own]


def _own_names(plan: ReadPlan) -> list[str]:
    """Names of the `own` columns that are not columns of the table."""
    return [field.name for field in plan.wanted.own if field.name not in plan.table.schema.names]


def _partition_values(plan: ReadPlan, scan: FileScan) -> dict[str, str]:
    """SQL text of each partition value in the rows of `_files`, by logical name of the partition column."""
    table = plan.partitions
    if isinstance(scan, ConstantScan):
        values = zip(table.fields, _carried(table, table.tuples.slice(scan.code, 1)), strict=True)
        return {f.name: decoded_sql(carrier_sql(value[0].as_py()), f.type, logical_type(f)) for f, value in values}
    if isinstance(scan, HiveScan):
        return {f.name: _of_directory(name, f) for f, name in zip(table.fields, _hive_names(plan), strict=True)}
    return {f.name: quoted_name(name) for f, name in zip(table.fields, _tuple_names(table), strict=True)}


def _of_directory(name: str, field: t.StructField) -> str:
    """SQL text of a value that Spark reads from directory names, with its collation."""
    target = logical_type(field)
    return decoded_sql(quoted_name(name), field.type, target) if target != spark_type(field.type) else quoted_name(name)


def _tuple_names(table: PartitionTuples) -> list[str]:
    """Names of the columns of `tuples_of`."""
    return [f"__deltaskip_partition_{field.name}" for field in table.fields]


def _carried(table: PartitionTuples, rows: pa.Int64Array) -> list[pa.Array]:
    """The carriers of each partition column's values in these files."""
    return [carriers(values.take(rows), f.type) for f, values in zip(table.fields, table.values, strict=True)]


def _selected(
    plan: ReadPlan, frame: DataFrame, partition_values: Mapping[str, str], beside: Sequence[str] = ()
) -> DataFrame:
    """The table's columns in the order of the schema, from a DataFrame of the files' columns under physical names.

    The columns are SQL text where possible: SQL text needs one request to the JVM, a Column needs six.

    partition_values: the SQL text of each partition column, by logical name. beside: the SQL text of further columns.
    """
    mode = plan.table.mapping_mode
    fields = zip(plan.table.schema.fields, plan.stored_schema.fields, strict=True)
    spark = frame.sparkSession
    whole = frame.schema if _reads_structs_whole(spark, plan) else None
    columns = [*(_logical_column(field, stored, mode, partition_values, whole) for field, stored in fields), *beside]
    texts = [column for column in columns if isinstance(column, str)]
    called = _OF_COLUMNS if len(texts) < len(columns) else frozenset[str]()
    called |= {name for text in texts if "(" in text for name in called_names(text)}
    if called:
        check_functions(spark, called)
    if len(texts) == len(columns):
        return selected(frame, *texts)
    return frame.select(*(own_column(spark, column) if isinstance(column, str) else column for column in columns))


def _reads_structs_whole(spark: SparkSession, plan: ReadPlan) -> bool:
    """Whether structs must be read with all of their fields, since Spark takes one without a field to read for NULL.

    A file lacks the fields that were added later. # Spark 4.1, SPARK-53535
    """
    if plan.table.mapping_mode != "none" or not any(_has_fields_to_add(field.type) for field in plan.data.fields):
        return False
    is_old = tuple(map(int, spark.version.split(".")[:2])) < (4, 1)
    return is_old or str(spark.conf.get(_NULL_STRUCTS, "false")).lower() == "true"


def _has_fields_to_add(data_type: t.DataType) -> bool:
    return any(isinstance(each, t.StructType) and len(each.fields) > 1 for each in t.nested_types(data_type))


def _logical_column(
    field: t.StructField,
    stored: t.StructField,
    mode: t.MappingMode,
    partition_values: Mapping[str, str],
    whole: spark_types.StructType | None,
) -> str | Column:
    """A column of the table. stored: The column with physical names. whole: See `_reads_structs_whole`."""
    name = quoted_name(field.name)
    if field.name in partition_values:
        # A literal is not nullable, a directory's value is: make both nullable. (Spark would fold a plain TRUE.)
        return f"CASE WHEN NOT false THEN {partition_values[field.name]} END AS {name}"
    if field.type == t.VOID:
        return f"NULL AS {name}"
    if field.type in UNPUSHED:
        return f"{quoted_name(stored.name)} * {UNPUSHED[field.type]} AS {name}"
    is_whole = whole is not None and _has_fields_to_add(field.type)
    if holds_void(field.type) or is_whole:
        column = F.col(quoted_name(stored.name))
        if whole is not None and is_whole:
            # Spark reads the fields of a struct that a query uses, and all fields of one that it casts.
            column = column.cast(_renamed(whole[stored.name].dataType)).cast(whole[stored.name].dataType)
        return (_rebuilt(column, field.type, stored.type) if holds_void(field.type) else column).alias(field.name)
    if mode == "none":
        paths = list(_floats(field.type))
        return _unpushed(field, paths) if paths else name
    # A cast between structs with the same number of fields is by position, at any depth. In mode "id" it also removes
    # the field ids, which an alias would keep.
    if mode == "id" or _names(field.type) != _names(stored.type):
        return F.col(quoted_name(stored.name)).cast(logical_type(field)).alias(field.name)
    return f"{quoted_name(stored.name)} AS {name}"


def _renamed(data_type: spark_types.DataType) -> spark_types.DataType:
    """A type with other names of fields."""
    match data_type:
        case spark_types.StructType():
            fields = [spark_types.StructField(f"{f.name}_", _renamed(f.dataType), f.nullable) for f in data_type.fields]
            return spark_types.StructType(fields)
        case spark_types.ArrayType():
            return spark_types.ArrayType(_renamed(data_type.elementType), data_type.containsNull)
        case spark_types.MapType():
            key, value = _renamed(data_type.keyType), _renamed(data_type.valueType)
            return spark_types.MapType(key, value, data_type.valueContainsNull)
        case _:
            return data_type


def _floats(data_type: t.DataType) -> Iterator[tuple[tuple[str, ...], t.DataType]]:
    """The path and type of each floating-point field below structs; Spark pushes no predicate on arrays and maps."""
    if isinstance(data_type, t.StructType):
        for each in data_type.fields:
            if each.type in UNPUSHED:
                yield (each.name,), each.type
            yield from (((each.name, *path), found) for path, found in _floats(each.type))


def _unpushed(field: t.StructField, paths: Sequence[tuple[tuple[str, ...], t.DataType]]) -> Column:
    """A struct whose floating-point fields are multiplied by one. Spark reads only the fields that a query uses."""
    column = F.col(quoted_name(field.name))
    found = column
    for path, data_type in paths:
        name = ".".join(map(quoted_name, path))
        found = found.withField(name, reduce(Column.getField, path, column) * F.expr(UNPUSHED[data_type]))
    return found.alias(field.name)


def _rebuilt(column: Column, data_type: t.DataType, stored: t.DataType) -> Column:
    """`column` with logical names and the void fields, which files do not contain, at every depth.

    stored: The type with physical names.
    """
    match data_type, stored:
        case t.StructType(fields), t.StructType(their):
            parts = [
                F.lit(None).alias(f.name)
                if f.type == t.VOID
                else _rebuilt(column.getField(its.name), f.type, its.type).alias(f.name)
                for f, its in zip(fields, their, strict=True)
            ]
            return F.when(column.isNotNull(), F.struct(*parts))
        case t.ArrayType(element), t.ArrayType(its):
            return F.transform(column, lambda value: _rebuilt(value, element, its))
        case t.MapType(key, value_type), t.MapType(its_key, its_value):
            keys = F.transform_keys(column, lambda k, _: _rebuilt(k, key, its_key))
            return F.transform_values(keys, lambda _, value: _rebuilt(value, value_type, its_value))
        case _:
            return column


def _names(data_type: t.DataType) -> list[str]:
    """The names of all fields inside a type."""
    match data_type:
        case t.StructType(fields):
            return [name for f in fields for name in (f.name, *_names(f.type))]
        case t.ArrayType(element):
            return _names(element)
        case t.MapType(key, value):
            return [*_names(key), *_names(value)]
        case _:
            return []
