"""The options of a read: the arguments that `DeltaTable.scan` and `DeltaTable.changes` share."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.records import dataclass
from deltaskip.sparkexpr.meaning import SessionMeaning


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The rows and columns that a read returns, and how its predicate is evaluated.

    Attributes:
        where: Predicate in a form that `given_predicate` takes. None matches every row.
        columns: Columns to read. None reads all columns except the hidden ones.
        limit: Maximum number of rows to read; which rows is not defined.
        time_zone: Session time zone for timestamps without a zone in literals and partition values. None means that
            the time zone of partition values is not known; files for which it matters are kept.
        collation_version: Version of the collations that the rows will be compared with. Statistics of other versions
            are not used. None means the version of the running Spark session, else of the installed Spark, else of
            Spark 4.1.
        params: Values of the parameters of SQL text: a mapping for `:name`, a list for `?`. A list as a value stands
            for the values of IN, as in `id IN (:ids)`.
        strict: Whether to raise NotProvable if no part of the predicate can skip a file. Reads the statistics.
        ansi: Whether Spark evaluates the predicate in ANSI mode. If so, constants that fail there are refused; if not,
            they keep every file. None means the mode of the active Spark session, or ANSI mode without a session.
        hidden: Whether to read partition columns that a transform has added, if `columns` is None.
        meaning: How the session that evaluates the predicate understands it. None means as the active Spark session
            does, or as Spark does under its default settings without a session.
    """

    where: object = None
    columns: Sequence[str] | None = None
    limit: int | None = None
    time_zone: str | None = "UTC"
    collation_version: str | None = None
    params: object = None
    strict: bool = False
    ansi: bool | None = None
    hidden: bool = False
    meaning: SessionMeaning | None = None


ALL_ROWS = ReadOptions()
"""Every row, with all columns except the hidden ones."""
