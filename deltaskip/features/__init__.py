"""The registry of table features."""

from deltaskip.features.registry import (
    FEATURES,
    TableFeature,
    check_readable,
    has_feature,
    support_table,
)

__all__ = ["FEATURES", "TableFeature", "check_readable", "has_feature", "support_table"]
