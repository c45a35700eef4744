"""Parsing JSON that others wrote."""

import json
from typing import Any

__all__ = ["parse_json"]


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Return the value of the text; options: those of `json.loads`.

    Raises ValueError for every text without a value: also for one that is nested too deeply, which the parser reports
    as RecursionError.
    """
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
