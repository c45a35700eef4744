"""Builds the Cython kernels; everything else about the package is in pyproject.toml.

Wheels are built against CPython's limited API, so that one wheel (`cp311-abi3`) serves Python 3.11 and every newer
version; benchmarks/README.md has what that costs (next to nothing). Builds in place (`pip install -e .`,
`build_ext --inplace`) and builds for free-threaded Python, which has no limited API, serve the interpreter that builds
them.

DELTASKIP_DEBUG=1 turns bounds, overflow and None checks on in every kernel (slow; for tests and bug hunts).
DELTASKIP_SANITIZE=1 builds them with gcc's sanitizers of addresses and undefined behavior (tests/kernels/sanitize.py).

`python setup.py stubs` only writes the stubs for type checkers, as every build does: `name.pyi`, from the signatures in
`name.pyx`. The type of an argument is that of C, or the annotation where C has none or says less.
"""

import ast
import builtins
import os
import re
import sys
import sysconfig
import textwrap
from glob import glob
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("DELTASKIP_DEBUG") == "1"
SANITIZE = os.environ.get("DELTASKIP_SANITIZE") == "1"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
COMPILES = not {"egg_info", "dist_info", "sdist"} & {*sys.argv} or bool({"bdist_wheel", "build_ext"} & {*sys.argv})
LIMITED_API = "bdist_wheel" in sys.argv and not sysconfig.get_config_var("Py_GIL_DISABLED")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": False,
    "cdivision": True,
    "embedsignature": False,
    "binding": False,
    "annotation_typing": False,
    "freethreading_compatible": False,
}

SANITIZERS = ["-fsanitize=address,undefined"] if SANITIZE else []
CHECKED = ["-O1", "-g", "-fno-omit-frame-pointer"] if SANITIZE else ["-O0", "-g"] if DEBUG else []
# The kernels that are faster at -O3 than at -O2 with its vectorized loops, which takes a third less time to compile
# (benchmarks/README.md, "Builds").
FASTER_AT_O3 = {
    *("commit_json", "commit_lines", "icu_ascii", "icu_first_characters", "icu_keys", "icu_order", "lowercase"),
    "digests",
    "stats_json",
    "utf8_check",
}
EXACT = {"agreed_math", "strict_angles", "strict_math", "strict_powers"}


def compile_args(kernel: str) -> list[str]:
    """The arguments for gcc, or clang on macOS, which vectorizes at -O2 and refuses what tells gcc to."""
    # A macro outside the limited API would otherwise compile as a call to a function that does not exist.
    declared = "-Werror=implicit-function-declaration"
    vectorized = [] if sys.platform == "darwin" else ["-ftree-loop-vectorize", "-fvect-cost-model=dynamic"]
    level = ["-O3"] if kernel in FASTER_AT_O3 else ["-O2", *vectorized]
    # These results are defined to the last bit: a product and a sum are rounded one after the other.
    exact = ["-ffp-contract=off"] if kernel in EXACT else []
    return [*(CHECKED or [*level, "-g0"]), *exact, *SANITIZERS, declared]


# Modules of the names in annotations that a kernel neither defines nor imports.
TYPES_FROM = {
    "Any": "typing",
    **(ALIASES := {"npt": "numpy.typing", "pa": "pyarrow"}),
    **dict.fromkeys(("Iterable", "Mapping", "Sequence"), "collections.abc"),
    "Buffer": "typing_extensions",
    "ArrowArrayExportable": "deltaskip.sparkexpr.kernels.lane",
    "Op": "deltaskip.kernels.compare_binary",
}
C_TYPES = {**dict.fromkeys(("int", "int32_t", "int64_t"), "int"), "bint": "bool", "double": "float"}
CLASS = re.compile(r"(?:@.*\n)?(?:cdef )?(class (\w+)(?:\(.*\))?:)\n")
SIGNATURE = re.compile(r"( *(?:@property\n *)?def (\w+)\()(.*?)(\)(?: -> [^\n]+)?:)\n", re.DOTALL)
DOCSTRING = re.compile(r' *r?""".*?"""\n', re.DOTALL)
ARGUMENT = re.compile(r"(?:(\w+) +)?(\w+)( not None)?(?:: (.+?))?( ?= ?.+)?", re.DOTALL)
FIELD = re.compile(r" +cdef readonly (\w+) (\w+)")
ANNOTATED = re.compile(r" *[A-Za-z]\w*: [^=\n]+?(?= =|\n)")


def write_stubs() -> None:
    """Write `name.pyi` beside each kernel that Python calls."""
    for path in Path("deltaskip").rglob("*.pyx"):
        declared = path.with_suffix(".pxd")
        try:
            stub = stub_of(path.read_text("utf-8"), declared.read_text("utf-8") if declared.exists() else "")
        except ValueError as error:
            sys.exit(f"{path}: {error}")
        if stub:
            path.with_suffix(".pyi").write_text(stub, "utf-8")


