"""The statistics of one add action, from its text.

# PROTOCOL, Per-file Statistics
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from deltaskip.json_text import parse_json
from deltaskip.stats.layout import MOST_ROWS


def parsed_stats(text: str | None) -> dict[str, Any] | None:
    """The statistics of an add action; None if there are none or they are not a JSON object."""
    if not text:
        return None
    try:
        stats = parse_json(text, parse_constant=_no_number)
    except ValueError:
        return None
    return stats if isinstance(stats, dict) else None


def num_records(stats: Mapping[str, Any] | None) -> int | None:
    """Row count of the data file, including rows that a deletion vector deletes; None if it is missing."""
    rows = None if stats is None else stats.get("numRecords")
    return rows if isinstance(rows, int) and not isinstance(rows, bool) and 0 <= rows <= MOST_ROWS else None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")
