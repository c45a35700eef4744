"""Columns of the change data feed.

# PROTOCOL, Change Data Files: files have `_change_type`; readers add the other two columns.
"""

from __future__ import annotations

from deltaskip.sparkexpr.types import LONG, PHYSICAL_NAME_KEY, STRING, TIMESTAMP, DataType, StructField

CHANGE_FOLDER = "_change_data"
"""The folder of change data files, below the table's root."""

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"


def _field(name: str, data_type: DataType) -> StructField:
    # The column of the change type has the same name in change data files under every column mapping mode.
    return StructField(name, data_type, True, {PHYSICAL_NAME_KEY: name})


FEED_FIELDS = (_field(CHANGE_TYPE, STRING), _field(COMMIT_VERSION, LONG), _field(COMMIT_TIMESTAMP, TIMESTAMP))
FEED_NAMES = tuple(field.name for field in FEED_FIELDS)
