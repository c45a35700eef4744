"""Parts of a query's predicates that every relevant row of a table must satisfy, so that other files can be skipped.

Spark runs the whole query as it was typed; the predicates of this module only decide which files it reads. sqlglot
finds the structure of the query; the predicates are slices of the text. If anything is uncertain, no predicate is
found.

A row of a table may be left out if no row of the result depends on it. For a predicate of WHERE on one table that holds
if the table is not on the NULL-supplying side of an outer join; for a predicate of ON it holds if the table is the
joined one and the join does not preserve its rows, or if all joins so far are inner joins. Both pass through subqueries
that only select and rename columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from deltaskip.errors import SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import SqlToken, quoted_path, sql_tokens
from deltaskip.sparkexpr.types import fold_name

_ENDS = (
    *("WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "QUALIFY"),
    *("UNION", "EXCEPT", "INTERSECT", "MINUS", "SELECT", "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI"),
    *("ANTI", "NATURAL", "LATERAL", "PIVOT", "UNPIVOT", "ON", "USING", "THEN", "INSERT"),
)
_OPENING, _CLOSING = ("(", "["), (")", "]")
# The parts that make the rows of a query depend on more than one row of its source.
NOT_ROW_BY_ROW = (exp.AggFunc, exp.Window, exp.Explode, exp.Posexplode, exp.Inline, exp.UDTF)
BEYOND_ROWS = (
    *("group", "having", "limit", "offset", "qualify", "windows", "laterals", "distinct", "pivots", "sample"),
    *("sort", "cluster", "distribute", "connect", "match", "kind", "prewhere", "operation_modifiers"),
)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A predicate: pieces of text with columns between them, each by the parts of its name."""

    pieces: tuple[str | tuple[str, ...], ...]

    @property
    def columns(self) -> list[tuple[str, ...]]:
        """The columns."""
        return [piece for piece in self.pieces if isinstance(piece, tuple)]

    def text(self) -> str:
        """The predicate as SQL text."""
        return "".join(piece if isinstance(piece, str) else quoted_path(piece) for piece in self.pieces)

    def renamed(self, names: Mapping[tuple[str, ...], tuple[str, ...]]) -> Conjunct:
        """The predicate over other columns."""
        return Conjunct(tuple(names[piece] if isinstance(piece, tuple) else piece for piece in self.pieces))


@dataclass(slots=True)
class QueryRelation:
    """A relation in FROM: a table with known columns, or a query.

    Attributes:
        alias: Its name, folded.
        columns: Names of its columns, folded; None if they are not known.
        table: The name of the table; None for others.
        query: The query of a subquery or of a name of WITH; None for others.
        supplied: Whether an outer join may add a row of NULLs for it.
        hidden: Whether its columns cannot be named outside of ON, as in a semi join.
    """

    alias: str
    columns: frozenset[str] | None
    table: str | None = None
    query: exp.Query | None = None
    supplied: bool = False
    hidden: bool = False


