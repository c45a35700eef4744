"""Writes of a DataFrame as data files of a table: one Spark job checks and stores rows, and footers give statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.actions import AddFile, parse_partition_value, serialize_partition_value
from deltaskip.actions.partition_folders import HIVE_NULL
from deltaskip.actions.paths import encode_path
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows, delete_data_files
from deltaskip.errors import SparkUnavailable, StorageError, UnsupportedFeature
from deltaskip.features.change_data_feed import CHANGE_FOLDER
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.maintenance.recompute.computed_files import DataFile
from deltaskip.records import dataclass
from deltaskip.rows.arrow_layout import plain_table
from deltaskip.rows.plan import RowPlan
from deltaskip.rows.rules import partition_values_named
from deltaskip.rows.store import check_assignable, written_type
from deltaskip.schema.mapping import NESTED_IDS_KEY, field_id, physical_schema
from deltaskip.schema.properties import DEFAULT_CODEC
from deltaskip.settings import options
from deltaskip.spark.columns.spark_types import collectable, data_schema
from deltaskip.spark.recompute.job import file_statistics
from deltaskip.spark.session.error_conversion import row_errors_named
from deltaskip.spark.session.own_texts import own_column
from deltaskip.spark.session.releases import counted_rows, union_of_frames
from deltaskip.spark.session.session_settings import SESSION_CODEC, SESSION_MAX_ROWS, described_jobs, with_settings
from deltaskip.spark.write.checked_rows import rows_to_write, violation_of
from deltaskip.spark.write.parquet_writes import WRITE_SETTINGS, new_folder, write_parquet
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.file_facts import FileReader, stats_json
from deltaskip.stats.footer import read_footer
from deltaskip.stats.stats_columns import StatColumn, indexed_columns
from deltaskip.stats.tags import written_tags
from deltaskip.storage import join, uri_of
from deltaskip.storage.gate import delete_folder

# Round trips of footers overlap; more threads would wait for the GIL.
_FOOTER_READERS = 16
# Steps between consecutive identity values of a task. They also bound the gaps that a small write leaves.
_IDENTITY_TASKS = 16
_WRITER_VERSION = "parquet.writer.version"
# org.apache.parquet.hadoop.ParquetOutputFormat
_FILTERS, _ADAPTIVE_FILTERS = "parquet.bloom.filter.enabled", "parquet.bloom.filter.adaptive.enabled"
_INFERRED_SHREDDING = "spark.sql.variant.inferShreddingSchema"
_FORCED_SHREDDING = "spark.sql.variant.forceShreddingSchemaForTest"
_POLICY = "spark.sql.storeAssignmentPolicy"
_SHUFFLED_BYTES = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
# Rows in a shuffle take about twice the bytes of their file.
_SHUFFLED_PER_WRITTEN = 2
_WIDTHS: dict[t.DataType, int] = {t.BOOLEAN: 1, t.BYTE: 1, t.SHORT: 2, t.INTEGER: 4, t.FLOAT: 4, t.DATE: 4}
_Row = TypeVar("_Row")
_Result = TypeVar("_Result")


RowsToWrite = tuple[DataFrame, RowPlan]
"""Rows with the columns that a plan was made for."""


def write_dataframe(frame: DataFrame, plan: RowPlan, layout: DataFileLayout) -> WrittenRows:
    """Write the rows of a DataFrame, classic or Connect, in one Spark job, see `write_dataframes`."""
    return write_dataframes([(frame, plan)], layout)


def write_dataframes(rows: Sequence[RowsToWrite], layout: DataFileLayout, most_tasks: int | None = None) -> WrittenRows:
    """Write the rows of DataFrames of one session together, in one Spark job. After an error no file is left.

    Args:
        rows: The rows, each with its plan. The plans are for one table and have the same columns.
            A write with rows that get values of identity columns has no other rows.
        layout: The place and the contents of the files.
        most_tasks: The greatest number of tasks that write rows of a table without partitions; None for no limit.

    Raises:
        RowViolation: A row violates a rule of the table, or a value does not fit its column.
        InvalidArgument: Spark cannot compute a row.
        UnsupportedFeature: This version of Spark cannot write a column.
        StorageError: The files cannot be written or listed, or their footers cannot be read.
        SparkUnavailable: The session was stopped.
    """
    folder = f"{CHANGE_FOLDER}/{new_folder()}" if layout.change_data else new_folder()
    [(frame, plan), *_] = rows
    plans = [each for _, each in rows]
    with row_errors_named(frame.sparkSession, plan.table):
        stored = _stored(rows)
        texts = _folder_columns(layout)
        stored = stored.select(*_data_columns(plan, layout), *_partition_texts(frame.sparkSession, layout, texts))
        stored, settings = _balanced(stored, texts, layout)
        unshredded = {} if layout.may_shred else {_FORCED_SHREDDING: ""}
        stored, in_settings = with_settings(stored, {**WRITE_SETTINGS, **unshredded, **settings})
        # Below the sort: Spark must see the order of the rows that it writes.
        stored, counted = counted_rows(stored)
        if layout.sort_by:
            stored = _sorted(stored, texts, layout)
        if most_tasks is not None and not texts and not layout.balanced:
            stored = stored.coalesce(most_tasks)
        options = {"maxRecordsPerFile": str(_rows_per_file(frame, layout))}
        if not layout.may_shred:
            options[_INFERRED_SHREDDING] = "false"
        if layout.page_version == "2.0":
            options[_WRITER_VERSION] = "PARQUET_2_0"
        options |= _filter_options(layout)
        codec = layout.codec
        if codec is None and frame.sparkSession.conf.get(SESSION_CODEC, None) is None:
            codec = DEFAULT_CODEC
        target = layout.storage, layout.root, folder
        with _violations_named(plans), in_settings:
            found = write_parquet(stored, *target, texts, codec=codec, options=options)
    try:
        files = _with_facts(frame, found.to_pylist(), _numbered_columns(plan, layout), layout)
        _check_complete(sum(file.rows for file in files), counted(), join(layout.root, folder))
        for file in files:
            if not file.rows:
                delete_data_files(layout.storage, layout.root, [file.path])
        files = [file for file in files if file.rows]
        adds = tuple(_adds(files, layout))
        return WrittenRows(adds, sum(file.rows for file in files), _identities(files, plan, layout), folder)
    except BaseException:
        delete_folder(layout.storage, layout.root, folder)
        raise


def _filter_options(layout: DataFileLayout) -> dict[str, str]:
    """The options of parquet-mr that write Bloom filters, whose size it adapts to the distinct values."""
    if not layout.bloom or layout.change_data:
        return {}
    paths = [column.physical for column in layout.bloom]
    return {_ADAPTIVE_FILTERS: "true", **{f"{_FILTERS}#{'.'.join(path)}": "true" for path in paths}}


def can_collect(spark: SparkSession, layout: DataFileLayout) -> bool:
    """Return whether `collected_rows` supports a session and the types of a table."""
    if spark.version.startswith("3."):
        return False
    found = [each for field in layout.schema.fields for each in t.nested_types(field.type)]
    # PySpark 4.2 and 4.3 fail to collect shapes that are NULL.
    return not any(each in (t.VARIANT, t.VOID) or isinstance(each, (t.UnknownType, *t.GEOSPATIAL)) for each in found)


def collected_rows(rows: Sequence[RowsToWrite], layout: DataFileLayout) -> pa.Table:
    """Return the rows of DataFrames as they would be stored, with the columns that `write_data_files` takes.

    Args:
        rows: The rows, as `write_dataframes` takes them, but without values of identity columns to fill.
        layout: The contents of files.

    Raises:
        RowViolation: A row violates a rule of the table, or a value does not fit its column.
        InvalidArgument: Spark cannot compute a row.
        SparkUnavailable: The session was stopped.
    """
    [(frame, plan), *_] = rows
    fields = [*layout.schema.fields, *layout.extra]
    spark, plans = frame.sparkSession, [each for _, each in rows]
    described = described_jobs(spark, f"compute rows of {plan.table}")
    with row_errors_named(spark, plan.table), _violations_named(plans), described:
        found = collectable(_stored(rows).select(*(quoted_name(field.name) for field in fields))).toArrow()
    types = t.StructType(tuple(t.StructField(f.name, written_type(f.type, (f.name,), plan.table)) for f in fields))
    return plain_table(found, types, plan.table)


@contextmanager
def _violations_named(plans: Sequence[RowPlan]) -> Iterator[None]:
    """Within the block, raise RowViolation for a row that makes a job fail by a rule of the plans."""
    try:
        yield
    except Exception as error:
        violation = violation_of(error, *plans)
        if violation is None:
            raise
        raise violation from error


def _stored(rows: Sequence[RowsToWrite]) -> DataFrame:
    """The rows as they will be stored, each checked by the rules of its plan."""
    frames, rules = [], 0
    strict = str(rows[0][0].sparkSession.conf.get(_POLICY)).upper() == "STRICT"
    for frame, plan in rows:
        if strict:
            for column in plan.columns:
                if column.source is not None:
                    path = (column.field.name,)
                    check_assignable(column.source.type, column.field.type, path, plan.table, strict=True)
        numbered = any(column.origin == "identity" for column in plan.columns)
        source = frame.coalesce(_IDENTITY_TASKS) if numbered else frame
        frames.append(rows_to_write(source, plan, _IDENTITY_TASKS if numbered else 0, rules))
        rules += len(plan.rules)
    return union_of_frames(frames)


def _balanced(rows: DataFrame, texts: Sequence[str], layout: DataFileLayout) -> tuple[DataFrame, dict[str, str]]:
    """The rows by partition, in tasks of about one file each, and the settings that this needs."""
    if layout.arranged or (not texts and not layout.balanced):
        return rows, {}
    if texts and int(rows.sparkSession.version.partition(".")[0]) < 4:
        # In Spark 3.5 the hint takes no columns from Python, so one task writes a large partition.
        return rows.repartition(*map(_named, texts)), {}
    return rows.hint("rebalance", *map(quoted_name, texts)), {
        _SHUFFLED_BYTES: str(_SHUFFLED_PER_WRITTEN * layout.target_bytes)
    }


def _sorted(rows: DataFrame, texts: Sequence[str], layout: DataFileLayout) -> DataFrame:
    """The rows of each task by partition, and in each by the sort order of the table.

    Spark sorts the rows of a task by partition again unless it knows this order. It recognizes the order only if the
    texts are never NULL.
    """
    if texts:
        rows = rows.withColumns({name: F.coalesce(_named(name), F.lit(HIVE_NULL)) for name in texts})
    order = []
    for each in layout.sort_by:
        column = F.col(".".join(quoted_name(name) for name in each.physical))
        if each.descending:
            order.append(column.desc_nulls_first() if each.nulls_first else column.desc_nulls_last())
        else:
            order.append(column.asc_nulls_first() if each.nulls_first else column.asc_nulls_last())
    return rows.sortWithinPartitions(*map(_named, texts), *order)


def _named(name: str) -> Column:
    return F.col(quoted_name(name))


def _folder_columns(layout: DataFileLayout) -> list[str]:
    """The names of columns with the texts of partition values, which are in the names of folders.

    They are the partition columns, because Polars takes the values from there, unless files have columns of these
    names, or paths have no logical names.
    """
    if layout.mapping_mode == "none" and not layout.keeps_partition_columns:
        return list(layout.partition_columns)
    return [f"part{i}" for i in range(len(layout.partition_columns))]


def _rows_per_file(frame: DataFrame, layout: DataFileLayout) -> int:
    """The number of uncompressed rows in a file of the target size, or the lower limit that is set; 0 for no limit."""
    if layout.arranged:
        return 0
    limit = max(1, layout.target_bytes // sum(map(_width, t.nested_types(layout.schema))))
    chosen = layout.max_rows
    if chosen is None:
        chosen = int(frame.sparkSession.conf.get(SESSION_MAX_ROWS, "0") or 0)
    return min(limit, chosen) if chosen > 0 else limit


def _width(data_type: t.DataType) -> int:
    """Approximate bytes of a value, without its fields or elements."""
    if isinstance(data_type, t.DecimalType):
        return 8 if data_type.precision <= 18 else 16
    return _WIDTHS.get(data_type, 20 if data_type in (t.STRING, t.BINARY, t.VARIANT) else 8)


def _data_columns(plan: RowPlan, layout: DataFileLayout) -> Iterator[Column]:
    """The columns of the files under their physical names, with Parquet field ids where columns are mapped."""
    mode, partitions = layout.mapping_mode, layout.partition_columns
    if mode == "none":
        names = [column.field.name for column in plan.columns if column.field.name not in partitions]
        yield from (F.col(quoted_name(name)) for name in [*names, *_kept_partitions(layout)])
    else:
        yield from _mapped_columns(plan, layout)
    for field in layout.extra:
        number = field_id(field)
        column = F.col(quoted_name(field.name))
        yield column if number is None else column.alias(field.name, metadata={"parquet.field.id": number})


def _mapped_columns(plan: RowPlan, layout: DataFileLayout) -> Iterator[Column]:
    _check_nested_ids(plan, layout)
    logical = {t.physical_name(field, layout.mapping_mode): field.name for field in layout.schema.fields}
    stored = {logical[field.name]: field for field in data_schema(physical_schema(layout.schema, "id"), "id").fields}
    for name in [*(name for name in stored if name not in layout.partition_columns), *_kept_partitions(layout)]:
        field = stored[name]
        yield F.col(quoted_name(name)).cast(field.dataType).alias(field.name, metadata=field.metadata)


def _kept_partitions(layout: DataFileLayout) -> Sequence[str]:
    """The partition columns that files contain; they follow the data columns (PROTOCOL, IcebergCompatV1)."""
    return layout.partition_columns if layout.keeps_partition_columns else ()


def field_with_nested_ids(layout: DataFileLayout) -> t.StructField | None:
    """Return the first field with ids of elements, keys and values, which Spark's writer cannot put into files."""
    return next((field for field in t.nested_fields(layout.schema) if NESTED_IDS_KEY in field.metadata), None)


