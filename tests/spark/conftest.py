"""Settings of the session for tests of Spark."""

from __future__ import annotations

import pytest


@pytest.fixture
def found_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Spark jobs find the rows that match a predicate and copy others, although there is little to read."""
    monkeypatch.setattr("deltaskip.settings.options.spark_jobs", "always")
