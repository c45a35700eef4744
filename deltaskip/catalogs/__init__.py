"""Catalogs: tables and namespaces by name, in a warehouse folder, a database, a Spark session or Unity Catalog.

# SPIP Spark API for Table Metadata
"""

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.open_catalog import InstalledCatalog, catalog, install_catalog
from deltaskip.catalogs.staged import StagedTable
from deltaskip.catalogs.table_catalog import NamespaceDescription, TableCatalog, TransactionalTableCatalog
from deltaskip.data_files.sort_order import SortOrder

__all__ = [
    "CatalogIdentifier", "InstalledCatalog", "NamespaceDescription", "SortOrder", "StagedTable", "TableCatalog",
    "TransactionalTableCatalog", "catalog", "install_catalog",
]  # fmt: skip
