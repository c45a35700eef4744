"""Spellings of paths."""

import pytest

from deltaskip.actions.paths import escape_globs, spark_path
from deltaskip.spark.read.file_paths import is_hidden, metadata_path, needs_own_scan

SPELLINGS = [
    ("file:///a%20b/c%2520d", "file:/a b/c%20d", "file:/a%20b/c%2520d"),
    ("file://localhost/a", "file:/a", "file:/a"),
    ("s3://bucket/p=%25/%C3%A9.parquet", "s3://bucket/p=%/é.parquet", "s3://bucket/p=%25/é.parquet"),
    ("hdfs://host:8020/a:b%5B1%5D", "hdfs://host:8020/a:b[1]", "hdfs://host:8020/a:b%5B1%5D"),
    ("file:///%E2%80%83%C2%A0", "file:/\u2003\u00a0", "file:/%E2%80%83%C2%A0"),
    ("file:///a%23b?", "file:/a#b?", "file:/a%23b%3F"),
]


@pytest.mark.parametrize(("uri", "path", "metadata"), SPELLINGS)
def test_a_file_has_a_decoded_path_and_the_uri_that_java_makes_of_it(uri: str, path: str, metadata: str) -> None:
    assert spark_path(uri) == path
    assert metadata_path(path) == metadata


def test_glob_characters_are_escaped_unless_a_colon_forbids_globbing() -> None:
    assert escape_globs("file:/[a]{b}*?\\c") == "file:/\\[a\\]\\{b\\}\\*\\?\\\\c"
    assert not needs_own_scan("s3://a:1/[x]")
    assert not needs_own_scan("file:/t=1:2")
    assert needs_own_scan("file:/t=1:2/[x]")


@pytest.mark.parametrize(
    ("name", "hidden"),
    [("_a", True), (".a", True), ("_a=1", False), ("_metadata", False), ("a._COPYING_", True), ("a_b.c", False)],
)
def test_hidden_names_are_those_that_spark_leaves_out(name: str, hidden: bool) -> None:
    assert is_hidden(f"file:/_x/{name}") == hidden