def stub_of(source: str, declared: str = "") -> str:
    """The stub of a kernel, from its text and that of its declarations; empty if it offers nothing to Python."""
    if not re.search("^(def |class |__all__ |    def [a-z])", source, re.MULTILINE):
        return ""
    fields = {CLASS.match(each)[2]: "".join(members(each)) for each in blocks(declared) if CLASS.match(each)}
    lines = []
    for block in blocks(DOCSTRING.sub("", source, count=1)):
        if block.startswith("if TYPE_CHECKING:\n"):
            lines.append(textwrap.dedent(block.partition("\n")[2]))
        elif (found := CLASS.match(block)) and not found[2].startswith("_"):
            lines += [f"{found[1]}\n", docstring(block, found.end()) or "    ...\n"]
            lines += [fields.get(found[2], ""), *members(block)]
        elif block.startswith("__all__ = "):
            lines.append(block)
        else:
            lines.append(member(block))
    body = "".join(lines)
    return imports_of(body, source) + body


def blocks(text: str, indent: str = "") -> list[str]:
    """The text from each line that begins with a word at this indentation to the next one."""
    return re.split(rf"(?<!@property\n)^(?={indent}[\w@])", text, flags=re.MULTILINE)


def members(block: str) -> list[str]:
    """What a stub has of the parts of a class."""
    return [member(each) for each in blocks(DOCSTRING.sub("", block, count=1), "    ")[1:]]


def member(block: str) -> str:
    """What a stub has of a function, a constant or an attribute; empty for all else."""
    if found := FIELD.match(block):
        return f"    @property\n    def {found[2]}(self) -> {C_TYPES.get(found[1], found[1])}: ...\n"
    if found := SIGNATURE.match(block):
        head, name, arguments, end = found.groups()
        if name == "__getbuffer__":
            return "    def __buffer__(self, flags: int, /) -> memoryview: ...\n"
        if name == "__cinit__" and arguments != "self":
            head = head.replace(name, "__init__")
        elif name.startswith("_") and name not in ("__init__", "__len__"):
            return ""
        typed = ", ".join(argument(each.strip()) for each in separate(arguments.strip().rstrip(",")))
        if name.startswith("__"):
            end = ") -> int:" if name == "__len__" else ") -> None:"
        elif "->" not in end:
            raise ValueError(f"{name} does not say what it returns")
        return f"{head}{typed}{end}" + (f"\n{text}" if (text := docstring(block, found.end())) else " ...\n")
    found = ANNOTATED.match(block)
    return f"{found[0]}\n" if found else ""


def separate(arguments: str) -> list[str]:
    """The text of each argument."""
    parts, depth = [""], 0
    for each in arguments:
        depth += (each in "[(") - (each in "])")
        if each == "," and not depth:
            parts.append("")
        else:
            parts[-1] += each
    return parts


def argument(text: str) -> str:
    """An argument of Cython as one of Python."""
    if text in ("self", "*", "/", ""):
        return text
    c_type, name, required, annotation, default = ARGUMENT.fullmatch(text).groups()
    if annotation is None:
        if c_type in (None, "object"):
            raise ValueError(f"the argument {name} has no type")
        annotation = C_TYPES.get(c_type) or (c_type if required else f"{c_type} | None")
    return f"{name}: {annotation}" + (" = ..." if default else "")


def docstring(block: str, start: int) -> str:
    """The docstring that begins there; else nothing."""
    found = DOCSTRING.match(block, start)
    return found[0] if found else ""


def imports_of(stub: str, source: str) -> str:
    """The imports of a stub: of the names in its annotations."""
    nodes = list(ast.walk(ast.parse(stub)))
    known = {*dir(builtins)} | {each.name for each in nodes if isinstance(each, ast.ClassDef | ast.FunctionDef)}
    known |= {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    known |= {each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    lines = []
    for name in sorted({each.id for each in nodes if isinstance(each, ast.Name)} - known):
        imported = re.search(rf"^from (\S+) c?import (?:\([^)]*|.*)\b{name}\b", source, re.MULTILINE)
        module = imported[1] if imported else TYPES_FROM.get(name)
        if module is None:
            raise ValueError(f"nothing says where the type {name} comes from")
        lines.append(f"import {module} as {name}" if name in ALIASES else f"from {module} import {name}")
    return "".join(f"{line}\n" for line in lines)


extensions = [
    Extension(
        path[: -len(".pyx")].replace(os.sep, "."),
        [path],
        extra_compile_args=compile_args(os.path.basename(path)[: -len(".pyx")]),
        extra_link_args=SANITIZERS,
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED_API else [],
        py_limited_api=LIMITED_API,
    )
    for path in sorted(glob(os.path.join("deltaskip", "**", "*.pyx"), recursive=True))
]

options = {"build_ext": {"parallel": CORES}}
if LIMITED_API:
    options["bdist_wheel"] = {"py_limited_api": "cp311"}

# Processes that Cython starts may import this module again.
if __name__ == "__main__":
    write_stubs()
    if sys.argv[1:] == ["stubs"]:
        sys.exit()
    # Source distributions and metadata need no C.
    if COMPILES:
        extensions = cythonize(extensions, compiler_directives=DIRECTIVES, include_path=["."], nthreads=CORES)
    setup(ext_modules=extensions, options=options)
