"""The command line: `deltaskip files | explain | inspect | stats | history | collations | checkpoint | demo`."""

from deltaskip.cli.commands import main

__all__ = ["main"]
