"""The commands, their options, and the boundary where errors become one sentence and an exit status.

Every command but `demo`, `checkpoint` and `stats --recompute` only reads. What a command needs beyond click is imported
when it runs, so `--help` is light.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deltaskip.deprecations import warn_renamed
from deltaskip.errors import DeltaSkipError

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable

OK = 0
REFUSED = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

Command = Callable[..., None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; gives the exit status: 0, or 2 after one sentence on standard error.

    `arguments` are those after the program's name (default: the process's own). With `--debug` among them the traceback
    of an error is printed as well. A closed pipe (`| head`) ends quietly with the status that SIGPIPE would have left.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings(), _without_pandas(arguments is None and given[:1] not in (["demo"], ["stats"])):
            warnings.showwarning = _show_warning
            status = program.main(args=given, prog_name="deltaskip", standalone_mode=False)
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click makes a SystemExit of a pipe that closes while a command runs
        _abandon_stdout()
        return PIPE_CLOSED
    except Exception as error:  # the boundary: nothing may pass it but a sentence
        if "--debug" in given:
            traceback.print_exc()
        click.echo(f"deltaskip: {_sentence(error)}", err=True)
        return REFUSED
    return status if isinstance(status, int) else OK


@click.group(
    name="deltaskip",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="deltaskip", message="deltaskip %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Which files of a Delta table can hold rows that match a predicate?

    TABLE is a folder or URI that holds a _delta_log. Only `checkpoint` and `stats --recompute` write to it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _reads_table(command: Command) -> Command:
    """The argument and options of every command that opens a table."""
    return click.argument("table")(_opens_table(command))


def _opens_table(command: Command) -> Command:
    """The options of a command that opens a table."""
    decorators = [
        click.option("--version", type=click.IntRange(min=0), metavar="N", help="The table as of this version."),
        click.option("--timestamp", metavar="T", help="The table as of this time, such as 2026-01-31T12:00:00Z."),
        click.option(
            "-o", "--option", "storage_options", multiple=True, metavar="KEY=VALUE", callback=_pairs,
            help="A storage option; may be repeated.",
        ),
        _json_option,
        _debug_option,
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{value!r} is not of the form KEY=VALUE")
        pairs[key] = text
    return pairs


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
_debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Print the traceback of an error.")


def _takes_predicate(command: Command) -> Command:
    """The options of every command that prunes."""
    where = click.option("--where", metavar="SQL", help="A predicate in Spark SQL: 'id > 5 AND day IS NULL'.")
    zone = click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help="The session's zone.")
    return where(zone(command))


@program.command("files")
@_reads_table
@_takes_predicate
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Enough files for N rows, where provable.")
@click.option("--paths", is_flag=True, help="Print only the paths, one a line, as spark.read.parquet takes them.")
def _files(
    table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool,
    where: str | None, time_zone: str, limit: int | None, paths: bool,
) -> None:
    """List the files that can hold rows that match."""
    if paths and as_json:
        raise click.UsageError("--paths and --json exclude each other")
    opened = _open(table, version, timestamp, storage_options)
    if paths:
        scan = opened.scan(where=where, limit=limit, time_zone=time_zone)
        sys.stdout.writelines(f"{path}\n" for path in scan.paths())
        return
    from deltaskip.cli import listing

    columns = listing.JSON_COLUMNS if as_json else listing.TEXT_COLUMNS
    write = listing.write_json if as_json else listing.write_text
    # Counting reads the whole list of files and planning only some of it, so they run beside each other.
    with listing.counting(opened, always=as_json) as total_files:
        files = opened.scan(where=where, limit=limit, time_zone=time_zone).files(columns=columns)
        write(sys.stdout, opened.version, total_files(), files)


def _picture_file(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{str(path)!r} ends neither in .png nor in .svg")
    return path


@program.command("explain")
@_reads_table
@_takes_predicate
@click.option(
    "--picture", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", callback=_picture_file,
    help="Draw files × parts of the predicate, kept or skipped, into a .png or .svg file.",
)
def _explain(
    table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool,
    where: str | None, time_zone: str, picture: Path | None,
) -> None:
    """Show what each part of the predicate could prove, alone and with the others, and why not more."""
    explained = _open(table, version, timestamp, storage_options).scan(where=where, time_zone=time_zone).explain()
    if picture is not None:
        explained.picture(picture)
    if as_json:
        from deltaskip.cli import display

        display.print_json(explained.to_dict())
    else:
        from deltaskip.cli import explanation

        explanation.print_explanation(explained)


@program.command("inspect")
@_reads_table
@click.option("--stats", is_flag=True, help="Measure coverage and overlap of the statistics, and say what would help.")
def _inspect(
    table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool, stats: bool
) -> None:
    """Show protocol, features, log shape, size, and which columns have statistics."""
    from deltaskip.cli import display, inspection

    found = inspection.inspect(_open(table, version, timestamp, storage_options), stats)
    if as_json:
        display.print_json(found.to_dict())
    else:
        inspection.print_inspection(found)


@program.command("stats")
@_reads_table
@click.option("--recompute", is_flag=True, help="Compute statistics by a local Spark job, and commit them.")
@click.option("--dry-run", is_flag=True, help="With --recompute: only say what would be done.")
@click.option("--where", metavar="SQL", help="Only files that may hold rows matching this.")
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Only this column; may be repeated.")
@click.option(
    "--collation-version", "collations", multiple=True, metavar="V",
    help="Bounds of every collated column in this version, such as 77.1; may be repeated.",
)
@click.option("--mode", type=click.Choice(["auto", "footer", "scan"]), default="auto", show_default=True)
@click.option("--only-missing", is_flag=True, help="Only files that lack some of it.")
@click.option("--no-resume", is_flag=True, help="Also read files that an interrupted run already finished.")
@click.option("--again", is_flag=True, hidden=True, help="The old name of --no-resume.")
def _stats(
    table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool,
    recompute: bool, dry_run: bool, where: str | None, columns: tuple[str, ...], collations: tuple[str, ...],
    mode: str, only_missing: bool, no_resume: bool, again: bool,
) -> None:
    """Show which columns have statistics and how well they prune, or recompute them."""
    from deltaskip.cli import display, inspection, statistics

    if again:
        warn_renamed("--again", "--no-resume")
        no_resume = True
    chosen = {
        "where": where, "columns": columns or None, "collations": collations or None, "mode": mode,
        "only_missing": only_missing, "resume": not no_resume,
    }
    if not recompute:
        if dry_run or only_missing or no_resume or where or columns or collations or mode != "auto":
            raise click.UsageError("these options need --recompute")
        coverage = _open(table, version, timestamp, storage_options).inspect_stats()
        if as_json:
            display.print_json(coverage.to_dict())
        else:
            inspection.print_statistics(coverage)
        return
    if version is not None or timestamp is not None:
        raise click.UsageError("--recompute works on the latest version: leave out --version and --timestamp")
    opened = _open(table, None, None, storage_options)
    if dry_run:
        plan = statistics.plan(opened, chosen)
        display.print_json(plan.to_dict()) if as_json else statistics.print_plan(plan)
        return
    done = statistics.recompute(opened, chosen, bar=not as_json and sys.stderr.isatty())
    display.print_json(done) if as_json else statistics.print_recomputed(done)


@program.command("history")
@_reads_table
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the N newest commits.")
def _history(
    table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool,
    limit: int | None,
) -> None:
    """List the commits, the newest first."""
    from deltaskip.cli import commits, display

    entries = commits.history(_open(table, version, timestamp, storage_options), limit)
    if as_json:
        display.print_json(entries)
    else:
        commits.print_history(entries)


@program.command("collations")
@click.argument("table", required=False)
@_opens_table
def _collations(
    table: str | None, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool
) -> None:
    """Show which collations can be evaluated here, by exact version, and which those of TABLE's columns need."""
    from deltaskip.cli import collations, display

    if table is None and (version is not None or timestamp is not None or storage_options):
        raise click.UsageError("--version, --timestamp and --option need a TABLE")
    found = collations.collations(None if table is None else _open(table, version, timestamp, storage_options))
    if as_json:
        display.print_json(found.to_dict())
    else:
        collations.print_collations(found)


