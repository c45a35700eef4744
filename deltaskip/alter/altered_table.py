"""The state of a table while it is altered: each change applies to the result of the previous one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from deltaskip.actions import DomainMetadata, Metadata, Protocol
from deltaskip.features.clustering import CLUSTERING_DOMAIN, ordered_clustering_paths
from deltaskip.features.enabling import with_features
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.schema.mapping import with_new_ids
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import MappingMode, StructType, parse_schema, schema_to_json

PhysicalPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """One change that was made, for the table's history.

    Attributes:
        operation: Name of the operation, as delta-spark writes it.
        parameters: Its parameters.
    """

    operation: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AlteredTable:
    """The state of a table apart from its files.

    Attributes:
        snapshot: The version of the table whose files exist.
        schema: The columns.
        metadata: The metaData action; `schema` is newer than its schemaString.
        protocol: The protocol, which is raised only after all changes.
        clustering: Physical paths of the clustering columns, in order; None if the table never had any.
        features: Features that were requested by name.
        dropped: Features that were dropped, with whether the history is truncated.
        new_constraints: Names of constraints that existing rows have not been checked against.
        steps: The changes so far.
    """

    snapshot: Snapshot = field(compare=False)
    schema: StructType
    metadata: Metadata
    protocol: Protocol
    clustering: tuple[PhysicalPath, ...] | None
    features: frozenset[str] = frozenset()
    dropped: Mapping[str, bool] = field(default_factory=dict)
    new_constraints: tuple[str, ...] = ()
    steps: tuple[LoggedChange, ...] = ()

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        metadata: Metadata,
        protocol: Protocol,
        schema: StructType,
        domains: Mapping[str, DomainMetadata],
    ) -> AlteredTable:
        """Return the state of a table at a snapshot, with later actions of a transaction."""
        domain = domains.get(CLUSTERING_DOMAIN)
        clustered = None if domain is None else ordered_clustering_paths(domain.configuration)
        return cls(snapshot, schema, metadata, protocol, clustered)

    @property
    def table(self) -> str:
        """Location of the table, for messages."""
        return self.snapshot.root

    @property
    def next_version(self) -> int:
        """The version that a commit of the state becomes, unless others commit first."""
        return self.snapshot.version + 1

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table properties as strings."""
        return self.metadata.configuration

    @property
    def properties(self) -> TableProperties:
        """The table properties by typed attribute."""
        return TableProperties(self.metadata.configuration, self.table)

    @property
    def mode(self) -> MappingMode:
        """The column mapping mode; the protocol is raised for it afterwards."""
        return self.properties.well_formed().mapping_mode

    @property
    def written_metadata(self) -> Metadata:
        """The metaData action with the schema."""
        if self.schema == parse_schema(self.metadata.schema_string):
            return self.metadata
        return replace(self.metadata, schema_string=schema_to_json(self.schema))

    @property
    def written_snapshot(self) -> Snapshot:
        """The files of the table with the columns of the state."""
        return self.snapshot.with_state(self.protocol_with_mapping, self.written_metadata)

    @property
    def protocol_with_mapping(self) -> Protocol:
        """The protocol with the feature that the column mapping mode needs."""
        return self.protocol if self.mode == "none" else with_features(self.protocol, ["columnMapping"])


def done(state: AlteredTable, operation: str, parameters: Mapping[str, Any]) -> AlteredTable:
    """Return the state with another step."""
    return replace(state, steps=(*state.steps, LoggedChange(operation, parameters)))


def with_schema(state: AlteredTable, schema: StructType) -> AlteredTable:
    """Return the state with another schema; ids and physical names are assigned to new fields if columns are mapped."""
    if state.mode == "none":
        return replace(state, schema=schema)
    schema, changed = with_new_ids(schema, state.properties.well_formed())
    state = replace(state, schema=schema)
    for name, value in changed.items():
        state = with_property(state, name, value)
    return state


def with_property(state: AlteredTable, name: str, value: str | None) -> AlteredTable:
    """Return the state with the text of a property; None removes it."""
    configuration = {key: text for key, text in state.configuration.items() if key != name}
    if value is not None:
        configuration[name] = value
    return replace(state, metadata=replace(state.metadata, configuration=configuration))
