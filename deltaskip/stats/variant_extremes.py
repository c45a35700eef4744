"""Extremes of the values at paths inside variants, from the values of a data file."""

from __future__ import annotations

import pyarrow as pa

from deltaskip.sparkexpr.functions import variant_path_extremes
from deltaskip.stats.facts import NO_VALUES, Extremes, PathExtremes


def path_extremes(variants: pa.Array) -> Extremes:
    """Return the extremes at the paths of some variants; see `variant_path_extremes`."""
    if variants.null_count == len(variants):
        return NO_VALUES
    found = PathExtremes(variant_path_extremes(variants))
    return Extremes(found, found)
