from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

MISSING: int
JSON_NULL: int
STRING: int
NUMBER: int
BOOLEAN: int
NESTED: int
INVALID: int

class Leaf(NamedTuple):
    """The values at one path, one per text."""

    text: pa.Array
    """large_string: strings unescaped, numbers as written, "true", "false"; null for every other kind."""
    kind: pa.Array
    """uint8: 0 missing, 1 JSON null, 2 string, 3 number, 4 boolean, 5 object or array, 6 the whole text is not JSON."""

def extract_leaves(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> list[Leaf]:
    """Return the values at `paths` (keys from the root through objects only) of each JSON text, in their order.

    stats: string, large_string, binary or large_binary Array (not chunked). A null text has kind 0 everywhere.
    A key of a path that occurs twice in its object makes every leaf at or below it missing (kind 0).
    Bare NaN, Infinity and -Infinity are numbers. Values outside the paths are skipped: brackets, strings and the
    end of the text are checked there, numbers and literals are not.

    Raises TypeError for an array of another type, ValueError for an empty path.
    """

def extract_int64(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> list[tuple[pa.Array, pa.Array]]:
    """As extract_leaves, but (int64 values, uint8 kinds).

    A value is there if the number is integral and in range (12, 12.0, 1.2e1), else it is null. A number of more than 15
    digits with a point or an exponent is null, as the double that it is the text of may have lost digits.
    """

def extract_double(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> list[tuple[pa.Array, pa.Array]]:
    """As extract_leaves, but (double values, uint8 kinds).

    A value is the double nearest to the number, infinite beyond the range; NaN and infinities if written without
    quotes; else null.
    """

def count_comparisons(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> int:
    """Return how many comparisons of a key with a wanted key `extract_leaves` makes; tests bound its work by it."""
