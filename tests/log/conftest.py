"""Fixtures for logs built by hand."""

from pathlib import Path

import pytest

from tests.log.builder import TableBuilder, add


@pytest.fixture
def table(tmp_path: Path) -> TableBuilder:
    """An empty table folder to build a log in."""
    folder = tmp_path / "table"
    folder.mkdir()
    return TableBuilder(folder)


@pytest.fixture
def five(table: TableBuilder) -> TableBuilder:
    """Commits 0 to 4, one file each."""
    for version in range(5):
        table.commit(add(f"f{version}"))
    return table


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that another process may be changing is read again for a tenth of a second, and not for two."""
    monkeypatch.setattr("deltaskip.log.loading._PAUSES_FOR_A_STRAY", 5)
