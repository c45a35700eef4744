"""Collated bounds: under which keys they stand, in whose order they are, and when there are none."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltaskip.errors import CollationUnavailable, InvalidArgument, InvalidArgumentType, PredicateError
from deltaskip.sparkexpr.collations.lookup import collation
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from deltaskip.stats import compute
from deltaskip.stats.written_bounds import COLLATED_LIMIT
from tests.each import refuses
from tests.extent import extent
from tests.stats.rowwise import parsed

CI = "icu.UNICODE_CI.77.1"
AI = "icu.UNICODE_AI.77.1"
LCASE = "spark.UTF8_LCASE.77.1"
SCHEMA = StructType(
    (
        StructField("id", LONG),
        StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}}),
        StructField("plain", STRING),
        StructField("st", StructType((StructField("in.ner", STRING, True, {"__COLLATIONS": {"in.ner": "icu.de"}}),))),
    )
)


def one(folder: Path, names: list[str | None], collations: Any, **options: Any) -> Any:
    rows = [{"id": i, "name": n, "plain": n, "st": {"in.ner": n}} for i, n in enumerate(names)]
    inner = pa.struct([("in.ner", pa.string())])
    arrow = pa.schema([("id", pa.int64()), ("name", pa.string()), ("plain", pa.string()), ("st", inner)])
    path = folder / "part.parquet"
    pq.write_table(pa.Table.from_pylist(rows, arrow), path, **options.pop("layout", {}))
    return parsed(compute([path], SCHEMA, collations=collations, **options)["stats"][0].as_py())


NAMES = ["b", "A", "a", "Z", None, "é", "y"]


@pytest.mark.parametrize("layout", [{}, {"use_dictionary": False}, {"row_group_size": 2}])
@pytest.mark.parametrize("mode", ["auto", "scan"])
def test_a_column_has_bounds_under_each_identifier_that_is_asked_for(tmp_path: Path, mode: Any, layout: Any) -> None:
    asked = {"NAME": ["ICU.unicode_ci.77.1", LCASE], "plain": [CI], "st.`in.ner`": [CI]}
    found = one(tmp_path, NAMES, asked, mode=mode, layout=layout)
    # Binary bounds are legal beside those under collations, and readers without collations use them.
    assert found["minValues"] == {"id": 0, "name": "A", "plain": "A", "st": {"in.ner": "A"}}
    assert found["maxValues"] == {"id": 6, "name": "é", "plain": "é", "st": {"in.ner": "é"}}
    assert found["nullCount"] == {"id": 0, "name": 1, "plain": 1, "st": {"in.ner": 1}}
    assert found["statsWithCollation"] == {
        CI: {
            "minValues": {"name": "A", "plain": "A", "st": {"in.ner": "A"}},
            "maxValues": {"name": "Z", "plain": "Z", "st": {"in.ner": "Z"}},
        },
        LCASE: {"minValues": {"name": "A"}, "maxValues": {"name": "é"}},
    }


def test_versions_alone_stand_for_every_declared_collation(tmp_path: Path) -> None:
    found = one(tmp_path, NAMES, None, collation_versions=["77.1"])["statsWithCollation"]
    assert {key: set(value["minValues"]) for key, value in found.items()} == {CI: {"name"}, "icu.de.77.1": {"st"}}


@pytest.mark.parametrize(
    ("collations", "versions", "error", "message"),
    [
        ({"name": [CI]}, ["77.1"], InvalidArgument, "either collations or collation_versions"),
        (["77.1"], None, InvalidArgumentType, "collations must be a mapping, not list"),
        ({"name": CI}, None, InvalidArgumentType, "must be a list of str, not a str"),
        (None, "77.1", InvalidArgumentType, "must be a list of str, not a str"),
        (None, [77], InvalidArgumentType, "must be a str, not int"),
    ],
)
def test_collations_of_the_wrong_form_are_refused(
    tmp_path: Path, collations: Any, versions: Any, error: type[Exception], message: str
) -> None:
    refuses(error, message, one, tmp_path, NAMES, collations, collation_versions=versions)


def test_the_kernels_spelling_is_written_beside(tmp_path: Path) -> None:
    found = one(tmp_path, NAMES, {"name": [CI]}, kernel_spelling=True)["statsWithCollation"]
    assert set(found) == {CI, "ICU.UNICODE_CI.77.1"}
    assert found[CI] == found["ICU.UNICODE_CI.77.1"]


@pytest.mark.parametrize(("names", "mode"), [([None, None], "auto"), ([], "auto"), (NAMES, "footer")])
def test_nothing_is_written_where_there_is_nothing_to_say(tmp_path: Path, names: list[str | None], mode: Any) -> None:
    assert "statsWithCollation" not in one(tmp_path, names, {"name": [CI]}, mode=mode)


def test_a_sharp_s_leaves_out_bounds_without_accents(tmp_path: Path) -> None:
    assert "statsWithCollation" not in one(tmp_path, ["a", "ß", "z"], {"name": [AI]})
    assert one(tmp_path, ["a", "z"], {"name": [AI]})["statsWithCollation"][AI]["maxValues"] == {"name": "z"}


def test_long_bounds_are_whole_or_verified(tmp_path: Path) -> None:
    for length in (COLLATED_LIMIT, COLLATED_LIMIT + 1, 4 * COLLATED_LIMIT):
        text = "x" * length
        bounds = one(tmp_path, [text], {"name": [CI]})["statsWithCollation"][CI]
        order = collation(CI)
        assert order.compare_values(bounds["minValues"]["name"], text) <= 0
        assert order.compare_values(bounds["maxValues"]["name"], text) >= 0
        assert len(bounds["maxValues"]["name"]) <= COLLATED_LIMIT + 1


def test_deleted_rows_do_not_count(tmp_path: Path) -> None:
    found = one(tmp_path, NAMES, {"name": [CI]}, deletion_vectors=[pa.array([1, 2, 3], pa.int64())])
    assert found["statsWithCollation"][CI] == {"minValues": {"name": "b"}, "maxValues": {"name": "y"}}


def test_what_cannot_be_evaluated_or_is_no_string_is_refused(tmp_path: Path) -> None:
    refuses(CollationUnavailable, r"needs ICU 12\.3", one, tmp_path, NAMES, {"name": ["icu.UNICODE_CI.12.3"]})
    for column in ("id", "nope", "st"):
        refuses(PredicateError, "need a string column", one, tmp_path, NAMES, {column: [CI]})


@settings(deadline=None, max_examples=extent(25, 80))
@given(
    st.lists(st.none() | st.text(st.sampled_from("aAbBéEß\u0301\xadchdžDZ ￾😀"), max_size=5), max_size=12),
    st.sampled_from([CI, AI, LCASE, "icu.UNICODE_CI_AI.77.1", "icu.cs.77.1", "icu.UNICODE_RTRIM.77.1"]),
    st.sampled_from([1, 4, 100]),
    st.booleans(),
)
def test_every_value_lies_between_the_bounds(
    tmp_path_factory: pytest.TempPathFactory, names: list[str | None], identifier: str, group: int, dictionary: bool
) -> None:
    layout = {"row_group_size": group, "use_dictionary": dictionary}
    found = one(tmp_path_factory.getbasetemp(), names, {"name": [identifier]}, layout=layout)
    order = collation(identifier)
    there = [name for name in names if name is not None]
    if not there or not all(order.trusts(name) for name in there):
        assert "statsWithCollation" not in found
        return
    bounds = found["statsWithCollation"][identifier]
    low, high = bounds["minValues"]["name"], bounds["maxValues"]["name"]
    assert low in there and high in there
    assert all(order.compare_values(low, name) <= 0 <= order.compare_values(high, name) for name in there)
