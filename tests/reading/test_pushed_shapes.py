"""Filters of DuckDB and Polars prune files, in every form that the installed and the newest releases send."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.not_compared import NEWEST_PYTHON

# Forms that DuckDB passes no filter for, by its major version: the scan reads every file, and DuckDB filters the rows.
UNPUSHED = {
    "1": {
        "id IN [5, 65]", "id IN (5, 65, NULL)", "id NOT BETWEEN 10 AND 190", "id IS NULL", "id IS NOT DISTINCT FROM 5",
        "id = 5 OR s = 's165'", "id IN (5, 65) OR s = 's165'", "i > 185.5", "starts_with(s, 's00')", "s NOT LIKE 's1%'",
        "s = 's005' OR s IS NULL", "year(d) > 2020", "d > TIMESTAMP '2020-07-10 10:00:00'",
        "CAST(ts AS DATE) = DATE '2020-01-01'", "x = 5.25", "x > 185", "x IN (5.25, 65.25)", "st.a IN (5, 65)",
        "st.a IS NULL", "p NOT IN ('p0')", "CASE WHEN id = 5 THEN true ELSE false END", "coalesce(id, 0) = 5",
    },
    "2": {
        "id IN (5, 65, NULL)", "id IS NOT DISTINCT FROM 5", "i > 185.5", "i::BIGINT IN (5, 65)", "id = (SELECT 5)",
        "id IN (SELECT unnest([5, 65]))", "s LIKE 's00%'", "starts_with(s, 's00')", "s NOT LIKE 's1%'",
        "year(d) > 2020", "CAST(ts AS DATE) = DATE '2020-01-01'", "g > 185",
        "CASE WHEN id = 5 THEN true ELSE false END", "coalesce(id, 0) = 5",
    },
}  # fmt: skip
# Forms that Polars passes, and that have no predicate here.
UNTRANSLATED = {'c("id") + 1 == 6', 'c("s").str.contains("^s00")'}


@pytest.mark.parametrize("release", ["installed", "newest"])
def test_files_that_are_read_are_those_that_the_filter_needs(release: str) -> None:
    python = sys.executable if release == "installed" else os.environ.get(NEWEST_PYTHON)
    if python is None:
        pytest.skip(f"{NEWEST_PYTHON} names no Python with the newest DuckDB and Polars")
    for package in ("duckdb", "polars"):
        pytest.importorskip(package)
    from tests.reading.pushed_shapes import DUCKDB, FILES, POLARS

    root = Path(__file__).parents[2]
    done = subprocess.run(
        [python, "-m", "tests.reading.pushed_shapes"],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    needed = {"duckdb": DUCKDB, "polars": POLARS}
    whole = {"duckdb": UNPUSHED[found["duckdb"].partition(".")[0]], "polars": UNTRANSLATED}
    for engine, forms in found["forms"].items():
        wrong = [form for form, (_, same) in forms.items() if not same]
        assert not wrong, (engine, wrong)
        read = {form: files for form, (files, _) in forms.items() if files is not None}
        wanted = {form: FILES if form in whole[engine] else needed[engine][form] for form in read}
        assert read == wanted, (engine, found[engine])
