"""Tables that deltaskip and delta-spark update in turns: after each version delta-spark's rows, feed and row ids.

    python -m tests.reference.playing updated ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both agree with a plain model of rows. Updates are made
by deltaskip in the process and through the session, and by delta-spark, so each reads what the others wrote.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds
from deltaskip.dml import unchanged_row_groups
from tests.dml.tables import actions_of, rows
from tests.extent import extent
from tests.reference.overwritten import FEED, NAMED, TIMED, TRACKED, VECTORS
from tests.reference.playing import by_id

COLUMNS = """
    id BIGINT, p STRING, x INT, st STRUCT<a: INT, tags: ARRAY<STRING>>,
    y BIGINT GENERATED ALWAYS AS (id % 3 + x), n BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5)
"""
PLAIN = "id BIGINT, p STRING, x INT, st STRUCT<a: INT, tags: ARRAY<STRING>>"

CASES: dict[str, tuple[dict[str, str], list[str], str]] = {
    "plain": ({}, [], PLAIN),
    "plain, partitions": ({}, ["p"], PLAIN),
    "plain, copied row groups": ({}, [], PLAIN),
    "vectors": (VECTORS, [], PLAIN),
    "vectors, partitions": ({**VECTORS, **TIMED}, ["p"], PLAIN),
    "feed": (FEED, ["p"], PLAIN),
    "feed and row ids": ({**FEED, **TRACKED}, [], PLAIN),
    "vectors and feed": ({**VECTORS, **FEED}, ["p"], PLAIN),
    "vectors, feed and row ids": ({**VECTORS, **FEED, **TRACKED, **TIMED}, ["p"], PLAIN),
    "vectors by name, feed and row ids": ({**VECTORS, **FEED, **TRACKED, **NAMED}, [], PLAIN),
    "row ids by name": ({**TRACKED, **NAMED}, ["p"], PLAIN),
    "generated and identity": ({}, [], COLUMNS),
    "generated partition, identity and vectors": ({**VECTORS, **FEED}, ["y"], COLUMNS),
    "identity and row ids": ({**TRACKED, **FEED}, ["p"], COLUMNS),
}

Row = dict[str, Any]
PREDICATES: list[tuple[str | None, Callable[[Row], bool]]] = [
    ("x >= 5 AND x < 60", lambda row: row["x"] is not None and 5 <= row["x"] < 60),
    ("p = 'a'", lambda row: row["p"] == "a"),
    ("p IS NULL AND id % 2 = 0", lambda row: row["p"] is None and row["id"] % 2 == 0),
    ("x IS NULL OR p = 'b' AND st.a > 40", lambda row: row["x"] is None or (row["p"] == "b" and _a(row) > 40)),
    ("id % 5 = 3", lambda row: row["id"] % 5 == 3),
    ("id < 20", lambda row: row["id"] < 20),
    ("st.a <=> NULL", lambda row: row["st"] is None or row["st"]["a"] is None),
    ("id = -1", lambda _row: False),
    (None, lambda _row: True),
]
SETS: list[tuple[dict[str, str], Callable[[Row], Row]]] = [
    ({"x": "x + 1"}, lambda row: {"x": None if row["x"] is None else row["x"] + 1}),
    ({"p": "'a'", "x": "CAST(id AS INT)"}, lambda row: {"p": "a", "x": row["id"]}),
    ({"p": "CASE WHEN x > 30 THEN 'c' END"}, lambda row: {"p": "c" if (row["x"] or 0) > 30 else None}),
    ({"st.a": "id * 2"}, lambda row: {"st": {"a": row["id"] * 2, "tags": (row["st"] or {}).get("tags")}}),
    ({"st": "NULL", "x": "NULL"}, lambda _row: {"st": None, "x": None}),
    ({"p": "''"}, lambda _row: {"p": ""}),
    ({"st.tags": "array(p)", "p": "concat(p, 'z')"}, lambda row: {"st": {"a": (row["st"] or {}).get("a"),
        "tags": [row["p"]]}, "p": None if row["p"] is None else row["p"] + "z"}),
]  # fmt: skip
DOORS = ("arrow", "session", "delta-spark")
METRICS = ("numUpdatedRows", "numCopiedRows")


class Played:
    """One table, and what its rows must be."""

    def __init__(self, spark: Any, folder: Path, case: tuple[dict[str, str], list[str], str]) -> None:
        self.properties, self.partition_by, columns = case
        self.spark, self.folder = spark, folder
        self.chance = random.Random(str(folder.name))
        self.model: dict[int, Row] = {}
        self.ids: dict[int, tuple[int, int]] = {}
        self.numbers: dict[int, int] = {}
        self.next = 0
        self.wide = "IDENTITY" in columns
        self.table = ds.DeltaTable.create(folder, columns, self.partition_by, properties=self.properties)

    def play(self) -> None:
        """Append, and update by both engines of deltaskip and by delta-spark in turns."""
        self.append(40)
        self.append(25)
        for turn in range(extent(3, 18)):
            where, given = PREDICATES[turn % len(PREDICATES)], self.chance.choice(SETS)
            while DOORS[turn % 3] == "arrow" and "st.tags" in given[0]:
                # Arrays are made by Spark alone.
                given = self.chance.choice(SETS)
            self.update(DOORS[turn % 3], *given, *where)
            if turn == 8:
                self.append(20)
            if turn == 11:
                self.delete("id % 11 = 4", lambda row: row["id"] % 11 == 4)

    def append(self, count: int) -> None:
        self.next += count
        new = rows(range(self.next - count, self.next))
        self.table.append(new)
        self.model |= {row["id"]: self.stored(row) for row in new.to_pylist()}
        self.check("after an append", {}, {row["id"]: self.model[row["id"]] for row in new.to_pylist()})

    def stored(self, row: Row) -> Row:
        """The row with its generated column; an empty partition value is NULL."""
        if self.wide:
            row = {**row, "y": None if row["x"] is None else row["id"] % 3 + row["x"]}
        return {**row, "p": None} if row["p"] == "" and "p" in self.partition_by else row

    def update(
        self,
        door: str,
        given: dict[str, str],
        new: Callable[[Row], Row],
        where: str | None,
        holds: Callable[[Row], bool],
    ) -> None:
        before = self.table.version
        old = {i: row for i, row in self.model.items() if holds(row)}
        copied = None
        if door == "delta-spark":
            assigned = ", ".join(f"{name} = {value}" for name, value in given.items())
            condition = "" if where is None else f" WHERE {where}"
            self.spark.sql(f"UPDATE delta.`{self.folder}` SET {assigned}{condition}").collect()
            self.table.refresh()
        else:
            metrics = self.table.update(given, where, self.spark if door == "session" else None).metrics
            assert metrics["numUpdatedRows"] == len(old)
            copied = metrics["numCopiedRows"]
        changed = {i: self.stored({**row, **new(row)}) for i, row in old.items()}
        self.model |= changed
        what = f"after {door} set {given} where {where}, version {self.table.version}"
        assert (self.table.version > before) == bool(old), f"{what}: a commit for {len(old)} rows"
        if old:
            self.check(what, old, changed)
            self.check_commit(what, copied)

    def delete(self, where: str, holds: Callable[[Row], bool]) -> None:
        self.table.delete(where)
        gone = {i: row for i, row in self.model.items() if holds(row)}
        self.model = {i: row for i, row in self.model.items() if i not in gone}
        self.check("after a DELETE", gone, {})

    def check(self, what: str, before: dict[int, Row], after: dict[int, Row]) -> None:
        """Compare delta-spark's rows, row ids and feed of the last version, and our rows, with the model."""
        expected = [self.model[i] for i in sorted(self.model)]
        delta = self.spark.read.format("delta").load(str(self.folder))
        tracked = "delta.enableRowTracking" in self.properties
        ids = ["_metadata.row_id AS row_id", "_metadata.row_commit_version AS row_version"] if tracked else []
        found = sorted((row.asDict(recursive=True) for row in delta.selectExpr("*", *ids).collect()), key=by_id)
        located = {row["id"]: (row.pop("row_id"), row.pop("row_version")) for row in found} if tracked else {}
        numbers = {row["id"]: row.pop("n") for row in found} if self.wide else {}
        assert found == expected, f"{what}: delta-spark finds {found}, not {expected}"
        assert {i: numbers[i] for i in self.numbers if i in numbers} == {
            i: n for i, n in self.numbers.items() if i in numbers
        }, f"{what}: identity values changed"
        self.numbers = numbers
        if self.chance.random() < 0.3:
            ours = self.table.scan().to_spark(self.spark).drop("n")
            assert sorted((row.asDict(recursive=True) for row in ours.collect()), key=by_id) == expected, what
            few = self.table.scan("x > 20 AND p = 'a'").to_spark(self.spark).count()
            assert few == sum(row["x"] is not None and row["x"] > 20 and row["p"] == "a" for row in expected), what
        if tracked:
            self.check_ids(what, located, after)
        if "delta.enableChangeDataFeed" in self.properties:
            self.check_feed(what, before, after)

    def check_ids(self, what: str, found: dict[int, tuple[int, int]], changed: dict[int, Row]) -> None:
        """Row ids stay; the commit version of exactly the changed rows is the new one."""
        assert len({first for first, _ in found.values()}) == len(found), f"{what}: a row id occurs twice"
        for i, (row_id, version) in found.items():
            old_id, old_version = self.ids.get(i, (row_id, None))
            expected = old_id, self.table.version if i in changed else old_version
            assert (row_id, version) == expected, f"{what}: row {i} has {(row_id, version)}, not {expected}"
        self.ids = found

    def check_feed(self, what: str, before: dict[int, Row], after: dict[int, Row]) -> None:
        version = self.table.version
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        feed = reader.option("startingVersion", version).option("endingVersion", version).load(str(self.folder))
        kinds = ("update_preimage", "update_postimage") if before and after else ("delete", "insert")
        expected = [(kind, row) for kind, each in zip(kinds, (before, after), strict=True) for row in each.values()]
        columns = ("id", "p", "x", "st", *(["y"] if self.wide else []))
        found = sorted(
            repr((row["_change_type"], {name: row.asDict(recursive=True)[name] for name in columns}))
            for row in feed.collect()
        )
        plain = sorted(repr((kind, {name: row[name] for name in columns})) for kind, row in expected)
        more, lacking = set(found) - set(plain), set(plain) - set(found)
        assert found == plain, f"{what}: the feed has {more}, but not {lacking}"

    def check_commit(self, what: str, copied: int | None) -> None:
        """The actions of the commit are those that delta-spark writes for a table of these features."""
        actions = actions_of(self.table)
        vectors = "delta.enableDeletionVectors" in self.properties
        if vectors:
            assert copied in (0, None), f"{what}: {copied} rows were copied"
        added, removed = ({each["path"]: each for each in actions.get(name, [])} for name in ("add", "remove"))
        assert vectors or not added.keys() & removed.keys(), what
        for path in added.keys() & removed.keys():
            assert added[path]["deletionVector"] != removed[path].get("deletionVector"), what
            assert json.loads(added[path]["stats"])["tightBounds"] is False, what
        assert ("cdc" in actions) == ("delta.enableChangeDataFeed" in self.properties), f"{what}: {actions.keys()}"
        info = actions["commitInfo"][0]
        assert info["operation"] == "UPDATE", what
        assert set(METRICS) <= info["operationMetrics"].keys(), what
        if "delta.enableRowTracking" in self.properties:
            assert info["tags"] == {"delta.rowTracking.preserved": "true"}, what


def _a(row: Row) -> int:
    return -1 if row["st"] is None or row["st"]["a"] is None else int(row["st"]["a"])


def play(spark: Any, folder: Path, name: str) -> None:
    """Play one case."""
    with pytest.MonkeyPatch.context() as settings:
        if name.endswith("copied row groups"):
            settings.setattr(ds.options, "row_group_bytes", 60)
            settings.setattr(unchanged_row_groups, "_LEAST_BYTES", 1)
        Played(spark, folder, CASES[name]).play()
