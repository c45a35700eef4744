"""Row tracking: each row has an id, which it keeps when it is copied, and the version that changed it.

Writers assign ids above the high-water mark in the domain, and update the mark.

# PROTOCOL, Row Tracking
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import Protocol
from deltaskip.features.registry import has_feature, has_tree
from deltaskip.records import dataclass
from deltaskip.schema.mapping import ID_KEY
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import LONG, StructField

ROW_TRACKING_DOMAIN = "delta.rowTracking"

MATERIALIZED_COLUMNS = (TableProperties.row_id_column.name, TableProperties.row_commit_version_column.name)
"""Properties with the names of the columns in which files have row ids and row commit versions."""

# Iceberg's columns _row_id and _last_updated_sequence_number.
_ICEBERG_IDS = (2147483540, 2147483539)


@dataclass(frozen=True, slots=True)
class RowIdColumns:
    """Names of the columns in which rewritten files have the row ids and row commit versions of their rows.

    for_iceberg: Whether files have field ids for these columns.

    # PROTOCOL, Row Tracking, materialized row ids; IcebergCompatV3, which needs the field ids that Iceberg reserves
    """

    row_id: str
    commit_version: str
    for_iceberg: bool = False

    @property
    def fields(self) -> tuple[StructField, StructField]:
        """The columns as fields of a schema."""
        ids = ({ID_KEY: number} if self.for_iceberg else {} for number in _ICEBERG_IDS)
        row_id, commit_version = (
            StructField(name, LONG, metadata=metadata)
            for name, metadata in zip((self.row_id, self.commit_version), ids, strict=True)
        )
        return row_id, commit_version

    def row_id_sql(self, base: str, position: str) -> str:
        """SQL of `stable_row_ids` over the columns with the baseRowId of the file and the position of the row."""
        return f"coalesce({quoted_name(self.row_id)}, {quoted_name(base)} + {quoted_name(position)})"

    def commit_version_sql(self, default: str) -> str:
        """SQL of `stable_commit_versions` over the column with the defaultRowCommitVersion of the file."""
        return f"coalesce({quoted_name(self.commit_version)}, {quoted_name(default)})"


def stable_row_ids(stored: pa.Array, base: pa.Array | pa.Scalar, positions: pa.Array) -> pa.Array:
    """Return the ids of rows: the materialized ids, or else the baseRowId of the file plus the row's position.

    Args:
        stored: int64, the materialized column.
        base: int64, the baseRowId of the file of each row.
        positions: int64, the position of each row in its file.

    # PROTOCOL, Row Tracking, Row IDs
    """
    return pc.coalesce(stored, pc.add(positions, base))


def stable_commit_versions(stored: pa.Array, default: pa.Array | pa.Scalar) -> pa.Array:
    """Return the versions that changed rows: the materialized versions, or else the file's defaultRowCommitVersion.

    # PROTOCOL, Row Tracking, Row Commit Versions
    """
    return pc.coalesce(stored, default)


def tracks_rows(protocol: Protocol, properties: TableProperties) -> bool:
    """Whether writers must assign row ids: also if readers do not use them, but not while they are suspended."""
    return has_feature(protocol, "rowTracking") and not properties.row_tracking_suspended


def row_id_columns(properties: TableProperties, protocol: Protocol | None = None) -> RowIdColumns | None:
    """Return the columns of materialized row ids; None if rows of the table have no stable ids.

    protocol: The table's protocol, for files that are written.
    """
    names = properties.row_id_column, properties.row_commit_version_column
    if not properties.row_tracking or None in names:
        return None
    # RFC Adaptive Metadata, Materialized Row Tracking Columns
    ids = properties.iceberg_compat_v3 or (protocol is not None and has_tree(protocol))
    return RowIdColumns(str(names[0]), str(names[1]), ids)


def with_materialized_columns(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with generated names of the two materialized columns, unless they are set.

    The names cannot collide with the names of other columns, and never change.
    """
    kinds = dict(zip(MATERIALIZED_COLUMNS, ("row-id", "row-commit-version"), strict=True))
    return {**{name: f"_{kind}-col-{uuid4()}" for name, kind in kinds.items()}, **configuration}
