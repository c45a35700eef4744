"""The structure of the package, read from its sources: rooms, imports, docstrings, machine paths."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "deltaskip"

# A room may import from the rooms of lower levels only; rooms of one level do not know each other.
LEVELS = {
    "records": -1,
    "compiled": -3,
    "recursion": -2,
    "arguments": 1,
    "doors": 1,
    "as_frames": 2,
    "errors": 0,
    "extras": -1,
    "fork_safety": -1,
    "hints": 1,
    "lazy_regex": -2,
    "path_bytes": -1,
    "printable": -1,
    "json_text": 0,
    "progress": 0,
    "settings": 1,
    "shown": 1,
    "redaction": 0,
    "version": 0,
    "warning": 1,
    "sparkexpr": 2,
    "kernels": 3,
    "storage": 3,
    "schema": 4,
    "actions": 5,
    "features": 6,
    "stats": 6,
    "log": 7,
    "engine": 8,
    "predicates": 9,
    "transforms": 9,
    "skipping": 10,
    "txn": 11,
    "rows": 12,
    "data_files": 13,
    "reading": 14,
    "dml": 15,
    "maintenance": 16,
    "alter": 16,
    "change_feed": 16,
    "table": 17,
    "catalogs": 18,
    "statements": 19,
    "spark": 20,
    "delta": 21,
    "demo": 21,
    "cli": 22,
    "__main__": 23,
}

# The same for the packages below `spark`.
LEVELS_OF_SPARK = {
    "session": 0,
    "catalog": 1,
    "columns": 1,
    "read": 2,
    "source": 2,
    "planning": 3,
    "recompute": 3,
    "write": 4,
    "dml": 5,
    "installed_catalog": 5,
    "spark_engine": 6,
}

SPARK_ROOMS = {"spark", "delta"}


@dataclass(frozen=True, slots=True)
class Import:
    """One import statement's target: a dotted module, its line, and whether only type checkers see it."""

    module: str
    line: int
    for_types_only: bool


def python_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def kernel_sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.pyx"))


def ident(path: Path) -> str:
    return str(path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else str(path.relative_to(ROOT))


def room_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


@functools.cache
def imports_of(path: Path) -> tuple[Import, ...]:
    package = ["deltaskip", *path.relative_to(PACKAGE).parts[:-1]]

    def walk(node: ast.AST, types_only: bool) -> Iterator[Import]:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(alias.name, node.lineno, types_only)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = package[: len(package) - level + 1] if level else []
                target = ".".join([*base, *([module] if module else [])])
                for alias in names:
                    # `from deltaskip import errors` names a room, `from deltaskip.errors import X` a thing in it.
                    yield Import(f"{target}.{alias.name}", node.lineno, types_only)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body, orelse=orelse):
                for child in body:
                    yield from walk(child, True)
                for child in orelse:
                    yield from walk(child, types_only)
            case _:
                for child in ast.iter_child_nodes(node):
                    if not isinstance(child, ast.expr):
                        yield from walk(child, types_only)

    return tuple(walk(tree_of(path), False))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_public(name: str) -> bool:
    return not name.startswith("_")


