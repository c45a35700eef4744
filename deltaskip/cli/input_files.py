"""Files that a command appends: Parquet, CSV and JSON lines, read as one stream of Arrow batches.

Text values are read as the types of the table's columns, so that `007` in a STRING column is unchanged. Memory is
bounded by a block of the files.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.json as pa_json

from deltaskip.cli.display import progress_bar
from deltaskip.cli.input_errors import WrongValue, csv_error, json_error, not_utf8, open_quote
from deltaskip.cli.nested_json import from_texts, from_values, is_read_here, without_columns
from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, InvalidArgument, SchemaError, StorageError
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import is_nested
from deltaskip.sparkexpr.values.calendar import Zone, parse_date, parse_timestamp, parse_timestamp_ntz, zone_of
from deltaskip.stats.parquet_input import ParquetInput

FORMATS: Mapping[str, tuple[str, ...]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv", ".tsv"),
    "json": (".json", ".jsonl", ".ndjson"),
}
_STDIN = "-"
_HEADER_BYTES = 1 << 20
# The separators of values other than a comma.
_DELIMITERS = (";", "\t", "|")
_KEY = regex(rb'"((?:[^"\\]|\\.)*+)"\s*:')
_NO_OBJECT = regex(rb"^[ \t\r]*null[ \t\r]*$", re.MULTILINE)
_NOT_A_NUMBER = regex(rb'"(NaN|-?Infinity)"')
_BLOCK_BYTES = 8 << 20
_BATCH_ROWS = 1 << 16


def input_files(
    names: Sequence[str], file_format: str | None, delimiter: str | None, schema: t.StructType, time_zone: str
) -> InputFiles:
    """Return the files that names and patterns stand for.

    Args:
        names: Paths, patterns, or - for standard input.
        file_format: Format of all files; None to take it from their names.
        delimiter: The separator of values in CSV; None for a comma, or a tab in .tsv files.
        schema: Schema of the table, which gives the types of text values.
        time_zone: Time zone of times without one.

    Raises:
        InvalidArgument: A pattern matches nothing, the time zone or the format is not known, or files have different
            formats.
        StorageError: A file cannot be read.
    """
    try:
        zone = zone_of(time_zone)
    except LookupError as error:
        raise InvalidArgument(f"There is no time zone {time_zone!r}; one is Europe/Berlin, +02:00 or UTC.") from error
    paths = [path for name in names for path in _expanded(name)]
    formats = {_format_of(path) for path in paths} if file_format is None else {file_format}
    if len(formats) > 1:
        raise InvalidArgument(
            f"The files are of {' and '.join(sorted(formats))}: append the files of each format separately."
        )
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii()):
        raise InvalidArgument(f"The delimiter must be one character, not {delimiter!r}.")
    [found] = formats
    if _STDIN in paths and (found == "parquet" or len(paths) > 1):
        raise InvalidArgument("Standard input can be CSV or JSON lines, and must be the only file.")
    spooled = None
    if _STDIN in paths:
        # Its columns must be known before the first row is written, and memory is bounded.
        spooled = tempfile.NamedTemporaryFile(prefix="deltaskip-", suffix=".stdin")  # noqa: SIM115
        shutil.copyfileobj(sys.stdin.buffer, spooled, _BLOCK_BYTES)
        spooled.flush()
        paths = [spooled.name]
    types = {t.fold_name(each.name): each.type for each in schema.fields}
    kinds = set(_float_names(schema))
    floats = frozenset(name for name, is_float in kinds if is_float and (name, False) not in kinds)
    return InputFiles(tuple(paths), found, delimiter, types, zone, floats, spooled=spooled)


@dataclass
class InputFiles:
    """Files as Arrow data, which is read again for each request.

    Attributes:
        paths: The files.
        file_format: parquet, csv or json.
        delimiter: The separator of values in CSV.
        types: Types of the table's columns by their names in lower case.
        zone: Time zone of times without one.
        error: The error that reading the files raised.
        spooled: A temporary file with the contents of standard input.
        float_names: Names in lower case, at any depth, of numbers that may be NaN and of arrays of them.
        advance: Called with each file and the number of rows that were read from it.
    """

    paths: tuple[str, ...]
    file_format: str
    delimiter: str | None
    types: Mapping[str, t.DataType]
    zone: Zone
    float_names: frozenset[str] = frozenset()
    error: DeltaSkipError | None = None
    advance: Callable[[str, int], None] = field(default=lambda _path, _rows: None)
    spooled: Any = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as an Arrow stream."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def reader(self) -> pa.RecordBatchReader:
        """Return a reader of the rows. Raises SchemaError if the columns of the files do not fit together."""
        try:
            schema = self.schema()
        except DeltaSkipError as error:
            self.error = error
            raise
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    @property
    def size_bytes(self) -> int:
        """Size of the files."""
        return sum(Path(path).stat().st_size for path in self.paths)

    def schema(self) -> pa.Schema:
        """Return the columns of all files. Raises SchemaError if they do not fit together."""
        schemas = []
        for path in self.paths:
            with self._errors_of(path):
                schemas.append(self._schema_of(path))
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowException, ValueError) as error:
            raise SchemaError(f"The columns of the files do not fit together: {first_line(error)}.") from error

    def _schema_of(self, path: str) -> pa.Schema:
        if self.file_format == "parquet":
            with ParquetInput(path, as_written=True) as file:
                return file.schema_arrow.remove_metadata()
        if self.file_format == "csv":
            names = self._header(path)
            if self.types and not any(t.fold_name(name) in self.types for name in names):
                raise SchemaError(
                    f"The first line of {_shown(path)} has no name of a column of the table, but "
                    f"{', '.join(map(repr, names[:3]))}: write the names of the columns there."
                )
            return pa.schema([pa.field(name, self._stored(name)) for name in names])
        with _opened(path) as stream:
            found = [self._json_block(text).schema for text in _lines(stream)]
        together = pa.unify_schemas(found, promote_options="permissive") if found else pa.schema([])
        return pa.schema([pa.field(each.name, self._stored(each.name, each.type)) for each in together])

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            for path in self.paths:
                with self._errors_of(path):
                    for batch in self._of_file(path):
                        self.advance(path, batch.num_rows)
                        yield self._aligned(batch, schema)
        except DeltaSkipError as error:
            # Arrow's stream passes on only the message of an error.
            self.error = error
            raise

    def _of_file(self, path: str) -> Iterator[pa.RecordBatch]:
        if self.file_format == "parquet":
            with ParquetInput(path, as_written=True) as file:
                # pyarrow reads nested dictionaries of one row group at a time.
                for group in range(file.num_row_groups):
                    yield from file.iter_batches(_BATCH_ROWS, [group])
        elif self.file_format == "csv":
            with _opened(path) as stream:
                yield from self._csv(stream, path)
        else:
            with _opened(path) as stream:
                for text in _lines(stream):
                    yield from self._json_block(text).to_batches()

    @contextmanager
    def _errors_of(self, path: str) -> Iterator[None]:
        """Within the block, errors of pyarrow and of the file system name the file and, of text, the line."""
        try:
            yield
        except (pa.ArrowException, WrongValue) as error:
            said = self._located(path, error) or f"{str(error).rstrip('.')}."
            raise InvalidArgument(f"{_shown(path)} cannot be read: {said}") from error
        except DeltaSkipError:
            raise
        except OSError as error:
            raise StorageError(f"{_shown(path)} cannot be read: {error.strerror or error}.") from error

    def _located(self, path: str, error: Exception) -> str | None:
        """Return the error in a text file, with its line; None if it is not known."""
        if self.file_format == "parquet":
            return None
        with _opened(path) as stream:
            if wrong := not_utf8(io.BufferedReader(stream), path):
                return wrong
        with _opened(path) as stream:
            if self.file_format == "csv":
                return csv_error(stream, self._delimiter(path), self._type_name, self._value, error)
            return json_error(_lines(stream), self._type_name, self._json_block, error)

    def _type_name(self, column: str) -> str:
        data_type = self._type(column)
        return t.simple_string(data_type) if is_nested(data_type) else t.simple_string(data_type).upper()

    def _value(self, column: str, text: str) -> pa.Scalar:
        return pa.scalar(text).cast(self._read_type(column)) if text else None

    def _csv(self, stream: Any, path: str) -> Iterator[pa.RecordBatch]:
        names = self._header(path)
        convert = pc_csv.ConvertOptions(
            column_types={name: self._read_type(name) for name in names},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        parse = pc_csv.ParseOptions(delimiter=self._delimiter(path), newlines_in_values=True)
        read = pc_csv.ReadOptions(block_size=_BLOCK_BYTES)
        counted = _CountedQuotes(stream)
        yield from pc_csv.open_csv(counted, read_options=read, parse_options=parse, convert_options=convert)
        if counted.quotes % 2:
            # pyarrow reads everything after an open quote as one value, also if the file was cut off.
            with _opened(path) as again:
                line = open_quote(again, self._delimiter(path))
            if line is not None:
                raise InvalidArgument(
                    f"{_shown(path)} cannot be read: a value in line {line} begins with a quote that is not closed."
                )

    def _header(self, path: str) -> list[str]:
        with _opened(path) as stream:
            text = next(_lines(stream, _HEADER_BYTES), b"")
        if not text.strip():
            raise SchemaError(f"{_shown(path)} is empty: the first line of CSV has the names of the columns.")
        if wrong := not_utf8(text.splitlines(), path):
            raise InvalidArgument(f"{_shown(path)} cannot be read: {wrong}")
        # Rows are not inspected here: a wrong one may have another separator than the header.
        parse = pc_csv.ParseOptions(
            delimiter=self._delimiter(path), newlines_in_values=True, invalid_row_handler=lambda _row: "skip"
        )
        found = pc_csv.read_csv(io.BytesIO(text), pc_csv.ReadOptions(block_size=max(len(text), 1) + 1), parse)
        names = list(found.column_names)
        other = next((each for each in _DELIMITERS if len(names) == 1 and each in names[0]), None)
        if other is not None and self.delimiter is None:
            raise SchemaError(
                f"{_shown(path)} has the one column {names[0]!r}: pass --delimiter {other!r} if that separates values, "
                f"or --delimiter ','."
            )
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise SchemaError(f"{_shown(path)} has the column {twice!r} twice: name each column once.")
        return names

    def _json_block(self, text: bytes) -> pa.Table:
        """The rows of some lines, with the columns that they have."""
        try:
            text.decode()
        except UnicodeDecodeError as error:
            # pyarrow reads any bytes as text.
            raise pa.ArrowInvalid("The file is not UTF-8") from error
        if _NO_OBJECT.search(text):
            # pyarrow reads it as a row of NULLs, and aborts the process if the text contains nothing else.
            raise pa.ArrowInvalid("A line is null")
        text, nested = self._nested(text)
        written = {key: key.decode("utf-8", "replace") for key in set(_KEY.findall(text))}
        keys = set(written.values())
        floats = [re.escape(key) for key, name in written.items() if t.fold_name(name) in self.float_names]
        if floats and _NOT_A_NUMBER.search(text):
            # pyarrow reads them without quotes.
            values = rb'"(?:%b)"\s*:\s*(?:"(?:NaN|-?Infinity)"|\[[^][{}]*\])' % b"|".join(floats)
            text = re.sub(values, lambda found: _NOT_A_NUMBER.sub(rb"\1", found[0]), text)
        # The types of variants are inferred, and the column is refused by its name.
        known = {
            key: self._read_type(key) for key in keys if t.VARIANT not in t.nested_types(self._type(key, t.VARIANT))
        }
        explicit = pa.schema([pa.field(name, kind) for name, kind in sorted(known.items())])
        parse = pa_json.ParseOptions(explicit_schema=explicit, unexpected_field_behavior="infer")
        read = pa_json.ReadOptions(block_size=len(text) + 1, use_threads=False)
        rows = pa_json.read_json(io.BytesIO(text), read_options=read, parse_options=parse)
        empty = [name for name in known if rows[name].null_count == len(rows)]
        if empty:
            # A key inside of an object is not a column.
            own = {key for line in text.splitlines() if line.strip() for key in parse_json(line)}
            rows = rows.drop_columns([name for name in empty if name not in own])
        return pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **nested}) if nested else rows

    def _nested(self, text: bytes) -> tuple[bytes, dict[str, pa.Array]]:
        """The lines without the columns that pyarrow cannot read, and these columns."""
        names = {key.decode("utf-8", "replace") for key in set(_KEY.findall(text))}
        names = {name for name in names if is_read_here(self._type(name))}
        if not names:
            return text, {}
        try:
            rest, values = without_columns(text.decode(), names)
        except ValueError as error:
            raise pa.ArrowInvalid(str(error)) from error
        return rest.encode(), {
            name: from_values(found, name, self._type(name), self.zone) for name, found in values.items()
        }

    def _type(self, column: str, default: t.DataType = t.STRING) -> t.DataType:
        return self.types.get(t.fold_name(column), default)

    def _delimiter(self, path: str) -> str:
        return self.delimiter or ("\t" if ".tsv" in Path(path).suffixes else ",")

    def _read_type(self, name: str) -> pa.DataType:
        """The type as which the text of a column is read."""
        data_type = self._type(name)
        is_text = data_type in (*t.DATETIMES, t.BINARY) or (is_nested(data_type) and self.file_format == "csv")
        return pa.string() if is_text else t.arrow_type(data_type)

    def _stored(self, name: str, found: pa.DataType | None = None) -> pa.DataType:
        """The type of a column after times were read."""
        data_type = self.types.get(t.fold_name(name))
        if data_type is None:
            return pa.string() if found is None else found
        if t.VARIANT in t.nested_types(data_type):
            raise SchemaError(f"The column {name} has type VARIANT, which is read from Parquet only: write Parquet.")
        return t.arrow_type(data_type)

    def _aligned(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """The rows with the columns of all files."""
        arrays = []
        for each in schema:
            index = batch.schema.get_field_index(each.name)
            if index < 0:
                arrays.append(pa.nulls(batch.num_rows, each.type))
                continue
            values = batch.column(index)
            data_type = self.types.get(t.fold_name(each.name))
            if self.file_format != "parquet" and data_type in t.DATETIMES and pa.types.is_string(values.type):
                values = self._times(values, each.name, data_type)
            if self.file_format != "parquet" and data_type == t.BINARY and pa.types.is_string(values.type):
                values = _bytes(values, each.name)
            if self.file_format == "csv" and data_type is not None and is_nested(data_type):
                values = from_texts(values.to_pylist(), each.name, data_type, self.zone)
            arrays.append(values if values.type == each.type else values.cast(each.type))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _times(self, texts: pa.StringArray, column: str, data_type: t.DataType | None) -> pa.Array:
        """Dates or timestamps from strings; each distinct string is read once."""
        encoded = texts.dictionary_encode()
        found = []
        for text in encoded.dictionary.to_pylist():
            try:
                value = self._time(text, data_type)
            except LookupError as error:
                raise WrongValue(column, text, first_line(error).rstrip(".")) from error
            if value is None:
                raise WrongValue(column, text)
            found.append(value)
        storage = pa.int32() if data_type == t.DATE else pa.int64()
        kind = pa.date32() if data_type == t.DATE else pa.timestamp("us", "UTC" if data_type == t.TIMESTAMP else None)
        return pa.array(found, storage).cast(kind).take(encoded.indices)

    def _time(self, text: str, data_type: t.DataType | None) -> int | None:
        if data_type == t.DATE:
            return parse_date(text)
        return parse_timestamp(text, self.zone) if data_type == t.TIMESTAMP else parse_timestamp_ntz(text)


def _bytes(texts: pa.StringArray, column: str) -> pa.Array:
    """The bytes of base64 strings, as Spark reads JSON; each distinct string is decoded once."""
    encoded = texts.dictionary_encode()
    found = []
    for text in encoded.dictionary.to_pylist():
        try:
            found.append(b64decode(text, validate=True))
        except ValueError as error:
            raise WrongValue(column, text) from error
    return pa.array(found, pa.binary()).take(encoded.indices)


def _float_names(data_type: t.DataType) -> Iterator[tuple[str, bool]]:
    """The names of fields at any depth, and whether their values are numbers that may be NaN, or arrays of them."""
    match data_type:
        case t.StructType(fields=fields):
            for each in fields:
                yield t.fold_name(each.name), _element(each.type) in t.FLOATING
                yield from _float_names(each.type)
        case t.ArrayType(element=inner) | t.MapType(value=inner):
            yield from _float_names(inner)


def _element(data_type: t.DataType) -> t.DataType:
    return data_type.element if isinstance(data_type, t.ArrayType) else data_type


def _expanded(name: str) -> list[str]:
    """The files of a name or pattern."""
    if name == _STDIN:
        return [name]
    path = Path(name)
    if path.is_dir():
        raise InvalidArgument(f"{name} is a folder: name the files in it, such as '{name.rstrip('/')}/*.parquet'.")
    if path.exists() or not has_magic(name):
        if not path.exists():
            raise InvalidArgument(f"There is no file {name}.")
        return [name]
    found = sorted(each for each in glob(name, recursive=True) if Path(each).is_file())
    if not found:
        raise InvalidArgument(f"No file matches {name}.")
    return found


def _format_of(path: str) -> str:
    if path == _STDIN:
        raise InvalidArgument("Standard input has no name that tells its format: use --format csv or --format json.")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in (".gz", ".bz2", ".zst")]
    for file_format, endings in FORMATS.items():
        if suffixes and suffixes[-1] in endings:
            return file_format
    known = ", ".join(ending for endings in FORMATS.values() for ending in endings)
    raise InvalidArgument(f"The format of {path} is not known: use --format, or one of the endings {known}.")


class _CountedQuotes(io.RawIOBase):
    """A stream that counts the quotes that are read."""

    def __init__(self, stream: Any) -> None:
        self.quotes = 0
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._stream.read(None if size < 0 else size)
        self.quotes += found.count(b'"')
        return found


def _opened(path: str) -> Any:
    """The file, uncompressed."""
    return pa.input_stream(path, compression="detect")


def _lines(stream: Any, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Complete lines, about `size` bytes at a time."""
    rest = b""
    while part := stream.read(size):
        text = rest + part
        end = text.rfind(b"\n") + 1
        rest = text[end:]
        if end:
            yield text[:end]
    if rest.strip():
        yield rest


def _shown(path: str) -> str:
    return "Standard input" if path.endswith(".stdin") else path


@contextmanager
def errors_of(source: InputFiles) -> Iterator[None]:
    """Within the block, an error of the files is raised unchanged, not as Arrow's stream passes it on."""
    try:
        yield
    except DeltaSkipError as error:
        if source.error is None or source.error is error:
            raise
        raise source.error from None


@contextmanager
def progress(source: InputFiles, shown: bool) -> Iterator[None]:
    """Show a progress bar on standard error: files and rows."""
    seen: dict[str, int] = {}
    columns = ("bar", "count", "files, {task.fields[rows]:,} rows", "time")
    with progress_bar(shown, *columns, total=len(source.paths), rows=0) as update:

        def advance(path: str, rows: int) -> None:
            seen[path] = seen.get(path, 0) + rows
            update(completed=len(seen) - 1, rows=sum(seen.values()))

        source.advance = advance
        yield
        update(completed=len(source.paths))
