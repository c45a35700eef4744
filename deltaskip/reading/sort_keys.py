"""The values by which rows are sorted, as Arrow arrays whose order is Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import UnsupportedFeature
from deltaskip.records import dataclass
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.row_order import OrderTerm
from deltaskip.sparkexpr import to_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import Collation, Collations
from deltaskip.sparkexpr.comparison_collation import compared_collations, comparison_collation
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.nodes import FieldRef
from deltaskip.sparkexpr.values import ordered_floats
from deltaskip.sparkexpr.values.arrow_values import one_chunk

_CURE = "Sort them with to_spark(spark) instead."


@dataclass(frozen=True, slots=True)
class SortKey:
    """Computes the values of a term of an order, and their sort keys.

    Attributes:
        term: The term.
        expression: Evaluates it; None for a column.
        collation: The collation of its strings; None if they are compared by their bytes.
        table: The location of the table, for messages.
    """

    term: OrderTerm
    expression: LocalExpression | None
    collation: Collation | None
    table: str

    @classmethod
    def of(cls, scan: LogScan, term: OrderTerm) -> SortKey:
        """Return the sort key of a term. Raises UnsupportedFeature if only Spark sorts by it."""
        table, node = scan.snapshot.root, term.node
        if not isinstance(term.type, t.PrimitiveType | t.DecimalType) and not term.padded:
            kind = "values of a type that is not known" if term.type is None else t.simple_string(term.type).upper()
            raise UnsupportedFeature(f"Rows of {table} cannot be sorted by {to_sql(term.given.node)}, {kind}. {_CURE}")
        collations = Collations(scan.collation_version)
        expression = None
        if not isinstance(node, FieldRef):
            place = EvaluationPlace(f"the table {table}", _CURE, "")
            zone = scan.time_zone or "UTC"
            evaluated = collations if compared_collations(node) else None
            options: dict[str, Any] = {"time_zone": zone, "collations": evaluated, "ansi": scan.in_ansi}
            expression = LocalExpression(node, scan.snapshot.schema, place, **options)
        named = comparison_collation(node) if term.type == t.STRING else None
        collation = None if named is None else collations.evaluator(named)
        if named is not None and (collation is None or not collation.exact_keys):
            why = collations.unavailable(named) if collation is None else f"its keys do not have the order of {named}"
            raise UnsupportedFeature(f"Rows of {table} cannot be sorted by {to_sql(term.given.node)}: {why}. {_CURE}")
        return cls(term, expression, collation, table)

    def values(self, rows: pa.RecordBatch) -> pa.Array:
        """Return the value of the term for each row. rows: Top-level columns of the table by their names."""
        columns = {name: one_chunk(rows.column(name)) for name in rows.schema.names}
        if self.expression is not None:
            return self.expression.values(columns, rows.num_rows)
        assert isinstance(self.term.node, FieldRef)
        name, *fields = self.term.node.logical
        return pc.struct_field(columns[name], fields) if fields else columns[name]

    def keys(self, values: pa.Array) -> pa.Array:
        """Return sort keys of values, which Arrow sorts as Spark sorts the values; NULL stays NULL."""
        if self.collation is not None:
            if not pc.all(self.collation.trusts_each(values)).as_py() and len(values) > values.null_count:
                raise UnsupportedFeature(
                    f"Rows of {self.table} cannot be sorted by {to_sql(self.term.given.node)}: its strings have "
                    f"characters that versions of {self.collation.id} order differently. {_CURE}"
                )
            return self.collation.sort_keys(values)
        if pa.types.is_floating(values.type):
            return ordered_floats(values)
        return values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values


def first_rows(keys: Sequence[SortKey], columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Return the positions of the first rows in their order.

    Args:
        keys: The terms of the order.
        columns: The sort keys of each term.
        count: The most rows.
    """
    sorted_by: list[tuple[str, str]] = []
    arrays: list[pa.Array] = []
    for number, (key, column) in enumerate(zip(keys, columns, strict=True)):
        given = key.term.given
        if column.null_count:
            arrays.append(pc.is_null(column).cast(pa.int8()))
            sorted_by.append((f"null {number}", "descending" if given.nulls_first else "ascending"))
        arrays.append(column)
        sorted_by.append((f"key {number}", "descending" if given.descending else "ascending"))
    table = pa.table(arrays, [name for name, _ in sorted_by])
    return pc.sort_indices(table, sort_keys=sorted_by).slice(0, count)
