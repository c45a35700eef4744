"""VACUUM, RESTORE, CLONE and GENERATE of deltaskip and of delta-spark on copies of one table: what is left is the same.

    python -m tests.reference.playing maintained ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both agree.
"""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltaskip as ds
from deltaskip.delta import DeltaTable as OurDeltaTable
from tests.builder import logged
from tests.dml.tables import files_below
from tests.extent import extent

VECTORS = {"delta.enableDeletionVectors": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
NAMED = {"delta.columnMapping.mode": "name"}
TIMED = {"delta.enableInCommitTimestamps": "true"}
CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
COLUMNS = "id BIGINT, p STRING, x INT"
ODD = ["a b", "x/y", "50%", "%2F", "é+#", "a=b", "ü %20"]

TABLES: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": ({}, []),
    "odd partitions": (FEED, ["p"]),
    "vectors": (VECTORS, []),
    "vectors and odd partitions": ({**VECTORS, **FEED, **TRACKED}, ["p"]),
    "by name with vectors and times": ({**VECTORS, **NAMED, **TRACKED, **TIMED}, ["p"]),
}


class Compared:
    """One table, written by both engines in turns, and copies of it."""

    def __init__(self, spark: Any, folder: Path, properties: dict[str, str], partition_by: list[str]) -> None:
        self.spark, self.folder, self.properties, self.copies = spark, folder, properties, 0
        self.source = folder / "source %20 é" / "t"
        self.table = ds.DeltaTable.create(self.source, COLUMNS, partition_by, properties=properties)
        for step in range(extent(1, 3)):
            self.table.append(self.rows(step * 20, 20))
            self.sql(f"INSERT INTO {self.at(self.source)} SELECT id + {step * 20 + 1000}, p, x FROM "
                     f"{self.at(self.source)} WHERE id < 6")  # fmt: skip
        self.sql(f"DELETE FROM {self.at(self.source)} WHERE id % 7 = 3")
        self.table.delete("id % 11 = 4")
        self.sql(f"UPDATE {self.at(self.source)} SET x = -1 WHERE id % 5 = 2")
        self.table.delete("p = 'x/y'")
        self.sql(f"OPTIMIZE {self.at(self.source)}")
        self.table.delete("id % 13 = 1")
        self.table.refresh()

    @staticmethod
    def rows(start: int, count: int) -> pa.Table:
        ids = list(range(start, start + count))
        return pa.table({
            "id": ids, "p": [None if i % 8 == 7 else ODD[i % 8] for i in ids], "x": pa.array(ids, pa.int32()),
        })  # fmt: skip

    @staticmethod
    def at(folder: Path) -> str:
        return f"delta.`{folder}`"

    def sql(self, text: str) -> Any:
        return self.spark.sql(text)

    def copy(self, days: float = 0) -> Path:
        """A copy of the table whose files are some days old."""
        self.copies += 1
        made = self.folder / f"copy {self.copies} %41 é" / "t"
        shutil.copytree(self.source, made)
        if days:
            then = time.time() - days * 86_400
            for top, _, names in os.walk(made, topdown=False):
                for name in (*names, "."):
                    os.utime(os.path.join(top, name), (then, then))
        return made

    def orphans(self) -> None:
        """Files that no commit names, some of them in folders that are left alone."""
        for path in (
            "orphan.parquet", "p=a%20b/orphan", "new folder/f", "_hidden/f", ".x", "_SUCCESS", "a/_b/f", "_p=1/f",
            "_change_data/left", "_delta_index/left", "metadata/f", "%zz", "é",
        ):  # fmt: skip
            place = self.source / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(path)

    # What each case compares.

    def vacuum(self) -> None:
        """What is left after a VACUUM without retention, and after one that keeps removed files."""
        self.orphans()
        for hours in (0, None):
            ours, theirs = self.copy(30), self.copy(30)
            self.spark.conf.set(CHECK, "false")
            retain = "" if hours is None else f"RETAIN {hours} HOURS"
            planned = {row.path for row in self.sql(f"VACUUM {self.at(theirs)} {retain} DRY RUN").collect()}
            table = ds.DeltaTable(ours)
            dry = table.vacuum(hours, dry_run=True, enforce_retention=False)
            names = {path.removeprefix(f"file:{theirs}/") for path in planned}
            files = {name for name in names if (theirs / name).is_file()}
            assert set(dry.files) == files, f"{hours}: {set(dry.files) ^ files}"
            self.sql(f"VACUUM {self.at(theirs)} {retain}")
            done = table.vacuum(hours, enforce_retention=False)
            assert set(done.files) == files
            left, kept = self.left(ours), self.left(theirs)
            assert left == kept, f"{hours}: {left ^ kept}"
            found, expected = (self.read(each) for each in (ours, theirs))
            assert found == expected == self.read(self.source)
            starts = [self.last(each, 2) for each in (ours, theirs)]
            for name in ("numFilesToDelete", "sizeOfDataToDelete"):
                # Directories are counted by delta-spark too.
                own, other = (int(each["operationMetrics"][name]) for each in starts)
                assert own == other if name.startswith("size") else own <= other, starts
            assert starts[0]["isolationLevel"] == starts[1]["isolationLevel"]

    def lite(self) -> None:
        """What a LITE vacuum leaves."""
        self.orphans()
        ours, theirs = self.copy(30), self.copy(30)
        self.spark.conf.set(CHECK, "false")
        self.sql(f"VACUUM {self.at(theirs)} LITE RETAIN 0 HOURS")
        ds.DeltaTable(ours).vacuum(0, lite=True, enforce_retention=False)
        assert self.left(ours) == self.left(theirs), self.left(ours) ^ self.left(theirs)
        notes = [(each / "_delta_log" / "_last_vacuum_info").read_text() for each in (ours, theirs)]
        assert json.loads(notes[0]) == json.loads(notes[1]), notes
        # Either goes on where the other one was.
        for each in (ours, theirs):
            ds.DeltaTable(each).delete("id % 3 = 0")
            self.sql(f"VACUUM {self.at(each)} LITE RETAIN 0 HOURS")
            ds.DeltaTable(each).vacuum(0, lite=True, enforce_retention=False)
        assert self.read(ours) == self.read(theirs)

    def restore(self) -> None:
        """Versions restored by both: rows, schema, row ids and the feed that delta-spark reads, and metrics."""
        for version in (1, self.table.version // 2, self.table.version - 1):
            ours, theirs = self.copy(), self.copy()
            result = ds.DeltaTable(ours).restore(version)
            [row] = self.sql(f"RESTORE TABLE {self.at(theirs)} TO VERSION AS OF {version}").collect()
            info = self.last(theirs)
            assert self.last(ours)["operationMetrics"] == info["operationMetrics"], (version, result)
            assert self.read(ours) == self.read(theirs) == self.read(self.source, version), version
            assert self.feed(ours, result.version) == self.feed(theirs, result.version), version
            frame = OurDeltaTable.forPath(self.spark, str(self.copy())).restoreToVersion(version)
            assert frame.first() == row and frame.columns == row.__fields__
            kinds = [self.kinds(each) for each in (ours, theirs)]
            assert kinds[0]["add"] == kinds[1]["add"] and kinds[0]["remove"] == kinds[1]["remove"], version
            self.changes(ours)

    def clone(self) -> None:
        """Clones of several versions by both, which delta-spark reads and changes."""
        before = self.read(self.source)
        files = files_below(self.source)
        for version in (2, self.table.version):
            self.copies += 1
            ours, theirs = (self.folder / f"clone {self.copies} {who} é%20" for who in ("ours", "theirs"))
            self.table.clone(ours, version, properties={"mine": "1"})
            self.sql(f"CREATE TABLE {self.at(theirs)} SHALLOW CLONE {self.at(self.source)} VERSION AS OF {version} "
                     f"TBLPROPERTIES (mine = '1')")  # fmt: skip
            # Either numbers the rows of the files in an order of its own.
            rows = [self.read(each, ids=False) for each in (ours, theirs)]
            assert rows[0] == rows[1] == self.read(self.source, version, ids=False), version
            if "delta.enableRowTracking" in self.properties:
                for each in (ours, theirs):
                    ids = [row[-2:] for row in self.read(each)]
                    assert len({first for first, _ in ids}) == len(ids) and {last for _, last in ids} == {0}, ids
            assert self.last(ours)["operationMetrics"] == self.last(theirs)["operationMetrics"]
            mine, other = (self.first(each) for each in (ours, theirs))
            assert _plain(mine["metaData"]) == _plain(other["metaData"]), (mine["metaData"], other["metaData"])
            assert _features(mine["protocol"]) == _features(other["protocol"])
            own, foreign = (ds.DeltaTable(each) for each in (ours, theirs))
            paths = [sorted(each.scan().files(columns=["uri"])["uri"].to_pylist()) for each in (own, foreign)]
            assert paths[0] == paths[1]
            for act in (self.changes, lambda each: ds.DeltaTable(each).delete("id % 4 = 1"), self.changes):
                for each in (ours, theirs):
                    act(each)
                assert self.read(ours, ids=False) == self.read(theirs, ids=False)
                assert self.ours(ours) == self.ours(theirs)
            self.spark.conf.set(CHECK, "false")
            self.sql(f"VACUUM {self.at(ours)} RETAIN 0 HOURS")
            ds.DeltaTable(theirs).vacuum(0, enforce_retention=False)
            assert self.read(ours, ids=False) == self.read(theirs, ids=False)
            # A clone over a table, and a clone of a clone.
            again = ds.DeltaTable(self.source, version).clone(theirs, replace=True)
            third = again.clone(self.folder / f"third {self.copies}")
            expected = self.read(self.source, version, ids=False)
            assert self.read(theirs, ids=False) == self.read(Path(third.snapshot.root), ids=False) == expected
        assert self.read(self.source) == before and files_below(self.source) == files

    def generate(self) -> None:
        """The manifests of tables whose files have no deletion vectors."""
        ours, theirs = self.copy(), self.copy()
        for folder in (ours, theirs):
            self.sql(f"ALTER TABLE {self.at(folder)} SET TBLPROPERTIES (delta.enableDeletionVectors = false)")
            self.sql(f"REORG TABLE {self.at(folder)} APPLY (PURGE)")
        if "delta.columnMapping.mode" in self.properties:
            for act in (lambda: ds.DeltaTable(ours).generate(), lambda: self.sql(_generate(self.at(theirs)))):
                try:
                    act()
                except Exception as error:
                    assert "apping" in str(error) or "apped" in str(error), error
                else:
                    raise AssertionError("a table with column mapping has manifests")
            return
        # Files of both copies have one set of names only if one of them is copied after the rewrite.
        shutil.rmtree(ours)
        shutil.copytree(theirs, ours)
        for _ in range(2):
            ds.DeltaTable(ours).generate()
            self.sql(_generate(self.at(theirs)))
            assert _manifests(ours) == _manifests(theirs) != {}
            # The same change, and the same files, in both.
            self.sql(f"DELETE FROM {self.at(theirs)} WHERE p = 'a b' OR id % 2 = 0")
            shutil.rmtree(ours)
            shutil.copytree(theirs, ours)

    def changes(self, folder: Path) -> None:
        """Changes by delta-spark."""
        self.sql(f"INSERT INTO {self.at(folder)} VALUES (5000, 'x/y', 1), (5001, NULL, NULL)")
        self.sql(f"DELETE FROM {self.at(folder)} WHERE id % 9 = 2")
        self.sql(f"UPDATE {self.at(folder)} SET x = 7 WHERE id % 6 = 5")

    # What is read.

    def read(self, folder: Path, version: int | None = None, ids: bool = True) -> list[Any]:
        """The rows that delta-spark reads, with their row ids."""
        reader = self.spark.read.format("delta")
        frame = (reader if version is None else reader.option("versionAsOf", version)).load(str(folder))
        tracked = ids and "delta.enableRowTracking" in self.properties
        columns = ["*", "_metadata.row_id", "_metadata.row_commit_version"] if tracked else ["*"]
        return sorted(map(tuple, frame.selectExpr(*columns).collect()), key=str)

    def ours(self, folder: Path) -> list[Any]:
        """The rows that deltaskip reads."""
        return sorted(map(tuple, ds.DeltaTable(folder).scan().to_spark(self.spark).collect()), key=str)

    def feed(self, folder: Path, version: int | None) -> list[Any]:
        if "delta.enableChangeDataFeed" not in self.properties:
            return []
        reader = self.spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version)
        frame = reader.option("endingVersion", version).load(str(folder)).drop("_commit_timestamp")
        return sorted(map(tuple, frame.collect()), key=str)

    @staticmethod
    def left(folder: Path) -> set[str]:
        """The files outside of the log, but for Hadoop's checksums."""
        return {path for path in files_below(folder) if not path.endswith(".crc")}

    @staticmethod
    def commits(folder: Path) -> list[Path]:
        return sorted((folder / "_delta_log").glob("*.json"))

    def last(self, folder: Path, back: int = 1) -> dict[str, Any]:
        """The commitInfo of one of the last commits."""
        return logged(folder, int(self.commits(folder)[-back].stem), kind="commitInfo")[0]

    def first(self, folder: Path) -> dict[str, Any]:
        actions = logged(folder, int(self.commits(folder)[0].stem))
        return {name: members for action in actions for name, members in action.items()}

    def kinds(self, folder: Path) -> dict[str, Any]:
        """Paths, vectors and row ids of the adds and removes of the last commit."""
        found: dict[str, Any] = {"add": set(), "remove": set()}
        for line in self.commits(folder)[-1].read_text().splitlines():
            [(name, members)] = json.loads(line).items()
            if name in found:
                vector = json.dumps(members.get("deletionVector"), sort_keys=True)
                found[name].add((members["path"], vector, members.get("baseRowId"), members["dataChange"]))
        return found


