"""Statistics of variants: variants that hold the bounds of the values at their paths.

# PROTOCOL, Statistics for Variant Columns: minValues and maxValues are variants, objects of normalized paths with the
# bounds of the values there: in JSON as Z85 text, in the struct form as variants. A path may have bounds only if its
# values have the same type in every row of the file; types may differ between files.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels.z85 import z85_encode, z85_variants
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import variant_path_bounds
from deltaskip.sparkexpr.values.arrow_values import arrow_array, is_true
from deltaskip.stats.believed_bounds import BoundForm
from deltaskip.stats.decode import from_struct
from deltaskip.stats.layout import StatField

STRUCT_TYPE = pa.struct([pa.field(field.name, field.type) for field in t.VARIANT_STORAGE])
"""The type of variants in the struct form of statistics."""

_BINARY = (pa.binary(), pa.large_binary())


def of_texts(texts: pa.Array) -> pa.StructArray:
    """Return the variants of Z85 texts; null where a text is null, or is not that of a variant."""
    values, metadata = z85_variants(texts)
    return _variants(values, metadata)


def of_structs(values: pa.Array) -> pa.StructArray:
    """Return the variants of a leaf of `stats_parsed`; null for another type, and for shredded variants."""
    if not is_variant(values.type):
        return pa.nulls(len(values), STRUCT_TYPE)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    found = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
    return _variants(*(found[name].cast(pa.binary()) for name in ("value", "metadata")))


def is_variant(kind: pa.DataType) -> bool:
    """Whether an Arrow type of `stats_parsed` is the type of variants that are not shredded."""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    members = {field.name: field.type for field in kind} if pa.types.is_struct(kind) else {}
    return members.keys() == {field.name for field in t.VARIANT_STORAGE} and set(members.values()) <= set(_BINARY)


def texts_of(values: pa.Array) -> pa.Array:
    """Return the Z85 texts of variants of `stats_parsed`, null for null."""
    found = []
    for each in of_structs(values).to_pylist():
        data = None if each is None else each["metadata"] + each["value"]
        found.append(None if data is None else z85_encode(data + b"\0" * (-len(data) % 4)))
    return arrow_array(found, pa.string())


def path_bounds(low: pa.Array, high: pa.Array, field: StatField) -> tuple[pa.Array, pa.Array, pa.BooleanArray]:
    """Return the bounds of the values at `field.inside`, cast to its type, in the layout of `field.kind`.

    Args:
        low: The variants of minValues.
        high: The variants of maxValues.
        field: The path in a column.

    Returns:
        The bounds, null where unknown, and where the maximum is an upper bound of NaN, too, as there is none.
    """
    least, greatest, without_nan = variant_path_bounds(low, high, field.inside, field.type)
    sides = from_struct(least, field, "min", BoundForm.TEXT), from_struct(greatest, field, "max", BoundForm.TEXT)
    return *sides, is_true(pc.and_(without_nan, least.is_valid()))


def _variants(values: pa.Array, metadata: pa.Array) -> pa.StructArray:
    members = {"value": values, "metadata": metadata}
    null = pc.or_(values.is_null(), metadata.is_null())
    fields = list(STRUCT_TYPE)
    return pa.StructArray.from_arrays([members[field.name] for field in fields], fields=fields, mask=null)
