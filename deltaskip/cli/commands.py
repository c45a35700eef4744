"""Commands and options of the command line; errors become one sentence on standard error and an exit status.

Commands other than `demo`, `checkpoint` and `stats --recompute` only read. Modules other than click are imported when a
command runs, so that `--help` is fast.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable

OK = 0
FAILED = 1
REFUSED = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

Command = Callable[..., None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    With `--debug`, errors also print their traceback. A closed pipe (`| head`) ends the command without a message.

    Args:
        arguments: Arguments without the program name. The default is those of the process.

    Returns:
        The exit status: 0 for success, 1 after an error, 2 for wrong arguments, 130 after an interrupt, 141 if standard
        output was closed.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings(), _without_pandas(arguments is None and given[:1] not in (["demo"], ["stats"])):
            warnings.showwarning = _show_warning
            status = program.main(args=given, prog_name="deltaskip", standalone_mode=False)
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click raises SystemExit if the pipe is closed while a command runs
        _abandon_stdout()
        return PIPE_CLOSED
    except Exception as error:  # every error becomes a sentence here
        if "--debug" in given:
            traceback.print_exc()
        _print_error(_sentence(error))
        return REFUSED if isinstance(error, (click.UsageError, InvalidArgument, InvalidArgumentType)) else FAILED
    return status if isinstance(status, int) else OK


@click.group(
    name="deltaskip",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="deltaskip", message="deltaskip %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Find the files of a Delta table that can contain rows matching a predicate.

    TABLE is a path or URI of a folder with a _delta_log. Only `checkpoint` and `stats --recompute` write to it.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@dataclass(frozen=True, slots=True)
class _Source:
    """The table and version that the arguments of a command name."""

    table: str | None
    version: int | None
    timestamp: str | None
    storage_options: dict[str, str]
    float_bounds: Any = None

    def open(self) -> DeltaTable:
        """Open the table."""
        if self.version is not None and self.timestamp is not None:
            raise click.UsageError("Specify either --version or --timestamp, not both.")
        from deltaskip.cli.spark import session_for_location
        from deltaskip.table.table import DeltaTable

        if self.table is None:
            raise click.UsageError("Missing argument 'TABLE'.")
        session_for_location(self.table)
        return DeltaTable(
            self.table, self.version, self.timestamp, self.storage_options or None, float_bounds=self.float_bounds
        )

    @property
    def is_latest(self) -> bool:
        """Whether neither a version nor a timestamp was given."""
        return self.version is None and self.timestamp is None


def _opens_table(command: Command) -> Command:
    """Add the argument and options of a command that opens a table, which gets them as one `source`."""
    return click.argument("table")(_with_source(command))


def _may_open_table(command: Command) -> Command:
    """Add the same with an optional TABLE."""
    return click.argument("table", required=False)(_with_source(command))


def _with_source(command: Command) -> Command:
    @wraps(command)
    def run(
        table: str | None,
        version: int | None,
        timestamp: str | None,
        storage_options: dict[str, str],
        float_bounds: str | None = None,
        **more: Any,
    ) -> None:
        command(_Source(table, version, timestamp, storage_options, float_bounds), **more)

    decorators = [
        click.option("--version", type=click.IntRange(min=0), metavar="N", help="Version to read. [default: latest]"),
        click.option(
            "--timestamp", metavar="TIME", help="Read the latest version at this time, such as 2026-01-31T12:00:00Z."
        ),
        click.option(
            "-o", "--option", "storage_options", multiple=True, metavar="KEY=VALUE", callback=_pairs,
            help="Storage option, such as aws_region=eu-west-1. Can be repeated.",
        ),
        _json_option,
        _debug_option,
    ]
    decorated: Command = run
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated


_float_bounds_option = click.option(
    "--float-bounds", type=click.Choice(["auto", "exact"]),
    help="exact: every writer of the table includes NaN in min and max. [default: property deltaskip.floatBounds]",
)


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{value!r} is not of the form KEY=VALUE")
        pairs[key] = text
    return pairs


def _deprecated(new: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return the callback of a renamed option: warn if the option is used."""

    def warn(_context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value:
            old = parameter.opts[0]
            _show_warning(f"{old} is deprecated and will be removed in the next release; use {new} instead.")
        return value

    return warn


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Print the traceback of errors.")


_where_option = click.option(
    "--where", multiple=True, metavar="SQL",
    help="Predicate in Spark SQL, such as 'id > 5 AND day IS NULL'. Can be repeated: all of them must hold.",
)
_param_option = click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE",
    help="Value of :NAME in the predicate: a number, true, false, null, or text. Repeat a name for the list of IN.",
)


