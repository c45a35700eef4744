"""The secrets in the settings of a session, such as `fs.s3a.secret.key`, which messages do not show."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from weakref import WeakSet

import pyspark

from deltaskip.redaction import keep_options_secret

# Names of settings that may be secrets: Hadoop has hundreds of settings, which are read by name only.
_HADOOP_S = "(?i).*(secret|passw|pwd|token|signature|credential|key|sas).*"

_known: WeakSet[Any] = WeakSet()


def keep_settings_secret_once(spark: Any) -> None:
    """Call keep_settings_secret at the first call for each session."""
    if spark not in _known:
        _known.add(spark)
        keep_settings_secret(spark)


def keep_settings_secret(spark: Any = None) -> None:
    """Keep secrets in the settings of a session out of messages; None for the running session."""
    # The thin client of Spark Connect has no context.
    known = getattr(pyspark, "SparkContext", None)
    context = None if known is None else known._active_spark_context
    if spark is None and context is not None:
        with suppress(Exception):  # as below
            spark = pyspark.sql.SparkSession.getActiveSession()
    for settings in (_of_the_context, _of_hadoop, _of_the_session):
        with suppress(Exception):  # the session may be gone, or a Connect session, or PySpark 3.5 lack the method
            keep_options_secret(settings(context, spark))


def _of_the_context(context: Any, spark: Any) -> dict[str, str]:
    return dict(context.getConf().getAll())


def _of_hadoop(context: Any, spark: Any) -> dict[str, str]:
    return dict(context._jsc.hadoopConfiguration().getValByRegex(_HADOOP_S))


def _of_the_session(context: Any, spark: Any) -> dict[str, str]:
    return dict(spark.conf.getAll)
