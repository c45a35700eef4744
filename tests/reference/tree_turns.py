"""Commits of delta-spark and of deltaskip in turns, with trees between them, and what both read at each version.

    python -m tests.reference.tree_turns FOLDER COMMITS [written]

delta-spark 4.4.0 opens tables with the feature of the tree only through a catalog, and reads all commits, never a tree.
For its turns the feature is taken out of the protocol, and trees are named by the object that it writes, as it fails to
read the array of the RFC. It appends only: its other commits would say nothing about the entries of the tree. The
trees are built from the commits by tests/txn/built_trees.py or, with `written`, are those that deltaskip writes.
"""

import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaskip.txn.tree_commit import commit_tree
from tests.builder import json_lines, logged
from tests.reference.oracle import _defaults, session
from tests.txn.built_trees import FEATURES, Tree
from tests.txn.test_tree_actions import rows_of

Model = dict[int, tuple[str, int | None]]


class Turns:
    """A table that both engines change. versions: by version, the paths of its files, and its rows."""

    def __init__(self, folder: Path) -> None:
        self.spark = session(folder / "scratch", {"spark.sql.catalogImplementation": "in-memory"})
        self.logs = self.spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog
        self.tree = Tree(folder / "t", False)
        self.path, self.model = folder / "t", Model()
        self.versions: dict[int, tuple[list[str], Model]] = {}
        self.first = logged(self.path, 0)
        for action in self.first:
            if "metaData" in action:
                action["metaData"]["configuration"]["delta.checkpointInterval"] = "100000"
        self.rewrite(0, self.first)

    def rewrite(self, version: int, actions: list[dict[str, Any]]) -> None:
        """Replace a commit, and delete what was computed from it."""
        log = self.path / "_delta_log"
        (log / f"{version:020d}.json").write_text(json_lines(actions), encoding="utf-8")
        for checksum in [*log.glob("*.crc")]:
            checksum.unlink()

    @contextmanager
    def without_feature(self) -> Iterator[None]:
        """The table as delta-spark opens it by its path."""
        plain = json.loads(json.dumps(self.first))
        for action in plain:
            for name in ("readerFeatures", "writerFeatures"):
                if name in action.get("protocol", {}):
                    action["protocol"][name] = [each for each in action["protocol"][name] if each not in FEATURES]
        self.rewrite(0, plain)
        self.logs.clearCache()
        yield
        self.rewrite(0, self.first)

    def note(self) -> None:
        """Compare the rows with the model, and remember what deltaskip reads."""
        table = self.tree.table
        assert rows_of(table) == self.model, table.version
        self.versions[table.version] = (sorted(table.snapshot.adds(["path"])["path"].to_pylist()), dict(self.model))

    def appended(self, first: int, part: int | None) -> None:
        """An append of delta-spark."""
        rows = [(first + i, "s", part) for i in range(12)]
        with self.without_feature():
            frame = self.spark.createDataFrame(rows, "id long, s string, part int").coalesce(1)
            frame.write.format("delta").mode("append").save(str(self.path))
        self.model |= {row[0]: row[1:] for row in rows}

    def changed(self, chance: random.Random, first: int) -> None:
        """A commit of deltaskip."""
        table, model, low = self.tree.table, self.model, chance.randrange(max(self.model) + 1)
        match chance.choice(("append", "delete", "update", "partition", "stats")):
            case "append":
                ids = [first + i for i in range(12)]
                table.append(pa.table({"id": ids, "s": ["x"] * 12, "part": pa.array([2] * 12, pa.int32())}))
                self.model |= dict.fromkeys(ids, ("x", 2))
            case "delete":
                table.delete(f"id BETWEEN {low} AND {low + 5}")
                self.model = {i: row for i, row in model.items() if not low <= i <= low + 5}
            case "update":
                table.update({"s": f"'u{first}'"}, where=f"id BETWEEN {low} AND {low + 3}")
                self.model |= {i: (f"u{first}", model[i][1]) for i in model if low <= i <= low + 3}
            case "partition":
                part = chance.choice([1, 2, 3])
                table.delete(f"part = {part} AND id < {low}")
                self.model = {i: row for i, row in model.items() if row[1] != part or i >= low}
            case _:
                table.recompute_stats(where=f"id >= {low}")

    def built(self, per_leaf: int) -> None:
        """A tree, named by the object that delta-spark reads."""
        self.tree.build(per_leaf)
        version = self.tree.table.version
        actions = logged(self.path, version)
        for action in actions:
            parts = action.get("checkpoint", ())
            found = {name: each[name] for each in parts for name in each}
            if parts:
                root = {name: found["contentRoot"][name] for name in ("path", "sizeInBytes")}
                domains = [each["domainMetadata"] for each in parts if "domainMetadata" in each]
                action["checkpoint"] = {
                    "version": found["checkpointMetadata"]["version"], "contentRoot": root, "txns": [], "sidecars": [],
                    "protocol": found["protocol"], "metaData": found["metaData"], "domainMetadata": domains,
                }  # fmt: skip
        self.rewrite(version, actions)

    def written(self, per_leaf: int) -> None:
        """A tree of deltaskip."""
        before = self.tree.table
        made = commit_tree(before.snapshot, 5, per_leaf)
        assert made.version == before.version or not made.written

    def compare(self) -> None:
        """Compare the files of each version, and the rows of some, with those that delta-spark reads."""
        from pyspark.sql import DataFrame

        with self.without_feature():
            log = self.logs.forTable(self.spark._jsparkSession, str(self.path))
            for version, (paths, model) in self.versions.items():
                snapshot = log.getSnapshotAt(version, *_defaults(log, "getSnapshotAt", 2, 3, 4))
                found = DataFrame(snapshot.allFiles().toDF(), self.spark).select("path").collect()
                assert sorted(row["path"] for row in found) == paths, version
                if version % 20 == 0 or version == max(self.versions):
                    reader = self.spark.read.format("delta").option("versionAsOf", version)
                    rows = reader.load(str(self.path)).collect()
                    assert {row["id"]: (row["s"], row["part"]) for row in rows} == model, version


def main(folder: Path, commits: int, writes: bool) -> None:
    """Commit in turns, and compare every version."""
    turns, chance = Turns(folder), random.Random(5)
    number = trees = 0
    # A change that no row matches is no commit.
    while len(turns.versions) < commits + trees:
        number += 1
        if number % 2:
            turns.appended(number * 20, chance.choice([None, 1, 2, 3]))
        else:
            turns.changed(chance, number * 20)
        turns.note()
        if chance.random() < 0.15:
            (turns.written if writes else turns.built)(chance.choice([0, 3, 8]))
            turns.note()
            trees += 1
    turns.compare()
    leaves = [*(folder / "t" / "metadata").glob("leaf-*")]
    print(f"{commits} commits, {trees} trees, {len(leaves)} leaves")
    turns.spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "written" in sys.argv[3:])
