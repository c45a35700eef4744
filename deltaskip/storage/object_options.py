"""Storage options of object stores: options of the HTTP client, misspelt names, and credentials."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from deltaskip.errors import StorageError, nearest
from deltaskip.storage.location import scheme_of
from deltaskip.storage.remote_errors import plain_http

RETRIES = {"max_retries": 10, "retry_seconds": 30}
"""How often and how long a request is repeated after a transient failure."""

# Options of the HTTP client, which obstore separates from those of the store.
_CLIENT = frozenset(
    (
        "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type", "http1_only",
        "http2_only", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_ca_certificate", "proxy_excludes",
        "proxy_url", "randomize_addresses", "read_timeout", "root_certificate", "timeout", "user_agent",
    )
)  # fmt: skip
_PREFIXES = {"s3": "aws_", "gs": "google_", "az": "azure_"}
# The names for suggestions; obstore accepts more spellings, and decides.
_NAMES = {
    "s3": (
        "region", "endpoint", "access_key_id", "secret_access_key", "session_token", "skip_signature",
        "checksum_algorithm", "conditional_put", "container_credentials_full_uri",
        "container_credentials_relative_uri", "copy_if_not_exists", "default_region", "disable_tagging",
        "metadata_endpoint", "request_payer", "role_arn", "role_session_name", "server_side_encryption",
        "sse_bucket_key_enabled", "sse_kms_key_id", "unsigned_payload", "virtual_hosted_style_request",
        "web_identity_token_file",
    ),
    "gs": ("service_account", "service_account_key", "skip_signature", "application_credentials", "base_url",
           "bearer_token"),
    "az": (
        "storage_account_name", "storage_account_key", "storage_sas_key", "authority_host", "client_id",
        "client_secret", "disable_tagging", "endpoint", "federated_token_file", "msi_endpoint", "msi_resource_id",
        "object_id", "skip_signature", "storage_token", "storage_use_emulator", "tenant_id", "use_azure_cli",
        "use_fabric_endpoint",
    ),
}  # fmt: skip
_OF_THE_URI = frozenset(("bucket", "bucket_name", "container", "container_name"))
# Any of these options provides credentials, or says that none are needed; without them, the machine's metadata service
# must provide them.
_CREDENTIALS = {
    "s3": ("access_key_id", "secret_access_key", "container_credentials_relative_uri",
           "container_credentials_full_uri", "web_identity_token_file", "skip_signature"),
    "gs": ("application_credentials", "bearer_token", "service_account", "service_account_path",
           "service_account_key", "skip_signature"),
    "az": ("storage_account_key", "storage_access_key", "storage_master_key", "account_key", "access_key",
           "master_key", "storage_sas_key", "storage_sas_token", "sas_key", "sas_token", "storage_token",
           "bearer_token", "token", "client_secret", "storage_client_secret", "federated_token_file",
           "use_azure_cli", "storage_use_emulator", "skip_signature", "fabric_token_service_url"),
}  # fmt: skip
_CURES = {
    "s3": "aws_access_key_id and aws_secret_access_key, or aws_skip_signature=true for a public bucket",
    "gs": "google_service_account, or google_skip_signature=true for a public bucket",
    "az": "azure_storage_account_key, or azure_skip_signature=true for a public container",
}
_METADATA = ("169.254.169.254", 80)
_METADATA_SECONDS = 1.0


def divided(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options of the store, and the options of the HTTP client under the client's names."""
    client = {name: value for key, value in options.items() if (name := _client_option(key)) is not None}
    return {key: value for key, value in options.items() if _client_option(key) is None}, client


