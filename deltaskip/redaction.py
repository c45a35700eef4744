"""Texts without secrets: what other libraries say may hold tokens, passwords, keys and signed URLs.

`redacted` is the one function through which texts of other libraries come into messages, warnings and logs. It knows
the forms that secrets have, the values that `keep_secret` was given, and secrets of the process's environment.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from threading import Lock
from urllib.parse import quote, quote_plus, unquote

__all__ = ["HIDDEN", "is_secret_name", "keep_options_secret", "keep_secret", "redacted"]

HIDDEN = "***"
"""What stands for a secret."""

_NAME = re.compile(
    r"(?i)secret|passw|pwd|passphrase|token|signature|credential|connection.?string|"
    r"(?:access|account|private|master|shared|api|sas|storage|service.?account|encryption)[_.\-]?key(?![_.\-]?id)|"
    r"\bsas\b|_sas(?:_|$)|authorization|^key$"
)
# Settings with such a name that are no secrets: files, addresses, switches.
_NO_SECRET = re.compile(
    r"(?i)(?:file|path|uri|url|endpoint|class|provider|impl|skip_signature|application_credentials)$"
)
_ASSIGNED = (
    r"[\w.\-]*(?:password|passwd|pwd|passphrase|secret|sharedaccesssignature|"
    r"(?:access|account|private|master|shared|api|sas|storage|encryption)[_.\-]?key|"
    r"(?:session|security|bearer|access|auth|refresh|sas|storage|api)[_.\-]?token)[\w.\-]*"
)
_FORMS = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    # scheme://user:password@host
    (re.compile(r"(//[^\s/?#@:'\"]*:)[^\s/?#'\"]*@"), rf"\1{HIDDEN}@"),
    # ?X-Amz-Signature=…&sig=…, also percent-encoded
    (
        re.compile(
            r"(?i)((?:[?&;]|%3f|%26)[\w.\-]*(?:sig|signature|credential|token|secret|password|passwd|pwd|accessid|key)"
            r"(?:=|%3d))(?:(?!%26)[^\s&;'\"<>)])+?(?=%26|:?(?:[\s&;'\"<>)]|$))"
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?)[^'\"\n]+"), rf"\1{HIDDEN}"),
    (re.compile(r"(Bearer(?:\s|%20|\\[rnt])+)(?!token\b)[^\s'\",;]{4,}"), rf"\1{HIDDEN}"),
    (re.compile(r"(\bBasic )[A-Za-z0-9+/]{12,}={0,2}"), rf"\1{HIDDEN}"),
    (re.compile(r"\beyJ[\w\-]{8,}\.[\w\-]+(?:\.[\w\-]+)?"), HIDDEN),
    # password=…, AccountKey=…, fs.s3a.secret.key=…, "private_key": "…"; not the folder of a partition
    (re.compile(rf"(?i)((?<![\w./\-]){_ASSIGNED}=)(?:\"[^\"]*\"|'[^']*'|[^\s\"',;&)}}/]+(?:/(?!part-)[^\s\"',;&)}}]*)?)"),
     rf"\1{HIDDEN}"),
    (re.compile(rf"(?i)([\"']{_ASSIGNED}[\"']\s*:\s*[bu]?)(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"), rf"\1'{HIDDEN}'"),
)  # fmt: skip
# A shorter value may be a word of any message; the forms above find it where it is a secret.
_SHORTEST = 8
# A longer value stands for itself wherever it is found, a shorter one only as a word.
_UNIQUE = 12
_MOST = 4096

_known: dict[str, re.Pattern[str]] = {}
_lock = Lock()


def keep_secret(*values: str | None) -> None:
    """Make `redacted` hide these values from now on, in the process: as they are, percent-encoded and in base64."""
    for value in values:
        text = (value or "").strip()
        if len(text) >= _SHORTEST and text not in _known:
            pattern = _spellings(text)
            with _lock:
                if len(_known) >= _MOST:
                    _known.pop(next(iter(_known)))
                _known[text] = pattern


def keep_options_secret(options: Mapping[str, object]) -> None:
    """Make `redacted` hide the values of those options whose names are those of secrets."""
    for name, value in options.items():
        if isinstance(value, str) and is_secret_name(name):
            keep_secret(value)


def is_secret_name(name: str) -> bool:
    """Whether an option, setting or parameter of this name holds a secret, such as `aws_secret_access_key`."""
    return _NAME.search(name) is not None and _NO_SECRET.search(name) is None


def redacted(text: str, also: Iterable[str] = ()) -> str:
    """Return the text with `***` for everything in it that is a secret.

    Args:
        text: What another library says.
        also: Secrets that are hidden in this text only, however short they are.
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
    """What matches the value however it is written."""
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
