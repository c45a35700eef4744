"""Tables that deltaskip and delta-spark optimize in turns: after each version delta-spark's rows, feed and row ids.

    python -m tests.reference.playing optimized ANSWERS.json [CASE ...]

ANSWERS.json has by case the error that it ended with; null if both agree with a plain model of rows.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import deltaskip as ds
from deltaskip.settings import options
from tests.dml.tables import DDL, actions_of
from tests.extent import extent
from tests.reference import overwritten
from tests.reference.overwritten import BY_ID, FEED, NAMED, TRACKED, VECTORS, Played

CLUSTERED: dict[str, tuple[dict[str, str], list[str]]] = {
    "clustered": ({}, ["id"]),
    "clustered, vectors and row ids": ({**VECTORS, **FEED, **TRACKED}, ["id", "st.a"]),
    "clustered by name": ({**VECTORS, **NAMED}, ["x", "id"]),
    "clustered by id and row ids": ({**TRACKED, **BY_ID}, ["p", "x", "id"]),
}
CASES = {**overwritten.CASES, **CLUSTERED}


class Optimized(Played):
    """One table that is optimized by each engine in turn."""

    def __init__(self, spark: Any, folder: Path, properties: dict[str, str], partition_by: list[str]) -> None:
        super().__init__(spark, folder, properties, partition_by)
        self.clustered = False

    def play(self) -> None:
        """Append, delete by either, and optimize by deltaskip in this process and through Spark, and by delta-spark."""
        for engine in extent(["spark"], ["driver", "delta-spark", "spark", "driver"]):
            self.append(15)
            self.append(10)
            self.delete(engine)
            self.optimize(engine, ())
            self.append(5)
            self.optimize(engine, () if self.clustered else ("id", "x"))

    def delete(self, engine: str) -> None:
        """Delete rows by the other engine."""
        number = self.chance.randrange(9)
        where = f"id % 9 = {number}"
        if engine == "delta-spark":
            self.table.delete(where)
        else:
            self.spark.sql(f"DELETE FROM delta.`{self.folder}` WHERE {where}")
            self.table.refresh()
        self.model = {i: row for i, row in self.model.items() if i % 9 != number}
        self.check(f"after a deletion before {engine}")

    def optimize(self, engine: str, columns: Iterable[str]) -> None:
        """Optimize, after which nothing may differ; the feed of the commit is empty."""
        before, names = self.table.version, list(columns)
        if engine == "delta-spark":
            order = f" ZORDER BY ({', '.join(names)})" if names else ""
            self.spark.sql(f"OPTIMIZE delta.`{self.folder}`{order}")
            self.table.refresh()
        else:
            target = 3000 if self.chance.random() < 0.5 else None
            with options.changed(spark_jobs="auto" if engine == "driver" else "always"):
                self.table.optimize(zorder_by=names, spark=self.spark, target_file_bytes=target)
        done = self.table.version > before
        what = f"after OPTIMIZE by {engine}{names}"
        assert not done or "cdc" not in actions_of(self.table), what
        self.check(what, *(([], []) if done else ()))


class Clustered(Optimized):
    """The same of a clustered table."""

    def __init__(self, spark: Any, folder: Path, properties: dict[str, str], cluster_by: list[str]) -> None:
        super().__init__(spark, folder / "empty", properties, [])
        self.folder, self.clustered = folder / "table", True
        self.table = ds.DeltaTable.create(self.folder, DDL, cluster_by=cluster_by, properties=properties)


def play(spark: Any, folder: Path, name: str) -> None:
    """Play one case."""
    kind = Clustered if name in CLUSTERED else Optimized
    kind(spark, folder, *CASES[name]).play()
