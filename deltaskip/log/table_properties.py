"""Table properties that say when the log is checkpointed and what of it is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deltaskip.errors import SchemaError

__all__ = ["CHECKPOINT_INTERVAL", "checkpoint_interval", "duration_ms", "flag", "version_of"]

CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_DEFAULT_INTERVAL = 10
_UNIT_MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"\s*([+-]?\d+)\s+([a-z]+)")


def checkpoint_interval(properties: Mapping[str, str]) -> int:
    """After how many commits a checkpoint is due. Raises SchemaError for a property that is no positive number."""
    text = properties.get(CHECKPOINT_INTERVAL, str(_DEFAULT_INTERVAL)).strip()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SchemaError(f"The table property {CHECKPOINT_INTERVAL} is {text!r}; it must be a positive number.")
    return int(text)


def duration_ms(properties: Mapping[str, str], name: str, default: str) -> int:
    """A property such as `interval 30 days` in milliseconds.

    Months and years, whose lengths differ, are none. Raises SchemaError for a property that is no duration.
    """
    text = properties.get(name, default)
    rest = text.strip().lower().removeprefix("interval")
    micros = position = 0
    while position < len(rest.rstrip()):
        part = _PART.match(rest, position)
        unit = None if part is None else part[2].removesuffix("s")
        if part is None or unit not in _UNIT_MICROS:
            position = -1
            break
        micros += int(part[1]) * _UNIT_MICROS[unit]
        position = part.end()
    if position <= 0 or micros < 0:
        raise SchemaError(f"The table property {name} is {text!r}; write a duration such as 'interval 30 days'.")
    return micros // 1000


def flag(properties: Mapping[str, str], name: str, default: bool) -> bool:
    """A property that is true or false."""
    text = properties.get(name)
    return default if text is None else text.strip().lower() == "true"


def version_of(properties: Mapping[str, str], name: str, default: int) -> int:
    """A property that is a version of the table. Raises SchemaError for one that is none."""
    text = properties.get(name, str(default)).strip()
    if not (text.isascii() and text.isdigit()):
        raise SchemaError(f"The table property {name} is {text!r}; it must be a version of the table.")
    return int(text)
