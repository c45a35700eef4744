"""The files that a scan of a small table keeps."""

from pathlib import Path
from typing import Any

import deltaskip as ds


def kept(table: ds.DeltaTable | Path, where: Any, **options: Any) -> list[str]:
    """Paths that the scan keeps."""
    opened = table if isinstance(table, ds.DeltaTable) else ds.DeltaTable(table)
    found: list[str] = opened.scan(where=where, **options).files()["path"].to_pylist()
    return found
