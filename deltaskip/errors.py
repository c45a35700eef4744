"""Exceptions and warnings of deltaskip.

Every exception derives from `DeltaSkipError` and from one builtin exception, so `except ValueError` or `except
FileNotFoundError` work as well. A message has the problem and the solution; it names the table or the argument, and
for a scan the version.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

__all__ = [
    "AmbiguousMerge", "CatalogError", "ChecksumWarning", "CollationUnavailable", "CollationWarning", "CommitConflict",
    "CorruptDeletionVector", "CorruptLog", "DataFileMissing", "DeltaSkipError", "InvalidArgument",
    "InvalidArgumentType", "InvalidCollation", "InvalidCommit", "MaintenanceWarning", "NamespaceAlreadyExists",
    "NamespaceNotEmpty", "NamespaceNotFound", "NotProvable", "OutOfMemory", "PredicateError", "PredicateWarning",
    "ReadWarning", "RowViolation", "SchemaError", "SparkUnavailable", "StatisticsWarning", "StorageError",
    "TableAlreadyExists", "TableNotFound", "UnexpectedError", "UnsupportedFeature", "VersionNotFound", "WriteWarning",
]  # fmt: skip


class OptionAdvice(str):
    """A part of a message that names an option of the Python interface, which other interfaces word differently.

    Attributes:
        option: The option, or the method or other thing of Python.
        value: The value that it should, or should not, have.

    Args:
        option: The option.
        value: Its value.
        text: The words of the message; by default the option with its value, such as `schema_mode='merge'`.
    """

    option: str
    value: object

    def __new__(cls, option: str, value: object = None, text: str | None = None) -> Self:
        found = super().__new__(cls, f"{option}={value!r}" if text is None else text)
        found.option, found.value = option, value
        return found

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.option, self.value, str(self)


class DeltaSkipError(Exception):
    """Base class of the exceptions of deltaskip."""

    _advice: tuple[OptionAdvice, ...] = ()

    def advising(self, *advice: str) -> Self:
        """Return the error with the advice that its message gives; plain strings are ignored."""
        self._advice = tuple(each for each in advice if isinstance(each, OptionAdvice))
        return self

    def said(self, words: Callable[[OptionAdvice], str | None]) -> str:
        """Return the message in the words of another interface.

        words: Returns the words for an advice of the error or of those that caused it; None for those of Python.
        """
        message, error = str(self), self
        while isinstance(error, DeltaSkipError):
            for each in error._advice:
                message = message.replace(each, words(each) or each)
            error = error.__cause__  # type: ignore[assignment]
        return message


class InvalidArgument(DeltaSkipError, ValueError):
    """An argument has a value that the function does not accept."""


class InvalidArgumentType(DeltaSkipError, TypeError):
    """An argument has a type that the function does not accept."""

    @classmethod
    def of(cls, argument: str, expected: str, value: object) -> "InvalidArgumentType":
        """Return the error for an argument of the wrong type; the message does not contain the value.

        Args:
            argument: Name of the argument.
            expected: The accepted type, with its article, such as `an int`.
            value: The value that was passed.
        """
        return cls(f"{argument} must be {expected}, not {type(value).__name__}.")


class TableNotFound(DeltaSkipError, FileNotFoundError):
    """The path does not contain a Delta log, or the catalog has no table of this name."""


class TableAlreadyExists(DeltaSkipError, FileExistsError):
    """A table already exists at the location, or has this name in the catalog."""


class NamespaceNotFound(DeltaSkipError, LookupError):
    """The catalog has no namespace of this name."""


class NamespaceAlreadyExists(DeltaSkipError, ValueError):
    """The catalog already has a namespace with this name."""


class NamespaceNotEmpty(DeltaSkipError, ValueError):
    """The namespace cannot be dropped, because it contains tables or namespaces."""


class CatalogError(DeltaSkipError, OSError):
    """The database or server of a catalog cannot be reached, or does not answer as expected.

    Attributes:
        unchanged: Whether it is certain that the catalog has changed nothing. False if an answer was lost.
    """

    def __init__(self, message: str, unchanged: bool = False) -> None:
        super().__init__(message)
        self.unchanged = unchanged


class VersionNotFound(DeltaSkipError, LookupError):
    """The version does not exist, or the log files from which it is read were deleted."""


class CorruptLog(DeltaSkipError, ValueError):
    """The log violates the Delta protocol: a missing commit, a damaged file, an incomplete checkpoint."""


class CorruptDeletionVector(CorruptLog):
    """A deletion vector has a wrong size, checksum, magic number or content."""


class SchemaError(DeltaSkipError, ValueError):
    """A schema, data type or column mapping is not valid in the Delta protocol."""


class UnsupportedFeature(DeltaSkipError, RuntimeError):
    """The table requires a protocol version or table feature that deltaskip does not support.

    Attributes:
        needs_session: Whether the operation is possible with a Spark session.
    """

    def __init__(self, message: str, needs_session: bool = False) -> None:
        super().__init__(message)
        self.needs_session = needs_session


class RowViolation(DeltaSkipError, ValueError):
    """A new row violates a rule of the table, or a value of the row does not fit its column.

    Attributes:
        rule: Name of the rule: the name of a CHECK constraint, or a description such as "NOT NULL of id".
        expression: The rule's expression, such as "price > 0".
        row: The row, or None if only the value is known; see `value`.
        column: The column that the rule is about, such as "st.x"; empty for a rule about several columns.
        value: The value that does not fit, as text; None for a violated rule.
    """

    def __init__(
        self,
        message: str,
        rule: str = "",
        expression: str = "",
        row: Mapping[str, Any] | None = None,
        column: str = "",
        value: str | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.expression = expression
        self.row = row
        self.column = column
        self.value = value


class AmbiguousMerge(DeltaSkipError, ValueError):
    """Several rows of a merge's source match one row of the table."""


