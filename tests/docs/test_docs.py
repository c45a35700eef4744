"""README and the pages of the documentation describe the program as it is."""

import ast
import re
import shlex
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import pytest

import deltaskip
from deltaskip.cli.commands import program  # type: ignore[attr-defined]
from deltaskip.sparkexpr.functions import FUNCTIONS, REPLACED
from tests.docs import generated
from tests.docs.generated import ERRORS, PAGES, PROTOCOL, ROOT, WRITING
from tests.looped import looped

README = ROOT / "README.md"
WRITTEN = (README, *sorted(PAGES.glob("*.md")))
# Blocks that need Spark are marked, ```python { .spark }, and so are those that only show a call, { .illustration }.
PLAIN_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_PYTHON = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RESULT = "# → "


def test_the_support_table_is_the_registry() -> None:
    text = PROTOCOL.read_text(encoding="utf-8")
    assert generated.with_support_table(text) == text, "run python -m tests.docs.generated"


def test_the_rules_of_commits_are_those_of_the_validator() -> None:
    text = WRITING.read_text(encoding="utf-8")
    assert generated.with_rule_table(text) == text, "run python -m tests.docs.generated"


def test_the_rules_of_tables_are_those_of_the_verification() -> None:
    text = generated.VERIFY.read_text(encoding="utf-8")
    assert generated.with_verification_rules(text) == text, "run python -m tests.docs.generated"


def test_the_statements_of_sql_are_those_of_the_grammar() -> None:
    text = generated.CATALOGS.read_text(encoding="utf-8")
    assert generated.with_statement_table(text) == text, "run python -m tests.docs.generated"


def test_the_table_of_functions_is_that_of_the_registry() -> None:
    text = generated.FUNCTION_PAGE.read_text(encoding="utf-8")
    assert generated.with_functions(text) == text, "run python -m tests.docs.generated"
    written = [name for name in (*FUNCTIONS, *REPLACED) if name.isidentifier() or len(name) == 1]
    assert text.count("\n| `") == len(written)


def test_the_facts_about_other_engines_are_those_of_the_program() -> None:
    text = generated.NEIGHBOURS.read_text(encoding="utf-8")
    assert generated.with_facts(text) == text, "run python -m tests.docs.generated"


