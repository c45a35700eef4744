"""The advice for a table: what each change of its layout or statistics would save for the queries that it is asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import InvalidArgument
from deltaskip.records import dataclass
from deltaskip.shown import Shown, html_table, human_bytes


@dataclass(frozen=True, slots=True, repr=False)
class Suggestion(Shown):
    """A change of a table, with what it would save.

    Attributes:
        kind: "order" (Z-ordering or clustering), "partitioning", "statistics" (bounds that files lack), "index" (the
            key index) or "bloom" (Bloom filters in the files, which are opened to read the filters).
        columns: Names of the columns, with dots before nested fields.
        command: Python code that carries it out; `t` is the table.
        queries_before_bytes: Bytes of the files that all queries together read today, each as often as it was asked.
        queries_after_bytes: The same after the change, as simulated.
        gaining: The queries that would read fewer files, as indexes into `TableAdvice.queries`.
    """

    kind: str
    columns: tuple[str, ...]
    command: str
    queries_before_bytes: int
    queries_after_bytes: int
    gaining: tuple[int, ...]


@door
@dataclass(frozen=True, slots=True)
class TableAdvice:
    """The advice for a table. The suggestions are alternatives, the best one first; there are none if none would help.

    Attributes:
        table: URI of the table.
        version: The version that was looked at.
        queries: The queries as text.
        times: How often each was asked.
        read_bytes: Bytes of the files that each query reads today.
        suggestions: The changes that would save bytes, the best one first.
        after_bytes: For each suggestion the bytes of the files that each query would read.
        bytes: Size of the table.
    """

    table: str
    version: int
    queries: tuple[str, ...]
    times: tuple[int, ...]
    read_bytes: tuple[int, ...]
    suggestions: tuple[Suggestion, ...]
    after_bytes: tuple[tuple[int, ...], ...]
    bytes: int

    def __bool__(self) -> bool:
        """Whether a change would help."""
        return bool(self.suggestions)

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return html_table([(each.command, human_bytes(each.queries_after_bytes)) for each in self.suggestions])

    def lines(self) -> list[str]:
        """Return the advice as lines of text."""
        before = sum(size * times for size, times in zip(self.read_bytes, self.times, strict=True))
        count = sum(self.times)
        lines = [f"TableAdvice: {count:,} {_queries(count)} read {human_bytes(before)} of {self.table}"]
        for each in self.suggestions:
            less = 100 * (1 - each.queries_after_bytes / before)
            size = human_bytes(each.queries_after_bytes)
            gaining = len(each.gaining)
            lines.append(f"  {size} ({less:.0f} % less), {gaining:,} {_queries(gaining)} gain: {each.command}")
        if not self.suggestions:
            lines.append("  No change that was simulated would save much.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as values of JSON."""
        return asdict(self)

    def save_plot(self, path: str | os.PathLike[str]) -> None:
        """Write a picture of the share of the table that each query reads, today and after each suggestion.

        Args:
            path: A file that ends in .png or .svg. A PNG needs Pillow.

        Raises:
            InvalidArgument: The path has another ending, Pillow is not installed, or the file cannot be written.
        """
        from deltaskip.skipping.explain.drawing import Matrix
        from deltaskip.skipping.explain.plot import write_plot

        target = Path(arguments.path("path", path))
        rows = [self.read_bytes, *self.after_bytes]
        legend = [("as it is", human_bytes(sum(self.read_bytes)))]
        for each, sizes in zip(self.suggestions, self.after_bytes, strict=True):
            legend.append((f"{each.kind} {', '.join(each.columns)}", human_bytes(sum(sizes))))
        title = (
            f"{self.table}: {len(self.queries):,} {_queries(len(self.queries))}, the share of the table that each reads"
        )
        try:
            write_plot(target, Matrix(_percent(rows, self.bytes), 100, 100 * len(self.queries)), title, legend)
        except OSError as error:
            raise InvalidArgument(f"The plot {target} cannot be written: {error}.") from error


def _percent(rows: Sequence[Sequence[int]], whole: int) -> npt.NDArray[np.int64]:
    return np.array([[round(100 * size / max(1, whole)) for size in sizes] for sizes in rows], np.int64)


def _queries(count: int) -> str:
    return "query" if count == 1 else "queries"
