"""Every command line that README and the pages show is run, at a small size where it is long.

A line that no rule below knows fails: a command is shown only if something runs it. What installs packages or builds
environments is run by `.ci/run`, and here only compared with it.
"""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.cli import main
from deltaskip.storage import open_storage
from tests.docs.generated import PAGES, ROOT, demo_table
from tests.each import each
from tests.extent import WHOLE, extent, some
from tests.not_compared import DELTA_JARS
from tests.storage.s3 import endpoint, s3_options

__all__ = ["endpoint", "s3_options"]

SHOWN_IN = (ROOT / "README.md", ROOT / "benchmarks" / "README.md", ROOT / "tests" / "README.md", *PAGES.glob("*.md"))
SHELL = re.compile(r"^```(?:sh|bash|shell|console)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CI = "".join((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "test"))
TIME = 1_768_867_200  # 2026-01-20, of the first commit
MARKS = {"spark": pytest.mark.spark, "reference": pytest.mark.reference}


def shown_commands() -> Iterator[tuple[str, str]]:
    """The page and the command, one for each part of a line that `&&` joins; generated consoles are run elsewhere."""
    for page in SHOWN_IN:
        for block in SHELL.findall(page.read_text(encoding="utf-8")):
            prompted = "\n$ " in f"\n{block}"
            for line in block.splitlines():
                if prompted and not line.startswith("$ "):
                    continue
                text = re.split(r"\s+#\s", line.removeprefix("$ ").strip())[0]
                yield from ((page.name, part.strip()) for part in text.split(" && ") if part.strip())


def commands(*beginnings: str) -> list[object]:
    """The commands that begin so, once each: a list for each set of marks, with what they need."""
    found: dict[tuple[str, ...], list[str]] = {}
    chosen = {text for page, text in shown_commands() if kind(text) in beginnings and not _is_alone(page, text)}
    for text in sorted(chosen):
        found.setdefault(_marks(text), []).append(text)
    return [
        pytest.param(texts, id="+".join(names) or "alone", marks=[MARKS[name] for name in names])
        for names, texts in found.items()
    ]


def _is_alone(page: str, command: str) -> bool:
    """Whether test_pages_alone.py runs the command, after the others of its page."""
    here = page in ("errors.md", "recipes.md") or "s3://" in command or "--spark" in command
    return kind(command) == "deltaskip" and not here


def kind(command: str) -> str:
    """The program of a command, without variables and the folder of an environment."""
    words = [word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    program = words[0].rpartition("/")[2] if words[0].startswith(".venv/") else words[0]
    return f"{program} {' '.join(words[1:3])}".strip() if program.startswith("python") else program


def _marks(command: str) -> tuple[str, ...]:
    spark = "--spark" in command or " demo" in command
    reference = DELTA_JARS in command or "tests/reference" in command
    return ("spark",) * spark + ("reference",) * reference


KNOWN = {"deltaskip", "printf", "asv", "pip", "bash", "cd", "git", "pytest", "python3 -m venv", "python -m"}


def test_every_command_is_of_a_kind_that_is_run() -> None:
    found = list(shown_commands())
    assert len(found) > 60
    unknown = {(page, text) for page, text in found if not kind(text).startswith(tuple(KNOWN))}
    assert not unknown


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages name: customers (the demo's), events, and orders."""
    root = tmp_path_factory.mktemp("data")
    demo_table(root / "customers")
    log = root / "events" / "_delta_log"
    log.mkdir(parents=True)
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("id", "long"), ("ts", "timestamp"), ("country", "string"))
    ]
    metadata = {
        "id": "events",
        "format": {"provider": "parquet", "options": {}},
        "partitionColumns": [],
        "configuration": {},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
    }
    for version in range(2):
        low = {"id": version, "ts": f"2026-01-{version + 1:02}T00:00:00.000Z", "country": "AT"}
        bounds = {"minValues": low, "maxValues": {**low, "country": "DE"}}
        add = {
            "path": f"part-{version}.parquet",
            "partitionValues": {},
            "size": 100,
            "modificationTime": 1,
            "dataChange": True,
            "stats": json.dumps({"numRecords": 9, **bounds, "nullCount": dict.fromkeys(low, 0)}),
        }
        actions = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}] * (not version)
        commit = log / f"{version:020}.json"
        commit.write_text("\n".join(map(json.dumps, [*actions, {"add": add}])))
        os.utime(commit, (TIME + 86_400 * version, TIME + 86_400 * version))
    orders = ds.DeltaTable.create(root / "orders", "id BIGINT, day DATE")
    orders.append(pa.table({"id": pa.array([1, 2], pa.int64()), "day": [date(2026, 1, 1), date(2026, 1, 2)]}))
    (root / "new.csv").write_text("id,day\n1,2026-01-02\n")
    return root


