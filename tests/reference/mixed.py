"""Commits of deltaskip and delta-spark on one table, where delta-spark refuses a version checksum that is wrong.

    python -m tests.reference.playing mixed ANSWERS.json [CASE ...]

Before and after each of its commits delta-spark compares the checksum of the version with the state that it
reconstructs; deltaskip's warnings of checksums are errors. The rows are compared with a plain model of them.
DELTASKIP_MIXED_COMMITS sets the number of commits to a table.
"""

import json
import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from tests.extent import extent
from tests.reference.feature_pairs import Disagreement

STRICT = {
    "checksum.mismatch.fatal": "true",
    "versionChecksum.forcedValidationInterval": "0",
    "versionChecksum.forcedValidationMinTimeIntevalMinutes": "0",
    "incremental.commit.verify": "true",
    "allFilesInCrc.verificationMode.enabled": "true",
}
"""Settings of delta-spark below spark.databricks.delta."""
INCREMENTAL = "spark.databricks.delta.incremental.commit.enabled"
"""What delta-spark turns off in a session, without an error, when a checksum that it derived is wrong."""
COMMITS = int(os.environ.get("DELTASKIP_MIXED_COMMITS") or extent(15, 60))
CHECKED = 25
"""After so many commits the rows are compared."""
PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.feature.domainMetadata": "supported",
    "delta.checkpointInterval": "7",
}
TABLES = {
    "classic checkpoints": {},
    "V2 checkpoints": {"delta.checkpointPolicy": "v2", "delta.columnMapping.mode": "name",
        "delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true",
        "delta.enableChangeDataFeed": "true"},
}  # fmt: skip
LIES = "a list of files that lacks one"
CASES = (*TABLES, LIES)