class QuerySearch:
    """A walk over the tree of a query, with the predicates that rows of each part must satisfy."""

    def __init__(self, text: str, tokens: list[SqlToken], tables: Mapping[str, Sequence[str]], dialect: str) -> None:
        self.text = text
        self.dialect = dialect
        self.tables = {name: frozenset(map(fold_name, columns)) for name, columns in tables.items()}
        self.spans = list(_spans(tokens, 0, len(tokens)))
        self.found: dict[str, list[str]] = {}

    def query(self, node: Any, required: Sequence[Conjunct], names: Mapping[str, exp.CTE]) -> None:
        """Search a query. required: conjuncts over its columns. names: the names of WITH around it."""
        visible = dict(names)
        with_ = node.args.get("with_") if isinstance(node, exp.Expression) else None
        once = not isinstance(with_, exp.With) or not with_.args.get("recursive")
        for cte in with_.expressions if isinstance(with_, exp.With) else ():
            visible.pop(fold_name(cte.alias), None)
            if once and self.is_used_once(node, cte.alias):
                # The query of this CTE is searched where it is used.
                visible[fold_name(cte.alias)] = cte
            else:
                self.query(cte.this, (), visible)
        match node:
            case exp.Select():
                self.select(node, required, visible)
            case exp.Subquery() if not any(node.args.get(key) for key in ("limit", "offset", "pivots", "sample")):
                self.query(node.this, required, visible)
            case exp.SetOperation():
                self.query(node.left, (), visible)
                self.query(node.right, (), visible)
            case exp.Subquery():
                self.query(node.this, (), visible)

    def is_used_once(self, node: exp.Expression, alias: str) -> bool:
        """Whether a name of WITH occurs once below a node."""
        return sum(fold_name(each.name) == fold_name(alias) for each in node.find_all(exp.Table)) == 1

    def select(self, node: exp.Select, required: Sequence[Conjunct], names: Mapping[str, exp.CTE]) -> None:
        """Search a SELECT, and the queries inside of it."""
        relations = self.relations(node, names)
        pushed: dict[int, list[Conjunct]] = {}
        if relations is not None:
            inside = self.through(node, required, relations)
            where = node.args.get("where")
            for conjunct in (*self.conjuncts(where.this if where is not None else None), *inside):
                self.put(conjunct, relations, pushed, lambda each: not each.supplied and not each.hidden)
            self.joins(node, relations, pushed)
            self.related(node, relations, names)
        searched: set[int] = set()
        for i, relation in enumerate(relations or ()):
            conjuncts = pushed.get(i, [])
            if relation.table is not None:
                self.found.setdefault(relation.table, []).extend(each.text() for each in conjuncts)
            elif relation.query is not None:
                searched.add(id(relation.query))
                self.query(relation.query, conjuncts, names)
        for inner in _inner_queries(node):
            if id(inner) not in searched and not isinstance(inner.parent, exp.CTE):
                self.query(inner, (), names)
        if relations is None:
            for table in node.find_all(exp.Table):
                cte = names.get(fold_name(table.name))
                if cte is not None:
                    self.query(cte.this, (), names)

    def relations(self, node: exp.Select, names: Mapping[str, exp.CTE]) -> list[QueryRelation] | None:
        """The relations of FROM with its joins; None if something about them is not known."""
        start = node.args.get("from_")
        if start is None or any(node.args.get(key) for key in ("laterals", "match", "connect", "pivots")):
            return None
        found = [self.relation(start.this, names)]
        for join in node.args.get("joins") or ():
            side, kind = (join.side or "").upper(), (join.kind or "").upper()
            unknown = (join.method or "").upper() not in ("", "NATURAL") or kind not in (
                *("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI"),
            )
            if unknown or side not in ("", "LEFT", "RIGHT", "FULL") or (kind == "OUTER" and not side):
                return None
            joined = self.relation(join.this, names)
            joined.hidden = kind in ("SEMI", "ANTI")
            joined.supplied = side in ("LEFT", "FULL") and not joined.hidden
            if side in ("RIGHT", "FULL") and not joined.hidden:
                for each in found:
                    each.supplied = True
            found.append(joined)
        aliases = [each.alias for each in found]
        return found if len(set(aliases)) == len(aliases) else None

    def relation(self, node: exp.Expression, names: Mapping[str, exp.CTE]) -> QueryRelation:
        """A relation of FROM."""
        alias = node.args.get("alias")
        name = fold_name(node.alias_or_name)
        plain = not any(node.args.get(key) for key in ("joins", "pivots", "sample", "laterals", "ordinality"))
        plain = plain and (alias is None or not alias.args.get("columns"))
        match node:
            case exp.Table() if plain and isinstance(node.this, exp.Identifier) and node.name in self.tables:
                return QueryRelation(name, self.tables[node.name], table=node.name)
            case exp.Table() if plain and fold_name(node.name) in names and not node.args.get("db"):
                query = names[fold_name(node.name)]
                if not query.args["alias"].args.get("columns"):
                    return QueryRelation(name, self.outputs(query.this, names), query=query.this)
            case exp.Subquery() if plain and not any(node.args.get(key) for key in ("limit", "offset")):
                return QueryRelation(name, self.outputs(node.this, names), query=node.this)
        return QueryRelation(name, None)

    def outputs(self, node: Any, names: Mapping[str, exp.CTE]) -> frozenset[str] | None:
        """The names of a query's columns, if they are all known and different."""
        if not isinstance(node, exp.Select) or node.args.get("with_"):
            return None
        columns = self.projections(node, names)
        return None if columns is None else frozenset(columns)

    def projections(self, node: exp.Select, names: Mapping[str, exp.CTE]) -> dict[str, tuple[str, ...] | None] | None:
        """The columns of a SELECT by name: the column that each is, or None for an expression. None if not known."""
        relations = self.relations(node, names)
        if relations is None:
            return None
        found: dict[str, tuple[str, ...] | None] = {}
        for each in node.expressions:
            if isinstance(each, exp.Star) and not any(each.args.values()):
                visible = [relation for relation in relations if not relation.hidden]
                if any(join.args.get("using") or join.method for join in node.args.get("joins") or ()):
                    return None
                for relation in visible:
                    if relation.columns is None or relation.columns & found.keys():
                        return None
                    found |= {column: (relation.alias, column) for column in relation.columns}
                continue
            name = fold_name(each.alias_or_name)
            inner = each.this if isinstance(each, exp.Alias) else each
            if not name or name in found or isinstance(inner, exp.Star) or isinstance(each, exp.Aliases):
                return None
            is_column = isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star)
            if isinstance(inner, exp.Column) and not is_column:
                return None
            found[name] = tuple(part.name for part in inner.parts) if is_column else None
        return found

    def through(
        self, node: exp.Select, required: Sequence[Conjunct], relations: Sequence[QueryRelation]
    ) -> Iterator[Conjunct]:
        """Conjuncts over the columns of a SELECT as conjuncts over the columns of its relations."""
        if not required or any(node.args.get(key) for key in BEYOND_ROWS) or node.args.get("with_"):
            return
        if any(each.find(*NOT_ROW_BY_ROW, exp.Anonymous) for each in node.expressions):
            return
        columns = self.projections(node, {})
        if columns is None:
            # Names of WITH are not known at this point: only stars and renamed columns of tables pass.
            return
        for conjunct in required:
            names: dict[tuple[str, ...], tuple[str, ...]] = {}
            for path in conjunct.columns:
                inner = columns.get(fold_name(path[0]))
                if inner is None:
                    break
                names[path] = (*inner, *path[1:])
            else:
                yield conjunct.renamed(names)

    def joins(self, node: exp.Select, relations: list[QueryRelation], pushed: dict[int, list[Conjunct]]) -> None:
        """Assign conjuncts of ON to the relations of their columns."""
        supplied = {id(relations[0]): False}
        for i, join in enumerate(node.args.get("joins") or (), 1):
            joined = relations[i]
            side, kind = (join.side or "").upper(), (join.kind or "").upper()
            inner = side == "" and kind in ("", "INNER", "CROSS")
            right = inner or joined.hidden or side == "LEFT"

            def fits(
                each: QueryRelation,
                joined: QueryRelation = joined,
                inner: bool = inner,
                right: bool = right,
                supplied: Mapping[int, bool] = dict(supplied),
            ) -> bool:
                return right if each is joined else inner and not supplied.get(id(each), True) and not each.hidden

            if right:
                for conjunct in self.conjuncts(join.args.get("on")):
                    self.put(conjunct, relations[: i + 1], pushed, fits)
            if side in ("RIGHT", "FULL") and not joined.hidden:
                supplied = dict.fromkeys(supplied, True)
            supplied[id(joined)] = joined.supplied

    def related(self, node: exp.Select, relations: list[QueryRelation], names: Mapping[str, exp.CTE]) -> None:
        """Search a SELECT for what holds between its relations; a subclass does."""

    def put(
        self, conjunct: Conjunct, relations: Sequence[QueryRelation], pushed: dict[int, list[Conjunct]], fits: Any
    ) -> None:
        """Assign a conjunct to the relation of all its columns, if there is one."""
        owners: set[int] = set()
        names: dict[tuple[str, ...], tuple[str, ...]] = {}
        for path in conjunct.columns:
            owner, inner = owner_of(path, relations)
            if owner is None:
                return
            owners.add(owner)
            names[path] = inner
        if len(owners) == 1 and fits(relations[next(iter(owners))]):
            pushed.setdefault(owners.pop(), []).append(conjunct.renamed(names))

    def conjuncts(self, node: Any) -> Iterator[Conjunct]:
        """The conjuncts of a predicate that have columns and no query, as they stand in the text."""
        if node is None:
            return
        for part in node.flatten() if isinstance(node, exp.And) else (node,):
            if part.find(exp.Query, exp.AggFunc, exp.Window) is not None:
                continue
            found = self.sliced(list(part.find_all(exp.Column)))
            if found is not None:
                yield found

    def sliced(self, columns: list[exp.Column]) -> Conjunct | None:
        """The conjunct of the text that has these columns and no others; None if it is not certain which."""
        places: list[tuple[int, int, tuple[str, ...]]] = []
        for column in columns:
            parts = column.parts
            if isinstance(column.this, exp.Star) or not all("start" in part.meta for part in parts):
                return None
            first, last = parts[0].meta["start"], parts[-1].meta["end"] + 1
            places.append((first, last, tuple(part.name for part in parts)))
        if not places:
            return None
        places.sort()
        first, last = places[0][0], places[-1][1]
        around = [span for span in self.spans if span[0] <= first and last <= span[1]]
        if not around:
            return None
        start, end = min(around, key=lambda span: span[1] - span[0])
        pieces: list[str | tuple[str, ...]] = []
        at = start
        for begin, stop, parts in places:
            if begin < at or not _is_path(self.text[begin:stop], parts):
                return None
            pieces += self.text[at:begin], parts
            at = stop
        conjunct = Conjunct((*pieces, self.text[at:end]))
        return conjunct if self.has_only(start, end, len(places)) else None

    def has_only(self, start: int, end: int, columns: int) -> bool:
        """Whether the text between two positions, parsed separately, has this number of columns, and no query."""
        try:
            tree = sqlglot.parse_one(self.text[start:end], dialect=self.dialect, into=exp.Condition)
        except SqlglotError:
            return False
        return tree.find(exp.Query) is None and sum(1 for _ in tree.find_all(exp.Column)) == columns


