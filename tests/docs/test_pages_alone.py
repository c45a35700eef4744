"""Each page runs alone, in an empty folder, from its first block to its last, with its commands."""

import re
import shlex
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

from deltaskip.cli import main
from tests.docs.generated import ERRORS, demo_table
from tests.docs.test_commands import kind
from tests.docs.test_docs import WRITTEN, run_examples

BLOCK = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "bash", "console", "shell")
# What test_commands.py runs or compares: installations, tools of the repository, and object stores.
ELSEWHERE = ("pip", "git", "cd", "bash", "asv", "python", "pytest")
# Its commands show errors over damaged tables; `tests.docs.generated` compares what they print.
# Each of the recipes runs alone, in test_recipes.py.
PAGES = [page for page in WRITTEN if page != ERRORS and page.name != "recipes.md"]


def runs(page: Path, with_spark: bool) -> list[tuple[str, str]]:
    """The language and the text of the blocks of a page that are run, in their order."""
    found = []
    for language, mark, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        spark = ".spark" in mark
        if language in SHELL or (language == "python" and (not mark.strip() or (spark and with_spark))):
            found.append((language, text))
    return found


def run_commands(text: str) -> None:
    """Run the commands of a block; `deltaskip demo` copies a table that was made once."""
    prompted = text.startswith("$ ")
    for line in text.splitlines():
        if prompted and not line.startswith("$ "):
            continue
        for command in re.split(r"\s+#\s", line.removeprefix("$ ").strip())[0].split(" && "):
            command = command.split(" | ")[0].strip()
            if command.startswith("printf "):
                subprocess.run(["bash", "-c", command], check=True)
                continue
            if not command or kind(command).startswith(ELSEWHERE) or "s3://" in command or "--spark" in command:
                continue
            name, *arguments = shlex.split(command)
            assert name.removeprefix(".venv/bin/") == "deltaskip", command
            if arguments[0] == "demo":
                demo_table(Path(arguments[arguments.index("--keep") + 1] if "--keep" in arguments else "customers"))
            else:
                assert main([each.replace("/data/", f"{Path.cwd()}/") for each in arguments]) == 0, command


def run_page(page: Path, with_spark: bool) -> int:
    """Run the blocks of a page; return how many results are shown and right."""
    names: dict[str, Any] = {}
    shown = 0
    for language, text in runs(page, with_spark):
        if language in SHELL:
            run_commands(text)
        else:
            shown += run_examples([text], names)
    return shown


def has_spark(page: Path) -> bool:
    return "```python { .spark }" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in PAGES if runs(page, False)], ids=lambda page: page.name)
def test_a_page_runs_alone(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "polars" in page.read_text(encoding="utf-8"):
        pytest.importorskip("polars")
    if re.search(r"duckdb|ds\.sql\(\"|deltaskip query", page.read_text(encoding="utf-8")):
        pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run_page(page, with_spark=False) >= 2 * (page.name in ("README.md", "quickstart.md", "writing.md"))


@pytest.mark.spark
@pytest.mark.parametrize("page", [page for page in PAGES if has_spark(page)], ids=lambda page: page.name)
def test_a_page_runs_alone_with_spark(page: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page, with_spark=True)