def _check_nested_ids(plan: RowPlan, layout: DataFileLayout) -> None:
    found = field_with_nested_ids(layout)
    if found is not None:
        raise UnsupportedFeature(
            f"Spark cannot write the column {found.name} of {plan.table}, because Iceberg compatibility needs Parquet "
            f"field ids of array elements and map entries: append Arrow data instead, such as the result of "
            f"DataFrame.toArrow()."
        )


def _partition_texts(spark: SparkSession, layout: DataFileLayout, names: Sequence[str]) -> Iterator[Column]:
    for field, name in zip(layout.partition_fields(), names, strict=True):
        yield own_column(spark, _text_sql(quoted_name(field.name), field.type)).alias(name)


def _text_sql(column: str, data_type: t.DataType) -> str:
    """SQL text of the string in the name of a folder, as Hive has it, whatever the time zone of the session.

    Strings that begin with the name of NULL get one more character. BINARY is in hexadecimal digits.
    """
    if data_type == t.STRING:
        text = f"CAST({column} AS STRING)"
        return f"if(startswith({text}, '{HIVE_NULL}'), concat({text}, '_'), {text})"
    if data_type == t.TIMESTAMP:
        # Seconds are of the type of an interval, of which no time zone moves a local time.
        since = f"CAST(unix_micros({column}) * 0.000001BD AS INTERVAL SECOND)"
        return f"CAST(TIMESTAMP_NTZ'1970-01-01 00:00:00' + {since} AS STRING)"
    if data_type == t.BINARY:
        return f"hex({column})"
    return f"CAST({column} AS STRING)"


