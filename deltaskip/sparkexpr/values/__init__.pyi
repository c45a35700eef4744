"""Values as Spark reads, casts, writes, compares and hashes them."""

from .casts import cast_value
from .comparisons import equal_rows
from .floats import JSON_FLOATS, SPECIAL_FLOATS, java_text, nearest_float, to_float
from .hashes import SPARK_SEED, iceberg_bucket, spark_hash, spark_hashes
from .interval_types import INTERVALS
from .intervals import interval_text
from .key_tuples import KeyTuples, equal_form
from .nanoseconds import format_nanos, parse_nanos
from .numerals import EXACT, context, decimal_of, exactly, integer_of, of_unscaled
from .row_hashes import row_hashes
from .vectors import floats_of_order, ordered_floats
from .wkb import first_not_wkb

__all__ = [
    "EXACT",
    "INTERVALS",
    "JSON_FLOATS",
    "SPARK_SEED",
    "SPECIAL_FLOATS",
    "KeyTuples",
    "cast_value",
    "context",
    "decimal_of",
    "equal_form",
    "equal_rows",
    "exactly",
    "first_not_wkb",
    "floats_of_order",
    "format_nanos",
    "iceberg_bucket",
    "integer_of",
    "interval_text",
    "java_text",
    "nearest_float",
    "of_unscaled",
    "ordered_floats",
    "parse_nanos",
    "row_hashes",
    "spark_hash",
    "spark_hashes",
    "to_float",
]
