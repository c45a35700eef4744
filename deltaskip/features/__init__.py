"""Table features: their registry, and checks of the requirements of a table's protocol."""

from deltaskip.features.registry import FEATURES, TableFeature, check_readable, has_feature, support_table
from deltaskip.features.requirements import CommitSummary, check_maintainable, check_writable

__all__ = [
    "FEATURES",
    "CommitSummary",
    "TableFeature",
    "check_maintainable",
    "check_readable",
    "check_writable",
    "has_feature",
    "support_table",
]
