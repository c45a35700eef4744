"""Table features: their registry, their requirements for readers and writers, and their enabling."""

from deltaskip.features.registry import FEATURES, TableFeature, has_feature, support_table
from deltaskip.features.support_checks import CommitSummary, check_maintainable, check_readable, check_writable

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
