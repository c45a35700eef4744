"""Lower case of Spark's UTF8_LCASE, for each version of ICU.

# Spark 4.1, CollationAwareUTF8String: each code point by itself through ICU's simple lower case, U+0130 to `i` and
# U+0307, U+03C2 (final sigma) to U+03C3; bytes that are not UTF-8 become U+FFFD first.
The rules do not depend on neighboring characters, so `ß` is not `ss`. They grow with Unicode: 77.1 has 27 more letters
than 75.
"""

from __future__ import annotations

import re
from functools import cache

from deltaskip.collations.lowercase_tables import ADDED, UNICODE_OF
from deltaskip.errors import CollationUnavailable
from deltaskip.kernels.lowercase import LowercaseTable

__all__ = ["lowercase_map", "lowercase_table", "lowercase_versions", "make_valid"]

_STRETCH = re.compile(r"([0-9a-f]+)(?:~([0-9a-f]+)(/2)?)?([+-][0-9a-f]+)")
_FINAL_SIGMA, _SIGMA = 0x3C2, 0x3C3


def lowercase_versions() -> tuple[str, ...]:
    """The ICU versions with a lower-case table, oldest first."""
    return tuple(UNICODE_OF)


def lowercase_map(version: str) -> dict[int, int]:
    """Map of code points to their lower case where they differ, in ICU `version` (`77.1`); without U+0130.

    Raises CollationUnavailable for a version without a table.
    """
    if version not in UNICODE_OF:
        raise CollationUnavailable(
            f"There is no lower-case table of ICU {version!r}; the available versions are {', '.join(UNICODE_OF)}."
        )
    lower: dict[int, int] = {}
    for unicode, stretches in ADDED.items():
        for code_points, difference in map(_stretch, _STRETCH.finditer(stretches)):
            lower.update((c, c + difference) for c in code_points)
        if unicode == UNICODE_OF[version]:
            break
    lower[_FINAL_SIGMA] = _SIGMA
    return lower


@cache
def lowercase_table(version: str) -> LowercaseTable:
    """The map for the kernels, created once. Raises CollationUnavailable for a version without a table."""
    return LowercaseTable(lowercase_map(version))


def make_valid(text: bytes) -> bytes:
    """`text` as valid UTF-8: each truncated code point (its longest prefix) and each stray byte becomes U+FFFD.

    # Spark 4.1, UTF8String.makeValid
    """
    return text.decode("utf-8", "replace").encode()


def _stretch(match: re.Match[str]) -> tuple[range, int]:
    first, last, every_other, difference = match.groups()
    return range(int(first, 16), int(last or first, 16) + 1, 2 if every_other else 1), int(difference, 16)
