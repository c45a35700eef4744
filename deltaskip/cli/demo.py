"""`deltaskip demo`: a sample table is created, pruned and read."""

from __future__ import annotations

from pathlib import Path

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show


@program.command("demo")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Create the table in DIR and keep it.")
@json_option
@debug_option
def _demo(keep: Path | None, as_json: bool) -> None:
    """Create, prune and read a sample table.

    Uses a local Spark session; without Java or PySpark, pyarrow writes and reads the table. Compares the times of the
    pruned read and a full read.
    """
    from deltaskip import demo

    outcome = demo.run(keep, report=(lambda _line: None) if as_json else click.echo)
    show(outcome, as_json, lambda _outcome: None)
