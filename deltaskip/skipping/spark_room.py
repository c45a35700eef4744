"""The spark room, which lies above this one: reached by name, so that nothing below it imports pyspark."""

from __future__ import annotations

import importlib
from typing import Any

from deltaskip.errors import SparkUnavailable

__all__ = ["spark_room"]


def spark_room(module: str, act: str) -> Any:
    """The module of `deltaskip.spark` by its name there. act: what needs it, as a sentence begins.

    Raises SparkUnavailable without pyspark.
    """
    try:
        return importlib.import_module(f"deltaskip.spark.{module}")
    except ModuleNotFoundError as error:
        raise SparkUnavailable.without_pyspark(act) from error