class Mixed:
    """A table and the model of its rows: name and number by id."""

    def __init__(self, spark: Any, folder: Path, properties: dict[str, str], strict: bool) -> None:
        self.spark, self.folder, self.chance = spark.newSession(), folder, random.Random(folder.parent.name)
        jvm = spark.sparkContext._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self.spark._jsparkSession)
        self.spark.conf.set(INCREMENTAL, "true")
        for name, value in STRICT.items() if strict else ():
            self.spark.conf.set(f"spark.databricks.delta.{name}", value)
        self.table = ds.DeltaTable.create(
            folder, "id BIGINT, name STRING, n INT", cluster_by="id", properties={**PROPERTIES, **properties}
        )
        self.model: dict[int, tuple[str, int]] = {}
        self.next_id, self.columns, self.applications = 0, 0, {"ours": 0, "theirs": 0}
        self.played: list[str] = []
        self.earlier: dict[int, dict[int, tuple[str, int]]] = {}

    def new(self) -> list[tuple[int, str, int]]:
        """Rows that the model gets."""
        start, self.next_id = self.next_id, self.next_id + self.chance.choice((1, 5, 20))
        rows = [(i, f"n{i}", i % 7) for i in range(start, self.next_id)]
        self.model.update({i: (name, n) for i, name, n in rows})
        return rows

    def sql(self, text: str) -> None:
        self.spark.sql(text.replace("{t}", f"delta.`{self.folder}`")).collect()

    def some(self) -> tuple[str, set[int]]:
        """A predicate and the ids of its rows."""
        modulus, rest = self.chance.randint(5, 30), self.chance.randint(0, 4)
        return f"id % {modulus} = {rest}", {i for i in self.model if i % modulus == rest}

    def append(self, ours: bool) -> None:
        rows = self.new()
        application = "ours" if ours else "theirs"
        self.applications[application] += 1
        version = self.applications[application]
        if ours:
            self.table.append(self.arrow(rows), txn=(application, version) if version % 2 else None)
            return
        write = self.spark.createDataFrame(rows, "id BIGINT, name STRING, n INT").coalesce(1).write.format("delta")
        if version % 2:
            write = write.option("txnAppId", application).option("txnVersion", version)
        write.mode("append").save(str(self.folder))

    @staticmethod
    def arrow(rows: list[tuple[int, str, int]]) -> pa.Table:
        ids, names, numbers = (list(each) for each in zip(*rows, strict=True))
        return pa.table({"id": ids, "name": names, "n": pa.array(numbers, pa.int32())})

    def delete(self, ours: bool) -> None:
        where, ids = self.some()
        if ours:
            self.table.delete(where)
        else:
            self.sql(f"DELETE FROM {{t}} WHERE {where}")
        self.model = {i: row for i, row in self.model.items() if i not in ids}

    def update(self, ours: bool) -> None:
        where, ids = self.some()
        if ours:
            self.table.update({"name": "concat(name, '*')", "n": "n + 1"}, where)
        else:
            self.sql(f"UPDATE {{t}} SET name = concat(name, '*'), n = n + 1 WHERE {where}")
        self.model.update({i: (f"{self.model[i][0]}*", self.model[i][1] + 1) for i in ids})

    def merge(self, ours: bool) -> None:
        known = self.chance.sample(sorted(self.model), min(5, len(self.model)))
        rows = [*[(i, "merged", -1) for i in known], *self.new()]
        self.model.update(dict.fromkeys(known, ("merged", -1)))
        if ours:
            merge = self.table.merge(self.arrow(rows), "t.id = s.id", "s", "t")
            merge.when_matched_update({"name": "s.name", "n": "s.n"}).when_not_matched_insert(
                {name: f"s.{name}" for name in ("id", "name", "n")}
            ).execute()
            return
        self.spark.createDataFrame(rows, "id BIGINT, name STRING, n INT").createOrReplaceTempView("s")
        self.sql(
            "MERGE INTO {t} AS t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name, n = s.n "
            "WHEN NOT MATCHED THEN INSERT (id, name, n) VALUES (s.id, s.name, s.n)"
        )

    def optimize(self, ours: bool) -> None:
        if ours:
            self.table.optimize()
        else:
            self.sql("OPTIMIZE {t}")

    def restore(self, ours: bool) -> None:
        version = self.chance.choice(list(self.earlier))
        if ours:
            self.table.restore(version)
        else:
            self.sql(f"RESTORE TABLE {{t}} TO VERSION AS OF {version}")
        self.model = dict(self.earlier[version])

    def alter(self, ours: bool) -> None:
        self.columns += 1
        statement = self.chance.choice((
            f"SET TBLPROPERTIES ('mine' = '{self.columns}')",
            f"ALTER COLUMN name COMMENT 'comment {self.columns}'",
            f"CLUSTER BY ({self.chance.choice(('id', 'n', 'id, n', 'name'))})",
            *([f"ADD COLUMN c{self.columns} INT"] if self.columns < 20 else []),
        ))  # fmt: skip
        if ours:
            self.table.alter_sql(statement)
        else:
            self.sql(f"ALTER TABLE {{t}} {statement}")

    def domain(self, ours: bool) -> None:
        """delta-spark has no call for the domains of others: it changes its own, of clustering."""
        if not ours:
            self.sql(
                f"ALTER TABLE {{t}} CLUSTER BY ({self.chance.choice(('id', 'n', 'NONE'))})".replace("(NONE)", "NONE")
            )
            return
        with self.table.transaction() as txn:
            if "mine" in txn.domains and self.chance.random() < 0.3:
                txn.remove_domain("mine")
            else:
                txn.set_domain("mine", json.dumps({"number": self.chance.random()}))

    def checkpoint(self, ours: bool) -> None:
        if ours:
            self.table.checkpoint()
        else:
            log = self.spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog
            log.forTable(self.spark._jsparkSession, str(self.folder)).checkpoint()

    def play(self, commits: int) -> None:
        """Make so many commits, by either engine, and compare the rows now and then."""
        moves: list[Callable[[bool], None]] = [
            self.append, self.append, self.append, self.delete, self.delete, self.update, self.update, self.merge,
            self.merge, self.optimize, self.restore, self.alter, self.domain, self.checkpoint,
        ]  # fmt: skip
        self.append(True)
        done, checked = 0, 0
        while done < commits:
            move, ours = self.chance.choice(moves), self.chance.random() < 0.5
            self.table = self.table.refresh()
            if move != self.restore or len(self.earlier) > 2:
                self.played.append(f"{move.__name__} by {'deltaskip' if ours else 'delta-spark'}")
                try:
                    move(ours)
                except Exception as error:
                    error.add_note(str(self.played[-5:]))
                    raise
            if self.spark.conf.get(INCREMENTAL) != "true":
                raise Disagreement(f"delta-spark derives another checksum: {self.played[-2:]} before {done + 1}")
            opened = ds.DeltaTable(self.folder)
            checksum = self.folder / "_delta_log" / f"{opened.version:020d}.crc"
            # delta-spark writes none for a RESTORE, whose commit it streams.
            written = opened.version == done or checksum.exists() or self.played[-1] == "restore by delta-spark"
            assert written, f"version {opened.version} has no checksum: {self.played[-2:]}"
            self.earlier[opened.version] = dict(self.model)
            self.earlier = dict([*self.earlier.items()][-10:])
            done = opened.version
            if done - checked >= CHECKED or done >= commits:
                checked = done
                self.check()

    def check(self) -> None:
        """Both engines have the rows of the model, and the log has no findings."""
        expected = sorted((i, *row) for i, row in self.model.items())
        theirs = self.spark.read.format("delta").load(str(self.folder)).select("id", "name", "n").collect()
        opened = ds.DeltaTable(self.folder)
        rows = opened.scan(columns=["id", "name", "n"]).to_arrow().to_pylist()
        for engine, found in (("delta-spark", theirs), ("deltaskip", [tuple(row.values()) for row in rows])):
            if sorted(map(tuple, found)) != expected:
                raise Disagreement(f"{engine} has other rows in version {opened.version}")
        found = [each for each in opened.verify() if each.severity != "info"]
        assert not found, found


def play(spark: Any, folder: Path, case: str) -> None:
    """Play a table; then a wrong checksum is fatal, which shows that they are compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ds.errors.ChecksumWarning)
        game = Mixed(spark, folder / "t", TABLES.get(case, {}), case != LIES)
        game.play(3 if case == LIES else COMMITS)
        game.table = game.table.refresh()
        game.append(True)
    latest = max((folder / "t" / "_delta_log").glob("*.crc"))
    said = json.loads(latest.read_text(encoding="utf-8"))
    if case == LIES:
        # Its numbers agree with its list. Neither engine reads files from it.
        gone = said["allFiles"].pop()
        said.update(numFiles=said["numFiles"] - 1, tableSizeBytes=said["tableSizeBytes"] - gone["size"])
        said.pop("fileSizeHistogram")
    else:
        said["numFiles"] += 1
    latest.write_text(json.dumps(said), encoding="utf-8")
    log = spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog
    log.clearCache()
    if case == LIES:
        assert len(ds.DeltaTable(folder / "t").scan().files()) == said["numFiles"] + 1
        theirs = game.spark.read.format("delta").load(str(folder / "t"))
        assert theirs.count() == len(game.model) == ds.DeltaTable(folder / "t").scan().count()
        return
    try:
        game.append(False)
    except Exception as error:
        assert "numFiles" in str(error) or "number of files" in str(error).lower(), error
    else:
        raise AssertionError(
            f"delta-spark committed to a table whose checksum is wrong: {latest.name}, {game.played[-3:]}"
        )
