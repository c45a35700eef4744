"""The compiled functions of Spark's expressions, and the views of Arrow data that all kernels use."""

from .hashes import hash_bytes
from .key_column import KeyColumn
from .lane import Lane, and_lanes, constant_lane, or_lanes, take_lane
from .variant_building import of_lists, of_numbers, of_texts
from .variant_objects import of_structs

__all__ = [
    "KeyColumn",
    "Lane",
    "and_lanes",
    "constant_lane",
    "hash_bytes",
    "of_lists",
    "of_numbers",
    "of_structs",
    "of_texts",
    "or_lanes",
    "take_lane",
]
