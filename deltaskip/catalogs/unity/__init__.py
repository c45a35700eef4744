"""Unity Catalog: external tables, and managed tables, whose commits the catalog ratifies."""

from deltaskip.catalogs.unity.unity_catalog import UnityCatalog

__all__ = ["UnityCatalog"]
