"""The parts of README that the program itself says: the table of features, and what bad input gets.

`python -m tests.cli.readme` brings README up to date; tests/cli/test_readme.py compares.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from deltaskip import demo
from deltaskip.features.registry import support_table

README = Path(__file__).resolve().parents[2] / "README.md"
DATA = "/data"


def section(text: str, name: str) -> str:
    """What stands between the section's markers."""
    return _pattern(name).search(text)[2]  # type: ignore[index]


def generated(text: str) -> str:
    """README's text with every generated section as the program says it today."""
    text = _pattern("support table").sub(lambda m: f"{m[1]}\n{support_table()}\n{m[3]}", text)
    return _pattern("bad input").sub(lambda m: m[1] + _console(m[2]) + m[3], text)


def main() -> None:
    """Rewrites README's generated sections."""
    README.write_text(generated(README.read_text(encoding="utf-8")), encoding="utf-8")


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: [^\n]* -->\n)(.*?)(<!-- {name} ends -->)", re.DOTALL)


def _console(block: str) -> str:
    commands = re.findall(r"^\$ (deltaskip .*)$", block, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        demo.make_table(root / "customers", demo.write_with_pyarrow)
        (root / "empty").mkdir()
        damaged = root / "damaged" / "_delta_log"
        damaged.mkdir(parents=True)
        commit = (root / "customers" / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8")
        (damaged / f"{0:020}.json").write_text(commit, encoding="utf-8")
        (damaged / f"{2:020}.json").write_text(commit, encoding="utf-8")
        said = [f"$ {command}\n{_run(command, root)}" for command in commands]
    return "```console\n" + "".join(said) + "```\n"


def _run(command: str, root: Path) -> str:
    arguments = shlex.split(command)[1:]
    program = "import sys; from deltaskip.cli import main; sys.exit(main())"
    finished = subprocess.run(
        [sys.executable, "-c", program, *(argument.replace(DATA, str(root)) for argument in arguments)],
        capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    if finished.returncode != 2:
        raise ValueError(f"{command} ended with status {finished.returncode}, not 2")
    return (finished.stdout + finished.stderr).replace(root.as_uri(), f"file://{DATA}").replace(str(root), DATA)


if __name__ == "__main__":
    main()
