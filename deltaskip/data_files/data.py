"""The rows that a caller passes: a Spark DataFrame, Arrow data of any library, or lists and dicts of Python."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip import arguments
from deltaskip.data_files.duckdb_relation import rows_of_relation
from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WritingEngine, WrittenRows
from deltaskip.engine import current_collation_version, engine
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType
from deltaskip.redaction import redacted
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.arrow_layout import plain_batches, plain_table, with_schema
from deltaskip.rows.plan import RowPlan
from deltaskip.rows.schema_merge import incoming_schema
from deltaskip.schema.user_schema import schema_of
from deltaskip.sparkexpr.types import StructType, collation_inside, display_name, fields_at, with_collations

ROWS = (
    "a DataFrame of Spark, pandas or Polars, a list of dicts such as [{'id': 1}], or Arrow data such as "
    "pa.table({'id': [1]}) or pyarrow.parquet.read_table(file)"
)
"""The accepted forms of rows, for messages."""

# What pandas calls columns of objects of one kind. It takes datetimes for dates.
_ONE_KIND = ("string", "bytes", "boolean", "integer", "floating", "decimal", "empty")
_DUCKDB = ("duckdb", "_duckdb")
_MOST_BYTES = 1 << 30
_UNITS = {
    **dict.fromkeys(("M8[Y]", "M8[M]", "M8[W]", "M8[D]"), "datetime64[D]"),
    **dict.fromkeys(("M8[h]", "M8[m]"), "datetime64[s]"),
}
# Libraries whose objects return the same rows each time.
_REPEATABLE = ("pyarrow", "pandas", "geopandas", "polars", "deltaskip")


class GivenRows:
    """Rows to be written, with their schema.

    Args:
        data: A PySpark DataFrame, classic or Connect; an object with `__arrow_c_stream__`: tables, batches and
            readers of pyarrow, pandas and polars DataFrames, relations of DuckDB, tables and scans of deltaskip; a
            dataset or scanner of pyarrow; a LazyFrame of polars; or a list of dicts or a dict of lists.
        name: The name of the argument, for messages.

    Raises:
        InvalidArgumentType: `data` is none of these, or has columns without an Arrow type.
        InvalidArgument: A LazyFrame cannot be computed, Python values have no Arrow type, or the session of a DataFrame
            was stopped.
    """

    def __init__(self, data: Any, name: str = "data") -> None:
        self._frame = self._reader = None
        self._data = data
        self._name = name
        self._schema: StructType | None = None
        # Cached rows, in the layout in which they were given, which are the rows from then on.
        self._kept: pa.Table | None = None
        if _library(data) == "pyspark" and hasattr(data, "sparkSession"):
            engine("Writing a DataFrame", WritingEngine).check_frame(data, name)
            self._frame = data
        else:
            self._reader = _reader_of(data, name)

    def schema_for(self, table_schema: StructType) -> StructType:
        """Return the schema of the rows, for a plan of a table with this schema.

        Raises SchemaError for a column whose type has no counterpart in Delta.
        """
        if self._frame is not None:
            try:
                return schema_of(self._frame.schema)
            except DeltaSkipError:
                raise
            except Exception as error:
                # A Connect client analyzes the DataFrame only now.
                raise InvalidArgument(
                    f"Spark cannot determine the columns of {self._name}: {_first_line(error)}"
                ) from error
        given = self._opened().schema
        self._schema = incoming_schema(given, table_schema)
        return self._schema

    def collation_version(self) -> str | None:
        """Return the version of the collations by which the writer compares rows; None if it is not known.

        It is the version of the DataFrame's session, or of the installed Spark.
        """
        if self._frame is None:
            return current_collation_version()
        session = self._frame.sparkSession
        return engine("Writing a DataFrame").collation_version(session)

    @property
    def frame(self) -> Any:
        """The PySpark DataFrame; None for Arrow data."""
        return self._frame

    @property
    def frame_zone(self) -> str:
        """The time zone of the session of the PySpark DataFrame."""
        assert self._frame is not None
        return str(self._frame.sparkSession.conf.get("spark.sql.session.timeZone"))

    @property
    def repeatable(self) -> bool:
        """Whether the rows can be read a second time. Streams cannot; objects of unknown libraries may be streams."""
        return self._frame is not None or _is_repeatable(self._data)

    def batches(self, table: str) -> Iterator[pa.RecordBatch]:
        """Return the rows of Arrow data in the layout of their types, for the schema of the last `schema_for`.

        Args:
            table: The destination table, for messages.

        Raises as `plain_batches` does, and InvalidArgument for a source that fails.
        """
        assert self._schema is not None
        return plain_batches(self._batches(), self._schema, table)

    def table(self, table: str) -> pa.Table:
        """Return the rows of `batches` as a table. They are read from the source once, and cached."""
        assert self._schema is not None
        if self._kept is None:
            schema = self._opened().schema
            # pyarrow cannot join a batch without rows whose buffers end before its offset.
            batches = (batch for batch in self._batches() if len(batch))
            self._kept = _in_one_chunk(pa.Table.from_batches(batches, schema))
        return plain_table(self._kept, self._schema, table)

    def arrow(self, table: str) -> pa.Table:
        """Return the rows as Arrow, also those of a DataFrame, which are collected. table: The table, for messages."""
        if self._frame is not None:
            if not hasattr(self._frame, "toArrow"):
                return pa.Table.from_pylist([row.asDict() for row in self._frame.collect()])
            found: pa.Table = self._frame.toArrow()
            return found
        self.schema_for(StructType(()))
        return self.table(table)

    def write(self, plan: RowPlan, layout: DataFileLayout) -> WrittenRows:
        """Write the rows as data files. After an error no file is left.

        Raises:
            RowViolation: A row violates a rule of the table, or a value does not fit its column.
            UnsupportedFeature: An expression of the table needs a Spark session.
            StorageError: The files cannot be written.
        """
        if self._frame is not None:
            asked = engine(f"Writing a DataFrame to {plan.table}", WritingEngine)
            return asked.write_dataframe(self._frame, plan, layout)
        rows = ArrowRows(plan, layout.time_zone)
        written = write_data_files(rows.stream(self.batches(plan.table)), layout, divided=True)
        return replace(written, identities=rows.identities)

    def _opened(self) -> pa.RecordBatchReader:
        """A reader of the rows from which nothing was read yet. A stream that was read would have no more rows."""
        if self._kept is not None:
            return self._kept.to_reader()
        if self._reader is None:
            if not self.repeatable:
                raise InvalidArgument(
                    f"The rows of {self._name} are a stream, which was read already: pass them as a table, such as "
                    f"pa.table(rows), to read them again."
                )
            self._reader = _reader_of(self._data, self._name)
        return self._reader

    def _batches(self) -> Iterator[pa.RecordBatch]:
        reader, self._reader = self._opened(), None
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except DeltaSkipError:
                raise
            except Exception as error:
                raise InvalidArgument(f"The rows of {self._name} cannot be read: {_first_line(error)}") from error
            if not batch.schema.equals(reader.schema):
                raise InvalidArgument(
                    f"The rows of {self._name} cannot be read: a batch has another schema than the stream."
                )
            yield from _divided(batch)


def rows_or_none(value: Any, name: str) -> GivenRows | None:
    """Return the rows that a value has; None if it is not rows, such as a schema. Raises as GivenRows does."""
    of_schema = isinstance(value, str | StructType | pa.Schema) or hasattr(value, "__arrow_c_schema__")
    datasets = _datasets()
    if isinstance(value, dict) and not all(isinstance(each, list | np.ndarray) for each in value.values()):
        # Types by column, as other libraries have them.
        return None
    rows = (
        isinstance(value, list | dict | pa.RecordBatchReader)
        or hasattr(value, "__arrow_c_stream__")
        or hasattr(value, "__arrow_c_array__")
        or (_library(value) == "pyspark" and hasattr(value, "sparkSession"))
        or (_library(value) == "polars" and hasattr(value, "collect_schema"))
        or (_library(value) == "pandas" and hasattr(value, "reset_index"))
        or (datasets is not None and isinstance(value, datasets.Dataset | datasets.Scanner))
    )
    return GivenRows(value, name) if rows and not of_schema else None


def _reader_of(data: Any, name: str) -> pa.RecordBatchReader:
    """A reader of the rows. Raises InvalidArgumentType with the argument's name if there are none."""
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, type):
        raise InvalidArgumentType.of(name, ROWS, data)
    library = _library(data)
    if library == "deltaskip":
        # The C interface is avoided, since it reduces errors to their messages.
        data = data.scan() if hasattr(data, "scan") else data
        if hasattr(data, "to_batches"):
            reader: pa.RecordBatchReader = data.to_batches()
            fields = fields_at(data.snapshot.schema, data.paths_by_name) if hasattr(data, "paths_by_name") else []
            collated = list(filter(collation_inside, fields))
            return with_schema(reader, with_collations(reader.schema, collated)) if collated else reader
    if library == "polars" and hasattr(data, "collect_schema") and hasattr(data, "lazy"):
        return _computed(data, name)
    datasets = _datasets()
    if datasets is not None and isinstance(data, datasets.Dataset):
        data = data.scanner()
    try:
        if datasets is not None and isinstance(data, datasets.Scanner):
            return data.to_reader()
        if library == "geopandas" and hasattr(data, "to_arrow") and hasattr(data, "reset_index"):
            # As WKB, with the coordinate reference system in the metadata of the extension type geoarrow.wkb.
            data = _with_index_as_columns(data).to_arrow(index=False)
        elif library == "pandas" and hasattr(data, "reset_index"):
            data = _with_index_as_columns(data)
            _check_objects(data, name)
        elif not hasattr(data, "__arrow_c_stream__") and hasattr(data, "__arrow_c_array__"):
            data = pa.record_batch(data)
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        if hasattr(data, "__arrow_c_stream__"):
            return rows_of_relation(data, name) if library in _DUCKDB else pa.RecordBatchReader.from_stream(data)
    except DeltaSkipError:
        raise
    except Exception as error:
        why = "write to_frame() for a table of one column." if hasattr(data, "to_frame") else _first_line(error)
        if library == "pandas" and isinstance(error, pa.ArrowException):
            why += (
                " A column has one type: cast its values, as in frame['c'].astype(str). Maps are lists of pairs in "
                "pandas: read rows with to_pandas(types='arrow')."
            )
        raise InvalidArgumentType(
            f"{name}, a {type(data).__name__}, cannot be converted to Arrow rows: {why}"
        ) from error
    if isinstance(data, list | dict):
        return _python_rows(data, name).to_reader()
    raise InvalidArgumentType.of(name, ROWS, data)


