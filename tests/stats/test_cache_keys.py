"""Keys of the column cache."""

from itertools import combinations
from typing import get_args

from deltaskip.stats import cache_keys
from deltaskip.stats.cache_keys import CacheKey, CommitsScope, GroupScope


def test_keys_of_two_kinds_are_never_equal() -> None:
    kinds = get_args(CacheKey)
    listed = {name for name in cache_keys.__all__ if name.endswith("Key") and name != "CacheKey"}
    assert {kind.__name__ for kind in kinds} == listed
    keys = [kind(*["same"] * (len(kind._fields) - 1)) for kind in kinds]
    assert not [pair for pair in combinations(keys, 2) if pair[0] == pair[1]]


def test_scopes_of_two_kinds_are_never_equal() -> None:
    assert len(GroupScope._fields) != len(CommitsScope._fields)
