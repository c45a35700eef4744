"""Top-level columns of data files, found by the columns of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import pyarrow as pa

from deltaskip.schema.mapping import MappingMode, field_id, physical_name
from deltaskip.schema.resolve import fold_name
from deltaskip.schema.types import StructField

__all__ = ["FIELD_ID", "NamedColumns"]

FIELD_ID = b"PARQUET:field_id"
"""The key of the field id in the metadata of an Arrow field."""


class NamedColumns:
    """The columns of files of one schema.

    Args:
        schema: The Arrow schema of the files, whose names are unique.
        mode: The column mapping mode of the table.
    """

    def __init__(self, schema: pa.Schema, mode: MappingMode) -> None:
        self._schema = schema
        self._names = frozenset(schema.names)
        self._mode = mode

    def of(self, field: StructField) -> str | None:
        """Return the name of a table's column in the files; None if they lack it."""
        if self._mode == "id":
            return self._by_id.get(str(field_id(field)).encode())
        name = physical_name(field, self._mode)
        if name in self._names:
            return name
        # Spark finds columns of files in any case.
        found = self._by_folded_name.get(fold_name(name), [])
        return found[0] if len(found) == 1 else None

    @cached_property
    def _by_id(self) -> Mapping[bytes, str]:
        # The first of several with one id.
        return {(each.metadata or {}).get(FIELD_ID, b""): each.name for each in reversed(list(self._schema))}

    @cached_property
    def _by_folded_name(self) -> Mapping[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._schema.names:
            found[fold_name(name)].append(name)
        return found
