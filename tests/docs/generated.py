"""The parts of the documentation that the program writes: the tables of features and rules, and what commands print.

`python -m tests.docs.generated` brings the pages up to date; tests/docs/test_docs.py compares.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from deltaskip import demo
from deltaskip.features.registry import support_table
from deltaskip.maintenance.verify.table_rules import rule_table as verification_rules
from deltaskip.skipping.proofs.leaf_values import leaf_values
from deltaskip.sparkexpr import EvaluationError, parse_sql
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.functions import ALIASES, FUNCTIONS, PRESENT, REPLACED, SHAPE_PREDICATES
from deltaskip.sparkexpr.functions.function import Replaced
from deltaskip.sparkexpr.functions.spark_functions import ARGUMENT_COUNTS, CHANGING
from deltaskip.sparkexpr.nodes import Call, Compare, Literal, walk
from deltaskip.statements.grammar import statement_table
from deltaskip.table.compatibility import ENGINES, FACTS, FACTS_DATE
from deltaskip.txn.validation.commit_rules import rule_table
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.edges import Case, bound, calls
from tests.sparkexpr.evaluation.test_python_calls import BY_COLUMN, BY_VALUE, OTHERS, SCHEMA, ZONE, texts

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "pages"
PROTOCOL, ERRORS, WRITING = PAGES / "protocol.md", PAGES / "errors.md", PAGES / "writing-logs.md"
CATALOGS, FUNCTION_PAGE, NEIGHBOURS = PAGES / "catalogs.md", PAGES / "functions.md", PAGES / "neighbours.md"
VERIFY = PAGES / "verify.md"
EXAMPLES = (PAGES / "pruning.md", PAGES / "statistics.md")
DATA = "/data"


def with_support_table(text: str) -> str:
    """The text of protocol.md with the registry's table of features between its markers."""
    return _pattern("support table").sub(lambda found: f"{found[1]}\n{support_table()}\n{found[3]}", text)


def with_rule_table(text: str) -> str:
    """The text of writing-logs.md with the table of rules of commits between its markers."""
    return _pattern("rules").sub(lambda found: f"{found[1]}\n{rule_table()}\n{found[3]}", text)


def with_verification_rules(text: str) -> str:
    """The text of verify.md with the table of rules of tables between its markers."""
    return _pattern("verification rules").sub(lambda found: f"{found[1]}\n{verification_rules()}\n{found[3]}", text)


def with_statement_table(text: str) -> str:
    """The text of catalogs.md with the table of SQL statements between its markers."""
    return _pattern("statements").sub(lambda found: f"{found[1]}\n{statement_table()}\n{found[3]}", text)


def with_facts(text: str) -> str:
    """The text of neighbours.md with the table of facts about other engines between its markers."""
    return _pattern("facts").sub(lambda found: f"{found[1]}\n{facts_table()}\n{found[3]}", text)


def facts_table() -> str:
    """The releases and the facts about other engines as Markdown."""
    releases = "; ".join(f"`{name}`: {title}" for name, (title, _) in ENGINES.items())
    lines = [f"Run on {FACTS_DATE} with {releases}.", ""]
    lines += ["| in a table | engines | | what they do | what to change in the table |", "|---|---|---|---|---|"]
    for fact in FACTS:
        for operation, effects in (("read", fact.reads), ("write", fact.writes)):
            for engines, effect, does in effects:
                named = "all" if engines.split() == list(ENGINES) else engines.replace(" ", ", ")
                change = fact.change.replace("|", "\\|") if operation == "read" else ""
                lines.append(f"| {fact.rule} | {named} | {operation}: {effect} | {does} | {change} |")
    return "\n".join(lines) + "\n"


def with_functions(text: str) -> str:
    """The text of functions.md with the table of functions between its markers."""
    return _pattern("functions").sub(lambda found: f"{found[1]}\n{function_table()}\n{found[3]}", text)