def owner_of(path: tuple[str, ...], relations: Sequence[QueryRelation]) -> tuple[int | None, tuple[str, ...]]:
    """The relation that a column belongs to, and its path there; None if it is not certain.

    # Spark 4.1, AttributeSeq.resolve: a qualifier takes precedence over a column of this name
    """
    first = fold_name(path[0])
    qualified = [i for i, each in enumerate(relations) if each.alias == first]
    if qualified and len(path) > 1:
        columns = relations[qualified[0]].columns
        known = columns is not None and fold_name(path[1]) in columns
        return (qualified[0], path[1:]) if known and len(qualified) == 1 else (None, path)
    if any(each.columns is None for each in relations):
        return None, path
    having = [i for i, each in enumerate(relations) if first in (each.columns or ())]
    return (having[0], path) if len(having) == 1 else (None, path)


def _inner_queries(node: exp.Expression) -> Iterator[Any]:
    """The queries directly inside of a node, except for those of its WITH."""
    pending = [value for key, value in node.args.items() if key != "with_"]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, exp.Subquery):
            yield value.this
        elif isinstance(value, exp.Query):
            yield value
        elif isinstance(value, exp.Expression):
            pending += value.args.values()


def _is_path(text: str, parts: tuple[str, ...]) -> bool:
    """Whether a text is the name of a column with these parts."""
    try:
        tokens = sql_tokens(text)
    except SchemaError:
        return False
    names = [token.text for token in tokens[::2] if token.kind in ("word", "name")]
    return tuple(names) == parts and all(token.is_symbol(".") for token in tokens[1::2])


