"""Explain: counts against a scan of every combination, reasons, and pictures that decode to what was counted."""

import base64
import itertools
import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import deltaskip as ds
from deltaskip.errors import InvalidArgument, StorageError
from deltaskip.skipping.explain import explain as explain_module
from deltaskip.skipping.explain import plot as plot_module
from deltaskip.skipping.explain.drawing import Bins, Matrix, drawing
from deltaskip.skipping.explain.plot import write_plot
from deltaskip.skipping.explain.report import Branch, Explain
from deltaskip.skipping.proofs.rewrite import rewrite
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.json import CHAR_VARCHAR_KEY
from tests.builder import DELTA_RS, TableBuilder, add, bounds, remove
from tests.looped import looped


def grid(tmp_path: Path) -> ds.DeltaTable:
    """Every combination of a, b, c in 0 … 3, each file holding just one value of each; some removed again."""
    builder = TableBuilder(tmp_path / "t", {"a": t.LONG, "b": t.LONG, "c": t.LONG, "p": t.LONG}, ["p"])
    values = list(itertools.product(range(4), repeat=3))
    adds = [
        add(f"{a}{b}{c}", bounds(a=(a, a), b=(b, b), c=(c, c)), partitionValues={"p": str(a + b + c)})
        for a, b, c in values
    ]
    builder.commit(*adds).commit(remove("000"), remove("333"))
    return ds.DeltaTable(tmp_path / "t")


def kept(table: ds.DeltaTable, where: str) -> int:
    return table.scan(where=where).files(columns=["path"]).num_rows


@pytest.mark.parametrize(
    ("parts", "combined"),
    [
        (["a < 2", "b < 2"], "{0} AND {1}"),
        (["a < 2", "b < 2"], "{0} OR {1}"),
        (["a < 2", "b < 2", "c < 1"], "{0} AND ({1} OR {2})"),
        (["a < 2", "b < 2", "c < 1"], "{0} OR ({1} AND {2})"),
        (["a < 3", "b < 2", "c < 1", "p > 2"], "({0} OR {1}) AND ({2} OR {3})"),
        (["a < 3", "b < 2", "c < 1", "p > 2"], "({0} AND {1}) OR ({2} AND {3})"),
        (["a < 1", "b IS NOT NULL", "c > 9"], "{0} AND {1} AND {2}"),
        (["a > 0", "a < 3"], "{0} AND {1}"),
    ],
)
def test_a_leaf_is_needed_for_what_its_absence_would_keep(tmp_path: Path, parts: list[str], combined: str) -> None:
    table = grid(tmp_path)
    explained = table.scan(where=combined.format(*parts)).explain()
    assert explained.total_files == 62
    assert explained.kept_files == kept(table, combined.format(*parts))
    assert [leaf.predicate for leaf in explained.leaves] == parts
    for i, leaf in enumerate(explained.leaves):
        assert leaf.dropped == 62 - kept(table, parts[i])
        without = combined.format(*[part if j != i else "TRUE" for j, part in enumerate(parts)])
        assert leaf.needed_for == kept(table, without) - explained.kept_files, leaf.predicate


def test_the_structure_of_the_predicate_stays_visible(tmp_path: Path) -> None:
    explained = grid(tmp_path).scan(where="a < 2 AND (b < 2 OR c < 1 AND a > 0)").explain()
    assert explained.tree == Branch("AND", (0, Branch("OR", (1, Branch("AND", (2, 3))))))
    shown = [line for line in str(explained).splitlines()[1:] if "reads" not in line and "prunes" not in line]
    assert shown == ["  AND", "    a < 2", "    OR", "      b < 2", "      AND", "        c < 1", "        a > 0"]
    assert explained.to_dict()["tree"] == {
        "and": [{"leaf": 0}, {"or": [{"leaf": 1}, {"and": [{"leaf": 2}, {"leaf": 3}]}]}]
    }


def test_the_text_says_what_each_leaf_skips_and_what_would_be_kept_without_it(tmp_path: Path) -> None:
    shown = str(grid(tmp_path).scan(where="a < 2 AND b < 9 AND c < 3").explain())
    counts = [line.partition("; ")[2] for line in shown.splitlines() if "reads" in line]
    assert counts == [
        "skips 31 files, 24 of which would be kept without it",
        "skips no file",
        "skips 15 files, 8 of which would be kept without it",
    ]


