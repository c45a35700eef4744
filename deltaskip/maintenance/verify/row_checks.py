"""Rules of rows: NOT NULL, CHECK constraints, invariants, generated and identity columns, over rows that files have.

# PROTOCOL, Column Invariants, CHECK Constraints, Generated Columns, Identity Columns
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import DeltaSkipError, PredicateError, SchemaError, UnsupportedFeature
from deltaskip.features.identity_columns import IdentityColumn, identity_of
from deltaskip.log import Snapshot
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.rows.rules import RowRule, generation_rule, rule_condition, rules_of
from deltaskip.rows.schema_merge import all_nullable
from deltaskip.rows.zone_dependence import predicate_depends_on_zone
from deltaskip.sparkexpr import columns_in, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.local_expression import EvaluationPlace, LocalExpression, bound
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar

_NAMES = {"not null": "rows.not-null", "generated": "rows.generated", "check": "rows.constraint"}
_OTHER = "rows.constraint"


@dataclass(frozen=True, slots=True)
class RowRules:
    """The rules of a table's rows that can be evaluated in this process.

    Attributes:
        reader: Reads the columns that the rules use; None if there is no rule.
        conditions: Each rule, with the condition that its violation is.
        identities: The identity columns.
        unknown: Rules that cannot be evaluated, with the reason.
    """

    reader: StoredRows | None
    conditions: Sequence[tuple[RowRule, LocalExpression]]
    identities: Sequence[IdentityColumn]
    unknown: Sequence[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> RowRules:
        """Return the rules of a table. Expressions that depend on the time zone of a session are left out."""
        # Otherwise NOT NULL would count as proved.
        schema = all_nullable(snapshot.schema)
        assert isinstance(schema, t.StructType)
        place = EvaluationPlace(snapshot.root, "Verify such rows with Spark.", "", what="The rule")
        conditions: list[tuple[RowRule, LocalExpression]] = []
        unknown, used = list[str](), set[str]()
        for rule in _rules(snapshot, unknown):
            try:
                violated = f"NOT ({rule_condition(rule)})"
                if predicate_depends_on_zone(violated, schema):
                    continue
                node = bound(parse_sql(violated), schema, "UTC", None, True)
                conditions.append((rule, LocalExpression(node, schema, place)))
            except (UnsupportedFeature, PredicateError) as error:
                unknown.append(f"{rule.name}: {error}")
                continue
            used |= {t.fold_name(parts[0]) for parts in columns_in(rule.sql)}
        identities = []
        for field in snapshot.schema.fields:
            try:
                identity = identity_of(field)
            except SchemaError:
                continue  # a rule of the state has said so
            if identity is not None and not identity.explicit:
                identities.append(identity)
                used.add(t.fold_name(field.name))
        names = tuple(field.name for field in snapshot.schema.fields if t.fold_name(field.name) in used)
        reader = None
        if conditions or identities:
            names = names or tuple(snapshot.schema.names[:1])
            reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, names, threads=False)
        return cls(reader, conditions, identities, unknown)

    def violations(self, file: pa.Table) -> Iterator[tuple[str, str]]:
        """Yield each rule that rows of a file violate, and how many. Raises what reading the file raises."""
        if self.reader is None:
            return
        counts = [0] * len(self.conditions)
        numbers = [0] * len(self.identities)
        failed: dict[int, str] = {}
        with self.reader.open(file) as opened:
            for _, batch in self.reader.live(file, None, opened):
                for i, (_, condition) in enumerate(self.conditions):
                    try:
                        counts[i] += int(np.count_nonzero(condition.mask(batch.columns, len(batch))))
                    except DeltaSkipError as error:
                        failed[i] = str(error)
                for i, identity in enumerate(self.identities):
                    numbers[i] += _foreign(identity, batch.columns[identity.column])
        for (rule, _), count in zip(self.conditions, counts, strict=True):
            if count:
                what = f"{count:,} rows" if count > 1 else "a row"
                yield _NAMES.get(rule.kind, _OTHER), f"has {what} that violate{'' if count > 1 else 's'} {rule.name}"
        for identity, count in zip(self.identities, numbers, strict=True):
            if count:
                yield "rows.identity", f"has {count:,} values of {identity.column} that it cannot have generated"
        for i, why in failed.items():
            rule = self.conditions[i][0]
            yield _NAMES.get(rule.kind, _OTHER), f"has a row for which {rule.name} fails: {why}"


def _rules(snapshot: Snapshot, unknown: list[str]) -> Iterator[RowRule]:
    try:
        yield from rules_of(snapshot.schema, snapshot.table_properties)
        yield from (generation_rule(each) for each in snapshot.schema.fields if t.GENERATION_KEY in each.metadata)
    except SchemaError as error:
        unknown.append(str(error))


def _foreign(identity: IdentityColumn, values: pa.Array) -> int:
    """Number of values that an identity column that is always generated cannot have."""
    step = identity.step
    offset = pc.subtract(values, arrow_scalar(identity.start, pa.int64()))
    steps = pc.divide(offset, arrow_scalar(step, pa.int64()))
    other = pc.not_equal(pc.multiply(steps, arrow_scalar(step, pa.int64())), offset)
    other = pc.or_(other, pc.less(steps, arrow_scalar(0, pa.int64())))
    if identity.mark is None:
        return int(len(values) - values.null_count)
    mark = arrow_scalar(identity.mark, pa.int64())
    beyond = pc.greater(values, mark) if step > 0 else pc.less(values, mark)
    return int(pc.sum(pc.or_(other, beyond)).as_py() or 0)
