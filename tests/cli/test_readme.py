"""README says what the program does."""

from __future__ import annotations

import re
import shlex

import click

from deltaskip.cli.commands import program
from deltaskip.features.registry import support_table
from tests.cli import readme

TEXT = readme.README.read_text(encoding="utf-8")


def test_the_support_table_is_the_registry() -> None:
    assert readme.section(TEXT, "support table").strip() == support_table().strip(), "run python -m tests.cli.readme"


def test_bad_input_gets_the_sentences_that_readme_shows() -> None:
    shown, said = (readme.section(text, "bad input") for text in (TEXT, readme.generated(TEXT)))
    assert said == shown, "run python -m tests.cli.readme"


def test_every_command_that_readme_shows_is_one_that_parses() -> None:
    lines = re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(deltaskip .*)$", TEXT, re.MULTILINE)
    assert len(lines) > 8
    for line in lines:
        _, name, *arguments = shlex.split(line.split("  #")[0].split(" | ")[0])
        if name == "--version":
            continue
        command = program.commands[name]
        assert isinstance(command.make_context(name, arguments), click.Context), line


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    script = (readme.README.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert "bash .ci/test" in script
    assert re.search(r"^bash \.ci/test$", TEXT, re.MULTILINE)