def _takes_predicate(command: Command) -> Command:
    """Add the options of a command that prunes, which gets them as `chosen`, the arguments of `DeltaTable.scan`."""

    @wraps(command)
    def run(
        source: _Source,
        where: tuple[str, ...],
        params: tuple[str, ...],
        collation_version: str | None,
        **more: Any,
    ) -> None:
        from deltaskip.cli.predicates import predicate

        chosen: dict[str, Any] = {"where": predicate(where, params)}
        chosen |= {name: more.pop(name) for name in ("time_zone", "strict", "ansi")}
        if collation_version is not None:
            chosen["collation_version"] = collation_version
        command(source, chosen=chosen, **more)

    decorators = [
        _where_option,
        _param_option,
        click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help="Session time zone."),
        click.option(
            "--collation-version", metavar="V",
            help="Version of the collations that Spark compares strings with, such as 77.1.",
        ),
        click.option("--strict", is_flag=True, help="Fail if no part of the predicate can skip a file."),
        click.option(
            "--ansi/--no-ansi", default=None, help="Whether Spark runs in ANSI mode, which is its default since 4.0."
        ),
    ]
    decorated: Command = run
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated


def _show(found: Any, as_json: bool, print_text: Callable[[Any], None]) -> None:
    """Print a result as JSON, through its `to_dict` if it has one, or as text."""
    if as_json:
        from deltaskip.cli import display

        display.print_json(found.to_dict() if hasattr(found, "to_dict") else found)
    else:
        print_text(found)


@program.command("files")
@_opens_table
@_takes_predicate
@_float_bounds_option
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="List only as many files as N rows need.")
@click.option("--paths", is_flag=True, help="Print only paths, one per line, as spark.read.parquet accepts them.")
def _files(
    source: _Source, as_json: bool, chosen: dict[str, Any], limit: int | None, paths: bool
) -> None:
    """List the files that can contain matching rows."""
    if paths and as_json:
        raise click.UsageError("Specify either --paths or --json, not both.")
    opened = source.open()
    if paths:
        scan = opened.scan(**chosen, limit=limit)
        sys.stdout.writelines(f"{path}\n" for path in scan.paths())
        return
    from deltaskip.cli import listing

    columns = listing.JSON_COLUMNS if as_json else listing.TEXT_COLUMNS
    write = listing.write_json if as_json else listing.write_text
    # Counting reads the complete list of files, planning only a part of it; they run in parallel.
    with listing.counting(opened, always=as_json) as total_files:
        files = opened.scan(**chosen, limit=limit).files(columns=columns)
        write(sys.stdout, opened.version, total_files(), files)


