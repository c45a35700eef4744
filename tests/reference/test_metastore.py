"""One Hive metastore, used by sessions with and without delta-spark through the catalog of the session."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.reference.conftest import require_delta_spark, run_module
from tests.reference.metastore import STEPS

pytestmark = pytest.mark.reference


@pytest.mark.long
def test_sessions_with_and_without_delta_use_each_other_s_tables(tmp_path: Path) -> None:
    require_delta_spark()
    seen: dict[str, Any] = {}
    for step in STEPS:
        # Sessions with other settings, which end before the next one starts.
        printed = run_module("tests.reference.metastore", tmp_path, step, alone=True)
        seen[step] = json.loads(printed.splitlines()[-1])
    assert seen["delta-creates"] == {"names": ["external", "managed"]}
    assert seen["plain-uses"] == {
        "names": ["external", "managed"], "external": [7], "managed": [0, 1, 2],
        "after": ["kept", "moved", "ours", "selected"],
    }  # fmt: skip
    assert seen["delta-uses"] == {
        "kept": [0, 1, 2, 100], "moved": [7, 100], "ours": [1], "selected": [4, 5], "changed": [[1, 2], [14, 15]],
        "renamed": True, "beside": [6], "provider": "delta", "files left": ["moved"], "after": ["beside"],
    }  # fmt: skip
