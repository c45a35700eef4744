"""`deltaskip generate`: manifests for engines that read Parquet files by a list of their paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, written_table
from deltaskip.cli.display import counted, print_line
from deltaskip.cli.open_table import open_table


@program.command("generate", short_help="Write manifests for engines that read Parquet files.")
@written_table
@click.argument("mode", type=click.Choice(["symlink_format_manifest"]), default="symlink_format_manifest")
@json_option
@debug_option
def _generate(table: str, storage_options: dict[str, str], mode: Any, as_json: bool) -> None:
    """Write manifests for engines that read Parquet files by a list of their paths."""
    made = open_table(table, storage_options).generate(mode)
    done = {"version": made.version, "written": list(made.written), "deleted": list(made.deleted)}
    show(done, as_json, _print_generated)


def _print_generated(done: Mapping[str, Any]) -> None:
    deleted = f", deleted {counted(len(done['deleted']), 'manifest')}" if done["deleted"] else ""
    print_line(f"version {done['version']}: wrote {counted(len(done['written']), 'manifest')}{deleted}")
