"""The columns that a scan returns: top-level ones, and fields of structs, which become columns of their name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from deltaskip import arguments
from deltaskip.errors import InvalidArgument, PredicateError
from deltaskip.log import Snapshot
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.read_options import ALL_ROWS, ReadOptions
from deltaskip.sparkexpr import col
from deltaskip.sparkexpr.nodes import Column
from deltaskip.sparkexpr.types import StructField, StructType, display_name, resolve

Paths = Mapping[str, tuple[str, ...]]
"""The path of each returned column, by its name, in their order."""


_S = TypeVar("_S", bound="SelectingScan")


class SelectingScan(LogScan):
    """A scan whose columns may be fields of structs, such as `user.city`."""

    _planned_from = (*LogScan._planned_from, "_paths")
    _paths: Paths | None = None

    def __init__(self, snapshot: Snapshot, options: ReadOptions = ALL_ROWS) -> None:
        if options.columns is not None:
            # An iterator can be consumed only once.
            columns = arguments.names("columns", options.columns)
            options = replace(options, columns=columns)
            try:
                paths = [_path(snapshot.schema, name) for name in columns]
                self._paths = _paths_by_name(paths)
            except (PredicateError, InvalidArgument) as error:
                at = f"(table {snapshot.table_root}, version {snapshot.version})"
                raise type(error)(f"{error} {at}") from error
            options = replace(options, columns=list(dict.fromkeys(path[0] for path in paths)))
        super().__init__(snapshot, options)

    def _given(self) -> dict[str, object]:
        given = super()._given()
        if self._paths is not None:
            given["columns"] = [display_name(path) for path in self._paths.values()]
        return given

    @property
    def paths_by_name(self) -> Mapping[str, tuple[str, ...]]:
        """The path of each returned column, by its name, in their order."""
        if self._paths is not None:
            return self._paths
        names = self.snapshot.schema.names if self.columns is None else dict.fromkeys(self.columns)
        return {name: (name,) for name in names}

    def _with_paths(self, frame: Any, metadata: bool = False) -> Any:
        """The columns of the scan, from a DataFrame of top-level columns."""
        if self._paths is None:
            return frame
        chosen = [display_name(path) for path in self._paths.values()]
        return frame.select(*chosen, *(["_metadata"] if metadata else []))


def of_columns(scan: _S, names: Iterable[str]) -> _S:
    """Return the scan with these top-level columns."""
    found = copy(scan)
    found._paths = None
    found.columns = found._named = tuple(dict.fromkeys(names))
    return found


def _paths_by_name(paths: Sequence[tuple[str, ...]]) -> Paths | None:
    """The paths of columns by name, if one is a field of a struct, such as `user.city`; None if none is.

    Raises InvalidArgument if two fields have the same name.
    """
    if all(len(path) == 1 for path in paths):
        return None
    found: dict[str, tuple[str, ...]] = {}
    for path in paths:
        if found.setdefault(path[-1], path) != path:
            raise InvalidArgument(
                f"columns has both {display_name(found[path[-1]])} and {display_name(path)}, which are named "
                f"{path[-1]}: select one of them, or the structs."
            )
    return found


def field_at(schema: StructType, path: Sequence[str]) -> StructField:
    """Return the field of a path, under the field's name; it is null where a struct around it is null."""
    return resolve(schema, path).field


def with_fields(field: StructField, paths: Iterable[Sequence[str]]) -> StructField:
    """Return a column with only the fields of these paths, which begin with the column's name."""
    below = [path[1:] for path in paths if path[0] == field.name]
    if not isinstance(field.type, StructType) or not all(below):
        return field
    names = {path[0] for path in below}
    left = (with_fields(each, below) for each in field.type.fields if each.name in names)
    return replace(field, type=StructType(tuple(left)))


def _path(schema: StructType, name: str) -> tuple[str, ...]:
    """The path of a column or field; raises PredicateError if there is none, or it is inside an array or a map."""
    try:
        return resolve(schema, [name]).logical
    except PredicateError:
        node = col(name).node
        # A name in backticks is accepted as well.
        if not isinstance(node, Column) or node.parts == (name,):
            raise
        return resolve(schema, node.parts).logical
