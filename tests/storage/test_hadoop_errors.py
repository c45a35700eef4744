"""Errors of Hadoop as py4j raises them, and as PySpark converts them. Needs neither."""

from __future__ import annotations

from typing import Any

import pytest

from deltaskip.errors import StorageError
from deltaskip.storage.hadoop_errors import naming


class JavaThrowable:
    """An exception of the JVM."""

    def __init__(self, name: str, message: str | None = None, cause: JavaThrowable | None = None) -> None:
        self.name, self.message, self.cause = name, message, cause

    def getClass(self) -> JavaThrowable:
        return self

    def getName(self) -> str:
        return self.name

    def getMessage(self) -> str | None:
        return self.message

    def getCause(self) -> JavaThrowable | None:
        return self.cause


class Py4JJavaError(Exception):
    """As py4j raises it."""

    def __init__(self, java: JavaThrowable) -> None:
        super().__init__("An error occurred\n\tat java")
        self.java_exception = java


class CapturedException(Exception):
    """As PySpark raises it, with a stack trace in its text."""

    def __init__(self, java: JavaThrowable) -> None:
        super().__init__("text\n\tat java")
        self._origin = java


Py4JJavaError.__module__ = "py4j.protocol"
CapturedException.__module__ = "pyspark.errors.exceptions.captured"

HOST = JavaThrowable("java.net.UnknownHostException", "nohost")
ERRORS: list[tuple[JavaThrowable, type[Exception], str]] = [
    (JavaThrowable("java.lang.IllegalArgumentException", "java.net.UnknownHostException: nohost", HOST),
     StorageError, r"Cannot read hdfs://nohost/t: nohost; check that its name node runs"),
    (JavaThrowable("java.lang.IllegalArgumentException", "Wrong FS: x, expected: y"),
     StorageError, "IllegalArgumentException: Wrong FS"),
    (JavaThrowable("java.lang.RuntimeException", "wrapped", JavaThrowable("java.io.FileNotFoundException", "gone")),
     FileNotFoundError, "hdfs://nohost/t"),
    (JavaThrowable("java.io.IOException", "Filesystem closed"), StorageError, "its file system was closed"),
]  # fmt: skip


@pytest.mark.parametrize("raised", [Py4JJavaError, CapturedException])
@pytest.mark.parametrize(("java", "kind", "message"), ERRORS, ids=[java.name for java, _, _ in ERRORS])
def test_errors_of_the_jvm_become_errors_with_the_location(
    raised: Any, java: JavaThrowable, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message), naming("hdfs://nohost/t"):
        raise raised(java)


def test_an_error_of_pyspark_without_an_exception_of_the_jvm_is_a_lost_session() -> None:
    error = CapturedException(HOST)
    error._origin = None  # type: ignore[assignment]
    with pytest.raises(StorageError, match="does not respond"), naming("hdfs://nohost/t"):
        raise error


def test_errors_of_other_packages_stay_as_they_are() -> None:
    with pytest.raises(KeyError), naming("hdfs://nohost/t"):
        raise KeyError("x")
