"""Schemas of Delta tables: column mapping and table properties."""

from deltaskip.schema.mapping import field_id, mapping_mode, physical_schema

__all__ = ["field_id", "mapping_mode", "physical_schema"]
