"""Fixtures that every room's tests use."""

from pathlib import Path

import pytest

from tests import corpus


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared facts and tables beside the repository; the test is skipped where it is absent."""
    if not corpus.present():
        pytest.skip(corpus.ABSENT)
    return corpus.SHARED
