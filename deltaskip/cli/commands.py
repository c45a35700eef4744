"""Running the command line: errors become one sentence on standard error and an exit status."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper

import click

from deltaskip.cli import (  # noqa: F401
    append,
    catalog_commands,
    changes,
    definition,
    demo,
    explain,
    files,
    history,
    inspect,
    row_changes,
    rows_out,
    stats,
    table_utilities,
    verify,
)
from deltaskip.cli.command_line import one_line, program, show_warning
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, OptionAdvice

# Commands register themselves with the program.
from deltaskip.lazy_regex import regex
from deltaskip.printable import LINES, printable
from deltaskip.redaction import redacted

OK = 0
FAILED = 1
REFUSED = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

# How click begins its message.
_EXTRA = "Got unexpected extra argument"
_NO_COMMAND = "No such command"
_NO_INTEGER = "is not a valid integer range"
_NO_DDL = "Missing argument 'DDL'"
_NUMBER = regex(r"\([\d ]+\)")
# Options whose value users pass without the option, as a number or as another text.
_OF_NUMBERS = {"--start": "version", "--version": "version", "--retention": "retention"}
_OF_TEXTS = {"--where": "predicate"}
_WITHOUT_OPTION = {"alter": ("Statements", "\"SET TBLPROPERTIES ('delta.appendOnly' = 'true')\"")}
_ELSEWHERE = {
    "--from": "--start", "--to": "--end",
    "--select": "--column", "-c": "--column",
    "--retention-hours": "--retention", "--filter": "--where", "-w": "--where", "-v": "--version",
}  # fmt: skip
# Commands of other programs, and what to write instead.
_OTHER_COMMANDS = {
    "compact": "deltaskip optimize",
    "convert": "deltaskip.convert_to_delta(path) in Python",
    "detail": "deltaskip inspect",
    "info": "deltaskip inspect",
    "insert": "deltaskip append",
    "list": "deltaskip tables",
    "log": "deltaskip history",
    "ls": "deltaskip tables",
    "partitions": "deltaskip describe",
    "read": "deltaskip head",
    "schema": "deltaskip describe",
    "select": "deltaskip query",
    "show": "deltaskip head",
    "upsert": "deltaskip merge",
    "version": "deltaskip history",
    "zorder": "deltaskip optimize --zorder-by COLUMN",
}

# Words of messages for Python callers, and their replacements on the command line.
_WORDS: dict[tuple[str, object], str] = {
    ("spark", "rows"): "Give --spark.",
    ("spark", "statement"): "Give --spark where the command has it, or a statement to deltaskip sql.",
    ("create", None): "create a table with deltaskip create and append",
    ("create_namespace", None): "create it with the command namespaces --create NAME",
    ("except_", None): "add it to the files,",
    ("schema_mode", "merge"): "with --schema-mode merge",
    ("enforce_retention", False): "vacuum with --no-enforce-retention",
    ("optimize", "purge"): "deltaskip optimize --purge",
    ("if_exists", True): "IF EXISTS",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    With `--debug`, errors also print their traceback. A closed pipe (`| head`) ends the command without a message.

    Args:
        arguments: Arguments without the program name. The default is the arguments of the process.

    Returns:
        The exit status: 0 for success, 1 after an error, 2 for wrong arguments, 130 after an interrupt, 141 if standard
        output was closed.
    """
    if arguments is None and sys.getfilesystemencoding() != "utf-8" and "utf8" not in sys._xoptions:
        # Names of files, arguments and output are UTF-8, whatever the locale says.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    given = list(sys.argv[1:] if arguments is None else arguments)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The process was started without it, as by `>&-`.
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            # Letters that PYTHONIOENCODING lacks are escaped, as control characters are.
            stream.reconfigure(errors="backslashreplace")
    try:
        no_spark = "--spark" not in given and given[:1] != ["demo"]
        with warnings.catch_warnings(), _without_pandas(arguments is None and no_spark):
            warnings.showwarning = show_warning
            status = program.main(args=given, prog_name="deltaskip", standalone_mode=False)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except click.Abort as error:
        # click also ends a command this way if it raises EOFError, which libraries do for files that are too short.
        if not isinstance(error.__cause__, EOFError):
            return INTERRUPTED
        _print_error(_sentence(error.__cause__))
        return FAILED
    except (BrokenPipeError, SystemExit):  # click raises SystemExit if the pipe is closed while a command runs
        _abandon_stdout()
        return PIPE_CLOSED
    except Exception as error:  # every error becomes a sentence here
        if "--debug" in given:
            click.echo(printable(redacted(traceback.format_exc()), LINES), err=True, nl=False)
        _print_error(_sentence(error))
        return REFUSED if isinstance(error, (click.UsageError, InvalidArgument, InvalidArgumentType)) else FAILED
    return status if isinstance(status, int) else OK


