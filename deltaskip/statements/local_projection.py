"""The select list of a query of one table, evaluated as Spark evaluates it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from deltaskip.errors import PredicateError, UnsupportedFeature
from deltaskip.reading.arrow_rows import arrow_schema_of
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.schema.relations import unqualified_text
from deltaskip.skipping.explain.report import Explain
from deltaskip.sparkexpr import columns_in, evaluate, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.comparison_collation import comparison_collation, is_collated
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.nodes import Call, Column, FieldRef, Like, StartsWith, walk
from deltaskip.sparkexpr.text.sql_text import SqlToken
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import current_micros
from deltaskip.statements.reader import NameParts

_BINARY_ONLY = frozenset(name for name, function in FUNCTIONS.items() if function.binary_only)
_CURE = "Pass a session as the first argument of sql()."


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An expression of a select list.

    Attributes:
        text: The expression; "*" for all columns.
        name: Its name after AS, or without AS; None for none.
    """

    text: str
    name: str | None = None


def select_items(text: str, tokens: Sequence[SqlToken]) -> list[SelectItem] | None:
    """Return the expressions of a select list; None for what is no list of expressions of Spark.

    Args:
        text: The query.
        tokens: The tokens of the select list.
    """
    if not tokens or (len(tokens) > 1 and tokens[0].is_word("DISTINCT", "ALL")):
        return None
    found, start, depth = [], 0, 0
    for at, token in enumerate([*tokens, None]):
        symbol = "" if token is not None and token.kind != "symbol" else "," if token is None else token.text
        depth += (symbol in ("(", "[", "{")) - (symbol in (")", "]", "}"))
        if symbol != "," or (depth and token is not None):
            continue
        item = _item(text, tokens[start:at])
        if item is None:
            return None
        found.append(item)
        start = at + 1
    return found


def column_names(items: Sequence[SelectItem]) -> list[str] | None:
    """Return the columns of a select list that has nothing else, [] for `*`; None for another."""
    if [item.text for item in items] == ["*"]:
        return []
    nodes = [parse_sql(item.text) for item in items if item.name is None and item.text != "*"]
    found = [t.display_name(node.parts) for node in nodes if isinstance(node, Column)]
    return found if len(found) == len(items) else None


def _item(text: str, tokens: Sequence[SqlToken]) -> SelectItem | None:
    if len(tokens) == 1 and tokens[0].is_symbol("*"):
        return SelectItem("*")
    named = len(tokens) > 1 and tokens[-1].kind in ("word", "name")
    has_as = named and tokens[-2].is_word("AS")
    endings: list[tuple[int, str | None]] = [] if has_as else [(len(tokens), None)]
    endings += [(len(tokens) - 1 - has_as, tokens[-1].text)] if named else []
    for end, name in endings:
        expression = text[tokens[0].start : tokens[end - 1].end] if end else ""
        try:
            parse_sql(expression)
        except PredicateError:
            continue
        return SelectItem(expression, name)
    return None


def evaluated_here(text: str, scan: TableScan, is_condition: bool = False) -> LocalExpression:
    """Return an expression over the rows of a scan, as Spark evaluates it.

    Args:
        text: The expression, without qualifiers before columns.
        scan: The scan.
        is_condition: Whether the expression must be BOOLEAN.

    Raises DeltaSkipError if only Spark or DuckDB can evaluate it.
    """
    schema, zone = scan.snapshot.schema, scan.time_zone or "UTC"
    node = bound(parse_sql(text), schema, zone, current_micros(), is_condition, scan.in_ansi)
    place = EvaluationPlace(scan.snapshot.table_root, _CURE, "", what="The expression")
    collations = Collations(scan.collation_version)
    found = LocalExpression(node, schema, place, time_zone=zone, collations=collations, ansi=scan.in_ansi)
    for part in walk(node):
        if isinstance(part, Like | StartsWith):
            collation = comparison_collation(part.child, part.pattern if isinstance(part, Like) else part.prefix)
            if collation is not None:
                raise UnsupportedFeature(f"Patterns under the collation {collation} are left to Spark.")
        if isinstance(part, Call) and part.name in _BINARY_ONLY and is_collated(*part.args):
            raise UnsupportedFeature(f"The function {part.name} under a collation is left to Spark.")
    return found


