"""Metadata domains that the protocol reserves.

# PROTOCOL, Domain Metadata: names that start with "delta." are system-controlled
"""

from __future__ import annotations

from deltaskip.errors import InvalidCommit
from deltaskip.features.clustering import CLUSTERING_DOMAIN

__all__ = ["check_settable_domain"]

_RESERVED_PREFIX = "delta."
# Reserved domains that a transaction may set; their configuration is checked before the commit.
_SETTABLE = frozenset((CLUSTERING_DOMAIN,))


def check_settable_domain(domain: str, table: str) -> None:
    """Raise InvalidCommit if a transaction must not set or remove the metadata domain. table: for the message."""
    if domain.startswith(_RESERVED_PREFIX) and domain not in _SETTABLE:
        raise InvalidCommit(
            f"The metadata domain {domain} of {table} is reserved by the protocol and cannot be set: use a name that "
            f"does not start with '{_RESERVED_PREFIX}'."
        )
