"""Estimates of a scan as statistics of Spark's optimizer, which uses them where `spark.sql.cbo.enabled` is true."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pyspark.sql import DataFrame

from deltaskip.reading.estimates import Estimates
from deltaskip.records import dataclass
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.session.session_settings import frame_of, java_class, java_frame

_SCHEMA, _STATS = 3, 12
"""The places of the members `schema` and `stats` of CatalogTable."""


def catalog_statistics(
    jvm: Jvm, size_bytes: int, rows: int | None = None, columns: Mapping[str, Mapping[str, str]] | None = None
) -> Any:
    """Return a CatalogStatistics. One request makes it: Jackson reads its text.

    Args:
        jvm: The session's JVM.
        size_bytes: The size.
        rows: The number of rows; None if unknown.
        columns: The statistics of columns by name, as in `Estimates`; None for no columns.
    """
    found = {name: {"version": 2, **known} for name, known in (columns or {}).items() if known}
    text = json.dumps({"sizeInBytes": size_bytes, "rowCount": rows, "colStats": found})
    return _makers(jvm.view).statistics.readValue(text)


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
    made = _makers(jvm.view)
    relation = java_frame(frame).queryExecution().analyzed().relation()
    columns = {own: dict(estimates.columns.get(name, {})) for own, name in names.items()}
    for known in filter(None, columns.values()):
        known["nullCount"] = str(round(int(known["nullCount"]) * share))
    statistics = catalog_statistics(jvm, relation.sizeInBytes(), round(estimates.rows * share), columns)
    members = list(made.members)
    members[0], members[_SCHEMA], members[_STATS] = (
        made.identifier(root),
        relation.schema(),
        made.some.apply(statistics),
    )
    return frame_of(frame.sparkSession, made.relation.apply(relation, made.table(*members)))


@dataclass(frozen=True, slots=True)
class _Makers:
    """What makes a table of a catalog in a JVM. To find it takes a hundred requests.

    Attributes:
        statistics: The reader of the text of a CatalogStatistics.
        identifier: The class TableIdentifier.
        table: The class CatalogTable.
        members: The members of a table. Those of a scan take the places of the name, the schema and the statistics.
        some: The class Option.
        relation: The companion object of LogicalRelation.
    """

    statistics: Any
    identifier: Any
    table: Any
    members: tuple[Any, ...]
    some: Any
    relation: Any


@lru_cache(1)
def _makers(view: Any) -> _Makers:
    catalyst, jackson = view.org.apache.spark.sql.catalyst, view.com.fasterxml.jackson
    catalog, datasources = catalyst.catalog, view.org.apache.spark.sql.execution.datasources
    mapper = jackson.databind.ObjectMapper()
    mapper.registerModule(Jvm.companion(jackson.module.scala, "DefaultScalaModule"))
    given = None, catalog.CatalogTableType.EXTERNAL(), catalog.CatalogStorageFormat.empty(), None
    return _Makers(
        statistics=mapper.readerFor(java_class(catalog.CatalogStatistics)),
        identifier=catalyst.TableIdentifier,
        table=catalog.CatalogTable,
        members=Jvm.members(catalog.CatalogTable, *given),
        some=view.scala.Option,
        relation=Jvm.companion(datasources, "LogicalRelation"),
    )
