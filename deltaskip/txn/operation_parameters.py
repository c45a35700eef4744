"""Parameters of an operation as commitInfo contains them: text unchanged, every other value as JSON text."""

from __future__ import annotations

import json
from typing import Any

from deltaskip.json_text import parse_json


def logged_parameter(value: Any) -> str:
    """Return the text of a value in `operationParameters`."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parameter_value(text: Any, like: Any) -> Any:
    """Return the value of a logged parameter that is of the same kind as `like`; None if its text is not JSON."""
    if isinstance(like, str) or not isinstance(text, str):
        return text
    try:
        return parse_json(text)
    except ValueError:
        return None
