"""Where the reference tables lie: built once in DELTASKIP_BENCH_DIR, or in a folder of the machine's temporary one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def tables_dir() -> Path:
    """The folder of all reference tables; about 300 MB a million files and variant."""
    return Path(os.environ.get("DELTASKIP_BENCH_DIR") or Path(tempfile.gettempdir(), "deltaskip-benchmarks"))


def reference_table(variant: str, files: int) -> Path:
    """The table's path; it is built if it is not there."""
    from benchmarks.reference_table import build

    return build(tables_dir() / f"{variant}-{files}", files, variant)
