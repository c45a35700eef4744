"""`_last_checkpoint`: a hint for the version from which to list the log, and the checksum of the hint.

The hint determines only the first name of the listing. A hint that is missing, damaged, stale or wrong costs one more
listing and changes no result.
"""

from typing import Any, NamedTuple
from urllib.parse import quote

from deltaskip.errors import StorageError
from deltaskip.json_text import parse_json
from deltaskip.storage import Storage, join

LAST_CHECKPOINT = "_last_checkpoint"
# A larger hint, with the schema of a very wide checkpoint, takes longer to parse than it saves.
_MOST_BYTES = 1 << 20


class Hint(NamedTuple):
    """The version of a checkpoint, and how many files it has; None if that is not said."""

    version: int
    num_adds: int | None


def read_hint(storage: Storage, log_folder: str) -> Hint | None:
    """Return the contents of `_last_checkpoint`; None if the file is missing, damaged, too large or not readable."""
    try:
        return parse_hint(storage.read(join(log_folder, LAST_CHECKPOINT), _MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError, StorageError):
        return None


def parse_hint(data: bytes) -> Hint | None:
    """Return the contents of the text of a `_last_checkpoint`; None if the text or its checksum is invalid."""
    try:
        fields = parse_json(data, object_pairs_hook=_without_duplicates, parse_float=_Verbatim, parse_int=_Verbatim)
        if not isinstance(fields, dict):
            return None
        expected = fields.get("checksum")
        if expected is not None and expected != checksum(fields):
            return None
    except ValueError:
        return None
    version = _number(fields.get("version"))
    return None if version is None else Hint(version, _number(fields.get("numOfAddFiles")))


def _number(value: object) -> int | None:
    if not isinstance(value, _Verbatim) or not value.isascii() or not value.isdigit() or len(value) > 19:
        return None
    return int(value)


def checksum(fields: dict[str, Any]) -> str:
    """MD5 of the canonical form, as 32 hexadecimal digits."""
    import hashlib

    return hashlib.md5(canonical_form(fields).encode("utf-8"), usedforsecurity=False).hexdigest()


def canonical_form(fields: dict[str, Any]) -> str:
    """Canonical text of a parsed `_last_checkpoint`, without its top-level `checksum`.

    PROTOCOL, Last Checkpoint File Checksum: path segments joined by "+", path and value by "=", pairs sorted by the
    bytes of their paths and joined by ",".
    """
    pairs: list[tuple[bytes, str]] = []
    _collect({name: value for name, value in fields.items() if name != "checksum"}, "", pairs)
    pairs.sort(key=lambda pair: pair[0])
    return ",".join(text for _, text in pairs)


class _Verbatim(str):
    """A number as written: "Numeric values (e.g. 42 or 3.14) are their own canonical form"."""

    __slots__ = ()


def _collect(value: Any, path: str, pairs: list[tuple[bytes, str]]) -> None:
    prefix = f"{path}+" if path else ""
    match value:
        case dict():
            for name, inner in value.items():
                _collect(inner, f"{prefix}{_quoted(name)}", pairs)
        case list():
            for position, inner in enumerate(value):
                _collect(inner, f"{prefix}{position}", pairs)
        case _:
            pairs.append((path.encode("utf-8"), f"{path}={_scalar(value)}"))


def _scalar(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case _Verbatim() | int() | float():
            return str(value)
        case _:
            return _quoted(value)


def _quoted(text: str) -> str:
    return f'"{quote(text, safe="-._~")}"'


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("duplicate key")
    return fields
