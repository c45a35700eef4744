"""Random merges: as calls of deltaskip, as SQL, and as a plain model over rows of Python."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

DDL = "id INT, v INT, s STRING, p STRING"
COLUMNS = ("id", "v", "s", "p")

Row = dict[str, Any]
Truth = Callable[[Any, Any], Any]


def _null(*values: Any) -> bool:
    return any(value is None for value in values)


def _equal(a: Any, b: Any) -> Any:
    return None if _null(a, b) else a == b


def _less(a: Any, b: Any) -> Any:
    return None if _null(a, b) else a < b


def _and(a: Any, b: Any) -> Any:
    return False if a is False or b is False else None if _null(a, b) else True


ON: list[tuple[str, Truth]] = [
    ("t.id = s.id", lambda t, s: _equal(t["id"], s["id"])),
    ("s.id <=> t.id", lambda t, s: t["id"] == s["id"]),
    ("t.id = s.id AND t.v < 50", lambda t, s: _and(_equal(t["id"], s["id"]), _less(t["v"], 50))),
    ("t.p = s.p AND t.id = s.id", lambda t, s: _and(_equal(t["p"], s["p"]), _equal(t["id"], s["id"]))),
    ("t.id = s.id AND s.v > 20", lambda t, s: _and(_equal(t["id"], s["id"]), _less(20, s["v"]))),
]
MATCHED: list[tuple[str, Truth]] = [
    ("s.v > 50", lambda t, s: _less(50, s["v"])),
    ("t.v IS NULL", lambda t, s: t["v"] is None),
    ("t.v < s.v", lambda t, s: _less(t["v"], s["v"])),
    ("t.p = s.p", lambda t, s: _equal(t["p"], s["p"])),
]
SOURCE: list[tuple[str, Truth]] = [
    ("s.v > 30", lambda t, s: _less(30, s["v"])),
    ("id IS NOT NULL", lambda t, s: s["id"] is not None),
]
TARGET: list[tuple[str, Truth]] = [
    ("t.v > 60", lambda t, s: _less(60, t["v"])),
    ("p = 'a'", lambda t, s: _equal(t["p"], "a")),
]
# By column: SQL text and the value.
MATCHED_VALUES: dict[str, list[tuple[str, Truth]]] = {
    "v": [("s.v", lambda t, s: s["v"]), ("t.v + s.v", lambda t, s: None if _null(t["v"], s["v"]) else t["v"] + s["v"]),
        ("CAST(NULL AS INT)", lambda t, s: None)],
    "s": [("concat(t.s, s.s)", lambda t, s: None if _null(t["s"], s["s"]) else t["s"] + s["s"]),
        ("s.v", lambda t, s: None if s["v"] is None else str(s["v"]))],
    "p": [("s.p", lambda t, s: s["p"]), ("'c'", lambda t, s: "c")],
}  # fmt: skip
SOURCE_VALUES: dict[str, list[tuple[str, Truth]]] = {
    "id": [("s.id", lambda t, s: s["id"]), ("id", lambda t, s: s["id"])],
    "v": [("s.v + 1", lambda t, s: None if s["v"] is None else s["v"] + 1), ("7", lambda t, s: 7)],
    "s": [("s.s", lambda t, s: s["s"])],
    "p": [("p", lambda t, s: s["p"])],
}
TARGET_VALUES: dict[str, list[tuple[str, Truth]]] = {
    "v": [("v + 100", lambda t, s: None if t["v"] is None else t["v"] + 100)],
    "s": [("'gone'", lambda t, s: "gone")],
    "p": [("t.p", lambda t, s: t["p"])],
}


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with its condition and values, each as text and as a function of both rows."""

    kind: str
    action: str
    where: tuple[str, Truth] | None
    values: dict[str, tuple[str, Truth]] | None


