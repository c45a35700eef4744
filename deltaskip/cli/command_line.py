"""The program of the command line, and the options that its commands share.

Modules other than click are imported when a command runs, so that `--help` is fast.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import print_json, print_lines
from deltaskip.printable import printable
from deltaskip.records import dataclass

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable

Command = Callable[..., None]

_APP_VERSION = "APP:VERSION"

debug_option = click.option("--debug", is_flag=True, expose_value=False, help="Print the traceback of errors.")


@click.group(
    name="deltaskip",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="deltaskip", message="deltaskip %(version)s")
@click.option(
    "--catalog",
    metavar="URL",
    help="A catalog such as warehouse:/data/warehouse, or the name of one that is configured. TABLE is then a name in "
    "it, such as sales.orders.",
)
@debug_option
@click.pass_context
def program(context: click.Context, catalog: str | None) -> None:
    """Read, prune and write Delta tables.

    TABLE is a path or URI of a folder with a _delta_log, or a name in the catalog. `create`, `append`, `delete`,
    `update`, `merge`, `alter`, `optimize`, `vacuum`, `restore`, `clone`, `checkpoint`, `stats --recompute` and
    `verify --repair` write to it.
    """
    context.obj = catalog
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@dataclass(frozen=True, slots=True)
class CommandTable:
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
        from deltaskip.cli.open_table import open_table

        if self.table is None:
            raise click.UsageError("Missing argument 'TABLE'.")
        return open_table(self.table, self.storage_options, self.version, self.timestamp, self.float_bounds)

    @property
    def is_latest(self) -> bool:
        """Whether neither a version nor a timestamp was given."""
        return self.version is None and self.timestamp is None


def opens_table(command: Command, required: bool = True) -> Command:
    """Add the argument and options of a command that opens a table, which receives them as one `source`."""
    version = click.option("--version", type=click.IntRange(min=0), metavar="N", help="The version. [default: latest]")
    timestamp = click.option(
        "--timestamp", metavar="TIME", help="The latest version at this time, such as 2026-01-31T12:00Z."
    )
    return version(timestamp(written_table(command, required)))


def written_table(command: Command, required: bool = True) -> Command:
    """Add the argument and options of a command that writes to a table, which receives them as one `source`."""

    @output_options
    @wraps(command)
    def run(
        table: str | None,
        storage_options: dict[str, str],
        version: int | None = None,
        timestamp: str | None = None,
        float_bounds: str | None = None,
        **more: Any,
    ) -> None:
        command(CommandTable(table, version, timestamp, storage_options, float_bounds), **more)

    return click.argument("table", required=required)(run)


def output_options(command: Command) -> Command:
    """Add the options that most commands have: of the storage, and of the output."""
    return storage_option(json_option(debug_option(command)))


float_bounds_option = click.option(
    "--float-bounds",
    type=click.Choice(["auto", "exact"]),
    help="exact: every writer of the table includes NaN in min and max. [default: property deltaskip.floatBounds]",
)


def choice_option(name: str, *parameter: str, values: Sequence[str], help: str) -> Callable[[Command], Command]:
    """Return an option with one of some values, of which the first is the default."""
    kind = click.Choice(values)
    return click.option(name, *parameter, type=kind, default=values[0], show_default=True, help=help)


def pairs_option(*names: str, help: str) -> Callable[[Command], Command]:
    """Return an option KEY=VALUE that can be repeated; the command receives a mapping."""
    return click.option(*names, multiple=True, metavar="KEY=VALUE", callback=_pairs, help=f"{help} Can be repeated.")


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{value!r} is not of the form KEY=VALUE")
        pairs[key] = text
    return pairs


def columns_option(*names: str, help: str) -> Callable[[Command], Command]:
    """Return an option that can be repeated, with one column name or several separated by commas."""
    return click.option(*names, multiple=True, metavar="NAME", callback=_column_names, help=f"{help} Can be repeated.")


def _column_names(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from deltaskip.sparkexpr.text.sql_text import quoted_path
    from deltaskip.sparkexpr.types import parse_names

    found: list[str] = []
    for value in values:
        found += map(quoted_path, parse_names(value, parameter.opts[0])) if "," in value else [value]
    return tuple(found)


class FileFormat(click.Choice):  # type: ignore[type-arg]
    """The value of --format. JSON lines have several names; a command always receives json."""

    _JSON = ("jsonl", "ndjson")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """See click.Choice."""
        found: str = super().convert("json" if value in self._JSON else value, param, ctx)
        return found


def input_options(command: Command) -> Command:
    """Add the options of a command that writes the rows of files: their format, and the handling of new columns."""
    file_format = click.option(
        "--format",
        "file_format",
        type=FileFormat(["parquet", "csv", "json"]),
        help="Format of the files: Parquet, CSV with a header, or JSON lines (also jsonl). [default: by their names]",
    )
    delimiter = click.option(
        "--delimiter", metavar="CHAR", help="What separates the values of CSV. [default: a comma; tab for .tsv]"
    )
    schema_mode = choice_option(
        "--schema-mode", values=["keep", "merge"], help="merge adds columns that the table lacks; keep refuses them."
    )
    return file_format(delimiter(schema_mode(command)))


def time_zone_option(help: str) -> Callable[[Command], Command]:
    """Return the option with the time zone of a command, UTC by default."""
    return click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help=help)


def txn_option(description: str) -> Callable[[Command], Command]:
    """Return the option with an application and its version. description: what is skipped if the table has it."""
    return click.option("--txn", metavar=_APP_VERSION, callback=_txn, help=description)


def _txn(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    app, colon, version = value.rpartition(":")
    if not app or not colon or not version.isascii() or not version.isdigit():
        raise click.BadParameter(f"{value!r} is not of the form {_APP_VERSION}")
    return app, int(version)


storage_option = pairs_option("-o", "--option", "storage_options", help="Storage option, such as aws_region=eu-west-1.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


where_option = click.option(
    "--where",
    multiple=True,
    metavar="SQL",
    help="Predicate in Spark SQL, such as 'id > 5 AND day IS NULL'. Can be repeated: all of them must hold.",
)
param_option = click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of :NAME in the predicate: a number, true, false, null, or text. Repeat a name for the list of IN.",
)


def takes_predicate(command: Command) -> Command:
    """Add the options of a command that prunes; it receives them as `chosen`, the arguments of `DeltaTable.scan`."""

    @where_option
    @param_option
    @time_zone_option("Session time zone.")
    @click.option(
        "--collation-version",
        metavar="V",
        help="Version of the collations that Spark compares strings with, such as 77.1.",
    )
    @click.option("--strict", is_flag=True, help="Fail if no part of the predicate can skip a file.")
    @click.option(
        "--ansi/--no-ansi", default=None, help="Whether Spark runs in ANSI mode, which is its default since 4.0."
    )
    @wraps(command)
    def run(
        source: CommandTable,
        where: tuple[str, ...],
        params: tuple[str, ...],
        collation_version: str | None,
        **more: Any,
    ) -> None:
        from deltaskip.cli.where_options import predicate

        chosen: dict[str, Any] = {"where": predicate(where, params)}
        chosen |= {name: more.pop(name) for name in ("time_zone", "strict", "ansi")}
        if collation_version is not None:
            chosen["collation_version"] = collation_version
        command(source, chosen=chosen, **more)

    return run


def show(found: Any, as_json: bool, print_text: Callable[[Any], None]) -> None:
    """Print a result as JSON, through its `to_dict` if it has one, or as text."""
    if as_json:
        print_json(found.to_dict() if hasattr(found, "to_dict") else found)
    else:
        print_text(found)


def show_lines(found: Any, as_json: bool) -> None:
    """Print a result as JSON, or its `lines()`."""
    show(found, as_json, lambda found: print_lines(found.lines()))


def one_line(text: str) -> str:
    """Return the text without line breaks and control characters."""
    return printable(" ".join(text.split()))


def show_warning(
    message: Warning | str, category: type[Warning] = UserWarning, filename: str = "", *_where: object, **_more: object
) -> None:
    """Print a warning as one line on standard error."""
    # A user of the command line cannot act on warnings that other packages raise for developers.
    if issubclass(category, _FOR_DEVELOPERS) and not filename.startswith(_PACKAGE_FOLDER):
        return
    click.echo(f"deltaskip: warning: {one_line(str(message))}", err=True)


_FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ResourceWarning)
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
