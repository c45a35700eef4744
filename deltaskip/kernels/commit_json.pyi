from collections.abc import Sequence

import pyarrow as pa
from typing_extensions import Buffer

FILES_SCHEMA: pa.Schema
"""Schema of `ParsedCommits.files` with all columns: commit int32, is_remove bool, then the columns of a
file action (path, partition_values, size, modification_time, data_change, stats, tags, deletion_vector, base_row_id,
default_row_commit_version, clustering_provider), then deletion_timestamp int64."""

class CommitSyntaxError(ValueError):
    """A line of a commit is not a valid action."""

    commit: int
    """Ordinal of the commit among `starts`."""
    line: int
    """Line within the commit, from 1; blank lines count."""
    offset: int
    """Byte offset of the error in `data`."""
    reason: str
    """The error without its position: "the text is truncated", "add.size is not a number" …"""

    def __init__(self, commit: int, line: int, offset: int, reason: str) -> None: ...

class ParsedCommits:
    """The actions of the commits, in their order."""

    files: pa.Table
    """One row per `add` or `remove`."""
    others: list[tuple[int, int, str, int, int]]
    """(commit, line, name, begin, end) of every other action: data[begin:end] is its value, valid JSON, never null."""

    def __init__(self, files: pa.Table, others: list[tuple[int, int, str, int, int]]) -> None: ...

def parse_commits(
    data: Buffer,
    starts: Sequence[int],
    columns: Sequence[str] | None = None,
    *,
    chunk_bytes: int = 1 << 30,
) -> ParsedCommits:
    r"""Parse newline-delimited JSON commits, which are concatenated in `data`.

    starts: Byte offset of each commit, ascending, the first 0; commit i ends where i + 1 starts. Commits may be empty,
    contain blank lines, `\r\n` and a byte order mark at their start, and lack the final newline.
    columns: Names of FILES_SCHEMA to fill; None for all. commit, is_remove, path and deletion_vector are always filled.
    Other fields are checked as JSON and not copied.
    chunk_bytes: A new chunk of the table begins at the first line after this many bytes of text (1 to 2**30).

    JSON null and an absent field are Arrow null. A long may be written as an integral double (12.0, 1e3). Map values
    that are numbers or booleans keep their text. A `stats` that is an object keeps its raw text. Of a key that occurs
    twice in one object the last value counts. Lone surrogates become U+FFFD.

    Raises CommitSyntaxError for a line that is not a JSON object, is truncated, is not UTF-8, nests deeper than 512,
    lacks a path, or has a field of the wrong JSON type; ValueError for bad `starts` or `columns`.
    """
