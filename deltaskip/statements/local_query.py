"""Queries without a Spark session: a scan answers the simple ones, DuckDB all others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.data_files.duckdb_relation import arrow_answer
from deltaskip.errors import DeltaSkipError, InvalidArgument, PredicateError, SchemaError, UnsupportedFeature, meant
from deltaskip.fork_safety import in_child, new_lock
from deltaskip.lazy_regex import regex
from deltaskip.reading.scan_dataset import register_scan
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.redaction import redacted
from deltaskip.schema.relations import unqualified_text
from deltaskip.sparkexpr import bound_parameters, parameter_names, parse_sql, with_parameters
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.sparkexpr.types.lengths import declares_char
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.statements.join_pruning import without_partnerless
from deltaskip.statements.local_projection import Projection, column_names, constant_row, evaluated_here, select_items
from deltaskip.statements.local_pushdown import alias_length, join_predicates, own_where, sure_predicate
from deltaskip.statements.other_meanings import (
    FLOAT,
    OF_SPARK,
    TIMES,
    other_forms,
    other_types,
    other_words,
    texts_of_spark,
)
from deltaskip.statements.queries import QuerySession, required_locally
from deltaskip.statements.reader import StatementTable, path_of, qualifiers
from deltaskip.statements.references import Reference, check_query, references, renamed
from deltaskip.table.table import DeltaTable

# The query reads the tables that it names, and no file, variable or extension beside them.
_NULLS_AS_IN_SPARK = "default_null_order = 'nulls_first_on_asc_last_on_desc'"
_CLOSED = ("python_enable_replacements = false", "enable_external_access = false", "lock_configuration = true")
# Words with which a row of the result depends on more rows of a table than its partners.
_OF_MANY_ROWS = regex(r"(?i)\b(?:SAMPLE|TABLESAMPLE|POSITIONAL|ASOF)\b")
# Smaller tables are read in the time that finding the joins of a query, and reading keys, takes.
_LEAST_BYTES, _MANY_FILES = 8 << 20, 1_000
_SOURCE_WORDS = ("FROM", "JOIN")
_NEXT_WORDS = ("GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "OFFSET")
# The DuckDB whose settings nobody can change, by its time zone, and those that belong to processes before this one.
_databases: dict[str, Any] = {}
_of_parents: list[dict[str, Any]] = []
_lock = new_lock()
# What compares all columns of rows, or columns by their places.
_COMPARING = frozenset(("DISTINCT", "EXCEPT", "GROUP", "INTERSECT", "ORDER", "PARTITION", "UNION"))
# A path without quotes, or in the function of DuckDB.
_SOURCE = regex(r"\s+(?:(?i:delta_scan)\(\s*'(?P<call>[^']+)'\s*\)|(?P<path>[\w./~:\-]+))")
# How DuckDB tells the error of a scan that it reads.
_OF_A_SCAN = regex(r"(?s)arrow_scan: \w+ failed\(\): [\w ]+: (.*?)\.? Detail: Python exception")
_UNKNOWN_FUNCTION = regex(r"(?:Scalar|Table) Function with name (\w+) does not exist")
_UNKNOWN_COLUMN = regex(r'(?:Values list|Table) "(\w+)" does not have a column named "([^"]+)"')
_EXAMPLE = "SELECT * FROM 'data/orders'"


@dataclass(frozen=True, slots=True)
class LocalRows:
    """The rows of a query.

    Attributes:
        batches: A reader of the rows. A column without a name is named as Spark names it, or as it was typed.
        latest: The scans through which the latest version of tables is read.
        others: The functions and operators of Spark that have the meaning of DuckDB, which may be another one.
        collated: The columns of the query whose strings DuckDB compares by their bytes, and Spark does not.
        padded: The columns of the query of type CHAR, for which Spark pads the strings that they are compared with.
        floats: The columns of type FLOAT with which Spark computes as doubles, and DuckDB does not.
        quoted: The columns whose names stand in double quotes like a text of Spark.
        texts: What stands in double quotes in an expression, where DuckDB has a name and Spark a text.
        times: The values of a type without a time zone, which Spark has as TIMESTAMP or DATE.
        declared: The columns of the rows whose strings have collations.
    """

    batches: pa.RecordBatchReader
    latest: tuple[TableScan, ...] = ()
    others: tuple[str, ...] = ()
    collated: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()
    floats: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    declared: tuple[t.StructField, ...] = ()

    @property
    def warning(self) -> str:
        """The sentences about the attributes; "" if there are none."""
        about = (self._of_others, self._of_collated, self._of_padded, self._of_floats, self._of_quoted)
        return " ".join(filter(None, (each() for each in about)))

    def _of_quoted(self) -> str:
        if not self.quoted:
            return ""
        name = self.quoted[0]
        return (
            f"\"{name}\" is a text where a scan answers, as in Spark, and a column where DuckDB does: write '{name}' "
            f"for the text, and {name} without quotes for the column."
        )

    def _of_floats(self) -> str:
        if not self.floats:
            return ""
        first = self.floats[0]
        return (
            f"DuckDB compares {', '.join(self.floats)} of type FLOAT with numbers as FLOAT, and Spark as DOUBLE: write "
            f"CAST({first} AS DOUBLE)."
        )

    def _of_padded(self) -> str:
        if not self.padded:
            return ""
        columns = ", ".join(self.padded)
        return (
            f"DuckDB does not pad what {columns} of type CHAR is compared with: write trim({self.padded[0]}) = 'text'."
        )

    def _of_collated(self) -> str:
        if not self.collated:
            return ""
        return f"DuckDB compares strings of {', '.join(self.collated)} by their bytes, and not by the collation."

    def _of_others(self) -> str:
        if not self.others:
            return ""
        names = " and ".join(filter(None, (", ".join(self.others[:-1]), self.others[-1])))
        have = "has" if len(self.others) == 1 else "have"
        return f"DuckDB runs this query, so that {names} {have} the meaning of DuckDB and not that of Spark."


def local_rows(session: QuerySession, text: str, params: object = None, time_zone: str = "UTC") -> LocalRows:
    """Return the rows of one SELECT over tables of a session without Spark.

    A table is a path or URI in quotes, or a name that the session knows. Columns and expressions of one table with a
    WHERE and a LIMIT are read by a scan, which skips files, and evaluated in this process as Spark evaluates them.
    DuckDB runs any other query in its SQL, and reads only the columns, files and row groups that its filters leave; the
    WHERE of a table that stands alone in its FROM has the meaning of Spark there, too.

    Args:
        session: The tables by name.
        text: The query.
        params: Values of the parameters of the text, as in `DeltaTable.scan`.
        time_zone: Time zone of the query.

    Raises:
        InvalidArgument: The text is not a query of tables, or needs DuckDB, which is not installed.
        PredicateError: DuckDB refuses the query, or a predicate cannot be parsed.
        TableNotFound: There is no table of a name.
    """
    constants = _constants(text, params, time_zone)
    if constants is not None:
        return LocalRows(constants)
    query, named, known = _read(session, text, params, time_zone)
    simple, tables = known.simple(query.with_values), known.tables.values()
    quoted = _named([*texts_of_spark(query.text, _tokens(query.text))], tables, lambda _: True)
    if simple is not None:
        scan = simple.scan if isinstance(simple, Projection) else simple
        table = known.tables[named[0].name]
        fields = simple.fields if isinstance(simple, Projection) else t.fields_at(table.schema, simple.paths_by_name)
        declared = tuple(filter(t.collation_inside, fields))
        return LocalRows(simple.to_batches(), _latest({named[0]: scan}), quoted=quoted, declared=declared)
    query, scans = known.scans_of(query, named)
    tokens = _tokens(query.text)
    rows, bound = _by_duckdb(query, tokens, scans, time_zone)
    unnamed = _compares_unnamed(tokens)
    collated = _named(tokens, tables, lambda field: t.collation_inside(field) is not None, unnamed)
    padded = _named(tokens, tables, declares_char, unnamed)
    floats = _named(tokens, tables, lambda field: field.type == t.FLOAT)
    of_types = [each for each in bound if each not in TIMES and (each != FLOAT or not floats)]
    others = (*other_words(query.text, tokens, floats), *of_types, *other_forms(tokens, tables))
    used = floats if FLOAT in bound else ()
    texts = tuple(token.text for token in texts_of_spark(query.text, tokens))
    times = tuple(each for each in bound if each in TIMES)
    return LocalRows(rows, _latest(scans), others, collated, padded, used, quoted, texts, times)


def _constants(text: str, params: object, time_zone: str) -> pa.RecordBatchReader | None:
    """The row of a SELECT without FROM; None for another query, or if only Spark can evaluate it."""
    text = text.strip().rstrip("; \n\t")
    tokens = _tokens(text)
    if not tokens or not tokens[0].is_word("SELECT") or any(token.is_word("FROM") for token in tokens):
        return None
    text = str(with_parameters(text, params))
    try:
        items = None if '"' in text or "\\" in text else select_items(text, _tokens(text)[1:])
        return None if items is None else constant_row(items, time_zone)
    except DeltaSkipError:
        return None


def local_plan(session: QuerySession, text: str, params: object = None, time_zone: str = "UTC") -> pa.Table:
    """Return which files a query without a session reads of each of its tables, and why, as the answer of EXPLAIN.

    For arguments and errors, see `local_rows`.
    """
    query, named, known = _read(session, text, params, time_zone)
    simple = known.simple(query.with_values)
    scans = [simple] if simple is not None else [*known.scans_of(query, named)[1].values()]
    return pa.table({"plan": ["\n\n".join(str(scan.explain()) for scan in scans)]})


def _latest(scans: Mapping[Reference, TableScan | ChangeScan]) -> tuple[TableScan, ...]:
    at_latest = {ref: scan for ref, scan in scans.items() if ref.name.version is None and ref.name.timestamp is None}
    return tuple(scan for scan in at_latest.values() if isinstance(scan, TableScan))


def _read(session: QuerySession, text: str, params: object, time_zone: str) -> tuple[_Query, list[Reference], _Known]:
    """A query without what follows it, its tables in the order of the text, and how they are read."""
    text = text.strip().rstrip("; \n\t")
    tokens = _tokens(text)
    if not tokens or not tokens[0].is_word("SELECT", "WITH", "FROM"):
        raise InvalidArgument(f"A query begins with SELECT, such as {_EXAMPLE} WHERE price > 10.")
    if any(token.is_symbol(";") for token in tokens):
        raise InvalidArgument("A query is one statement: leave out what follows the semicolon, or run it by itself.")
    check_query(text)
    example = next(_quoted(text, tokens), None)
    try:
        found = references(text, paths=True)
    except PredicateError:
        if example is None or any(token.is_word("CHANGES") for token in tokens):
            raise
        found = []
    named = [ref for ref in found if session.has_table(ref.name.parts) or session.knows_names]
    if not named:
        words = [token.text for token in tokens if token.kind == "word"]
        near = [] if "FROM" in map(str.upper, words) else get_close_matches("FROM", map(str.upper, words), 1, 0.7)
        said = f", and has {near[0]} in place of FROM" if near else ""
        raise InvalidArgument(f"The query names no table{said}: put its path in quotes, as in: {example or _EXAMPLE}")
    # A table that is named twice is read at one version.
    tables = {name: session.table(name) for name in {ref.name: None for ref in named}}
    return _Query(text, params, str(with_parameters(text, params))), named, _Known(session, tables, time_zone)


def _tokens(text: str) -> list[SqlToken]:
    try:
        return sql_tokens(text)
    except SchemaError as error:
        raise InvalidArgument(f"The query cannot be read: {error}") from error


def _compares_unnamed(tokens: Sequence[SqlToken]) -> bool:
    """Whether a query may compare columns without their names: by NATURAL JOIN, or by `*` and what compares rows."""
    words = [token.text.upper() for token in tokens if token.kind == "word"]
    stars = any(
        token.is_symbol("*") and (before.is_word("SELECT", "DISTINCT", "ALL") or before.text in (",", "."))
        for before, token in pairwise(tokens)
    )
    takes_all = stars or "COLUMNS" in words or "TABLE" in words or words.count("FROM") > words.count("SELECT")
    return "NATURAL" in words or (takes_all and (words.count("SELECT") > 1 or not _COMPARING.isdisjoint(words)))


def _named(
    tokens: Sequence[SqlToken],
    tables: Iterable[DeltaTable],
    has: Callable[[t.StructField], bool],
    every: bool = False,
) -> tuple[str, ...]:
    """The columns of the tables, each once, for which a condition holds and that are named in the query, or all."""
    named = {t.fold_name(token.text) for token in tokens if token.kind != "symbol"}
    fields = (field for table in tables for field in table.schema.fields)
    return tuple(dict.fromkeys(f.name for f in fields if (every or t.fold_name(f.name) in named) and has(f)))


def _quoted(text: str, tokens: Sequence[SqlToken], exists: bool = False) -> Iterator[str]:
    """The query with quotes around a path that has none; with `exists`, only around a folder that exists."""
    for token in tokens:
        path = _SOURCE.match(text, token.end) if token.is_word(*_SOURCE_WORDS) else None
        shown = "" if path is None else path["call"] or path["path"]
        if path is not None and (not exists or Path(shown).is_dir()):
            yield f"{text[: token.end]} '{shown}'{text[path.end() :]}"


@dataclass(frozen=True, slots=True)
class _Query:
    """A query and the values of its parameters.

    Attributes:
        text: The query.
        params: The values.
        with_values: The query with the values in place of its parameters.
    """

    text: str
    params: Any
    with_values: str

    def without(self, place: tuple[int, int], with_values: tuple[int, int]) -> _Query:
        """The query without a predicate, at its places in both texts, and without the values of its `?`."""
        params = self.params
        if params is not None and not isinstance(params, Mapping):
            marks = [each.start for each in _tokens(self.text) if each.is_symbol("?")]
            params = [value for at, value in zip(marks, params, strict=True) if not place[0] <= at < place[1]]
        # Everything else stays in its place.
        (start, end), (first, last) = place, with_values
        text = self.text[:start] + " 1".ljust(end - start) + self.text[end:]
        values = self.with_values[:first] + " 1".ljust(last - first) + self.with_values[last:]
        return _Query(text, params, values)


@dataclass(frozen=True, slots=True)
class _Known:
    """The tables of a query, and how they are read.

    Attributes:
        session: The tables by name.
        tables: Those that the query names, opened.
        time_zone: Time zone of the query.
    """

    session: QuerySession
    tables: Mapping[StatementTable, DeltaTable]
    time_zone: str

    def simple(self, text: str) -> TableScan | ChangeScan | Projection | None:
        """The rows of `SELECT expressions FROM table [WHERE predicate] [LIMIT n]`; None for any other query."""
        tokens, found = _tokens(text), references(text, paths=True)
        if len(found) != 1 or not tokens[0].is_word("SELECT"):
            return None
        [one] = found
        before = [token for token in tokens[1:] if token.end <= one.start][:-1]
        after = [token for token in tokens if token.start >= one.end]
        items = select_items(text, before)
        if items is None:
            return None
        of_alias, columns = alias_length(after, one), column_names(items)
        plain, after = columns is not None and not of_alias, after[of_alias:]
        where, limit = None, None
        if after and after[0].is_word("WHERE"):
            rest = next((i for i, token in enumerate(after[1:], 1) if token.is_word(*_NEXT_WORDS)), len(after))
            where, after = text[after[0].end : after[rest - 1].end], after[rest:]
            try:
                parse_sql(where)
            except PredicateError:
                return None
        if len(after) == 2 and after[0].is_word("LIMIT") and after[1].text.isdigit():
            limit, after = int(after[1].text), []
        if after:
            return None
        if plain:
            return self.scan(one.name, where, columns or None, limit)
        if '"' in text or "\\" in text:
            return None
        try:
            return Projection(items, self.evaluated(one, where, limit), qualifiers(one.name.parts, one.alias))
        except DeltaSkipError:
            # DuckDB runs the query, or says what is wrong with it.
            return None

    def evaluated(self, reference: Reference, where: str | None, limit: int | None = None) -> TableScan:
        """The scan of a table by a predicate of the query. Raises UnsupportedFeature if only Spark can evaluate it."""
        if reference.name.changes is not None:
            raise UnsupportedFeature("Changes are read by their own predicate.")
        if where is not None:
            own = qualifiers(reference.name.parts, reference.alias)
            where = unqualified_text(where, self.tables[reference.name].schema, own)
            evaluated_here(where, self.tables[reference.name].scan(time_zone=self.time_zone), is_condition=True)
        scan = self.scan(reference.name, where, limit=limit)
        assert isinstance(scan, TableScan)
        return scan

    def scans_of(
        self, query: _Query, named: Sequence[Reference]
    ) -> tuple[_Query, dict[Reference, TableScan | ChangeScan]]:
        """What DuckDB runs of a query, and the scans of its tables, by what means the same in Spark.

        A table that stands alone in its FROM is read by its WHERE as Spark evaluates it, which the query then lacks.
        Other predicates and joins only skip files.

        Args:
            query: The query.
            named: Its tables.
        """
        tokens, found = _tokens(query.text), dict[Reference, TableScan | ChangeScan]()
        given, values, by_place = query.with_values, _tokens(query.with_values), self.by_place(query.with_values)
        assert [ref.name for ref in by_place] == [ref.name for ref in named]
        for ref, at in [*zip(named, by_place, strict=True)][::-1]:
            place, where = own_where(query.text, tokens, ref), own_where(given, values, at)
            if place is not None and where is not None:
                try:
                    found[ref] = self.evaluated(at, given[slice(*where)])
                    query = query.without(place, where)
                    continue
                except DeltaSkipError:
                    # DuckDB evaluates it, or says what is wrong with it.
                    pass
            found[ref] = self.scan(at.name, sure_predicate(given, values, at, self.tables[at.name].schema))
        return query, self.without_partnerless(query.with_values, {ref: found[ref] for ref in named})

    def by_place(self, text: str) -> list[Reference]:
        """The tables in the order of a text."""
        return [ref for ref in references(text, paths=True) if ref.name in self.tables]

    def without_partnerless(
        self, text: str, scans: Mapping[Reference, TableScan | ChangeScan]
    ) -> dict[Reference, TableScan | ChangeScan]:
        """The scans of a query without files whose rows have no partner in its joins.

        text: The query with the values of its parameters.
        """
        # Strings with backslashes are others in DuckDB, and names may stand in double quotes.
        if len(scans) < 2 or "\\" in text or '"' in text or _OF_MANY_ROWS.search(text):
            return dict(scans)
        tables = {ref: scan for ref, scan in scans.items() if isinstance(scan, TableScan)}
        if len(tables) < len(scans):
            return dict(scans)
        if all(each.total_files() < 2 or _is_little(each) for each in tables.values()):
            return dict(scans)
        names = {ref: f"deltaskip_{number}" for number, ref in enumerate(self.by_place(text))}
        if "deltaskip_" in text.lower():
            return dict(scans)
        given = dict(zip(names.values(), tables.values(), strict=True))
        required = required_locally(
            renamed(text, names, _plain), {name: [*each.paths_by_name] for name, each in given.items()}
        )
        if not required.joins:
            return dict(scans)
        for ref, name in names.items():
            predicates = join_predicates(required.predicates.get(name, []), self.tables[ref.name].schema)
            if predicates:
                every = parse_sql(" AND ".join(f"({each})" for each in predicates))
                given[name] = given[name].narrowed(None, every)
        aliases = {name: ref.alias for ref, name in names.items()}
        narrowed = without_partnerless(given, required.joins, aliases, same_types=True)
        return dict(zip(scans, narrowed.values(), strict=True))

    def scan(
        self, name: StatementTable, where: str | None, columns: Sequence[str] | None = None, limit: int | None = None
    ) -> TableScan | ChangeScan:
        """The scan of a table by a predicate, and by that of the view which its name stands for."""
        both = [f"({each})" for each in (self.session.condition(name), where) if each is not None]
        if name.changes is not None:
            found = self.session.changes(name, self.tables[name], both, self.time_zone)
            shown = list(found.paths_by_name)
            by_name = {t.fold_name(each): each for each in shown}
            names = shown if columns is None else columns
            for each in names:
                if t.fold_name(each) not in by_name:
                    raise PredicateError(
                        f"The changes of {found.snapshot.table_root} have no column {each}.{meant(each, shown)}"
                    )
            return found.narrowed([by_name[t.fold_name(each)] for each in names], None, limit)
        return self.tables[name].scan(" AND ".join(both) or None, columns, limit, self.time_zone)


def _is_little(scan: TableScan) -> bool:
    """Whether the files of a scan are read in the time that finding the joins of a query takes."""
    return scan.total_files() < _MANY_FILES and exact_sum(scan.files(columns=["size"])["size"]) < _LEAST_BYTES


def _by_duckdb(
    query: _Query, tokens: Sequence[SqlToken], scans: Mapping[Reference, TableScan | ChangeScan], time_zone: str
) -> tuple[pa.RecordBatchReader, list[str]]:
    """The rows, and what DuckDB computes otherwise than Spark by the types of the query."""
    try:
        import duckdb
    except ImportError as error:
        raise InvalidArgument(
            "This query needs DuckDB: pip install duckdb. Without it, write SELECT columns FROM 'table' WHERE "
            "predicate LIMIT n."
        ) from error
    text, prefix = query.text, "deltaskip_"
    while prefix in text.lower():
        prefix += "_"
    views = {ref: f"{prefix}{number}" for number, ref in enumerate(scans)}
    run = _in_double_quotes(renamed(text, views, _identifier))
    run, values = bound_parameters(run, query.params)
    try:
        connection = _connection(time_zone)
        for ref, scan in scans.items():
            register_scan(cast(TableScan, scan), connection, views[ref])
        if [each.type for each in connection.extract_statements(run)] != [duckdb.StatementType.SELECT]:
            raise InvalidArgument("A query is one SELECT: other statements are not run.")
        if re.search(r"""\\['"]""", text):
            raise InvalidArgument(
                "A backslash before a quote ends a string in DuckDB and continues it in Spark: write '' for a quote in "
                "a string, or pass the string as a parameter."
            )
        bound = other_types(connection, run)
        found = arrow_answer(connection.sql(run, params=values or None))
    except duckdb.Error as error:
        raise _refused(error, text, tokens, views, scans.values()) from error

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from found
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            raise PredicateError(f"DuckDB cannot finish the query: {_told(error)}") from error

    # The name of Spark, and of an answer from the log.
    names = ["count(1)" if name == "count_star()" else name for name in found.schema.names]
    schema = pa.schema([field.with_name(name) for field, name in zip(found.schema, names, strict=True)])
    renamed_batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches())
    return pa.RecordBatchReader.from_batches(schema, renamed_batches), bound


