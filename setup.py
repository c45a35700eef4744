"""Builds the Cython kernels; everything else about the package is in pyproject.toml.

Wheels are built against CPython's limited API, so that one wheel (`cp311-abi3`) serves Python 3.11 and every newer
version; benchmarks/README.md has what that costs (next to nothing). Builds in place (`pip install -e .`,
`build_ext --inplace`) and builds for free-threaded Python, which has no limited API, serve the interpreter that builds
them.

DELTASKIP_DEBUG=1 turns bounds, overflow and None checks on in every kernel (slow; for tests and bug hunts).
DELTASKIP_SANITIZE=1 builds them with gcc's sanitizers of addresses and undefined behavior (tests/kernels/sanitize.py).
"""

import os
import sys
import sysconfig
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("DELTASKIP_DEBUG") == "1"
SANITIZE = os.environ.get("DELTASKIP_SANITIZE") == "1"
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
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
    setup(
        ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, include_path=["."], nthreads=CORES),
        options=options,
    )
