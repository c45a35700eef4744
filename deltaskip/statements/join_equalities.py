"""Equalities of columns that rows of a query's tables must satisfy with a row of another table, to matter.

Such a row without a partner may be left out, if the join drops it (docs/pages/soundness.md, Joins).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.sparkexpr.types import fold_name
from deltaskip.statements.pushdown import BEYOND_ROWS, NOT_ROW_BY_ROW, QueryRelation, QuerySearch, owner_of
from deltaskip.statements.required import JoinEquality, Required


def required_of(text: str, tables: Mapping[str, Sequence[str]], dialect: str = "spark") -> Required:
    """Return what rows of each table must satisfy to matter.

    Args:
        text: The query, in which each table has one name that occurs once.
        tables: Names of the columns of each table.
        dialect: The dialect of sqlglot.
    """
    nothing = Required({})
    try:
        trees = sqlglot.parse(text, dialect=dialect)
        search = _JoinSearch(text, sql_tokens(text), tables, dialect)
    except (SqlglotError, SchemaError, RecursionError):
        return nothing
    # sqlglot rewrites the operators of a pipe, which changes their order.
    if len(trees) != 1 or not isinstance(trees[0], exp.Query) or "|>" in text:
        return nothing
    try:
        search.query(trees[0], (), {})
    except RecursionError:
        return nothing
    return Required(search.found, tuple(dict.fromkeys(search.equalities)))


class _JoinSearch(QuerySearch):
    """A search that also finds equalities between relations."""

    def __init__(self, text: str, tokens: list[SqlToken], tables: Mapping[str, Sequence[str]], dialect: str) -> None:
        super().__init__(text, tokens, tables, dialect)
        self.equalities: list[JoinEquality] = []

    def related(self, node: exp.Select, relations: list[QueryRelation], names: Mapping[str, exp.CTE]) -> None:
        """Find the equalities between columns of relations, and those of IN and EXISTS."""
        where = node.args.get("where")
        for part in _conjuncts(where.this if where is not None else None):
            match part:
                case exp.EQ(this=exp.Column() as one, expression=exp.Column() as other):
                    self.equal(_parts(one), _parts(other), relations, _is_kept, names)
                case exp.In(this=exp.Column() as column) if part.args.get("query") is not None:
                    self.in_query(_parts(column), part.args["query"], relations, names)
                case exp.Exists():
                    self.exists(part.this, relations, names)
        supplied = {id(relations[0]): False}
        for i, join in enumerate(node.args.get("joins") or (), 1):
            joined, before = relations[i], relations[:i]
            side, kind = (join.side or "").upper(), (join.kind or "").upper()
            inner = side == "" and kind in ("", "INNER", "CROSS")

            def drops(
                each: QueryRelation,
                joined: QueryRelation = joined,
                right: bool = inner or joined.hidden or side == "LEFT",
                left: bool = inner or (side == "RIGHT" and not joined.hidden) or kind == "SEMI",
                supplied: Mapping[int, bool] = dict(supplied),
            ) -> bool:
                """Whether the join drops rows of a relation that have no partner."""
                return right if each is joined else left and not supplied.get(id(each), True) and not each.hidden

            for part in _conjuncts(join.args.get("on")):
                if (
                    isinstance(part, exp.EQ)
                    and isinstance(part.this, exp.Column)
                    and isinstance(part.expression, exp.Column)
                ):
                    self.equal(_parts(part.this), _parts(part.expression), relations[: i + 1], drops, names)
            for name in join.args.get("using") or ():
                owner, _ = owner_of((name.name,), [each for each in before if not each.hidden])
                if owner is not None and joined.columns is not None and fold_name(name.name) in joined.columns:
                    left_of = [each for each in before if not each.hidden][owner]
                    self.add(left_of, (name.name,), joined, (name.name,), drops, names)
            if side in ("RIGHT", "FULL") and not joined.hidden:
                supplied = dict.fromkeys(supplied, True)
            supplied[id(joined)] = joined.supplied

    def equal(
        self,
        one: tuple[str, ...],
        other: tuple[str, ...],
        relations: Sequence[QueryRelation],
        drops: Callable[[QueryRelation], bool],
        names: Mapping[str, exp.CTE],
    ) -> None:
        """Add an equality of two columns of different relations."""
        (first, path), (second, other_path) = owner_of(one, relations), owner_of(other, relations)
        if first is not None and second is not None and first != second:
            self.add(relations[first], path, relations[second], other_path, drops, names)

    def add(
        self,
        one: QueryRelation,
        path: tuple[str, ...],
        other: QueryRelation,
        other_path: tuple[str, ...],
        drops: Callable[[QueryRelation], bool],
        names: Mapping[str, exp.CTE],
    ) -> None:
        """Add the equality of columns of two relations for each of them whose rows without a partner are dropped."""
        for dropped, own, keys, key in ((one, path, other, other_path), (other, other_path, one, path)):
            source = self.source(keys, key, names)
            if dropped.table is not None and len(own) == 1 and source is not None and drops(dropped):
                self.equalities.append(JoinEquality(dropped.table, fold_name(own[0]), *source))

    def source(
        self, relation: QueryRelation, path: tuple[str, ...], names: Mapping[str, exp.CTE]
    ) -> tuple[str, str] | None:
        """The table and column that have every value of a column of a relation; None if that is not certain."""
        if len(path) != 1:
            return None
        if relation.table is not None:
            return relation.table, fold_name(path[0])
        query = relation.query
        if not isinstance(query, exp.Select) or query.args.get("with_"):
            return None
        relations, columns = self.relations(query, names), self.projections(query, names)
        inner = None if columns is None else columns.get(fold_name(path[0]))
        # Functions such as explode add rows, and none of them changes a column.
        return None if relations is None or inner is None else self.owned(inner, relations, names)

    def owned(
        self, path: tuple[str, ...], relations: Sequence[QueryRelation], names: Mapping[str, exp.CTE]
    ) -> tuple[str, str] | None:
        """See `source`, for a column of several relations."""
        owner, inner = owner_of(path, relations)
        return None if owner is None else self.source(relations[owner], inner, names)

    def in_query(
        self, path: tuple[str, ...], query: Any, relations: Sequence[QueryRelation], names: Mapping[str, exp.CTE]
    ) -> None:
        """Add the equality of `column IN (SELECT column …)`."""
        inner = query.this if isinstance(query, exp.Subquery) else query
        owner, own = owner_of(path, relations)
        if owner is None or not isinstance(inner, exp.Select) or inner.args.get("with_") or len(inner.expressions) != 1:
            return
        [shown] = inner.expressions
        column = shown.this if isinstance(shown, exp.Alias) else shown
        below = self.relations(inner, names)
        if below is None or not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            return
        place, its = owner_of(_parts(column), below)
        if place is not None:
            row_by_row = _is_row_by_row(inner)
            self.add(
                relations[owner],
                own,
                below[place],
                its,
                lambda each: _is_kept(each) and (each is relations[owner] or row_by_row),
                names,
            )

    def exists(self, query: Any, relations: Sequence[QueryRelation], names: Mapping[str, exp.CTE]) -> None:
        """Add the equalities of `EXISTS (SELECT … WHERE inner column = outer column)`."""
        inner = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(inner, exp.Select) or inner.args.get("with_") or not _is_row_by_row(inner):
            return
        below, where = self.relations(inner, names), inner.args.get("where")
        if below is None or where is None or any(each.columns is None for each in below):
            return
        for part in _conjuncts(where.this):
            if not (
                isinstance(part, exp.EQ)
                and isinstance(part.this, exp.Column)
                and isinstance(part.expression, exp.Column)
            ):
                continue
            for one, other in ((part.this, part.expression), (part.expression, part.this)):
                place, its = owner_of(_parts(one), below)
                outer = _parts(other)
                if place is None or _may_belong(outer, below):
                    continue
                owner, own = owner_of(outer, relations)
                if owner is not None:
                    self.add(relations[owner], own, below[place], its, _is_kept, names)


def _conjuncts(node: Any) -> Iterator[Any]:
    """The parts of a predicate between its ANDs."""
    if node is not None:
        for part in node.flatten() if isinstance(node, exp.And) else (node,):
            yield part.unnest()


def _parts(column: exp.Column) -> tuple[str, ...]:
    return tuple(part.name for part in column.parts)


def _is_kept(relation: QueryRelation) -> bool:
    """Whether each row of a relation is in rows of the result only together with its columns."""
    return not relation.supplied and not relation.hidden


def _is_row_by_row(node: exp.Select) -> bool:
    """Whether a SELECT returns each row of its relations that satisfies its predicates, and nothing else."""
    if any(node.args.get(key) for key in BEYOND_ROWS if key != "distinct"):
        return False
    return not any(each.find(*NOT_ROW_BY_ROW, exp.Anonymous) for each in node.expressions)


def _may_belong(path: tuple[str, ...], relations: Sequence[QueryRelation]) -> bool:
    """Whether a name may be a column of one of the relations, or a qualifier of one."""
    first = fold_name(path[0])
    return any(each.alias == first or first in (each.columns or ()) for each in relations)