def _connection(time_zone: str) -> Any:
    """A connection with views of its own to the DuckDB of this process: a new DuckDB takes as long as a query."""
    import duckdb

    with _lock:
        if time_zone not in _databases:
            made = duckdb.connect()
            made.execute("SET GLOBAL TimeZone = ?", [time_zone])
            for setting in (_NULLS_AS_IN_SPARK, *_CLOSED):
                made.execute(f"SET GLOBAL {setting}")
            _databases.clear()
            _databases[time_zone] = made
        return _databases[time_zone].cursor()


def _told(error: Exception) -> str:
    """What DuckDB says of an error, after which the next query has a new database if this one cannot go on."""
    import duckdb

    said = redacted(str(error))
    read = _OF_A_SCAN.search(said)
    said = said if read is None else read[1]
    if not isinstance(error, duckdb.InternalException | duckdb.FatalException):
        return said
    with _lock:
        _databases.clear()
    said = said.partition("\n")[0].partition("Stack Trace")[0].rstrip(". ")
    return f"{said}. This is an error inside of DuckDB: write the query otherwise, such as c + 0 for a column c."


def _forget() -> None:
    """The threads of a DuckDB do not exist in a forked child, where closing it would wait for them."""
    _of_parents.append(dict(_databases))
    _databases.clear()


