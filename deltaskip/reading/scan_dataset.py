"""A scan as a pyarrow dataset, from which DuckDB requests columns and the rows that match a filter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq

from deltaskip.actions import hadoop_path
from deltaskip.doors import first_line
from deltaskip.errors import InvalidArgument, InvalidArgumentType, UnsupportedFeature
from deltaskip.reading.arrow_rows import arrow_batches, plain_schema_of, record_batch, with_dictionaries
from deltaskip.reading.pushed import DuckDBFilter
from deltaskip.reading.stored_rows import as_dictionary, is_dictionary
from deltaskip.sparkexpr import ColumnExpr, evaluate
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import is_true

if TYPE_CHECKING:
    import duckdb

    from deltaskip.reading.table_scan import TableScan


def duckdb_relation(scan: TableScan, connection: Any, name: str | None) -> duckdb.DuckDBPyRelation:
    """Return a relation of the rows of a scan, see `TableScan.to_duckdb`."""
    import duckdb

    if connection is None:
        default = duckdb.default_connection
        if not callable(default):
            # DuckDB 1.1 and older.
            raise UnsupportedFeature(
                f"DuckDB {duckdb.__version__} is installed, and deltaskip needs 1.2 or newer: pip install --upgrade "
                f"duckdb."
            )
        connection = default()
    if isinstance(connection, str):
        raise InvalidArgumentType(
            f"connection must be a connection of DuckDB, not str: write to_duckdb(name={connection!r}) for a view."
        )
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise InvalidArgumentType.of("connection", "a connection of DuckDB", connection)
    if name == "":
        raise InvalidArgument(f"name must be the name of a view, not empty (table {scan.snapshot.table_root}).")
    try:
        if name is None:
            return connection.from_arrow(_dataset(scan))
        hidden = "SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = lower(?)"
        if connection.cursor().execute(hidden, [name]).fetchone() is not None:
            raise InvalidArgument(
                f"DuckDB has a table {name}, which a view of this name would hide: pass another name (table "
                f"{scan.snapshot.table_root})."
            )
        register_scan(scan, connection, name)
        return connection.view(name)
    except duckdb.Error as error:
        raise InvalidArgument(
            f"DuckDB cannot read the rows of {scan.snapshot.table_root}: {first_line(error)}. Pass an open connection, "
            f"and a name without a schema."
        ) from error


def register_scan(scan: TableScan, connection: Any, name: str) -> None:
    """Make a view of the rows of a scan in a connection of DuckDB, which has no table of that name."""
    connection.register(name, _dataset(scan))


def _dataset(scan: TableScan) -> ScanDataset:
    for name_of, path in scan.paths_by_name.items():
        if t.NANOS in t.nested_types(t.resolve(scan.snapshot.schema, path).type):
            raise UnsupportedFeature(
                f"DuckDB has no times of nanoseconds with a time zone, as {t.display_name((name_of,))} of "
                f"{scan.snapshot.table_root} has: leave the column out, as in scan(columns=[…]), or read it with "
                f"to_arrow."
            )
    return ScanDataset(scan)


class ScanDataset(pds.Dataset):  # type: ignore[misc]
    """The rows of a scan as a dataset that is read by its scanner only.

    The columns and the filter of a scanner prune files and row groups. pyarrow applies the filter again if it has no
    exact predicate. Operations of pyarrow on the files of a dataset are refused, because this dataset has no files.
    Strings that the first file has as a dictionary are dictionaries, which DuckDB groups without hashing each of them.

    Args:
        scan: The scan.
    """

    # The base class can only be created from an Arrow dataset, and there is none.
    def __init__(self, scan: TableScan) -> None:
        self._scan = scan
        self._dictionaries = _dictionaries_of(scan)

    def __reduce__(self) -> tuple[Any, ...]:
        return ScanDataset, (self._scan,)

    def __repr__(self) -> str:
        return f"ScanDataset({self._scan!r})"

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return with_dictionaries(plain_schema_of(self._scan), self._dictionaries)

    def scanner(
        self, columns: Sequence[str] | dict[str, Any] | None = None, filter: Any = None, **options: Any
    ) -> ScanScanner:
        """Return a scanner of some columns and rows.

        Args:
            columns: Names, or expressions by name; None for all.
            filter: The rows, a pyarrow expression; None for all.
            options: Other arguments of `pyarrow.dataset.Dataset.scanner`, such as batch_size.
        """
        scan = self._scan
        names = every = list(scan.paths_by_name)
        found = DuckDBFilter() if filter is None else DuckDBFilter.of(scan, filter)
        # The limit applies first, and the filter to the rows that it leaves.
        exact = scan.limit is None and scan.filters_rows
        numbers, rest = (None, found.rest) if exact else (found.numbers, found.others)
        if columns is not None and not isinstance(columns, dict) and found.columns is not None:
            wanted = {*columns, *(found.columns if rest is not None or numbers is not None else ())}
            names = [name for name in every if name in wanted]
        narrowed = scan.narrowed(names, found.predicate if scan.limit is None else None)
        # pyarrow filters strings.
        encoded = self._dictionaries if rest is None else ()
        if encoded:
            batches = arrow_batches(narrowed, scan.note_metrics, dictionaries=encoded)
        else:
            batches = narrowed.row_batches(scan.note_metrics)
        if numbers is not None:
            batches = _with_numbers(batches, ColumnExpr(numbers))
        reader = pa.RecordBatchReader.from_batches(with_dictionaries(plain_schema_of(narrowed), encoded), batches)
        return ScanScanner(reader, columns, rest, options, self._dictionaries)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedFeature(
            f"A dataset of a scan has no files of its own: call {self._scan!r}.to_dataset(), or read its rows with "
            f"scanner(), to_table() or to_batches()."
        )

    get_fragments = filter = replace_schema = join = join_asof = sort_by = _refuse
    partition_expression = property(_refuse)


def _dictionaries_of(scan: TableScan) -> Collection[str]:
    """The columns of strings that the first file has as dictionaries; none if it is far away, or not the scan's own."""
    names = {each.name for each in scan.columns_of_files if each.type == t.STRING and not declares_char(each)}
    if not names:
        return ()
    files = scan.files(columns=["uri"])["uri"]
    if not len(files):
        return ()
    try:
        footer = pq.read_metadata(hadoop_path(scan.snapshot.table_root, files[0].as_py()))
    except (pa.ArrowException, OSError):
        return ()
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    chunks = [group.column(leaf) for group in groups for leaf in range(footer.num_columns)]
    plain = {chunk.path_in_schema for chunk in chunks if not is_dictionary(chunk)}
    return names & {chunk.path_in_schema for chunk in chunks} - plain