def _plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """A metaData action without what is unique in each table."""
    configuration = {n: v for n, v in metadata["configuration"].items() if "materialized" not in n}
    kept = {n: v for n, v in metadata.items() if n not in ("id", "name", "description", "schemaString")}
    return {**kept, "configuration": configuration, "schema": json.loads(metadata["schemaString"])}


def _features(protocol: dict[str, Any]) -> tuple[Any, ...]:
    lists = (sorted(protocol.get(name, [])) for name in ("readerFeatures", "writerFeatures"))
    return protocol["minReaderVersion"], protocol["minWriterVersion"], *map(tuple, lists)


def _generate(table: str) -> str:
    return f"GENERATE symlink_format_manifest FOR TABLE {table}"


def _manifests(folder: Path) -> dict[str, list[str]]:
    root = folder / "_symlink_format_manifest"
    return {
        str(path.relative_to(root)): sorted(path.read_text().replace(str(folder), "").splitlines())
        for path in root.rglob("manifest")
    }


ACTS = (Compared.vacuum, Compared.lite, Compared.restore, Compared.clone, Compared.generate)
CASES = {f"{act.__name__}, {table}": (table, act) for table in TABLES for act in ACTS}


def play(spark: Any, folder: Path, name: str) -> None:
    """Play one case."""
    # By default a VACUUM lists folders by 10,000 tasks.
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    table, act = CASES[name]
    act(Compared(spark, folder, *TABLES[table]))
