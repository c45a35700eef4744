"""Keys of a snapshot's column cache: one class for each kind of value, so that two kinds cannot collide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from deltaskip.stats.layout import StatLeaf

__all__ = [
    "CacheKey",
    "CollatedKey",
    "CommitsScope",
    "FileColumnKey",
    "FooterKey",
    "GroupScope",
    "LiveKey",
    "LoggedColumnKey",
    "PartitionCodesKey",
    "PartitionColumnKey",
    "ReadsKey",
    "RepeatedKey",
    "Scope",
    "SomeRowsKey",
    "StatisticKey",
]


class GroupScope(NamedTuple):
    """The adds of one row group of a checkpoint file."""

    path: str
    group: int


class CommitsScope(NamedTuple):
    """The adds that the commits up to a version hold in memory."""

    version: int


Scope = GroupScope | CommitsScope
"""The adds of which a column is cached, in their order. Tuples, which hash faster: those of two kinds never equal."""


@dataclass(frozen=True, slots=True)
class StatisticKey:
    """A decoded statistic (Arrow array)."""

    scope: Scope
    leaf: StatLeaf


@dataclass(frozen=True, slots=True)
class CollatedKey:
    """A bound prepared for comparisons under one version of a collation (CollatedColumn)."""

    scope: Scope
    leaf: StatLeaf
    collation: str


@dataclass(frozen=True, slots=True)
class LoggedColumnKey:
    """A column of FILE_SCHEMA as logged (Arrow array)."""

    scope: Scope
    name: str


@dataclass(frozen=True, slots=True)
class SomeRowsKey:
    """A few rows of a column of FILE_SCHEMA (their indices, and an Arrow array)."""

    scope: Scope
    name: str


@dataclass(frozen=True, slots=True)
class ReadsKey:
    """How often a few rows of these columns were read (int)."""

    scope: Scope
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiveKey:
    """Which adds are part of a version (Boolean array)."""

    scope: Scope
    version: int


@dataclass(frozen=True, slots=True)
class FileColumnKey:
    """A column of `Scan.files()`, its partition values read in a time zone (Arrow array)."""

    scope: Scope
    name: str
    time_zone: str


@dataclass(frozen=True, slots=True)
class PartitionCodesKey:
    """A code for the value that each add has in a partition column (int32 array)."""

    scope: Scope
    column: str


@dataclass(frozen=True, slots=True)
class PartitionColumnKey:
    """The distinct values of a partition column of the whole table (PartitionColumn, pinned)."""

    column: str


@dataclass(frozen=True, slots=True)
class FooterKey:
    """The footer of a checkpoint file as statistics of its row groups."""

    path: str


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """One value repeated `count` times (Arrow array)."""

    type: pa.DataType
    value: Any
    count: int


CacheKey = (
    StatisticKey
    | CollatedKey
    | LoggedColumnKey
    | SomeRowsKey
    | ReadsKey
    | LiveKey
    | FileColumnKey
    | PartitionCodesKey
    | PartitionColumnKey
    | FooterKey
    | RepeatedKey
)
