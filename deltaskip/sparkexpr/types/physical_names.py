"""The names that fields have in data files: those of the schema, or others by a table's column mapping."""

from __future__ import annotations

from typing import Literal

from deltaskip.errors import SchemaError
from deltaskip.sparkexpr.types.data_types import PHYSICAL_NAME_KEY, StructField

MappingMode = Literal["none", "name", "id"]
"""How fields are found in data files: by their names, by other names, or by numbers."""


def physical_name(field: StructField, mode: MappingMode) -> str:
    """Return the name of `field` in data files, statistics and partition values.

    Raises SchemaError if the mode requires a physical name and the field has none.
    """
    if mode == "none":
        return field.name
    name = field.metadata.get(PHYSICAL_NAME_KEY)
    if not isinstance(name, str) or not name:
        raise SchemaError(
            f"Column {field.name!r} has no {PHYSICAL_NAME_KEY} in its metadata although the table's column mapping "
            f"mode is {mode!r}; the schema in the log is damaged."
        )
    return name
