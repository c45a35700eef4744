"""Secrets, and text without them: messages of other libraries contain tokens, passwords, keys and signed URLs.

Text of other libraries reaches messages, warnings and logs only through `redacted`. It knows patterns of secrets, the
values that `keep_secret` was given, and secrets of the process's environment. Other data that leaves the process, in a
pickle or as the address of a table, passes `options_without_secrets` and `url_without_secrets`. No other module decides
which values are secret.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus, unquote, urlsplit

from deltaskip.fork_safety import new_lock
from deltaskip.lazy_regex import regex

HIDDEN = "***"
"""The replacement of a secret."""

_NAME = regex(
    r"(?i)secret|passw|pwd|passphrase|token|signature|credential|connection.?string|"
    r"(?:access|account|private|master|shared|api|sas|storage|service.?account|encryption)[_.\-]?key(?![_.\-]?id)|"
    r"\bsas\b|_sas(?:_|$)|authorization|^key$"
)
# Settings with these names are not secrets: files, addresses, switches.
_NO_SECRET = regex(r"(?i)(?:file|path|uri|url|endpoint|class|provider|impl|skip_signature|application_credentials)$")
_ASSIGNED = (
    r"[\w.\-]*(?:password|passwd|pwd|passphrase|secret|sharedaccesssignature|"
    r"(?:access|account|private|master|shared|api|sas|storage|encryption)[_.\-]?key|"
    r"(?:session|security|bearer|access|auth|refresh|sas|storage|api)[_.\-]?token)[\w.\-]*"
)
# The parameters of URLs that are secrets: signatures of S3, Google Cloud Storage and Azure, and other known names.
_SIGNING = (
    r"x-(?:amz|goog)-(?:signature|credential|security-token)|sig|signature|awsaccesskeyid|googleaccessid|access_token"
)
_IN_QUERY = r"[\w.\-]*(?:sig|signature|credential|token|secret|password|passwd|pwd|auth|accessid|key(?:id)?)"
_FIRST = r"(?:[?&;]|%3f|%26)"
_SIGNED = regex(rf"(?i){_FIRST}(?:{_SIGNING})(?:=|%3d)")
_QUERY = regex(rf"(?i){_FIRST}{_IN_QUERY}=")
_FORMS = (
    (regex(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    # scheme://user:password@host
    (regex(r"(//[^\s/?#@:'\"]*:)[^\s/?#'\"]*@"), rf"\1{HIDDEN}@"),
    # ?X-Amz-Signature=…&sig=…, also percent-encoded
    (
        regex(
            rf"(?i)({_FIRST}{_IN_QUERY}(?:=|%3d))(?:(?!%26)[^\s&;'\"<>)])+?(?=%26|:?(?:[\s&;'\"<>)]|$))"
        ),
        rf"\1{HIDDEN}",
    ),
    (regex(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?)[^'\"\n]+"), rf"\1{HIDDEN}"),
    (regex(r"(Bearer(?:\s|%20|\\[rnt])+)(?!token\b)[^\s'\",;]{4,}"), rf"\1{HIDDEN}"),
    (regex(r"(\bBasic )[A-Za-z0-9+/]{12,}={0,2}"), rf"\1{HIDDEN}"),
    (regex(r"\beyJ[\w\-]{8,}\.[\w\-]+(?:\.[\w\-]+)?"), HIDDEN),
    # password=…, AccountKey=…, fs.s3a.secret.key=…, "private_key": "…"; not the folder of a partition
    (regex(rf"(?i)((?<![\w./\-]){_ASSIGNED}=)(?:\"[^\"]*\"|'[^']*'|[^\s\"',;&)}}/]+(?:/(?!part-)[^\s\"',;&)}}]*)?)"),
     rf"\1{HIDDEN}"),
    (regex(rf"(?i)([\"']{_ASSIGNED}[\"']\s*:\s*[bu]?)(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"), rf"\1'{HIDDEN}'"),
)  # fmt: skip
# A shorter value may be a word of any message. The patterns above find it where it is a secret.
_SHORTEST = 8
# A value of at least this length is hidden wherever it occurs, a shorter value only as a word.
_UNIQUE = 12
_MOST = 4096

# Storage options that are known not to be secrets, without the prefix of their store;
# every other option counts as a secret where it would be kept.
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
_PREFIX = regex(r"(aws|azure|google)_")
# The text of a key or certificate, or a URL with user, password or signature, instead of a name or path.
_SUSPICIOUS = regex(r"[{}?\n\r]|-----|://[^/]*@|sig=|^[^/]*:[^/]*@")

_known: dict[str, re.Pattern[str]] = {}
_lock = new_lock()


def keep_secret(*values: str | None) -> None:
    """Make `redacted` hide these values in this process from now on: as plain text, percent-encoded and in base64."""
    for value in values:
        text = (value or "").strip()
        if len(text) >= _SHORTEST and text not in _known:
            pattern = _spellings(text)
            with _lock:
                if len(_known) >= _MOST:
                    _known.pop(next(iter(_known)))
                _known[text] = pattern


def keep_options_secret(options: Mapping[str, object]) -> None:
    """Make `redacted` hide the values of options whose names denote secrets."""
    for name, value in options.items():
        if isinstance(value, str) and is_secret_name(name):
            keep_secret(value)


def is_secret_name(name: str) -> bool:
    """Whether an option, setting or parameter of this name holds a secret, such as `aws_secret_access_key`."""
    return _NAME.search(name) is not None and _NO_SECRET.search(name) is None


def options_without_secrets(options: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the storage options that are certainly not secrets, and the names of the other options.

    Args:
        options: Storage options, in any spelling that obstore accepts.
    """
    kept = {
        name: text
        for name, text in options.items()
        if _PREFIX.sub("", name.strip().lower(), count=1) in _PUBLIC and not _SUSPICIOUS.search(text)
    }
    return kept, tuple(sorted(name for name in options if name not in kept))