def undocumented(tree: ast.Module, described: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Public functions, classes and methods of public classes that have no docstring, nor one in a base class.

    described: For each class of the package the members that it or a class above it describes.
    """
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in tree.body:
        if not isinstance(node, definitions) or not is_public(node.name):
            continue
        if ast.get_docstring(node) is None and not is_overload(node):
            yield node.name
        if isinstance(node, ast.ClassDef):
            inherited = frozenset[str]().union(*(described.get(base, frozenset()) for base in base_names(node)))
            for member in node.body:
                if (
                    isinstance(member, definitions)
                    and is_public(member.name)
                    and member.name not in inherited
                    and not is_overload(member)
                    and ast.get_docstring(member) is None
                ):
                    yield f"{node.name}.{member.name}"


def base_names(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases]


def described_members() -> dict[str, frozenset[str]]:
    """For each class of the package the names of the members that it or a class above it describes."""
    classes = {
        node.name: node
        for path in python_modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef)
    }

    def described(name: str, below: frozenset[str] = frozenset()) -> frozenset[str]:
        node = classes.get(name)
        if node is None or name in below:
            return frozenset()
        own = {
            member.name
            for member in node.body
            if isinstance(member, ast.FunctionDef) and ast.get_docstring(member) is not None
        }
        return frozenset(own).union(*(described(base, below | {name}) for base in base_names(node)))

    return {name: described(name) for name in classes}


def is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether the definition speaks through another docstring: an overload, a setter, an override."""
    names = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
    return bool(names & {"overload", "setter", "deleter", "override"})


def tracked_files() -> list[Path]:
    """Every file that a commit would hold; all sources where there is no git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        suffixes = {".py", ".pyx", ".pxd", ".pyi", ".md", ".toml", ".json", ".in"}
        folders = ("deltaskip", "tests", "benchmarks", ".ci")
        found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
        return sorted(path for path in found if path.is_file())
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    return sorted(path for path in paths if path.is_file())


def test_no_file_has_marks_of_a_merge() -> None:
    marks = (b"<<<<<<< ", b">>>>>>> ")
    texts = {path: path.read_bytes() for path in tracked_files()}
    wrong = [path.relative_to(ROOT) for path, text in texts.items() if any(b"\n" + mark in text for mark in marks)]
    assert wrong == []


def test_the_root_has_nothing_that_a_trial_left_there() -> None:
    known = {".ci", ".editorconfig", ".github", ".gitignore", ".pre-commit-config.yaml", "LICENSE", "MANIFEST.in",
             "README.md", "benchmarks", "deltaskip", "docs", "findings", "pyproject.toml", "pyspark_deltaskip",
             "setup.py", "tests"}  # fmt: skip
    assert {path.relative_to(ROOT).parts[0] for path in tracked_files()} <= known


def test_every_room_has_its_level() -> None:
    rooms = {room_of(path) for path in python_modules() if path.parent != PACKAGE or path.name != "__init__.py"}
    assert rooms <= set(LEVELS), f"rooms without a level: {sorted(rooms - set(LEVELS))}"


def upward_imports(path: Path, levels: Mapping[str, int], depth: int = 1) -> Iterator[str]:
    """Imports of a package of the same level or of a higher one; its name stands at `depth` in a dotted name."""
    own = ["deltaskip", *path.relative_to(PACKAGE).with_suffix("").parts]
    here = own[depth]
    for found in imports_of(path):
        parts = found.module.split(".")
        if parts[:depth] != own[:depth] or parts[: depth + 1] == own[: depth + 1]:
            continue
        there = parts[depth] if len(parts) > depth else ""
        if there not in levels:
            if here not in {"cli", "demo"}:
                yield f"{ident(path)}:{found.line}: {found.module}: only cli and demo use the public surface"
        elif levels[there] >= levels[here]:
            yield f"{ident(path)}:{found.line}: {here} imports {there}"


def test_imports_point_down() -> None:
    modules = [path for path in python_modules() if path != PACKAGE / "__init__.py"]
    wrong = [each for path in modules for each in upward_imports(path, LEVELS)]
    assert not wrong, wrong


def test_imports_below_spark_point_down() -> None:
    modules = [path for path in python_modules() if room_of(path) == "spark" and path != PACKAGE / "spark/__init__.py"]
    wrong = [each for path in modules for each in upward_imports(path, LEVELS_OF_SPARK, depth=2)]
    assert not wrong, wrong


def test_no_modules_of_a_room_import_each_other_in_a_circle() -> None:
    """At run time, at the top of a module or in a function; between rooms, imports point down anyway."""
    imports = {
        path: {
            target
            for found in imports_of(path)
            if not found.for_types_only and found.module.startswith("deltaskip.")
            for target in [module_path(found.module)]
            if target is not None and target != path
        }
        for path in python_modules()
        if path.name != "__init__.py"
    }
    # StructType.to_arrow is public, and the module of Arrow's types knows those of this package.
    imports[PACKAGE / "sparkexpr/types/data_types.py"].remove(PACKAGE / "sparkexpr/types/arrow.py")
    graphlib.TopologicalSorter(imports).prepare()


def module_path(dotted: str) -> Path | None:
    """The source of a module of the package, of which `dotted` may name a member."""
    relative = Path(*dotted.split(".")[1:])
    for candidate in (relative, relative.parent):
        for path in ((PACKAGE / candidate).with_suffix(".py"), PACKAGE / candidate / "__init__.py"):
            if candidate.parts and path.is_file():
                return path
    return None


def reached_from(start: list[Path]) -> dict[Path, list[Path]]:
    """Modules that `start` import, directly or through others, each with the chain of imports that reaches it."""
    found = {path: [path] for path in start}
    pending = list(start)
    while pending:
        path = pending.pop()
        for each in imports_of(path):
            target = module_path(each.module) if each.module.startswith("deltaskip.") else None
            if target is not None and target not in found:
                found[target] = [*found[path], target]
                pending.append(target)
    return found


def test_proofs_reach_neither_the_log_nor_its_actions() -> None:
    reached = reached_from(sorted((PACKAGE / "skipping" / "proofs").rglob("*.py")))
    wrong = [
        " -> ".join(map(ident, chain)) for path, chain in reached.items() if room_of(path) in {"log", "actions", "txn"}
    ]
    assert not wrong, wrong


def test_proofs_know_programs_but_not_what_evaluates_them() -> None:
    proofs, program = PACKAGE / "skipping" / "proofs", PACKAGE / "skipping" / "program.py"
    reached = reached_from(sorted(proofs.rglob("*.py")))
    wrong = [
        " -> ".join(map(ident, chain))
        for path, chain in reached.items()
        if room_of(path) == "skipping"
        and path != program
        and not path.is_relative_to(proofs)
        and path != PACKAGE / "skipping" / "__init__.py"
    ]
    assert program in reached
    assert not wrong, wrong


def test_kernels_know_only_kernels_and_errors() -> None:
    pattern = re.compile(r"^\s*(?:from\s+(deltaskip[\w.]*)\s+c?import|c?import\s+(deltaskip[\w.]*))", re.MULTILINE)
    wrong = [
        f"{ident(path)} imports {target}"
        for path in kernel_sources()
        for target in sorted({a or b for a, b in pattern.findall(path.read_text(encoding="utf-8"))})
        if not re.match(r"deltaskip\.(kernels|sparkexpr\.kernels|errors)\b", target)
    ]
    assert not wrong, wrong


def test_kernels_use_the_limited_api_of_which_wheels_are_built() -> None:
    macros = re.compile(r"\bPy\w+_(?:AS_STRING|AS_DOUBLE|GET_SIZE|GET_ITEM|SET_ITEM|DATA|KIND)\b")
    found = {path: macros.findall(path.read_text(encoding="utf-8")) for path in kernel_sources()}
    wrong = {ident(path): names for path, names in found.items() if names}
    assert not wrong, f"use the functions, such as PyBytes_AsString, instead of {wrong}"


# What the language of expressions imports of the rest of the package.
BELOW_THE_LANGUAGE = {
    "arguments", "compiled", "doors", "errors", "extras", "fork_safety", "json_text", "lazy_regex", "printable",
    "records", "recursion", "shown",
}  # fmt: skip
# The modules and packages of the language whose names others import; other names come from deltaskip.sparkexpr.
FACE_MODULES = {
    "arrow_expressions", "bind", "clock", "coerce", "collations", "comparison_collation", "diagnosis", "evaluation",
    "functions", "kernels", "literal_list", "local_expression", "meaning", "meaning_settings", "nodes", "normalize",
    "polars_expressions", "preimages", "text.sql_text", "types", "types.ddl", "types.lengths", "values",
    "values.arrow_nested", "values.arrow_values", "values.calendar", "values.zone_rules",
}  # fmt: skip
LARGEST_FACE = 60
# Values of users, which may be anything, and the demonstration.
MAKES_SCALARS = {"reading/located_rows.py", "demo.py"}


def test_the_language_knows_nothing_of_tables() -> None:
    wrong = [
        f"{ident(path)}:{found.line}: {found.module}"
        for path in python_modules()
        if room_of(path) == "sparkexpr"
        for found in imports_of(path)
        if found.module.startswith("deltaskip.")
        and found.module.split(".")[1] not in {"sparkexpr", *BELOW_THE_LANGUAGE}
    ]
    assert not wrong, wrong


def test_others_import_the_face_of_the_language() -> None:
    stub = ast.parse((PACKAGE / "sparkexpr" / "__init__.pyi").read_text(encoding="utf-8"))
    names = {each.name for node in stub.body if isinstance(node, ast.ImportFrom) for each in node.names}
    assert len(names | FACE_MODULES) <= LARGEST_FACE
    used, wrong = set[str](), []
    for path in python_modules():
        for node in ast.walk(tree_of(path)) if room_of(path) != "sparkexpr" else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("deltaskip.sparkexpr"):
                module = (node.module or "").removeprefix("deltaskip.sparkexpr").removeprefix(".")
                for each in node.names:
                    inner = f"{module}.{each.name}".removeprefix(".")
                    used.add(inner if inner in FACE_MODULES or not module else module)
    wrong = sorted(used - names - FACE_MODULES)
    assert not wrong, wrong
    assert used >= FACE_MODULES, f"nobody imports {FACE_MODULES - used}"


def test_functions_that_change_every_node_take_trees_of_any_depth() -> None:
    """`transform` calls the function for each child: one that transforms with itself is `deep`."""
    wrong = [
        f"{ident(path)}:{node.lineno}"
        for path in python_modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and not any(ast.unparse(each) == "deep" for each in node.decorator_list)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("transform", "n.transform", "nodes.transform")
        if re.search(rf"\b{node.name}\b", ast.unparse(call.args[-1]))
    ]
    assert not wrong, wrong


def test_scalars_and_tables_without_rows_are_made_in_one_place() -> None:
    """pyarrow imports pandas for each that it makes of a Python value or a schema: see `arrow_values`."""
    wrong = [
        f"{ident(path)}:{node.lineno}"
        for path in python_modules()
        if room_of(path) not in {*SPARK_ROOMS, "cli"} and ident(path) not in MAKES_SCALARS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        if ast.unparse(node.func) == "pa.scalar"
        or (isinstance(node.func, ast.Attribute) and node.func.attr == "empty_table")
        or (ast.unparse(node.func).endswith("fill_null") and isinstance(node.args[-1], ast.Constant))
    ]
    assert not wrong, wrong


def test_only_the_spark_room_and_delta_spark_s_names_import_pyspark() -> None:
    wrong = [
        f"{ident(path)}:{found.line}"
        for path in python_modules()
        if room_of(path) not in SPARK_ROOMS
        for found in imports_of(path)
        if found.module.split(".")[0] in {"pyspark", "py4j"} and not found.for_types_only
    ]
    assert not wrong, wrong


def test_two_modules_load_one_of_an_upper_room_by_its_name() -> None:
    """The engine, and what runs a catalog's SQL: see `engine._ENGINE` and `table_catalog._STATEMENTS`."""
    upper = {
        (ident(path), name)
        for path in python_modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for name in re.findall(r"^deltaskip\.([a-z_]+)(?:\.\w+)+$", node.value)
        if LEVELS[name] > LEVELS[room_of(path)]
    }
    assert upper == {("engine.py", "spark"), ("catalogs/table_catalog.py", "statements")}


def test_nothing_else_names_the_modules_of_the_spark_package() -> None:
    # delta-spark's names are of use with a session only.
    wrong = [
        f"{ident(path)}:{number}"
        for path in [*python_modules(), *kernel_sources()]
        if room_of(path) not in SPARK_ROOMS and ident(path) != "engine.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"deltaskip\.spark\b|deltaskip/spark\b", line)
    ]
    assert not wrong, wrong


def test_json_of_others_is_parsed_in_one_place() -> None:
    modules = [path for path in python_modules() if path.name != "json_text.py"]
    wrong = [ident(path) for path in modules if "json.loads(" in path.read_text(encoding="utf-8")]
    assert not wrong, wrong


_DECIMALS = PACKAGE / "sparkexpr" / "values" / "numerals.py"
_OF_CONTEXT = {"quantize": 3, "scaleb": 2, "normalize": 1, "to_integral_value": 2, "to_integral_exact": 2, "sqrt": 1,
               "fma": 3, "ln": 1, "log10": 1, "logb": 1, "remainder_near": 2, "next_plus": 1, "next_minus": 1,
               "next_toward": 2, "to_eng_string": 1}  # fmt: skip
_DECIMAL_MAKERS = ("Decimal", "exactly", "of_unscaled", "decimal_of")


def test_decimals_are_computed_only_in_contexts_of_the_package() -> None:
    """Operators of Decimal, and methods without a context, obey the context of the program's thread."""

    def made(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _DECIMAL_MAKERS

    def decimals(scope: ast.AST) -> set[str]:
        names = set()
        for node in ast.walk(scope):
            match node:
                case ast.arg(arg=name, annotation=kind) if kind and ast.unparse(kind) in (
                    "Decimal",
                    "Decimal | None",
                    "Decimal | int",
                ):
                    names.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if made(value):
                    names.add(name)
        match scope:
            case ast.match_case(
                pattern=ast.MatchAs(name=str() as name, pattern=ast.MatchClass(cls=ast.Name("Decimal")))
            ):
                names.add(name)
        return names

    def in_scope(scope: ast.AST) -> Iterator[int]:
        known = decimals(scope)

        def is_decimal(node: ast.AST) -> bool:
            return made(node) or (isinstance(node, ast.Name) and node.id in known)

        for node in ast.walk(scope):
            match node:
                case ast.BinOp(left=left, right=right) if is_decimal(left) or is_decimal(right):
                    yield node.lineno
                case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand) if is_decimal(operand):
                    yield node.lineno
                case ast.Call(func=ast.Name(id="abs" | "sum" | "round" | "divmod"), args=[first, *_]) if is_decimal(
                    first
                ):
                    yield node.lineno

    def everywhere(tree: ast.Module) -> Iterator[int]:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names) if any(each.name == "decimal" for each in names):
                    yield node.lineno
                case ast.ImportFrom(module="decimal", names=names) if any("ontext" in each.name for each in names):
                    yield node.lineno
                case ast.Call(func=ast.Name(id="Decimal"), args=[first]) if not isinstance(
                    first, ast.Constant | ast.Tuple
                ):
                    yield node.lineno
                case ast.keyword(value=ast.Name(id="Decimal")):
                    yield node.value.lineno
                case ast.Call(func=ast.Attribute(value=ast.Name(id="unicodedata"))):
                    pass
                case ast.Call(func=ast.Attribute(attr=method), args=args, keywords=named) if method in _OF_CONTEXT:
                    if len(args) < _OF_CONTEXT[method] and not any(each.arg == "context" for each in named):
                        yield node.lineno
                case ast.FunctionDef() | ast.Lambda() | ast.match_case():
                    yield from in_scope(node)

    modules = [path for path in python_modules() if path != _DECIMALS and "ecimal" in path.read_text(encoding="utf-8")]
    found = {f"{ident(path)}:{line}" for path in modules for line in everywhere(tree_of(path))}
    assert found == set(), "compute them in a context of deltaskip.sparkexpr.values.numerals"


