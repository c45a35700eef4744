import pyarrow as pa

def all_plain(paths: pa.Array) -> bool:
    """Whether every path is relative and its own decoded, encoded and normalised form. Nulls are not plain."""

def prefixed(prefix: bytes, values: pa.Array) -> pa.Array:
    """String array of `prefix` followed by each value; null where the value is null. prefix: UTF-8.

    Raises ValueError where the texts come to 2 GiB, more than one string array holds.
    """
