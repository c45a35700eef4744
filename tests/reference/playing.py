"""Cases that a process with delta-spark plays one after the other, and how each ended.

    python -m tests.reference.playing MODULE ANSWERS.json [CASE ...]

MODULE is one of this folder with names of cases in CASES, and a function `play` of the session, a new folder and its
name, which raises an error for what is wrong. ANSWERS.json has by case what `play` returns, or the traceback as text.
"""

import importlib
import json
import re
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from tests.reference.oracle import session


def main(module: str, answers: str, *names: str) -> None:
    """Play these cases of a module, or all."""
    played = importlib.import_module(f"tests.reference.{module}")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="deltaskip-") as scratch:
        spark = session(Path(scratch))
        for number, name in enumerate(names or played.CASES):
            folder = Path(scratch) / str(number) / re.sub(r"\W+", "_", name)[:100]
            folder.mkdir(parents=True)
            try:
                found[name] = played.play(spark, folder, name)
            except Exception:
                found[name] = traceback.format_exc()[-6000:]
            Path(answers).write_text(json.dumps(found), encoding="utf-8")
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
