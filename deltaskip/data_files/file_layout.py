"""The layout of a write's data files, from the table's state after the write."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deltaskip.actions import DomainMetadata, Metadata, Protocol
from deltaskip.actions.partition_folders import random_prefix
from deltaskip.data_files.parquet_writer import DEFAULT_FILE_BYTES, DataFileLayout
from deltaskip.features.clustering import CLUSTERING_DOMAIN, clustering_paths
from deltaskip.features.registry import has_feature, has_feature_or_preview, has_tree
from deltaskip.log import Snapshot
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.collations import DOMAIN, kept_versions
from deltaskip.sparkexpr.types import MappingMode, StructType
from deltaskip.stats.bloom_filters import bloom_columns
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.stats_columns import StatColumn, declared_collations, indexed_columns, of_every_column
from deltaskip.stats.tight_bounds import writes_tight_bounds
from deltaskip.txn.collation_versions import announced


def layout_after(
    snapshot: Snapshot,
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType,
    domains: Mapping[str, DomainMetadata],
    time_zone: str,
) -> DataFileLayout:
    """Return the layout for a write on `snapshot` that leaves the table with this state.

    Files have the statistics that the properties select, with bounds for each collation version that the domain
    `collations` lists and this process evaluates.

    Raises SchemaError for a malformed property.
    """
    properties = TableProperties(metadata.configuration, snapshot.root)
    mode = mapping_mode(protocol, properties)
    columns, partitions = _columns(schema, metadata, mode, domains), tuple(metadata.partition_columns)
    request = statistics_request(
        columns,
        declared_collations(columns, kept_versions(domains)),
        mapping_mode=mode,
        tight_bounds=writes_tight_bounds(protocol, metadata.configuration),
    )
    return DataFileLayout(
        snapshot.storage,
        snapshot.root,
        schema,
        partitions,
        mode,
        request,
        codec=properties.compression_codec,
        page_version=properties.page_version,
        target_bytes=properties.target_file_bytes or DEFAULT_FILE_BYTES,
        keeps_partition_columns=properties.write_partition_columns or needs_partition_columns(protocol, properties),
        random_prefix=random_prefix(properties, mode),
        time_zone=time_zone,
        balanced=properties.optimize_write,
        bloom=bloom_columns(properties.bloom_columns, schema, partitions, mode),
        may_shred=properties.variant_shredding and has_feature_or_preview(protocol, "variantShredding"),
    )


def needs_partition_columns(protocol: Protocol, properties: TableProperties) -> bool:
    """Whether data files must contain the partition columns; other tables may ask for them by a property."""
    asked = bool(properties.iceberg_compat) or has_feature(protocol, "materializePartitionColumns")
    return asked or has_tree(protocol)


def first_collation_versions(
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType,
    domains: Mapping[str, DomainMetadata],
    version: Callable[[], str | None],
) -> DomainMetadata | None:
    """Return the domain `collations` that the first write to a table with collated columns sets; None if it sets none.

    Later writes keep the versions that the domain lists, which `retire_collation_version` changes.

    Args:
        protocol: The protocol after the write.
        metadata: The metadata after the write.
        schema: The schema after the write.
        domains: The metadata domains of the table by name.
        version: Returns the collation version of the writer; None if it is not known. Called if it is needed.
    """
    if DOMAIN in domains or not has_feature_or_preview(protocol, "collations"):
        return None
    columns = _columns(schema, metadata, mapping_mode(protocol, TableProperties(metadata.configuration)), domains)
    collations = {column.collation for column in columns if column.collation is not None}
    chosen = version() if collations else None
    if chosen is None:
        return None
    found = declared_collations(columns, dict.fromkeys(collations, (chosen,)))
    return announced(domains, sorted({each for identifiers in found.values() for each in identifiers}))


def _columns(
    schema: StructType, metadata: Metadata, mode: MappingMode, domains: Mapping[str, DomainMetadata]
) -> tuple[StatColumn, ...]:
    """The columns with statistics: the columns that the properties select, and the clustering columns.

    # PROTOCOL, Clustered Table: writers write statistics of the clustering columns of every file.
    """

    def indexed(properties: Mapping[str, str]) -> tuple[StatColumn, ...]:
        partitions = metadata.partition_columns
        return indexed_columns(schema, partition_columns=partitions, mapping_mode=mode, properties=properties)

    chosen = indexed(metadata.configuration)
    domain = domains.get(CLUSTERING_DOMAIN)
    clustering = frozenset() if domain is None else clustering_paths(domain.configuration) or frozenset()
    if clustering <= {column.physical for column in chosen}:
        return chosen
    names = {*clustering, *(column.physical for column in chosen)}
    every = indexed(of_every_column(metadata.configuration))
    return tuple(column for column in every if column.physical in names)
