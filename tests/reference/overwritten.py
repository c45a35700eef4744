"""Tables that deltaskip and delta-spark overwrite in turns: after each version delta-spark's rows, feed and row ids.

    python -m tests.reference.playing overwritten ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both agree with a plain model of rows.
"""

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import deltaskip as ds
from tests.dml.tables import DDL, rows
from tests.extent import extent
from tests.reference.playing import by_id

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
NAMED = {"delta.columnMapping.mode": "name"}
BY_ID = {"delta.columnMapping.mode": "id"}
TIMED = {"delta.enableInCommitTimestamps": "true", "delta.checkpointInterval": "4"}

CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": ({}, []),
    "plain, partitions": ({}, ["p"]),
    "vectors": (VECTORS, []),
    "vectors, partitions": ({**VECTORS, **TIMED}, ["p"]),
    "feed and row ids": ({**FEED, **TRACKED}, []),
    "feed and row ids, partitions": ({**FEED, **TRACKED, **TIMED}, ["p"]),
    "vectors, feed and row ids": ({**VECTORS, **FEED, **TRACKED}, ["p"]),
    "vectors by name, feed and row ids": ({**VECTORS, **FEED, **TRACKED, **NAMED}, []),
    "by name, feed and row ids": ({**FEED, **TRACKED, **NAMED}, ["p"]),
    "by id and row ids": ({**TRACKED, **BY_ID}, []),
    "vectors by id and feed, partitions": ({**VECTORS, **FEED, **BY_ID}, ["p"]),
}

Row = dict[str, Any]
# A predicate as SQL, and whether it is TRUE for a row.
PREDICATES: list[tuple[str, Callable[[Row], bool]]] = [
    ("x >= 5 AND x < 60", lambda row: row["x"] is not None and 5 <= row["x"] < 60),
    ("p = 'a'", lambda row: row["p"] == "a"),
    ("p IS NULL AND id % 2 = 0", lambda row: row["p"] is None and row["id"] % 2 == 0),
    ("x IS NULL OR p = 'b' AND st.a > 40", lambda row: row["x"] is None or (row["p"] == "b" and row["st"]["a"] > 40)),
    ("id % 5 = 3", lambda row: row["id"] % 5 == 3),
]


