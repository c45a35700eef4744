"""Databases for catalogs: a new SQLite file, or a new database in a Postgres server."""

from pathlib import Path

import pytest

from deltaskip.catalogs.database import SqlCatalog

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed: pip install -e '.[test]'")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/catalog.db"
    return str(request.getfixturevalue("postgres_server").url())


@pytest.fixture
def catalog(url: str, tmp_path: Path) -> SqlCatalog:
    """A catalog in an empty database, with the namespace `db`."""
    made = SqlCatalog(url, tmp_path / "warehouse")
    made.create_namespace("db")
    return made
