"""More forms of other writers, compared with Spark: decimals of every width, NULL alone, old names of lists, maps."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from tests.footers import (
    BINARY,
    CONVERTED,
    I32,
    LOGICAL,
    NAME,
    STRUCT,
    Element,
    change_footer,
    change_types,
    decimal_type,
)
from tests.reading.test_foreign_types import as_bytes

DECIMALS = [*map(Decimal, ("1.50", "-1.50", "99999.99", "-99999.99", "0.01", "-0.01", "300.00", "-300.00")), None]
# Surrogates, an overlong NUL, characters that are cut, and bytes that no character has.
NOT_UTF8 = (
    b"\xed\xa0\x80", b"\xc0\x80", b"\xe2\x82", b"ok\xc3", b"\xffz", b"\xf8\x88\x80\x80\x80", b"\xf4\x90\x80\x80",
)  # fmt: skip
ENCODINGS = ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None)


def renamed(names: dict[bytes, bytes]) -> Callable[[list[Element], dict[int, Any]], None]:
    """A change of the names of groups and leaves, also in the paths of columns."""

    def change(elements: list[Element], fields: dict[int, Any]) -> None:
        for element in elements:
            element[NAME] = (BINARY, names.get(element[NAME][1], element[NAME][1]))
        for group in fields[4][1][1]:
            for chunk in group[1][1][1]:
                path = chunk[3][1][3][1][1]
                path[:] = [names.get(part, part) for part in path]

    return change


def converted_only(elements: list[Element], fields: dict[int, Any]) -> None:
    for element in elements:
        element.pop(LOGICAL, None)


def map_key_value(elements: list[Element], fields: dict[int, Any]) -> None:
    for element in elements:
        if element.get(CONVERTED) == (I32, 1):
            element.pop(LOGICAL, None)
            element[CONVERTED] = (I32, 2)


LISTS = pa.array([[1, 2], [], None, [3]], pa.list_(pa.int64()))
MAPS = pa.array([[("a", 1)], [], None, [("b", None)]], pa.map_(pa.string(), pa.int64()))
FORMS: dict[str, tuple[pa.Array, Callable[[list[Element], dict[int, Any]], None] | None]] = {
    **{f"decimal of {width or 'any'} bytes, {precision} digits": (as_bytes(DECIMALS, 2, width),
        change_types({"s": decimal_type(precision, 2)})) for width,
        precision in ((4, 9), (5, 9), (8, 18), (9, 19), (13, 30), (17, 30), (None, 30))},
    "null": (pa.nulls(4), None),
    "null in lists": (pa.array([[None], [], None, [None, None]], pa.list_(pa.null())), None),
    "null in structs": (pa.array([{"x": None, "y": 1}] * 4, pa.struct({"x": pa.null(), "y": pa.int64()})), None),
    "bag": (LISTS, renamed({b"list": b"bag", b"element": b"array_element"})),
    "array": (LISTS, renamed({b"list": b"array", b"element": b"item"})),
    "tuple": (LISTS, renamed({b"list": b"s_tuple", b"element": b"item"})),
    "converted list": (LISTS, converted_only),
    "MAP_KEY_VALUE": (MAPS, map_key_value),
    "enum": (pa.array([b"a", None], pa.binary()), change_types({"s": {LOGICAL: (STRUCT, {4: (STRUCT, {})})}})),
    "json": (pa.array([b"{}", None], pa.binary()), change_types({"s": {LOGICAL: (STRUCT, {12: (STRUCT, {})})}})),
    "bson": (pa.array([b"{}", None], pa.binary()), change_types({"s": {LOGICAL: (STRUCT, {13: (STRUCT, {})})}})),
    "uint64": (pa.array([0, 2**64 - 1, None], pa.uint64()), None),
}  # fmt: skip


def write(folder: Path, form: str) -> Path:
    values, change = FORMS[form]
    folder.mkdir()
    columns = {"id": pa.array(range(len(values)), pa.int64()), "s": values}
    # Bounds of bytes are not in the order of decimals.
    pq.write_table(pa.table(columns), folder / "f.parquet", store_schema=False, write_statistics=["id"])
    if change is not None:
        change_footer(folder / "f.parquet", change)
    return folder


def plain(value: Any) -> Any:
    """A value of Spark or of Arrow in one form."""
    if isinstance(value, dict) or hasattr(value, "asDict"):
        members = value if isinstance(value, dict) else value.asDict(recursive=True)
        return sorted([str(name), plain(each)] for name, each in members.items())
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.spark
@pytest.mark.parametrize("forms", [list(FORMS)[0::2], list(FORMS)[1::2]])
def test_converted_files_have_the_rows_that_spark_reads(spark: Any, tmp_path: Path, forms: list[str]) -> None:
    for number, form in enumerate(forms):
        folder = write(tmp_path / str(number), form)
        frame = spark.read.parquet(str(folder)).orderBy("id")
        expected = [plain(row["s"]) for row in frame.collect()]
        table = ds.convert_to_delta(folder)
        found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
        assert [plain(row["s"]) for row in found] == expected, form
        where = "s < -1" if "decimal" in form else "s IS NULL"
        ids = sorted(row["id"] for row in frame.where(where).collect())
        assert sorted(table.scan(where).to_arrow()["id"].to_pylist()) == ids, form


@pytest.mark.parametrize("width", [4, 9, 16, 17, None])
def test_bounds_of_bytes_do_not_bound_decimals(tmp_path: Path, width: int | None) -> None:
    """The footer has bounds in the order of unsigned bytes, in which -1.50 is greater than 99999.99."""
    (tmp_path / "c").mkdir()
    columns = {"id": pa.array(range(len(DECIMALS)), pa.int64()), "s": as_bytes(DECIMALS, 2, width)}
    pq.write_table(pa.table(columns), tmp_path / "c/f.parquet", store_schema=False)
    change_footer(tmp_path / "c/f.parquet", change_types({"s": decimal_type(9 if width == 4 else 20, 2)}))
    table = ds.convert_to_delta(tmp_path / "c")
    for again in (False, True):
        if again:
            table.recompute_stats()
        for where, ids in (("s < -1.50", [3, 7]), ("s > 200", [2, 6]), ("s = -0.01", [5]), ("s <= -99999.99", [3])):
            assert sorted(table.scan(where).to_arrow()["id"].to_pylist()) == ids, where


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_strings_that_are_not_utf8_are_refused_in_every_encoding(tmp_path: Path, encoding: str | None) -> None:
    chosen = {"use_dictionary": True} if encoding is None else {"column_encoding": {"id": "PLAIN", "s": encoding}}
    for number, value in enumerate(NOT_UTF8):
        folder = tmp_path / str(number)
        folder.mkdir()
        columns = {"id": pa.array([0, 1, 2]), "s": pa.array([b"a", value, None], pa.binary())}
        options: dict[str, Any] = {"use_dictionary": False, **chosen}
        pq.write_table(pa.table(columns), folder / "f.parquet", store_schema=False, **options)
        text: Element = {LOGICAL: (STRUCT, {1: (STRUCT, {})}), CONVERTED: (I32, 0)}
        change_footer(folder / "f.parquet", change_types({"s": text}))
        table = ds.convert_to_delta(folder)
        assert table.scan("id = 1", columns=["id"]).to_arrow().num_rows == 1
        for where in (None, "s = 'a'", "length(s) = 1", "s LIKE '_'"):
            with pytest.raises(ds.UnsupportedFeature, match="the column 's' that is not UTF-8"):
                table.scan(where).to_arrow()
            assert len(table.scan(where).paths()) == 1


def test_a_column_of_null_alone_is_added_as_int_only(tmp_path: Path) -> None:
    for kind in ("INT", "STRING", "DATE"):
        table = ds.DeltaTable.create(tmp_path / kind, f"id BIGINT, n {kind}")
        pq.write_table(pa.table({"id": [1, 2], "n": pa.nulls(2)}), tmp_path / kind / "f.parquet")
        if kind == "INT":
            table.add_files("f.parquet")
            table.update({"n": "7"}, "id = 2")
            assert sorted(table.scan().to_arrow()["n"].to_pylist(), key=str) == [7, None]
            assert len(table.scan("n IS NULL").paths()) == 1
        else:
            with pytest.raises(ds.SchemaError, match=f"its column n is INT, and {kind} in the table"):
                table.add_files("f.parquet")
