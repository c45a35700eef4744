"""Where the data files of a write go and what they contain, from the table's state after the write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltaskip.actions import DomainMetadata, Metadata, Protocol
from deltaskip.collations.write_versions import DOMAIN, write_versions
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot
from deltaskip.rows.parquet_files import DEFAULT_CODEC, DEFAULT_FILE_BYTES, DataFileLayout
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.types import StructType
from deltaskip.stats.columns import StatColumn, declared_collations, indexed_columns
from deltaskip.stats.computation import statistics_request
from deltaskip.stats.tight_bounds import writes_tight_bounds

__all__ = ["layout_after"]


def layout_after(
    snapshot: Snapshot,
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType,
    domains: Mapping[str, DomainMetadata],
    time_zone: str,
) -> DataFileLayout:
    """Return the layout for a write on `snapshot` that leaves the table with this state.

    Files have the statistics that the properties choose, with bounds for each collation version that the domain
    `collations` lists and this process evaluates.

    Raises SchemaError for a malformed property.
    """
    properties = TableProperties(metadata.configuration, snapshot.root)
    mode = mapping_mode(protocol, properties)
    columns = indexed_columns(
        schema,
        partition_columns=metadata.partition_columns,
        mapping_mode=mode,
        properties=metadata.configuration,
    )
    request = statistics_request(
        columns,
        _collations(domains, columns),
        mapping_mode=mode,
        tight_bounds=writes_tight_bounds(protocol, metadata.configuration),
    )
    prefixed = mode != "none" or properties.randomize_file_prefixes
    return DataFileLayout(
        snapshot.storage,
        snapshot.root,
        schema,
        tuple(metadata.partition_columns),
        mode,
        request,
        codec=properties.compression_codec or DEFAULT_CODEC,
        target_bytes=properties.target_file_bytes or DEFAULT_FILE_BYTES,
        keeps_partition_columns=properties.iceberg_compat_v1
        or properties.iceberg_compat_v2
        or properties.iceberg_compat_v3
        or has_feature(protocol, "materializePartitionColumns"),
        random_prefix=properties.random_prefix_length if prefixed else None,
        time_zone=time_zone,
        balanced=properties.optimize_write,
    )


def _collations(domains: Mapping[str, DomainMetadata], columns: Sequence[StatColumn]) -> dict[str, list[str]]:
    """The collated bounds of each column: those of the versions that the table's writers keep."""
    domain = domains.get(DOMAIN)
    return declared_collations(columns, write_versions(None if domain is None else domain.configuration))
