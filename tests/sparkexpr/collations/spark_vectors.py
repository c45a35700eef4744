"""What Spark and Delta Kernel answered: the rows of the files in shared/collation."""

import json
from typing import Any

import pytest

from tests import corpus


def vectors(file: str) -> list[dict[str, Any]]:
    """The rows of a file; the running test is skipped where the corpus is absent."""
    if not corpus.present():
        pytest.skip(corpus.ABSENT)
    # Not splitlines: the strings in the rows hold U+0085 and U+2028.
    text = (corpus.SHARED / "collation" / file).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def vector_params(file: str, name: str) -> list[Any]:
    """The rows as parameters with the text of column `name` as id; one skipped one where the corpus is absent."""
    if not corpus.present():
        return corpus.absent()
    return [pytest.param(row, id=row[name] or "empty") for row in vectors(file)]
