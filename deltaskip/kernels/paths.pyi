import pyarrow as pa

def all_plain(paths: pa.Array) -> bool:
    """Whether every path is relative and equal to its decoded, encoded and normalized form. Nulls are not plain."""

def prefixed(prefix: bytes, values: pa.Array) -> pa.Array:
    """Return a string array of `prefix` followed by each value; nulls stay null. prefix: UTF-8.

    Raises ValueError if the texts exceed 2 GiB, the limit of a string array.
    """