@pytest.mark.parametrize("shown", commands("deltaskip"))
def test_deltaskip_commands_run(
    shown: list[str], tables: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    # test_docs.py compares the errors that errors.md shows.
    errors = (PAGES / "errors.md").read_text(encoding="utf-8")

    def check(command: str) -> None:
        line = command.split(" | ")[0].removeprefix(".venv/bin/")
        folder = tmp_path / str(shown.index(command))
        shutil.copytree(tables, folder)
        with pytest.MonkeyPatch.context() as monkeypatch:
            if "s3://" in line:
                _serve(folder / "events", request, monkeypatch)
            monkeypatch.chdir(folder)
            status = main([word.replace("/data/", f"{folder}/") for word in shlex.split(line)[1:]])
        assert bool(status) == (f"$ {command}\n" in errors), capfd.readouterr().err

    each(shown, check)


def _serve(table: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the table's log into the bucket, and let the environment name the server, as on a configured machine."""
    options: dict[str, str] = request.getfixturevalue("s3_options")
    storage, root = open_storage("s3://bucket/events", options)
    for file in (table / "_delta_log").iterdir():
        storage.put(f"{root}/_delta_log/{file.name}", file.read_bytes())
    for name, value in options.items():
        monkeypatch.setenv(name.upper(), value)


SMALL = {
    "benchmarks.targets": ["--files", "500", "--commits", "5", "--runs", "1", "--only", "cold, narrow range"],
    "benchmarks.growth": ["--sizes", "500", "1000", "--runs", "1"],
    "benchmarks.recompute": ["--rows", "1000", "--files", "2", "--rounds", "1"],
    "benchmarks.verify": ["--files", "500", "--rows", "1000", "--data-files", "2", "--rounds", "1"],
}


@pytest.mark.parametrize("shown", commands(*(f"python -m {module}" for module in SMALL)))
def test_modules_of_the_benchmarks_run_at_a_small_size(shown: list[str], tmp_path: Path) -> None:
    def check(command: str) -> None:
        words = [word for word in shlex.split(command) if not word.startswith(DELTA_JARS)]
        if DELTA_JARS in command and not os.environ.get(DELTA_JARS):
            pytest.skip(f"{DELTA_JARS} must name a folder with the jars of delta-spark")
        module, arguments = words[2], [str(tmp_path / word) if word.endswith(".svg") else word for word in words[3:]]
        # `.ci/run` runs every benchmark at a small size.
        size = SMALL[module] if WHOLE else ["--help"]
        run([sys.executable, "-m", module, *arguments, *size], DELTASKIP_BENCH_DIR=str(tmp_path))

    each(some(shown, 1), check)


TOOLS = sorted({kind(text) for _, text in shown_commands() if kind(text).startswith("python -m tests.")})


@pytest.mark.parametrize("shown", commands(*TOOLS))
@pytest.mark.long
def test_tools_of_the_tests_run(shown: list[str]) -> None:
    def check(command: str) -> None:
        words = shlex.split(command)
        module = words[words.index("-m") + 1]
        if f"-m {module}" in CI:
            return
        if module == "tests.kernels.sanitize":
            # Building the kernels takes a minute or two.
            if WHOLE:
                run([sys.executable, *words[1:], "tests/kernels/test_hostile.py"], DELTASKIP_EXAMPLES="2")
            else:
                assert importlib.util.find_spec(module) is not None
            return
        smaller = ["2" if before == "--seeds" else word for before, word in pairwise(words)]
        # Tests of these tools run them, too.
        run([sys.executable, *smaller, *extent(["--help"], [])])

    each(shown, check)


@pytest.mark.parametrize("shown", commands("pytest"))
@pytest.mark.long(gate=1)
def test_long_runs_of_the_tests_run_at_a_small_size(shown: list[str]) -> None:
    # The file may take what it reads of a variable from a file of another folder.
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path.parent.name != "docs"]
    sources = [path.read_text(encoding="utf-8") for path in paths]

    def check(command: str) -> None:
        words = shlex.split(command)
        arguments = words[words.index("pytest") + 1 :]
        assert all((ROOT / word).exists() for word in arguments if word.startswith("tests/"))
        variables = dict(word.split("=") for word in words if re.fullmatch(r"[A-Z_]+=\d+", word))
        for name in variables:
            assert any(name in text for text in sources), name
        if command not in tried:
            return
        smaller = {name: str(min(int(value), 2)) for name, value in variables.items()}
        # Without it, nothing that is long is collected.
        smaller["DELTASKIP_TESTS"] = "all"
        # The small size of the others is what the suite runs.
        runs = WHOLE and "DELTASKIP_LONG_RUN" in variables
        arguments = [*arguments, *([] if runs else ["--collect-only"])]
        printed = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments], **smaller)
        assert ("passed" if runs else "collected") in printed

    # Those that choose tests by name come first: a renamed test must be found out.
    tried = some(sorted(shown, key=lambda command: " -k " not in command), 2)
    each(shown, check)


