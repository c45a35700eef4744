"""Settings of a session with which Spark's Parquet reader finds other values in files than every other reader.

* `spark.sql.caseSensitive`: a column is NULL in files that have it in another letter case, as some engines write them.
* `spark.sql.parquet.int96TimestampConversion`, which is meant for files of Impala: INT96 are moved by the time zone of
  the session, unless the file names parquet-mr as its writer.

Spark asks for them when it plans a scan, and no option of the reader replaces them. Footers are read only where one is
set. # Spark 4.1, ParquetFileFormat.buildReaderWithPartitionValues
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from deltaskip.errors import UnsupportedFeature
from deltaskip.reading.read_plan import ReadPlan
from deltaskip.sparkexpr import types as t
from deltaskip.stats.footer import Footer, read_footer
from deltaskip.stats.footer_columns import ParquetNode, parquet_root
from deltaskip.storage import storage_for

_CASE, _CONVERSION = "spark.sql.caseSensitive", "spark.sql.parquet.int96TimestampConversion"
_WRITER = b"parquet-mr"
_TYPE, _INT96 = 1, 3
_AT_ONCE = 32
# Files that were found to be read as they are, by path, columns and settings: data files do not change.
_sound: dict[tuple[str, str, bool, bool], None] = {}
_MOST_SOUND = 100_000


def misread(
    spark: SparkSession,
    schema: t.StructType,
    by_id: bool,
    paths: Callable[[], Iterable[str]],
    options: Mapping[str, str] | None,
) -> tuple[str, str] | None:
    """Return the setting with which Spark finds other values in a file, and a sentence about that; None if it does not.

    Args:
        spark: The session, classic or Connect.
        schema: The columns that are read from the files, under the names that files have.
        by_id: Whether columns are found by their field ids.
        paths: Returns the spark_path of each file.
        options: Options of the table's object store.

    Raises:
        DataFileMissing: A file is not in storage.
        StorageError: A footer cannot be read.
    """
    case = not by_id and _is_set(spark, _CASE)
    int96 = t.TIMESTAMP in t.nested_types(schema) and _is_set(spark, _CONVERSION)
    if not case and not int96:
        return None
    columns = str(schema) if case else ""
    unknown = [path for path in paths() if (path, columns, case, int96) not in _sound]

    def problem(path: str) -> tuple[str, str] | None:
        location = path.removeprefix("file:")
        footer = read_footer(storage_for(location, options), location)
        if int96 and not footer.created_by.startswith(_WRITER) and _has_int96(footer):
            return _CONVERSION, f"would move the timestamps of {path} (INT96, not written by parquet-mr)"
        name = next(_in_other_case(parquet_root(footer.elements).children, schema), None) if case else None
        return None if name is None else (_CASE, f"would find no {name} in {path}, which has it in another letter case")

    with ThreadPoolExecutor(_AT_ONCE, "deltaskip") as pool:
        for path, found in zip(unknown, pool.map(problem, unknown), strict=True):
            if found is not None:
                return found
            _sound[path, columns, case, int96] = None
    for old in list(_sound)[: max(0, len(_sound) - _MOST_SOUND)]:
        _sound.pop(old, None)
    return None


def check_settings(spark: SparkSession, plan: ReadPlan) -> None:
    """Raise UnsupportedFeature if Spark would find other values in the files of a plan; others as `misread`."""
    table = plan.table
    found = misread(spark, plan.data, table.mapping_mode == "id", lambda: plan.paths, table.storage_options)
    if found is not None:
        name, said = found
        raise UnsupportedFeature(
            f"{name} is true, so Spark {said}: set it to false in this session to read {table.root}, or read the rows "
            f"without Spark, by to_arrow."
        )


def _is_set(spark: SparkSession, name: str) -> bool:
    return str(spark.conf.get(name, "false")).lower() == "true"


def _has_int96(footer: Footer) -> bool:
    return any(element.get(_TYPE) == _INT96 for element in footer.elements)


def _in_other_case(nodes: Sequence[ParquetNode], data_type: t.DataType) -> Iterator[str]:
    """The names of fields that the nodes of a file have only in another letter case."""
    if isinstance(data_type, t.StructType):
        names = {node.name: node for node in nodes}
        folded = set(map(t.fold_name, names))
        for field in data_type.fields:
            if field.name in names:
                yield from _in_other_case(names[field.name].children, field.type)
            elif t.fold_name(field.name) in folded:
                yield t.display_name((field.name,))
    elif isinstance(data_type, t.ArrayType | t.MapType):
        # Groups around elements, keys and values have names of their own.
        inner = [data_type.element] if isinstance(data_type, t.ArrayType) else [data_type.key, data_type.value]
        below = [*_below(nodes)]
        for each in inner:
            yield from _in_other_case(below, each)


def _below(nodes: Sequence[ParquetNode]) -> Iterator[ParquetNode]:
    for node in nodes:
        yield node
        yield from _below(node.children)
