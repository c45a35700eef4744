"""The protocol versions from which a table lists its features by name.

# PROTOCOL, Table Features
"""

from __future__ import annotations

FEATURES_READER_VERSION = 3
FEATURES_WRITER_VERSION = 7
