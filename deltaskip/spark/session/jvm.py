"""Objects that Spark calls back: values of the JVM, and errors as exceptions that Spark knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from typing import Any, TypeVar
from zlib import crc32

from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from deltaskip import errors
from deltaskip.spark.session.session_settings import gateway_of, java_class, java_session, java_view

_Method = TypeVar("_Method", bound=Callable[..., Any])

_SEPARATOR = "\0"

# Errors that Spark handles, with their Java class and the arguments of its constructor.
_OF_SPARK: dict[type[errors.DeltaSkipError], tuple[str, str]] = {
    errors.TableNotFound: ("NoSuchTableException", "identifier"),
    errors.TableAlreadyExists: ("TableAlreadyExistsException", "identifier"),
    errors.NamespaceNotFound: ("NoSuchNamespaceException", "namespace"),
    errors.NamespaceAlreadyExists: ("NamespaceAlreadyExistsException", "namespace"),
    errors.NamespaceNotEmpty: ("NonEmptyNamespaceException", "namespace"),
}


@lru_cache(1)
def _splitting(view: Any) -> Any:
    """The pattern that splits texts in a JVM. Each package that its name has is a request."""
    return view.java.util.regex.Pattern.compile(_SEPARATOR)


class Jvm:
    """Creates values in the JVM of a session.

    Args:
        spark: A classic session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.view: Any = java_view(spark)
        self._gateway: Any = gateway_of(spark.sparkContext)

    def call_back(self) -> None:
        """Let the JVM call objects of this process from now on."""
        # The thin client of Spark Connect has no JVM, and may lack py4j.
        from pyspark.java_gateway import ensure_callback_server_started

        ensure_callback_server_started(self._gateway)

    def activate(self) -> None:
        """Make the session active in this thread of the JVM: Spark's readers use the active session's settings."""
        self.view.org.apache.spark.sql.classic.SparkSession.setActiveSession(java_session(self.spark))

    def array(self, of: Any, items: Iterable[Any]) -> Any:
        """Return an array. of: the class of its elements."""
        values = list(items)
        found = self._gateway.new_array(of, len(values))
        for i, value in enumerate(values):
            found[i] = value
        return found

    def strings(self, items: Iterable[str]) -> Any:
        """Return an array of strings. A request takes 0.1 ms, so the JVM splits one text into many strings."""
        values = list(items)
        if not values or any(_SEPARATOR in value for value in values):
            return self.array(self.view.java.lang.String, values)
        return _splitting(self.view).split(_SEPARATOR.join(values), -1)

    def array_of_strings(self, items: Iterable[Iterable[str]]) -> Any:
        """Return an array of arrays of strings."""
        values = [self.strings(item) for item in items]
        found = self._gateway.new_array(self.view.java.lang.String, len(values), 0)
        for i, value in enumerate(values):
            found[i] = value
        return found

    def list(self, items: Iterable[Any]) -> Any:
        """Return a java.util.List."""
        found = self.view.java.util.ArrayList()
        for item in items:
            found.add(item)
        return found

    def sequence(self, items: Iterable[Any]) -> Any:
        """Return a Seq of Scala."""
        return self.view.org.apache.spark.api.python.PythonUtils.toSeq(self.list(items))

    def map(self, items: Mapping[str, Any]) -> Any:
        """Return a java.util.Map."""
        found = self.view.java.util.HashMap()
        for name, value in items.items():
            found.put(name, value)
        return found

    def scala_map(self, items: Mapping[str, Any]) -> Any:
        """Return an immutable Map of Scala."""
        return self.view.org.apache.spark.api.python.PythonUtils.toScalaMap(self.map(items))

    def options(self, items: Mapping[str, str]) -> Any:
        """Return options of a data source, with case-insensitive names."""
        return self.view.org.apache.spark.sql.util.CaseInsensitiveStringMap(self.map(items))

    def enums(self, of: Any, names: Iterable[str]) -> Any:
        """Return a java.util.Set of the constants of an enum that this release of Spark has."""
        known = {each.name() for each in of.values()}
        found = self.view.java.util.HashSet()
        for name in names:
            if name in known:
                found.add(of.valueOf(name))
        return found

    def schema(self, struct: spark_types.StructType) -> Any:
        """Return a schema."""
        return self.view.org.apache.spark.sql.types.DataType.fromJson(struct.json())

    def row_bytes(self, struct: spark_types.StructType) -> int:
        """Return the size of a row as Spark estimates it. # Spark 4.1, EstimationUtils.getSizePerRow"""
        return 8 + int(self.schema(struct).defaultSize())

    def size(self, count: int | None) -> Any:
        """Return a java.util.OptionalLong."""
        longs = self.view.java.util.OptionalLong
        return longs.empty() if count is None else longs.of(count)

    def none(self) -> Any:
        """Return Scala's empty Option."""
        return self.view.scala.Option.empty()

    def columns(self, schema: Any) -> Any:
        """Return an array of the connectors' columns. schema: a schema of the JVM."""
        util = self.view.org.apache.spark.sql.connector.catalog.CatalogV2Util
        return util.structTypeToV2Columns(schema, *([False] if self._converts_ids() else []))

    def _converts_ids(self) -> bool:
        """Whether the function for columns has an additional parameter, as in Spark 4.3."""
        util = self.companion(self.view.org.apache.spark.sql.connector.catalog, "CatalogV2Util")
        return any(
            each.getName() == "structTypeToV2Columns" and len(each.getParameterTypes()) > 1
            for each in util.getClass().getMethods()
        )

    def filled(self, of: Any, *given: Any) -> Any:
        """Return an object of a case class, with defaults for the parameters that are not given."""
        return of(*self.members(of, *given))

    @staticmethod
    def members(of: Any, *given: Any) -> tuple[Any, ...]:
        """Return the arguments of a case class: the given ones, and defaults for the others.

        Releases of Spark add parameters at the end.
        """
        arity = max(len(each.getParameterTypes()) for each in java_class(of).getConstructors())
        return (*given, *(getattr(of, f"apply$default${i}")() for i in range(len(given) + 1, arity + 1)))

    def function(self, interface: str, of: Any, name: str, *parameters: Any) -> Any:
        """Return a method as an object with one abstract method, so that the JVM applies it to many values in one call.

        Args:
            interface: Name of the object's interface, such as scala.Function1.
            of: The class of the method. Its instance is the first argument, unless the method is static.
            name: The method.
            parameters: Classes of its parameters.
        """
        lang = self.view.java.lang
        method = of.getMethod(name, self.array(lang.Class, parameters))
        handle = lang.invoke.MethodHandles.publicLookup().unreflect(method)
        return lang.invoke.MethodHandleProxies.asInterfaceInstance(lang.Class.forName(interface), handle)

    @staticmethod
    def companion(package: Any, name: str) -> Any:
        """Return the companion object of a class of Scala."""
        return getattr(getattr(package, f"{name}$"), "MODULE$")

    def error(self, error: Exception, declared: Iterable[str], about: Any) -> Exception:
        """Return an error that py4j raises in the JVM as an exception that Spark and PySpark know.

        Args:
            error: The Python error.
            declared: Names of the checked exceptions that the method of the interface declares. It may raise no others.
            about: The Identifier or namespace that the method was called with.
        """
        origin = getattr(error, "_origin", None)
        found: Any = getattr(error, "java_exception", origin)
        if found is not None:
            unchecked = self.view.java.lang.RuntimeException
            return _thrown(unchecked(found.getMessage(), found) if _is_checked(found) else found)
        if not isinstance(error, errors.DeltaSkipError):
            return error
        for kind, (name, of) in _OF_SPARK.items():
            if isinstance(error, kind) and name in declared:
                return _thrown(self._analysis(name)(self._about(about, of)))
        return _thrown(self._plain(error))

    def _analysis(self, name: str) -> Any:
        return getattr(self.view.org.apache.spark.sql.catalyst.analysis, name)

    def _about(self, about: Any, of: str) -> Any:
        if of == "identifier":
            return about
        parts = about if type(about).__name__ == "JavaArray" else about.namespace()
        return self.strings(str(part) for part in parts)

    def _plain(self, error: errors.DeltaSkipError) -> Any:
        lang = self.view.java.lang
        if isinstance(error, errors.UnsupportedFeature | errors.SparkUnavailable):
            return lang.UnsupportedOperationException(str(error))
        if isinstance(error, errors.CommitConflict):
            return self.view.java.util.ConcurrentModificationException(str(error))
        if isinstance(error, ValueError | TypeError | LookupError | FileExistsError | FileNotFoundError):
            return lang.IllegalArgumentException(str(error))
        return lang.RuntimeException(f"{type(error).__name__}: {error}")