class Played:
    """One table, and what its rows must be."""

    def __init__(self, spark: Any, folder: Path, properties: dict[str, str], partition_by: list[str]) -> None:
        self.spark, self.folder, self.properties, self.partition_by = spark, folder, properties, partition_by
        self.chance = random.Random(str(folder.name))
        self.model: dict[int, Row] = {}
        self.ids: dict[int, tuple[int, int]] = {}
        self.next = 0
        self.table = ds.DeltaTable.create(folder, DDL, partition_by, properties=properties)

    def play(self) -> None:
        """Append, and overwrite by both doors of deltaskip and by delta-spark in turns."""
        self.append(40)
        self.append(25)
        for number, (text, holds) in enumerate(PREDICATES[: extent(1, None)]):
            for door in (("arrow", "delta-spark"), ("frame", "arrow"), ("delta-spark", "frame"))[number % 3]:
                new = [row for row in self.rows(30) if holds(row)][: self.chance.choice([0, 2, 9])]
                self.overwrite(door, new, text, holds)
            if number == 2:
                self.append(30)
                self.spark.sql(f"DELETE FROM delta.`{self.folder}` WHERE id % 11 = 4")
                self.model = {i: row for i, row in self.model.items() if i % 11 != 4}
                self.table.refresh()
                self.check("after a DELETE of delta-spark")
        for door in extent(["frame"], ["arrow", "frame", "delta-spark"]):
            new = [row for row in self.rows(6) if row["p"] != "a"]
            gone = {row["p"] for row in new} if self.partition_by else None
            self.overwrite(door, new, None, lambda row, gone=gone: gone is None or row["p"] in gone, dynamic=True)
        # Without deletion vectors, delta-spark 4.4 does not find the files that it would rewrite for replaceOn.
        theirs = ["delta-spark"] if VECTORS.items() <= self.properties.items() else []
        for number, door in enumerate(extent(["format"], ["arrow", "frame", "format", *theirs])):
            self.append(12)
            new = [row for row in self.rows(6) if row["p"] != "a"]
            keys = {row["p"] for row in new} - {None}
            self.overwrite(door, new, None, lambda row, keys=keys: row["p"] in keys, matching={"replaceUsing": "p"})
            self.append(20)
            new = self.rows(0 if number == 1 else 6)
            older = {row["id"] - 15 for row in new if row["x"]}
            matching = {"replaceOn": "t.id = s.id - 15 AND s.x > 0", "targetAlias": "t"}
            self.overwrite(door, new, None, lambda row, older=older: row["id"] in older, matching=matching)
        for door in extent(["arrow"], ["frame", "delta-spark", "arrow"]):
            self.overwrite(door, self.rows(self.chance.choice([0, 7])), None, lambda _row: True)
        self.append(20)
        self.spark.sql(f"OPTIMIZE delta.`{self.folder}`")
        self.table.refresh()
        self.check("after OPTIMIZE")
        self.replace_schema()

    def rows(self, count: int) -> list[Row]:
        """Rows with ids that no row has had."""
        self.next += count
        made: list[Row] = rows(range(self.next - count, self.next)).to_pylist()
        return made

    def append(self, count: int) -> None:
        new = self.rows(count)
        self.table.append(rows([row["id"] for row in new]))
        self.model |= {row["id"]: row for row in new}
        self.check("after an append", [], new)

    def frame(self, new: Iterable[Row]) -> Any:
        """The rows as a DataFrame."""
        ids = [(row["id"],) for row in new]
        frame = self.spark.createDataFrame(ids, "id BIGINT") if ids else self.spark.range(0)
        return frame.selectExpr(
            "id",
            "elt(CAST(id % 3 AS INT) + 1, 'a', 'b', NULL) AS p",
            "IF(id % 4 = 0, NULL, CAST(id AS INT)) AS x",
            "named_struct('a', CAST(id AS INT), 'tags', array(CAST(id AS STRING))) AS st",
        )

    def overwrite(
        self,
        door: str,
        new: list[Row],
        where: str | None,
        holds: Callable[[Row], bool],
        dynamic: bool = False,
        matching: dict[str, str] | None = None,
    ) -> None:
        before = self.table.version
        if door in ("delta-spark", "format"):
            writer = self.frame(new).alias("s").write.format("delta" if door == "delta-spark" else "deltaskip")
            writer = writer.mode("overwrite").options(**(matching or {}))
            if where is not None:
                writer = writer.option("replaceWhere", where)
            if matching is None:
                writer = writer.option("partitionOverwriteMode", "dynamic" if dynamic else "static")
            writer.save(str(self.folder))
            self.table.refresh()
        else:
            data = rows([row["id"] for row in new]) if door == "arrow" else self.frame(new)
            named: dict[str, Any] = {"partitions": "dynamic" if dynamic else "static"}
            if matching is not None:
                on = matching.get("replaceOn") or [matching["replaceUsing"]]
                aliases = {"source_alias": "s", "target_alias": "t"} if isinstance(on, str) else {}
                named = {"on": on, **aliases}
            self.table.overwrite(data, where, **named)
        gone = [row for row in self.model.values() if holds(row)]
        self.model = {i: row for i, row in self.model.items() if not holds(row)} | {row["id"]: row for row in new}
        what = f"after {door} overwrote {'partitions' if dynamic else where or matching or 'all'} with {len(new)} rows"
        if self.table.version > before:
            self.check(what, gone, new)
        else:
            assert not new, what
            assert not gone or dynamic or matching, what

    def check(self, what: str, gone: list[Row] | None = None, new: list[Row] | None = None) -> None:
        """Compare both readers' rows, the row ids and the feed of the last version with the model."""
        expected = [self.model[i] for i in sorted(self.model)]
        delta = self.spark.read.format("delta").load(str(self.folder))
        tracked = "delta.enableRowTracking" in self.properties
        ids = ["_metadata.row_id AS row_id", "_metadata.row_commit_version AS row_version"] if tracked else []
        rows = sorted((row.asDict(recursive=True) for row in delta.selectExpr("*", *ids).collect()), key=by_id)
        located = {row["id"]: (row.pop("row_id"), row.pop("row_version")) for row in rows} if tracked else {}
        assert rows == expected, f"{what}: delta-spark finds {rows}, not {expected}"
        if self.chance.random() < 0.3:
            ours = self.table.scan().to_spark(self.spark)
            own = sorted((row.asDict(recursive=True) for row in ours.collect()), key=by_id)
            assert own == expected, f"{what}: deltaskip finds {own}, not {expected}"
            few = delta.where("x > 20 AND p = 'b'").count()
            assert few == sum(row["x"] is not None and row["x"] > 20 and row["p"] == "b" for row in expected), what
        self.check_ids(what, located)
        if gone is not None and new is not None and "delta.enableChangeDataFeed" in self.properties:
            self.check_feed(what, gone, new)

    def check_ids(self, what: str, found: dict[int, tuple[int, int]]) -> None:
        assert len({first for first, _ in found.values()}) == len(found), f"{what}: a row id occurs twice"
        moved = {i: (self.ids[i], each) for i, each in found.items() if self.ids.get(i, each) != each}
        # Rows that stayed keep id and version, whoever rewrote their file.
        if "delta-spark overwrote" not in what:
            assert not moved, f"{what}: row ids changed: {moved}"
        self.ids = found

    def check_feed(self, what: str, gone: list[Row], new: list[Row]) -> None:
        version = self.table.version
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        feed = reader.option("startingVersion", version).option("endingVersion", version).load(str(self.folder))
        columns = ("_change_type", "id", "p", "x")
        found = sorted(tuple(row[name] for name in columns) for row in feed.fillna(-1).fillna("-").collect())
        expected = [("delete", row) for row in gone] + [("insert", row) for row in new]
        plain = sorted(
            (kind, row["id"], row["p"] or "-", -1 if row["x"] is None else row["x"]) for kind, row in expected
        )
        assert found == plain, f"{what}: the feed has {found}, not {plain}"

    def replace_schema(self) -> None:
        """Other columns by deltaskip, then by delta-spark, then rows by deltaskip again."""
        identifier = self.table.metadata.id
        self.table.overwrite(
            self.frame(self.rows(5)).selectExpr("p", "CAST(x AS STRING) AS x", "id AS new"), schema_mode="replace"
        )
        delta = self.spark.read.format("delta").load(str(self.folder))
        assert [(f.name, f.dataType.simpleString()) for f in delta.schema] == [
            ("p", "string"),
            ("x", "string"),
            ("new", "bigint"),
        ]
        assert delta.count() == 5
        assert self.table.metadata.id == identifier
        assert list(self.table.partition_columns) == self.partition_by
        if {"delta.enableChangeDataFeed", "delta.columnMapping.mode"} <= self.properties.keys():
            # delta-spark refuses to replace a mapped schema while the table has the feed enabled.
            return
        writer = delta.selectExpr("new AS id", "p", "'z' AS x").localCheckpoint().write.format("delta")
        writer.mode("overwrite").option("overwriteSchema", "true").save(str(self.folder))
        self.table.refresh()
        self.table.overwrite(self.frame(self.rows(3)).selectExpr("id", "p", "'y' AS x"), where="x = 'y'")
        assert self.table.scan().to_spark(self.spark).count() == 8
        assert self.spark.read.format("delta").load(str(self.folder)).count() == 8


def play(spark: Any, folder: Path, name: str) -> None:
    """Play one case."""
    from deltaskip.spark.session.checks import running_interpreter
    from deltaskip.spark.source.data_source import DeltaSkipDataSource

    with running_interpreter(spark):
        spark.dataSource.register(DeltaSkipDataSource)
        Played(spark, folder, *CASES[name]).play()
