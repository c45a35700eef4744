"""The journal of this process: the predicates and orders that tables were asked, for `DeltaTable.advise`.

`deltaskip.options.journal` names a local file, to which each scan adds a line of JSON when it is first planned:
`table`, `version`, `at` (milliseconds since the epoch), `where` (SQL text; null for every row), and for the first rows
of an order `by` and `limit`. Conditions of joins are part of `where`. The lines contain the values of predicates, so
that only the user of the process may read a file that is made here.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from deltaskip.errors import InvalidArgument, MaintenanceWarning
from deltaskip.json_text import parse_json
from deltaskip.path_bytes import encoded
from deltaskip.records import dataclass
from deltaskip.redaction import redacted
from deltaskip.settings import options
from deltaskip.sparkexpr import to_sql
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.warning import warn

if TYPE_CHECKING:
    from deltaskip.skipping.log_scan import LogScan

# A line is appended by one write. Longer ones have lists of keys that nobody reads.
_LONGEST = 1 << 16
_paused: ContextVar[bool] = ContextVar("paused", default=False)


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A question that a table was asked.

    Attributes:
        where: The predicate, as `DeltaTable.scan` takes it; None for every row.
        by: The order whose first rows were asked for, as SQL texts; empty for all rows.
        limit: The number of these rows.
        times: How often it was asked.
    """

    where: object
    by: tuple[str, ...] = ()
    limit: int | None = None
    times: int = 1


@contextmanager
def paused() -> Iterator[None]:
    """Return a context in which scans of this thread are not noted."""
    before = _paused.set(True)
    try:
        yield
    finally:
        _paused.reset(before)


def note(scan: LogScan) -> None:
    """Add a line about a scan to the journal. A journal that cannot be written is a warning."""
    if _paused.get():
        return
    asked = scan.asked
    line = {
        "table": redacted(scan.snapshot.table_root),
        "version": scan.snapshot.version,
        "at": current_ms(),
        "where": None if asked is None else to_sql(asked),
    }
    if scan.order:
        line |= {"by": [str(term) for term in scan.order], "limit": scan.limit}
    data = f"{json.dumps(line, ensure_ascii=False)}\n".encode("utf-8", "backslashreplace")
    if len(data) > _LONGEST:
        return
    try:
        opened = os.open(encoded(options.journal), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(opened, data)
        finally:
            os.close(opened)
    except (OSError, ValueError) as error:
        warn(
            f"The journal {options.journal} cannot be written: {error}; set deltaskip.options.journal.",
            MaintenanceWarning,
        )


def noted(table_root: str) -> Sequence[TableQuery]:
    """Return what a table was asked, each question once. Lines that cannot be read are left out.

    Raises InvalidArgument if there is no journal, or no line of it is about the table.
    """
    path = options.journal
    if not path:
        raise InvalidArgument(
            f"There are no queries for {table_root}: pass queries, or set deltaskip.options.journal to a local file, "
            f"in which scans note their predicates."
        )
    try:
        with open(encoded(path), encoding="utf-8", errors="replace") as lines:
            found = Counter(query for line in lines if (query := _query(line, redacted(table_root))) is not None)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"The journal {path} cannot be read: {error}.") from error
    if not found:
        raise InvalidArgument(f"The journal {path} has no queries of {table_root}: pass queries.")
    return [TableQuery(*query, times) for query, times in found.items()]


def _query(line: str, table: str) -> tuple[str | None, tuple[str, ...], int | None] | None:
    try:
        found = parse_json(line)
        if not isinstance(found, dict) or found["table"] != table:
            return None
        where, by, limit = found["where"], found.get("by", []), found.get("limit")
    except (ValueError, LookupError):
        return None
    known = isinstance(where, str | None) and isinstance(by, list) and isinstance(limit, int | None)
    return (where, tuple(map(str, by)), limit) if known else None
