"""Which storage options may be secrets, and what is left of options and locations without them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from deltaskip.storage.location import is_local

__all__ = ["without_secrets", "without_userinfo"]

# Options that are known not to be secrets, without the prefix of their store; every other one counts as a secret.
_PUBLIC = frozenset(
    (
        "account_name", "allow_http", "allow_invalid_certificates", "application_credentials", "authority_host",
        "authority_id", "authority_url", "base_url", "checksum_algorithm", "client_id", "conditional_put",
        "connect_timeout", "copy_if_not_exists", "default_content_type", "default_region", "disable_tagging",
        "endpoint", "endpoint_url", "federated_token_file", "http1_only", "http2_only", "imdsv1_fallback",
        "metadata_endpoint", "msi_endpoint", "msi_resource_id", "object_id", "pool_idle_timeout",
        "pool_max_idle_per_host", "proxy_excludes", "proxy_url", "randomize_addresses", "read_timeout", "region",
        "request_payer", "role_arn", "role_session_name", "s3_express", "server_side_encryption", "service_account",
        "service_account_path", "skip_signature", "sse_bucket_key_enabled", "sse_kms_key_id", "storage_account_name",
        "storage_use_emulator", "tenant_id", "timeout", "unsigned_payload", "use_azure_cli", "use_emulator",
        "use_fabric_endpoint", "user_agent", "virtual_hosted_style_request", "web_identity_token_file",
    )
)  # fmt: skip
_PREFIX = re.compile(r"(aws|azure|google)_")
# The text of a key or certificate, or a URL with user, password or signature, in place of a name or path.
_SUSPICIOUS = re.compile(r"[{}?\n\r]|-----|://[^/]*@|sig=|^[^/]*:[^/]*@")


def without_secrets(options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the options that are certainly no secrets, and the names of the others.

    Args:
        options: Storage options, in any spelling that obstore accepts.
    """
    kept = {
        name: text
        for name, text in options.items()
        if _PREFIX.sub("", name.strip().lower(), count=1) in _PUBLIC and not _SUSPICIOUS.search(text)
    }
    return kept, tuple(sorted(name for name in options if name not in kept))


def without_userinfo(location: str) -> str:
    """Return a location without the password of its URL and without a query, which may be a signature."""
    if is_local(location):
        return location
    parts = urlsplit(location)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{at}{host}" if colon else parts.netloc
    query = "" if re.search(r"(?i)(^|&)(sig|token|x-amz-|x-goog-|se|sv)[^=]*=", parts.query) else parts.query
    return parts._replace(netloc=netloc, query=query).geturl()