def _log_text(text: str | None, data_type: t.DataType) -> str | None:
    if text is None:
        return None
    if data_type == t.STRING:
        return text[:-1] if text.startswith(HIVE_NULL) else text
    if data_type == t.BINARY:
        return serialize_partition_value(bytes.fromhex(text), data_type)
    return serialize_partition_value(parse_partition_value(text, data_type), data_type)


def _check_complete(found: int, counted: int | None, location: str) -> None:
    """Raise StorageError if the files of a job do not have all its rows. counted: None if unknown."""
    if counted is not None and found != counted:
        raise StorageError(
            f"Spark wrote {counted} rows to {location}, but the files there have {found}, so nothing was committed: "
            "unset spark.sql.sources.commitProtocolClass and spark.sql.parquet.output.committer.class, whose classes "
            "decide where the files of a job are."
        )


@dataclass(slots=True)
class _WrittenFile:
    """A row of WRITTEN_SCHEMA, and the facts in its footer.

    rows: The number of rows. stats: The statistics of an add action; None if the footer does not prove all of them.
    bounds: The least and the greatest value of each identity column that got values.
    """

    path: str
    size: int
    modification_time: int
    partition_texts: list[str | None]
    rows: int = 0
    stats: str | None = None
    bounds: tuple[tuple[Any, Any], ...] = ()