class RandomMerge:
    """A merge that a seed chooses.

    Attributes:
        on: The condition.
        clauses: The clauses.
        source: The rows of the source.
    """

    def __init__(self, seed: int, keys: int = 30) -> None:
        chosen = random.Random(seed)
        self.on = chosen.choice(ON)
        self.clauses = _clauses(chosen)
        size = chosen.choice([0, 1, 5, 12])
        self.source = random_rows(chosen, size, keys)
        if chosen.random() < 0.75:
            # Mostly without two rows of one key, which most merges refuse.
            self.source = list({row["id"]: row for row in self.source}.values())

    def added_to(self, builder: Any) -> Any:
        """The builder of deltaskip with the clauses."""
        for each in self.clauses:
            name = f"when_{each.kind.replace(' ', '_')}_{each.action}"
            where = None if each.where is None else each.where[0]
            if each.action == "delete":
                builder = getattr(builder, name)(where=where)
            elif each.values is None:
                builder = getattr(builder, f"{name}_all")(where=where)
            else:
                values = {column: text for column, (text, _) in each.values.items()}
                builder = getattr(builder, name)(values, where=where)
        return builder

    def sql(self, target: str, source: str) -> str:
        """The statement."""
        parts = [f"MERGE INTO {target} t USING {source} s ON {self.on[0]}"]
        for each in self.clauses:
            where = "" if each.where is None else f" AND {each.where[0]}"
            parts.append(f"WHEN {each.kind.upper()}{where} THEN {_action(each)}")
        return " ".join(parts)

    def model(self, rows: list[Row]) -> tuple[list[Row], dict[str, int]] | None:
        """The rows after the merge, and how many were updated, deleted and inserted; None if it is refused."""
        numbers = dict.fromkeys(("Updated", "Deleted", "Inserted"), 0)
        matched = [c for c in self.clauses if c.kind == "matched"]
        inserts_only = all(c.kind == "not matched" for c in self.clauses)
        may_repeat = inserts_only or (len(matched) == 1 and matched[0].action == "delete" and matched[0].where is None)
        met: set[int] = set()
        after: list[Row] = []
        for row in rows:
            partners = [i for i, each in enumerate(self.source) if self.on[1](row, each) is True]
            met.update(partners)
            if len(partners) > 1 and not may_repeat:
                return None
            kind = "matched" if partners else "not matched by source"
            partner = self.source[partners[0]] if partners else None
            clause = self._clause(kind, row, partner)
            if clause is None:
                after.append(row)
            elif clause.action == "delete":
                numbers["Deleted"] += 1
            else:
                numbers["Updated"] += 1
                after.append({**row, **_values(clause, row, partner)})
        for i, row in enumerate(self.source):
            clause = None if i in met else self._clause("not matched", None, row)
            if clause is not None:
                numbers["Inserted"] += 1
                after.append({**dict.fromkeys(COLUMNS), **_values(clause, None, row)})
        return after, numbers

    def _clause(self, kind: str, target: Row | None, source: Row | None) -> Clause | None:
        of_kind = (each for each in self.clauses if each.kind == kind)
        return next((each for each in of_kind if each.where is None or each.where[1](target, source) is True), None)


def random_rows(chosen: random.Random, size: int, keys: int) -> list[Row]:
    """Rows of DDL, some of their values NULL."""

    def maybe(value: Any) -> Any:
        return None if chosen.random() < 0.12 else value

    return [
        {
            "id": maybe(chosen.randrange(keys)),
            "v": maybe(chosen.randrange(100)),
            "s": maybe(chosen.choice("xyz")),
            "p": maybe(chosen.choice("ab")),
        }
        for _ in range(size)
    ]


def given(rows: list[Row]) -> pa.Table:
    """Rows as Arrow."""
    types = {"id": pa.int32(), "v": pa.int32(), "s": pa.string(), "p": pa.string()}
    return pa.table({name: pa.array([row[name] for row in rows], type_) for name, type_ in types.items()})


def counted(rows: list[Row]) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset."""
    return Counter(tuple(row[name] for name in COLUMNS) for row in rows)


def _clauses(chosen: random.Random) -> list[Clause]:
    found: list[Clause] = []
    kinds = {
        "matched": (("update", "delete"), MATCHED, MATCHED_VALUES),
        "not matched": (("insert",), SOURCE, SOURCE_VALUES),
        "not matched by source": (("update", "delete"), TARGET, TARGET_VALUES),
    }
    for kind, (actions, conditions, values) in kinds.items():
        count = chosen.choice([0, 1, 1, 2]) if kind != "not matched by source" else chosen.choice([0, 0, 0, 1, 2])
        for i in range(count):
            action = chosen.choice(actions)
            last = i + 1 == count
            where = None if last and chosen.random() < 0.6 else chosen.choice(conditions)
            found.append(Clause(kind, action, where, _chosen_values(chosen, kind, action, values)))
    if not found:
        return [Clause("matched", "update", None, None), Clause("not matched", "insert", None, None)]
    return found


def _chosen_values(
    chosen: random.Random, kind: str, action: str, values: dict[str, list[tuple[str, Truth]]]
) -> dict[str, tuple[str, Truth]] | None:
    if action == "delete" or (kind != "not matched by source" and chosen.random() < 0.4):
        return None
    names = chosen.sample(sorted(values), chosen.randrange(1, len(values) + 1))
    return {name: chosen.choice(values[name]) for name in names}


def _values(clause: Clause, target: Row | None, source: Row | None) -> Row:
    if clause.values is None:
        assert source is not None
        return dict(source)
    return {name: value(target, source) for name, (_, value) in clause.values.items()}


def _action(clause: Clause) -> str:
    if clause.action == "delete":
        return "DELETE"
    if clause.values is None:
        return "UPDATE SET *" if clause.action == "update" else "INSERT *"
    if clause.action == "update":
        return "UPDATE SET " + ", ".join(f"t.{name} = {text}" for name, (text, _) in clause.values.items())
    texts = ", ".join(text for text, _ in clause.values.values())
    return f"INSERT ({', '.join(clause.values)}) VALUES ({texts})"
