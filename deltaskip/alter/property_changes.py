"""Sets and removes table properties, with the changes that a property requires.

# PROTOCOL, Table Properties, Column Mapping, Row Tracking
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from deltaskip.alter.altered_table import AlteredTable, LoggedChange, done, with_property, with_schema
from deltaskip.alter.features import requested_feature
from deltaskip.alter.table_changes import IF_EXISTS, RemoveProperty, SetComment, SetProperty
from deltaskip.errors import InvalidArgument, SchemaError, UnsupportedFeature
from deltaskip.features.enabling import (
    FEATURE_PREFIX,
    VERSION_PROPERTIES,
    feature_of_property,
    spelled_property,
    with_version_property,
)
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS, with_materialized_columns
from deltaskip.log.commit_times import ENABLEMENT
from deltaskip.schema.mapping import map_new_columns
from deltaskip.schema.properties import (
    CONSTRAINT_PREFIX,
    UNIFORM_KEY,
    TableProperties,
    check_given_property,
    is_delta_property,
    meant_property,
)
from deltaskip.sparkexpr.types import parse_names
from deltaskip.stats.stats_columns import STATS_COLUMNS

_PREFIX = "delta."
_SET, _UNSET = "SET TBLPROPERTIES", "UNSET TBLPROPERTIES"
_COMMENT = "comment"
# Spark keeps these as attributes of the table, not as properties.
_RESERVED = ("external", "location", "provider")
_MAINTAINED = (
    TableProperties.max_column_id.name,
    TableProperties.has_dropped_or_renamed.name,
    *ENABLEMENT,
    TableProperties.checkpoint_protection_version.name,
    *MATERIALIZED_COLUMNS,
)


def set_properties(state: AlteredTable, changes: Iterable[SetProperty]) -> AlteredTable:
    """Return the state with properties, and with the features and columns that they need."""
    own: dict[str, str] = {}
    for change in changes:
        name = spelled_property(change.property)
        if _is_own(name):
            own[name] = change.value
        else:
            state = _set_step(state, name, change.value)
    had = state.configuration
    own = {name: value for name, value in own.items() if had.get(name) != value}
    return _with_steps(state, {**had, **own}, [LoggedChange(_SET, {"property": item}) for item in own.items()])


def remove_properties(state: AlteredTable, changes: Iterable[RemoveProperty]) -> AlteredTable:
    """Return the state without properties."""
    left = dict(state.configuration)
    removed: list[LoggedChange] = []
    for change in changes:
        name = spelled_property(change.property)
        if _is_own(name) and name in left:
            del left[name]
            removed.append(LoggedChange(_UNSET, {"property": name}))
        elif not (_is_own(name) and change.if_exists):
            state = _without(_with_steps(state, left, removed), name, change.if_exists)
            left, removed = dict(state.configuration), []
    return _with_steps(state, left, removed)


def set_comment(state: AlteredTable, change: SetComment) -> AlteredTable:
    """Return the state with another description of the table."""
    if state.metadata.description == change.comment:
        return state
    after = replace(state, metadata=replace(state.metadata, description=change.comment))
    return done(after, _SET, {"property": (_COMMENT, change.comment or "")})


def check_retention(before: AlteredTable, after: AlteredTable) -> None:
    """Raise InvalidArgument if the log's new retention is shorter than removed files', as delta-spark does."""
    log, files = TableProperties.log_retention_ms, TableProperties.deleted_file_retention_ms
    old, new = (state.properties.well_formed() for state in (before, after))
    kept = new.log_retention_ms
    if kept != old.log_retention_ms and kept < new.deleted_file_retention_ms:
        raise InvalidArgument(
            f"The property {log.name} of {after.table} cannot be shorter than {files.name}, since earlier versions "
            f"need both: set both in one alter."
        )


def _is_own(name: str) -> bool:
    """Whether the property has no meaning for Delta and this package, so that it requires no other change."""
    special = (_COMMENT, *_RESERVED)
    return not (name.lower().startswith(_PREFIX) or is_delta_property(name) or name.lower() in special)


def _with_steps(state: AlteredTable, configuration: Mapping[str, str], steps: Sequence[LoggedChange]) -> AlteredTable:
    if not steps:
        return state
    metadata = replace(state.metadata, configuration=configuration)
    return replace(state, metadata=metadata, steps=(*state.steps, *steps))


def _set_step(state: AlteredTable, name: str, value: str) -> AlteredTable:
    after = _set(state, name, value)
    if after == state:
        return state
    shown = name.lower() if name.startswith(FEATURE_PREFIX) else name
    return done(after, _SET, {"property": (shown, value)})


def _without(state: AlteredTable, name: str, if_exists: bool) -> AlteredTable:
    if name.startswith(FEATURE_PREFIX):
        feature = name.removeprefix(FEATURE_PREFIX)
        raise InvalidArgument(
            f"The property {name} cannot be removed from {state.table}: drop the feature with DropFeature({feature!r})."
        )
    _refuse_special(state, name, "removed from")
    if name == _COMMENT and state.metadata.description is not None:
        after = replace(state, metadata=replace(state.metadata, description=None))
    elif name not in state.configuration:
        if if_exists:
            return state
        known = ", ".join(sorted(state.configuration)) or "none"
        raise InvalidArgument(
            f"{state.table} has no property {name}: use {IF_EXISTS} if that is no error. It has {known}."
        ).advising(IF_EXISTS)
    else:
        if name == TableProperties.mapping_mode.name:
            _set_mode(state, "none")
        after = with_property(state, name, None)
    return done(after, _UNSET, {"property": name})


def _set(state: AlteredTable, name: str, value: str) -> AlteredTable:
    feature = feature_of_property(name, value, f" (table {state.table})")
    if feature is not None:
        return requested_feature(state, feature)
    if name in VERSION_PROPERTIES:
        where = f" (table {state.table})"
        return replace(state, protocol=with_version_property(state.protocol, name, value, where))
    if name == _COMMENT:
        return replace(state, metadata=replace(state.metadata, description=value))
    _refuse_special(state, name, "set on")
    _check_value(state, name, value)
    if name == TableProperties.mapping_mode.name:
        return _set_mode(state, value)
    if name == UNIFORM_KEY and value.strip():
        raise UnsupportedFeature(
            f"The property {name} cannot be set on {state.table}, because deltaskip does not write the metadata of "
            f"other formats: set it with a client that does."
        )
    enabled = state.properties.well_formed().iceberg_compat
    state = with_property(state, name, value)
    if state.properties.well_formed().iceberg_compat != enabled:
        return _with_iceberg(state, name)
    if name == TableProperties.row_tracking.name and state.properties.row_tracking:
        configuration = with_materialized_columns(state.configuration)
        state = replace(state, metadata=replace(state.metadata, configuration=configuration))
    return state


def _set_mode(state: AlteredTable, value: str) -> AlteredTable:
    """# PROTOCOL, Column Mapping: existing columns keep their names as physical names, and no file is rewritten."""
    definition = TableProperties.mapping_mode
    before, after = state.mode, definition.parse(value, state.table)
    if before == after:
        return with_property(state, definition.name, value) if definition.name in state.configuration else state
    if (before, after) != ("none", "name"):
        needs = "rewriting every data file" if after == "none" else "data files that have column ids"
        raise UnsupportedFeature(
            f"{definition.name} of {state.table} cannot be changed from {before} to {after}, which needs {needs}: "
            f"create a table with the mode {after}, and copy the rows."
        )
    state = with_property(state, definition.name, value)
    schema, highest = map_new_columns(state.schema, state.properties.well_formed().max_column_id or 0, keep_names=True)
    return with_schema(with_property(state, TableProperties.max_column_id.name, str(highest)), schema)


