"""The expression of a column invariant, which a column's metadata has as JSON inside of a text.

# PROTOCOL, Column Invariants: {"expression": {"expression": "x > 3"}}
"""

from __future__ import annotations

from deltaskip.json_text import parse_json


def invariant_expression(value: object) -> str | None:
    """Return the SQL text of the metadata `delta.invariants`; None if it is malformed."""
    if not isinstance(value, str):
        return None
    try:
        text = parse_json(value)["expression"]["expression"]
    except (ValueError, TypeError, KeyError):
        return None
    return text if isinstance(text, str) else None
