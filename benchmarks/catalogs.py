"""Catalogs with many tables: listing them, and loading one beside opening it by its path."""

from __future__ import annotations

import tempfile

import deltaskip as ds
from benchmarks.sizes import sized

TABLES = sized(10_000, 20)
KINDS = ("warehouse", "SQLite")
URLS = {"warehouse": "warehouse:{folder}/warehouse", "SQLite": "sql:sqlite:///{folder}/catalog.db"}


class Catalogs:
    """A namespace with tables, and as many namespaces."""

    timeout = 1800
    params = (KINDS,)
    param_names = ("kind",)

    def setup_cache(self) -> str:
        folder = tempfile.mkdtemp(prefix="deltaskip-catalogs-")
        for url in URLS.values():
            catalog = ds.catalog(url.format(folder=folder))
            catalog.create_namespace("db")
            for i in range(TABLES):
                catalog.create_table(f"db.t{i}", "id BIGINT")
                catalog.create_namespace(f"n{i}")
        return folder

    def setup(self, folder: str, kind: str) -> None:
        self.catalog = ds.catalog(URLS[kind].format(folder=folder))
        self.uri = self.catalog.load_table("db.t1").uri

    def time_list_tables(self, folder: str, kind: str) -> None:
        assert len(self.catalog.list_tables("db")) == TABLES

    def time_list_namespaces(self, folder: str, kind: str) -> None:
        assert len(self.catalog.list_namespaces()) == TABLES + 1

    def time_show_tables_like(self, folder: str, kind: str) -> None:
        # One table of ten has a 7 at the end.
        assert len(self.catalog.sql(None, "SHOW TABLES IN db LIKE '*7'")) == TABLES // 10

    def time_load_table(self, folder: str, kind: str) -> None:
        self.catalog.load_table("db.t1")

    def time_open_by_path(self, folder: str, kind: str) -> None:
        ds.DeltaTable(self.uri)
