"""Locations of what users type, and their URIs."""

import os
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip.errors import StorageError
from deltaskip.storage import is_local, join, open_storage, parent, parse_location, uri_of
from tests.each import refuses
from tests.looped import looped


@looped(
    "typed, location",
    [
        ("/data/events", "/data/events"),
        ("/data/events/", "/data/events"),
        ("//data/events", "/data/events"),
        ("file:////data/events", "/data/events"),
        ("/data/../data/./my events", "/data/my events"),
        (Path("/data/events"), "/data/events"),
        ("/data/100%25", "/data/100%25"),
        ("file:/data/my%20events", "/data/my events"),
        ("file:///data/my%20events/", "/data/my events"),
        ("file://localhost/data/events", "/data/events"),
        ("s3://bucket/my events/", "s3://bucket/my events"),
        ("S3://bucket/a%20b", "S3://bucket/a%20b"),
        ("s3://bucket", "s3://bucket"),
        ("/data/time=03:06/x", "/data/time=03:06/x"),
    ],
)
def test_what_a_user_types_becomes_a_location(typed: str | Path, location: str) -> None:
    assert parse_location(typed) == location


def test_a_relative_path_starts_at_the_working_directory() -> None:
    assert parse_location("events") == f"{os.getcwd()}/events"
    assert parse_location("a:b/events") == f"{os.getcwd()}/a:b/events"


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("/data/my events", "file:///data/my%20events"),
        ("/data/a%20b/ü#?", "file:///data/a%2520b/%C3%BC%23%3F"),
        ("/data/k=v:1,2;(x)@y!'*$&+~-._", "file:///data/k=v:1,2;(x)@y!'*$&+~-._"),
        ("s3://bucket/my events", "s3://bucket/my%20events"),
        ("s3://bucket", "s3://bucket"),
    ],
)
def test_a_location_has_a_percent_encoded_uri(location: str, uri: str) -> None:
    assert uri_of(location) == uri


def test_a_name_that_is_no_utf_8_has_a_uri() -> None:
    assert uri_of("/data/" + os.fsdecode(b"\xff")) == "file:///data/%FF"
    refuses(StorageError, "a file of the host other", parse_location, "file://other/data/events")


def test_rows_are_not_written_below_a_path_that_is_no_utf_8(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    for number, given in enumerate((f"{folder}/0", f"file://{tmp_path}/caf%E9/1")):
        table = ds.DeltaTable.create(given, "id BIGINT")
        refuses(ds.InvalidCommit, r"caf.udce9/\d' of the table is not UTF-8: rename it", table.append, [{"id": 1}])
        assert os.listdir(f"{folder}/{number}") == ["_delta_log"]
        assert ds.DeltaTable(given).scan().count() == 0


@pytest.mark.parametrize("given", ["s3://", "s3:///", "gs://", "memory:///", "hdfs://"])
def test_a_scheme_alone_is_no_location(given: str) -> None:
    refuses(StorageError, f"{given} names no folder: write {given.partition(':')[0]}://", parse_location, given)


@looped(
    "location, above",
    [("/a/b", "/a"), ("/a", "/"), ("/", "/"), ("s3://b/x/y", "s3://b/x"), ("s3://b/x", "s3://b"), ("s3://b", "s3://b")],
)
def test_the_parent_is_one_level_up(location: str, above: str) -> None:
    assert parent(location) == above


def test_names_are_joined_as_they_are() -> None:
    assert join("/data/", "_delta_log", "a%b") == "/data/_delta_log/a%b"
    assert join("s3://b", "x") == "s3://b/x"


def test_only_paths_are_local() -> None:
    assert is_local("/data")
    assert not is_local("hdfs://host:8020/data")


def test_opening_reads_nothing(tmp_path: Path) -> None:
    storage, root = open_storage(tmp_path / "nothing here")
    assert root == str(tmp_path / "nothing here")
    assert not storage.exists(root)
