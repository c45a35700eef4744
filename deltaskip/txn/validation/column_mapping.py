"""Rules for the ids and physical names of mapped columns.

# PROTOCOL, Column Mapping
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow.compute as pc

from deltaskip.actions import Metadata
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.features.violation import Violation
from deltaskip.log.commit import members_of, read_commits
from deltaskip.log.segment import list_commits
from deltaskip.schema.mapping import ID_KEY, field_id, fields_by_path
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import filled
from deltaskip.storage.interface import read_whole
from deltaskip.txn.validation.commit_facts import CommitFacts

_BATCH_ROWS = 1 << 16
_READERS = 32
_MAX_ID = (1 << 31) - 1


def mapping_violations(facts: CommitFacts) -> Iterator[Violation]:
    """Ids, physical names and a highest id of a metaData action that mapped columns must not have."""
    yield from _lowered_highest(facts)
    if facts.mode != "none":
        yield from _unassigned(facts)
        if facts.base.mapping_mode != "none" and not facts.intent.copies_state:
            yield from _changed(facts)


def _lowered_highest(facts: CommitFacts) -> Iterator[Violation]:
    name = TableProperties.max_column_id.name
    before = facts.properties_before.max_column_id
    if before is None:
        return
    after = facts.properties.max_column_id
    has_ids = facts.mode != "none" or any(ID_KEY in field.metadata for field in t.nested_fields(facts.schema))
    removed = after is None and not has_ids
    if not removed and (after is None or after < before):
        yield facts.of_metadata(
            "mapping.highest-id", f"sets {name} to {after}, which must not be below its previous value, {before}"
        )


def _unassigned(facts: CommitFacts) -> Iterator[Violation]:
    """A column without an id that is unique in the table, or a physical name that is unique in its struct."""
    ids: set[int] = set()
    for struct in (type_ for type_ in t.nested_types(facts.schema) if isinstance(type_, t.StructType)):
        names: set[str] = set()
        for field in struct.fields:
            try:
                name, number = t.physical_name(field, facts.mode), field_id(field)
            except SchemaError as error:
                yield facts.of_metadata("mapping.ids", f"is malformed: {error}")
                return
            if number is None or not 0 < number <= _MAX_ID:
                found = "no column id" if number is None else f"the column id {number}"
                why = f"has {found} for {field.name}; assign a positive 32-bit integer as {ID_KEY}"
                yield facts.of_metadata("mapping.ids", why)
                return
            if name.lower() in names:
                yield facts.of_metadata("mapping.ids", f"has the physical name {name} twice")
            if number in ids:
                yield facts.of_metadata("mapping.ids", f"has the column id {number} twice")
            names.add(name.lower())
            ids.add(number)
    highest = facts.properties.max_column_id
    if highest is None or highest < max(ids, default=0):
        name = TableProperties.max_column_id.name
        yield facts.of_metadata("mapping.highest-id", f"must set {name} to at least the highest column id")


def _changed(facts: CommitFacts) -> Iterator[Violation]:
    """A column that changes its id or physical name, or a new column that has one of a column that was dropped."""
    base = facts.base
    # Fields of different structs may share a physical name, as fields from before the mapping do.
    old = dict(fields_by_path(base.schema, _physical_name))
    by_id = {field.metadata.get(ID_KEY): field for field in old.values()}
    highest = facts.properties_before.max_column_id or 0
    new: list[str] = []
    for path, field in fields_by_path(facts.schema, _physical_name):
        name, number = field.metadata[t.PHYSICAL_NAME_KEY], field.metadata[ID_KEY]
        if path in old:
            before = old[path].metadata.get(ID_KEY)
            if before is not None and before != number:
                why = f"changes the id of the column {field.name} from {before} to {number}; keep it"
                yield facts.of_metadata("mapping.ids", why)
        elif number in by_id:
            before = by_id[number].metadata.get(t.PHYSICAL_NAME_KEY)
            why = f"changes the physical name of the column {field.name} from {before} to {name}"
            why = f"{why}, which files of version {base.version} do not have; keep it"
            yield facts.of_metadata("mapping.ids", why)
        elif number <= highest:
            why = f"gives the new column {field.name} the id {number}, which a dropped column may have had"
            yield facts.of_metadata("mapping.reuse", f"{why}; take ids above {highest}")
        else:
            new.append(name)
    taken = (_used_before(facts, new) or _used_by_files(facts, new)) if new else None
    if taken is not None:
        why = f"gives a new column the physical name {taken}, which a dropped column had, whose values would return"
        yield facts.of_metadata("mapping.reuse", f"{why}: use a new one, such as col- and a UUID")


def _physical_name(field: t.StructField) -> Any:
    return field.metadata.get(t.PHYSICAL_NAME_KEY)


def _used_before(facts: CommitFacts, names: Collection[str]) -> str | None:
    """A name that an earlier schema of the log has."""
    base = facts.base
    wanted = [(name, json_key) for name in names for json_key in (name.encode(),)]
    files = [file for file in list_commits(base.storage, base.root, 0) if file.version <= base.version]

    def holds(file: Any) -> bool:
        text = read_whole(base.storage, file.file)
        return b'"metaData"' in text and any(key in text for _, key in wanted)

    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        found = [file for file, is_one in zip(files, pool.map(holds, files), strict=True) if is_one]
    commits = read_commits(base.storage, base.root, found, ["path"]) if found else None
    for action in commits.others if commits is not None else ():
        if action.name == "metaData" and commits is not None:
            try:
                schema = t.parse_schema(Metadata.from_json(members_of(commits, action)).schema_string)
            except (InvalidArgument, SchemaError):
                continue
            had = {field.metadata.get(t.PHYSICAL_NAME_KEY) for field in t.nested_fields(schema)}
            taken = next((name for name in names if name in had), None)
            if taken is not None:
                return taken
    return None


def _used_by_files(facts: CommitFacts, names: Collection[str]) -> str | None:
    """A name that the statistics of active files have."""
    for name in names:
        pattern = f'"(nullCount|minValues|maxValues)".*"{re.escape(name)}"'
        for adds in facts.base.add_batches(_BATCH_ROWS, ["stats"]):
            if pc.any(pc.match_substring_regex(filled(adds["stats"], ""), pattern)).as_py():
                return name
    return None
