"""`deltaskip compatibility`: what other engines refuse or get wrong in a table."""

import json
from pathlib import Path

import deltaskip as ds
from tests.cli.conftest import Run


def test_the_command_prints_what_the_method_returns(run: Run, tmp_path: Path) -> None:
    ds.DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    found = json.loads(run("compatibility", tmp_path / "t", "--json", "--engine", "daft", "--engine", "chdb").out)
    assert [(each["engine"], each["effect"]) for each in found] == [("daft", "refused"), ("chdb", "wrong")]
    printed = run("compatibility", tmp_path / "t", "--engine", "daft").out
    assert "drop_feature('deletionVectors')" in printed and "daft.from_arrow" in printed
    assert "Nothing is known" in run("compatibility", tmp_path / "t", "--engine", "polars").out
    unknown = run("compatibility", tmp_path / "t", "--engine", "poolars")
    assert unknown.status == 2 and "Did you mean polars?" in unknown.err
