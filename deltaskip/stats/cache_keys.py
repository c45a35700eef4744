"""Keys of a snapshot's column cache: tuples of the kind of a value, and of what it is one.

Warm planning is mostly lookups, and tuples hash faster than dataclasses.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, NamedTuple


class GroupScope(NamedTuple):
    """The adds of one row group of a checkpoint file."""

    path: str
    group: int


class CommitsScope(NamedTuple):
    """The adds of the commits up to a version, which are in memory."""

    version: int


AddsScope = GroupScope | CommitsScope
"""The adds of a cached column, in their order; the first part of most keys."""

Kind = Literal[
    "statistic",  # scope, leaf: a decoded statistic (Arrow array)
    "collated",  # scope, leaf, collation: a bound prepared for comparisons under one version of it (CollatedBounds)
    "logged column",  # scope, name: a column of FILE_SCHEMA as logged (Arrow array)
    "some rows",  # scope, name: a few rows of a column of FILE_SCHEMA (their indices, and an Arrow array)
    "reads",  # scope, names: how often a few rows of these columns were read (int)
    "live",  # scope, version: the adds that are part of a version (Boolean array)
    "NaN recorded",  # scope, version: the adds whose writer records NaN in statistics (Boolean array)
    "NaN absent",  # scope, physical path: the adds with a tag by which a column contains no NaN (Boolean array)
    "file column",  # scope, name, time zone, zone rules: a column of `Scan.files()` (Arrow array)
    "partition codes",  # scope, column: a code for the value that each add has in a partition column (int32 array)
    "partition column",  # column: the distinct values of a partition column of the whole table (pinned)
    "partition answers",  # time zone, zone rules, collation version: what terms of recent scans admit (pinned)
    "footer",  # path: the footer of a checkpoint file as statistics of its row groups
    "estimates",  # version, time zone, columns: the estimates of all files of a version (Estimates)
    "dictionaries",  # path, columns: distinct values of some columns in a data file (dict)
    "key folder",  # the folder of the table's key index (KeyFolder, pinned)
    "key part",  # path, size: a part of the key index that was opened (KeyPart)
    "known files",  # scope, path of a part: the number that each add has in a part of the key index (int32 array)
    "repeated",  # type, value, rows: one value repeated in `rows` rows (Arrow array)
]

CacheKey = tuple[Kind, *tuple[Hashable, ...]]