def check_options(location: str, options: Mapping[str, str]) -> None:
    """Raise StorageError for an option that contradicts the URI, for a malformed endpoint, and for unallowed HTTP."""
    kind = _kind(location)
    for key in options:
        if _bare(key, kind) in _OF_THE_URI:
            raise StorageError(
                f"Cannot open {location} with the storage option {key!r}: the URI names the bucket or container; "
                f"leave the option out."
            )
    endpoint: str | None = location
    if kind is not None:
        endpoint = next(filter(None, (_setting(name, kind, options) for name in ("endpoint", "endpoint_url"))), None)
    if endpoint is None or scheme_of(location) == "memory":
        return
    parts = urlsplit(endpoint)
    try:
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in endpoint):
        raise StorageError(
            f"Cannot open {location}: the endpoint is not a URI such as https://host:9000; correct it in "
            f"storage_options or the environment."
        )
    if parts.scheme == "http" and not _allows_http(kind, options):
        raise plain_http(location, f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


def unknown_option(location: str, key: str) -> StorageError:
    """Return the error for an option that the store does not have, with the option that was probably meant."""
    kind = _kind(location)
    names = {name: f"{_PREFIXES[kind]}{name}" for name in _NAMES[kind]} if kind is not None else {}
    names |= {name: name for name in sorted(_CLIENT)}
    # A common prefix is not enough.
    near = nearest(_bare(key, kind), names)
    other = next((store for store, prefix in _PREFIXES.items() if key.lower().startswith(prefix)), kind)
    if other != kind:
        cure = f"it is one of {other}:// locations: leave it out."
    elif near is not None:
        cure = f"did you mean {names[near]!r}?"
    elif kind is None:
        cure = f"a location of this scheme accepts {', '.join(names)}."
    else:
        cure = f"options of such a table are, among others, {', '.join([*names.values()][:3])} and allow_http."
    return StorageError(f"Cannot open {location}: there is no storage option {key!r}; {cure}")


def require_credentials(location: str, options: Mapping[str, str]) -> None:
    """Raise StorageError if there are no credentials and no metadata service that could provide them.

    Requests would otherwise be repeated for a long time: on a machine in a cloud the metadata service responds at once,
    and elsewhere its address does not exist.
    """
    kind = _kind(location)
    if kind is None or any(_setting(name, kind, options) for name in _CREDENTIALS[kind]):
        return
    if kind == "gs" and Path("~/.config/gcloud/application_default_credentials.json").expanduser().exists():
        return
    if kind == "az" and (os.environ.get("IDENTITY_ENDPOINT") or _setting("msi_endpoint", kind, options)):
        return
    host, port = _metadata_address(kind, options)
    if os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true" or not _responds(host, port):
        raise StorageError(
            f"There are no credentials for {location}: set {_CURES[kind]} in storage_options or the environment. This "
            f"machine has no cloud metadata service that provides them."
        )


def _metadata_address(kind: str, options: Mapping[str, str]) -> tuple[str, int]:
    named = _setting("metadata_endpoint", kind, options) if kind == "s3" else None
    if kind == "gs":
        named = next(filter(None, map(os.environ.get, ("GCE_METADATA_HOST", "GCE_METADATA_IP"))), None)
    if not named:
        return _METADATA
    parts = urlsplit(named if "//" in named else f"//{named}")
    return parts.hostname or _METADATA[0], parts.port or 80


def _responds(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_METADATA_SECONDS).close()
    except OSError:
        return False
    return True


def _kind(location: str) -> str | None:
    """The store of a location, as a key of `_NAMES`; None for plain web servers and memory."""
    match scheme_of(location):
        case "s3" | "s3a":
            return "s3"
        case "gs":
            return "gs"
        case "az" | "adl" | "azure" | "abfs" | "abfss":
            return "az"
        case _:
            return None


def _bare(key: str, kind: str | None) -> str:
    return key.lower().removeprefix(_PREFIXES.get(kind or "", ""))


def _setting(name: str, kind: str, options: Mapping[str, str]) -> str | None:
    """The value of an option, or of the environment if the option was not given."""
    for key, value in options.items():
        if _bare(key, kind) == name:
            return value
    return os.environ.get(f"{_PREFIXES[kind]}{name}".upper()) or None


def _allows_http(kind: str | None, options: Mapping[str, str]) -> bool:
    allowed = next((value for key, value in options.items() if _client_option(key) == "allow_http"), None)
    if allowed is None and kind is not None:
        allowed = os.environ.get(f"{_PREFIXES[kind]}allow_http".upper())
    if allowed is None and kind == "az":
        allowed = _setting("storage_use_emulator", kind, options)
    return allowed is not None and allowed.lower() not in ("false", "0", "no", "n", "off", "f", "")


def _client_option(key: str) -> str | None:
    """Return the HTTP client's name of an option, such as `allow_http` for `aws_allow_http`; None for others."""
    lowered = key.lower()
    name = lowered.removeprefix("aws_").removeprefix("azure_").removeprefix("google_")
    return name if name in _CLIENT else None
