"""Conflicts of concurrent writers by delta-spark's names. Each is a CommitConflict and a PySpark error."""

from __future__ import annotations

from pyspark.errors import PySparkException

from deltaskip.errors import CommitConflict

__all__ = [
    "KINDS",
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "DeltaConcurrentModificationException",
    "MetadataChangedException",
    "ProtocolChangedException",
    "conflict_class",
]


class DeltaConcurrentModificationException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer committed a conflicting change for which no other class exists."""


class ConcurrentWriteException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer added the same file."""


class MetadataChangedException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer changed the table's metadata."""


class ProtocolChangedException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer changed the table's protocol."""


class ConcurrentAppendException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer added rows that this operation would have read."""


class ConcurrentDeleteReadException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer removed a file that this operation read."""


class ConcurrentDeleteDeleteException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer removed a file that this operation removes."""


class ConcurrentTransactionException(CommitConflict, PySparkException):  # type: ignore[misc]
    """Another writer committed a version of the same application."""


_BY_KIND: dict[str, type[CommitConflict]] = {
    "protocol": ProtocolChangedException,
    "metadata": MetadataChangedException,
    "append": ConcurrentAppendException,
    "delete-read": ConcurrentDeleteReadException,
    "delete-delete": ConcurrentDeleteDeleteException,
    "add-add": ConcurrentWriteException,
    "transaction": ConcurrentTransactionException,
}


KINDS = {cls.__name__: kind for kind, cls in _BY_KIND.items()} | {DeltaConcurrentModificationException.__name__: "busy"}
"""Kinds of CommitConflict by the names of the classes."""


def conflict_class(kind: str) -> type[CommitConflict]:
    """Return the class for a kind of CommitConflict."""
    return _BY_KIND.get(kind, DeltaConcurrentModificationException)
