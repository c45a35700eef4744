"""The command line: `deltaskip files | explain | inspect | stats | history | create | append | alter | …`."""

from deltaskip.cli.commands import main

__all__ = ["main"]
