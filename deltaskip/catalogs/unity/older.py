"""External tables in the API of servers without the Delta API.

# Unity Catalog, api/all.yaml, CreateTable
"""

from __future__ import annotations

import json
from typing import Any

from deltaskip.catalogs.unity.models import TableName
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.schema.json import simple_string

_TYPE_NAMES = {
    "boolean": "BOOLEAN", "byte": "BYTE", "short": "SHORT", "integer": "INT", "long": "LONG", "float": "FLOAT",
    "double": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ntz": "TIMESTAMP_NTZ",
    "string": "STRING", "binary": "BINARY", "variant": "VARIANT", "void": "NULL", "array": "ARRAY", "map": "MAP",
    "struct": "STRUCT",
}  # fmt: skip


def external_request(name: TableName, table: Snapshot, location: str) -> dict[str, Any]:
    """Return the request that registers an external table."""
    request: dict[str, Any] = {
        "name": name.table,
        "catalog_name": name.catalog,
        "schema_name": name.schema,
        "table_type": "EXTERNAL",
        "data_source_format": "DELTA",
        "storage_location": location,
        "properties": dict(table.properties),
        "columns": _columns(table),
    }
    if table.metadata.description is not None:
        request["comment"] = table.metadata.description
    return request


def _columns(table: Snapshot) -> list[dict[str, Any]]:
    fields = parse_json(table.metadata.schema_string or '{"fields": []}')["fields"]
    found = []
    for position, (field, typed) in enumerate(zip(fields, table.schema.fields, strict=True)):
        kind = field["type"] if isinstance(field["type"], str) else field["type"]["type"]
        column = {
            "name": field["name"],
            "type_text": simple_string(typed.type, typed),
            "type_json": json.dumps(field, ensure_ascii=False, separators=(",", ":")),
            "type_name": "DECIMAL" if kind.startswith("decimal") else _TYPE_NAMES.get(kind, "STRING"),
            "position": position,
            "nullable": bool(field.get("nullable", True)),
        }
        if kind.startswith("decimal("):
            precision, scale = kind.removeprefix("decimal(").rstrip(")").split(",")
            column |= {"type_precision": int(precision), "type_scale": int(scale)}
        if isinstance(field.get("metadata", {}).get("comment"), str):
            column["comment"] = field["metadata"]["comment"]
        if field["name"] in table.partition_columns:
            column["partition_index"] = table.partition_columns.index(field["name"])
        found.append(column)
    return found