def test_bad_input_gets_the_sentences_that_are_shown() -> None:
    text = ERRORS.read_text(encoding="utf-8")
    assert generated.with_bad_input(text) == text, "run python -m tests.docs.generated"


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("page", generated.EXAMPLES, ids=lambda page: page.name)
def test_commands_print_what_is_shown(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown, printed = (re.sub(r"[\d.]+ [KM]iB", "SIZE", each) for each in (text, generated.with_output(text)))
    assert "SIZE" in shown or page.name != "pruning.md"
    assert printed == shown, "run python -m tests.docs.generated"


def test_every_error_and_warning_has_its_description() -> None:
    text = ERRORS.read_text(encoding="utf-8")
    for name in deltaskip.errors.__all__:
        error = getattr(deltaskip.errors, name)
        base = error.__bases__[-1]
        row = f"| `{name}` | `{base.__name__}` |"
        assert name == "DeltaSkipError" or row in text or (issubclass(error, Warning) and f"`{name}`" in text), row


def test_the_api_reference_has_every_public_name() -> None:
    named = set(re.findall(r"^::: deltaskip\.(\w+)$", (PAGES / "api.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(deltaskip.__all__) - {*deltaskip.errors.__all__, "__version__"} <= named


@looped("page", WRITTEN)
def test_every_command_that_is_shown_parses(page: Path) -> None:
    shell = "".join(SHELL.findall(page.read_text(encoding="utf-8")))
    lines = re.findall(r"^(?:\$ )?(?:\.venv/bin/)?(deltaskip .*)$", shell, re.MULTILINE)
    assert len(lines) > (3 if page.name in ("README.md", "quickstart.md") else -1)
    for line in lines:
        _, name, *arguments = shlex.split(line.split("  #")[0].split(" | ")[0])
        if name == "--catalog":
            _, name, *arguments = arguments
        assert isinstance(program.commands[name].make_context(name, arguments), click.Context), line


def test_every_python_block_compiles() -> None:
    for page in WRITTEN:
        for block in ANY_PYTHON.findall(page.read_text(encoding="utf-8")):
            ast.parse(block, page.name)


def run_examples(blocks: Iterable[str], names: dict[str, Any]) -> int:
    """Run the code, in which /data stands for the working folder; return how many results are shown and right."""
    shown = 0
    for block in blocks:
        lines = block.splitlines()
        for statement in ast.parse(block).body:
            code = ast.unparse(statement).replace("'/data/", f"'{Path.cwd()}/")
            _, arrow, result = lines[(statement.end_lineno or 0) - 1].partition(RESULT)
            if arrow:
                shown += 1
                assert repr(eval(code, names)) == result.strip(), code
            else:
                exec(code, names)
    return shown


def test_internals_describe_every_package() -> None:
    text = (PAGES / "internals.md").read_text(encoding="utf-8")
    rows = "".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    packages = {path.parent.name for path in (ROOT / "deltaskip").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"`(\w+)`", rows))


def test_internals_name_modules_that_exist() -> None:
    text = (PAGES / "internals.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)`", text.partition("### The three flows")[2].partition("\n## ")[0])
    assert len(named) > 15
    assert [name for name in named if not (ROOT / "deltaskip" / name).is_file()] == []


def test_soundness_names_modules_and_tests_that_exist() -> None:
    text = (PAGES / "soundness.md").read_text(encoding="utf-8")
    modules = set(re.findall(r"`(deltaskip/[\w/]+\.py)`", text))
    tests = set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text))
    assert len(modules) > 10 and len(tests) > 30
    assert not [module for module in modules if not (ROOT / module).is_file()]
    for file, name in tests:
        assert (ROOT / file).is_file(), file
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{name}"
    for file, case in re.findall(r'`(tests/[\w/]+\.py)` \("([^"]+)"\)', text):
        assert f'"{case}"' in (ROOT / file).read_text(encoding="utf-8"), f"{file}: {case}"


def test_comments_cite_traps_and_pages_that_exist() -> None:
    numbers = set(re.findall(r"^### (\d+)\. ", (PAGES / "soundness.md").read_text(encoding="utf-8"), re.MULTILINE))
    for path in sorted((ROOT / "deltaskip").rglob("*.py*")):
        if path.suffix not in (".py", ".pyx", ".pxd", ".pyi"):
            continue
        text = path.read_text(encoding="utf-8")
        for cited in re.findall(r"\b([\w/]+\.md)\b", text):
            assert cited == "README.md" or (ROOT / cited).is_file(), f"{path.name} cites {cited}"
        for traps in re.findall(r"soundness\.md,\s+traps?\s+([\d,\sand]+)", text):
            assert set(re.findall(r"\d+", traps)) <= numbers, f"{path.name} cites traps {traps}"


def test_readme_is_short_and_has_the_test_command_that_ci_runs() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    assert re.search(r"^bash \.ci/test$", text, re.MULTILINE)
    assert "bash .ci/test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_list_of_tasks_names_what_is_there() -> None:
    shown = subprocess.run(["bash", ".ci/test", "--help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    modules = re.findall(r"python -m ([\w.]+)", shown)
    assert {"tests.docs.generated", "tests.mutants", "benchmarks.once"} <= set(modules)
    paths = [each.replace(".", "/") for each in modules] + re.findall(
        r" (\.ci/\w+(?:\.txt)?|setup\.py|docs/\S+\.yml)", shown
    )
    missing = [path for path in paths if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists()]
    assert missing == [] and "bash .ci/run" in shown


def test_the_kinds_of_predicate_errors_are_described() -> None:
    from deltaskip.schema.relations import UnknownName
    from deltaskip.sparkexpr.bind import TypeMismatch
    from deltaskip.sparkexpr.types.resolve import AmbiguousName, InsideCollection

    text = ERRORS.read_text(encoding="utf-8")
    assert all(f"`{each.__name__}`" in text for each in (TypeMismatch, UnknownName, AmbiguousName, InsideCollection))
