"""The command line: `deltaskip files | explain | inspect | history | demo`."""

from deltaskip.cli.commands import main

__all__ = ["main"]
