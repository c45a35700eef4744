"""The kernels' tests on kernels built with AddressSanitizer and UndefinedBehaviorSanitizer.

    python -m tests.kernels.sanitize [--keep FOLDER] [PYTEST ARGUMENTS ...]

Copies the sources to a scratch folder, builds the extension modules there, and runs the tests of this folder with more
examples (`DELTASKIP_EXAMPLES`, 2,000 unless set). Memory comes from malloc, so that each array and each bytes object
ends where its last byte does. Exit status 0 if no test fails and no sanitizer reports anything; reports are printed,
each place once. Needs gcc with libasan and libubsan. --keep builds in FOLDER, and only what has changed since.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = re.compile(r"^(?:\S+:\d+:\d+: )?runtime error: .*|^ERROR: AddressSanitizer: .*|^SUMMARY: .*", re.MULTILINE)
COPIED = ("deltaskip", "tests", "setup.py", "pyproject.toml", "README.md", "LICENSE")


def main(arguments: Sequence[str]) -> int:
    """Build, run the tests, and print what the sanitizers report."""
    if arguments[:1] == ["--keep"]:
        return _checked(Path(arguments[1]), arguments[2:])
    with tempfile.TemporaryDirectory(prefix="deltaskip-sanitize-") as scratch:
        return _checked(Path(scratch), arguments)


def _checked(scratch: Path, arguments: Sequence[str]) -> int:
    source, reports = scratch / "source", scratch / "reports"
    _copy(source)
    _build(source)
    chosen = list(arguments) or ["tests/kernels"]
    # The sanitizers write to the standard error of the process, which pytest would capture.
    command = [
        "pytest",
        "-q",
        "--capture=sys",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:faulthandler",
        "-o",
        "addopts=",
        *chosen,
    ]
    with reports.open("wb") as errors:
        run = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=source,
            env={**os.environ, **_settings(source)},
            stderr=errors,
            check=False,
        )
    text = reports.read_text(encoding="utf-8", errors="replace")
    found = sorted(set(PLACE.findall(text)))
    for place in found:
        print(place)
    if found:
        print(f"The sanitizers report {len(found)} places; the first reports:\n{text[:6000]}")
    return run.returncode or int(bool(found))


def _copy(source: Path) -> None:
    """The sources, with the times of the files, so that what is unchanged is not built again."""
    built = shutil.ignore_patterns("*.so", "__pycache__")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=built, dirs_exist_ok=True)
        else:
            source.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)


def _build(source: Path) -> None:
    environment = {**os.environ, "DELTASKIP_SANITIZE": "1", "PYTHONPATH": str(source)}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    built = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    if built.returncode:
        raise SystemExit(f"The build with sanitizers failed:\n{built.stderr[-4000:]}")


def _settings(source: Path) -> dict[str, str]:
    # The runtime of the sanitizer comes first in the process, and that of C++, whose exceptions it intercepts, next.
    libraries = [_library(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    return {
        "LD_PRELOAD": " ".join(libraries),
        # Python frees nothing at its end, and pyarrow keeps its pools.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "PYTHONPATH": str(source),
        "DELTASKIP_TESTS": "all",
        "DELTASKIP_EXAMPLES": os.environ.get("DELTASKIP_EXAMPLES", "2000"),
    }


def _library(name: str) -> str:
    compiler = os.environ.get("CC", "gcc")
    path = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout
    if not os.path.isabs(path.strip()):
        raise SystemExit(f"{compiler} has no {name}: install the sanitizers of the compiler.")
    return path.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
