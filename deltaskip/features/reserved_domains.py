"""Metadata domains that the protocol reserves.

# PROTOCOL, Domain Metadata: names that start with "delta." are system-controlled
"""

from __future__ import annotations

from deltaskip.errors import InvalidCommit

_RESERVED_PREFIX = "delta."


def is_reserved(domain: str) -> bool:
    """Whether only the feature that owns the metadata domain may set or remove it."""
    return domain.startswith(_RESERVED_PREFIX)


def check_settable_domain(domain: str, table: str) -> None:
    """Raise InvalidCommit if users must not set or remove the metadata domain. table: for the message."""
    if is_reserved(domain):
        raise InvalidCommit(
            f"The metadata domain {domain} of {table} is reserved by the protocol and cannot be set: use a name that "
            f"does not start with {_RESERVED_PREFIX!r} (rule domains.reserved).",
            "domains.reserved",
        )
