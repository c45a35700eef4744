"""Shredding of variants: the values of names that their objects share become typed columns.

# Parquet, Variant Shredding: a variant is a struct of metadata, value and typed_value. A value that is of the type of
# typed_value is there, and any other is in value. typed_value of objects is a struct of such pairs, one for each name
# that is shredded, and value has the members of other names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions.variants import TYPES_OF_ITEMS, items_of, values_of
from deltaskip.sparkexpr.kernels.variant_items import members_of, without_members
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled
from deltaskip.sparkexpr.values.variant_reading import VariantPrimitive, VariantTree, tree_of

Plan = Mapping[str, "t.DataType | Plan"]
"""The type of each shredded name, or the plan of its objects."""

_SAMPLE, _DEPTH, _MOST_NAMES = 64, 4, 64
# Names that fewer of the objects have are not shredded.
_SHARED = 0.1
_TYPES = (t.LONG, t.DOUBLE, t.STRING, t.BOOLEAN, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_OBJECT = 100


def shredding_of(variants: pa.Array) -> Plan | None:
    """Return how some variants are shredded, from a few of them; None if they share no names of values of one type."""
    variants = variants.drop_null()
    some = arrow_array(range(0, len(variants), max(1, len(variants) // _SAMPLE)), pa.int64())
    members = [variants.field(name).take(some) for name in ("value", "metadata")]
    try:
        trees = [tree_of(each) for each in zip(*(member.to_pylist() for member in members), strict=True)]
    except Undecided:
        return None
    left = iter(range(_MOST_NAMES))
    return _plan([tree for tree in trees if isinstance(tree, dict)], left, _DEPTH) or None


def _plan(objects: list[dict[str, VariantTree]], left: Iterator[int], depth: int) -> Plan:
    names = Counter(name for each in objects for name in each)
    plan: dict[str, t.DataType | Plan] = {}
    for name, number in names.items():
        if number < _SHARED * len(objects):
            continue
        values = [each[name] for each in objects if name in each]
        if depth and all(isinstance(value, dict) for value in values):
            inner = _plan([value for value in values if isinstance(value, dict)], left, depth - 1)
            if inner:
                plan[name] = inner
        else:
            types = {value.type if isinstance(value, VariantPrimitive) else None for value in values} - {t.VOID}
            found = types.pop() if len(types) == 1 else None
            if found in _TYPES and next(left, None) is not None:
                assert found is not None
                plan[name] = found
    return plan


def shredded_type(plan: Plan) -> pa.StructType:
    """Return the type of the columns of files with variants that are shredded by a plan."""
    pair = _pair_type(plan)
    return pa.struct([pa.field("metadata", pa.binary(), False), *pair])


def _pair_type(plan: t.DataType | Plan) -> pa.StructType:
    if isinstance(plan, Mapping):
        typed: pa.DataType = pa.struct([pa.field(name, _pair_type(inner), False) for name, inner in plan.items()])
    else:
        typed = arrow_type(plan)
    return pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", typed)])


def shredded(variants: pa.Array, plan: Plan) -> pa.Array:
    """Return variants as a column of shredded_type(plan). Raises ValueError for variants that are not valid.

    plan: What `shredding_of` returned, also for other variants.
    """
    members = dict(zip((field.name for field in variants.type), variants.flatten(), strict=True))
    metadata = members["metadata"]
    pair = _pair(members["value"], metadata, plan)
    kind = shredded_type(plan)
    mask = variants.is_null() if variants.null_count else None
    return pa.StructArray.from_arrays([filled(metadata, b""), *pair], fields=list(kind), mask=mask)


def _pair(values: pa.Array, metadata: pa.Array, plan: t.DataType | Plan) -> list[pa.Array]:
    """The two columns of values, both null where a value is null, which is missing."""
    items = items_of(pa.StructArray.from_arrays([values, metadata], ["value", "metadata"]), ())
    if not isinstance(plan, Mapping):
        wanted = [kind for kind, type_ in TYPES_OF_ITEMS.items() if type_ == plan]
        fits = np.isin(items.kinds, wanted)
        rows = np.flatnonzero(fits)
        places = np.full(len(fits), -1)
        places[rows] = np.arange(len(rows))
        typed = values_of(items, plan, rows).take(pa.array(np.maximum(places, 0), mask=~fits)) if len(rows) else None
        missing = pa.nulls(len(values), arrow_type(plan))
        return [pc.if_else(arrow_array(fits), None, values), missing if typed is None else typed]
    is_object = arrow_array(items.kinds == _OBJECT)
    kind = _pair_type(plan)
    inner = [
        pa.StructArray.from_arrays(
            _pair(members_of(values, metadata, pa.array([name.encode()])), metadata, each),
            fields=list(_pair_type(each)),
        )
        for name, each in plan.items()
    ]
    typed_type = kind.field("typed_value").type
    typed_value = pa.StructArray.from_arrays(inner, fields=list(typed_type), mask=pc.invert(is_object))
    names = pa.array([name.encode() for name in plan], pa.binary())
    return [without_members(values, metadata, names), typed_value]
