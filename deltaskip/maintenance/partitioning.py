"""New partition columns for an existing table: all of its rows are rewritten, in one commit.

Rows only move, so the files have dataChange false: the change data feed shows nothing, and rows keep their row ids.
Delta has one partitioning for all files of a version, so new data alone cannot be partitioned differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.actions import remove_files
from deltaskip.data_files.file_layout import layout_after
from deltaskip.dml.execution import copying_plan
from deltaskip.dml.files_to_change import DataFiles, kept_files
from deltaskip.dml.rows_to_change import execution_of
from deltaskip.errors import PredicateError, SchemaError
from deltaskip.features.clustering import CLUSTERING_DOMAIN, clustering_domain, clustering_paths
from deltaskip.features.enabling import protocol_for
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.log import Snapshot
from deltaskip.maintenance.results import PartitioningResult
from deltaskip.records import dataclass
from deltaskip.rows.plan import PlannedColumn, RowPlan, computed_sql
from deltaskip.rows.rules import RowRule
from deltaskip.rows.store import written_type
from deltaskip.schema.mapping import with_new_ids
from deltaskip.schema.properties import PARTITIONING_KEY, TableProperties
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import GENERATION_KEY, STRING, StructField, StructType, schema_to_json
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.transforms import Transform
from deltaskip.transforms.generated_columns import Partitioned, partitioned, transform_of
from deltaskip.transforms.partitioning_property import declaration, hidden_columns
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.validation.schema import expressions, schema_problems
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

_OPERATION = "REPLACE PARTITIONING"


@dataclass(frozen=True, slots=True)
class _Layout:
    """A table under new partition columns. kept: the columns of its rows, without computed ones."""

    made: Partitioned
    schema: StructType
    kept: StructType
    configuration: dict[str, str]


def replace_partitioning(
    snapshot: Snapshot, transforms: Sequence[Transform], spark: Any = None, options: WriteOptions = PLAIN_WRITE
) -> PartitioningResult:
    """Rewrite all rows of a table with other partition columns, see DeltaTable.replace_partitioning."""
    done: list[_Layout] = []

    def act(transaction: Transaction) -> Mapping[str, int]:
        latest = transaction.snapshot
        layout = _layout(latest, transforms)
        done[:] = [layout]
        if _same(latest, layout):
            return {}
        before = [str(each) for each in _transforms(latest)]
        parameters = {"partitionBy": list(layout.made.partition_columns), "transforms": list(map(str, transforms))}
        transaction.set_operation(_OPERATION, {**parameters, "oldTransforms": before})
        scan = Scan(latest, ReadOptions("true", time_zone=options.time_zone))
        transaction.read_scan(scan)
        files = kept_files(scan)
        _put_table(transaction, layout)
        return _put_rows(transaction, layout, files, spark, options.time_zone) if len(files) else {}

    result = commit_operation(snapshot, _OPERATION, act, options)
    [layout] = done
    columns, hidden = layout.made.partition_columns, layout.made.hidden
    return PartitioningResult(
        result.version, _OPERATION, result.metrics, partition_columns=columns, hidden_columns=hidden
    )


def _transforms(snapshot: Snapshot) -> list[Transform]:
    fields = {field.name: field for field in snapshot.schema.fields}
    return [transform_of(snapshot.schema, fields[name]) for name in snapshot.partition_columns]


def _same(snapshot: Snapshot, layout: _Layout) -> bool:
    """Whether the table already has this partitioning."""
    clustering = snapshot.domains.get(CLUSTERING_DOMAIN)
    clustered = clustering is not None and bool(clustering_paths(clustering.configuration))
    columns = tuple(snapshot.partition_columns)
    return columns == layout.made.partition_columns and snapshot.schema == layout.schema and not clustered


def _layout(snapshot: Snapshot, transforms: Sequence[Transform]) -> _Layout:
    """The table with the new partition columns. Raises SchemaError if it cannot have them."""
    root, schema = snapshot.root, snapshot.schema
    old = hidden_columns(schema, snapshot.partition_columns, snapshot.properties)
    made = partitioned(schema, transforms, root)
    dropped = frozenset(old) - frozenset(made.partition_columns)
    _check_unused(snapshot, dropped)
    fields = tuple(field for field in made.schema.fields if field.name not in dropped)
    hidden = tuple(name for name in made.partition_columns if name in made.hidden or name in old)
    made = Partitioned(StructType(fields), made.partition_columns, hidden)
    configuration = {key: text for key, text in snapshot.properties.items() if key != PARTITIONING_KEY}
    listed = declaration(transforms, made)
    if listed is not None:
        configuration[PARTITIONING_KEY] = listed
    after, properties = made.schema, TableProperties(configuration, root)
    if snapshot.mapping_mode != "none":
        after, changed = with_new_ids(after, properties)
        configuration.update(changed)
    _check_columns(snapshot, after, made.partition_columns, TableProperties(configuration, root))
    known = frozenset(schema.names)
    kept = StructType(tuple(field for field in after.fields if field.name in known))
    return _Layout(made, after, kept, configuration)


def _check_unused(snapshot: Snapshot, dropped: frozenset[str]) -> None:
    """Raise SchemaError if a constraint or generated column uses a hidden column that would be dropped."""
    for owner, text in expressions(snapshot.schema, snapshot.table_properties) if dropped else ():
        try:
            used = {parts[0] for parts in columns_of(parse_sql(text))} if text is not None else set(dropped)
        except PredicateError:
            used = set(dropped)
        name = next(iter(sorted(used & dropped)), None)
        if name is not None and not owner.endswith(f" of the column {name}"):
            raise SchemaError(
                f"The hidden column {name} of {snapshot.root} cannot be dropped, because {owner} uses it ({text}): "
                f"drop that first."
            )


def _check_columns(snapshot: Snapshot, schema: StructType, columns: Sequence[str], properties: TableProperties) -> None:
    """Raise SchemaError before files are written if the commit would be refused."""
    shown = ", ".join(columns)
    if properties.iceberg_compat:
        raise SchemaError(
            f"The partition columns of {snapshot.root} cannot be replaced, because Iceberg compatibility is enabled: "
            f"disable it first."
        )
    if len(columns) == len(schema.fields):
        raise SchemaError(
            f"{snapshot.root} cannot be partitioned by {shown}: all its columns would be partition columns, so files "
            f"would have no columns."
        )
    mode = snapshot.mapping_mode
    before = snapshot.table_properties.well_formed()
    had = set(schema_problems(snapshot.schema, tuple(snapshot.partition_columns), before, mode))
    for rule, why in schema_problems(schema, tuple(columns), properties, mode):
        if (rule, why) not in had:
            raise SchemaError(f"{snapshot.root} cannot be partitioned by {shown}, because the table then {why}.")


def _put_table(transaction: Transaction, layout: _Layout) -> None:
    """Add the metadata, the protocol and the end of clustering to the transaction."""
    root = transaction.snapshot.root
    protocol = protocol_for(transaction.protocol, TableProperties(layout.configuration, root), layout.schema)
    if protocol is not transaction.protocol:
        transaction.set_protocol(protocol)
    metadata = replace(
        transaction.metadata,
        schema_string=schema_to_json(layout.schema),
        partition_columns=layout.made.partition_columns,
        configuration=layout.configuration,
    )
    transaction.set_metadata(metadata, keep_collations=False)
    if CLUSTERING_DOMAIN in transaction.domains:
        transaction.changes.put_domain(replace(clustering_domain(()), removed=True))


def _put_rows(
    transaction: Transaction, layout: _Layout, files: DataFiles, spark: Any, time_zone: str
) -> dict[str, int]:
    """Rewrite the rows of all files, and replace the files."""
    snapshot = transaction.snapshot
    row_ids = row_id_columns(snapshot.table_properties, snapshot.protocol)
    state = transaction.protocol, transaction.metadata, layout.schema, transaction.domains
    target = layout_after(snapshot, *state, time_zone)
    if row_ids is not None:
        target = replace(target, extra=row_ids.fields)
    plan = _plan(snapshot, layout, [field.name for field in target.extra])
    execution = execution_of(snapshot, spark, time_zone, "Partitioning")
    written = execution.write_planned(files.listed, layout.kept, plan, row_ids, target)
    adds = [replace(add, data_change=False) for add in written.files]
    transaction.add_written(*adds, delete=lambda: written.delete(snapshot.storage, snapshot.root))
    transaction.remove(*remove_files(files.logged, current_ms(), data_change=False))
    if row_ids is not None:
        transaction.changes.row_ids_kept = True
    return {
        "numRemovedFiles": len(files),
        "numRemovedBytes": files.size_in_bytes,
        "numAddedFiles": len(adds),
        "numAddedBytes": written.size_in_bytes,
        "numOutputRows": written.rows,
    }


def _plan(snapshot: Snapshot, layout: _Layout, extra: Sequence[str]) -> RowPlan:
    """The unchanged rows with the new columns; no other rule is checked."""
    root, columns = snapshot.root, layout.made.partition_columns
    plan = replace(copying_plan(root, layout.kept, columns, extra), allow_reflection=snapshot.allow_reflection)
    known = frozenset(layout.kept.names)
    added = tuple(_computed(field, layout, root) for field in layout.schema.fields if field.name not in known)
    rules = tuple(
        _not_empty(field)
        for field in layout.kept.fields
        if field.name in columns and field.name not in snapshot.partition_columns and field.type == STRING
    )
    return replace(plan, schema=layout.schema, columns=(*plan.columns, *added), rules=rules)


def _computed(field: StructField, layout: _Layout, table: str) -> PlannedColumn:
    written = StructField(field.name, written_type(field.type, (field.name,), table), field.nullable, field.metadata)
    text = str(field.metadata[GENERATION_KEY])
    sql = computed_sql(text, written, layout.schema)
    if field.type == STRING:
        sql = f"IF(length({sql}) = 0, NULL, {sql})"
    return PlannedColumn(written, "generated", sql, expression=text, empty_is_null=field.type == STRING)


def _not_empty(field: StructField) -> RowRule:
    """# PROTOCOL, Partition Value Serialization: the empty string is null, so a rewrite would change the row."""
    name = quoted_name(field.name)
    return RowRule(
        f"partition column {field.name}",
        "invariant",
        f"{name} <> '' (the empty string is NULL in a partition column)",
        f"({name} IS NULL OR length({name}) > 0)",
    )
