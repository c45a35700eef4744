"""Explain: the report on the files that a predicate skips, as text, HTML, Arrow, JSON or a plot."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import StorageError
from deltaskip.path_bytes import encoded
from deltaskip.records import dataclass, nested
from deltaskip.recursion import deep
from deltaskip.shown import Shown, escaped
from deltaskip.skipping.explain.drawing import Matrix
from deltaskip.skipping.explain.plot import plot_svg, write_plot

_LEAF_SCHEMA = pa.schema(
    [
        ("predicate", pa.string()),
        ("used", pa.list_(pa.string())),
        ("dropped", pa.int64()),
        ("needed_for", pa.int64()),
        ("without_statistics", pa.int64()),
        ("lacking", pa.map_(pa.string(), pa.int64())),
        ("examples", pa.list_(pa.string())),
        ("reason", pa.string()),
    ]
)
_DEEPEST_LINE = 40
_HEADINGS = ("predicate", "statistics used", "files skipped", "reason")


@dataclass(frozen=True, slots=True, repr=False)
class LeafReport(Shown):
    """The effect of one leaf of the predicate.

    Attributes:
        predicate: The leaf as SQL.
        used: Names of the statistics and partition columns that it reads.
        dropped: Number of files that the leaf skips by itself.
        needed_for: Number of files that would be kept without the leaf.
        without_statistics: Number of files that lack some statistic that the leaf reads.
        lacking: For each of these statistics, the number of files that lack it.
        examples: Paths of some of these files.
        reason: Why the leaf skips no file, or not more; "" if nothing prevents it.
        can_skip: Whether the leaf can skip files with other values. False if no rule compares it with statistics that
            some file has; `reason` says why. Not part of `to_dict`.
    """

    predicate: str
    used: tuple[str, ...]
    dropped: int
    needed_for: int
    without_statistics: int
    lacking: Mapping[str, int]
    examples: tuple[str, ...]
    reason: str
    can_skip: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that `json.dumps` accepts; an empty reason is None."""
        return {
            "predicate": self.predicate,
            "used": list(self.used),
            "dropped": self.dropped,
            "needed_for": self.needed_for,
            "without_statistics": self.without_statistics,
            "lacking": dict(self.lacking),
            "examples": list(self.examples),
            "reason": self.reason or None,
        }


@nested
@dataclass(frozen=True, slots=True, repr=False)
class Branch(Shown):
    """AND or OR over leaves (their ordinals), constants and further branches."""

    combine: Literal["AND", "OR"]
    children: tuple[Tree, ...]


Tree = Branch | int | bool
"""How the leaves of a predicate are combined; a bool is a part that is the same for every file."""


