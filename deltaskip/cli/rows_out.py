"""`deltaskip head`, `query` and `diff`: rows as a table, CSV, JSON lines or Parquet, batch by batch."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, json_values, print_line, print_table, terminal_width
from deltaskip.printable import LINES, printable, printable_json

if TYPE_CHECKING:
    import pyarrow as pa


_FORMATS = {"table": (), "csv": (".csv",), "json": (".json", ".jsonl", ".ndjson"), "parquet": (".parquet", ".pq")}
# The number of rows that a terminal shows; a table needs all of its rows before its first line.
_SHOWN_ROWS = 1000
_BATCH_ROWS = 4096


def rows_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a command that prints rows; it receives them as `file_format` and `output`."""
    chosen = click.option(
        "--format",
        "file_format",
        type=command_line.FileFormat(list(_FORMATS)),
        help="Format of the rows; json is JSON lines (also jsonl). [default: by the name of the output; else a table]",
    )
    output = click.option(
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the rows to this file, in place of one that is there. [default: standard output]",
    )
    return chosen(output(command))


@command_line.program.command("head", short_help="Show the first rows, or the first that match.")
@command_line.opens_table
@command_line.takes_predicate
@rows_options
@click.option(
    "-n", "--limit", "--rows", "limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many rows."
)
@command_line.columns_option("--column", "columns", help="Columns to show.")
def _head(
    source: command_line.CommandTable,
    as_json: bool,
    chosen: dict[str, Any],
    limit: int,
    columns: tuple[str, ...],
    file_format: str | None,
    output: Path | None,
) -> None:
    """Show the first rows, or the first that match a predicate, in the order of the files in the log."""
    if as_json and file_format not in (None, "json"):
        raise click.UsageError("Specify either --json or --format, not both.")
    scan = source.open().scan(**chosen, columns=list(columns) or None)
    write_rows(_first(scan.to_batches(), limit), "json" if as_json else file_format, output)


