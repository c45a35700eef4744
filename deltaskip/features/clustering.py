"""Clustered tables: the metadata domain that lists the clustering columns.

# PROTOCOL, Clustered Table: {"clusteringColumns": [["physical", "path", "of", "a", "column"]]}
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from deltaskip.actions import DomainMetadata
from deltaskip.errors import UnsupportedFeature
from deltaskip.features.registry import TableProtocol, has_feature
from deltaskip.features.violation import Violation
from deltaskip.json_text import parse_json
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import StructType

CLUSTERING_DOMAIN = "delta.clustering"
EXPRESSIONS = "clusteringExpressions"
"""The feature of tables whose clustering columns may have transforms."""
MOST_CLUSTERING_COLUMNS = 4
_RULE = "domains.clustering"


def clustering_paths(configuration: str) -> frozenset[tuple[str, ...]] | None:
    """Return the physical paths of the clustering columns; None if the domain's configuration is malformed."""
    found = ordered_clustering_paths(configuration)
    return None if found is None else frozenset(found)


def ordered_clustering_paths(configuration: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the physical paths of the clustering columns in their order; None if the configuration is malformed."""
    try:
        # The example of the RFC on expressions has names in place of paths.
        columns = parse_json(configuration)["clusteringColumns"]
        return tuple((path,) if isinstance(path, str) else tuple(path) for path in columns)
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class ClusteringTransform:
    """A function of a clustering column.

    Attributes:
        column: Physical path of the column.
        function: Name of the function.
        arguments: Its other arguments, as SQL.
        position: Position of the column among all arguments.
        signature: Key of its bounds in the statistics of files.
    """

    column: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    position: int
    signature: str

    def sql(self, column: str) -> str:
        """Return the expression over a column that is given as SQL."""
        arguments = [*self.arguments[: self.position], column, *self.arguments[self.position :]]
        casts = self.function.lower() in ("cast", "try_cast")
        return f"{self.function}({(' AS ' if casts else ', ').join(arguments)})"


def clustering_transforms(configuration: str) -> tuple[ClusteringTransform, ...]:
    """Return the transforms of the clustering columns that have bounds; those that are malformed are left out.

    # RFC Clustering by expressions (delta-io/delta, pull request 6737)
    """
    columns = ordered_clustering_paths(configuration) or ()
    listed = parse_json(configuration).get("transforms") if columns else None
    found = []
    for each in listed if isinstance(listed, list) else ():
        match each:
            case {
                "columnIndex": int() as column,
                "argumentIndex": int() as position,
                "function": str() as function,
                "arguments": [*arguments],
                "expressionStatsColName": str() as signature,
            } if 0 <= column < len(columns) and 0 <= position <= len(arguments) and signature:
                if all(type(each) is str for each in arguments) and bool not in (type(column), type(position)):
                    found.append(ClusteringTransform(columns[column], function, tuple(arguments), position, signature))
    names = Counter(each.signature for each in found)
    return tuple(each for each in found if names[each.signature] == 1)


def clustering_domain(paths: Iterable[Sequence[str]]) -> DomainMetadata:
    """Return the domain that lists the clustering columns by their physical paths."""
    columns = [list(path) for path in paths]
    configuration = {"clusteringColumns": columns, "domainName": CLUSTERING_DOMAIN}
    return DomainMetadata(CLUSTERING_DOMAIN, json.dumps(configuration, ensure_ascii=False, separators=(",", ":")))


def check_clustering(
    configuration: str,
    protocol: TableProtocol,
    partition_columns: Sequence[str],
    physical: StructType,
    root: str,
    version: int,
) -> None:
    """Check the configuration that a commit sets.

    Args:
        configuration: The new configuration of the domain.
        protocol: The protocol after the commit.
        partition_columns: The partition columns after the commit.
        physical: The schema after the commit, with physical names.
        root: Location of the table, for messages.
        version: Version that the transaction read, for messages.

    Raises:
        UnsupportedFeature: The table does not have the feature.
        InvalidCommit: The table is partitioned, or the configuration does not list existing columns.
    """
    if not has_feature(protocol, "clustering"):
        raise UnsupportedFeature(
            f"Version {version} of {root} does not have the writer feature clustering, so {CLUSTERING_DOMAIN} "
            f"cannot be set: enable it first."
        )
    if partition_columns:
        raise Violation(
            _RULE,
            f"{CLUSTERING_DOMAIN} of {root} cannot be set after version {version}: only unpartitioned tables can be "
            f"clustered",
        ).error()
    named = clustering_paths(configuration)
    if named is None or not named <= set(_paths_of(physical)):
        raise Violation(
            _RULE,
            f"The domain {CLUSTERING_DOMAIN} of a commit to {root} after version {version} must list clusteringColumns "
            f"by the physical paths of existing columns, but is {configuration}",
        ).error()


def _paths_of(schema: StructType) -> Iterator[tuple[str, ...]]:
    for field in schema.fields:
        yield (field.name,)
        if isinstance(field.type, StructType):
            yield from ((field.name, *path) for path in _paths_of(field.type))
