"""The rows of SHOW and DESCRIBE as Arrow tables, with the columns of Spark and delta-spark.

# Spark 4.1: ShowNamespacesExec, ShowTablesExec, ShowTablePropertiesExec, DescribeTableExec,
# DescribeNamespaceExec, ShowCreateTableExec
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.catalogs.identifier import CatalogIdentifier
from deltaskip.catalogs.table_catalog import NamespaceDescription
from deltaskip.errors import SchemaError
from deltaskip.features.enabling import FEATURE_PREFIX, READER_VERSION, WRITER_VERSION
from deltaskip.features.identity_columns import identity_of
from deltaskip.schema.properties import PARTITIONING_KEY, TableProperties
from deltaskip.skipping.table_coverage import clustering_columns
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import quoted_text
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.lengths import with_lengths
from deltaskip.storage.gate import contains
from deltaskip.table.table import DeltaTable

NO_ROWS = pa.table({})
"""The answer of a statement that returns nothing."""

_DESCRIBED = "col_name STRING, data_type STRING, comment STRING"
_INFO = "info_name STRING, info_value STRING"
# Properties that a user would not set again.
_OWN_PROPERTIES = (
    PARTITIONING_KEY,
    TableProperties.max_column_id.name,
    TableProperties.row_id_column.name,
    TableProperties.row_commit_version_column.name,
    TableProperties.in_commit_timestamps_version.name,
    TableProperties.in_commit_timestamps_since_ms.name,
)


def rows(schema: str, values: Iterable[Sequence[Any]]) -> pa.Table:
    """Return rows as a table.

    Args:
        schema: The columns as SQL text.
        values: The rows.
    """
    typed = t.arrow_schema(parse_columns(schema))
    columns = list(zip(*values, strict=True)) or [()] * len(typed)
    pairs = zip(columns, typed, strict=True)
    arrays = [pa.array([_value(each) for each in column], field.type) for column, field in pairs]
    return pa.table(arrays, schema=typed)


def _value(value: Any) -> Any:
    """The value for pyarrow, which expects the entries of a map as pairs."""
    if isinstance(value, dict) and all(isinstance(each, str | None) for each in value.values()):
        return list(value.items())
    return value


def listed_namespaces(names: Iterable[tuple[str, ...]], pattern: str | None) -> pa.Table:
    """Return the rows of SHOW NAMESPACES."""
    shown: Iterable[str] = map(t.display_name, names)
    found = shown if pattern is None else filter(name_test(pattern), shown)
    return rows("namespace STRING NOT NULL", ((name,) for name in found))


def listed_tables(idents: Iterable[CatalogIdentifier]) -> pa.Table:
    """Return the rows of SHOW TABLES."""
    found = ((t.display_name(ident.namespace), ident.name, False) for ident in idents)
    return rows("namespace STRING NOT NULL, tableName STRING NOT NULL, isTemporary BOOLEAN NOT NULL", found)


def shown_partitions(table: DeltaTable, where: str | None, time_zone: str) -> pa.Table:
    """Return the rows of SHOW PARTITIONS: a column for each partition column, in the order of the values.

    Raises SchemaError for a table without partitions.
    """
    # delta-spark 4.4, ShowDeltaPartitionsCommand; Spark has one column of folders for its own tables.
    if not table.partition_columns:
        raise SchemaError(f"The table {table.uri} is not partitioned, so it has no partitions to show.")
    return pa.Table.from_struct_array(table.partitions(where, time_zone=time_zone)["partition_values"])


def properties_of(table: DeltaTable, name: str, key: str | None) -> pa.Table:
    """Return the rows of SHOW TBLPROPERTIES. name: of the table, for the answer if the property `key` is not set."""
    protocol = table.protocol
    shown = {
        **table.properties,
        READER_VERSION: str(protocol.min_reader_version),
        WRITER_VERSION: str(protocol.min_writer_version),
    }
    for feature in sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())}):
        shown.setdefault(f"{FEATURE_PREFIX}{feature}", "supported")
    if key is not None:
        shown = {key: shown.get(key, f"Table {name} does not have property: {key}")}
    return rows("key STRING NOT NULL, value STRING NOT NULL", sorted(shown.items()))


def shown_columns(table: DeltaTable) -> pa.Table:
    """Return the rows of SHOW COLUMNS."""
    return rows("col_name STRING NOT NULL", ((field.name,) for field in visible_columns(table)))


def visible_columns(table: DeltaTable) -> list[t.StructField]:
    """Return the columns of a table without those that its transforms have added."""
    hidden = set(table.hidden_columns)
    return [field for field in table.schema.fields if field.name not in hidden]


def described_table(table: DeltaTable, name: str, extended: bool, catalog: str) -> pa.Table:
    """Return the rows of DESCRIBE TABLE: the columns, the partitioning, and if extended facts about the table.

    Args:
        table: The table.
        name: Its name.
        extended: Whether to add facts.
        catalog: Name of the catalog.
    """
    found: list[tuple[str, str, str | None]] = [_described(field) for field in visible_columns(table)]
    transforms = table.partitioning
    named = {field.name: field for field in table.schema.fields}
    if table.partition_columns and not table.hidden_columns:
        found += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        found += [_described(named[column]) for column in table.partition_columns]
    elif transforms:
        found += [("# Partitioning", "", "")]
        found += [(f"Part {i}", str(transform), "") for i, transform in enumerate(transforms)]
    clustered = clustering_columns(table.snapshot)
    if clustered:
        found += [("# Clustering Information", "", ""), ("# col_name", "data_type", "comment")]
        found += [(column, _type_at(table.schema, column), None) for column in clustered]
    if extended:
        properties = ",".join(f"{key}={value}" for key, value in sorted(table.properties.items()))
        facts = [
            ("Name", name), ("Catalog", catalog), ("Comment", table.metadata.description), ("Provider", "delta"),
            ("Location", table.snapshot.root), ("Table Properties", f"[{properties}]"),
        ]  # fmt: skip
        found += [("", "", ""), ("# Detailed Table Information", "", "")]
        found += [(label, fact, "") for label, fact in facts if fact is not None]
    return rows(_DESCRIBED, found)


def described_column(table: DeltaTable, path: tuple[str, ...]) -> pa.Table:
    """Return the rows of DESCRIBE TABLE … column. Raises SchemaError if there is no such column."""
    named = {t.fold_name(field.name): field for field in table.schema.fields}
    field = named.get(t.fold_name(path[0]))
    if field is None or len(path) > 1:
        shown = t.display_name(path)
        raise SchemaError(f"The table {table.uri} has no column {shown} to describe: name a top-level column.")
    comment = field.metadata.get(t.COMMENT_KEY)
    facts = [
        ("col_name", field.name),
        ("data_type", t.simple_string(field.type, field)),
        ("comment", "NULL" if comment is None else str(comment)),
    ]
    return rows(_INFO, facts)


def described_namespace(described: NamespaceDescription, extended: bool) -> pa.Table:
    """Return the rows of DESCRIBE NAMESPACE."""
    facts = [("Catalog Name", described.catalog), ("Namespace Name", t.display_name(described.namespace))]
    named = (("Comment", described.comment), ("Location", described.location), ("Owner", described.owner))
    facts += [(label, text) for label, text in named if text is not None]
    if extended:
        shown = ", ".join(f"({key},{value})" for key, value in sorted(described.properties.items()))
        facts.append(("Properties", f"({shown})" if shown else ""))
    return rows(_INFO, facts)


def create_statement(table: DeltaTable, name: str, own_locations: Sequence[str]) -> str:
    """Return a CREATE TABLE statement that makes a table like this one.

    Args:
        table: The table.
        name: Its name.
        own_locations: Folders in which the catalog chooses the locations of tables; the statement only contains others.
    """
    lines = [f"  {_definition(field)}" for field in visible_columns(table)]
    found = [f"CREATE TABLE {name} (\n" + ",\n".join(lines) + ")", "USING delta"]
    if table.partition_columns:
        hidden = set(table.hidden_columns)
        pairs = zip(table.partition_columns, table.partitioning, strict=True)
        parts = (str(transform) if name in hidden else t.display_name([name]) for name, transform in pairs)
        found.append(f"PARTITIONED BY ({', '.join(parts)})")
    clustered = clustering_columns(table.snapshot)
    if clustered:
        found.append(f"CLUSTER BY ({', '.join(clustered)})")
    if table.metadata.description is not None:
        found.append(f"COMMENT {quoted_text(table.metadata.description)}")
    root = table.snapshot.root
    if not any(contains(folder, root) for folder in own_locations):
        found.append(f"LOCATION {quoted_text(root)}")
    properties = {key: value for key, value in table.properties.items() if key not in _OWN_PROPERTIES}
    if properties:
        shown = (f"  {quoted_text(key)} = {quoted_text(value)}" for key, value in sorted(properties.items()))
        found.append("TBLPROPERTIES (\n" + ",\n".join(shown) + ")")
    return "\n".join(found) + "\n"


def _definition(field: t.StructField) -> str:
    """A column in the syntax of CREATE TABLE."""
    found = [t.display_name([field.name]), _type_definition(with_lengths(field).type, field, field.name)]
    identity = identity_of(field)
    if identity is not None:
        kind = "BY DEFAULT" if identity.explicit else "ALWAYS"
        found.append(f"GENERATED {kind} AS IDENTITY (START WITH {identity.start} INCREMENT BY {identity.step})")
    if t.GENERATION_KEY in field.metadata:
        found.append(f"GENERATED ALWAYS AS ({field.metadata[t.GENERATION_KEY]})")
    if not field.nullable:
        found.append("NOT NULL")
    if t.DEFAULT_KEY in field.metadata:
        found.append(f"DEFAULT {field.metadata[t.DEFAULT_KEY]}")
    if t.COMMENT_KEY in field.metadata:
        found.append(f"COMMENT {quoted_text(str(field.metadata[t.COMMENT_KEY]))}")
    return " ".join(found)


def _type_definition(data_type: t.DataType, field: t.StructField, path: str) -> str:
    """The type of a column, or a part of it at a path, in the syntax of CREATE TABLE."""
    match data_type:
        case t.StructType(fields):
            return f"struct<{', '.join(map(_nested_definition, fields))}>"
        case t.ArrayType(element):
            return f"array<{_type_definition(element, field, f'{path}.element')}>"
        case t.MapType(key, value):
            return (
                f"map<{_type_definition(key, field, f'{path}.key')}, {_type_definition(value, field, f'{path}.value')}>"
            )
        case _:
            collation = t.declared_collation(field, path) if data_type == t.STRING else None
            return t.simple_string(data_type) + (f" collate {t.collation_name(collation)}" if collation else "")


def _nested_definition(field: t.StructField) -> str:
    found = f"{t.display_name([field.name])}: {_type_definition(field.type, field, field.name)}"
    if not field.nullable:
        found += " NOT NULL"
    if t.COMMENT_KEY in field.metadata:
        found += f" COMMENT {quoted_text(str(field.metadata[t.COMMENT_KEY]))}"
    return found


def _described(field: t.StructField) -> tuple[str, str, str | None]:
    comment = field.metadata.get(t.COMMENT_KEY)
    shown = str(field.metadata.get(t.CHAR_VARCHAR_KEY) or t.simple_string(field.type, field))
    return field.name, shown, None if comment is None else str(comment)


def _type_at(schema: t.StructType, column: str) -> str:
    named = {field.name: field for field in schema.fields}
    return t.simple_string(named[column].type, named[column]) if column in named else ""


def name_test(pattern: str) -> Callable[[str], bool]:
    """Return the test whether a name matches the pattern of a SHOW.

    # Spark 4.1, StringUtils.filterPattern: `*` for any characters, `|` between alternatives, ignoring case
    """
    alternatives = (".*".join(map(re.escape, each.strip().split("*"))) for each in pattern.strip().split("|"))
    regex = re.compile("|".join(f"(?:{each})" for each in alternatives), re.IGNORECASE)
    return lambda name: regex.fullmatch(name) is not None
