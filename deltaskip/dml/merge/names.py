"""What the names in the expressions of a MERGE mean: columns of the target or of the source."""

from __future__ import annotations

from typing import Literal

from deltaskip.errors import PredicateError
from deltaskip.schema.resolve import InsideCollection, fold_name, resolve
from deltaskip.schema.types import StructType

__all__ = ["Names", "Side"]

Side = Literal["target", "source"]

_MOST_QUALIFIERS = 3


class Names:
    """The names of both sides.

    Args:
        target: The schema of the target.
        source: The schema of the source.
        target_alias: The name of the target.
        source_alias: The name of the source; None if its DataFrame has names that are not known here.
    """

    def __init__(
        self, target: StructType, source: StructType, target_alias: str | None, source_alias: str | None
    ) -> None:
        self._target = target
        self._source = source
        self._target_alias = None if target_alias is None else fold_name(target_alias)
        self._source_alias = None if source_alias is None else fold_name(source_alias)

    def side(self, parts: tuple[str, ...]) -> tuple[Side, tuple[str, ...]] | None:
        """Return the side that a name is a column of, and its path there; None if it has no reading or several."""
        readings: set[tuple[Side, tuple[str, ...]]] = set()
        for count in range(min(len(parts) - 1, _MOST_QUALIFIERS) + 1):
            name = parts[count:]
            of_target = count == 0 or (count == 1 and fold_name(parts[0]) == self._target_alias)
            of_source = count == 0 or self._is_source(parts[:count])
            sides: tuple[tuple[Side, StructType, bool], ...] = (
                ("target", self._target, of_target),
                ("source", self._source, of_source),
            )
            for side, schema, may in sides:
                if not may:
                    continue
                try:
                    readings.add((side, resolve(schema, name).logical))
                except InsideCollection:
                    return None
                except PredicateError as error:
                    if "ambiguous" in str(error):
                        return None
        return readings.pop() if len(readings) == 1 else None

    def _is_source(self, qualifiers: tuple[str, ...]) -> bool:
        """Whether names may begin with these qualifiers for columns of the source.

        One that is not the target's can only be one that the DataFrame of the source has, unless it got another name.
        """
        if self._source_alias is not None:
            return len(qualifiers) == 1 and fold_name(qualifiers[0]) == self._source_alias
        return len(qualifiers) > 1 or fold_name(qualifiers[0]) != self._target_alias
