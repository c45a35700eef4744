"""Errors of Spark, py4j and Hadoop as errors of this package that name the table, the reason and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging import LogRecord
from threading import get_ident
from typing import Any
from weakref import WeakSet

import pyspark
from pyspark.sql import SparkSession

from deltaskip import errors
from deltaskip.doors import SPARK_S
from deltaskip.lazy_regex import regex
from deltaskip.redaction import keep_options_secret, redacted
from deltaskip.schema.relations import UnknownName
from deltaskip.spark.session.session_settings import java_view
from deltaskip.sparkexpr.types import AmbiguousName

_NO_FILE_SYSTEM = regex(
    r'No FileSystem for scheme "?(?P<scheme>[\w+.\-]+)|'
    r"Class org\.apache\.hadoop\.fs\.(?P<module>s3a|azurebfs|gcs)\.[\w.$]+ not found|"
    r"Class com\.google\.cloud\.hadoop\.fs\.(?P<google>gcs)\.\w+ not found"
)
_SCHEMES = {"azurebfs": "abfss", "gcs": "gs"}
_UNREACHABLE = regex(r"java\.net\.(?:UnknownHost|Connect|NoRouteToHost|SocketTimeout)Exception: ?(?P<reason>[^\n]*)")
_GONE = regex(
    r"stopped SparkContext|SparkContext was shut down|SESSION_CLOSED|SESSION_CHANGED|SESSION_NOT_FOUND|"
    r"StatusCode\.UNAVAILABLE|failed to connect to all addresses|Answer from Java side is empty|"
    r"error while (?:sending|receiving)|Connection refused"
)
# Errors that Spark raises for a row whose expression or Python function fails.
_ROW_ERRORS = frozenset(
    (
        "ArithmeticException",
        "ArrayIndexOutOfBoundsException",
        "DateTimeException",
        "NumberFormatException",
        "PythonException",
        "SparkRuntimeException",
    )
)
# Spark's error conditions for names.
_NAMES: dict[str, type[errors.PredicateError]] = {
    "UNRESOLVED_COLUMN": UnknownName,
    "AMBIGUOUS_REFERENCE": AmbiguousName,
}
_WORKER = regex(r"PYTHON_VERSION_MISMATCH|Python in worker has different version|No module named 'deltaskip")
# The file systems that Spark needs a package for: the package, and the settings of its credentials.
_PACKAGES = {
    "s3a": ("org.apache.hadoop:hadoop-aws:{hadoop}", "spark.hadoop.fs.s3a.access.key and .secret.key"),
    "gs": (
        "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.25",
        "spark.hadoop.google.cloud.auth.service.account.json.keyfile",
    ),
    "abfs": (
        "org.apache.hadoop:hadoop-azure:{hadoop}",
        "spark.hadoop.fs.azure.account.key.ACCOUNT.dfs.core.windows.net",
    ),
    "abfss": (
        "org.apache.hadoop:hadoop-azure:{hadoop}",
        "spark.hadoop.fs.azure.account.key.ACCOUNT.dfs.core.windows.net",
    ),
}
# Names of settings that may be secrets. Hadoop has hundreds of settings, so only settings with such names are read.
_HADOOP_S = "(?i).*(secret|passw|pwd|token|signature|credential|key|sas).*"

_known: WeakSet[Any] = WeakSet()


@contextmanager
def suppressed_if_too_large() -> Iterator[None]:
    """End the block without an error if Spark does not send the driver as many rows as the block collects.

    # Spark 4.1, TaskSetManager.canFetchMoreResults
    """
    try:
        yield
    except Exception as error:
        if "spark.driver.maxResultSize" not in str(error):
            raise


@contextmanager
def expected_errors() -> Iterator[None]:
    """Within the block, keep PySpark from printing errors that this thread raises, since the caller expects them."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        # Spark 3.5 prints no errors.
        yield
        return
    thread = get_ident()
    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("DataFrame", "SQL")]

    def is_other(record: LogRecord) -> bool:
        return record.thread != thread

    for logger in loggers:
        logger.addFilter(is_other)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_other)


@contextmanager
def spark_errors_named(spark: SparkSession, table: str, act: str) -> Iterator[None]:
    """Within the block, convert Spark errors to a DeltaSkipError.

    table: The table, such as `/data/sales (version 3)`. act: The operation on the table, such as "read".
    """
    try:
        yield
    except errors.DeltaSkipError:
        raise
    except Exception as error:
        if not _is_spark_s(error):
            raise
        # Spark's message contains the stack trace of the JVM, which would hide this message.
        raise _named(spark, table, act, error) from None


@contextmanager
def catalog_errors_named(catalog: str) -> Iterator[None]:
    """Within the block, convert refusals of a session's catalog to CatalogError, and to InvalidArgument for a name."""
    try:
        yield
    except errors.DeltaSkipError:
        raise
    except Exception as error:
        if not _is_spark_s(error):
            raise
        if "not a valid name for tables" in str(error) or "INVALID_SCHEMA_OR_RELATION_NAME" in str(error):
            raise errors.InvalidArgument(
                f"The session's catalog {catalog} refuses the name: {first_reason(error)}"
            ) from None
        raise errors.CatalogError(f"The catalog {catalog} of the Spark session failed: {first_reason(error)}") from None