def _sentence(error: Exception) -> str:
    """The error as one line; unexpected errors with their type."""
    match error:
        case OSError(filename=None, errno=errno.ENOSPC):
            return "Cannot write the output: there is no space left on the device."
        case click.UsageError(ctx=click.Context() as context):
            said = one_line(error.format_message()).rstrip(".")
            said = _habit(said, getattr(error, "option_name", ""), context) or said
            return f"{said}{'' if said.endswith('?') else '.'} See '{context.command_path} --help'."
        case click.ClickException():
            return one_line(error.format_message())
        case DeltaSkipError():
            return one_line(error.said(_on_the_command_line))
        case OSError():
            return one_line(redacted(f"{error.strerror or error}: {error.filename}" if error.filename else str(error)))
        case _:
            said = redacted(str(error))
            return one_line(f"internal error: {type(error).__name__}: {said} (--debug prints the traceback)")


def _habit(said: str, option: str, context: click.Context) -> str | None:
    """The message for an option or argument of other programs, with deltaskip's spelling; None if it is not known."""
    known = {name for each in context.command.params for name in each.opts}
    if context.command.name == "create" and (said.startswith((_EXTRA, _NO_DDL)) or option == "--schema"):
        return f"{said.rstrip('.')}: the columns are one text in quotes after the table, as 'id BIGINT, name STRING'"
    if said.startswith(_EXTRA):
        wanted = _OF_NUMBERS if _NUMBER.search(said) else _OF_TEXTS
        return next((f"{said}: a {what} stands after {name}" for name, what in wanted.items() if name in known), None)
    if said.startswith(_NO_COMMAND):
        name = said.split("'")[1]
        instead = _OTHER_COMMANDS.get(name)
        if instead is not None:
            return f"No such command {name!r}: write {instead}"
        end = "" if said.endswith("?") else "."
        return f"{said}{end} A command stands first, as in deltaskip head TABLE"
    if option == "--set":
        kind, example = _WITHOUT_OPTION.get(str(context.command.name), ("Assignments", "'price = 2'"))
        return f"No such option: --set. {kind} stand without an option: {context.command_path} TABLE {example}"
    if _ELSEWHERE.get(option) in known:
        return f"No such option: {option}. Did you mean {_ELSEWHERE[option]}?"
    if said.endswith(_NO_INTEGER):
        return f"{said.removesuffix(_NO_INTEGER)}is not a whole number"
    if option[1:].isdigit() and "-n" in known:
        return f"No such option: {option}. The number of rows stands after -n"
    if context.command is program and any(
        option in each.opts for one in program.commands.values() for each in one.params
    ):
        return f"No such option: {option}. Options of a command stand after it"
    return None


def _on_the_command_line(advice: OptionAdvice) -> str | None:
    """The words for an advice, such as `--mode replace`; None if no command has the option."""
    option, value = advice.option, advice.value
    if (option, value) in _WORDS:
        return _WORDS[option, value]
    if option == "params":
        return f"--param {value}=VALUE"
    name = f"--{'no-' if value is False else ''}{option.replace('_', '-')}"
    known = any(name in each.opts for command in program.commands.values() for each in command.params)
    return f"{name} {'' if isinstance(value, bool) else value}".rstrip() if known and value is not None else None


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
    """If `wanted`, pyarrow does not import pandas for its first value, which takes longer than most commands.

    Only in a process of the command line: pyarrow remembers that pandas was not there.
    """
    if not wanted or "pandas" in sys.modules:
        yield
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoPandas)


def _abandon_stdout() -> None:
    """Redirect standard output to the null device, so that the flush at exit does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