class Proxy:
    """An object that Spark calls by interfaces of the JVM. A subclass names the interfaces in `Java.implements`.

    Two objects with the same text are equal, so plans that contain them are equal.

    Args:
        jvm: The session's JVM.
        text: The identity of the object: everything that its answers depend on.
    """

    def __init__(self, jvm: Jvm, text: str) -> None:
        self.jvm = jvm
        self.text = text

    def equals(self, other: Any) -> bool:
        """Object.equals of Java."""
        return other is not None and self.text == str(other.toString())

    def hashCode(self) -> int:
        """Object.hashCode of Java."""
        return crc32(self.text.encode()) - (1 << 31)

    def toString(self) -> str:
        """Object.toString of Java."""
        return self.text


def answers(*declared: str) -> Callable[[_Method], _Method]:
    """Return a decorator of methods that Spark calls: errors become exceptions of the JVM.

    declared: names of the checked exceptions of the interface's method, as for `Jvm.error`.
    """

    def decorate(method: _Method) -> _Method:
        @wraps(method)
        def call(self: Any, *args: Any) -> Any:
            try:
                return method(self, *args)
            except Exception as error:
                # A rename raises TableAlreadyExists for the new name.
                about = (
                    args[1]
                    if method.__name__ == "renameTable" and isinstance(error, errors.TableAlreadyExists)
                    else None
                )
                raised = self.jvm.error(error, declared, args[0] if about is None and args else about)
                if raised is error:
                    raise
                raise raised from error

        return call  # type: ignore[return-value]

    return decorate


class Unmeasured:
    """Base class of objects without metrics that Spark asks for metrics."""

    jvm: Jvm

    @answers()
    def supportedCustomMetrics(self) -> Any:
        """Scan, Write, TruncatableTable, StagingTableCatalog: no metrics."""
        return self.jvm.array(self.jvm.view.org.apache.spark.sql.connector.metric.CustomMetric, ())

    @answers()
    def reportDriverMetrics(self) -> Any:
        """Scan, Write, TruncatableTable, StagedTable: no metrics."""
        return self.jvm.array(self.jvm.view.org.apache.spark.sql.connector.metric.CustomTaskMetric, ())


def _thrown(exception: Any) -> Exception:
    # The thin client of Spark Connect has no JVM, and may lack py4j.
    from py4j.protocol import Py4JJavaError

    found: Exception = Py4JJavaError("An error of deltaskip", exception)
    return found


def _is_checked(exception: Any) -> bool:
    found = exception.getClass()
    while found is not None:
        if found.getName() in ("java.lang.RuntimeException", "java.lang.Error"):
            return False
        found = found.getSuperclass()
    return True