def _with_iceberg(state: AlteredTable, name: str) -> AlteredTable:
    """# PROTOCOL, Iceberg Compatibility V2: ids for elements, keys and values, also in data files"""
    if state.properties.well_formed().iceberg_compat and state.snapshot.num_files:
        raise UnsupportedFeature(
            f"{name} cannot be set on {state.table}, whose data files may lack what Iceberg needs: create a table with "
            f"the property and copy the rows, or run REORG TABLE … APPLY (UPGRADE UNIFORM …) with delta-spark."
        )
    return with_schema(state, state.schema)


def _check_value(state: AlteredTable, name: str, value: str) -> None:
    if not is_delta_property(name):
        if name.lower().startswith(_PREFIX):
            raise InvalidArgument(
                f"Delta does not define the property {name}, so it cannot be set on {state.table}: correct the name, "
                f"or use another prefix than {_PREFIX!r} for properties of your own.{meant_property(name)}"
            )
        return
    check_given_property(name, value, state.table)
    try:
        if name == STATS_COLUMNS:
            parse_names(value, name)
    except SchemaError as error:
        raise InvalidArgument(f"The property cannot be set on {state.table}: {error}") from error


def _refuse_special(state: AlteredTable, name: str, what: str) -> None:
    cure = None
    if name.startswith(CONSTRAINT_PREFIX):
        cure = "use AddConstraint and DropConstraint, which check existing rows"
    elif name in _MAINTAINED:
        cure = "writers of the table maintain it"
    elif name in VERSION_PROPERTIES:
        cure = "it is part of the protocol"
    elif name.lower() in _RESERVED:
        cure = "it is not a property of a Delta table"
    if cure is not None:
        raise InvalidArgument(f"The property {name} cannot be {what} {state.table}: {cure}.")