@door
@dataclass(frozen=True, slots=True)
class Explain:
    """Report on the files that a scan's predicate skips, leaf by leaf; `print` it to read it.

    Attributes:
        table_root: URI of the table.
        version: Version of the snapshot.
        total_files: Number of files in the snapshot.
        kept_files: Number of files that may contain a matching row.
        total_bytes: Size of all files.
        kept_bytes: Size of the kept files.
        leaves: A report for each leaf of the predicate, left to right.
        tree: How AND and OR combine the leaves.
        matrix: Data of the plot.
        answered: What the log answered, and what was read, of the totals or first rows that were asked for last.
        joins: What each semi-join of the scan saves, as a sentence.
        index: What the key index of the table saves, as a sentence.
    """

    table_root: str
    version: int
    total_files: int
    kept_files: int
    total_bytes: int
    kept_bytes: int
    leaves: tuple[LeafReport, ...]
    tree: Tree
    matrix: Matrix = field(compare=False, repr=False)
    answered: str = ""
    joins: tuple[str, ...] = ()
    index: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as values that `json.dumps` accepts; `tree` contains ordinals of `leaves`."""
        return {
            "table": self.table_root,
            "version": self.version,
            "total_files": self.total_files,
            "kept_files": self.kept_files,
            "total_bytes": self.total_bytes,
            "kept_bytes": self.kept_bytes,
            "leaves": [leaf.to_dict() for leaf in self.leaves],
            "tree": _tree_dict(self.tree),
            **({"answered": self.answered} if self.answered else {}),
            **({"joins": list(self.joins)} if self.joins else {}),
            **({"index": self.index} if self.index else {}),
        }

    @property
    def can_skip(self) -> bool:
        """Whether the predicate can skip files: some part of each AND, and every part of each OR."""
        return _can_skip(self.tree, self.leaves)

    def table(self) -> pa.Table:
        """Return an Arrow table with a row for each leaf and the columns of LeafReport."""
        return pa.Table.from_pylist(
            [{**leaf.to_dict(), "lacking": list(leaf.lacking.items())} for leaf in self.leaves], _LEAF_SCHEMA
        )

    def save_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw which files each leaf keeps or skips, and in a last column the whole predicate.

        Args:
            path: File to write; its suffix, `.png` or `.svg`, determines the format. PNG needs Pillow.

        Raises:
            InvalidArgument: The suffix is not `.png` or `.svg`, or it is `.png` and Pillow is not installed.
            InvalidArgumentType: `path` is not a path.
            StorageError: The file cannot be written.
        """
        try:
            write_plot(
                Path(os.fsdecode(encoded(arguments.path("path", path)))), self.matrix, self.summary(), self._legend()
            )
        except OSError as error:
            raise StorageError(f"Cannot write the plot to {path}: {error.strerror or error}.") from error

    def summary(self) -> str:
        """Return one line: the table, its version, and how many files and bytes are kept."""
        files = f"{self.kept_files} of {self.total_files} files kept"
        return f"{self.table_root} at version {self.version}: {files}, {self.kept_bytes} of {self.total_bytes} bytes"

    def lines(self) -> Iterator[tuple[int, str | int]]:
        """Yield the predicate line by line: the depth, and AND, OR, TRUE, FALSE or the ordinal of a leaf.

        Lines below a depth of 40 have this depth.
        """
        pending = [(0, self.tree)]
        while pending:
            depth, tree = pending.pop()
            if isinstance(tree, Branch):
                yield min(depth, _DEEPEST_LINE), tree.combine
                pending.extend([(depth + 1, child) for child in reversed(tree.children)])
            else:
                yield min(depth, _DEEPEST_LINE), str(tree).upper() if isinstance(tree, bool) else tree

    def __str__(self) -> str:
        lines = [self.summary()]
        for depth, part in self.lines():
            indent = "  " * (depth + 1)
            if isinstance(part, str):
                lines.append(indent + part)
            else:
                lines.append(indent + self.leaves[part].predicate)
                lines += [f"{indent}  {note}" for note in _notes(self.leaves[part])]
        lines += [f"  {said}" for said in self._said]
        return "\n".join(lines)

    def __repr__(self) -> str:
        leaves = "1 leaf" if len(self.leaves) == 1 else f"{len(self.leaves)} leaves"
        files = f"{self.kept_files:,} of {self.total_files:,} files kept"
        return f"Explain({self.table_root!r}, version={self.version}, {files}, {leaves})"

    def _repr_html_(self) -> str:
        rows = [_html_row(_HEADINGS, "th", 0)]
        for depth, part in self.lines():
            cells = (part, "", "", "") if isinstance(part, str) else _cells(self.leaves[part])
            rows.append(_html_row(cells, "td", depth))
        caption = ". ".join(filter(None, (self.summary(), " ".join(self._said))))
        table = f"<table><caption>{escaped(caption)}</caption>{''.join(rows)}</table>"
        # As an image, so that the styles of the page do not apply to it.
        picture = base64.b64encode(plot_svg(self.matrix, self.summary(), self._legend()).encode()).decode()
        return f'<div>{table}<img alt="files kept and skipped" src="data:image/svg+xml;base64,{picture}"/></div>'

    @property
    def _said(self) -> list[str]:
        return [said for said in (self.index, *self.joins, self.answered) if said]

    def _legend(self) -> list[tuple[str, str]]:
        legend = [(leaf.predicate, _skipped(leaf)) for leaf in self.leaves]
        return [*legend, ("the whole predicate", f"keeps {self.kept_files:,} of {self.total_files:,}")]


@deep
def _tree_dict(tree: Tree) -> Any:
    if isinstance(tree, Branch):
        return {tree.combine.lower(): [_tree_dict(child) for child in tree.children]}
    return tree if isinstance(tree, bool) else {"leaf": tree}


@deep
def _can_skip(tree: Tree, leaves: Sequence[LeafReport]) -> bool:
    match tree:
        case bool():
            return not tree
        case int():
            return leaves[tree].can_skip
        case Branch(combine, children):
            able = (_can_skip(child, leaves) for child in children)
            return any(able) if combine == "AND" else all(able)


def _skipped(leaf: LeafReport) -> str:
    if not leaf.dropped:
        return "skips no file"
    files = "1 file" if leaf.dropped == 1 else f"{leaf.dropped:,} files"
    return f"skips {files}, {leaf.needed_for:,} of which would be kept without it"


def _notes(leaf: LeafReport) -> Iterator[str]:
    if leaf.used:
        yield f"reads {', '.join(leaf.used)}; {_skipped(leaf)}"
    elif leaf.dropped:
        yield f"skips every file: {leaf.reason}"
        return
    if leaf.without_statistics:
        by_name = ", ".join(f"{name} in {files}" for name, files in leaf.lacking.items())
        shown = ", ".join(leaf.examples) + (", …" if leaf.without_statistics > len(leaf.examples) else "")
        lacking = "1 file lacks" if leaf.without_statistics == 1 else f"{leaf.without_statistics:,} files lack"
        yield f"{lacking} a statistic that it reads ({by_name}), such as {shown}"
    if leaf.reason:
        yield f"prunes {'no more' if leaf.dropped else 'nothing'}: {leaf.reason}"


def _cells(leaf: LeafReport) -> tuple[str, ...]:
    return leaf.predicate, ", ".join(leaf.used), f"{leaf.dropped:,}", leaf.reason


def _html_row(cells: tuple[str, ...], tag: str, depth: int) -> str:
    """A row whose first cell is indented by `depth`."""
    styles = [f"text-align:left;padding-left:{depth + 1}em", "text-align:left", "text-align:right", "text-align:left"]
    shown = (f'<{tag} style="{style}">{escaped(cell)}</{tag}>' for cell, style in zip(cells, styles, strict=True))
    return f"<tr>{''.join(shown)}</tr>"
