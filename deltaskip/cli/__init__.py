"""The command line: `deltaskip files | explain | inspect | history | collations | demo`."""

from deltaskip.cli.commands import main

__all__ = ["main"]
