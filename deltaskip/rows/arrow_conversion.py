"""Rows to be written from Arrow data: the plan of a write evaluated with pyarrow and deltaskip's evaluator.

Columns that already have the table's types are passed through without a copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.engine import current_collation_version
from deltaskip.errors import PredicateError, RowViolation, UnsupportedFeature
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.fork_safety import cached_property
from deltaskip.rows.arrow_layout import stored_type
from deltaskip.rows.arrow_store import (
    WRITE_FROM_SPARK,
    ArrowTarget,
    check_maps,
    empty_partition,
    store_array,
    warn_of_losses,
)
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import PathStep, RowRule, violation
from deltaskip.rows.shown_rows import python_value
from deltaskip.rows.store import stores_every_value
from deltaskip.sparkexpr import needs_session, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.clock import at_time
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.collations import Collation, Collations
from deltaskip.sparkexpr.evaluation import CollatedOrder, never_fails
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.values.arrow_nested import list_items, map_lists
from deltaskip.sparkexpr.values.arrow_values import TRUE, arrow_scalar, domain_values, is_true, one_chunk
from deltaskip.sparkexpr.values.calendar import current_micros, zone_of

# Below this, starting threads takes longer than they save.
_PARALLEL_BYTES = 1 << 20


class ArrowRows:
    """Converts batches of rows into the columns that a write stores, and checks the table's rules.

    The columns of the batches are in the layout of their types, see `arrow_layout`.

    Attributes:
        plan: The plan, made for the schema of the batches.
        identities: The state of each identity column after the batches so far, by the column's name.
        has_warned: Whether the WriteWarning was issued; it is issued once.
    """

    def __init__(
        self,
        plan: RowPlan,
        time_zone: str = "UTC",
        collations: CollatedOrder | None = None,
        now_micros: int | None = None,
        computed: Collection[str] = (),
    ) -> None:
        """Prepare the conversion.

        Args:
            plan: The plan.
            time_zone: The time zone for casts between instants and local times.
            collations: The collations that compare strings. The default is `RunningCollations`.
            now_micros: The time of the write, which current_timestamp() returns; None for the present time.
            computed: Names of columns whose values are computed by expressions, such as price * 1.1; fractions in them
                are rounded without a warning.
        """
        self.plan = plan
        self.identities: dict[str, IdentityColumn] = {
            c.field.name: c.identity for c in plan.columns if c.identity is not None and c.origin == "identity"
        }
        self._time_zone = time_zone
        self._collations = RunningCollations() if collations is None else collations
        self._target = ArrowTarget(plan.table, zone_of(time_zone))
        self._watched = replace(self._target, losses=[])
        self._computed = computed
        self.has_warned = False
        self._now = current_micros() if now_micros is None else now_micros
        self._stored = plan.written_schema
        self._constants: dict[str, pa.Array] = {}
        self._expressions: dict[str, LocalExpression] = {}

    def stream(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each batch as they will be stored; see `convert`."""
        return map(self.convert, batches)

    def convert(self, batch: pa.RecordBatch | pa.Table) -> pa.RecordBatch:
        """Return the rows as they will be stored: the table's columns in order, then the carried columns.

        Raises:
            RowViolation: A row violates a rule, or a value does not fit its column.
            UnsupportedFeature: An expression of the table can only be evaluated by Spark.
            SchemaError: An identity column has no values left.
        """
        n_rows = batch.num_rows
        base = [column for column in self.plan.columns if column.origin != "generated"]
        columns = dict(zip((column.field.name for column in base), self._stored_columns(base, batch), strict=True))
        for column in self.plan.columns:
            if column.origin == "generated":
                columns[column.field.name] = self._generated(column, columns, n_rows)
        arrays = {column.field.name: columns[column.field.name] for column in self.plan.columns}
        for rule in self.plan.rules:
            self._check(rule, arrays, n_rows)
        losses = self._watched.losses
        if losses and not self.has_warned:
            self.has_warned = True
            warn_of_losses(losses, self.plan.table)
        for name in self.plan.carried:
            arrays[name] = one_chunk(batch.column(name))
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))

    @property
    def decides_every_row(self) -> bool:
        """Whether this process stores or refuses each value, and evaluates each expression for every row."""
        given = [(column.source.type, column.field.type) for column in self.plan.columns if column.source is not None]
        computed = [column for column in self.plan.columns if column.origin in ("default", "generated")]
        conditions = [rule for rule in self.plan.rules if rule.kind not in ("not null", "length")]
        try:
            nodes = [self._computed_by(column).node for column in computed]
            found = [type_of(node) or t.VOID for node in nodes]
            nodes += [self._condition(rule).node for rule in conditions]
        except UnsupportedFeature:
            return False
        given += [(source, column.field.type) for source, column in zip(found, computed, strict=True)]
        return all(map(never_fails, nodes)) and all(stores_every_value(*each) for each in given)

    def _stored_columns(self, columns: Sequence[PlannedColumn], batch: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        """The stored values of columns that do not depend on others. Arrow checks and casts without the GIL."""
        if len(columns) < 2 or batch.nbytes < _PARALLEL_BYTES:
            return [self._base(column, batch, batch.num_rows) for column in columns]
        with ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip") as pool:
            return list(pool.map(lambda column: self._base(column, batch, batch.num_rows), columns))

    def _base(self, column: PlannedColumn, batch: pa.RecordBatch | pa.Table, n_rows: int) -> pa.Array:
        field = column.field
        if column.source is not None:
            given = one_chunk(batch.column(column.source.name))
            watches = not self.has_warned and field.name not in self._computed
            target = self._watched if watches else self._target
            values = store_array(given, field.type, (field.name,), target)
            check_maps(values, field.type, (field.name,), self.plan.table)
            return self._without_empty(values, column)
        if column.origin == "identity":
            return self._numbered(field.name, n_rows)
        if column.origin == "null":
            return pa.nulls(n_rows, stored_type(field.type))
        values = self._default(column).take(pa.array(np.zeros(n_rows, np.int64)))
        return self._without_empty(values, column)

    def _without_empty(self, values: pa.Array, column: PlannedColumn) -> pa.Array:
        """The strings of a partition column, with null instead of the empty string."""
        if not column.empty_is_null:
            return values
        empty = pc.equal(pc.binary_length(values), 0)
        if not pc.any(empty).as_py():
            return values
        if not self.has_warned and self._watched.losses is not None:
            self._watched.losses.append(empty_partition(t.display_name([column.field.name])))
        return pc.if_else(empty, arrow_scalar(None, values.type), values)

    def _numbered(self, name: str, n_rows: int) -> pa.Array:
        block, self.identities[name] = self.identities[name].block(n_rows)
        if not n_rows:
            return pa.array([], pa.int64())
        return pa.array(np.arange(n_rows, dtype=np.int64) * block.step + block.first)

    def _default(self, column: PlannedColumn) -> pa.Array:
        """The value of a column's default, as an array of one."""
        name = column.field.name
        if name not in self._constants:
            self._constants[name] = self._typed(column, {}, 1)
        return self._constants[name]

    def _generated(self, column: PlannedColumn, columns: Mapping[str, pa.Array], n_rows: int) -> pa.Array:
        return self._without_empty(self._typed(column, columns, n_rows), column)

    def _typed(self, column: PlannedColumn, columns: Mapping[str, pa.Array], n_rows: int) -> pa.Array:
        """The computed values of a column, as they are stored."""
        expression, field = self._computed_by(column), column.field
        values = expression.values(columns, n_rows)
        if type_of(expression.node) == field.type:
            return values
        return store_array(values, field.type, (field.name,), self._target)

    def _computed_by(self, column: PlannedColumn) -> LocalExpression:
        """The expression of a default or generated column."""
        scope, zone = t.StructType(()) if column.origin == "default" else self._stored, self._time_zone
        what = f"The {'default of the' if column.origin == 'default' else 'generated'} column {column.field.name}"
        return self._expression(
            what, column.expression or "", lambda node: bind_expression(node, scope, time_zone=zone)
        )

    def _condition(self, rule: RowRule) -> LocalExpression:
        columns, zone = self.plan.partition_columns, self._time_zone
        what = f"The rule {rule.name} ({rule.expression})"
        return self._expression(what, rule.sql, lambda node: bind(node, self._stored, columns, time_zone=zone))

    def _expression(self, what: str, text: str, bound: Callable[[Node], Node]) -> LocalExpression:
        """The expression of a text at the time of the write, parsed once."""
        if text not in self._expressions:
            table, zone = self.plan.table, self._time_zone
            try:
                node = bound(at_time(parse_sql(text), self._now, zone, self.plan.schema.names))
            except PredicateError as error:
                raise needs_session(what, table, error, WRITE_FROM_SPARK) from error
            place = EvaluationPlace(
                table, WRITE_FROM_SPARK, failure=lambda message: RowViolation(message, what), what=what
            )
            self._expressions[text] = LocalExpression(
                node,
                self._stored,
                place,
                time_zone=zone,
                collations=self._collations,
                shown=lambda _: "",
                refuses_parts=False,
            )
        return self._expressions[text]

    def _check(self, rule: RowRule, columns: Mapping[str, pa.Array], n_rows: int) -> None:
        """Raise RowViolation with the first row that violates the rule."""
        if not n_rows:
            return
        if rule.kind in ("not null", "length"):
            broken = _first_null(rule.path, columns) if rule.kind == "not null" else _first_long(rule, columns)
        else:
            broken = self._first_untrue(rule, columns, n_rows)
        if broken is not None:
            raise violation(rule, self._row(columns, broken), self.plan.table, self.plan.without_empty)

    def _first_untrue(self, rule: RowRule, columns: Mapping[str, pa.Array], n_rows: int) -> int | None:
        return _first(pc.invert(is_true(self._condition(rule).values(columns, n_rows))))

    def _row(self, columns: Mapping[str, pa.Array], at: int) -> dict[str, Any]:
        return {
            column.field.name: _shown(columns[column.field.name].slice(at, 1), column.field.type)
            for column in self.plan.columns
        }


class RunningCollations(CollatedOrder):
    """Collations as in the running session, else as in the installed Spark, else as in Spark 4.1.

    It asks for the version when it first compares.
    """

    @cached_property
    def _collations(self) -> Collations:
        return Collations(current_collation_version())

    def evaluator(self, collation: str) -> Collation | None:
        return self._collations.evaluator(collation)

    def unavailable(self, collation: str) -> str:
        return self._collations.unavailable(collation)

    def order(self, collation: str, left: str, right: str) -> int:
        return self._collations.order(collation, left, right)


def _first(mask: pa.Array) -> int | None:
    """Index of the first TRUE."""
    found = pc.index(mask, TRUE).as_py()
    return None if found < 0 else int(found)


def _first_null(path: Sequence[PathStep], columns: Mapping[str, pa.Array]) -> int | None:
    """The first row that has NULL where the path must not be NULL."""
    last = max((i for i, (kind, _) in enumerate(path) if kind != "field"), default=0)
    values, rows = _inside(path[: last + 1], columns)
    around = values
    for _, name in path[last + 1 :]:
        values = one_chunk(pc.struct_field(values, [name]))
    if values.null_count == 0:
        return None
    mask = pc.is_null(values)
    if last and last + 1 < len(path):
        # An element that may be NULL has no fields.
        mask = pc.and_(mask, pc.is_valid(around))
    return _row_of(_first(mask), rows)


def _first_long(rule: RowRule, columns: Mapping[str, pa.Array]) -> int | None:
    """The first row with a string of more characters than the rule allows."""
    values, rows = _inside(rule.path, columns)
    return _row_of(_first(is_true(pc.greater(pc.utf8_length(values), rule.limit))), rows)


def _row_of(index: int | None, rows: pa.Array | None) -> int | None:
    return index if index is None or rows is None else int(rows[index].as_py())


def _inside(path: Sequence[PathStep], columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array | None]:
    """All values at a path, and the row of each; None if each row has one value."""
    values: pa.Array = columns[path[0][1]]
    rows: pa.Array | None = None
    for kind, name in path[1:]:
        if kind == "field":
            values = one_chunk(pc.struct_field(values, [name]))
            continue
        if kind != "element":
            values = map_lists(values)
        parents = one_chunk(pc.list_parent_indices(values))
        rows = parents if rows is None else rows.take(parents)
        values = list_items(values)
        if kind != "element":
            values = one_chunk(pc.struct_field(values, kind))
    return values, rows


def _shown(one: pa.Array, data_type: t.DataType) -> object:
    """The only value of an array, as a Python object."""
    if not one[0].is_valid:
        return None
    match data_type:
        case t.StructType(fields):
            return {f.name: _shown(one_chunk(pc.struct_field(one, [f.name])), f.type) for f in fields}
        case t.ArrayType(element):
            items = one_chunk(pc.list_flatten(one))
            return [_shown(items.slice(i, 1), element) for i in range(len(items))]
        case t.MapType(key, value):
            entries = [(one.keys.slice(i, 1), one.items.slice(i, 1)) for i in _entry_range(one)]
            return {str(_shown(k, key)): _shown(v, value) for k, v in entries}
        case _:
            return python_value(domain_values(one)[0], data_type)


def _entry_range(one: pa.MapArray) -> range:
    first, last = one.offsets[0].as_py(), one.offsets[1].as_py()
    return range(first, last)