def secret_in_url(url: str) -> str | None:
    """Return the name of the secret in a URL, `a password` or `a signature or token`; None without a secret.

    Args:
        url: A URL of a web server, or of an object store, whose path may contain `?` and `&`.
    """
    scheme, colon, rest = url.partition("://")
    if not colon:
        return None
    user = rest.partition("/")[0].rpartition("@")[0]
    if ":" in user:
        return "a password"
    is_web = scheme.lower() in ("http", "https")
    return "a signature or token" if _SIGNED.search(url) or (is_web and _QUERY.search(url)) else None


def url_without_secrets(url: str) -> str:
    """Return a URL without its password, and without its query if the query contains a secret."""
    if "://" not in url or url.lower().startswith("file:"):
        return url
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{at}{host}" if colon else parts.netloc
    return parts._replace(netloc=netloc, query="" if _QUERY.search(f"?{parts.query}") else parts.query).geturl()


def redacted(text: str, also: Iterable[str] = ()) -> str:
    """Return the text with `***` in place of every secret.

    Args:
        text: The message of another library.
        also: Additional secrets of this text, of any length.
    """
    for secret in also:
        text = text.replace(secret, HIDDEN)
    for pattern in [*_known.values(), *_of_the_environment()]:
        text = pattern.sub(HIDDEN, text)
    for form, instead in _FORMS:
        text = form.sub(instead, text)
    return text


def _of_the_environment() -> Iterable[re.Pattern[str]]:
    for name, value in os.environ.items():
        text = value.strip()
        if len(text) >= _SHORTEST and not text.startswith(("/", "~")) and is_secret_name(name):
            yield _known.get(text) or _spellings(text)


def _spellings(text: str) -> re.Pattern[str]:
    """A pattern that matches the value in every encoding."""
    # The value may be a part of a URL.
    forms = _forms(text) | _forms(unquote(text))
    longest_first = sorted(filter(None, forms), key=len, reverse=True)
    return re.compile("|".join(map(_as_pattern, longest_first)))


def _forms(text: str) -> set[str]:
    data = text.encode("utf-8", "surrogatepass")
    encoded = b64encode(data).decode().rstrip("=")
    forms = {
        text,
        quote(data, safe=""),
        quote(data),
        quote_plus(data),
        quote(data, safe="").lower(),
        encoded,
        encoded.replace("+", "-").replace("/", "_"),
        repr(text)[1:-1],
        repr(data)[2:-1],
        text.replace("\n", "\\n").replace('"', '\\"'),
    }
    # A long value may have been cut at the end of a line.
    return forms | {line for line in text.splitlines() if len(line) >= 2 * _UNIQUE}


def _as_pattern(form: str) -> str:
    pattern = re.escape(form)
    return pattern if len(form) >= _UNIQUE else rf"(?<!\w){pattern}(?!\w)"
