"""`deltaskip verify`: exit statuses, output, repair after a confirmation, and gates."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two files of ten rows."""
    path = tmp_path / "t"
    for start in (0, 100):
        ds.write(path, pa.table({"id": list(range(start, start + 10)), "s": ["x"] * 10}))
    return path


def lose_a_file(table: Path) -> None:
    next(table.glob("part-*.parquet")).unlink()


def test_a_sound_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(table), "--data"]) == 0
    assert "0 errors, 0 warnings; checked" in capsys.readouterr().out


def test_the_exit_status_says_what_was_found(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lose_a_file(table)
    assert main(["verify", str(table)]) == 0
    assert main(["verify", str(table), "--data", "--json"]) == 1
    out = capsys.readouterr().out
    found = json.loads(out[out.index("{") :])
    assert [each["rule"] for each in found["findings"]] == ["data.missing"]
    assert main(["verify", str(tmp_path / "nothing")]) == 2
    assert "no table to verify" in capsys.readouterr().err
    (table / "_delta_log" / f"{1:020d}.json").write_text('{"protocol":{"minReaderVersion":3')
    assert main(["verify", str(table)]) == 1
    assert "error commit.readable" in capsys.readouterr().out


def test_a_repair_needs_an_answer(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lose_a_file(table)
    assert main(["verify", str(table), "--data", "--repair", "--dry-run"]) == 1
    assert "repair: remove files" in capsys.readouterr().out
    assert main(["verify", str(table), "--data", "--repair"]) == 2
    assert "needs --yes" in capsys.readouterr().err
    assert ds.DeltaTable(table).version == 1
    assert main(["verify", str(table), "--data", "--repair", "--yes"]) == 1
    assert "repaired: remove files" in capsys.readouterr().out
    assert ds.DeltaTable(table).scan().count() == 10
    assert main(["verify", str(table), "--data"]) == 0
    assert main(["verify", str(table), "--yes"]) == 2


def test_gates(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(table), "--min-skipped", "50", "--where", "id = 3"]) == 0
    assert main(["verify", str(table), "--min-skipped", "90", "--where", "id = 3", "--where", "s = 'x'"]) == 1
    assert "gate.skipped" in capsys.readouterr().out
    assert main(["verify", str(table), "--assert-stats", "id,s"]) == 0
    assert main(["verify", str(table), "--assert-stats", "zz"]) == 2
    assert "no column" in capsys.readouterr().err
    assert main(["verify", str(table), "--since", "1"]) == 0


def test_a_table_by_its_name(table: Path, tmp_path: Path) -> None:
    assert main(["--catalog", f"warehouse:{tmp_path}", "verify", "t"]) == 0
