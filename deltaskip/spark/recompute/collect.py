"""The run of a recomputation's tasks, which raises errors of executors as the driver would raise them."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from pyspark.sql import DataFrame

from deltaskip import errors
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.spark.session.checks import not_on_executors

RESULT_DDL = "file bigint, num_records bigint, stats string, facts binary, scanned bigint"
"""The schema of tasks.TASK_RESULT as Spark DDL."""


def collected(results: DataFrame) -> list[Any]:
    """The rows of a DataFrame of RESULT_DDL; a DeltaSkipError of a task is raised here with its own type."""
    try:
        found: list[Any] = results.collect()
    except Exception as error:
        _raise_own(error)
    return found


def _raise_own(error: Exception) -> NoReturn:
    text = str(error)
    if re.search(r"No module named '(deltaskip|pyarrow)", text):
        raise not_on_executors() from error
    own = re.search(r"deltaskip\.errors\.(\w+): (.*)", text)
    if own is not None:
        kind = getattr(errors, own[1], StorageError)
        if issubclass(kind, DeltaSkipError):
            raise kind(own[2].strip()) from None
    raise error