def test_locks_and_lasting_threads_are_new_in_a_forked_child() -> None:
    wrong = re.compile(r"^from threading import .*\b(R?Lock)\b|threading\.R?Lock\(|\bR?Lock\(\)"
                       r"|^from functools import .*\bcached_property\b|register_at_fork", re.MULTILINE)  # fmt: skip
    modules = [path for path in python_modules() if path.name != "fork_safety.py"]
    found = {ident(path) for path in modules if wrong.search(path.read_text(encoding="utf-8"))}
    assert found <= {"skipping/partition_terms.py"}, found


# Files of the machine, whose names only Python gives and takes; the command line runs in UTF-8 mode.
_OF_MACHINE = ("catalogs/configuration.py", "cli/", "compiled.py", "demo.py", "path_bytes.py", "sparkexpr/collations/",
               "spark/session/", "warning.py")  # fmt: skip
_TAKES_NAME = re.compile(
    r"os\.(stat|lstat|open|scandir|listdir|walk|unlink|remove|rename|replace|link|symlink|readlink|mkdir|makedirs|rmdir"
    r"|chmod|utime|access|truncate|statvfs|fsencode|fsdecode|getcwd)"
    r"|os\.path\.(exists|lexists|isfile|isdir|islink|realpath|abspath|getsize|getmtime|samefile|expanduser)"
    r"|shutil\.(rmtree|copy\w*|move)|open|(pa\.)?(OSFile|memory_map)"
)


