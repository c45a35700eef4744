"""Fixtures that every room's tests use."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from deltaskip import engine
from tests import corpus, not_compared

# The time of an example depends on the machine's load, so a limit on it fails tests for no fault of the code.
settings.register_profile("deltaskip", settings(), deadline=None)
settings.load_profile("deltaskip")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared facts and tables beside the repository; the test is skipped where it is absent."""
    if not corpus.present():
        pytest.skip(corpus.ABSENT)
    return corpus.SHARED


@pytest.fixture(autouse=True)
def without_look_ups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transactions do not look up the files that they add, which most tests never write; see the mark data_files."""
    if request.node.get_closest_marker("data_files") is None:
        monkeypatch.setattr("deltaskip.txn.transaction.check_data_files", lambda candidate: None)


@pytest.fixture
def no_pyspark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PySpark cannot be imported, and no engine is loaded."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "deltaskip.spark.engine", raising=False)
    engine._loaded.cache_clear()
    yield
    engine._loaded.cache_clear()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say before the closing line what the run could not compare with, and how to get it."""
    lines = not_compared.not_compared()
    if lines:
        terminalreporter.section("not compared")
    for line in lines:
        terminalreporter.write_line(f"not compared with {line}")
