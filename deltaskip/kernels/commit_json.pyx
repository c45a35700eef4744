"""Newline-delimited JSON commits to Arrow columns."""

import pyarrow as pa

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from deltaskip.sparkexpr.kernels.arrow cimport check
from deltaskip.kernels.commit_lines cimport MAX_LINE_BYTES, CommitLines
from deltaskip.kernels.file_rows cimport file_rows, to_batch
from deltaskip.sparkexpr.kernels.json_cursor cimport SYNTAX

from deltaskip.kernels.file_rows import FIELD_OF_COLUMN, TEXT_MAP

_DELETION_VECTOR = pa.struct(
    [
        ("storage_type", pa.string()),
        ("path_or_inline_dv", pa.string()),
        ("offset", pa.int32()),
        ("size_in_bytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
# `ParsedCommits.files` with all columns.
FILES_SCHEMA: pa.Schema = pa.schema(
    [
        ("commit", pa.int32()),
        ("is_remove", pa.bool_()),
        ("path", pa.string()),
        ("partition_values", TEXT_MAP),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("stats", pa.string()),
        ("tags", TEXT_MAP),
        ("deletion_vector", _DELETION_VECTOR),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("clustering_provider", pa.string()),
        ("deletion_timestamp", pa.int64()),
    ]
)
_ALWAYS = ("commit", "is_remove", "path", "deletion_vector")

class CommitSyntaxError(ValueError):
    """A line of a commit is not a valid action.

    Attributes:
        commit: Ordinal of the commit among `starts`.
        line: Line within the commit, from 1; blank lines count.
        offset: Byte offset of the error in `data`.
        reason: The error without its position: "the text is truncated", "add.size is not a number" …
    """

    commit: int
    line: int
    offset: int
    reason: str

    def __init__(self, commit: int, line: int, offset: int, reason: str):
        super().__init__(commit, line, offset, reason)
        self.commit = commit
        self.line = line
        self.offset = offset
        self.reason = reason

    def __str__(self):
        return f"line {self.line} of commit {self.commit} (byte {self.offset}): {self.reason}"


class ParsedCommits:
    """The actions of the commits, in their order.

    Attributes:
        files: One row per `add` or `remove`.
        others: (commit, line, name, begin, end) of every other action: data[begin:end] is its value, valid JSON, never
            null.
    """

    files: pa.Table
    others: list[tuple[int, int, str, int, int]]

    def __init__(self, files: pa.Table, others: list[tuple[int, int, str, int, int]]):
        self.files = files
        self.others = others


def parse_commits(
    data: Buffer, starts: Sequence[int], columns: Sequence[str] | None = None, *, int64_t chunk_bytes=1 << 30
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
    schema = _schema(columns)
    if not 0 < chunk_bytes <= MAX_LINE_BYTES:
        raise ValueError("chunk_bytes must be between 1 and 2**30.")
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return _parse(<const uint8_t*>view.buf, _bounds(starts, view.len), schema, chunk_bytes)
    finally:
        PyBuffer_Release(&view)


cdef object _schema(object columns):
    """Return the part of FILES_SCHEMA that the table will have."""
    if columns is None:
        return FILES_SCHEMA
    asked = set(columns)
    unknown = asked.difference(FILES_SCHEMA.names)
    if unknown:
        raise ValueError(f"File actions have no column {min(unknown)!r}.")
    return pa.schema([field for field in FILES_SCHEMA if field.name in asked or field.name in _ALWAYS])


cdef list _bounds(object starts, int64_t size):
    """Return the starts and then the size, checked to ascend from 0."""
    bounds = [int(start) for start in starts]
    bounds.append(size)
    if bounds[0] != 0 or any(bounds[i] > bounds[i + 1] for i in range(len(bounds) - 1)):
        raise ValueError("starts must ascend from 0 to the size of the data.")
    return bounds


cdef object _parse(const uint8_t* data, list bounds, object schema, int64_t chunk_bytes):
    cdef CommitLines lines = CommitLines()
    cdef int64_t size = bounds[len(bounds) - 1]
    cdef int64_t begin, end
    cdef int32_t commit
    cdef int code
    lines.rows = file_rows(min(chunk_bytes, size))
    lines.chunk = data
    for name in schema.names:
        if name in FIELD_OF_COLUMN:
            lines.wanted |= <uint32_t>1 << <int>FIELD_OF_COLUMN[name]
    batches = []
    for commit in range(len(bounds) - 1):
        begin = bounds[commit]
        end = bounds[commit + 1]
        lines.open(data + begin, data + end, commit)
        while True:
            with nogil:
                code = lines.run(chunk_bytes)
            if code == SYNTAX:
                raise CommitSyntaxError(commit, lines.line, lines.cursor.at - data, lines.reason())
            check(code)
            if lines.cursor.at == lines.cursor.end:
                break
            batches.append(to_batch(lines.rows, schema))
            lines.rows = file_rows(min(chunk_bytes, size - (lines.cursor.at - data)))
            lines.chunk = lines.cursor.at
    batches.append(to_batch(lines.rows, schema))
    return ParsedCommits(pa.Table.from_batches(batches, schema), lines.found(data))
