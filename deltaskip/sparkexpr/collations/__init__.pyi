"""Collations: their identifiers, the libraries that evaluate them, and the versions that tables name."""

from . import lookup
from .collation import Collation
from .collation_id import LCASE, CollationId, is_utf8_binary, spark_collation, spark_equal, spark_name
from .libraries import refused_icu_files
from .lookup import (
    DOMAIN,
    SPARK_VERSION,
    UNKNOWN_VERSION,
    WRITE_VERSIONS,
    AvailableCollations,
    available_collations,
    domain_members,
    find,
    how_to_get,
    installed_spark_version,
    kept_versions,
    write_versions,
)
from .named_collations import Collations

__all__ = [
    "DOMAIN",
    "LCASE",
    "SPARK_VERSION",
    "UNKNOWN_VERSION",
    "WRITE_VERSIONS",
    "AvailableCollations",
    "Collation",
    "CollationId",
    "Collations",
    "available_collations",
    "domain_members",
    "find",
    "how_to_get",
    "installed_spark_version",
    "is_utf8_binary",
    "kept_versions",
    "lookup",
    "refused_icu_files",
    "spark_collation",
    "spark_equal",
    "spark_name",
    "write_versions",
]
