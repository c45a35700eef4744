"""Row tracking: the names of the columns that hold row ids in files that are rewritten.

# PROTOCOL, Row Tracking
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from deltaskip.schema.properties import TableProperties

ROW_TRACKING_DOMAIN = "delta.rowTracking"

MATERIALIZED_COLUMNS = (TableProperties.row_id_column.name, TableProperties.row_commit_version_column.name)
"""Properties that name the columns."""


def with_materialized_columns(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with names that no column has, which then stay for good; names that are set are kept."""
    kinds = dict(zip(MATERIALIZED_COLUMNS, ("row-id", "row-commit-version"), strict=True))
    return {**{name: f"_{kind}-col-{uuid4()}" for name, kind in kinds.items()}, **configuration}
