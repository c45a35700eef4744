"""Rows as a DataFrame of pandas, in types of NumPy or of Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltaskip import arguments
from deltaskip.errors import InvalidArgument

if TYPE_CHECKING:
    import pandas
    import pyarrow as pa


def pandas_frame(table: pa.Table, types: str, options: Mapping[str, Any]) -> pandas.DataFrame:
    """Return a table as a DataFrame, see `TableScan.to_pandas`."""
    if arguments.choice("types", types, "numpy", "arrow") == "numpy":
        return table.to_pandas(**options)
    if "types_mapper" in options:
        raise InvalidArgument("types='arrow' and types_mapper both choose the types: pass one of them.")
    import pandas

    return table.to_pandas(types_mapper=pandas.ArrowDtype, **options)
