"""A hook of mkdocs: replaces the marker in cli.md by the help texts of the commands, so that the page cannot drift."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

# The source tree, which need be neither installed nor compiled.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from deltaskip.cli.commands import program

MARKER = "<!-- the commands -->"


def on_page_markdown(markdown: str, **_context: Any) -> str:
    """Return the page's text with the reference of the commands in place of the marker."""
    return markdown.replace(MARKER, reference()) if MARKER in markdown else markdown


def reference() -> str:
    """Return one section for each command: its help, its usage and its options."""
    root = click.Context(program, info_name="deltaskip")
    parts = []
    for name in program.list_commands(root):
        context = click.Context(program.commands[name], info_name=name, parent=root)
        parts.append(f"## deltaskip {name}\n\n```text\n{program.commands[name].get_help(context)}\n```\n")
    return "\n".join(parts)