def test_names_of_files_are_bytes_in_every_system_call() -> None:
    """Python would encode a str as the locale says, and not in UTF-8 as the log."""

    def is_bytes(node: ast.expr, scope: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Name(id="encoded")) | ast.Constant(value=bytes()):
                return True
            case ast.IfExp(body=body, orelse=orelse):
                return is_bytes(body, scope) and is_bytes(orelse, scope)
            case ast.BinOp(left=left):
                return is_bytes(left, scope)
            case ast.Name(id=name):
                for each in ast.walk(scope):
                    match each:
                        case ast.Assign(targets=[ast.Name(id=other)], value=value) if other == name:
                            return is_bytes(value, scope)
                        case ast.arg(arg=other, annotation=ast.Name(id="bytes")) if other == name:
                            return True
        return False

    def wrong(tree: ast.Module) -> Iterator[str]:
        for scope in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for node in ast.walk(scope):
                if isinstance(node, ast.Call) and _TAKES_NAME.fullmatch(ast.unparse(node.func)):
                    names = node.args[: 2 if re.search("rename|link$|replace", ast.unparse(node.func)) else 1]
                    if not names or not all(is_bytes(each, scope) for each in names):
                        yield ast.unparse(node)

    modules = [path for path in python_modules() if not ident(path).startswith(_OF_MACHINE)]
    found = {f"{ident(path)}: {text}" for path in modules for text in wrong(tree_of(path))}
    # A temporary file that Python has named.
    found -= {f"storage/{each}" for each in ("hadoop.py: os.unlink(name)", "remote.py: os.unlink(name)",
                                            "hadoop.py: open(handle, 'rb', buffering=0, closefd=False)")}  # fmt: skip
    assert found == set(), "pass deltaskip.path_bytes.encoded(path)"


