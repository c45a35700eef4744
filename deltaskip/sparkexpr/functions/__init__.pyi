"""The functions that deltaskip evaluates, each one row in the module of its family, and what Spark's functions are."""

from .by_name import ALIASES, FUNCTIONS, PRESENT, REPLACED, function_node
from .spark_functions import (
    AGGREGATES,
    ARGUMENT_COUNTS,
    CHANGING,
    FUNCTION_NAMES,
    GENERATORS,
    LITERAL_FUNCTIONS,
    NONDETERMINISTIC,
    OF_SESSION,
    SYNTAX,
    WINDOWS,
)
from .variant_paths import VariantPath, variant_object, variant_path, variant_path_bounds, variant_path_extremes
from .variant_shredding import shredded, shredded_type, shredding_of

__all__ = [
    "AGGREGATES",
    "ALIASES",
    "ARGUMENT_COUNTS",
    "CHANGING",
    "FUNCTIONS",
    "FUNCTION_NAMES",
    "GENERATORS",
    "LITERAL_FUNCTIONS",
    "NONDETERMINISTIC",
    "OF_SESSION",
    "PRESENT",
    "REPLACED",
    "SYNTAX",
    "WINDOWS",
    "VariantPath",
    "function_node",
    "shredded",
    "shredded_type",
    "shredding_of",
    "variant_object",
    "variant_path",
    "variant_path_bounds",
    "variant_path_extremes",
]
