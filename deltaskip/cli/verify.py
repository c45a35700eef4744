"""`deltaskip verify`: a table is checked against the rules of the protocol, and what can be mended is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted
from deltaskip.cli.open_table import given_catalog

if TYPE_CHECKING:
    from deltaskip.maintenance.verify.findings import Verification

_COULD_NOT_LOOK = 2


@command_line.program.command("verify", short_help="Check a table against the rules of the protocol.")
@command_line.written_table
@click.option("--data", is_flag=True, help="Read the data files, too: sizes, footers, statistics, rules of rows.")
@click.option("--since", type=click.IntRange(min=0), metavar="V", help="Check commits and checkpoints from V on.")
@click.option("--repair", is_flag=True, help="List what can be mended, and mend it after a confirmation.")
@click.option("--yes", is_flag=True, help="With --repair: do not ask for a confirmation.")
@click.option("--dry-run", is_flag=True, help="With --repair: only list what would be mended.")
@click.option(
    "--min-skipped", type=click.FloatRange(0, 100), metavar="PERCENT", help="An error if a predicate skips less."
)
@click.option("--where", multiple=True, metavar="SQL", help="A predicate for --min-skipped. Can be repeated.")
@click.option("--journal", metavar="FILE", help="Predicates for --min-skipped: the file in which scans note them.")
@command_line.columns_option("--assert-stats", help="An error if a file lacks statistics of this column.")
def _verify(
    source: command_line.CommandTable,
    data: bool,
    since: int | None,
    repair: bool,
    yes: bool,
    dry_run: bool,
    min_skipped: float | None,
    where: tuple[str, ...],
    journal: str | None,
    assert_stats: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check a table against the rules of the protocol, also one that cannot be opened.

    The exit status is 0 without errors, 1 with errors, and 2 if something could not be checked. The log is always
    checked; --data also reads the data files.

    --repair renames files of the log that contradict the commits and writes them again, removes files that do not
    exist from the log, and replaces wrong statistics. Data is never deleted.
    """
    from deltaskip.errors import StorageError, TableNotFound, UnsupportedFeature
    from deltaskip.settings import options as settings

    for name, given in (("--yes", yes), ("--dry-run", dry_run)):
        if given and not repair:
            raise click.UsageError(f"{name} needs --repair.")
    try:
        storage, root = _located(source)

        gates: dict[str, Any] = {"min_skipped": min_skipped, "where": where or None, "assert_stats": assert_stats}

        def verified(**options: bool) -> Verification:
            from deltaskip.table.verification import verified as verify_table

            with settings.changed(journal=journal or settings.journal):
                return verify_table(storage, root, data, since, **{**gates, **options})

        agreed = yes and not dry_run
        found = verified(repair=repair, dry_run=not agreed)
        wanted = [step for step in found.repairs if not step.refused]
        if wanted and not (agreed or dry_run):
            if not as_json:
                command_line.show_lines(found, as_json)
            if not sys.stdin.isatty():
                raise click.UsageError("Nothing was changed: --repair needs --yes where nobody can be asked.")
            if click.confirm(f"Carry out {counted(len(wanted), 'step')}?", err=True):
                found = verified(repair=True)
    except (TableNotFound, StorageError, UnsupportedFeature) as error:
        click.echo(f"deltaskip: error: {command_line.one_line(str(error))}", err=True)
        click.get_current_context().exit(_COULD_NOT_LOOK)
    command_line.show_lines(found, as_json)
    click.get_current_context().exit(found.exit_code)


def _located(source: command_line.CommandTable) -> tuple[Any, str]:
    """The storage and the root of a table, which need not open unless its catalog must be asked."""
    if given_catalog() is not None:
        opened = source.open()
        return opened.snapshot.storage, opened.snapshot.root
    from deltaskip.storage import open_storage

    return open_storage(str(source.table), source.storage_options)
