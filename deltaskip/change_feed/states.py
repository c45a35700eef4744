"""The protocol and metadata of each version of a feed, and the conditions under which its changes can be read."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Literal

from deltaskip.actions import Metadata, Protocol
from deltaskip.errors import InvalidArgument, OptionAdvice, SchemaError, VersionNotFound
from deltaskip.features.support_checks import check_readable
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.commit import Commits, damaged, members_of
from deltaskip.records import dataclass
from deltaskip.schema import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.type_widening import is_widening
from deltaskip.sparkexpr import types as t

Source = Literal["auto", "feed", "rows"]
"""Where changes come from: the change data feed, the rows of files, or the feed where there is one."""


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """Which changes of a range are read.

    Attributes:
        source: Where they come from. "auto" does not compare rows without ids.
        net: Whether one change of each row is read for all versions together.
        snapshot_first: Whether the rows of the first version are read as inserts, in place of its changes.
        images: Whether both images of a change are read if one matches the predicate; otherwise only rows that match.
            Only rows that are compared have their other image.
        updates: Whether images of updates are told as such; otherwise as a delete and an insert.
    """

    source: Source = "auto"
    net: bool = False
    snapshot_first: bool = False
    images: bool = True
    updates: bool = True


_INTEGERS = (t.BYTE, t.SHORT, t.INTEGER, t.LONG)
EVERY_CHANGE = WantedChanges()
"""The changes of each version, from the feed where there is one."""


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """The versions whose changes are found by comparing the rows of files: by row ids, or by whole rows.

    narrower: Which type became narrower in the range, so that each of its values is checked when it is read.
    """

    by_ids: frozenset[int] = frozenset()
    by_values: frozenset[int] = frozenset()
    narrower: str | None = None

    @property
    def every(self) -> frozenset[int]:
        """All of them."""
        return self.by_ids | self.by_values

    def without(self, versions: Set[int]) -> ComparedVersions:
        """Return the others."""
        return replace(self, by_ids=self.by_ids - versions, by_values=self.by_values - versions)


@dataclass(frozen=True, slots=True)
class _VersionState:
    """The protocol and metadata from a version on."""

    version: int
    protocol: Protocol
    metadata: Metadata


def check_states(
    commits: Commits,
    snapshot: Snapshot,
    wanted: WantedChanges,
    first: Snapshot | None = None,
    at_end: Snapshot | None = None,
) -> ComparedVersions:
    """Check that the changes of every version of a range are known, and can be read with the last schema.

    Returns the versions whose changes are found by comparing rows: those without a change data feed, or all.

    # PROTOCOL, Change Data Files; Row Tracking; Column Mapping

    Args:
        commits: The commits of the range, at least one unless there is `first`.
        snapshot: The snapshot whose schema the rows have.
        wanted: Which changes are read.
        first: The version before the commits whose rows are read as inserts; None for no such version.
        at_end: A snapshot with the protocol and metadata of the last version; None if `snapshot` has them.

    Raises:
        InvalidArgument: A version has no feed, or no row ids; the message names it and the versions that can be read.
        UnsupportedFeature: A version requires a feature that deltaskip does not support.
        SchemaError: A column was dropped and created again, or its type was changed other than by widening.
        VersionNotFound: The schema changed in the range, and the state of its first version cannot be read.
    """
    states = list(_states(commits, at_end or snapshot)) if commits.files else []
    root, source = snapshot.root, "rows" if wanted.net and wanted.source != "rows" else wanted.source
    if first is not None:
        states.insert(0, _VersionState(first.version, first.protocol, first.metadata))
    properties = [TableProperties(state.metadata.configuration, root) for state in states]
    fed = [source != "rows" and each.change_data_feed for each in properties]
    with_ids = [each.row_tracking for each in properties]
    if first is not None and not wanted.net:
        # Its rows are inserts, whatever they are compared by.
        fed[0] = True
    known = [on or wanted.source == "rows" or (source != "feed" and ids) for on, ids in zip(fed, with_ids, strict=True)]
    if not all(known):
        last = max(i for i, on in enumerate(known) if not on)
        feed, ids = TableProperties.change_data_feed.name, TableProperties.row_tracking.name
        needed = {"feed": f"{feed} was not", "rows": f"{ids} was not", "auto": f"neither {feed} nor {ids} was"}[source]
        later = OptionAdvice("start", states[last + 1].version) if last + 1 < len(states) else ""
        cure = (
            f"pass {later} or later"
            if later
            else f"set {ids if source == 'rows' else feed} to true, and read the changes of later versions"
        )
        rows = OptionAdvice("source", "rows")
        by_values = "" if source == "feed" else f", or pass {rows} to compare whole rows"
        raise InvalidArgument(
            f"The changes of version {states[known.index(False)].version} of {root} were not recorded, because "
            f"{needed} true: {cure}{by_values}."
        ).advising(later, rows)
    managed = is_managed(snapshot.storage)
    cure = "read the changes up to the version before that change, and those from it on, separately (start, end)"
    narrower: str | None = None
    for state in states:
        check_readable(state.protocol, state.metadata.configuration, root, state.version, managed)
        narrower = _check_schema(state, snapshot, cure) or narrower
    last_version = commits.files[-1].version if commits.files else states[-1].version
    ends = [*(state.version for state in states[1:]), last_version + 1]
    of_ids, of_values = set[int](), set[int]()
    for state, end, on, has_ids in zip(states, ends, fed, with_ids, strict=True):
        if not on:
            (of_ids if has_ids else of_values).update(range(state.version, end))
    if wanted.net and of_values:
        # One row is followed through all versions by the same means.
        return ComparedVersions(by_values=frozenset(of_ids | of_values), narrower=narrower)
    return ComparedVersions(frozenset(of_ids), frozenset(of_values), narrower)


def check_removed_rows(commits: Commits, snapshot: Snapshot) -> str | None:
    """Check that the rows that the first version of a range removes can be read with the last schema.

    They were written before that version, which may itself change the schema or the partition columns.

    Returns the type that became narrower, as `ComparedVersions` has it.

    Raises SchemaError or VersionNotFound, as `check_states` does.
    """
    first = commits.files[0].version
    if any(action.name == "metaData" and action.commit == 0 for action in commits.others):
        before = state_at(snapshot, first - 1)
        cure = (
            f"version {first} replaces both: read the removed rows from the table at version {first - 1}, the new ones "
            f"at version {first}, and the changes from version {first + 1} on"
        )
        return _check_schema(_VersionState(first - 1, before.protocol, before.metadata), snapshot, cure)
    return None


def state_at(snapshot: Snapshot, version: int) -> Snapshot:
    """Return the table at a version of a range. Raises VersionNotFound if the log no longer contains it."""
    try:
        return load_snapshot(snapshot.storage, snapshot.root, version)
    except VersionNotFound as error:
        raise VersionNotFound(
            f"The changes of {snapshot.root} from version {version} on cannot be read: its schema or properties were "
            f"changed later, and the log no longer contains those of version {version}. {error}"
        ) from error


def _states(commits: Commits, snapshot: Snapshot) -> Iterator[_VersionState]:
    """The state at the first version, and at each version that changes it."""
    first = commits.files[0].version
    by_version: dict[int, tuple[Protocol | None, Metadata | None]] = {}
    for action in commits.others:
        if action.name not in ("protocol", "metaData"):
            continue
        version = commits.files[action.commit].version
        protocol, metadata = by_version.get(version, (None, None))
        try:
            if action.name == "protocol":
                protocol = Protocol.from_json(members_of(commits, action))
            else:
                metadata = Metadata.from_json(members_of(commits, action))
        except InvalidArgument as error:
            raise damaged(commits, action, str(error)) from error
        by_version[version] = protocol, metadata
    protocol, metadata = by_version.pop(first, (None, None))
    later = by_version.values()
    if (any(each for each, _ in later) and protocol is None) or (any(each for _, each in later) and metadata is None):
        before = state_at(snapshot, first)
        protocol, metadata = protocol or before.protocol, metadata or before.metadata
    protocol, metadata = protocol or snapshot.protocol, metadata or snapshot.metadata
    yield _VersionState(first, protocol, metadata)
    for version, (new_protocol, new_metadata) in sorted(by_version.items()):
        protocol, metadata = new_protocol or protocol, new_metadata or metadata
        yield _VersionState(version, protocol, metadata)


def _check_schema(state: _VersionState, snapshot: Snapshot, cure: str) -> str | None:
    """Raise SchemaError if rows of a version cannot be read with the schema of the snapshot.

    Returns which integer type became narrower: its values fit, or reading them fails.
    """
    if state.metadata == snapshot.metadata:
        return None
    properties = TableProperties(state.metadata.configuration, snapshot.root)
    mode = mapping_mode(state.protocol, properties)
    schema = t.parse_schema(state.metadata.schema_string)
    where = f"between version {state.version} and version {snapshot.version} of {snapshot.root}"
    narrower: str | None = None
    for reason, name, is_narrower in _differences(schema, mode, snapshot.schema, snapshot.mapping_mode, ""):
        if not is_narrower or name in snapshot.partition_columns:
            raise SchemaError(f"{reason} {where}, so one DataFrame cannot have the rows of both: {cure}.")
        narrower = f"{reason} {where}"
    if _partitioning(state.metadata, schema, mode) != _partitioning(
        snapshot.metadata, snapshot.schema, snapshot.mapping_mode
    ):
        raise SchemaError(f"The partition columns changed {where}, so they cannot be read together: {cure}.")
    return narrower


def _partitioning(metadata: Metadata, schema: t.StructType, mode: t.MappingMode) -> list[str]:
    by_name = {field.name: field for field in schema.fields}
    return [t.physical_name(by_name[name], mode) for name in metadata.partition_columns if name in by_name]


def _differences(
    old: t.StructType, old_mode: t.MappingMode, new: t.StructType, new_mode: t.MappingMode, path: str
) -> Iterator[tuple[str, str, bool]]:
    """Why rows of the old schema cannot be read with the new one: the reason, the column, and if it became narrower.

    Columns are the same if their physical names are.
    """
    by_physical = {_key(field, old_mode): field for field in old.fields}
    kept = {_key(field, new_mode) for field in new.fields}
    dropped = {field.name.lower() for field in old.fields if _key(field, old_mode) not in kept}
    for field in new.fields:
        name = f"{path}{field.name}"
        before = by_physical.get(_key(field, new_mode))
        if before is not None:
            yield from _type_differences(before.type, old_mode, field.type, new_mode, name)
        elif field.name.lower() in dropped:
            yield f"Column {name!r} was dropped and created again", name, False


def _type_differences(
    old: t.DataType, old_mode: t.MappingMode, new: t.DataType, new_mode: t.MappingMode, name: str
) -> Iterator[tuple[str, str, bool]]:
    match old, new:
        case t.StructType(), t.StructType():
            yield from _differences(old, old_mode, new, new_mode, f"{name}.")
        case t.ArrayType(element), t.ArrayType(other):
            yield from _type_differences(element, old_mode, other, new_mode, f"{name}.element")
        case t.MapType(key, value), t.MapType(other_key, other_value):
            yield from _type_differences(key, old_mode, other_key, new_mode, f"{name}.key")
            yield from _type_differences(value, old_mode, other_value, new_mode, f"{name}.value")
        case _ if old != new and not is_widening(old, new):
            reason = f"The type of column {name!r} changed from {t.simple_string(old)} to {t.simple_string(new)}"
            yield reason, name, old in _INTEGERS and is_widening(new, old)


def _key(field: t.StructField, mode: t.MappingMode) -> str:
    """The physical name; without column mapping, names are compared without case."""
    name = t.physical_name(field, mode)
    return name.lower() if mode == "none" else name
