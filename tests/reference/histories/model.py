"""The model: rows of each version of a table as plain Python, and what every commit must have changed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.reference.histories.columns import Column


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""An identity value that nobody has read yet."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Tracked:
    """What row tracking has for a row; None until it was read."""

    row_id: int | None
    version: int | None


@dataclass(frozen=True)
class State:
    """A version of the table. Rows are never changed in place."""

    columns: tuple[Column, ...]
    rows: Mapping[int, Row]
    tracked: Mapping[int, Tracked]
    properties: Mapping[str, str]
    constraints: Mapping[str, str]


@dataclass
class Change:
    """What an operation did: rows by id.

    Attributes:
        metrics: Metrics that the commit must have.
        net: Whether the feed may show rows as deleted and inserted again that stay as they were.
        operation: What the history calls it, None for anything.
        restored: The state that a restore brought back.
        may_commit_nothing: Whether no commit is right as well.
    """

    deleted: list[int] = field(default_factory=list)
    updated: dict[int, Row] = field(default_factory=dict)
    inserted: list[Row] = field(default_factory=list)
    metrics: Mapping[str, int] = field(default_factory=dict)
    net: bool = False
    operation: str | None = None
    restored: State | None = None
    may_commit_nothing: bool = False

    @property
    def touches_rows(self) -> bool:
        return bool(self.deleted or self.updated or self.inserted)


@dataclass
class Model:
    """The latest version of the table, and those before."""

    state: State
    versions: dict[int, State] = field(default_factory=dict)
    next_id: int = 0
    row_ids_ever: int = -1

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.state.columns

    @property
    def rows(self) -> Mapping[int, Row]:
        return self.state.rows

    def column(self, key: str) -> Column | None:
        """The column with a key, unless it was dropped."""
        return next((c for c in self.columns if c.key == key), None)

    def has(self, name: str) -> bool:
        """Whether a property is true."""
        return self.state.properties.get(name) == "true"

    def stored(self, row: Mapping[str, Any]) -> Row:
        """A written row as readers find it."""
        found = {}
        for column in self.columns:
            if column.identity is not None:
                value = row.get(column.key, UNKNOWN)
            elif column.compute is not None:
                value = column.compute(row)
            else:
                value = row.get(column.key, column.default)
            found[column.key] = None if column.partition and value == "" else value
        return found

    def matching(self, holds: Callable[[Row], bool | None]) -> list[int]:
        """Ids of the rows for which a condition is true."""
        return [i for i, row in self.rows.items() if holds(row) is True]

    def feed_of(self, change: Change) -> list[tuple[str, Row]]:
        """The rows that the change data feed has for a change; before it is applied."""
        rows = self.rows
        return [
            *(("delete", rows[i]) for i in change.deleted),
            *(("update_preimage", rows[i]) for i in change.updated),
            *(("update_postimage", row) for row in change.updated.values()),
            *(("insert", row) for row in change.inserted),
        ]

    def apply(self, change: Change, version: int) -> None:
        """Make the change the table's, as a version."""
        if change.restored is not None:
            self.state = change.restored
            return
        rows, tracked = dict(self.rows), dict(self.state.tracked)
        for i in change.deleted:
            del rows[i], tracked[i]
        for i, row in change.updated.items():
            rows[i] = row
            tracked[i] = Tracked(tracked[i].row_id, version)
        for row in change.inserted:
            rows[row["id"]] = row
            tracked[row["id"]] = Tracked(None, version)
        self.state = replace(self.state, rows=rows, tracked=tracked)

    def adopt(self, values: Mapping[int, Row], tracked: Mapping[int, Tracked]) -> None:
        """Take what only the writer could choose: identity values and row ids, by id of the row."""
        rows = {
            i: {key: values[i][key] if value is UNKNOWN and i in values else value for key, value in row.items()}
            for i, row in self.rows.items()
        }
        ids = {
            i: Tracked(
                old.row_id if old.row_id is not None else tracked[i].row_id,
                old.version if old.version is not None else tracked[i].version,
            )
            if i in tracked else old
            for i, old in self.state.tracked.items()
        }  # fmt: skip
        self.state = replace(self.state, rows=rows, tracked=ids)

    def set_columns(self, columns: Iterable[Column], convert: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        """Change the columns; values of kept ones are converted, those of new ones are NULL."""
        columns = tuple(columns)
        known = {column.key for column in self.columns}
        convert = convert or {}

        def kept(row: Row) -> Row:
            return {c.key: _converted(row[c.key], convert.get(c.key)) if c.key in known else None for c in columns}

        self.state = replace(self.state, columns=columns, rows={i: kept(row) for i, row in self.rows.items()})

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set table properties."""
        self.state = replace(self.state, properties={**self.state.properties, **properties})

    def new_ids(self, count: int) -> Sequence[int]:
        """Ids that no row had."""
        found = range(self.next_id, self.next_id + count)
        self.next_id = found.stop
        return found


def _converted(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if value is None or convert is None else convert(value)
