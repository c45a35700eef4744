"""Keys of the column cache."""

from deltaskip.stats.cache_keys import CommitsScope, GroupScope


def test_scopes_of_two_kinds_are_never_equal() -> None:
    assert len(GroupScope._fields) != len(CommitsScope._fields)
