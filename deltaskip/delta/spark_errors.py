"""Errors of deltaskip that are also the PySpark errors of delta-spark, so that either class can be caught."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    UnsupportedOperationException,
)

from deltaskip import errors
from deltaskip.delta import exceptions
from deltaskip.delta.exceptions import conflict_class

_E = TypeVar("_E", bound=errors.DeltaSkipError)

_CLASSES: dict[type[errors.DeltaSkipError], type[Exception]] = {
    errors.TableNotFound: AnalysisException,
    errors.TableAlreadyExists: AnalysisException,
    errors.VersionNotFound: AnalysisException,
    errors.SchemaError: AnalysisException,
    errors.PredicateError: AnalysisException,
    errors.InvalidCommit: AnalysisException,
    errors.UnsupportedFeature: UnsupportedOperationException,
    errors.AmbiguousMerge: UnsupportedOperationException,
}


_WORDS: dict[tuple[str, object], str] = {
    ("schema_mode", "merge"): "by withSchemaEvolution()",
    ("except_", None): "name the columns to set,",
    ("when_matched_update_all", None): "whenMatchedUpdateAll()",
    ("enforce_retention", False): "set spark.databricks.delta.retentionDurationCheck.enabled to false",
}
_PREFIX = "io.delta.exceptions."
_THEIRS = "delta.exceptions"


@contextmanager
def spark_errors(argument: type[Exception] = IllegalArgumentException) -> Iterator[None]:
    """Within the block, errors of deltaskip are also instances of the PySpark class that delta-spark raises.

    Args:
        argument: The class for an argument with a wrong value.
    """
    try:
        with errors.advice_in(_WORDS):
            yield
    except errors.DeltaSkipError as error:
        if isinstance(error, (PySparkException, _java_error())):
            raise
        raise spark_error(error, argument).with_traceback(error.__traceback__) from error.__cause__


def spark_error(error: _E, argument: type[Exception] = IllegalArgumentException) -> _E:
    """Return the error as an instance of PySpark's class as well; the same error if PySpark has no such class.

    Args:
        error: The error.
        argument: The class for an argument with a wrong value.
    """
    if isinstance(error, errors.CommitConflict):
        conflict: Any = _made(conflict_class(error.kind), error)
        return conflict  # type: ignore[no-any-return]
    classes = {**_CLASSES, errors.InvalidArgument: argument}
    parent = next((classes[each] for each in type(error).__mro__ if each in classes), None)
    return error if parent is None else _made(_both(type(error), parent), error)


def parse_error(error: errors.SchemaError) -> errors.SchemaError:
    """Return the error of a text as an error that is also PySpark's ParseException."""
    return _made(_both(type(error), ParseException), error)


def feature_error(code: str, message: str) -> errors.InvalidArgument:
    """Return the error of a table feature, which delta-spark raises in the JVM.

    Args:
        code: The error class of Delta, such as DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT.
        message: The message.
    """
    return _made(_both(errors.InvalidArgument, _java_error()), errors.InvalidArgument(f"[{code}] {message}"))


@cache
def _java_error() -> type[Exception]:
    """The class of JVM errors for which PySpark has no class. A client of Spark Connect may lack py4j."""
    try:
        protocol = import_module("py4j.protocol")
    except ModuleNotFoundError:
        return PySparkException  # type: ignore[no-any-return]
    return protocol.Py4JJavaError  # type: ignore[no-any-return]


_twins: dict[tuple[type, type], type[Any]] = {}


def _both(own: type[_E], parent: type[Exception]) -> type[_E]:
    """The common subclass of both classes."""
    found = _twins.get((own, parent))
    if found is None:
        members = {"__str__": _text, "__module__": own.__module__, "__doc__": own.__doc__}
        found = _twins[own, parent] = type(own.__name__, (own, parent), members)
    return found


def _made(cls: type[_E], error: Exception) -> _E:
    made: Any = cls.__new__(cls, *error.args)
    made.args = error.args
    if issubclass(cls, PySparkException):
        PySparkException.__init__(made, str(error))
        # Errors of the JVM have their message there, in PySpark 3.5 to 4.3.
        made.desc = made._desc = str(error)
    else:
        made.errmsg, made.java_exception = str(error), None
    made.__dict__.update(error.__dict__)
    return made  # type: ignore[no-any-return]


def _text(error: BaseException) -> str:
    return str(error.args[0]) if error.args else ""


def convert_conflicts() -> None:
    """Let PySpark raise delta-spark's conflicts as these classes, for jobs that also write with delta-spark.

    delta-spark's package does the same for its classes. If it is imported, its classes are raised.
    """
    try:
        captured: Any = import_module("pyspark.errors.exceptions.captured")
    except ImportError:  # a client of Spark Connect may lack py4j
        return
    before = captured.convert_exception

    def convert_exception(error: Any) -> Any:
        found = None if _THEIRS in sys.modules else converted_conflict(error.toString())
        return before(error) if found is None else found

    captured.convert_exception = convert_exception


def converted_conflict(text: str) -> errors.CommitConflict | None:
    """Return the conflict that the JVM describes by its class and message; None for another error."""
    name, _, message = text.partition(": ")
    kind = exceptions.KINDS.get(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
    return None if kind is None else spark_error(errors.CommitConflict(message, kind))
