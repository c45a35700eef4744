"""The protocol versions from which a table lists its features by name.

# PROTOCOL, Table Features
"""

from __future__ import annotations

__all__ = ["FEATURES_READER_VERSION", "FEATURES_WRITER_VERSION"]

FEATURES_READER_VERSION = 3
FEATURES_WRITER_VERSION = 7
