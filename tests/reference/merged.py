"""The same random merges by deltaskip and by delta-spark on two copies of a table: rows, metrics, feed and row ids.

    python -m tests.reference.playing merged ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both agree with
each other and with a plain model of rows.
"""

import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.errors import AmbiguousMerge
from tests.dml.merge.random_merges import COLUMNS, DDL, RandomMerge, counted, given, random_rows
from tests.dml.tables import info_of

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
NAMED = {"delta.columnMapping.mode": "name"}
BY_ID = {"delta.columnMapping.mode": "id"}

CASES: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": ({"delta.enableDeletionVectors": "false"}, []),
    "plain, partitions": ({"delta.enableDeletionVectors": "false"}, ["p"]),
    "vectors": (VECTORS, []),
    "vectors, partitions": (VECTORS, ["p"]),
    "feed": ({**FEED, "delta.enableDeletionVectors": "false"}, []),
    "vectors and feed, partitions": ({**VECTORS, **FEED}, ["p"]),
    "row ids": ({**TRACKED, "delta.enableDeletionVectors": "false"}, []),
    "vectors, feed and row ids by name": ({**VECTORS, **FEED, **TRACKED, **NAMED}, []),
    "feed and row ids by id": ({**FEED, **TRACKED, **BY_ID, "delta.enableDeletionVectors": "false"}, ["p"]),
}
MERGES = 20
COUNTS = ("numSourceRows", *(f"numTargetRows{name}" for name in (
    "Inserted", "Updated", "MatchedUpdated", "NotMatchedBySourceUpdated", "Deleted", "MatchedDeleted",
    "NotMatchedBySourceDeleted",
)))  # fmt: skip


class Played:
    """Two copies of one table, and what their rows must be."""

    def __init__(self, spark: Any, folder: Path, properties: dict[str, str], partition_by: list[str]) -> None:
        self.spark, self.properties = spark, properties
        self.ours, self.theirs = folder / "ours", folder / "theirs"
        self.chance = random.Random(str(folder.name))
        table = ds.DeltaTable.create(self.ours, DDL, partition_by, properties=properties)
        self.model: list[dict[str, Any]] = []
        for _ in range(3):
            some = random_rows(self.chance, 10, 30)
            self.model += some
            table.append(given(some))
        shutil.copytree(self.ours, self.theirs)

    def play(self, seed: int) -> None:
        """One merge by each engine."""
        merge = RandomMerge(seed)
        wanted = merge.model(self.model)
        text = merge.sql(f"delta.`{self.theirs}`", "merged_source")
        arrow = given(merge.source)
        frame = self.spark.createDataFrame(arrow).coalesce(2)
        frame.createOrReplaceTempView("merged_source")
        table = ds.DeltaTable(self.ours)
        builder = merge.added_to(table.merge(frame if seed % 3 else arrow, merge.on[0], "s", "t"))
        before = self.row_ids(self.ours), self.row_ids(self.theirs)
        if wanted is None:
            self.refused(builder, text)
            return
        metrics = builder.execute().metrics
        self.model, numbers = wanted
        fails = self.theirs_fails(text)
        for name, folder in (("deltaskip", self.ours), ("delta-spark", self.theirs)):
            found = self.spark.read.format("delta").load(str(folder)).select(*COLUMNS).collect()
            assert Counter(map(tuple, found)) == counted(self.model), f"{name}: rows after {text}"
        assert {name: metrics[f"numTargetRows{name}"] for name in numbers} == numbers, f"numbers of {text}"
        if fails:
            return
        if sum(numbers.values()):
            theirs = info_of(ds.DeltaTable(self.theirs))["operationMetrics"]
            assert {n: metrics[n] for n in COUNTS} == {n: int(theirs[n]) for n in COUNTS}, f"metrics of {text}"
            assert self.feed(self.ours) == self.feed(self.theirs), f"feed of {text}"
        if before[0] is not None:
            self.check_row_ids(before[0], before[1], numbers["Deleted"], text)

    def theirs_fails(self, text: str) -> bool:
        """Merge by delta-spark. If it fails by an error of its own, its table becomes a copy of the other."""
        try:
            self.spark.sql(text).collect()
        except Exception as error:
            # delta-spark 4.4 says so of some rows of merges with conditions on all clauses.
            if "Unexpected row: did not match any merge clause" not in str(error):
                raise
            shutil.rmtree(self.theirs)
            shutil.copytree(self.ours, self.theirs)
            return True
        return False

    def refused(self, builder: Any, text: str) -> None:
        """Both refuse a merge that matches twice."""
        try:
            builder.execute()
        except AmbiguousMerge:
            pass
        else:
            raise AssertionError(f"deltaskip does not refuse {text}")
        try:
            self.spark.sql(text).collect()
        except Exception as error:
            assert "MULTIPLE_SOURCE_ROW" in str(error), error
        else:
            raise AssertionError(f"delta-spark does not refuse {text}")

    def feed(self, folder: Path) -> Any:
        """The changes of the last commit, as delta-spark reads them."""
        if "delta.enableChangeDataFeed" not in self.properties:
            return None
        last = ds.DeltaTable(folder).version
        reader = self.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", last)
        return Counter(map(tuple, reader.load(str(folder)).select("_change_type", *COLUMNS).collect()))

    def row_ids(self, folder: Path) -> Any:
        """The row ids, with the values of their rows."""
        if "delta.enableRowTracking" not in self.properties:
            return None
        rows = self.spark.read.format("delta").load(str(folder))
        found = rows.selectExpr("_metadata.row_id", *COLUMNS).collect()
        return {row[0]: tuple(row[1:]) for row in found}

    def check_row_ids(self, before: dict[int, Any], before_theirs: dict[int, Any], deleted: int, text: str) -> None:
        """Every row that is not deleted keeps its id, ids are unique, and both engines keep them for the same rows."""
        after, theirs = self.row_ids(self.ours), self.row_ids(self.theirs)
        assert len(after) == len(self.model), f"row ids are not unique after {text}"
        assert len(before.keys() & after.keys()) == len(before) - deleted, f"row ids after {text}"
        changes = [
            Counter((old, found[key]) for key, old in of.items() if key in found)
            for of, found in ((before, after), (before_theirs, theirs))
        ]
        assert changes[0] == changes[1], f"row ids after {text}"


def play(spark: Any, folder: Path, name: str) -> None:
    """Play so many merges of a case, each seed of which belongs to it alone."""
    number = list(CASES).index(name)
    played = Played(spark, folder / f"case{number}", *CASES[name])
    for turn in range(MERGES):
        played.play(10_000 + number * 1000 + turn)
