"""`deltaskip advise`: suggestions as text and JSON, and their picture."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run
from tests.table.test_advice import in_days, made


def test_the_command_prints_what_the_method_returns_and_draws_it(tmp_path: Path, run: Run) -> None:
    made(tmp_path / "t", "plain")
    given = [part for query in in_days(0) for part in ("--where", query)]
    picture = tmp_path / "picture.svg"
    found = run("advise", tmp_path / "t", *given, "--target-size", "300000", "--plot", picture)
    assert "% less)" in found.out and "t.optimize(zorder_by=['day'], target_file_bytes=300000)" in found.out
    assert picture.read_text().startswith("<svg") and "order day" in picture.read_text()
    as_json = json.loads(run("advise", tmp_path / "t", *given, "--target-size", "300000", "--json").out)
    assert as_json["suggestions"][0]["columns"] == ["day"]
    assert "either --where or --journal" in run("advise", tmp_path / "t").err