def test_pickles_are_read_only_of_what_this_package_has_sent_to_spark() -> None:
    # The tasks of a job, the results of a job, and partitions that are signed.
    known = {"planning/tasks", "recompute/job", "recompute/file_tasks", "source/workers", "installed_catalog/scans"}
    reading = re.compile(r"\b(?:cloud)?pickle\.loads?\(|\bUnpickler\b|^from (?:cloud)?pickle import", re.MULTILINE)
    found = {path for path in PACKAGE.rglob("*.py") if reading.search(path.read_text(encoding="utf-8"))}
    assert {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in found} == {
        f"spark/{each}" for each in known
    }


def test_only_the_storage_room_deletes_files_and_all_others_ask_its_gate() -> None:
    ways = {"unlink", "remove", "rmtree", "rmdir", "removedirs", "delete_directory", "delete_empty_directory"}
    ways |= {"delete", "delete_files", "delete_file", "delete_dir"}
    files = re.compile(r"storage|below\(?\)?\.|^(os|shutil|obstore|Path)\b|_files\.")
    gate = {f"storage.{name}" for name in ("delete", "delete_files", "delete_directory", "delete_empty_directory")}
    for path in python_modules():
        if room_of(path) == "storage" and path.name != "gate.py":
            continue
        calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
        deleting = [ast.unparse(call) for call in calls if isinstance(call, ast.Attribute) and call.attr in ways]
        found = {text for text in deleting if files.search(text)}
        assert found == (gate if path.name == "gate.py" else set()), ident(path)


