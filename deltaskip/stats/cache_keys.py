"""Keys of a snapshot's column cache, one class for each kind of value.

Warm planning is mostly lookups, so keys are named tuples, which hash faster than dataclasses. Tuples of two classes are
equal if their fields are, so the last field, `kind`, distinguishes them.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import pyarrow as pa

from deltaskip.stats.layout import StatLeaf

__all__ = [
    "AddsScope",
    "CacheKey",
    "CollatedKey",
    "CommitsScope",
    "FileColumnKey",
    "FooterKey",
    "GroupScope",
    "KeyFolderKey",
    "KeyPartKey",
    "KnownFilesKey",
    "LiveKey",
    "LoggedColumnKey",
    "NanAbsentKey",
    "NanRecordedKey",
    "PartitionAnswersKey",
    "PartitionCodesKey",
    "PartitionColumnKey",
    "ReadsKey",
    "RepeatedKey",
    "SomeRowsKey",
    "StatisticKey",
]


class GroupScope(NamedTuple):
    """The adds of one row group of a checkpoint file."""

    path: str
    group: int


class CommitsScope(NamedTuple):
    """The adds of the commits up to a version, which are in memory."""

    version: int


AddsScope = GroupScope | CommitsScope
"""The adds of a cached column, in their order."""


class StatisticKey(NamedTuple):
    """A decoded statistic (Arrow array)."""

    scope: AddsScope
    leaf: StatLeaf
    kind: Literal["statistic"] = "statistic"


class CollatedKey(NamedTuple):
    """A bound prepared for comparisons under one version of a collation (CollatedBounds)."""

    scope: AddsScope
    leaf: StatLeaf
    collation: str
    kind: Literal["collated"] = "collated"


class LoggedColumnKey(NamedTuple):
    """A column of FILE_SCHEMA as logged (Arrow array)."""

    scope: AddsScope
    name: str
    kind: Literal["logged column"] = "logged column"


class SomeRowsKey(NamedTuple):
    """A few rows of a column of FILE_SCHEMA (their indices, and an Arrow array)."""

    scope: AddsScope
    name: str
    kind: Literal["some rows"] = "some rows"


class ReadsKey(NamedTuple):
    """How often a few rows of these columns were read (int)."""

    scope: AddsScope
    names: tuple[str, ...]
    kind: Literal["reads"] = "reads"


class LiveKey(NamedTuple):
    """The adds that are part of a version (Boolean array)."""

    scope: AddsScope
    version: int
    kind: Literal["live"] = "live"


class NanRecordedKey(NamedTuple):
    """The adds whose statistics come from a writer that records NaN (Boolean array)."""

    scope: AddsScope
    version: int
    kind: Literal["NaN recorded"] = "NaN recorded"


class NanAbsentKey(NamedTuple):
    """The adds with a tag by which a column contains no NaN (Boolean array). path: physical names of the column."""

    scope: AddsScope
    path: tuple[str, ...]
    kind: Literal["NaN absent"] = "NaN absent"


class FileColumnKey(NamedTuple):
    """A column of `Scan.files()`, its partition values read in a time zone by some rules (Arrow array)."""

    scope: AddsScope
    name: str
    time_zone: str
    zone_rules: tuple[str, ...]
    kind: Literal["file column"] = "file column"


class PartitionCodesKey(NamedTuple):
    """A code for the value that each add has in a partition column (int32 array)."""

    scope: AddsScope
    column: str
    kind: Literal["partition codes"] = "partition codes"


class PartitionColumnKey(NamedTuple):
    """The distinct values of a partition column of the whole table (PartitionColumn, pinned)."""

    column: str
    kind: Literal["partition column"] = "partition column"


class PartitionAnswersKey(NamedTuple):
    """The partition values that the terms of recent scans admit (PartitionAnswers, pinned)."""

    time_zone: str | None
    zone_rules: tuple[str, ...]
    collation_version: str
    kind: Literal["partition answers"] = "partition answers"


class FooterKey(NamedTuple):
    """The footer of a checkpoint file as statistics of its row groups."""

    path: str
    kind: Literal["footer"] = "footer"


class KeyFolderKey(NamedTuple):
    """The folder of the table's key index (KeyFolder, pinned)."""

    kind: Literal["key folder"] = "key folder"


class KeyPartKey(NamedTuple):
    """A part of the key index that was opened (KeyPart)."""

    path: str
    size: int
    kind: Literal["key part"] = "key part"


class KnownFilesKey(NamedTuple):
    """The number that each add has in a part of the key index, by the part's path (int32 array)."""

    scope: AddsScope
    part: str
    kind: Literal["known files"] = "known files"


class RepeatedKey(NamedTuple):
    """One value repeated in `rows` rows (Arrow array)."""

    type: pa.DataType
    value: Any
    rows: int
    kind: Literal["repeated"] = "repeated"


CacheKey = (
    StatisticKey
    | CollatedKey
    | LoggedColumnKey
    | SomeRowsKey
    | ReadsKey
    | LiveKey
    | NanRecordedKey
    | NanAbsentKey
    | FileColumnKey
    | PartitionCodesKey
    | PartitionAnswersKey
    | PartitionColumnKey
    | FooterKey
    | KeyFolderKey
    | KeyPartKey
    | KnownFilesKey
    | RepeatedKey
)
