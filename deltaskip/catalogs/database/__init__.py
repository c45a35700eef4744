"""The catalog in a database: SQLite, Postgres and others that SQLAlchemy connects to."""

from deltaskip.catalogs.database.database_catalog import SqlCatalog

__all__ = ["SqlCatalog"]
