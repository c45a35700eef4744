"""Cases that a process with delta-spark plays one after the other, and how each ended."""

import json
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.reference.oracle import session


def by_id(row: Mapping[str, Any]) -> Any:
    """The key that orders rows by their ids."""
    return row["id"]


def play_cases(answers: Path, names: Iterable[str], play: Callable[[Any, Path, str], None]) -> None:
    """Play each case, and write by its name how it ended: null, or the traceback.

    play: Called with the session, a folder for the case, and its name; raises an error for what is wrong.
    """
    found: dict[str, str | None] = {}
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(Path(scratch))
        for name in names:
            try:
                play(spark, Path(scratch) / name.replace(" ", "_"), name)
                found[name] = None
            except Exception:
                found[name] = traceback.format_exc()[-6000:]
            answers.write_text(json.dumps(found), encoding="utf-8")
        spark.stop()
