"""Builds the Cython kernels; everything else about the package is in pyproject.toml.

DELTASKIP_DEBUG=1 turns bounds, overflow and None checks on in every kernel (slow; for tests and bug hunts).
"""

import os
from glob import glob

from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("DELTASKIP_DEBUG") == "1"

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

COMPILE_ARGS = ["-O0", "-g"] if DEBUG else ["-O3", "-g0"]

extensions = [
    Extension(
        path[: -len(".pyx")].replace(os.sep, "."),
        [path],
        extra_compile_args=COMPILE_ARGS,
    )
    for path in sorted(glob(os.path.join("deltaskip", "kernels", "*.pyx")))
]

setup(
    ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, include_path=["."]),
    options={"build_ext": {"parallel": min(4, os.cpu_count() or 1)}},
)
