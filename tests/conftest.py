"""Fixtures that every room's tests use."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deltaskip import engine
from tests import corpus


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared facts and tables beside the repository; the test is skipped where it is absent."""
    if not corpus.present():
        pytest.skip(corpus.ABSENT)
    return corpus.SHARED


@pytest.fixture
def no_pyspark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PySpark cannot be imported, and no engine is loaded."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "deltaskip.spark.engine", raising=False)
    engine._loaded.cache_clear()
    yield
    engine._loaded.cache_clear()