class Projection:
    """The values of a select list for the rows of a scan.

    Args:
        items: The expressions.
        scan: A scan of the columns of the table.
        own: The qualifiers of these columns in the query.

    Attributes:
        fields: The columns, with the collations of their strings.

    Raises:
        DeltaSkipError: Only Spark or DuckDB can evaluate an expression.
    """

    def __init__(self, items: Sequence[SelectItem], scan: TableScan, own: Collection[NameParts]) -> None:
        self._values: dict[str, LocalExpression] = {}
        texts = []
        for item in items:
            for column in [*scan.paths_by_name] if item.text == "*" else [None]:
                text = t.display_name([column]) if column else unqualified_text(item.text, scan.snapshot.schema, own)
                name = column or item.name or _name(text, item)
                if name in self._values:
                    raise PredicateError(f"The query has two columns {name}.")
                texts.append(text)
                self._values[name] = evaluated_here(text, scan)
        self.fields = [_field(name, value, scan.snapshot.schema) for name, value in self._values.items()]
        used = {t.fold_name(parts[0]) for text in texts for parts in columns_in(text, scan.snapshot.schema)}
        self.scan = scan.narrowed([name for name in scan.paths_by_name if t.fold_name(name) in used], None)

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows, in Arrow types of Spark's types."""
        read = arrow_schema_of(self.scan)
        none = self._evaluated({field.name: pa.nulls(0, field.type) for field in read}, 0)
        fields = []
        for (name, expression), values in zip(self._values.items(), none, strict=True):
            match expression.node:
                case FieldRef(logical=(column,)):
                    fields.append(read.field(column).with_name(name))
                case _:
                    fields.append(pa.field(name, values.type))
        schema = pa.schema(fields)

        def found() -> Iterator[pa.RecordBatch]:
            for batch in self.scan.row_batches():
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                yield pa.RecordBatch.from_arrays(self._evaluated(columns, batch.num_rows), schema=schema)

        return pa.RecordBatchReader.from_batches(schema, found())

    def explain(self) -> Explain:
        """How the files are skipped."""
        return self.scan.explain()

    def _evaluated(self, columns: Mapping[str, pa.Array], rows: int) -> list[pa.Array]:
        return [each.values(columns, rows) for each in self._values.values()]


ONE_ROW = pa.Table.from_arrays([arrow_array(np.zeros(1))], ["row"]).select([])
"""A row without columns, over which constants are evaluated."""


def constant_row(items: Sequence[SelectItem], time_zone: str) -> pa.RecordBatchReader:
    """Return the row of a SELECT without FROM. Raises DeltaSkipError if only Spark can evaluate an expression."""
    if len({item.name or item.text for item in items}) < len(items):
        raise PredicateError("The query has two columns of one name.")
    columns = {item.name or item.text: evaluate(item.text, ONE_ROW, time_zone=time_zone) for item in items}
    return pa.table(columns).to_reader()


def _field(name: str, expression: LocalExpression, schema: t.StructType) -> t.StructField:
    """A column of a select list with the collations of its strings. Raises UnsupportedFeature if they are unknown."""
    node, type_ = expression.node, type_of(expression.node) or t.VOID
    if isinstance(node, FieldRef):
        return t.renamed(t.resolve(schema, node.logical, case_sensitive=True).field, name)
    collation = comparison_collation(node)
    if collation is not None and type_ != t.STRING:
        raise UnsupportedFeature(f"Strings of the collation {collation} inside of {name} are left to Spark.")
    return t.StructField(name, type_, True, {} if collation is None else {t.COLLATIONS_KEY: {name: collation}})


def _name(text: str, item: SelectItem) -> str:
    """The name of a column without one: the last part of its path, or the expression as it was typed."""
    parts = columns_in(text)
    return parts[0][-1] if len(parts) == 1 and t.display_name(parts[0]) == text.replace("`", "") else item.text