def test_the_package_loads_without_the_spark_room() -> None:
    wrong = [found.module for found in imports_of(PACKAGE / "__init__.pyi") if "spark" in found.module.split(".")]
    assert not wrong, wrong


# delta-spark has these names, which `deltaskip.delta` repeats.
DELTA_SPARK_NAMES = {"DeltaTable", "exceptions", "tables"}


def names_twice(named: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: places for name, places in named.items() if len(places) > 1 and name not in DELTA_SPARK_NAMES}


def test_no_two_modules_have_one_name() -> None:
    """Kernels have the name of the module that calls them, and modules of the command line that of a command."""
    named: dict[str, list[str]] = {}
    for path in python_modules():
        if path.name not in {"__init__.py", "__main__.py"} and room_of(path) not in {"kernels", "cli"}:
            named.setdefault(path.stem, []).append(ident(path))
    assert not names_twice(named)


def test_no_two_public_classes_have_one_name() -> None:
    named: dict[str, list[str]] = {}
    for path in python_modules():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and is_public(node.name):
                named.setdefault(node.name, []).append(ident(path))
    assert not names_twice(named)


def test_dataclasses_are_those_of_records() -> None:
    """Which are made faster: a plan has a hundred of them."""
    own = re.compile(r"^from dataclasses import .*\bdataclass\b|\bdataclasses\.dataclass\b", re.MULTILINE)
    found = [path for path in python_modules() if path.name != "records.py" and own.search(path.read_text("utf-8"))]
    assert found == []


