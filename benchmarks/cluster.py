"""Every way to a table through a cluster of two executors on this machine, with and without deltaskip on them.

    python -m benchmarks.cluster [--only NAME ...]

Seconds of the second time in a session, on tables of 2,000 rows: what a job on a cluster costs beside its rows. The
ways are those of `tests.spark.cluster`; where Python on executors needs deltaskip, the second column says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from typing import Any


def told(only: list[str], *arguments: str) -> dict[str, dict[str, Any]]:
    """What a session of its own tells about each way."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.spark.cluster", folder, "--twice", *arguments, "--only", *only]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}


def main() -> None:
    """Print the table."""
    # Imported here, since asv imports this module where the tests are not installed.
    from tests.spark.cluster import WAYS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(WAYS))
    only = parser.parse_args().only
    sides = told(only), told(only, "--without")
    print("| | with deltaskip | without |\n|---|---|---|")
    for name in only:
        cells = [f"{side[name]['seconds']:.2f} s" if "answer" in side[name] else side[name]["error"] for side in sides]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
