"""One history: a table, its model, and two writers in turns; every commit is compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from tests.reference.histories import merging, upkeep, writers
from tests.reference.histories.comparison import (
    compare_feed,
    compare_others,
    compare_range,
    compare_rows,
    compare_tracking,
    located,
    read_plainly,
)
from tests.reference.histories.conditions import condition
from tests.reference.histories.log_rules import LogRules
from tests.reference.histories.model import Change, Model, State
from tests.reference.histories.plain_reader import TableReader
from tests.reference.histories.shapes import CHECK, shape_of
from tests.reference.histories.statistics import statistics_problems

INCREMENTAL = "spark.databricks.delta.incremental.commit.enabled"
"""What delta-spark turns off in a session, without an error, when a checksum that it derived is wrong."""
STRICT = {
    "spark.databricks.delta.checksum.mismatch.fatal": "true",
    "spark.databricks.delta.versionChecksum.forcedValidationInterval": "0",
    "spark.databricks.delta.versionChecksum.forcedValidationMinTimeIntevalMinutes": "0",
    "spark.databricks.delta.incremental.commit.verify": "true",
    "spark.databricks.delta.allFilesInCrc.verificationMode.enabled": "true",
}
"""delta-spark compares the checksum of a version with the state that it reconstructs, and refuses a wrong one."""
SETTINGS = {
    **STRICT,
    INCREMENTAL: "true",
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # VACUUM runs as many tasks.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")


class History:
    """A table of a seed, and what its rows must be after every commit.

    Without a session, deltaskip alone writes, in this process, and the plain reader reads.
    """

    def __init__(self, spark: Any, folder: Path, seed: int) -> None:
        self.chance = random.Random(f"history {seed}")
        self.shape = shape_of(seed)
        self.spark = spark and spark.newSession()
        for name, value in SETTINGS.items() if spark else ():
            self.spark.conf.set(name, value)
        self.folder = folder
        self.played: list[str] = []
        self.step = 0
        self.oldest = 0
        self.fed: list[tuple[int, list[tuple[str, Any]]]] = []
        self.mapped = "delta.columnMapping.mode" in self.shape.properties
        self.model = Model(State(self.shape.columns, {}, {}, dict(self.shape.properties), {}))
        self.note("table", seed=seed, features=self.shape.features)

    def play(self, steps: int) -> None:
        """Create the table, and do random operations on it."""
        if self.spark is not None:
            jvm = self.spark.sparkContext._jvm
            jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self.spark._jsparkSession)
        self.turn_clock()
        self.create()
        self.rules = LogRules(self.folder)
        self.table = ds.DeltaTable(self.folder)
        self.settle(Change(), -1)
        moves = self.moves()
        for move in (writers.append, writers.append, *self.chance.choices([*moves], [*moves.values()], k=steps)):
            self.step += 1
            self.table.refresh()
            before = self.version()
            try:
                change = move(self)
            except writers.Skipped:
                continue
            if change is not None:
                self.settle(change, before)
        self.finish()

    @staticmethod
    def moves() -> dict[Callable[[History], Change | None], int]:
        """The operations, and how often each comes."""
        return {**writers.MOVES, merging.merge: 5, **upkeep.MOVES}

    def create(self) -> None:
        """Create the table, by either writer."""
        columns = ", ".join(column.ddl for column in self.shape.columns)
        self.note("create", ddl=columns, properties=self.shape.properties)
        if self.by_delta():
            self.note("  by delta-spark")
            text = ", ".join(f"'{name}' = '{value}'" for name, value in self.shape.properties.items())
            parts = [f"CREATE TABLE {{t}} ({columns}) USING delta"]
            parts += [f"PARTITIONED BY ({', '.join(self.shape.partition_by)})"] if self.shape.partition_by else []
            parts += [f"CLUSTER BY ({', '.join(self.shape.cluster_by)})"] if self.shape.cluster_by else []
            parts += [f"TBLPROPERTIES ({text})"] if text else []
            self.sql(" ".join(parts))
        else:
            ds.DeltaTable.create(
                self.folder, columns, self.shape.partition_by, self.shape.cluster_by, properties=self.shape.properties
            )
        if "check" in self.shape.features:
            name, text = CHECK
            ds.DeltaTable(self.folder).alter_sql(f"ADD CONSTRAINT {name} CHECK ({text})")
            self.model.state.constraints[name] = text

    def note(self, operation: str, **details: object) -> None:
        """Remember an operation for the message."""
        self.played.append(f"{operation} {details or ''}")

    def by_delta(self, method: str | None = None) -> bool:
        """Whether delta-spark does it: what deltaskip has no method for, and half of the rest."""
        if self.spark is None:
            return False
        if self.chance.random() < 0.5 or (method is not None and not hasattr(ds.DeltaTable, method)):
            if method is not None:
                self.note("  by delta-spark")
            return True
        if method is not None:
            self.note("  by deltaskip")
        return False

    def turn_clock(self) -> None:
        """Another time zone for session and methods."""
        self.zone = self.chance.choice(ZONES)
        self.note("zone", zone=self.zone)
        if self.spark is not None:
            self.spark.conf.set("spark.sql.session.timeZone", self.zone)

    def sql(self, text: str) -> list[Any]:
        """The rows of a statement of delta-spark."""
        return self.spark.sql(text.replace("{t}", f"delta.`{self.folder}`")).collect()

    def read(self) -> Any:
        """The table as delta-spark has it."""
        return self.spark.read.format("delta").load(str(self.folder))

    def delta_log(self) -> Any:
        """delta-spark's DeltaLog."""
        jvm = self.spark.sparkContext._jvm
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.folder))

    def version(self) -> int:
        """The latest version, by the names of the commits."""
        return max(int(p.stem) for p in (self.folder / "_delta_log").glob("*.json") if p.stem.isdigit())

    def settle(self, change: Change, before: int) -> None:
        """Compare the table after an operation with the model, which gets the change."""
        now = self.version()
        if self.spark is not None and self.spark.conf.get(INCREMENTAL) != "true":
            raise AssertionError("delta-spark derives another checksum")
        if now == before:
            if not change.may_commit_nothing or change.touches_rows:
                raise AssertionError("the operation changed rows, and nothing was committed")
            return
        feed = self.model.feed_of(change) if self.model.has("delta.enableChangeDataFeed") else None
        previous = self.model.state
        self.model.apply(change, now)
        problems = self.rules.advance(change, self.model)
        found, places, ids = located(self)
        self.model.adopt(found, ids)
        compare_rows("delta-spark", [*found.values()], self.model, len(places))
        problems += statistics_problems(self.folder, self.rules, places, self.model)
        if problems:
            raise AssertionError("\n".join(problems))
        compare_tracking(self.model, previous, ids, self.rules)
        if feed is not None and before >= 0 and self.model.has("delta.enableChangeDataFeed"):
            compare_feed(self, feed, change, before + 1, now)
            self.fed = [*self.fed, (before + 1, feed)]
        if feed is None or change.restored is not None or previous.columns != self.model.columns:
            self.fed = []
        for version in range(before + 1, now + 1):
            if version == now or (before >= 0 and not change.touches_rows):
                self.model.versions[version] = self.model.state
        if self.chance.random() < 0.4:
            self.compare_ours()

    def compare_ours(self) -> None:
        """deltaskip reads the model's rows, in the same table object and in a new one."""
        for table in (self.table.refresh(), ds.DeltaTable(self.folder)):
            self.compare_files(table, self.rules.active)
            if self.spark is None:
                continue
            found, _, _ = located(self, table.scan().to_spark(self.spark))
            compare_rows("deltaskip", [*found.values()], self.model, len(found))
        where = condition(self.chance, self.model)
        wanted = sorted(self.model.matching(where.holds))
        readers = {"deltaskip": lambda: self.table.scan(where.sql, time_zone=self.zone).to_arrow()}
        if self.spark is not None:
            readers["deltaskip in Spark"] = lambda: self.table.scan(where.sql).to_spark(self.spark).toArrow()
            readers["delta-spark"] = lambda: self.read().where(where.sql).toArrow()
        for who, read in readers.items():
            with suppress(UnsupportedFeature):
                ids = sorted(read()["id"].to_pylist())
                if ids != wanted:
                    raise AssertionError(f"{who} WHERE {where.sql}: {ids}, not {wanted}")

    def compare_files(self, table: ds.DeltaTable, expected: dict[str, Any]) -> None:
        """deltaskip's snapshot has the files of a replay, also where it begins at a checkpoint."""
        found = table.snapshot.adds(["path", "deletion_vector"]).to_pylist()
        vectors = {add["path"]: (add["deletion_vector"] or {}).get("path_or_inline_dv") for add in found}
        wanted = {path: (add.get("deletionVector") or {}).get("pathOrInlineDv") for path, add in expected.items()}
        if vectors != wanted or len(found) != len(vectors):
            raise AssertionError(f"version {table.version} has the files {vectors}, not {wanted}")

    def reader(self) -> TableReader:
        """The reader that needs no Spark, with the latest metadata."""
        return TableReader(self.folder, self.rules.metadata)

    def after_vacuum(self) -> None:
        """Nothing is left in the folder but what the latest version needs."""
        self.rules.advance(Change(), self.model)
        # Change files of earlier versions are gone.
        self.fed = []
        problems = self.rules.left_over()
        if problems:
            raise AssertionError("\n".join(problems))

    def finish(self) -> None:
        """Everybody reads the last version, and an older one."""
        if self.spark is not None:
            jvm = self.spark.sparkContext._jvm
            jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
            found, places, _ = located(self)
            compare_rows("delta-spark with nothing cached", [*found.values()], self.model, len(places))
        found, places, ids = read_plainly(self.reader(), self.rules.active, self.model)
        compare_rows("the plain reader", [*found.values()], self.model, len(places))
        compare_tracking(self.model, self.model.state, ids, self.rules)
        self.compare_ours()
        if self.fed:
            compare_range(self, self.fed)
        if self.spark is not None or self.chance.random() < 0.2:
            compare_others(self)
        older = [v for v in self.model.versions if v >= self.oldest]
        version = self.chance.choice(older)
        then = Model(self.model.versions[version])
        self.note("read", version=version)
        self.compare_files(ds.DeltaTable(self.folder, version=version), self.rules.files_at[version])
        if self.spark is None:
            return
        for who, frame in (
            ("delta-spark", self.spark.read.format("delta").option("versionAsOf", version).load(str(self.folder))),
            ("deltaskip", ds.DeltaTable(self.folder, version=version).scan().to_spark(self.spark)),
        ):
            found, _, _ = located(self, frame, then)
            compare_rows(f"{who} at version {version}", [*found.values()], then, len(found))