def test_everything_public_says_what_it_gives() -> None:
    missing = []
    described = described_members()
    for path in python_modules():
        tree = tree_of(path)
        if tree.body and ast.get_docstring(tree) is None:
            missing.append(f"{ident(path)}: the module itself")
        missing += [f"{ident(path)}: {name}" for name in undocumented(tree, described)]
    assert not missing, f"no docstring: {missing}"


def test_a_docstring_says_what_is_returned_before_when_it_is_nothing() -> None:
    wrong = [
        f"{ident(path)}:{node.lineno}"
        for path in python_modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and re.match(r"(Or )?(None|Nothing) ", ast.get_docstring(node) or "")
    ]
    assert not wrong, wrong


def test_more_arguments_than_seven_are_given_by_their_names() -> None:
    """Except those of DeltaTable.create, which is public; click gives arguments of commands by their names."""
    found = {
        f"{ident(path)}: {node.name}"
        for path in python_modules()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef)
        and room_of(path) != "cli"
        and len([each for each in (*node.args.posonlyargs, *node.args.args) if each.arg not in ("self", "cls")]) > 7
    }
    assert found == {"table/table.py: create"}


def test_package_files_list_names_only() -> None:
    def names_only(path: Path, node: ast.stmt) -> bool:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                return True
            case ast.Assign(targets=[ast.Name(id="__all__" | "__version__")]):
                return True
            case ast.Assign(value=ast.Call(func=ast.Attribute(ast.Name("lazy_loader"), "attach_stub"))):
                return path.with_suffix(".pyi").exists()
            case ast.FunctionDef(name="__getattr__"):
                # Says what to write for a name that the package lacks.
                return path.parent == PACKAGE
        return False

    packages = [path for path in python_modules() if path.name == "__init__.py"]
    wrong = [
        f"{ident(path)}:{node.lineno}" for path in packages for node in tree_of(path).body if not names_only(path, node)
    ]
    assert not wrong, f"more than names: {wrong}"


def test_tests_import_nothing_of_the_repository_but_the_package_and_tests() -> None:
    """As `.ci/run` tests the wheel beside a copy of the tests alone."""
    own = re.compile(r"^\s*(?:from|import) (?:benchmarks|docs)\b", re.MULTILINE)
    tests = [path for path in tracked_files() if path.suffix == ".py" and path.is_relative_to(ROOT / "tests")]
    assert len(tests) > 100
    assert [ident(path) for path in tests if own.search(path.read_text("utf-8"))] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    folders = "|".join(["work", "opt", "root", r"home/\w+", r"Users/\w+"])
    pattern = re.compile(r"(?<![\w.})*%-])/(?:" + folders + ")/")
    wrong = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        wrong += [f"{ident(path)}:{number}" for number, line in enumerate(text.splitlines(), 1) if pattern.search(line)]
    assert not wrong, wrong


def test_nothing_is_left_unfinished() -> None:
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error"]))
    wrong = [
        f"{ident(path)}:{number}"
        for path in [*python_modules(), *kernel_sources()]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ]
    assert not wrong, wrong


def messages_of(path: Path) -> Iterator[str]:
    """The texts of a module that have more than one word and are no docstrings; values in them are "\0"."""
    pending: list[ast.AST] = [tree_of(path)]
    while pending:
        node = pending.pop()
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Assign(targets=[ast.Name("_WORDS")]):
                continue
            case ast.JoinedStr(values=pieces):
                yield "".join(str(each.value) if isinstance(each, ast.Constant) else "\0" for each in pieces)
            case ast.Constant(value=str(text)) if " " in text:
                yield text
        pending += ast.iter_child_nodes(node)


def test_every_interface_words_advice_that_some_error_gives() -> None:
    given: set[tuple[Any, ...]] = set()
    worded: dict[str, set[tuple[Any, ...]]] = {}
    for path in python_modules():
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.Call(ast.Name("OptionAdvice") | ast.Attribute(attr="OptionAdvice"), args):
                    constants = [each.value for each in args[:2] if isinstance(each, ast.Constant)]
                    given.add((*constants, None)[:2])
                case ast.AnnAssign(ast.Name("_WORDS"), value=ast.Dict() as words):
                    worded[ident(path)] = set(ast.literal_eval(words))
    tables = {"cli/commands.py", "delta/spark_errors.py", "statements/run.py", "spark/source/options.py"}
    assert worded.keys() == tables
    assert set().union(*worded.values()) <= given