@program.command("checkpoint")
@_reads_table
@click.option("--clean-up", is_flag=True, help="Then delete what of the log no retained version needs.")
def _checkpoint(
    table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str], as_json: bool,
    clean_up: bool,
) -> None:
    """Write a checkpoint of the table's state, so that opening it reads fewer commits."""
    from deltaskip.cli import checkpoints, display

    found = checkpoints.checkpoint(_open(table, version, timestamp, storage_options), clean_up)
    if as_json:
        display.print_json(found)
    else:
        checkpoints.print_checkpoint(found)


@program.command("demo")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Make the table in DIR and keep it.")
@_json_option
@_debug_option
def _demo(keep: Path | None, as_json: bool) -> None:
    """Make a table with local Spark, prune it, read it back, and show the time beside a full read.

    Without Java or PySpark the table is made and read with pyarrow.
    """
    from deltaskip import demo
    from deltaskip.cli import display

    outcome = demo.run(keep, report=(lambda _line: None) if as_json else click.echo)
    if as_json:
        display.print_json(outcome.to_dict())


def _open(table: str, version: int | None, timestamp: str | None, storage_options: dict[str, str]) -> DeltaTable:
    if version is not None and timestamp is not None:
        raise click.UsageError("--version and --timestamp exclude each other")
    from deltaskip.cli.spark import session_for_location
    from deltaskip.table.table import DeltaTable

    session_for_location(table)
    return DeltaTable(table, version=version, timestamp=timestamp, storage_options=storage_options or None)


def _sentence(error: Exception) -> str:
    """One line that says what is wrong; where the error is not one of deltaskip's own, its type as well."""
    match error:
        case click.UsageError(ctx=click.Context() as context):
            return f"{_one_line(error.format_message())} See '{context.command_path} --help'."
        case click.ClickException():
            return _one_line(error.format_message())
        case DeltaSkipError():
            return _one_line(str(error))
        case OSError():
            return _one_line(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
        case _:
            return _one_line(f"internal error, {type(error).__name__}: {error}; --debug shows the traceback")


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _NoPandas:
    """A finder that finds neither pandas nor dateutil."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuses these two, and leaves all else to the other finders."""
        if name in ("pandas", "dateutil"):
            raise ModuleNotFoundError(name, name=name)


@contextmanager
def _without_pandas(wanted: bool) -> Iterator[None]:
    """Where `wanted`, pyarrow does without what it would import, if it is there, with the first value that it converts.

    That takes longer than most commands. Only for a process of our own: pyarrow remembers that it was not there.
    """
    if not wanted or "pandas" in sys.modules:
        yield
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoPandas)


def _show_warning(message: Warning | str, *_where: object, **_more: object) -> None:
    click.echo(f"deltaskip: warning: {_one_line(str(message))}", err=True)


def _abandon_stdout() -> None:
    """Points standard output nowhere, so that the interpreter's last flush does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
