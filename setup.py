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
LIMITED_API = "bdist_wheel" in sys.argv and not sysconfig.get_config_var("Py_GIL_DISABLED")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": False,
    "cdivision": True,
    "embedsignature": False,
    "binding": True,
    "freethreading_compatible": False,
}

# A macro outside the limited API would otherwise compile as a call to a function that does not exist.
SANITIZERS = ["-fsanitize=address,undefined"] if SANITIZE else []
OPTIMIZATION = ["-O1", "-g", "-fno-omit-frame-pointer"] if SANITIZE else ["-O0", "-g"] if DEBUG else ["-O3", "-g0"]
COMPILE_ARGS = [*OPTIMIZATION, *SANITIZERS, "-Werror=implicit-function-declaration"]

extensions = [
    Extension(
        path[: -len(".pyx")].replace(os.sep, "."),
        [path],
        extra_compile_args=COMPILE_ARGS,
        extra_link_args=SANITIZERS,
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED_API else [],
        py_limited_api=LIMITED_API,
    )
    for path in sorted(glob(os.path.join("deltaskip", "kernels", "*.pyx")))
]

options = {"build_ext": {"parallel": min(4, os.cpu_count() or 1)}}
if LIMITED_API:
    options["bdist_wheel"] = {"py_limited_api": "cp311"}

setup(
    ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, include_path=["."]),
    options=options,
)
