"""JSON: texts of values, and values of texts that others wrote."""

import json
from collections.abc import Callable
from typing import Any

from deltaskip.lazy_regex import regex

SURROGATE = regex("[\ud800-\udfff]")
"""A lone half of a UTF-16 surrogate pair, which is not a character."""
_ESCAPED = regex(r"\\u[dD][89a-fA-F]")

compact_json: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Returns the text of a value without spaces. `json.dumps` would make an encoder for each text."""


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Return the value of the text. options: As for `json.loads`.

    A lone surrogate becomes U+FFFD, as in the kernels, because no file or Arrow array can contain it. Raises ValueError
    for every text that is not valid JSON, and for deeply nested text, for which the parser raises RecursionError.
    """
    try:
        value = json.loads(text, **options)
        return _without_surrogates(value) if _may_hold_surrogates(text) else value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def member_at(value: Any, path: tuple[str, ...]) -> Any:
    """Return the member of nested objects at a path; None if it does not exist."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _may_hold_surrogates(text: str | bytes) -> bool:
    if isinstance(text, bytes):
        return b"\\u" in text
    return _ESCAPED.search(text) is not None or (not text.isascii() and SURROGATE.search(text) is not None)


def _without_surrogates(value: Any) -> Any:
    if type(value) is str:
        return value if value.isascii() else SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_without_surrogates(name): _without_surrogates(inner) for name, inner in value.items()}
    return [_without_surrogates(inner) for inner in value] if isinstance(value, list) else value
