"""Conversion of Arrow tables to DataFrames of pandas and Polars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from deltaskip import arguments
from deltaskip.doors import first_line
from deltaskip.errors import InvalidArgument, InvalidArgumentType, ReadWarning, UnsupportedFeature
from deltaskip.warning import warn

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow as pa

# The greatest integer up to which all integers are exact as doubles.
_EXACT_DOUBLE = 1 << 53
# The first releases of Polars whose LazyFrames read what they need, and that have maps.
_POLARS, _POLARS_WITH_MAPS = (1, 33), (2, 0)


class AsFrames:
    """Base class of objects with `to_arrow`. It returns their rows as DataFrames of other libraries."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_arrow(self) -> pa.Table: ...

    def to_pandas(self, types: Literal["numpy", "arrow"] = "numpy", **options: Any) -> pandas.DataFrame:
        """Return the rows of `to_arrow` as a pandas DataFrame.

        Args:
            types: "numpy" for pandas' default types, in which integers with NULL become doubles; a ReadWarning is
                issued if they lose digits, which is possible from 2**53 on. "arrow" for columns of Arrow types:
                integers with NULL stay integers, and dates stay dates.
            options: Arguments of `pyarrow.Table.to_pandas`, such as types_mapper.

        Raises:
            UnsupportedFeature: A date has a year outside 1 to 9999, which only types="arrow" can contain.
        """
        arguments.choice("types", types, "numpy", "arrow")
        return _pandas_frame(self.to_arrow(), types, options)

    def to_polars(self) -> polars.DataFrame:
        """Return the rows of `to_arrow` as a Polars DataFrame. Raises UnsupportedFeature if it is not installed."""
        return frame_of(self.to_arrow())


def frame_of(table: pa.Table) -> polars.DataFrame:
    """Return an Arrow table as a Polars DataFrame. Raises UnsupportedFeature for a release that reads other values."""
    import polars

    release = tuple(map(int, polars.__version__.split(".")[:2]))
    if release < _POLARS:
        raise UnsupportedFeature(
            f"Polars {polars.__version__} is installed, and deltaskip needs {_POLARS[0]}.{_POLARS[1]} or newer: pip "
            f"install --upgrade polars."
        )
    if release < _POLARS_WITH_MAPS:
        table = _without_maps(table)
    # Chunks stay apart: one array of all would be a copy.
    found = polars.from_arrow(table, rechunk=False)
    assert isinstance(found, polars.DataFrame)
    return found


def _without_maps(table: pa.Table) -> pa.Table:
    """A table with lists of entries for maps: Polars 1 takes a NULL map for an empty one."""
    import pyarrow as pa

    def plain(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_map(kind):
            entry = pa.field("key", plain(kind.key_type), False), pa.field("value", plain(kind.item_type))
            return pa.list_(pa.struct(entry))
        if pa.types.is_list(kind):
            return pa.list_(kind.value_field.with_type(plain(kind.value_type)))
        if pa.types.is_struct(kind):
            return pa.struct([field.with_type(plain(field.type)) for field in kind])
        return kind

    return table.cast(pa.schema([field.with_type(plain(field.type)) for field in table.schema]))


def _pandas_frame(table: pa.Table, types: str, options: Mapping[str, Any]) -> pandas.DataFrame:
    if types == "numpy":
        if not options.get("types_mapper") and not options.get("integer_object_nulls"):
            for name in table.column_names:
                if any(map(_loses_digits, table[name].chunks)):
                    warn(
                        f"The column {name} has NULL, so that pandas stores its integers as doubles, which lose digits "
                        f"from 2**53 on: pass types='arrow'.",
                        ReadWarning,
                    )
        return _of_pyarrow(table, options)
    if "types_mapper" in options:
        raise InvalidArgument("types='arrow' and types_mapper both choose the types: pass one of them.")
    import pandas

    return _of_pyarrow(table, {**options, "types_mapper": pandas.ArrowDtype})


def _of_pyarrow(table: pa.Table, options: Mapping[str, Any]) -> pandas.DataFrame:
    try:
        return table.to_pandas(**options)
    except ValueError as error:
        if "out of range" not in str(error):
            raise
        raise UnsupportedFeature(
            f"pandas stores dates as objects of Python, whose years are 1 to 9999 ({first_line(error)}): pass "
            f"types='arrow'."
        ) from error
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise InvalidArgumentType(
            f"to_pandas {first_line(error)}: it takes the arguments of pyarrow.Table.to_pandas, and types='arrow' for "
            f"columns that stay in Arrow."
        ) from error


def _loses_digits(values: pa.Array) -> bool:
    """Whether integers lose digits as doubles. pandas converts integer columns with NULL to doubles."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_integer(kind):
        if not values.null_count or kind.bit_width < 64:
            return False
        ends = pc.min_max(values)
        return any(end.is_valid and abs(end.as_py()) > _EXACT_DOUBLE for end in (ends["min"], ends["max"]))
    if not pa.types.is_nested(kind):
        return False
    inner = [values.keys, values.items] if pa.types.is_map(kind) else values.flatten()
    return any(map(_loses_digits, inner if isinstance(inner, list) else [inner]))
