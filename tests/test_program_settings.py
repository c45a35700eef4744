"""Nothing that the program around sets changes a value, a kept file or a deleted file."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.extent import TIME_LIMIT_SECONDS

_ROOT = Path(__file__).resolve().parents[1]
_ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def _run(settings: Sequence[str], variables: Mapping[str, str], options: Sequence[str] = ()) -> dict[str, Any]:
    with TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as folder:
        command = [sys.executable, *options, "-m", "tests.program_operations", folder, *settings]
        environment = {**os.environ, "PYTHONUTF8": "1", **variables}
        done = subprocess.run(
            command, env=environment, cwd=_ROOT, capture_output=True, check=False, timeout=TIME_LIMIT_SECONDS
        )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@cache
def _plain() -> dict[str, Any]:
    found = _run((), {})
    failed = {name: result for name, result in found.items() if isinstance(result, str)}
    assert not failed, failed
    return found


@cache
def _latin() -> dict[str, str]:
    """A locale that encodes names in ISO-8859-1, made where the C library looks for none."""
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/locales/de_DE").exists():
        pytest.skip("localedef or the sources of locales are not installed: apt-get install locales")
    folder = TemporaryDirectory()
    _FOLDERS.append(folder)
    made = ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", f"{folder.name}/de_DE.ISO-8859-1"]
    subprocess.run(made, check=False, capture_output=True)
    return {"LC_ALL": "de_DE.ISO-8859-1", "LOCPATH": folder.name, "PYTHONUTF8": "0"}


_FOLDERS: list[TemporaryDirectory[str]] = []


@pytest.mark.parametrize(
    ("settings", "variables", "options"),
    [
        (("prec3", "daemon"), {}, ()),
        (("basic", "narrow", "1.13"), {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu"}, ("-O", "-bb")),
        (("traps", "1.25"), {}, ("-X", "dev")),
        (("others",), {"PYTHONTZPATH": "", **_ASCII}, ()),
        (("extended", "others", "daemon"), None, ()),
    ],
    ids=["precision", "BasicContext and numpy", "traps", "ASCII", "ISO-8859-1"],
)
def test_settings_of_the_program_change_no_value_and_no_file(
    settings: Sequence[str], variables: Mapping[str, str] | None, options: Sequence[str]
) -> None:
    found = _run(settings, _latin() if variables is None else variables, options)
    for name, result in _plain().items():
        assert found[name] == result, name


@pytest.mark.parametrize("variables", [_ASCII, None], ids=["ASCII", "ISO-8859-1"])
def test_the_command_line_speaks_utf_8_in_every_locale(tmp_path: Path, variables: Mapping[str, str] | None) -> None:
    environment = {**os.environ, **(_latin() if variables is None else variables), "PYTHONPATH": str(_ROOT)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "deltaskip", *map(str.encode, arguments)]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, check=True, timeout=TIME_LIMIT_SECONDS
        )
        return done.stdout.decode()

    (tmp_path / "ö.csv").write_text("id,p\n1,ä\n2,日\n", encoding="utf-8")
    run("create", "tä", "id INT, p STRING", "--partition-by", "p")
    run("append", "tä", "ö.csv")
    assert run("head", "tä", "--where", "p = 'ä'") == "id\tp\n1\tä\n"
    assert {each.name for each in (tmp_path / "tä").iterdir()} == {"_delta_log", "p=ä", "p=日"}
