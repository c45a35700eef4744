"""Estimates of a scan as statistics of Spark's optimizer, which uses them where `spark.sql.cbo.enabled` is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from deltaskip.reading.estimates import Estimates
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.session.session_settings import frame_of, java_class, java_frame

_STATS = 13
"""The number of the parameter `stats` of CatalogTable."""


def column_statistic(jvm: Jvm, name: str, statistics: Mapping[str, str]) -> Any:
    """Return a CatalogColumnStat.

    Args:
        jvm: The session's JVM.
        name: The column.
        statistics: An entry of `Estimates.columns`.
    """
    of = jvm.view.org.apache.spark.sql.catalyst.catalog.CatalogColumnStat
    texts = {f"{name}.{key}": text for key, text in {"version": "2", **statistics}.items()}
    return of.fromMap("", name, jvm.scala_map(texts)).get()


def with_estimates(
    frame: DataFrame, root: str, estimates: Estimates, share: float, names: Mapping[str, str]
) -> DataFrame:
    """Return a scan of files as one of a table of a catalog that has its statistics.

    # Spark 4.1, LogicalRelation.computeStats: only a table of a catalog has more statistics than a size

    Args:
        frame: The scan: nothing but a relation.
        root: URI of the table, which plans show.
        estimates: The estimates of all files.
        share: The share of the rows that this scan reads.
        names: The columns of `frame` whose statistics are known, with their names in the table.
    """
    jvm = Jvm(frame.sparkSession)
    view, catalyst = jvm.view, jvm.view.org.apache.spark.sql.catalyst
    relation = java_frame(frame).queryExecution().analyzed().relation()
    columns = {}
    for own, name in names.items():
        known = dict(estimates.columns.get(name, {}))
        if known:
            known["nullCount"] = str(round(int(known["nullCount"]) * share))
            columns[own] = column_statistic(jvm, own, known)
    # py4j would make numbers of Java of a BigInt, which only its container keeps.
    size, rows = (
        column_statistic(jvm, root, {"distinctCount": str(count)}).distinctCount()
        for count in (relation.sizeInBytes(), round(estimates.rows * share))
    )
    given = view.java.util.ArrayList(view.scala.jdk.javaapi.CollectionConverters.asJava(size.toList()))
    given.add(rows)
    given.add(jvm.scala_map(columns))
    [constructor] = java_class(catalyst.catalog.CatalogStatistics).getConstructors()
    statistics = constructor.newInstance(given.toArray())
    of = catalyst.catalog.CatalogTable
    members = [
        catalyst.TableIdentifier(root),
        catalyst.catalog.CatalogTableType.EXTERNAL(),
        catalyst.catalog.CatalogStorageFormat.empty(),
        relation.schema(),
    ]
    defaults = [getattr(of, f"apply$default${number}")() for number in range(len(members) + 1, _STATS)]
    table = jvm.filled(of, *members, *defaults, view.scala.Option.apply(statistics))
    plan = jvm.companion(view.org.apache.spark.sql.execution.datasources, "LogicalRelation").apply(relation, table)
    return frame_of(frame.sparkSession, plan)