def _plot_file(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{str(path)!r} does not end in .png or .svg")
    return path


def _picture_file(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    return _plot_file(context, parameter, _deprecated("--plot")(context, parameter, path))


@program.command("explain")
@_opens_table
@_takes_predicate
@_float_bounds_option
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", callback=_plot_file,
    help="Draw which files each part of the predicate skips, to a .png or .svg file.",
)
@click.option("--picture", type=click.Path(dir_okay=False, path_type=Path), callback=_picture_file, hidden=True)
def _explain(
    source: _Source, as_json: bool, chosen: dict[str, Any], plot: Path | None, picture: Path | None
) -> None:
    """Show which files each part of a predicate skips.

    For parts that skip no files, or fewer than they could, also show the reason.
    """
    explained = source.open().scan(**chosen).explain()
    for path in filter(None, (plot, picture)):
        explained.save_plot(path)
    from deltaskip.cli import explanation

    _show(explained, as_json, explanation.print_explanation)


@program.command("inspect")
@_opens_table
@click.option("--stats", is_flag=True, hidden=True, callback=_deprecated("deltaskip stats TABLE"))
def _inspect(source: _Source, as_json: bool, stats: bool) -> None:
    """Show protocol, size, log and properties of a table.

    Also shows which columns have statistics.
    """
    from deltaskip.cli import inspection

    _show(inspection.inspect(source.open(), stats), as_json, inspection.print_inspection)


@program.command("stats")
@_opens_table
@_float_bounds_option
@click.option("--recompute", is_flag=True, help="Compute statistics with a local Spark job and commit them.")
@click.option("--dry-run", is_flag=True, help="With --recompute: show what would be computed, and change nothing.")
@click.option(
    "--where", multiple=True, metavar="SQL",
    help="Recompute only files that can contain rows matching this predicate. Can be repeated: all of them must hold.",
)
@_param_option
@click.option("--column", "columns", multiple=True, metavar="NAME", help="Recompute this column. Can be repeated.")
@click.option(
    "--collation-version", "collation_versions", multiple=True, metavar="V",
    help="Compute bounds of collated columns in this version, such as 77.1. Can be repeated.",
)
@click.option(
    "--mode", type=click.Choice(["auto", "footer", "scan"]), default="auto", show_default=True,
    help="footer: read Parquet footers; scan: read all values; auto: read values where footers do not suffice.",
)
@click.option("--only-missing", is_flag=True, help="Recompute only files that lack statistics.")
@click.option(
    "--resume/--no-resume", default=True, show_default=True,
    help="Skip files that an interrupted run already finished.",
)
@click.option("--again", is_flag=True, hidden=True, callback=_deprecated("--no-resume"))
def _stats(
    source: _Source, as_json: bool, recompute: bool, dry_run: bool, resume: bool, again: bool, **chosen: Any
) -> None:
    """Report or recompute column statistics.

    The report shows how many files have statistics and how well columns prune. All options except those that choose
    the table and the output need --recompute.
    """
    from deltaskip.cli import coverage, statistics

    if not recompute:
        _check_report_only()
        _show(source.open().stats(), as_json, coverage.print_coverage)
        return
    if not source.is_latest:
        raise click.UsageError("--recompute works on the latest version; remove --version and --timestamp.")
    opened = source.open()
    if again and resume and click.get_current_context().get_parameter_source("resume") is ParameterSource.COMMANDLINE:
        raise click.UsageError("Specify either --resume or --again, not both.")
    options = statistics.options(resume=resume and not again, **chosen)
    if dry_run:
        _show(opened.recompute_plan(**options), as_json, statistics.print_plan)
        return
    done = statistics.recompute(opened, options, bar=not as_json and sys.stderr.isatty())
    _show(done, as_json, statistics.print_recomputed)


def _check_report_only() -> None:
    """Raise UsageError if an option is given that only a recomputation has."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        if given and parameter.name not in _REPORT_OPTIONS:
            raise click.UsageError(f"{parameter.opts[0]} needs --recompute.")


_REPORT_OPTIONS = ("table", "version", "timestamp", "storage_options", "float_bounds", "as_json", "debug")


@program.command("history")
@_opens_table
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show only the N newest commits.")
def _history(source: _Source, as_json: bool, limit: int | None) -> None:
    """List the commits of a table, newest first."""
    from deltaskip.cli import commits

    _show(commits.history(source.open(), limit), as_json, commits.print_history)


@program.command("collations")
@_may_open_table
def _collations(source: _Source, as_json: bool) -> None:
    """List available collation versions.

    With TABLE, also list its collated columns and the versions that they need.
    """
    from deltaskip.cli import collations

    if source.table is None and (not source.is_latest or source.storage_options):
        raise click.UsageError("--version, --timestamp and --option need a TABLE.")
    found = collations.collations(None if source.table is None else source.open())
    _show(found, as_json, collations.print_collations)


@program.command("checkpoint")
@_opens_table
@click.option("--clean-up", is_flag=True, help="Also delete expired log files that no retained version needs.")
def _checkpoint(source: _Source, as_json: bool, clean_up: bool) -> None:
    """Write a checkpoint of a table.

    Readers then read the checkpoint instead of the commits before it.
    """
    from deltaskip.cli import checkpoints

    _show(checkpoints.checkpoint(source.open(), clean_up), as_json, checkpoints.print_checkpoint)


@program.command("demo")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Create the table in DIR and keep it.")
@_json_option
@_debug_option
def _demo(keep: Path | None, as_json: bool) -> None:
    """Create, prune and read a sample table.

    Uses a local Spark session; without Java or PySpark, pyarrow writes and reads the table. Compares the times of the
    pruned read and a full read.
    """
    from deltaskip import demo

    outcome = demo.run(keep, report=(lambda _line: None) if as_json else click.echo)
    _show(outcome, as_json, lambda _outcome: None)


def _sentence(error: Exception) -> str:
    """The error as one line; for unexpected errors with their type."""
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
            return _one_line(f"internal error: {type(error).__name__}: {error} (--debug prints the traceback)")


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() or c.isspace() else repr(c)[1:-1] for c in text).split())


def _print_error(sentence: str) -> None:
    with suppress(OSError):  # standard error may be closed as well
        click.echo(f"deltaskip: error: {sentence}", err=True)


class _NoPandas:
    """A module finder that hides pandas and dateutil."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Raise for the two modules; leave others to the next finder."""
        if name in ("pandas", "dateutil"):
            raise ModuleNotFoundError(name, name=name)


@contextmanager
def _without_pandas(wanted: bool) -> Iterator[None]:
    """If `wanted`, keep pyarrow from importing pandas when it converts its first value, which takes longer than most
    commands. Only in a process of the command line: pyarrow remembers that pandas was not there.
    """
    if not wanted or "pandas" in sys.modules:
        yield
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoPandas)


def _show_warning(
    message: Warning | str,
    category: type[Warning] = UserWarning,
    filename: str = "",
    *_where: object,
    **_more: object,
) -> None:
    # What other packages tell their developers is nothing that a user of the command can act on.
    if issubclass(category, _FOR_DEVELOPERS) and not filename.startswith(_PACKAGE_FOLDER):
        return
    click.echo(f"deltaskip: warning: {_one_line(str(message))}", err=True)


_FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ResourceWarning)
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _abandon_stdout() -> None:
    """Redirect standard output to the null device, so that the flush at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
