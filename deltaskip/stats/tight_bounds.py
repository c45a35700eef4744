"""Tight and wide bounds: when `tightBounds` is written, and how it is read.

# PROTOCOL, Per-file Statistics: wide bounds and null counts may include deleted rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import Protocol
from deltaskip.schema.properties import TableProperties

TIGHT_BOUNDS = "tightBounds"
_FEATURE = "deletionVectors"


def writes_tight_bounds(protocol: Protocol | None, properties: Mapping[str, str], has_vectors: bool = False) -> bool:
    """Return whether computed statistics contain `tightBounds`: if the table supports deletion vectors.

    The protocol decides, as in delta-spark 4.4. If it is unknown (None), delta.enableDeletionVectors and deletion
    vectors of the files themselves (`has_vectors`) imply that the table supports them.
    """
    if protocol is not None:
        return _FEATURE in (protocol.reader_features or ()) or _FEATURE in (protocol.writer_features or ())
    return has_vectors or TableProperties(properties).deletion_vectors


def is_wide(stats: Mapping[str, Any]) -> bool:
    """Return whether a file's parsed statistics declare their bounds wide."""
    return stats.get(TIGHT_BOUNDS) is False


def are_tight(recorded: pa.BooleanArray, vectors: pa.StructArray) -> pa.BooleanArray:
    """Return whether each file's bounds are tight: as recorded, else if the file has no deletion vector.

    # PROTOCOL, Per-file Statistics: an absent tightBounds is true. Here it is not, for a file with a deletion
    # vector, whose bounds may come from deleted rows.
    """
    return pc.coalesce(recorded, pc.is_null(vectors))
