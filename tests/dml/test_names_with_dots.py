"""Names that begin with a dot, which Arrow takes for paths where it is given a text: `.zz` beside `zz`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import sparkexpr

NAMES = (".zz", ".", "..zz", ".zz.y", ".[0]")


def data(name: str) -> pa.Table:
    """Two rows, whose field and column with this name have what `zz` has in the other row."""
    values = ["right", "other"]
    structs = [{"zz": other, name: value} for value, other in zip(values, reversed(values), strict=True)]
    return pa.table({"id": [1, 2], "S": structs, "zz": values[::-1], name: values})


def of_name(name: str, text: str) -> str:
    return text.replace("?", f"`{name}`")


def ids(table: ds.DeltaTable, where: str | None = None) -> list[int]:
    return sorted(table.scan(where).to_arrow()["id"].to_pylist())


def merged(table: ds.DeltaTable, name: str, on: str) -> Any:
    return table.merge(data(name).slice(0, 1), of_name(name, on), source_alias="s", target_alias="t")


CHANGES: dict[str, tuple[Callable[[ds.DeltaTable, str], Any], list[int]]] = {
    "delete": (lambda t, name: t.delete(of_name(name, "S.? = 'other'")), [1]),
    "delete of a column": (lambda t, name: t.delete(of_name(name, "? = 'other'")), [1]),
    "update": (lambda t, name: t.update({"id": "id + 10"}, of_name(name, "S.? = 'other'")), [1, 12]),
    "value": (lambda t, name: t.update({"id": of_name(name, "IF(S.? = 'right', 5, 6)")}), [5, 6]),
    "merge": (lambda t, name: merged(t, name, "t.S.? = s.S.?").when_matched_update({"id": "s.id + 20"}).execute(),
        [2, 21]),
    "merge of columns": (lambda t, name: merged(t, name, "t.? = s.?").when_matched_delete().execute(), [2]),
    "overwrite": (lambda t, name: t.overwrite(data(name).slice(0, 1), where=of_name(name, "S.? = 'right'")), [1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", CHANGES)
def test_rows_are_changed_by_their_own_field(tmp_path: Path, name: str, change: str) -> None:
    ds.write(str(tmp_path / "t"), data(name))
    table = ds.DeltaTable(str(tmp_path / "t"))
    act, left = CHANGES[change]
    act(table, name)
    assert ids(ds.DeltaTable(str(tmp_path / "t"))) == left


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_read_by_their_own_field(tmp_path: Path, name: str) -> None:
    ds.write(str(tmp_path / "t"), data(name))
    table = ds.DeltaTable(str(tmp_path / "t"))
    assert ids(table, of_name(name, "S.? = 'right'")) == ids(table, of_name(name, "? = 'right'")) == [1]
    assert table.scan().top(1, by=of_name(name, "S.? DESC")).to_arrow()["id"].to_pylist() == [1]
    keys = data(name).slice(0, 1).select([name, "zz"])
    assert table.scan().semi_join(keys.select([name]), on=[f"`{name}`"]).to_arrow()["id"].to_pylist() == [1]
    assert table.scan().semi_join(keys, on=[f"`{name}`", "zz"]).to_arrow()["id"].to_pylist() == [1]
    found = table.scan("id = 1").aggregate(field=of_name(name, "max(S.?)"), column=of_name(name, "max(?)"))
    assert found.to_pylist() == [{"field": "right", "column": "right"}]
    for text in ("S.?", "?", "named_struct('a', S.?).a", "coalesce(S.?, '')"):
        assert sparkexpr.evaluate(of_name(name, text), data(name)).to_pylist() == ["right", "other"], text
    left, right = sparkexpr.evaluate(of_name(name, "hash(S)"), data(name)).to_pylist()
    assert left != right
    assert sparkexpr.filter(of_name(name, "S.? = 'right'"), data(name))["id"].to_pylist() == [1]


@pytest.mark.parametrize("name", NAMES)
def test_files_are_sorted_by_their_own_field(tmp_path: Path, name: str) -> None:
    ds.write(str(tmp_path / "t"), data(name))
    table = ds.DeltaTable(str(tmp_path / "t"))
    table.optimize(zorder_by=[f"S.`{name}`"])
    assert ids(table) == [1, 2]