class PredicateError(DeltaSkipError, ValueError):
    """A predicate or column name cannot be parsed, or does not match the table's schema."""


class NotProvable(PredicateError):
    """The log cannot prove the answer: statistics are missing, or some files only partly match.

    The predicate is valid. Read the rows through Spark instead, or recompute the table's statistics.
    """


class CollationUnavailable(DeltaSkipError, LookupError):
    """This process has no library that implements the exact version of the collation."""


class InvalidCollation(DeltaSkipError, ValueError):
    """The text is not a collation identifier, or its provider does not know the name."""


class CommitConflict(DeltaSkipError, RuntimeError):
    """Another writer committed a change that conflicts with this transaction.

    Attributes:
        kind: Type of the conflict: "protocol", "metadata", "append", "delete-read", "delete-delete", "add-add",
            "transaction", "domain", "cleaned up" or "busy".
        paths: Conflicting files, as logged. The transaction may succeed without them; see `Transaction.leave_out`.
    """

    def __init__(self, message: str, kind: str = "", paths: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.paths = paths


class InvalidCommit(DeltaSkipError, ValueError):
    """The protocol does not allow these actions in one commit, or not on this table.

    Attributes:
        rule: Name of the rule that refused the commit, as in the documentation's table of rules; "" if no rule did,
            such as for a transaction that has ended.
    """

    def __init__(self, message: str, rule: str = "") -> None:
        super().__init__(message)
        self.rule = rule


class DataFileMissing(DeltaSkipError, FileNotFoundError):
    """A data file of the snapshot does not exist in storage."""

    @classmethod
    def of(cls, listing: str, table: str, location: str, cure: str | None = None) -> "DataFileMissing":
        """Return the error for a data file that a version lists.

        Args:
            listing: The source of the path, such as `Version 3` or `The log`.
            table: The location of the table.
            location: The location of the file.
            cure: What to do. The default is to open a newer version or restore the file.
        """
        found = cls(
            f"{listing} of {table} lists the data file {location}, which does not exist; it may have been vacuumed: "
            f"{cure or 'open a newer version or restore the file'}."
        )
        found.location = location
        return found

    location: str | None = None
    """The location of the file, if the log lists it."""


class SparkUnavailable(DeltaSkipError, ImportError):
    """PySpark, or the Java runtime that it requires, is not installed."""


class StorageError(DeltaSkipError, OSError):
    """A storage operation failed: missing permissions, network errors, an unknown URI scheme."""

    _advice = (
        OptionAdvice("storage_options", "in", "in storage_options"),
        OptionAdvice("storage_options", text="storage_options"),
    )


class OutOfMemory(DeltaSkipError, MemoryError):
    """A library below deltaskip does not have enough memory."""


class UnexpectedError(DeltaSkipError, RuntimeError):
    """A library below deltaskip raised an unexpected error, which is `__cause__`."""


class PredicateWarning(UserWarning):
    """A predicate is valid, but probably a mistake: it is never TRUE, or calls a function that Spark lacks."""


class ChecksumWarning(UserWarning):
    """A version checksum (`.crc`) is damaged or contradicts the log; the log was used."""


class StatisticsWarning(UserWarning):
    """Statistics of a file are malformed; they were ignored and the file was kept."""


class CollationWarning(UserWarning):
    """A DataFrame compares strings by their bytes, because Spark does not have the collation of their column."""


class WriteWarning(UserWarning):
    """A write stored values that differ from the given values, a property that Delta ignores, or nothing.

    Nothing is stored if `txn` is too low, or if a merge is dropped before it is executed.
    """


class ReadWarning(UserWarning):
    """Values lose digits in the type in which they are returned, or partition values have the form of one writer."""


class MaintenanceWarning(UserWarning):
    """An operation succeeded, but a follow-up step failed: a checksum, checkpoint, log cleanup or Spark result."""


_SHOWN = 80


def shown(value: object) -> str:
    """Return the repr of a value for a message; long text is cut."""
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}… ({len(value):,} {'characters' if isinstance(value, str) else 'bytes'})"
    return repr(value)


@contextmanager
def advice_in(words: Mapping[tuple[str, object], str]) -> Iterator[None]:
    """Within the block, errors give their advice in the words of another interface.

    words: The words for an option and its value.
    """
    try:
        yield
    except DeltaSkipError as error:
        if error.args and isinstance(error.args[0], str):
            error.args = (error.said(lambda advice: words.get((advice.option, advice.value))), *error.args[1:])
        raise


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name with the most similar spelling, in any letter case; None if no name is similar."""
    # Only a message needs this import.
    from difflib import get_close_matches

    by_key = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), list(by_key), 1, cutoff)
    return by_key[near[0]] if near else None


def meant(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return " Did you mean X?" for an unknown name, or "" if no known name is close."""
    near = nearest(name, known, cutoff)
    return "" if near is None else f" Did you mean {near}?"
