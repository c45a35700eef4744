"""deltaskip: which files of a Delta table can hold rows that match a predicate, read just those through Spark."""

from deltaskip.collations.call import collation
from deltaskip.collations.collation import Collation
from deltaskip.collations.libraries import register_icu
from deltaskip.collations.registry import AvailableCollations, available_collations
from deltaskip.errors import (
    CollationUnavailable,
    CommitConflict,
    CorruptDeletionVector,
    CorruptLog,
    DataFileMissing,
    DeltaSkipError,
    InvalidArgument,
    InvalidArgumentType,
    InvalidCollation,
    InvalidCommit,
    NotProvable,
    PredicateError,
    SchemaError,
    SparkUnavailable,
    StorageError,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
)
from deltaskip.expr.column import ColumnExpr, col, lit
from deltaskip.skipping.explain.explain import Explain, LeafReport
from deltaskip.skipping.scan import Scan
from deltaskip.stats.batch import StatisticsWarning
from deltaskip.table.table import DeltaTable

__version__ = "0.1.0"

__all__ = [
    "AvailableCollations",
    "Collation",
    "CollationUnavailable",
    "ColumnExpr",
    "CommitConflict",
    "CorruptDeletionVector",
    "CorruptLog",
    "DataFileMissing",
    "DeltaSkipError",
    "DeltaTable",
    "Explain",
    "InvalidArgument",
    "InvalidArgumentType",
    "InvalidCollation",
    "InvalidCommit",
    "LeafReport",
    "NotProvable",
    "PredicateError",
    "Scan",
    "SchemaError",
    "SparkUnavailable",
    "StatisticsWarning",
    "StorageError",
    "TableNotFound",
    "UnsupportedFeature",
    "VersionNotFound",
    "__version__",
    "available_collations",
    "col",
    "collation",
    "lit",
    "register_icu",
]