def function_table() -> str:
    """A row for each function of the registry that can be written, and the names of those that only Spark evaluates.

    What is computed by column is what the calls of tests.sparkexpr.evaluation.test_python_calls say.
    """
    by_column = _called(BY_COLUMN) | set(OTHERS)
    rows = ["| Function | Other names | Skips files | By column | Time zone |", "|---|---|---|---|---|"]
    for name, function in sorted({**REPLACED, **FUNCTIONS}.items()):
        if not name.isidentifier() and len(name) > 1:
            continue
        others = ", ".join(f"`{alias}`" for alias in sorted(function.aliases))  # type: ignore[attr-defined]
        if isinstance(function, Replaced):
            told = [others, "as written", "as written", ""]
        else:
            facts = (_skips_files(name), name in by_column, function.zoned)  # type: ignore[attr-defined]
            told = [others, *("yes" if each else "" for each in facts)]
        rows.append(f"| `{name.replace('|', '&#124;')}` | {' | '.join(told)} |".replace("  ", " "))
    left = sorted(set(ARGUMENT_COUNTS) - {*FUNCTIONS, *REPLACED, *ALIASES} - {*CHANGING, *PRESENT})
    rows += ["", f"With arguments like these, values are not computed by column: {_listed(texts(BY_VALUE))}."]
    return "\n".join(rows) + "\n\nOnly Spark evaluates " + _listed(left) + "."


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _called(block: str) -> set[str]:
    """The functions of calls."""
    bound_calls = (bind_expression(parse_sql(text), SCHEMA, time_zone=ZONE) for text in texts(block))
    return {part.name for node in bound_calls for part in walk(node) if isinstance(part, Call)}


def _skips_files(name: str) -> bool:
    """Whether a comparison of a call with its value at some edge restricts the values of the column."""
    if name in SHAPE_PREDICATES:
        return True
    for type_, edges in EDGES.items():
        for text in calls(name):
            case = Case(type_, text.replace("{c}", "c"))
            node = bound(case)
            for edge in edges[:: len(edges) // 3 + 1] if node is not None else ():
                try:
                    value = evaluate(node, {("c",): edge})
                except EvaluationError:
                    continue
                if value is not None and leaf_values(Compare("=", node, Literal(value, type_of(node))), "UTC"):
                    return True
    return False


def with_bad_input(text: str) -> str:
    """The text of errors.md with what the program prints today for each command between its markers."""
    return _pattern("bad input").sub(lambda found: found[1] + _console(found[2], 1, 2) + found[3], text)


def with_output(text: str) -> str:
    """The text of a page with what the program prints today for each command between its markers."""
    return _pattern("output").sub(lambda found: found[1] + _console(found[2], 0) + found[3], text)


def main() -> None:
    """Rewrite the generated sections."""
    PROTOCOL.write_text(with_support_table(PROTOCOL.read_text(encoding="utf-8")), encoding="utf-8")
    VERIFY.write_text(with_verification_rules(VERIFY.read_text(encoding="utf-8")), encoding="utf-8")
    WRITING.write_text(with_rule_table(WRITING.read_text(encoding="utf-8")), encoding="utf-8")
    FUNCTION_PAGE.write_text(with_functions(FUNCTION_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    CATALOGS.write_text(with_statement_table(CATALOGS.read_text(encoding="utf-8")), encoding="utf-8")
    NEIGHBOURS.write_text(with_facts(NEIGHBOURS.read_text(encoding="utf-8")), encoding="utf-8")
    ERRORS.write_text(with_bad_input(ERRORS.read_text(encoding="utf-8")), encoding="utf-8")
    for page in EXAMPLES:
        page.write_text(with_output(page.read_text(encoding="utf-8")), encoding="utf-8")


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: [^\n]* -->\n)(.*?)(<!-- {name} ends -->)", re.DOTALL)


@cache
def _made() -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory()
    demo.make_table(Path(folder.name) / "customers", demo.write_with_pyarrow)
    return folder


def demo_table(place: Path) -> None:
    """Put the demo's table there, which is made once."""
    shutil.copytree(Path(_made().name) / "customers", place)


def _console(block: str, *statuses: int) -> str:
    commands = re.findall(r"^\$ (deltaskip .*)$", block, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        demo_table(root / "customers")
        (root / "empty").mkdir()
        damaged = root / "damaged" / "_delta_log"
        damaged.mkdir(parents=True)
        commit = (root / "customers" / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8")
        (damaged / f"{0:020}.json").write_text(commit, encoding="utf-8")
        (damaged / f"{2:020}.json").write_text(commit, encoding="utf-8")
        printed = [f"$ {command}\n{_run(command, root, statuses)}" for command in commands]
    return "```console\n" + "".join(printed) + "```\n"


def _run(command: str, root: Path, statuses: tuple[int, ...]) -> str:
    arguments = shlex.split(command)[1:]
    program = "import sys; from deltaskip.cli import main; sys.exit(main())"
    finished = subprocess.run(
        [sys.executable, "-c", program, *(argument.replace(DATA, str(root)) for argument in arguments)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    if finished.returncode not in statuses:
        raise ValueError(f"{command} ended with status {finished.returncode}, not one of {statuses}")
    printed = (finished.stdout + finished.stderr).replace(root.as_uri(), f"file://{DATA}").replace(str(root), DATA)
    return re.sub(r" +$", "", printed, flags=re.MULTILINE)


if __name__ == "__main__":
    main()
