"""The columns that the change data feed adds to those of the table.

# PROTOCOL, Change Data Files
"""

from __future__ import annotations

from dataclasses import replace

from deltaskip.actions import Metadata
from deltaskip.errors import SchemaError
from deltaskip.log import Snapshot
from deltaskip.schema.json import schema_to_json
from deltaskip.schema.mapping import PHYSICAL_NAME_KEY
from deltaskip.schema.types import LONG, STRING, TIMESTAMP, DataType, StructField, StructType

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"


def _field(name: str, data_type: DataType) -> StructField:
    # Change files name the column of the change type the same under every column mapping mode.
    return StructField(name, data_type, True, {PHYSICAL_NAME_KEY: name})


FEED_FIELDS = (_field(CHANGE_TYPE, STRING), _field(COMMIT_VERSION, LONG), _field(COMMIT_TIMESTAMP, TIMESTAMP))
FEED_NAMES = tuple(field.name for field in FEED_FIELDS)


def feed_metadata(snapshot: Snapshot) -> Metadata:
    """Return the snapshot's metadata with the columns of the feed behind those of the table.

    Raises SchemaError if the table has a column of such a name.
    """
    for field in snapshot.schema.fields:
        if field.name.lower() in FEED_NAMES:
            raise SchemaError(
                f"Version {snapshot.version} of {snapshot.root} has a column {field.name!r}, which is the name of a "
                f"column of the change data feed: rename the column to read the feed."
            )
    schema = StructType((*snapshot.schema.fields, *FEED_FIELDS))
    return replace(snapshot.metadata, schema_string=schema_to_json(schema))