in_child(_forget)


def _with_names_of_spark(said: str, text: str, scans: Iterable[TableScan | ChangeScan]) -> str:
    """What DuckDB says, with what to write for functions of Spark, parameters without values and unknown columns."""
    function = _UNKNOWN_FUNCTION.search(said)
    if function is not None and function[1].lower() in OF_SPARK:
        return (
            f"{function[1]} is a function of Spark. DuckDB lacks it, and runs queries of several tables, with groups or"
            f" an order: write the function of DuckDB, or pass a session as the first argument of sql()."
        )
    column = _UNKNOWN_COLUMN.search(said)
    if column is not None:
        known = [name for scan in scans for name in scan.paths_by_name]
        return f"There is no column {column[1]}.{column[2]}.{meant(column[2], known)}"
    names = parameter_names(text)
    if names and 'at or near ":"' in said:
        return f"The query has the parameter :{min(names)}: pass its value, as in params={{'{min(names)}': …}}."
    return said


def _refused(
    error: Exception,
    text: str,
    tokens: Sequence[SqlToken],
    views: Mapping[Reference, str],
    scans: Iterable[TableScan | ChangeScan],
) -> PredicateError:
    """The error for a query that DuckDB refuses, with the names of the query and what to write."""
    said = _told(error)
    if "'pytz'" in said:
        said = "it compares constants with a time zone by another package: pip install pytz."
    for ref, view in [*views.items()][::-1]:
        parts = ref.name.parts
        path = path_of(parts)
        shown = t.display_name(parts) if path is None else f"'{path.removeprefix('./')}'"
        said = said.replace(f"{view} AS {_identifier(parts[-1])}", shown).replace(view, shown)
    said = _with_names_of_spark(said, text, scans)
    cure = next((f" Put the path in quotes: {each}" for each in _quoted(text, tokens, exists=True)), "")
    if "COMPARE_DISTINCT_FROM" in said:
        cure += " Write (c <> x OR c IS NULL) for c IS DISTINCT FROM x inside of OR."
    cure += " Write AND for &&." if "&&" in text else ""
    return PredicateError(f"DuckDB refuses the query: {said}{cure}")


def _plain(name: str) -> str:
    """A name without quotes, by which no column of a query can be qualified if it would need them."""
    return name if name.isidentifier() else f"deltaskip_{name.encode().hex()}"


def _in_double_quotes(text: str) -> str:
    """A query with the quotes of DuckDB around the names that it has in backquotes, as in Spark."""
    for token in reversed(_tokens(text)):
        if token.kind == "name":
            text = text[: token.start] + _identifier(token.text) + text[token.end :]
    return text


def _identifier(name: str) -> str:
    """A name in the quotes of DuckDB."""
    return '"' + name.replace('"', '""') + '"'
