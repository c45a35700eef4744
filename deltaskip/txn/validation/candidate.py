"""A commit to check: its actions, the version that it follows, and the state of the table after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import pyarrow as pa

from deltaskip.actions import AddCdcFile, AddFile, Metadata, Protocol
from deltaskip.errors import SchemaError
from deltaskip.features.commit_rules import refusal
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.log.new_table import table_after
from deltaskip.records import dataclass
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import MappingMode, StructType, parse_schema
from deltaskip.txn.intent import Intent, dv_id
from deltaskip.txn.known_files import Known, known_files


@dataclass(frozen=True)
class Candidate:
    """A transaction as the commit after `base`.

    known: the entries of `base` for files that are removed or added again, by their keys. removed: the files that are
    removed with all their rows, as columns of remove actions, exactly as in `base`.
    """

    intent: Intent
    base: Snapshot
    known: Mapping[str, Known]
    removed: pa.Table | None = None

    @property
    def protocol(self) -> Protocol:
        """The protocol after the commit."""
        return self.intent.protocol or self.base.protocol

    @property
    def metadata(self) -> Metadata:
        """The metadata after the commit."""
        return self.intent.metadata or self.base.metadata

    @cached_property
    def properties(self) -> TableProperties:
        """The table's properties after the commit, by typed attribute."""
        return TableProperties(self.metadata.configuration, self.base.root)

    @cached_property
    def mode(self) -> MappingMode:
        """The column mapping mode after the commit."""
        return mapping_mode(self.protocol, self.properties)

    @cached_property
    def schema(self) -> StructType:
        """The schema after the commit. Raises InvalidCommit if the transaction sets one that does not parse."""
        text = self.metadata.schema_string
        if text == self.base.metadata.schema_string:
            return self.base.schema
        try:
            return parse_schema(text)
        except SchemaError as error:
            why = f"The metaData of {self.place} has a schema that cannot be read: {error}"
            raise refusal("schema.json", why) from error

    @property
    def place(self) -> str:
        """The commit in messages."""
        return f"a commit to {table_after(self.base)}"

    @cached_property
    def ends_every_file(self) -> bool:
        """Whether no file of `base` is active after the commit."""
        whole = 0 if self.removed is None else len(self.removed)
        return self.base.num_files <= whole + sum(key not in self.intent.adds for key in self.intent.removes)

    def stats_before(self, key: str) -> str | None:
        """The statistics that `base` contains for the file with this key; None if it is not active or has none."""
        known = self._known_with_stats.get(key)
        return None if known is None else known.stats

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

    def refuse_metadata(self, rule: str, why: str) -> NoReturn:
        """Raise InvalidCommit for the metaData action."""
        raise refusal(rule, f"The metaData of {self.place} {why}")


def refuse_file(candidate: Candidate, add: AddFile | AddCdcFile, rule: str, why: str) -> NoReturn:
    """Raise InvalidCommit for an added file that breaks a rule."""
    raise refusal(rule, f"{add.path} cannot be added to {table_after(candidate.base)}: {why}")
