"""Every way to compare strings under a collation whose version is not installed says what to install."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import deltaskip as ds

WHERE = "name = 'MÜLLER'"
VERSION = "76.1"


def test_every_door_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if any((each.provider, each.version) == ("icu", VERSION) for each in ds.available_collations()):
        pytest.skip(f"ICU {VERSION} is installed")
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, name STRING COLLATE UNICODE_CI")
    table.append([{"id": 1, "name": "Müller"}])
    old = {"collation_version": VERSION}
    for path, module in list(sys.modules.items()):
        for name in ("current_collation_version", "installed_spark_version"):
            if path.startswith("deltaskip.") and hasattr(module, name):
                monkeypatch.setattr(module, name, lambda: VERSION)
    doors: dict[str, Callable[[], object]] = {
        "to_arrow": lambda: table.scan(WHERE, **old).to_arrow(),
        "to_pandas": lambda: table.scan(WHERE, **old).to_pandas(),
        "to_polars": lambda: table.scan(WHERE, **old).to_polars(),
        "lazy": lambda: table.scan(WHERE, **old).to_polars(lazy=True).collect(),
        "count": lambda: table.scan(WHERE, **old).count(),
        "head": lambda: table.scan(WHERE, **old).head(),
        "pieces": lambda: table.scan(WHERE, **old).pieces(1)[0].to_arrow(),
        "delete": lambda: table.delete(WHERE),
        "update": lambda: table.update({"id": "1"}, WHERE),
        "new value": lambda: table.update({"id": f"CASE WHEN {WHERE} THEN 1 ELSE 2 END"}),
        "overwrite": lambda: table.overwrite([{"id": 1, "name": "Müller"}], WHERE),
        "constraint": lambda: table.alter(ds.AddConstraint("c", WHERE)),
        "recompute": lambda: table.recompute_stats(collation_versions=[VERSION]),
        "collation": lambda: ds.collation(f"icu.UNICODE_CI.{VERSION}"),
        "in": lambda: table.scan("name IN ('a', 'MÜLLER')", **old).to_arrow(),
        "case": lambda: table.scan("CASE WHEN name < 'b' THEN id ELSE 0 END = 1", **old).to_arrow(),
    }
    for name, door in doors.items():
        with pytest.raises(ds.DeltaSkipError, match=r"UNICODE_CI\.76\.1 needs ICU 76\.1, .* run: pip install "):
            door()
            pytest.fail(name)
    assert "pip install" in str(table.scan(WHERE, **old).explain())