def _spans(tokens: list[SqlToken], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each part, with AND between them, of each predicate after WHERE and ON, at any depth."""
    at = first
    while at < last:
        token = tokens[at]
        if token.kind == "symbol" and token.text in _OPENING:
            closing = _closing(tokens, at, last)
            yield from _spans(tokens, at + 1, closing)
            at = closing + 1
        elif token.is_word("WHERE", "ON") and not (at and tokens[at - 1].is_symbol(".")):
            at = yield from _clause(tokens, at + 1, last, commas=token.is_word("ON"))
        else:
            at += 1


def _clause(tokens: list[SqlToken], first: int, last: int, commas: bool) -> Any:
    """The parts of the predicate that begins at `first`; returns the index after it."""
    at = start = first
    cases = betweens = 0
    either = False
    parts: list[tuple[int, int]] = []
    while at < last:
        token = tokens[at]
        if token.kind == "symbol":
            if token.text in _OPENING:
                closing = _closing(tokens, at, last)
                yield from _spans(tokens, at + 1, closing)
                at = closing
            elif token.text == ";" or (token.text == "," and commas and not cases):
                break
        elif token.kind == "word" and not (at and tokens[at - 1].is_symbol(".")):
            if token.is_word("CASE"):
                cases += 1
            elif token.is_word("END") and cases:
                cases -= 1
            elif not cases and token.is_word(*_ENDS) and not _is_called(tokens, at, last):
                break
            elif not cases and token.is_word("BETWEEN"):
                betweens += 1
            elif not cases and token.is_word("AND") and betweens:
                betweens -= 1
            elif not cases and token.is_word("AND"):
                parts.append((start, at))
                start = at + 1
            elif not cases and token.is_word("OR"):
                either = True
        at += 1
    parts.append((start, at))
    if either:
        parts = [(first, at)]
    for begin, end in parts:
        if begin < end:
            yield tokens[begin].start, tokens[end - 1].end
    return at


def _is_called(tokens: list[SqlToken], at: int, last: int) -> bool:
    """Whether a word that could end a clause is a function call: left(a, 2)."""
    return at + 1 < last and tokens[at + 1].is_symbol("(") and tokens[at].is_word("LEFT", "RIGHT", "INSERT")


def _closing(tokens: list[SqlToken], opening: int, last: int) -> int:
    depth = 0
    for at in range(opening, last):
        if tokens[at].kind == "symbol":
            depth += (tokens[at].text in _OPENING) - (tokens[at].text in _CLOSING)
            if depth == 0:
                return at
    return last
