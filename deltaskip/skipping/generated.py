"""stub"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deltaskip.expr.nodes import FieldRef, Node
from deltaskip.schema.mapping import MappingMode
from deltaskip.schema.types import StructType
from deltaskip.skipping.values import Values


@dataclass(frozen=True, slots=True)
class Derived:
    x: int


def derive(derived: Sequence[Derived], nodes: Sequence[Node], found: tuple[FieldRef, Values] | None) -> list[Node]:
    return []


def derived_columns(
    schema: StructType, mode: MappingMode, partition_columns: Sequence[str], properties: Mapping[str, str]
) -> tuple[Derived, ...]:
    return ()
