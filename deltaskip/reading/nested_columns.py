"""Columns of structs, lists and maps whose leaves the kernels decode: at most one list, or one map, above each leaf.

A leaf has a level of definition for each of its entries, which says which of the groups above it are there, and where
a list or a map is above it a level of repetition, which is 0 for the first entry of a row. An entry has a slot in a
leaf's array unless a list above it is empty or null. pyarrow reads all other columns, and those whose levels contradict
each other, so that it raises the error.
# Parquet, Nested Encoding; Arrow Columnar Format, Physical Memory Layout
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.reading.plain_columns import PlainColumn, leaves_of
from deltaskip.records import dataclass

# Arrow's offsets have 32 bits.
_MOST_ENTRIES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class NestedLeaf:
    """A leaf of a nested column.

    Attributes:
        column: How its values are stored.
        defined: The level of definition of a value.
        slot: The lowest level of definition of an entry that has a slot: 0 without a list above it.
    """

    column: PlainColumn
    defined: int
    slot: int

    @property
    def levels(self) -> Mapping[str, int | bool]:
        """The arguments of RowTaker."""
        return {"defined": self.defined, "slot": self.slot, "repeated": self.slot > 0}


class Entries:
    """The entries of a leaf: its array, which has the slots, and the levels of all entries.

    Args:
        array: The array.
        definitions: The levels of definition.
        repetitions: The levels of repetition; empty without a list above the leaf.
    """

    def __init__(self, array: pa.Array, definitions: npt.NDArray[np.uint8], repetitions: npt.NDArray[np.uint8]) -> None:
        self.array = array
        self._definitions, self._repetitions = definitions, repetitions
        self._lowest = int(definitions.min()) if len(definitions) else 0
        # The first entry of each row, if rows can have several.
        self._starts = np.flatnonzero(repetitions == 0) if len(repetitions) else None

    def begins_rows(self, count: int) -> bool:
        """Whether the entries are those of so many rows, of which the first is whole."""
        return self._starts is not None and len(self._starts) == count and bool(self._starts[0] == 0)

    def rows(self, first: int, count: int, slot: int) -> Entries | None:
        """Return the entries of some rows that follow each other; None if there are fewer. slot: That of the leaf."""
        begin, end = first, first + count
        if self._starts is not None:
            starts = self._starts
            if not 0 < end <= len(starts):
                return None
            begin, end = int(starts[begin]), int(starts[end]) if end < len(starts) else len(self._definitions)
        elif end > len(self._definitions):
            return None
        definitions = self._definitions[begin:end]
        before, slots = (np.count_nonzero(each >= slot) for each in (self._definitions[:begin], definitions))
        return Entries(self.array.slice(before, slots), definitions, self._repetitions[begin:end])

    def repeats_as(self, other: Entries) -> bool:
        """Whether another leaf of the same list has as many elements in each row."""
        return np.array_equal(self._repetitions, other._repetitions)

    def validity(self, slot: int, defined: int) -> tuple[int, pa.Buffer | None]:
        """Return the number of slots of a group above the leaf, and its validity bitmap; None if it is always there.

        Args:
            slot: The lowest level of definition of an entry that has a slot of the group.
            defined: The level of definition at which the group is not null.
        """
        definitions = self._definitions
        if slot:
            definitions = definitions if self._lowest >= slot else definitions[definitions >= slot]
        elif self._starts is not None:
            if self._lowest >= defined:
                return len(self._starts), None
            definitions = definitions[self._starts]
        valid = None if self._lowest >= defined else definitions >= defined
        if valid is None or valid.all():
            return len(definitions), None
        return len(definitions), pa.py_buffer(np.packbits(valid, bitorder="little"))

    def offsets(self, defined: int) -> npt.NDArray[np.int32] | None:
        """Return the offsets of a list above the leaf; None if the levels of repetition are wrong, or too many.

        The entry of a list that is empty, or null, is no element.

        Args:
            defined: The level of definition at which the list is not null.
        """
        starts, count = self._starts, len(self._definitions)
        if starts is None:
            return np.zeros(1, np.int32) if not count else None
        if count > _MOST_ENTRIES or starts[:1].tolist() != [0]:
            return None
        found = np.empty(len(starts) + 1, np.int32)
        if self._lowest > defined:
            found[:-1], found[-1] = starts, count
            return found
        there = self._definitions > defined
        if self._repetitions[~there].any():
            return None
        before = np.cumsum(there, dtype=np.int32)
        found[:-1] = before[starts] - there[starts]
        found[-1] = before[-1]
        return found


@dataclass(frozen=True, slots=True)
class NestedColumn:
    """A column, or a part of one: a leaf, or a struct, a list or a map of others.

    Attributes:
        field: Its Arrow field.
        defined: The level of definition at which it is not null.
        slot: The lowest level of definition of an entry that has a slot of it, as for leaves.
        parts: The fields of a struct, the elements of a list, or the keys and values of a map.
        leaf: The leaf, if it is one.
    """

    field: pa.Field
    defined: int
    slot: int
    parts: tuple[NestedColumn, ...]
    leaf: NestedLeaf | None = None

    @classmethod
    def of(
        cls, stored: pq.ParquetSchema, field: pa.Field, first: int, chosen: Collection[str] | None = None
    ) -> NestedColumn | None:
        """Return a top-level column; None if pyarrow must read it.

        Args:
            stored: The schema of the file.
            field: The Arrow field of the column, as pyarrow reads it.
            first: The index of its first leaf among the Parquet columns.
            chosen: The paths to read of it, as pyarrow takes them; None for all.
        """
        paths = None if chosen is None or field.name in chosen else frozenset(chosen)
        numbers = iter(range(first, len(stored)))
        return _part(stored, field, numbers, (0, 0), field.name, paths)

    @property
    def leaves(self) -> Iterator[NestedLeaf]:
        """The leaves, in the order of the Parquet columns."""
        if self.leaf is not None:
            yield self.leaf
        for part in self.parts:
            yield from part.leaves

    def array(self, entries: Mapping[int, Entries], rows: int) -> pa.Array | None:
        """Return the values; None if the levels do not have so many rows, or contradict each other.

        entries: The entries of each leaf, by its number.
        """
        found = self._made(entries)
        return found if found is not None and len(found) == rows else None

    def _made(self, entries: Mapping[int, Entries]) -> pa.Array | None:
        if self.leaf is not None:
            values = entries[self.leaf.column.number].array
            if self.field.nullable or not values.null_count:
                return values
            # A value is null only where its parent is. Arrow converts no type with other nulls in such a field.
            return pa.Array.from_buffers(values.type, len(values), [None, *values.buffers()[1:]], 0, values.offset)
        parts = [made for part in self.parts if (made := part._made(entries)) is not None]
        first = entries[next(self.leaves).column.number]
        if len(parts) < len(self.parts):
            return None
        kind = self.field.type
        typed = [part.field.with_type(array.type) for part, array in zip(self.parts, parts, strict=True)]
        if pa.types.is_struct(kind):
            rows, validity = first.validity(self.slot, self.defined)
            if any(len(part) != rows for part in parts):
                return None
            held = validity if self.field.nullable else None
            return pa.Array.from_buffers(pa.struct(typed), rows, [held], children=parts)
        offsets = first.offsets(self.defined)
        if offsets is None or any(len(part) != offsets[-1] for part in parts):
            return None
        if not all(first.repeats_as(entries[leaf.column.number]) for leaf in self.leaves):
            return None
        rows, validity = first.validity(0, self.defined)
        if pa.types.is_map(kind):
            inner = pa.StructArray.from_arrays(parts, fields=typed)
            whole = pa.map_(*typed)
        else:
            inner, whole = parts[0], pa.list_(typed[0])
        return pa.Array.from_buffers(whole, rows, [validity, pa.py_buffer(offsets)], children=[inner])


def _part(
    stored: pq.ParquetSchema,
    field: pa.Field,
    numbers: Iterator[int],
    levels: tuple[int, int],
    path: str,
    chosen: frozenset[str] | None,
) -> NestedColumn | None:
    """A part of a column; None if pyarrow must read it, or if it is not one of the chosen paths.

    levels: Its levels of definition and of slots, without its own.
    """
    defined, slot = levels[0] + field.nullable, levels[1]
    kind = field.type
    if not pa.types.is_nested(kind):
        number = next(numbers)
        column = stored.column(number)
        plain = PlainColumn.of_leaf(kind, column, number)
        fits = column.max_definition_level == defined and column.max_repetition_level == (slot > 0)
        leaf = NestedLeaf(plain, defined, slot) if plain is not None and fits else None
        return None if leaf is None else NestedColumn(field, defined, slot, (), leaf)
    if type(kind) is pa.StructType:
        fields, below = list(kind), (defined, slot)
    elif slot:
        return None
    elif type(kind) is pa.MapType and not kind.key_field.nullable:
        fields, below = [kind.key_field, kind.item_field], (defined + 1, defined + 1)
    elif type(kind) is pa.ListType:
        fields, below = [kind.value_field], (defined + 1, defined + 1)
    else:
        return None
    parts: list[NestedColumn] = []
    for each in fields:
        inner = f"{path}.{each.name}"
        wanted = type(kind) is not pa.StructType or chosen is None or _is_chosen(inner, chosen)
        if not wanted:
            for _ in range(leaves_of(each.type)):
                next(numbers)
            continue
        part = _part(stored, each, numbers, below, inner, None if chosen is None or inner in chosen else chosen)
        if part is None:
            return None
        parts.append(part)
    return NestedColumn(field, defined, slot, tuple(parts)) if parts else None


def _is_chosen(path: str, chosen: frozenset[str]) -> bool:
    """Whether a path, or one below it, is to be read."""
    return path in chosen or any(each.startswith(f"{path}.") for each in chosen)
