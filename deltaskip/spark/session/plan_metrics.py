"""What a DataFrame's plan read, from the metrics of the plan that ran."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

__all__ = ["files_read"]

_METRIC = "numFiles"


def files_read(frame: DataFrame) -> int | None:
    """The number of files that the scans of `frame` read when it ran; None where Spark does not report it (Connect)."""
    java = getattr(frame, "_jdf", None)
    if java is None:
        return None
    return sum(_files_of(java.queryExecution().executedPlan()))


def _files_of(plan: Any) -> list[int]:
    """The metric of each scan of a physical plan, also below adaptive plans and their stages."""
    metric = plan.metrics().get(_METRIC)
    found = [int(metric.get().value())] if metric.isDefined() else []
    match plan.getClass().getSimpleName():
        case "AdaptiveSparkPlanExec":
            below = [plan.executedPlan()]
        case "ShuffleQueryStageExec" | "BroadcastQueryStageExec" | "ResultQueryStageExec" | "TableCacheQueryStageExec":
            below = [plan.plan()]
        case "ReusedExchangeExec":
            below = []
        case _:
            children = plan.children()
            below = [children.apply(i) for i in range(children.size())]
    return found + [number for each in below for number in _files_of(each)]