@contextmanager
def predicate_errors_named(table: str, what: str = "the predicate") -> Iterator[None]:
    """Within the block, convert Spark's refusal of a predicate to PredicateError, UnknownName for a name.

    what: The text that Spark may refuse, for messages.
    """
    try:
        yield
    except errors.DeltaSkipError:
        raise
    except Exception as error:
        if not _is_spark_s(error) or type(error).__name__ not in ("AnalysisException", "ParseException"):
            raise
        kind = _NAMES.get(_condition(error).partition(".")[0], errors.PredicateError)
        raise kind(f"Spark refuses {what} for {table}: {first_reason(error)}") from None


@contextmanager
def row_errors_named(spark: SparkSession, table: str, act: str = "write to") -> Iterator[None]:
    """Within the block, convert errors of a job that computes given rows: InvalidArgument if it fails for a row.

    act: See spark_errors_named.
    """
    with spark_errors_named(spark, table, act):
        try:
            yield
        except Exception as error:
            if not _is_of_a_row(error):
                raise
            raise errors.InvalidArgument(f"Spark cannot compute the rows for {table}: {first_reason(error)}") from error


@contextmanager
def condition_errors_named(spark: SparkSession, table: str, where: str) -> Iterator[None]:
    """Within the block, convert errors of a job that evaluates a predicate: PredicateError if it fails for a row."""
    with spark_errors_named(spark, table, "read"):
        try:
            yield
        except Exception as error:
            if not _is_of_a_row(error):
                raise
            raise errors.PredicateError(
                f"The predicate {where} fails for a row of {table}: {first_reason(error)}"
            ) from error


def _condition(error: Any) -> str:
    """Spark's name of an error, such as UNRESOLVED_COLUMN.WITH_SUGGESTION; empty if it has none."""
    # PySpark 3.5 has the method under its older name.
    method = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    return "" if method is None else str(method() or "")


def _is_of_a_row(error: Exception) -> bool:
    return type(error).__name__ in _ROW_ERRORS and not _WORKER.search(str(error)) and _is_spark_s(error)


def _is_spark_s(error: Exception) -> bool:
    return isinstance(error, ConnectionError) or type(error).__module__.partition(".")[0] in SPARK_S


def _named(spark: SparkSession, table: str, act: str, error: Exception) -> errors.DeltaSkipError:
    text = f"{error}\n{getattr(error, 'desc', '')}"
    found = _NO_FILE_SYSTEM.search(text)
    if found is not None:
        named = next(filter(None, found.groups()))
        return errors.StorageError(_without_file_system(spark, table, act, _SCHEMES.get(named, named)))
    found = _UNREACHABLE.search(text)
    if found is not None:
        return errors.StorageError(
            f"Spark cannot {act} {table}: {found['reason'].strip() or 'the host does not respond'}; check the host and "
            "port of the location, and the network."
        )
    if _WORKER.search(text):
        return errors.SparkUnavailable(
            f"Spark cannot {act} {table}: its Python workers run another Python than this one, or lack deltaskip. Set "
            "PYSPARK_PYTHON (before the session starts) to an interpreter of this version that has deltaskip."
        )
    if isinstance(error, ConnectionError) or _GONE.search(text) or type(error).__name__ == "Py4JNetworkError":
        return errors.SparkUnavailable(
            f"Spark cannot {act} {table}: its session was stopped or does not respond ({first_reason(error)}); create "
            "a new session."
        )
    if type(error).__name__ in ("AnalysisException", "ParseException", "UnsupportedOperationException"):
        return errors.UnsupportedFeature(f"Spark {_version(spark)} cannot {act} {table}: {first_reason(error)}")
    return errors.StorageError(f"Spark cannot {act} {table}: {first_reason(error)}")


def _without_file_system(spark: SparkSession, table: str, act: str, scheme: str) -> str:
    known = _PACKAGES.get(scheme)
    if known is None:
        cure = f"Start the session with the jar of one, and name its class in spark.hadoop.fs.{scheme}.impl."
    else:
        package = known[0].format(hadoop=_hadoop_version(spark) or "VERSION_OF_HADOOP")
        cure = (
            f"Start the session with spark.jars.packages={package} and the credentials in {known[1]}; storage_options "
            "are not handed to Spark."
        )
    return f"Spark cannot {act} {table}: its session has no Hadoop file system for {scheme}://. {cure}"


def _hadoop_version(spark: Any) -> str | None:
    try:
        return str(java_view(spark).org.apache.hadoop.util.VersionInfo.getVersion())
    except Exception:  # a Connect client has no JVM, and raises errors of several libraries
        return None


def _version(spark: Any) -> str:
    try:
        return str(spark.version)
    except Exception:  # the session may be gone
        return ""


def first_reason(error: Exception) -> str:
    """The first line of Spark's message and of its cause, or a Python worker's error, as the end of a sentence."""
    java = getattr(error, "java_exception", None)
    text = str(getattr(error, "desc", None) or (java.toString() if java is not None else error))
    _, found, trace = text.partition("Traceback (most recent call last):")
    lines = [line for line in (trace if found else text).splitlines() if line.strip()]
    # The error follows the frames of the stack, which are indented.
    reason = next((line for line in lines if not line.startswith(" ")), lines[0]) if lines else type(error).__name__
    cause = _root_cause(java)
    also = f" ({cause})" if cause and cause not in reason else ""
    keep_settings_secret()
    return redacted(reason.strip().rstrip(".:; ") + also + ".")


def _root_cause(java: Any) -> str:
    """The first line of the last Java exception in the chain of causes; empty without a cause."""
    cause = None if java is None else java.getCause()
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return "" if cause is None else str(cause.toString()).partition("\n")[0].strip().rstrip(".")


def keep_settings_secret_once(spark: Any) -> None:
    """Call keep_settings_secret once for each session."""
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
