"""deltaskip: which files of a Delta table can contain rows that match a predicate, read just those through Spark."""

from deltaskip.actions import (
    AddCdcFile,
    AddFile,
    CommitInfo,
    DeletionVectorDescriptor,
    Format,
    Metadata,
    Protocol,
    RemoveFile,
    Sidecar,
)
from deltaskip.collations.collation import Collation
from deltaskip.collations.identifier import CollationId
from deltaskip.collations.libraries import register_icu
from deltaskip.collations.registry import AvailableCollations, available_collations, collation
from deltaskip.errors import (
    ChecksumWarning,
    CollationUnavailable,
    CollationWarning,
    CommitConflict,
    CorruptDeletionVector,
    CorruptLog,
    DataFileMissing,
    DeltaSkipError,
    InvalidArgument,
    InvalidArgumentType,
    InvalidCollation,
    InvalidCommit,
    MaintenanceWarning,
    NotProvable,
    PredicateError,
    PredicateWarning,
    RowViolation,
    SchemaError,
    SparkUnavailable,
    StatisticsWarning,
    StorageError,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
)
from deltaskip.expr.column import ColumnExpr, col, lit
from deltaskip.log.checkpoint.written import WrittenCheckpoint
from deltaskip.log.history import History, HistoryEntry
from deltaskip.schema.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    UnknownType,
)
from deltaskip.skipping.explain.report import Branch, Explain, LeafReport
from deltaskip.skipping.scan import Scan
from deltaskip.stats.coverage import Advice, ColumnCoverage, TableCoverage
from deltaskip.table.collations import CollatedColumn
from deltaskip.table.detail import LogDetail, TableDetail
from deltaskip.table.table import DeltaTable
from deltaskip.txn.recompute.recomputed import ColumnPlan, Recomputed, RecomputePlan
from deltaskip.txn.result import WriteResult

__version__ = "0.2.0"

__all__ = [
    "AddCdcFile",
    "AddFile",
    "Advice",
    "ArrayType",
    "AvailableCollations",
    "Branch",
    "ChecksumWarning",
    "CollatedColumn",
    "Collation",
    "CollationId",
    "CollationUnavailable",
    "CollationWarning",
    "ColumnCoverage",
    "ColumnExpr",
    "ColumnPlan",
    "CommitConflict",
    "CommitInfo",
    "CorruptDeletionVector",
    "CorruptLog",
    "DataFileMissing",
    "DataType",
    "DecimalType",
    "DeletionVectorDescriptor",
    "DeltaSkipError",
    "DeltaTable",
    "Explain",
    "Format",
    "History",
    "HistoryEntry",
    "InvalidArgument",
    "InvalidArgumentType",
    "InvalidCollation",
    "InvalidCommit",
    "LeafReport",
    "LogDetail",
    "MaintenanceWarning",
    "MapType",
    "Metadata",
    "NotProvable",
    "PredicateError",
    "PredicateWarning",
    "PrimitiveType",
    "Protocol",
    "RecomputePlan",
    "Recomputed",
    "RemoveFile",
    "RowViolation",
    "Scan",
    "SchemaError",
    "Sidecar",
    "SparkUnavailable",
    "StatisticsWarning",
    "StorageError",
    "StructField",
    "StructType",
    "TableCoverage",
    "TableDetail",
    "TableExists",
    "TableNotFound",
    "UnknownType",
    "UnsupportedFeature",
    "VersionNotFound",
    "WriteResult",
    "WrittenCheckpoint",
    "__version__",
    "available_collations",
    "col",
    "collation",
    "lit",
    "register_icu",
]