def _with_facts(
    frame: DataFrame, found: Sequence[Mapping[str, Any]], numbered: tuple[StatColumn, ...], layout: DataFileLayout
) -> list[_WrittenFile]:
    """The files with their statistics. The driver reads each footer once; executors read the values that are needed."""
    storage, root, request = layout.storage, layout.root, layout.request
    reader = FileReader(request)
    identities = FileReader(statistics_request(numbered, mapping_mode=layout.mapping_mode))

    def described(row: Mapping[str, Any]) -> _WrittenFile:
        file = _WrittenFile(**row)
        location = join(root, file.path)
        footer = read_footer(storage, location, file.size)
        file.rows = footer.num_rows
        facts = reader.footer_facts(footer, location)
        file.stats = None if facts is None else stats_json(facts, request)
        if numbered:
            values = identities.facts(storage, location, footer=footer).columns
            file.bounds = tuple((each.extremes.low, each.extremes.high) for each in values)
        return file

    files = list(_side_by_side(described, found, layout))
    unproved = [file for file in files if file.stats is None and file.rows]
    if unproved and sum(file.size for file in unproved) > options.footer_bytes:
        data_files = [DataFile(i, join(root, file.path), file.size) for i, file in enumerate(unproved)]
        try:
            computed = file_statistics(frame.sparkSession, storage, uri_of(root), data_files, request)
        except SparkUnavailable:
            # The executors lack this package, which writing does not need.
            pass
        else:
            for file, result in zip(unproved, computed, strict=True):
                file.stats = result.stats
            return files

    def scanned(file: _WrittenFile) -> str:
        return stats_json(reader.facts(storage, join(root, file.path), size=file.size), request)

    for file, stats in zip(unproved, _side_by_side(scanned, unproved, layout), strict=True):
        file.stats = stats
    return files