def _divided(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch, in parts of which no column has more text than a string column of Arrow can have: 2 GiB."""
    if batch.num_rows < 2 or batch.nbytes <= _MOST_BYTES:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _divided(batch.slice(0, half))
    yield from _divided(batch.slice(half))


def _in_one_chunk(rows: pa.Table) -> pa.Table:
    """The rows with one chunk for each column, without a second copy of all columns."""
    names = rows.schema
    columns = []
    while rows.num_columns:
        column, rows = rows.column(0), rows.remove_column(0)
        nested = pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type)
        columns.append(column if nested else pa.table([column], names=["c"]).combine_chunks().column(0))
        del column
    return pa.Table.from_arrays(columns, schema=names)


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _datasets() -> Any:
    """The module `pyarrow.dataset`; None if nothing has imported it, or another thread is about to."""
    found = sys.modules.get("pyarrow.dataset")
    return found if hasattr(found, "Scanner") and hasattr(found, "Dataset") else None


def _is_repeatable(data: Any) -> bool:
    datasets = _datasets()
    once: tuple[type, ...] = (pa.RecordBatchReader,)
    if datasets is not None:
        # An InMemoryDataset may wrap a reader, whose rows can be read only once.
        once += (datasets.Scanner, datasets.InMemoryDataset)
    return isinstance(data, list | dict) or (_library(data) in _REPEATABLE and not isinstance(data, once))


def _computed(data: Any, name: str) -> pa.RecordBatchReader:
    """A reader of the rows of a LazyFrame of polars, which computes them while they are read.

    Raises InvalidArgument if its columns are not known, and InvalidArgumentType for a column of Python objects.
    """
    frame = data.lazy()
    try:
        columns = frame.collect_schema()
        wide = next((column for column, kind in columns.items() if str(kind) in ("Int128", "UInt128")), None)
        if wide is not None:
            raise InvalidArgument(
                f"The column {display_name([wide])} of {name} has integers of 128 bits, which Arrow lacks: cast it to "
                f"Int64, or to a Decimal."
            )
        schema = columns.to_frame().to_arrow().schema
    except DeltaSkipError:
        raise
    except Exception as error:
        raise InvalidArgument(f"The rows of {name} cannot be computed: {_first_line(error)}") from error
    for column, kind in columns.items():
        # Polars would export the addresses of the objects.
        if kind.is_object():
            raise InvalidArgumentType(
                f"{name}, a {type(data).__name__}, cannot be converted to Arrow rows: the column {column} has "
                f"Python objects; give it another type, such as String."
            )

    def batches() -> Iterator[pa.RecordBatch]:
        # New in Polars 1.34.
        streams = hasattr(frame, "collect_batches")
        for each in frame.collect_batches(lazy=True, engine="streaming") if streams else [frame.collect()]:
            yield from each.to_arrow().to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def _with_index_as_columns(data: Any) -> Any:
    """A pandas DataFrame with its index as columns, or without it if it has no name and so only numbers the rows."""
    unnamed = all(name is None for name in data.index.names)
    return data.reset_index(drop=True) if unnamed else data.reset_index()


def _check_objects(data: Any, name: str) -> None:
    """Raise InvalidArgument for columns of Python objects of several kinds."""
    from pandas.api.types import infer_dtype

    for at in [at for at, each in enumerate(data.dtypes) if each == object or each == "category"]:  # noqa: E721
        column = data.iloc[:, at]
        values = column.cat.categories if hasattr(column, "cat") else column
        kind = infer_dtype(values, skipna=True)
        if kind not in _ONE_KIND or (kind == "decimal" and not {*map(type, values)} <= {Decimal, float, type(None)}):
            _check_kinds(values.to_numpy(object), str(data.columns[at]), name)


def _first_line(error: BaseException) -> str:
    # pyarrow names the column in a second argument.
    said = ", ".join(error.args) if error.args and all(isinstance(each, str) for each in error.args) else str(error)
    text = redacted(said).partition("\n")[0].partition(" Detail: Python exception")[0].strip()
    return text if text.endswith(".") else f"{text or type(error).__name__}."


def _python_rows(data: list[Any] | dict[Any, Any], name: str) -> pa.Table:
    """A list of dicts, or a dict of lists or of arrays of numpy by column, as a table.

    Every key of any row is a column, and a row without the key has NULL there. The
    Arrow types follow from the values, and store assignment converts these to the types of the table.

    Args:
        data: The rows.
        name: The name of the argument, for messages.

    Raises InvalidArgument if there is no column, values have no Arrow type, or lists differ in length, and
    InvalidArgumentType for a value that is not a list or a row.
    """
    if not data:
        raise InvalidArgument(f"{name} is empty, and has no columns: leave the write out, or give Arrow data.")
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        names = dict.fromkeys(key for row in data for key in row)
        columns = {key: [row.get(key) for row in data] for key in names}
    elif isinstance(data, list):
        odd = next(each for each in data if not isinstance(each, dict))
        raise InvalidArgumentType(
            f"Each row of {name} must be a dict, not {type(odd).__name__}: write a list of dicts such as [{{'id': 1}}]."
        )
    else:
        for key, values in data.items():
            if not isinstance(values, list | np.ndarray):
                raise InvalidArgumentType(
                    f"{name}[{key!r}] must be a list of values, not {type(values).__name__}: write a dict of lists, or "
                    f"a list of dicts such as [{{'id': 1}}]."
                )
        columns = data
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{key} {len(values)}" for key, values in columns.items())
        raise InvalidArgument(f"The columns of {name} must have the same number of values, not {lengths}.")
    arrays = [_column(values, str(key), name) for key, values in columns.items()]
    return pa.table(arrays, [arguments.unicode_text(f"Each column of {name}", key) for key in columns])


def _column(values: list[Any] | np.ndarray, column: str, name: str) -> pa.Array:
    _check_kinds(values, column, name)
    try:
        if isinstance(values, np.ndarray) and values.dtype.kind in "SU":
            # pyarrow ends a text or bytes of a fixed width at their first NUL.
            values = values.astype(object)
        return pa.array(_in_units_of_arrow(values))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        shown = display_name([column])
        if isinstance(error, OverflowError):
            raise InvalidArgument(
                f"The column {shown} of {name} has an integer that does not fit BIGINT: give it as a Decimal."
            ) from error
        odd = next((each for each in values if isinstance(each, Decimal) and not each.is_finite()), None)
        if odd is not None:
            raise InvalidArgument(
                f"The column {shown} of {name} has {odd!r}, which is not a DECIMAL: give floats, or None for NULL."
            ) from error
        raise InvalidArgument(
            f"The values of the column {shown} of {name} have no common Arrow type: {str(error).rstrip('.')}. "
            "Convert them to one type, with None for NULL, or give Arrow data whose columns have types."
        ) from error


def _in_units_of_arrow(values: list[Any] | np.ndarray) -> list[Any] | np.ndarray:
    """The values with times of NumPy in units that pyarrow takes: days for years to weeks, seconds for minutes.

    pyarrow takes single days of NumPy only where Python has no such date.
    """
    if isinstance(values, np.ndarray):
        return values.astype(_UNITS.get(values.dtype.str[1:], values.dtype)) if values.dtype.kind == "M" else values

    def converted(value: Any) -> Any:
        unit = _UNITS.get(value.dtype.str[1:]) if isinstance(value, np.datetime64) else None
        found = value if unit is None else value.astype(unit).item()
        return value if isinstance(found, int) else found

    return [converted(value) for value in values] if any(isinstance(v, np.datetime64) for v in values) else values


def _check_kinds(values: list[Any] | np.ndarray, column: str, name: str) -> None:
    """Raise InvalidArgument for values of several kinds.

    pyarrow gives all values the type of the first ones, and drops what that type lacks.
    """
    if (isinstance(values, np.ndarray) and values.dtype != object) or _has_one_kind(values):
        return
    kinds: dict[tuple[str, ...], set[str]] = {}
    for path, kind in _kinds(values, (column,)):
        kinds.setdefault(path, set()).add(kind)
    for path, found in kinds.items():
        if _NANOS in found:
            raise InvalidArgument(
                f"{display_name(path)} of {name} has {_NANOS}, which pyarrow cuts: give a pandas DataFrame, or "
                f"values of numpy.datetime64."
            )
        if _OWN_TEXT in found:
            raise InvalidArgument(
                f"{display_name(path)} of {name} has {_OWN_TEXT}, which pyarrow takes for their value: convert them by "
                f"decimal.Decimal(value)."
            )
        # pyarrow refuses texts beside other values than bytes.
        if len(found) > 1 and ("texts" not in found or "bytes" in found):
            has = " and ".join(sorted(found)).replace(f"zone and {_LOCAL}", "zone and datetimes without one")
            raise InvalidArgument(f"{display_name(path)} of {name} has {has}: convert the values to one type.")


def _has_one_kind(values: list[Any] | np.ndarray) -> bool:
    """Whether the values, but for None, certainly have one kind, which their types say for most columns."""
    types = {*map(type, values)} - {type(None)}
    if types == {datetime}:
        zones = {*map(attrgetter("tzinfo"), filter(None, values))}
        return zones == {None} or None not in zones
    return len(types) < 2 and types <= _PLAIN_KINDS


_PLAIN_KINDS = {str, bool, int, float, bytes, date, Decimal}
_NANOS = "times of pandas with nanoseconds"
_LOCAL = "datetimes without a time zone"
_OWN_TEXT = "decimals of a class with a text of its own"


def _kinds(values: Iterable[Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The kinds of values, at every depth, that pyarrow may confuse; none of NULL and NaN."""
    for value in values:
        match value:
            case str():
                yield path, "texts"
            case None:
                pass
            case bool() | np.bool_():
                yield path, "booleans"
            case dict():
                for key, each in value.items():
                    yield from _kinds([each], (*path, str(key)))
            case list() | tuple():
                yield from _kinds(value, (*path, "element"))
            case np.ndarray():
                yield from _kinds(value if value.dtype == object else value[:1], (*path, "element"))
            case bytes() | bytearray() | memoryview():
                yield path, "bytes"
            case _ if type(value).__name__ in ("NaTType", "NAType"):
                pass
            case datetime() | timedelta() if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
                yield path, _NANOS
            case datetime():
                yield path, _LOCAL if value.tzinfo is None else "datetimes with a time zone"
            case date():
                yield path, "dates"
            case timedelta() | np.timedelta64():
                yield path, "durations"
            case np.datetime64():
                is_date = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D")
                yield path, "dates" if is_date else _LOCAL
            case Decimal():
                if not value.is_nan():
                    yield path, "numbers" if type(value).__str__ is Decimal.__str__ else _OWN_TEXT
            case int() | float() | np.number():
                if value == value:
                    yield path, "numbers"
            case _:
                yield path, f"values of the type {type(value).__name__}"
