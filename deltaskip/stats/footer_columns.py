"""The columns of a Parquet file in its footer, and the lookup of a table's column among them.

# Apache Parquet, parquet.thrift: SchemaElement, LogicalType
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import MappingMode, fold_name
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.stored_bounds import StoredType

_REQUIRED, _REPEATED = 0, 2
_LIST_OR_MAP = (1, 2, 3)
# Fields of SchemaElement.
_TYPE, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _ID, _LOGICAL = 1, 3, 4, 5, 6, 7, 8, 9, 10
_CONVERTED_DECIMAL = 5
# Members of LogicalType, and the equivalent converted types.
STRING, MAP, LIST, ENUM, DECIMAL, DATE, TIME, TIMESTAMP = range(1, 9)
INTEGER, UNKNOWN, JSON, BSON, VARIANT, GEOMETRY, GEOGRAPHY = 10, 11, 12, 13, 16, 17, 18
_AS_LOGICAL: dict[int, dict[int, Any]] = {
    0: {STRING: {}},
    1: {MAP: {}},
    2: {MAP: {}},
    3: {LIST: {}},
    4: {ENUM: {}},
    6: {DATE: {}},
    7: {TIME: {}},
    8: {TIME: {}},
    9: {TIMESTAMP: {1: True, 2: {1: {}}}},
    10: {TIMESTAMP: {1: True, 2: {2: {}}}},
    **{converted: {INTEGER: {1: 8 << i, 2: False}} for i, converted in enumerate((11, 12, 13, 14))},
    **{converted: {INTEGER: {1: 8 << i, 2: True}} for i, converted in enumerate((15, 16, 17, 18))},
    19: {JSON: {}},
    20: {BSON: {}},
    # INTERVAL, which has no logical type.
    21: {21: {}},
}
_UNITS = {1: "ms", 2: "us", 3: "ns"}

AMBIGUOUS = "ambiguous"
"""Two fields of the file could be the column."""


@dataclass(frozen=True, slots=True)
class ParquetNode:
    """A field of the file. first_leaf: Index of the first column chunk at or below it. parents: From the root."""

    name: str
    element: dict[int, Any]
    first_leaf: int
    children: tuple[ParquetNode, ...] = field(repr=False)

    @property
    def is_leaf(self) -> bool:
        """Whether it is a leaf, which has values."""
        return _TYPE in self.element

    @property
    def required(self) -> bool:
        """Whether it is null only if its parent is null."""
        return bool(self.element.get(_REPETITION, _REQUIRED) == _REQUIRED)

    @property
    def is_struct(self) -> bool:
        """Whether it is a plain group: one value per row, neither a list nor a map."""
        return (
            not self.is_leaf
            and self.element.get(_REPETITION) != _REPEATED
            and self.element.get(_CONVERTED) not in _LIST_OR_MAP
        )

    @property
    def is_repeated(self) -> bool:
        """Whether a row may have several values of it."""
        return bool(self.element.get(_REPETITION) == _REPEATED)

    @property
    def logical(self) -> dict[int, Any]:
        """Its logical type by the member of LogicalType, also if the file has a converted type; empty without one."""
        element = self.element
        found: dict[int, Any] = element.get(_LOGICAL) or _AS_LOGICAL.get(element.get(_CONVERTED, -1), {})
        if element.get(_CONVERTED) == _CONVERTED_DECIMAL and DECIMAL not in found:
            return {DECIMAL: {1: element.get(_SCALE, 0), 2: element.get(_PRECISION, 0)}}
        return found

    @property
    def physical_type(self) -> int:
        """The number of parquet.thrift's Type."""
        return int(self.element[_TYPE])


def leaf_paths(name: str, data_type: pa.DataType, repeated: bool = True) -> tuple[str, ...]:
    """Return the path of each leaf of an Arrow column in Parquet's schema, such as `tags.list.element`.

    repeated: Whether leaves of arrays and maps are among them.
    """
    inner = inner_columns(name, data_type)
    if inner is None:
        return (name,)
    if not (repeated or pa.types.is_struct(data_type)):
        return ()
    return tuple([leaf for path, kind in inner for leaf in leaf_paths(path, kind, repeated)])


def inner_columns(name: str, data_type: pa.DataType) -> list[tuple[str, pa.DataType]] | None:
    """Return the paths and types of the fields, the elements, or the keys and values of a column; None for a leaf."""
    if pa.types.is_struct(data_type):
        return [(f"{name}.{field.name}", field.type) for field in data_type]
    if pa.types.is_list(data_type):
        return [(f"{name}.list.element", data_type.value_type)]
    if pa.types.is_map(data_type):
        return [(f"{name}.key_value.key", data_type.key_type), (f"{name}.key_value.value", data_type.item_type)]
    return None