def _adds(files: Sequence[_WrittenFile], layout: DataFileLayout) -> Iterator[AddFile]:
    fields = layout.partition_fields()
    names = [t.physical_name(field, layout.mapping_mode) for field in fields]
    for file in files:
        values = {}
        for name, field, text in zip(names, fields, file.partition_texts, strict=True):
            with partition_values_named(field, layout.root):
                values[name] = _log_text(text, field.type)
        tags = written_tags(file.stats, layout.request.columns)
        yield AddFile(
            encode_path(file.path), values, file.size, file.modification_time, True, stats=file.stats, tags=tags
        )


def _numbered_columns(plan: RowPlan, layout: DataFileLayout) -> tuple[StatColumn, ...]:
    """The identity columns that got values."""
    names = [quoted_name(column.field.name) for column in plan.columns if column.origin == "identity"]
    if not names:
        return ()
    return indexed_columns(layout.schema, mapping_mode=layout.mapping_mode, columns=names)


def _identities(files: Sequence[_WrittenFile], plan: RowPlan, layout: DataFileLayout) -> dict[str, IdentityColumn]:
    """The state of identity columns after the values in the files."""
    states = {c.field.name: c.identity for c in plan.columns if c.origin == "identity" and c.identity is not None}
    for i, column in enumerate(_numbered_columns(plan, layout)):
        name = column.logical[0]
        for file in files:
            states[name] = states[name].after(value for value in file.bounds[i] if value is not None)
    return states


def _side_by_side(act: Callable[[_Row], _Result], rows: Sequence[_Row], layout: DataFileLayout) -> Iterator[_Result]:
    if not layout.storage.remote or len(rows) < 2:
        yield from map(act, rows)
        return
    with ThreadPoolExecutor(_FOOTER_READERS, "deltaskip") as pool:
        yield from pool.map(act, rows)
