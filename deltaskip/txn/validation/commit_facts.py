"""What the rules of commits are asked about: a commit, the version that it follows, and the table after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

import pyarrow as pa

from deltaskip.actions import AddCdcFile, AddFile, DomainMetadata, Metadata, Protocol
from deltaskip.features.clustering import CLUSTERING_DOMAIN, clustering_paths
from deltaskip.features.registry import features_of
from deltaskip.features.row_tracking import tracks_rows
from deltaskip.features.violation import Violation
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.log.new_table import table_after
from deltaskip.records import dataclass
from deltaskip.schema import physical_schema
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import MappingMode, StructType, parse_schema
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.txn.intent import Intent, dv_id
from deltaskip.txn.known_files import Known, known_files


@dataclass(frozen=True)
class CommitFacts:
    """A transaction as the commit after `base`, read once for all rules.

    Attributes:
        intent: The actions.
        base: The version that the commit follows.
        known: The entries of `base` for files that are removed or added again, by their keys.
        removed: The files that are removed with all their rows, as columns of remove actions, exactly as in `base`.
    """

    intent: Intent
    base: Snapshot
    known: Mapping[str, Known]
    removed: pa.Table | None = None
    _rows: dict[str, int | None] = field(default_factory=dict)

    @property
    def protocol(self) -> Protocol:
        """The protocol after the commit."""
        return self.intent.protocol or self.base.protocol

    @property
    def metadata(self) -> Metadata:
        """The metadata after the commit."""
        return self.intent.metadata or self.base.metadata

    @cached_property
    def features(self) -> frozenset[str]:
        """Names of the features that the protocol after the commit lists or implies."""
        return features_of(self.protocol)

    @cached_property
    def properties(self) -> TableProperties:
        """The table's properties after the commit, by typed attribute."""
        return TableProperties(self.metadata.configuration, self.base.root)

    @cached_property
    def properties_before(self) -> TableProperties:
        """The table's properties before the commit, without malformed ones, which a commit may correct."""
        return self.base.table_properties.well_formed()

    @cached_property
    def mode(self) -> MappingMode:
        """The column mapping mode after the commit."""
        return mapping_mode(self.protocol, self.properties)

    @cached_property
    def schema(self) -> StructType:
        """The schema after the commit. Raises SchemaError if the transaction sets one that does not parse."""
        text = self.metadata.schema_string
        return self.base.schema if text == self.base.metadata.schema_string else parse_schema(text)

    @cached_property
    def physical_schema(self) -> StructType:
        """The schema after the commit with physical names."""
        return physical_schema(self.schema, self.mode)

    @property
    def changes_state(self) -> bool:
        """Whether it sets the metadata or the protocol."""
        return self.intent.metadata is not None or self.intent.protocol is not None

    @cached_property
    def tracks_rows(self) -> bool:
        """Whether rows have ids after the commit."""
        return tracks_rows(self.protocol, self.properties)

    @cached_property
    def tracked_rows(self) -> bool:
        """Whether writers had to give ids to rows before the commit."""
        return tracks_rows(self.base.protocol, self.base.table_properties)

    @cached_property
    def clustering(self) -> tuple[tuple[str, ...], ...]:
        """Physical paths of the clustering columns after the commit."""
        domain = self.domain(CLUSTERING_DOMAIN)
        return () if domain is None else tuple(sorted(clustering_paths(domain.configuration) or ()))

    def domain(self, name: str) -> DomainMetadata | None:
        """The metadata domain after the commit; None if the table does not have it."""
        found = self.intent.domains.get(name) or self.base.domains.get(name)
        return None if found is None or found.removed else found

    @cached_property
    def table(self) -> str:
        """The table in messages."""
        return table_after(self.base)

    @property
    def place(self) -> str:
        """The commit in messages."""
        return f"a commit to {self.table}"

    @cached_property
    def ends_every_file(self) -> bool:
        """Whether no file of `base` is active after the commit."""
        whole = 0 if self.removed is None else len(self.removed)
        return self.base.num_files <= whole + sum(key not in self.intent.adds for key in self.intent.removes)

    def adds(self) -> Iterator[tuple[str, AddFile, Mapping[str, Any] | None]]:
        """The added files: key, action, and statistics as parsed; None where they are missing or no JSON object."""
        for key, add in self.intent.adds.items():
            stats = parsed_stats(add.stats)
            self._rows[key] = num_records(stats)
            yield key, add, stats

    def rows(self, key: str) -> int | None:
        """Number of rows of the added file with this key; None if its statistics do not have it."""
        if key not in self._rows:
            self._rows[key] = num_records(parsed_stats(self.intent.adds[key].stats))
        return self._rows[key]

    def rows_before(self, key: str) -> int | None:
        """Number of rows that `base` has for the file with this key; None if it is not active or not known."""
        return num_records(self.stats_before(key))

    def stats_before(self, key: str) -> Mapping[str, Any] | None:
        """The statistics that `base` has for the file with this key; None if it is not active or has none."""
        known = self._known_with_stats.get(key)
        return None if known is None else parsed_stats(known.stats)

    @cached_property
    def _known_with_stats(self) -> Mapping[str, Known]:
        return known_files(self.base, self.known, stats=True)

    def is_new(self, key: str) -> bool:
        """Whether the add with this key is of a file that is not active in `base`."""
        return key not in self.known

    def brings_rows(self, key: str, add: AddFile) -> bool:
        """Whether the add may bring rows that the table did not contain.

        A file that is added again with a deletion vector that deletes at least as many rows as before brings none.
        """
        old = self.known.get(key)
        if not add.data_change:
            return False
        if old is None or old.dv_id == dv_id(add):
            return True
        return add.deletion_vector is None or add.deletion_vector.cardinality < old.deleted

    def takes_rows(self, key: str) -> bool:
        """Whether the remove with this key may remove rows from the table."""
        remove, add = self.intent.removes[key], self.intent.adds.get(key)
        if not remove.data_change:
            return False
        vector = None if add is None else add.deletion_vector
        if add is None or key not in self.known:
            return True
        return vector is not None and vector.cardinality >= self.known[key].deleted

    def of_metadata(self, rule: str, why: str) -> Violation:
        """The violation of a rule by the metaData action."""
        return Violation(rule, f"The metaData of {self.place} {why}")

    def of_protocol(self, rule: str, why: str) -> Violation:
        """The violation of a rule by the protocol action."""
        return Violation(rule, f"The protocol action of {self.place} {why}; correct the action")

    def of_file(self, add: AddFile | AddCdcFile, rule: str, why: str) -> Violation:
        """The violation of a rule by an added file."""
        return Violation(rule, f"{add.path} cannot be added to {self.table}: {why}")
