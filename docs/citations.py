"""A Griffe extension: citations of specifications in docstrings ("# PROTOCOL, …") are paragraphs and not headings."""

from __future__ import annotations

import re
from typing import Any

import griffe

_CITATION = re.compile(r"^# (?=[A-Z])", re.MULTILINE)


class Citations(griffe.Extension):
    """Rewrites the docstrings of all objects before they are rendered."""

    def on_object(self, *, obj: griffe.Object, **_context: Any) -> None:
        """Replace the number sign, which Markdown reads as a heading, by a word."""
        if obj.docstring is not None:
            obj.docstring.value = _CITATION.sub("Specification: ", obj.docstring.value)