def test_what_parts_on_one_column_say_together_is_shown_and_counted_with_them(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.LONG})
    builder.commit(*[add(f"{i}", bounds(c=(10 * i, 10 * i + 9))) for i in range(10)])
    table = ds.DeltaTable(tmp_path / "t")
    explained = table.scan(where="c IN (5, 55) AND c > 20").explain()
    assert explained.kept_files == kept(table, "c IN (5, 55) AND c > 20") == 1
    needed = {leaf.predicate: leaf.needed_for for leaf in explained.leaves}
    assert needed == {"all parts on c together": 0, "c IN (5, 55)": 7, "c > 20": 1}


def test_without_a_predicate_there_are_no_leaves(tmp_path: Path) -> None:
    explained = grid(tmp_path).scan().explain()
    assert (explained.leaves, explained.kept_files, explained.matrix.kept.shape) == ((), 62, (1, 62))


def one_leaf(
    tmp_path: Path,
    where: str,
    column: t.DataType | t.StructField = t.LONG,
    stats: object = None,
    engine: str | None = None,
) -> str:
    """The reason of the only leaf, on a table with one column `c` and two files."""
    field = column if isinstance(column, t.StructField) else t.StructField("c", column)
    builder = TableBuilder(tmp_path / "t", t.StructType((field, t.StructField("d", t.INTEGER))))
    builder.commit(add("f", stats), add("g", stats), engine=engine)
    [leaf] = ds.DeltaTable(tmp_path / "t").scan(where=where).explain().leaves
    return leaf.reason


COLLATED = t.StructField("c", t.STRING, True, {"__COLLATIONS": {"c": "icu.UNICODE_CI"}})
CHAR = t.StructField("c", t.STRING, True, {CHAR_VARCHAR_KEY: "char(5)"})


@looped(
    "where, column, stats, said",
    [
        ("c > 5", t.LONG, None, "no file has"),
        ("c > 5", t.LONG, bounds(c=(1, 9)), "min/max range could contain a match"),
        ("c > 5", t.LONG, {"numRecords": 2, "nullCount": {"c": 0}}, "no file has max(c) in the log"),
        ("c = 'x'", COLLATED, bounds(c=("a", "z")), "under icu.UNICODE_CI.77.1"),
        ("c = 'x'", CHAR, bounds(c=("a", "z")), "char(5)"),
        ("c = X'01'", t.BINARY, bounds(c=("a", "z")), "binary"),
        ("c > rand()", t.DOUBLE, bounds(c=(1.0, 3.0)), "rand has another value"),
        ("c > d", t.LONG, bounds(c=(1, 9), d=(1, 9)), "it reads several columns (c and d)"),
        ("initcap(c) = 'X'", t.STRING, bounds(c=("a", "z")), "no rule"),
        ("c > 100", t.DOUBLE, bounds(c=(1.0, 3.0)), "2 files are kept only because their writer may omit NaN"),
    ],
)
def test_a_leaf_that_proves_nothing_says_why(
    tmp_path: Path, where: str, column: t.DataType | t.StructField, stats: object, said: str
) -> None:
    assert said in one_leaf(tmp_path, where, column, stats, DELTA_RS)


def test_files_that_lack_a_statistic_are_counted_and_named(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"c": t.LONG, "d": t.LONG})
    bare = {"numRecords": 2, "nullCount": {"c": 0}}
    builder.commit(
        add("has", bounds(c=(1, 2))),
        add("all-null", {"numRecords": 2, "nullCount": {"c": 2}}),
        *[add(f"lacks%20{i}", bare) for i in range(5)],
        add("nothing"),
    )
    builder.commit(remove("lacks%200"))
    [leaf] = ds.DeltaTable(tmp_path / "t").scan(where="c > 5").explain().leaves
    assert leaf.without_statistics == 5
    assert dict(leaf.lacking) == {"nullCount(c)": 1, "numRecords": 1, "max(c)": 5}
    assert leaf.examples == ("lacks 1", "lacks 2", "lacks 3")
    assert leaf.dropped == 2