def _with_numbers(batches: Iterator[pa.RecordBatch], condition: ColumnExpr) -> Iterator[pa.RecordBatch]:
    """Yield the rows that satisfy a condition on floating-point columns."""
    used = {parts[0] for parts in columns_of(condition.node)}
    for batch in batches:
        read = batch.select([name for name in batch.schema.names if name in used])
        yield batch.filter(is_true(evaluate(condition, read)))


class ScanScanner:
    """A scanner like pyarrow's, whose reader reads only on demand.

    pyarrow's scanner reads ahead in a thread, without a limit in bytes, even after its reader is gone: a query with a
    limit would leave a thread that runs Python when the process ends.

    Args:
        reader: The rows.
        columns: Names, or expressions by name; None for all.
        filter: The rows to keep of them, a pyarrow expression; None for all.
        options: Other arguments of `pyarrow.dataset.Scanner.from_batches`.
        dictionaries: The columns of strings that `to_reader` returns as dictionaries.
    """

    def __init__(
        self,
        reader: pa.RecordBatchReader,
        columns: Any,
        filter: Any,
        options: dict[str, Any],
        dictionaries: Collection[str] = (),
    ) -> None:
        self._reader, self._columns, self._filter, self._options = reader, columns, filter, options
        self._dictionaries = dictionaries

    def to_reader(self) -> pa.RecordBatchReader:
        """Return a reader of the rows."""
        if isinstance(self._columns, dict):
            return self._made().to_reader()
        names = self._reader.schema.names if self._columns is None else self._columns
        schema = with_dictionaries(pa.schema([self._reader.schema.field(name) for name in names]), self._dictionaries)
        return pa.RecordBatchReader.from_batches(schema, self._batches(names, schema))

    def _batches(self, names: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for batch in self._reader:
            if self._filter is None:
                yield batch.select(names)
                continue
            for each in pa.Table.from_batches([batch]).filter(self._filter).select(names).to_batches():
                arrays = [as_dictionary(each[name]) if name in self._dictionaries else each[name] for name in names]
                yield record_batch(arrays, schema, each.num_rows)

    def _made(self) -> pds.Scanner:
        return pds.Scanner.from_batches(self._reader, columns=self._columns, filter=self._filter, **self._options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made(), name)
