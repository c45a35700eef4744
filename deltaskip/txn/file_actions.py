"""Checks of a transaction's file actions against the protocol and the table: adds, removes and CDC files.

# PROTOCOL, Add File and Remove File, Per-file Statistics, Partition Value Serialization
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from deltaskip.actions import (
    AddCdcFile,
    AddFile,
    Metadata,
    PartitionValueError,
    Protocol,
    RemoveFile,
    parse_partition_value,
)
from deltaskip.errors import InvalidCommit
from deltaskip.schema import StructField, StructType, physical_name
from deltaskip.schema.mapping import MappingMode, mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.txn.intent import Intent, dv_id
from deltaskip.txn.known_files import Known

__all__ = ["FileRules", "check_cdc_files", "check_files", "is_uri", "num_records", "parsed_stats"]

# PROTOCOL, Add File: "a URI as specified by RFC 2396". Readers parse it with java.net.URI, which accepts characters
# beyond ASCII except blanks and control characters.
_URI_TEXT = re.compile(
    r"(?:[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ud800-\udfff\"<>\\^`{|}\[\]#?%]|%[0-9A-Fa-f]{2})+"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")


@dataclass(frozen=True, slots=True)
class FileRules:
    """Rules for the adds of one commit: the table's partition columns and NOT NULL columns, by physical name."""

    root: str
    version: int
    partitions: Mapping[str, StructField]
    not_null: Mapping[str, StructField]
    parsed: dict[tuple[str, str | None], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, intent: Intent, protocol: Protocol, metadata: Metadata, schema: StructType) -> FileRules:
        """The rules of the table as it is after the commit."""
        mode: MappingMode = mapping_mode(protocol, TableProperties(metadata.configuration, intent.base.root))
        by_name = {each.name: each for each in schema.fields}
        partitions = {physical_name(by_name[name], mode): by_name[name] for name in metadata.partition_columns}
        not_null = {physical_name(each, mode): each for each in schema.fields if not each.nullable}
        return cls(intent.base.root, intent.base.version, partitions, not_null)


def check_files(intent: Intent, known: Mapping[str, Known], rules: FileRules) -> None:
    """Raise InvalidCommit for the first add that is not allowed, or remove of a file that is not active."""
    rearranged = any(not remove.data_change for remove in intent.removes.values())
    for key, remove in intent.removes.items():
        _check_remove(remove, known.get(key), rules)
    for key, add in intent.adds.items():
        old = known.get(key)
        if old is None and not is_uri(add.path):
            _refuse(add, rules, "it is not a URI; percent-encode it")
        stats = parsed_stats(add)
        if add.stats is not None and stats is None:
            _refuse(add, rules, "its statistics are not a JSON object; correct them or leave them out")
        _check_partition_values(add, rules)
        _check_nulls(add, stats or {}, rules)
        if old is None and not add.data_change and not rearranged:
            # PROTOCOL, Add File, dataChange: false only for files that are active, or whose rows the commit removes.
            _refuse(add, rules, f"it is not an active file of version {rules.version}, so dataChange must be true")
        _check_vector(add, old, intent.removes.get(key), stats or {}, rules)


def check_cdc_files(intent: Intent, rules: FileRules, kept: bool) -> None:
    """Raise InvalidCommit for the first CDC file that is not allowed. kept: whether the change data feed is enabled."""
    for cdc in intent.cdc_files.values():
        if not kept:
            _refuse(cdc, rules, "the table has no change data feed enabled; leave it out")
        if not is_uri(cdc.path):
            _refuse(cdc, rules, "it is not a URI; percent-encode it")
        if cdc.data_change:
            # PROTOCOL, Add CDC File
            _refuse(cdc, rules, "dataChange of a CDC file must be false")
        _check_partition_values(cdc, rules)


def is_uri(path: str) -> bool:
    """Whether the path is a URI, so that it can be logged unchanged."""
    if _URI_TEXT.fullmatch(path) is None:
        return False
    return ":" not in path.partition("/")[0] or _SCHEME.match(path) is not None


def parsed_stats(add: AddFile) -> dict[str, Any] | None:
    """The statistics; None if there are none or they are not a JSON object."""
    if not add.stats:
        return None
    try:
        stats = json.loads(add.stats, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return stats if isinstance(stats, dict) else None


def num_records(stats: Mapping[str, Any] | None) -> int | None:
    """Row count of the data file, including rows that a deletion vector deletes; None if it is missing."""
    rows = None if stats is None else stats.get("numRecords")
    return rows if isinstance(rows, int) and not isinstance(rows, bool) and rows >= 0 else None


def _check_remove(remove: RemoveFile, old: Known | None, rules: FileRules) -> None:
    if old is None:
        raise InvalidCommit(
            f"{remove.path} cannot be removed from {rules.root}: it is not an active file of version {rules.version}; "
            f"remove files that a scan of the transaction's snapshot returns."
        )
    if dv_id(remove) != old.dv_id:
        raise InvalidCommit(
            f"{remove.path} cannot be removed from {rules.root} with a different deletion vector than at version "
            f"{rules.version}: remove it with the one that a scan returns."
        )


def _check_partition_values(add: AddFile | AddCdcFile, rules: FileRules) -> None:
    if set(add.partition_values) != set(rules.partitions):
        names = ", ".join(sorted(rules.partitions)) or "none"
        _refuse(add, rules, f"its partition values must be of exactly these columns: {names}")
    for name, column in rules.partitions.items():
        text = add.partition_values[name]
        is_null = rules.parsed.get((name, text))
        if is_null is None:
            try:
                # PROTOCOL, Partition Value Serialization: "" is null, whatever the type.
                is_null = not text or parse_partition_value(text, column.type) is None
            except PartitionValueError as error:
                _refuse(add, rules, f"the partition value of {column.name} is not valid: {error}")
            rules.parsed[name, text] = is_null
        if is_null and not column.nullable:
            _refuse(add, rules, f"{column.name} is NOT NULL, but its partition value is null")


def _check_nulls(add: AddFile, stats: Mapping[str, Any], rules: FileRules) -> None:
    counts = stats.get("nullCount")
    if not rules.not_null or not add.data_change or add.deletion_vector is not None or not isinstance(counts, dict):
        return
    for name, column in rules.not_null.items():
        count = counts.get(name)
        if isinstance(count, int) and count > 0:
            _refuse(add, rules, f"{column.name} is NOT NULL, but the statistics have a null count of {count}")


def _check_vector(
    add: AddFile, old: Known | None, removed: RemoveFile | None, stats: Mapping[str, Any], rules: FileRules
) -> None:
    if add.deletion_vector is not None and num_records(stats) is None:
        # PROTOCOL, Per-file Statistics: required if there is a deletion vector.
        _refuse(add, rules, "a file with a deletion vector needs numRecords in its statistics")
    if old is None or old.dv_id == dv_id(add):
        return
    if removed is None:
        _refuse(
            add,
            rules,
            f"it has a different deletion vector than at version {rules.version}; also remove the file with the old "
            f"one in this transaction",
        )
    deleted = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    if not add.data_change and deleted != old.deleted:
        _refuse(add, rules, "its deletion vector deletes a different number of rows, so dataChange must be true")


def _refuse(add: AddFile | AddCdcFile, rules: FileRules, why: str) -> NoReturn:
    raise InvalidCommit(f"{add.path} cannot be added to {rules.root}: {why}.")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
