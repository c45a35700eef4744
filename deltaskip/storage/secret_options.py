"""Secrets in storage options and in locations: which are refused, and what no message shows afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deltaskip.errors import StorageError
from deltaskip.redaction import is_secret_name, keep_secret, redacted
from deltaskip.storage.location import scheme_of, split_authority

__all__ = ["refuse_secrets", "trimmed"]

# What signs a URL of S3, Google Cloud Storage and Azure.
_SIGNED = re.compile(
    r"(?i)(?:[?&]|%3f|%26)(?:x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|awsaccesskeyid|"
    r"googleaccessid|access_token)(?:=|%3d)"
)
_QUERY_OF_WEB = re.compile(r"(?i)[?&](?:\w*token|\w*key|password|secret|auth)=")


def refuse_secrets(location: str) -> None:
    """Raise StorageError for a URI with a password or signature in it, which messages and the log would show."""
    user = split_authority(location)[0].partition("://")[2].rpartition("@")[0]
    if ":" in user:
        keep_secret(user.partition(":")[2])
        found = "a password"
    elif _SIGNED.search(location) or (scheme_of(location) in ("http", "https") and _QUERY_OF_WEB.search(location)):
        found = "a signature or token"
    else:
        return
    raise StorageError(
        f"Cannot open {redacted(location)}: the URI contains {found}, which the log and messages would show; pass "
        f"credentials in storage_options."
    )


def trimmed(location: str, options: Mapping[str, str]) -> Mapping[str, str]:
    """Return the options without white space around secrets, as files of tokens end in a line end.

    Messages do not show the secrets from now on. Raises StorageError for one with a control character in it.
    """
    found = dict(options)
    for name, value in options.items():
        if not is_secret_name(name):
            continue
        text = found[name] = value.strip()
        keep_secret(text)
        # The JSON text of a service account has line ends.
        if not text.isprintable() and not text.startswith("{"):
            raise StorageError(
                f"Cannot open {location}: the value of the storage option {name!r} contains a line end or another "
                f"control character; correct it. It is not shown here."
            )
    return found
