"""MERGE with random clauses, by either writer, and what it does to the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.reference.histories.conditions import Assignment, Condition, assignments, condition
from tests.reference.histories.model import Change, Row
from tests.reference.histories.writers import arrow_rows, drawn_rows, frame_of, in_process_or_spark

if TYPE_CHECKING:
    from tests.reference.histories.history import History

KINDS = ("matched", "not matched", "not matched by source")


@dataclass(frozen=True)
class Clause:
    """WHEN …: for which pair of rows, and what it does.

    Attributes:
        kind: "matched", "not matched" or "not matched by source".
        action: "update", "update all", "delete", "insert" or "insert all".
        when: Whether the clause applies to a target and a source row, one of which may be missing.
        sets: What an update or insert assigns: target, SQL, key, value of (target, source).
    """

    kind: str
    action: str
    sql: str | None = None
    when: Callable[[Row | None, Row | None], bool | None] = lambda t, s: True
    sets: tuple[tuple[str, str, str, Callable[[Row | None, Row | None], Any]], ...] = ()


def merge(h: History) -> Change | None:
    """MERGE a source of old and new keys."""
    by_delta = h.by_delta("merge")
    if not by_delta and not hasattr(h.table, "merge"):
        return None
    source, key = _source(h)
    clauses = _clauses(h, source, key)
    data = arrow_rows(h, source)
    data = data.rename_columns([name.lower() for name in data.column_names])
    shown = [(c.kind, c.action, c.sql, [s[:2] for s in c.sets]) for c in clauses]
    h.note("merge", on=key, rows=len(source), clauses=shown)
    expected = _expected(h, source, key, clauses)
    name = h.model.column(key).name
    on = f"t.{name} = s.{name}"
    before = h.version()
    try:
        if by_delta:
            _by_delta(h, frame_of(h, data), on, clauses)
        else:
            _by_deltaskip(h, data, on, clauses)
    except Exception as error:
        if expected is None and ("MULTIPLE_SOURCE_ROW" in str(error) or type(error).__name__ == "AmbiguousMerge"):
            return None if h.version() == before else _raise(error)
        raise
    if expected is None:
        raise AssertionError("several source rows match one target row, and MERGE did not raise")
    return expected


def _raise(error: Exception) -> None:
    raise AssertionError("a refused MERGE was committed") from error


def _source(h: History) -> tuple[list[Row], str]:
    """Rows with the key that the merge joins on: ids of the table and new ones, or values of k, some of them twice."""
    key = h.chance.choice(["id", "id", "id", "k"])
    if key == "k" and any("k" in c.uses for c in h.model.columns if c.partition):
        key = "id"
    rows = drawn_rows(h, h.chance.choice((1, 4, 10, 15)))
    if key == "id":
        old = h.chance.sample([*h.model.rows], min(len(h.model.rows), h.chance.choice((0, 2, 5, 10))))
        matched = drawn_rows(h, len(old))
        # All rows of the source need the same columns.
        template = rows[0].keys()
        full = [{c.key: c.draw(h.chance) for c in h.model.columns if c.key in template} for _ in matched]
        rows += [{**row, "id": i} for row, i in zip(full, old, strict=True)]
        if old and h.chance.random() < 0.08:
            rows.append({**rows[-1]})
    else:
        if "k" not in rows[0]:
            return rows, "id"
        seen: set[Any] = set()
        rows = [row for row in rows if row["k"] is None or not (row["k"] in seen or seen.add(row["k"]))]
    h.chance.shuffle(rows)
    return rows, key


def _clauses(h: History, source: list[Row], key: str) -> list[Clause]:
    found: list[Clause] = []
    full = all(c.key in source[0] for c in h.model.columns)
    for kind in KINDS:
        count = h.chance.randint(0, 2) if kind != KINDS[2] else h.chance.choice((0, 0, 0, 1, 2))
        for n in range(count):
            found.append(_clause(h, source, key, kind, n == count - 1 and h.chance.random() < 0.6, full))
    return found or [_clause(h, source, key, "matched", True, full)]


def _clause(h: History, source: list[Row], key: str, kind: str, last: bool, full: bool) -> Clause:
    if kind == "matched":
        on: Condition = condition(h.chance, h.model, "t")
        sql, when = (None, lambda t, s: True) if last else (on.sql, lambda t, s: on.holds(t))
        draw = h.chance.random()
        if draw < 0.3:
            return Clause(kind, "delete", sql, when)
        if draw < 0.5 and full and key == "id":
            return Clause(kind, "update all", sql, when, _all(h))
        return Clause(kind, "update", sql, when, _updates(h, source))
    if kind == "not matched":
        low = h.chance.randint(0, h.model.next_id)
        sql, when = (None, lambda t, s: True) if last else (f"s.{_name(h, 'id')} >= {low}", lambda t, s: s["id"] >= low)
        if full:
            return Clause(kind, "insert all", sql, when, _all(h))
        return Clause(kind, "insert", sql, when, tuple(_copy(h, c.key) for c in _insertable(h, source)))
    on = condition(h.chance, h.model, "t")
    sql, when = (None, lambda t, s: True) if last and h.chance.random() < 0.3 else (on.sql, lambda t, s: on.holds(t))
    if h.chance.random() < 0.5:
        return Clause(kind, "delete", sql, when)
    return Clause(kind, "update", sql, when, tuple(map(_own, assignments(h.chance, h.model, "t"))))


def _insertable(h: History, source: list[Row]) -> list[Any]:
    columns = [c for c in h.model.columns if c.key in source[0]]
    return [c for c in columns if c.required or c.key == "id" or h.chance.random() < 0.9]


def _updates(h: History, source: list[Row]) -> Any:
    if h.chance.random() < 0.5:
        return tuple(map(_own, assignments(h.chance, h.model, "t")))
    columns = [c for c in h.model.columns if c.given and c.key in source[0] and c.key != "id"]
    return tuple(_copy(h, c.key) for c in h.chance.sample(columns, min(len(columns), h.chance.randint(1, 4))))


def _all(h: History) -> Any:
    return tuple(_copy(h, c.key) for c in h.model.columns)


def _copy(h: History, key: str) -> Any:
    name = _name(h, key)
    return name, f"s.{name}", key, lambda t, s: s[key]


def _own(a: Assignment) -> Any:
    return a.target.removeprefix("t."), a.sql, a.key, lambda t, s: a.value(t)


def _name(h: History, key: str) -> str:
    return h.model.column(key).name


def _expected(h: History, source: list[Row], key: str, clauses: list[Clause]) -> Change | None:
    """What the merge must do; None if it must be refused."""
    by_kind = {kind: [c for c in clauses if c.kind == kind] for kind in KINDS}
    matched = by_kind["matched"]
    only_deletes = len(matched) == 1 and matched[0].action == "delete" and matched[0].sql is None
    change = Change(operation="MERGE", may_commit_nothing=True)
    targets: dict[Any, list[int]] = {}
    for i, row in h.model.rows.items():
        if row[key] is not None:
            targets.setdefault(row[key], []).append(i)
    sources: dict[int, list[Row]] = {}
    for row in source:
        found = targets.get(row[key], []) if row[key] is not None else []
        for i in found:
            sources.setdefault(i, []).append(row)
        if not found:
            clause = _first(by_kind["not matched"], None, row)
            if clause is not None:
                change.inserted.append(h.model.stored({k: value(None, row) for _, _, k, value in clause.sets}))
    # delta-spark counts the matches of every merge that does more than insert.
    only_inserts = all(clause.kind == "not matched" for clause in clauses)
    if not only_inserts and not only_deletes and any(len(rows) > 1 for rows in sources.values()):
        return None
    for i, target in h.model.rows.items():
        row = sources[i][0] if i in sources else None
        clause = _first(matched if row is not None else by_kind["not matched by source"], target, row)
        if clause is None:
            continue
        if clause.action == "delete":
            change.deleted.append(i)
        else:
            change.updated[i] = h.model.stored({**target, **{k: value(target, row) for _, _, k, value in clause.sets}})
    counts = {"Inserted": len(change.inserted)}
    for action, ids in (("Updated", change.updated), ("Deleted", change.deleted)):
        of_matched = sum(i in sources for i in ids)
        counts |= {
            action: len(ids),
            f"Matched{action}": of_matched,
            f"NotMatchedBySource{action}": len(ids) - of_matched,
        }
    change.metrics = {"numSourceRows": len(source), **{f"numTargetRows{name}": n for name, n in counts.items()}}
    return change


def _first(clauses: list[Clause], target: Row | None, source: Row | None) -> Clause | None:
    return next((c for c in clauses if c.when(target, source) is True), None)


def _by_delta(h: History, source: Any, on: str, clauses: list[Clause]) -> None:
    source.createOrReplaceTempView("source")
    parts = []
    for clause in clauses:
        parts.append(f"WHEN {clause.kind.upper()}" + (f" AND {clause.sql}" if clause.sql else "") + " THEN")
        if clause.action == "update":
            parts.append("UPDATE SET " + ", ".join(f"t.{name} = {sql}" for name, sql, *_ in clause.sets))
        elif clause.action == "insert":
            names, values = zip(*((name, sql) for name, sql, *_ in clause.sets), strict=True)
            parts.append(f"INSERT ({', '.join(names)}) VALUES ({', '.join(values)})")
        else:
            texts = {"update all": "UPDATE SET *", "insert all": "INSERT *", "delete": "DELETE"}
            parts.append(texts[clause.action])
    h.sql(f"MERGE INTO {{t}} t USING source s ON {on} {' '.join(parts)}")


def _by_deltaskip(h: History, data: Any, on: str, clauses: list[Clause]) -> None:
    def run(spark: Any) -> None:
        given = frame_of(h, data) if spark is not None and h.chance.random() < 0.6 else data
        h.note("  by deltaskip", source=type(given).__name__)
        session = None if given is not data else spark
        builder = h.table.merge(given, on, "s", "t", spark=session, time_zone=h.zone)
        for clause in clauses:
            method = getattr(builder, f"when_{clause.kind}_{clause.action}".replace(" ", "_"))
            new = {target: sql for target, sql, *_ in clause.sets}
            arguments = (new,) if clause.action in ("update", "insert") else ()
            builder = method(*arguments, where=clause.sql)
        builder.execute()

    in_process_or_spark(h, run)