def _first(rows: pa.RecordBatchReader, limit: int) -> pa.RecordBatchReader:
    """The first rows of a reader. A scan with a limit may choose other files, and so return other rows."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        left = limit
        while left:
            batch = next(rows, None)
            if batch is None:
                return
            yield batch.slice(0, min(left, batch.num_rows))
            left -= min(left, batch.num_rows)

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


@command_line.program.command("query")
@click.argument("text", metavar="SQL")
@command_line.time_zone_option("Session time zone.")
@rows_options
@command_line.storage_option
@command_line.debug_option
def _query(
    text: str, time_zone: str, file_format: str | None, output: Path | None, storage_options: dict[str, str]
) -> None:
    """Run a query over tables.

    A table is its path or URI in quotes, or its name if --catalog is given: SELECT id, price FROM 'data/orders' WHERE
    price > 10. Columns with a WHERE in Spark SQL and a LIMIT are read by a scan, which skips files. Any other query is
    run by DuckDB, in its SQL, if the package duckdb is installed; a line on standard error names functions that may
    have another meaning there than in Spark.
    """
    from deltaskip.cli.query_text import query_rows

    write_rows(query_rows(text, time_zone, storage_options), file_format, output)


@command_line.program.command("diff", short_help="Show the rows that only one of two versions has.")
@click.argument("table")
@click.argument("first", metavar="V1", type=click.IntRange(min=0))
@click.argument("second", metavar="V2", type=click.IntRange(min=0))
@rows_options
@command_line.storage_option
@command_line.debug_option
def _diff(
    table: str, first: int, second: int, file_format: str | None, output: Path | None, storage_options: dict[str, str]
) -> None:
    """Show the rows that version V2 has and V1 has not, and the other way round.

    The column _change says insert or delete; an updated row is both. Only files that one of the versions lacks are
    read, and rows that were only rewritten are not shown. A column that one version lacks is NULL in its rows.
    """
    from deltaskip.cli.diff_rows import differing_rows
    from deltaskip.cli.open_table import open_table

    before, after = (open_table(table, storage_options, version) for version in (first, second))
    write_rows(differing_rows(before, after), file_format, output)


def write_rows(rows: Any, file_format: str | None, output: Path | None) -> None:
    """Write the rows of an Arrow reader.

    Args:
        rows: A reader of record batches.
        file_format: One of table, csv, json and parquet; None to take it from the output's name.
        output: The file; None for standard output.

    Raises click.UsageError if the format is not known, or Parquet would be written to a terminal.
    """
    found = file_format or _format_of(output)
    if found == "parquet" and output is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is not shown in a terminal: use --output FILE.")
    if found == "table":
        if output is not None:
            raise click.UsageError("A table is for the terminal: use --format csv, json or parquet for a file.")
        _write_table(rows)
        return
    with _sink(output) as sink:
        if found == "csv":
            # In a file, names are those of the table.
            count = _write_csv(rows, sink, rows.schema.names if output else [*map(printable, rows.schema.names)])
        else:
            count = (_write_json if found == "json" else _write_parquet)(rows, sink)
    if output is not None:
        click.echo(printable(f"wrote {counted(count, 'row')} to {output}"), err=True)


def _format_of(output: Path | None) -> str:
    if output is None:
        return "table"
    for name, endings in _FORMATS.items():
        if output.suffix.lower() in endings:
            return name
    raise click.UsageError(
        f"The format of {output} is not known: use --format, or the ending .csv, .jsonl or .parquet."
    )


@contextmanager
def _sink(output: Path | None) -> Iterator[Any]:
    if output is None:
        sys.stdout.flush()
        yield _Terminal() if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with output.open("wb") as sink:
        yield sink


class _Terminal:
    """Standard output, if it is a terminal: control characters in names and values are escaped."""

    closed = False

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: bytes) -> int:
        """Write encoded text."""
        text = self._decoder.decode(bytes(data)).replace("\r\n", "\n")
        sys.stdout.buffer.write(printable(text, LINES).encode())
        return len(data)

    def flush(self) -> None:
        """Write what is buffered."""
        sys.stdout.buffer.flush()


def _write_table(rows: Any) -> None:
    sides = ["right" if _is_number(field.type) else "prose" for field in rows.schema]
    parts = (batch.slice(start, _BATCH_ROWS) for batch in rows for start in range(0, batch.num_rows, _BATCH_ROWS))
    print_rows(rows.schema.names, sides, (row for part in parts for row in _texts(part)))


def print_rows(names: Sequence[str], sides: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print the first rows in aligned columns in a terminal; elsewhere all of them, with tabs between values.

    Args:
        names: The names of the columns.
        sides: "left", "right" or "prose" for each, see `print_table`.
        rows: The values, of `text_of`.
    """
    if terminal_width() is None:
        for row in chain([names], rows):
            print("\t".join(map(printable, row)))
        return
    found = list(islice(rows, _SHOWN_ROWS + 1))
    print_table(list(zip(names, sides, strict=True)), found[:_SHOWN_ROWS], capitals=False)
    if len(found) > _SHOWN_ROWS:
        print_line(f"the first {_SHOWN_ROWS:,} rows; --format csv has all")


def text_of(value: Any) -> str:
    """Return a value for JSON as the text of a cell: NULL is empty, and fields and elements are JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _texts(batch: Any) -> list[tuple[str, ...]]:
    columns = [[text_of(value) for value in json_values(column)] for column in batch.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * batch.num_rows


def _write_csv(rows: Any, sink: Any, names: list[str]) -> int:
    """NULL is an empty value and the empty string is `""`; structs, arrays and maps are JSON."""
    import pyarrow as pa
    import pyarrow.csv as pc_csv

    kinds = [each.type if _is_plain(each.type) else pa.string() for each in rows.schema]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    count = 0
    with pc_csv.CSVWriter(sink, schema) as writer:
        for batch in rows:
            columns = [
                column if _is_plain(column.type) else pa.array(_json_texts(column), pa.string())
                for column in batch.columns
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            count += batch.num_rows
    return count


def _json_texts(column: Any) -> Iterator[str | None]:
    return (None if value is None else text_of(value) for value in json_values(column))


def _write_json(rows: Any, sink: Any) -> int:
    encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
    names, count = rows.schema.names, 0
    for whole in rows:
        for start in range(0, whole.num_rows, _BATCH_ROWS):
            batch = whole.slice(start, _BATCH_ROWS)
            values = [json_values(column) for column in batch.columns]
            lines = (printable_json(encode(dict(zip(names, row, strict=True)))) for row in zip(*values, strict=True))
            sink.write("".join(f"{line}\n" for line in lines).encode())
        count += whole.num_rows
    return count


def _write_parquet(rows: Any, sink: Any) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 0
    with pq.ParquetWriter(pa.PythonFile(sink, "w"), rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _is_plain(kind: Any) -> bool:
    import pyarrow as pa

    return bool(_is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind))