def test_partition_columns_and_statistics_are_named(tmp_path: Path) -> None:
    first, second = grid(tmp_path).scan(where="p > 3 AND a IS NULL").explain().leaves
    assert first.used == ("partition p",)
    assert second.used == ("nullCount(a)",)
    assert second.reason == ""


def test_a_generated_column_is_named_where_it_stands_for_its_source(tmp_path: Path) -> None:
    day = t.StructField("day", t.DATE, True, {"delta.generationExpression": "CAST(ts AS DATE)"})
    builder = TableBuilder(tmp_path / "t", t.StructType((t.StructField("ts", t.TIMESTAMP), day)), ["day"])
    builder.commit(*[add(f"{i}", partitionValues={"day": f"2026-01-{i:02}"}) for i in range(1, 10)])
    snapshot = ds.DeltaTable(tmp_path / "t").snapshot
    scan = ds.DeltaTable(tmp_path / "t").scan(where="ts < '2026-01-03' AND day > '2025-01-01'")
    program = rewrite(scan.predicate, snapshot.schema, "none", "UTC", snapshot.partition_columns, snapshot.properties)
    scan.compiled = replace(scan.compiled, program=program)
    first, second = sorted(scan.explain().leaves, key=lambda leaf: leaf.predicate, reverse=True)
    assert first.predicate.startswith("ts < ")
    assert first.used[-1] == "generated column day"
    assert first.dropped > 0
    assert second.used == ("partition day",)


def test_the_table_and_the_dictionary_hold_the_same(tmp_path: Path) -> None:
    explained = grid(tmp_path).scan(where="a < 2 AND rand() > 0.5").explain()
    rows = explained.table().to_pylist()
    found = json.loads(json.dumps(explained.to_dict()))
    assert [row["predicate"] for row in rows] == [leaf["predicate"] for leaf in found["leaves"]]
    assert [(row["dropped"], row["needed_for"]) for row in rows] == [(31, 31), (0, 0)]
    assert explained.table().schema.field("examples").type == pa.list_(pa.string())
    assert found["leaves"][0]["reason"] is None
    assert found["leaves"][1]["reason"].startswith("rand has another value")