def parquet_root(elements: Sequence[dict[int, Any]]) -> ParquetNode:
    """Return the tree of a footer's schema elements (depth first). Raises ValueError if they are not a tree."""
    pending = iter(elements)
    leaf = iter(range(len(elements)))
    root = _node(pending, leaf, 0)
    if next(pending, None) is not None:
        raise ValueError("the Parquet schema continues after its last field")
    return root


class ColumnLookup:
    """Finds columns of a table in a file.

    As in Spark, columns are found by field id in mapping mode id, else by physical name, ignoring case if no name is
    equal.

    Args:
        root: The tree of the file's columns.
        mode: The column mapping mode of the table.
    """

    def __init__(self, root: ParquetNode, mode: MappingMode) -> None:
        self._root = root
        self._by_id = mode == "id"
        self._has_ids = any(_ID in child.element for child in root.children)
        # By the identity of a parent, which the root keeps alive, and the kind of the key.
        self._children: dict[tuple[int, Callable[[ParquetNode], Any]], dict[Any, list[ParquetNode]]] = {}

    def nodes_to(self, column: StatColumn) -> tuple[ParquetNode, ...] | str | None:
        """Return the nodes from the top level to the column, None if the file lacks it, or AMBIGUOUS."""
        if self._by_id and not self._has_ids:
            return AMBIGUOUS
        nodes: list[ParquetNode] = []
        here = self._root
        for name, field_id in zip(column.physical, column.field_ids, strict=True):
            if nodes and not here.is_struct:
                return AMBIGUOUS
            if self._by_id and field_id is not None:
                found = self._named(here, _id_of, field_id)
            else:
                found = self._named(here, _name_of, name) or self._named(here, _folded_name, fold_name(name))
            if not found:
                return None
            # Values are read by name, so a name shared by two fields is ambiguous.
            if len(found) > 1 or len(self._named(here, _name_of, found[0].name)) > 1:
                return AMBIGUOUS
            here = found[0]
            nodes.append(here)
        return tuple(nodes)

    def _named(self, parent: ParquetNode, key: Callable[[ParquetNode], Any], value: object) -> Sequence[ParquetNode]:
        """The children whose key has a value."""
        known = self._children.get((id(parent), key))
        if known is None:
            known = self._children[id(parent), key] = {}
            for child in parent.children:
                known.setdefault(key(child), []).append(child)
        return known.get(value, ())


def _id_of(node: ParquetNode) -> Any:
    return node.element.get(_ID)


def _name_of(node: ParquetNode) -> str:
    return node.name


def _folded_name(node: ParquetNode) -> str:
    return fold_name(node.name)


def type_of_leaf(node: ParquetNode) -> StoredType | None:
    """Return the stored type of a leaf, or None for types whose bounds are unused: INT96, boolean, unsigned, …."""
    logical = node.logical
    # The numbers of parquet.thrift's Type: INT32, INT64, FLOAT, DOUBLE, BYTE_ARRAY.
    match node.physical_type:
        case _ if DECIMAL in logical:
            return StoredType("decimal", scale=logical[DECIMAL].get(1, 0))
        case 1 if DATE in logical:
            return StoredType("date")
        case 2 if TIMESTAMP in logical:
            return StoredType("timestamp", unit=_UNITS.get(next(iter(logical[TIMESTAMP].get(2, {})), 2), "us"))
        case 1 | 2 if not logical or logical.get(INTEGER, {}).get(2) is True:
            return StoredType("integer")
        case 4 if not logical:
            return StoredType("float")
        case 5 if not logical:
            return StoredType("double")
        case 6 if STRING in logical:
            return StoredType("string")
        case _:
            return None


def _node(pending: Iterator[dict[int, Any]], leaf: Iterator[int], depth: int) -> ParquetNode:
    element = next(pending, None)
    if element is None or depth > 64:
        raise ValueError("the Parquet schema ends before its last field, or is nested too deep")
    # A leaf takes the next index, and a group's first leaf is its first child's.
    if _TYPE in element:
        return ParquetNode(_name(element), element, next(leaf), ())
    children = tuple(_node(pending, leaf, depth + 1) for _ in range(element.get(_CHILDREN, 0)))
    return ParquetNode(_name(element), element, children[0].first_leaf if children else -1, children)


def _name(element: dict[int, Any]) -> str:
    name: bytes = element[_NAME]
    return name.decode()
