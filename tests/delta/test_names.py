"""Names of delta-spark's package beside the class DeltaTable, which need no session."""

import sys
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pyspark.sql")

import pyspark.errors.exceptions.captured as captured
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import deltaskip as ds
from deltaskip import delta, errors
from deltaskip.delta import connect, exceptions, tables
from deltaskip.delta.connect import exceptions as connect_exceptions
from deltaskip.delta.connect import tables as connect_tables
from deltaskip.delta.spark_errors import converted_conflict

pytestmark = pytest.mark.spark

CONFLICTS = [name for name in exceptions.__all__ if name.endswith("Exception")]


class JavaError:
    """What py4j gives for an exception of the JVM, as far as its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def toString(self) -> str:
        return self.text


def test_the_package_has_the_names_of_delta_spark_s() -> None:
    assert delta.DeltaTable is tables.DeltaTable is connect.DeltaTable
    assert delta.__version__ == ds.__version__
    for name in tables.__all__:
        assert getattr(connect_tables, name) is getattr(tables, name)
    assert len(CONFLICTS) == 8
    for name in CONFLICTS:
        assert getattr(connect_exceptions, name) is getattr(exceptions, name)


def test_a_builder_of_sessions_gets_no_jar_of_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = SparkSession.Builder()
    monkeypatch.setattr(builder, "_options", {})
    assert delta.configure_spark_with_delta_pip(builder) is builder
    assert builder._options == {}
    assert delta.configure_spark_with_delta_pip(builder, extra_packages=["a:b:1", "c:d:2"]) is builder
    assert builder._options == {"spark.jars.packages": "a:b:1,c:d:2"}
    wrong: Any = 1
    with pytest.raises(TypeError, match="must be a builder of sessions"):
        delta.configure_spark_with_delta_pip(wrong)


@pytest.mark.parametrize("name", CONFLICTS)
def test_conflicts_of_delta_spark_in_the_jvm_have_these_classes(name: str) -> None:
    found: Any = captured.convert_exception(JavaError(f"io.delta.exceptions.{name}: two: writers"))
    assert type(found) is getattr(exceptions, name)
    assert isinstance(found, errors.CommitConflict)
    assert isinstance(found, PySparkException)
    assert (str(found), found.desc) == ("two: writers", "two: writers")


def test_other_errors_of_the_jvm_and_those_of_delta_spark_s_package_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("java.lang.RuntimeException: x", "io.delta.exceptions.Other: x", "x"):
        assert converted_conflict(text) is None
    monkeypatch.setitem(sys.modules, "delta.exceptions", ModuleType("delta.exceptions"))
    monkeypatch.setattr("pyspark.SparkContext._jvm", None)
    with pytest.raises(AssertionError):
        captured.convert_exception(JavaError("io.delta.exceptions.ConcurrentAppendException: x"))


def test_a_generator_of_identity_values_can_be_changed_as_delta_spark_s() -> None:
    generator = delta.IdentityGenerator()
    generator.start = 5
    assert generator == delta.IdentityGenerator(5, 1)
