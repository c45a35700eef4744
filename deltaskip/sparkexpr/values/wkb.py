"""A check of well-known binary (WKB) by its first bytes.

# Apache Parquet, Geospatial Definitions: the ISO variant of OGC Simple Feature Access, with XY, XYZ, XYM and XYZM
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.values.arrow_values import arrow_array

_HEADER_BYTES = 5
_KINDS, _DIMENSIONS = range(1, 8), range(4)


def is_wkb(value: bytes) -> bool:
    """Whether a value begins with a byte order and a type of ISO WKB. EWKB, with flags and an SRID, does not."""
    order = {0: "big", 1: "little"}.get(value[0]) if len(value) >= _HEADER_BYTES else None
    kind = 0 if order is None else int.from_bytes(value[1:_HEADER_BYTES], "big" if order == "big" else "little")
    return kind % 1000 in _KINDS and kind // 1000 in _DIMENSIONS


def first_not_wkb(values: pa.Array) -> int | None:
    """Return the index of the first value, other than null, that is not WKB; None if there is none."""
    heads = pc.binary_slice(values, 0, _HEADER_BYTES).dictionary_encode()
    broken = arrow_array([not is_wkb(each) for each in heads.dictionary.to_pylist()], pa.bool_())
    found: int = pc.index(broken.take(heads.indices), True).as_py()
    return None if found < 0 else found
