"""deltaskip generate: which manifests it writes."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_generate_writes_manifests(run: Run, emptied: Path) -> None:
    ran = run("generate", emptied)
    assert ran.status == 0 and ran.out == "version 2: wrote 1 manifest\n"
    assert json.loads(run("generate", emptied, "--json").out)["written"] == ["_symlink_format_manifest/manifest"]
    assert run("generate", emptied, "other").status == 2