def decoded(path: Path) -> np.ndarray:
    """A PNG's pixels as RGB."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def is_grey(pixel: np.ndarray) -> bool:
    return len(set(pixel.tolist())) == 1


def test_without_pillow_a_png_names_its_extra_svg_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TableBuilder(tmp_path / "t", {"a": t.LONG})
    builder.commit(add("0", bounds(a=(0, 1))))
    explained = ds.DeltaTable(tmp_path / "t").scan(where="a < 7").explain()
    for name in [each for each in sys.modules if each.partition(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InvalidArgument, match=r"needs Pillow: pip install 'pillow>=13\.0', or"):
        explained.save_plot(tmp_path / "p.png")
    assert not (tmp_path / "p.png").exists()
    explained.save_plot(tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_text().startswith("<svg ")


def test_a_png_shows_which_files_each_part_keeps(tmp_path: Path) -> None:
    builder = TableBuilder(tmp_path / "t", {"a": t.LONG, "b": t.LONG})
    builder.commit(*[add(f"{i:02}", bounds(a=(i, i), b=(9 - i, 9 - i))) for i in range(10)])
    explained = ds.DeltaTable(tmp_path / "t").scan(where="a < 7 AND b < 7").explain()
    explained.save_plot(tmp_path / "p.png")
    pixels = decoded(tmp_path / "p.png")
    columns = [np.flatnonzero((pixels[58 + 40, 70:260] != 255).any(axis=1)) + 70]
    starts = columns[0][np.flatnonzero(np.diff(columns[0], prepend=-9) > 1)]
    assert len(starts) == 3
    lines = [58 + 56 * i + 20 for i in range(10)]
    shown = [[not is_grey(pixels[y, x + 20]) for y in lines] for x in starts]
    assert shown[0] == [i < 7 for i in range(10)]
    assert shown[1] == [9 - i < 7 for i in range(10)]
    assert shown[2] == [a and b for a, b in zip(shown[0], shown[1], strict=True)]


def test_an_svg_is_xml_with_every_part_as_text(tmp_path: Path) -> None:
    explained = grid(tmp_path).scan(where="a < 2 AND (b < 2 OR c = 1)").explain()
    explained.save_plot(str(tmp_path / "p.SVG"))
    root = ET.parse(tmp_path / "p.SVG").getroot()
    texts = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    for part in ("a < 2", "b < 2", "c = 1", "keeps"):
        assert any(part in text for text in texts), part
    assert any("62 files kept" in text for text in texts)


def test_a_png_carries_the_texts_of_the_svg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = grid(tmp_path).scan(where="a < 2 AND (b < 2 OR c = 1)").explain()
    explained.save_plot(tmp_path / "p.png")
    explained.save_plot(tmp_path / "p.svg")
    texts = ET.parse(tmp_path / "p.svg").getroot().findall("{http://www.w3.org/2000/svg}text")
    shown = decoded(tmp_path / "p.png")
    plans = []

    def without_texts(*arguments: Any) -> Any:
        plans.append(drawing(*arguments))
        return replace(plans[-1], texts=())

    monkeypatch.setattr(f"{drawing.__module__}.drawing", without_texts)
    explained.save_plot(tmp_path / "q.png")
    drawn = (shown != decoded(tmp_path / "q.png")).any(axis=2)
    [plan] = plans
    # Title, first and last file, the number of each column, two lines for each part, and how to read it.
    assert [text.text for text in plan.texts] == [text.text for text in texts]
    assert len(plan.texts) == 1 + 2 + 4 + 2 * 4 + 2
    for text in plan.texts:
        around = drawn[text.y - 10 : text.y + 3, max(0, text.x - 60) : text.x + 60]
        assert around.sum() > 5 * len(text.text[:5]), text
    # Nothing is cut off at the right or at the bottom.
    assert not drawn[:, -5:].any() and not drawn[-5:].any()
    assert drawn[:, : -2 * 12].any()
    with Image.open(tmp_path / "p.png") as image:
        assert "a < 2" in image.info["Description"]


def test_a_png_without_fonts_of_the_system_has_its_texts_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot_module, "_FONTS", ())
    for cached in (plot_module._font, plot_module._has):
        cached.cache_clear()
    assert plot_module._drawable("name = 'MÜLLER' …", False) == "name = 'M\\xdcLLER' …"
    matrix = Matrix(np.array([[1, 0]]), 1, 2)
    write_plot(tmp_path / "p.png", matrix, "the title of the plot, 中文", [("x < 'ж'", "said")])
    assert (decoded(tmp_path / "p.png")[10:26, 12:150] < 128).any()
    for cached in (plot_module._font, plot_module._has):
        cached.cache_clear()


def test_text_that_xml_cannot_hold_is_escaped(tmp_path: Path) -> None:
    matrix = Matrix(np.array([[1, 0]]), 1, 2)
    write_plot(tmp_path / "p.svg", matrix, "a \x1b[31m <&> title", [("x < '\x00'", "said")])
    assert ET.parse(tmp_path / "p.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_an_empty_table_has_a_picture_too(tmp_path: Path, suffix: str) -> None:
    TableBuilder(tmp_path / "t", {"c": t.LONG}).commit()
    explained: Explain = ds.DeltaTable(tmp_path / "t").scan(where="c > 1").explain()
    assert (explained.total_files, explained.kept_files) == (0, 0)
    explained.save_plot(tmp_path / f"p.{suffix}")
    assert (tmp_path / f"p.{suffix}").stat().st_size > 0


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"p\.jpg"):
        grid(tmp_path).scan(where="a < 2").explain().save_plot(tmp_path / "p.jpg")


def test_a_plot_that_cannot_be_written_names_its_path(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"missing/p\.svg: No such file"):
        grid(tmp_path).scan(where="a < 2").explain().save_plot(tmp_path / "missing" / "p.svg")


def test_the_repr_is_one_line(tmp_path: Path) -> None:
    explained = grid(tmp_path).scan(where="a < 2 AND b < 2").explain()
    assert repr(explained) == f"Explain({explained.table_root!r}, version=1, 15 of 62 files kept, 2 leaves)"
    assert repr(grid(tmp_path / "u").scan(where="a < 2").explain()).endswith("1 leaf)")


def test_the_html_is_a_table_with_a_row_for_each_line_of_the_predicate(tmp_path: Path) -> None:
    explained = grid(tmp_path).scan(where="a < 2 AND (b < 2 OR c > rand())").explain()
    root = ET.fromstring(explained._repr_html_())
    rows = [[cell.text or "" for cell in row] for row in root.iter("tr")]
    assert root.findtext(".//caption") == explained.summary()
    assert rows[0] == ["predicate", "statistics used", "files skipped", "reason"]
    assert [row[0] for row in rows[1:]] == ["AND", "a < 2", "OR", "b < 2", explained.leaves[2].predicate]
    assert rows[2][1:] == [", ".join(explained.leaves[0].used), "31", ""]
    assert rows[5][3] == explained.leaves[2].reason != ""


def test_the_html_shows_text_as_text(tmp_path: Path) -> None:
    TableBuilder(tmp_path / "t", {"c": t.STRING}).commit(add("f", bounds(c=("a", "z"))))
    explained = ds.DeltaTable(tmp_path / "t").scan(where="upper(c) = '<script>&'").explain()
    assert "<script>" not in explained._repr_html_()
    [_, row] = ET.fromstring(explained._repr_html_()).iter("tr")
    assert "<script>&" in (row[0].text or "")


@pytest.mark.parametrize("where", ["a < 2 OR CAST(c AS STRING) <> '</svg><script>'", None, "false"])
def test_the_html_has_the_picture_of_what_is_skipped(tmp_path: Path, where: str | None) -> None:
    explained = grid(tmp_path).scan(where=where).explain()
    image = ET.fromstring(explained._repr_html_()).find("img")
    assert image is not None
    kind, _, data = image.attrib["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    explained.save_plot(tmp_path / "p.svg")
    picture = base64.b64decode(data)
    assert picture == (tmp_path / "p.svg").read_bytes()
    assert ET.fromstring(picture).tag.endswith("svg")


@pytest.mark.parametrize("sizes", [[5], [1, 7, 3], [8], [9], [16, 1], [0, 4], [100, 1000, 3], [1] * 40])
def test_bins_count_every_file_once(sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    bins = Bins(1, capacity=8)
    kept: list[bool] = []
    for size in sizes:
        keep = rng.random(size) < 0.4
        bins.count(0, bins.reserve(size)[keep])
        kept += keep.tolist()
    matrix = bins.matrix()
    width = matrix.files_per_bin
    assert matrix.files == len(kept)
    assert matrix.kept.shape[1] <= 8
    assert matrix.kept[0].tolist() == [sum(kept[i : i + width]) for i in range(0, len(kept), width)]
    shares = [sum(part) / len(part) for i in range(0, len(kept), width) if (part := kept[i : i + width])]
    assert matrix.shares()[0].tolist() == shares


def test_one_kept_file_among_thousands_is_seen_and_one_skipped_is_not_full(tmp_path: Path) -> None:
    matrix = Matrix(np.array([[0, 1, 99_999, 100_000]]), 100_000, 400_000)
    write_plot(tmp_path / "p.png", matrix, "t", [("p", "s")])
    pixels = decoded(tmp_path / "p.png")
    line = 560 // 4
    colours = [tuple(pixels[58 + line * i + line // 2, 76 + 20].tolist()) for i in range(4)]
    assert len(set(colours)) == 4
    assert is_grey(np.array(colours[0]))
    assert not any(is_grey(np.array(colour)) for colour in colours[1:])


@pytest.mark.parametrize("where", ["a != {k}", "(a != {k} OR b != {k})", "a IN ({k}, 7, 8)"])
def test_explain_s_work_grows_with_the_predicate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    table = grid(tmp_path)
    visited: list[int] = []
    truth, unpack = explain_module._Truth.of, np.unpackbits

    def counted_truth(*args: Any) -> Any:
        visited[-1] += 1
        return truth(*args)

    def counted_unpack(*args: Any, **kwargs: Any) -> Any:
        visited[-1] += 1
        return unpack(*args, **kwargs)

    monkeypatch.setattr(explain_module._Truth, "of", counted_truth)
    monkeypatch.setattr(explain_module.np, "unpackbits", counted_unpack)  # type: ignore[attr-defined]
    for parts in (20, 80):
        visited.append(0)
        table.scan(where=" AND ".join(where.format(k=k) for k in range(100, 100 + parts))).explain()
    assert visited[1] < 5 * visited[0]
