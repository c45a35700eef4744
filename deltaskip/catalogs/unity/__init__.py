"""Unity Catalog: external tables, and tables whose commits the catalog decides about."""

from deltaskip.catalogs.unity.unity_catalog import UnityCatalog

__all__ = ["UnityCatalog"]
