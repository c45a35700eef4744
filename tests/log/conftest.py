"""Fixtures for logs built by hand."""

from pathlib import Path

import pytest

from tests.log.builder import TableBuilder


@pytest.fixture
def table(tmp_path: Path) -> TableBuilder:
    """An empty table folder to build a log in."""
    folder = tmp_path / "table"
    folder.mkdir()
    return TableBuilder(folder)
