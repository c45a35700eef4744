"""Columns of the change data feed.

# PROTOCOL, Change Data Files: files have `_change_type`; readers add the other two columns.
"""

from __future__ import annotations

from deltaskip.sparkexpr import types as t

CHANGE_FOLDER = "_change_data"
"""The folder of change data files, below the table's root."""

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"


def _field(name: str, data_type: t.DataType) -> t.StructField:
    # The column of the change type has the same name in change data files under every column mapping mode.
    return t.StructField(name, data_type, True, {t.PHYSICAL_NAME_KEY: name})


FEED_FIELDS = (_field(CHANGE_TYPE, t.STRING), _field(COMMIT_VERSION, t.LONG), _field(COMMIT_TIMESTAMP, t.TIMESTAMP))
FEED_NAMES = tuple(field.name for field in FEED_FIELDS)
