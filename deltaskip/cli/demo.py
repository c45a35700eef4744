"""`deltaskip demo`: a sample table is created, pruned and read."""

from __future__ import annotations

from pathlib import Path

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show


@program.command("demo")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The folder of the table, which is kept. The default is the folder customers, if it does not exist and --json "
    "is not given; otherwise the table is deleted.",
)
@json_option
@debug_option
def _demo(keep: Path | None, as_json: bool) -> None:
    """Create, prune and read a sample table.

    Uses a local Spark session; without Java or PySpark, pyarrow writes and reads the table. Compares the times of the
    pruned read and a full read, and prints commands to try next.
    """
    from deltaskip import demo

    if keep is None and not as_json and not demo.DEFAULT_FOLDER.exists():
        keep = demo.DEFAULT_FOLDER
    outcome = demo.run(keep, report=(lambda _line: None) if as_json else click.echo)
    show(outcome, as_json, lambda _outcome: None)
