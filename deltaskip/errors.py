"""Every error deltaskip raises: one root, and a builtin second base for each leaf.

A message is one sentence that names the table (or the text at fault), the version where there is one, and what to do.
"""

__all__ = [
    "CollationUnavailable",
    "CommitConflict",
    "CorruptDeletionVector",
    "CorruptLog",
    "DataFileMissing",
    "DeltaSkipError",
    "InvalidArgument",
    "InvalidArgumentType",
    "InvalidCollation",
    "InvalidCommit",
    "NotProvable",
    "PredicateError",
    "SchemaError",
    "SparkUnavailable",
    "StorageError",
    "TableNotFound",
    "UnsupportedFeature",
    "VersionNotFound",
]


class DeltaSkipError(Exception):
    """Root of every error that this package raises on purpose."""


class InvalidArgument(DeltaSkipError, ValueError):
    """An argument has a value that the function does not accept."""


class InvalidArgumentType(DeltaSkipError, TypeError):
    """An argument has a type that the function does not accept."""


class TableNotFound(DeltaSkipError, FileNotFoundError):
    """There is no Delta log at the path."""


class VersionNotFound(DeltaSkipError, LookupError):
    """The table has no such version, or no longer the files to rebuild it."""


class CorruptLog(DeltaSkipError, ValueError):
    """The log breaks the protocol: a gap, a damaged file, a missing part."""


class CorruptDeletionVector(CorruptLog):
    """A deletion vector has the wrong size, checksum, magic number or contents."""


class SchemaError(DeltaSkipError, ValueError):
    """A schema, type or column mapping that the protocol does not allow."""


class UnsupportedFeature(DeltaSkipError, RuntimeError):
    """The table needs a protocol version or table feature that is not supported here."""


class PredicateError(DeltaSkipError, ValueError):
    """A predicate that cannot be parsed or does not fit the table's schema."""


class NotProvable(PredicateError):
    """The log cannot prove the answer: statistics are missing, or some files only partly match.

    The predicate itself is valid. Read the rows through Spark instead, or recompute the table's statistics.
    """


class CollationUnavailable(DeltaSkipError, LookupError):
    """No library of the collation's exact version is in this process."""


class InvalidCollation(DeltaSkipError, ValueError):
    """A text that is no collation identifier, or no name that its provider knows."""


class CommitConflict(DeltaSkipError, RuntimeError):
    """Another writer committed something that this transaction depends on.

    kind: what met: "protocol", "metadata", "append", "delete-read", "delete-delete", "add-add", "transaction",
    "domain", "cleaned up" or "busy". paths: files at fault, as logged; a transaction without them may succeed.
    """

    def __init__(self, message: str, kind: str = "", paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.paths = paths


class InvalidCommit(DeltaSkipError, ValueError):
    """Actions that the protocol does not allow in one commit, or not on this table."""


class DataFileMissing(DeltaSkipError, FileNotFoundError):
    """The snapshot names a data file that storage does not hold."""


class SparkUnavailable(DeltaSkipError, ImportError):
    """PySpark or the Java that it needs is not installed."""

    @classmethod
    def without_pyspark(cls, act: str) -> "SparkUnavailable":
        """That `act`, the beginning of a sentence, needs pyspark."""
        return cls(f"{act} needs pyspark, which is not installed: run pip install 'deltaskip[spark]'.")


class StorageError(DeltaSkipError, OSError):
    """Storage refused or failed: permissions, network, an unknown scheme."""