@pytest.mark.parametrize("shown", commands("pip", "python3 -m venv", "git", "cd"))
def test_installations_are_ones_that_exist(shown: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

    def check(command: str) -> None:
        for name in re.findall(r"\[(\w+)\]", command):
            assert name in extras
        if command.startswith("cd "):
            assert command == "cd deltaskip" or (ROOT / command[3:]).is_dir()

    each(shown, check)


@pytest.mark.parametrize("shown", commands("bash"))
def test_scripts_of_ci_are_there_with_their_arguments(shown: list[str]) -> None:
    def check(command: str) -> None:
        script, *arguments = shlex.split(command)[1:]
        run(["bash", "-n", script])
        for argument in arguments:
            assert argument in CI if argument.startswith("--") else argument == "-x" or (ROOT / argument).exists()

    each(shown, check)


@pytest.mark.parametrize("shown", commands("asv"))
def test_ci_runs_what_is_shown_of_asv(shown: list[str]) -> None:
    def check(command: str) -> None:
        # `.ci/run` adds `--bench`, as running each benchmark in a process of its own takes long.
        chosen = r"\-\-quick( \-\-bench \w+| \"\$\{some\[@\]\}\")?"
        pattern = re.escape(command.removeprefix("asv ")).replace(r"\-\-quick", chosen, 1)
        assert re.search(rf'"\$asv" {pattern}( |$)', CI, re.MULTILINE), f".ci/run does not run {command}"

    each(shown, check)


@pytest.mark.long
def test_asv_can_import_every_module_of_the_benchmarks_in_a_fresh_clone(tmp_path: Path) -> None:
    # asv imports them all, where the package is installed and nothing else of the repository is.
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    (tmp_path / "deltaskip").symlink_to(ROOT / "deltaskip")
    names = sorted(path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "__init__")
    assert len(names) > 15
    code = (
        f"import importlib, sys\nsys.modules['tests'] = None\n"
        f"for name in {names}: importlib.import_module('benchmarks.' + name)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def run(words: list[str], **variables: str) -> str:
    """What a command prints that runs at the project's root."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout
