import re
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip import actions
from deltaskip.kernels.paths import all_plain
from tests import corpus
from tests.each import refuses
from tests.looped import looped

SPELLINGS = [
    ["a/b", "./a/b", "a//b", "a/./b", "x/../a/b", "a%2Fb"],
    ["p=%40/f", "p=@/f"],
    ["p=%c3%a9/f", "p=%C3%A9/f", "p=é/f"],
    ["a%20b", "a b"],
    ["/x/y", "file:/x/y", "file:///x/y", "file:///x//y", "FILE:/x/./y", "file://localhost/x/y"],
    ["s3://b/k%20x", "s3://b//k x", "S3://b/k%20x"],
    ["time=2021-01-01 00:00:00/f", "time=2021-01-01%2000%3A00%3A00/f", "time=2021-01-01%2000:00:00/f"],
    ["100%", "100%25"],
]

APART = [
    ("p=%2540/f", "p=%40/f"),
    ("/x", "x"),
    ("file%3A/x", "file:/x"),
    ("s3://b/x", "s3a://b/x"),
    ("s3://b/x", "s3://c/x"),
    ("s3://b/x", "/x"),
    ("file://host/x", "file:/x"),
    ("A", "a"),
    ("../x", "x"),
    ("a+b", "a b"),
]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda s: s[0])
def test_spellings_of_one_file_have_one_key(spellings):
    assert len({actions.canonical_path(raw) for raw in spellings}) == 1


@looped("left, right", APART)
def test_different_files_have_different_keys(left, right):
    assert actions.canonical_path(left) != actions.canonical_path(right)


@pytest.mark.parametrize(
    ("raw", "decoded"),
    [("p=%2540/f", "p=%40/f"), ("a+b", "a+b"), ("a%2Bb", "a+b"), ("100%", "100%"), ("é%20ü", "é ü"), ("%zz", "%zz")],
)
def test_a_path_is_decoded_exactly_once(raw, decoded):
    assert actions.decode_path(raw) == decoded


@pytest.mark.parametrize("function", [actions.decode_path, actions.canonical_path])
def test_octets_that_are_not_utf8_are_refused(function):
    refuses(ValueError, "%FF", function, "a%FFb")


URIS = [
    ("/da ta/t%41", "p=a%20b/f", "file:///da%20ta/t%2541/p=a%20b/f"),
    ("file:///da%20ta/t/", "p=%2540/f", "file:///da%20ta/t/p=%2540/f"),
    ("file:/t", "x y#z?w", "file:///t/x%20y%23z%3Fw"),
    ("/t", "time=2021-01-01 00:00:00/f", "file:///t/time=2021-01-01%2000:00:00/f"),
    ("/t", "a:b/f", "file:///t/a:b/f"),
    ("s3://bucket/d", "é", "s3://bucket/d/%C3%A9"),
    ("s3://bucket", "k", "s3://bucket/k"),
    ("s3://bucket/d", "/other/k", "s3://bucket/other/k"),
    ("s3://bucket/d", "file:/x", "file:///x"),
    ("/t", "abfss://c@a.dfs.core.windows.net/k%20x", "abfss://c@a.dfs.core.windows.net/k%20x"),
    ("/t", "../clone/f", "file:///clone/f"),
    ("hdfs://nn:8020/t", "f", "hdfs://nn:8020/t/f"),
]


@looped("root, raw, expected", URIS)
def test_absolute_uris_are_encoded_once(root, raw, expected):
    assert actions.absolute_uri(root, raw) == expected


@looped("root, raw, expected", URIS)
def test_hadoop_paths_are_the_decoded_uri_and_local_ones_have_no_scheme(root, raw, expected):
    path = actions.hadoop_path(root, raw)
    assert path == unquote(expected).removeprefix("file://")
    assert path.startswith("/") == expected.startswith("file:")


def test_names_with_percent_signs_on_disk_stay_literal_for_hadoop():
    assert actions.hadoop_path("/t", "a%20b/c%2520d") == "/t/a b/c%20d"


def test_a_relative_root_is_refused():
    refuses(ValueError, "data/t", actions.absolute_uri, "data/t", "f")


@corpus.each_table("read")
def test_every_active_file_of_the_corpus_is_found_on_disk(table):
    for file in table.versions[0]["files"]:
        path = actions.hadoop_path(str(table.path), file["path"])
        if "://" not in file["path"] and not file["path"].startswith(("/", "file:")):
            assert path.startswith(f"{table.path}/")
            with open(path, "rb") as data:
                assert data.read(4) == b"PAR1"


PATHS = st.text(st.sampled_from("ab/.%:2041 é+=") | st.characters(exclude_categories=("Cs",)), max_size=12).filter(
    lambda raw: not _undecodable(raw)
)


def _undecodable(raw):
    try:
        actions.decode_path(raw)
    except ValueError:
        return True
    return False


@given(st.lists(st.none() | PATHS, max_size=6))
def test_vectorised_forms_agree_with_the_plain_ones(paths):
    array = pa.array(paths, pa.string())
    for one, many in ((actions.decode_path, actions.decode_paths), (actions.canonical_path, actions.canonical_paths)):
        assert many(array).to_pylist() == [None if p is None else one(p) for p in paths]
    for root in ("/da ta/t", "s3://b/d%20x"):
        assert actions.absolute_uris(root, array).to_pylist() == [
            None if p is None else actions.absolute_uri(root, p) for p in paths
        ]


def test_vectorised_forms_take_chunked_arrays():
    chunked = pa.chunked_array([["a", "b%20c"], [None]], pa.string())
    assert actions.decode_paths(chunked).to_pylist() == ["a", "b c", None]
    assert actions.canonical_paths(chunked).to_pylist() == ["a", "b c", None]
    assert actions.absolute_uris("/t", chunked).to_pylist() == ["file:///t/a", "file:///t/b%20c", None]


@given(PATHS)
def test_a_key_is_its_own_key_once_encoded_again(raw):
    key = actions.canonical_path(raw)
    assert actions.canonical_path(key.replace("%", "%25")) == key


@given(PATHS.filter(lambda p: not p.startswith("/")))
def test_a_uri_decodes_to_the_path_below_the_root(raw):
    uri = actions.absolute_uri("s3://b/d", "x/" + raw)
    assert uri.isascii()
    assert unquote(urlsplit(uri).path) == actions.hadoop_path("s3://b/d", "x/" + raw).removeprefix("s3://b")


ROOTS = {
    "file:///t/x": ["a%20b", "./a%20b", "file:/t/x/a%20b", "file:///t/x/a%20b", "/t/x/a%20b",
        "file://localhost/t/x/a%20b"],
    "/t/x y": ["a%20b", "file:/t/x%20y/a%20b", "/t/x%20y/a%20b", "file:///t/x%20y/z/../a%20b"],
    "s3://b/t": ["a%20b", "s3://b/t/a%20b", "s3a://b/t/a%20b", "s3n://b/t/./a%20b", "/t/a%20b"],
}  # fmt: skip
ELSEWHERE = {
    "file:///t/x": ["file:///t/x2/a", "file:///t/a", "s3://b/t/x/a", "../x2/a"],
    "s3://b/t": ["s3://c/t/a", "file:///t/a", "s3://b/t2/a", "gs://b/t/a"],
}


@pytest.mark.parametrize("root", ROOTS)
def test_paths_in_the_table_have_one_key(root: str) -> None:
    assert {actions.table_key(root, raw) for raw in ROOTS[root]} == {"a b"}
    assert actions.table_keys(root, pa.array(ROOTS[root])).to_pylist() == ["a b"] * len(ROOTS[root])


@pytest.mark.parametrize("root", ELSEWHERE)
def test_paths_elsewhere_have_their_canonical_path_as_key(root: str) -> None:
    for raw in ELSEWHERE[root]:
        assert actions.table_key(root, raw) == actions.canonical_path(raw)
        assert actions.relative_path(root, raw) is None


def test_a_colon_in_a_key_does_not_make_it_absolute() -> None:
    assert actions.table_key("file:///t", "file:///t/a:/b") == actions.canonical_path("./a:/b") == "./a:/b"


@given(st.lists(st.text(st.sampled_from("aZ09-_=./%: @[`{~\xe9"), max_size=5)), st.integers(0, 3))
def test_paths_are_plain_that_no_rule_changes(paths: list[str], skip: int) -> None:
    plain = [re.fullmatch(r"(?!\.)[A-Za-z0-9_.=-]+(/(?!\.)[A-Za-z0-9_.=-]+)*", path) is not None for path in paths]
    assert all_plain(pa.array([*["/"] * skip, *paths], pa.string()).slice(skip)) == all(plain)
    assert not all_plain(pa.array([*paths, None], pa.string()))
