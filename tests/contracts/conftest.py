"""The session of the tests of Spark."""

from tests.spark.conftest import spark

__all__ = ["spark"]
