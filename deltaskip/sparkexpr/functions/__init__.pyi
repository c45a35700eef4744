"""The functions that deltaskip evaluates, each one row in the module of its family, and what Spark's functions are."""

from .by_name import ALIASES, FUNCTIONS, PRESENT, REPLACED, function_node
from .shapes import SHAPE_PREDICATES, constant_shape, library, related
from .spark_functions import (
    AGGREGATES,
    ARGUMENT_COUNTS,
    CHANGING,
    FUNCTION_NAMES,
    GENERATORS,
    LITERAL_FUNCTIONS,
    NONDETERMINISTIC,
    OF_SESSION,
    OF_SHAPES,
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
    "OF_SHAPES",
    "PRESENT",
    "REPLACED",
    "SHAPE_PREDICATES",
    "SYNTAX",
    "WINDOWS",
    "VariantPath",
    "constant_shape",
    "function_node",
    "library",
    "related",
    "shredded",
    "shredded_type",
    "shredding_of",
    "variant_object",
    "variant_path",
    "variant_path_bounds",
    "variant_path_extremes",
]
