"""The boundary of the package: public functions and methods raise only errors of deltaskip, without secrets.

Calls of other libraries convert their errors to the classes in `errors`, with instructions. `door` decorates each
public function, method and class. It converts any other error to a StorageError, OutOfMemory or UnexpectedError that
names the function, the table and the reason. A call that does not fit the signature raises InvalidArgumentType.
Interrupts, exceptions that a signal handler of the program raises, warnings that a filter turns into errors, and
exceptions that do not derive from Exception pass, except panics of libraries that are written in Rust. Messages, and
the texts of public objects, have no control characters.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from inspect import signature
from threading import local
from traceback import walk_tb
from types import FunctionType, GeneratorType
from typing import Any, ClassVar, NoReturn, TypeVar

from deltaskip import errors
from deltaskip.fork_safety import cached_property
from deltaskip.printable import LINES, printable
from deltaskip.redaction import redacted

T = TypeVar("T")

SPARK_S = ("pyspark", "py4j", "grpc")
"""The libraries whose errors belong to a Spark session."""

_MARK = "__deltaskip_door__"
_SPECIAL = frozenset(
    ("__arrow_c_stream__", "__call__", "__contains__", "__enter__", "__exit__", "__init__", "__iter__", "__len__",
     "__next__", "__repr__", "__str__", "_repr_html_")
)  # fmt: skip
_TEXT_MEMBERS = ("__repr__", "__str__")
# The attributes of exceptions that contain their text, besides `args`.
_TEXTS = ("msg", "strerror", "filename", "filename2", "desc", "_desc", "_message", "errmsg")
_OF_ARGUMENTS = (errors.InvalidArgument, errors.InvalidArgumentType, errors.PredicateError)
# Names of arguments with the same meaning, in this library and others.
_SAME_ARGUMENT = (
    ("where", "condition", "filter", "filters", "predicate", "replaceWhere", "partition_filter", "partition_filters"),
    ("columns", "usecols", "select", "column"),
    ("limit", "nrows", "n_rows", "num_rows"),
    ("on", "condition", "predicate"),
    ("start", "starting_version", "from_version", "startingVersion", "starting_timestamp", "startingTimestamp"),
    ("end", "ending_version", "to_version", "endingVersion", "ending_timestamp", "endingTimestamp"),
    ("types", "dtype_backend"),
    ("set", "values", "updates", "new_values"),
    ("schema_mode", "merge_schema", "mergeSchema"),
    ("partition_by", "partitionBy", "partition_columns"),
    ("properties", "configuration", "tblproperties"),
    ("version", "versionAsOf", "version_as_of"),
    ("timestamp", "timestampAsOf", "timestamp_as_of"),
)
# The names of the session argument, in deltaskip and in delta-spark.
_SESSION_NAMES = ("spark", "sparkSession")
_LONGEST = 300
# The most characters of a message, which may quote an expression of a table. The middle of a longer message is cut.
_LONGEST_MESSAGE = 10_000
_LONGEST_END = 2_000
# The module of the exception of a panic, which does not derive from Exception and would end a worker or a server.
_RUST = "pyo3_runtime"
# CPython, Modules/_threadmodule.c: a limit on threads is reached, of the user or of the container.
_NO_THREAD = "can't start new thread"
# The object of a method, such as a catalog, and its first argument, such as the name of a table.
_MOST_NAMED = 2


_state = local()


class Redacted(Exception):
    """Replaces the exception of another library whose text contains a secret."""


class Unpicklable:
    """Base class of objects that only this process can use, such as objects with a connection or with actions.

    Attributes:
        instead: The alternative to pickling the object, for messages.
    """

    __slots__ = ()
    instead: ClassVar[str] = "make it where it is needed"

    def __reduce__(self) -> NoReturn:
        """Raise InvalidArgumentType: the object cannot be pickled or copied."""
        raise errors.InvalidArgumentType(
            f"{redacted(repr(self))} cannot be pickled or copied, because it belongs to this process: {self.instead}."
        )


class NotCalled:
    """Base class for the values of attributes that are methods in other libraries, such as `schema` of a table.

    Attributes:
        example: What to write, for messages.
    """

    __slots__ = ()
    example: ClassVar[str] = ""

    def __call__(self, *args: object, **named: object) -> NoReturn:
        """Raise InvalidArgumentType: the value is an attribute, not a method."""
        name = type(self).__name__
        raise errors.InvalidArgumentType(
            f"A {name} is the value of an attribute, not of a method: leave out the parentheses{self.example}."
        )


def door(of: T) -> T:
    """Decorate a public function or class, so that it raises no error of another library, and no secret.

    All public methods and properties of a class are decorated, also inherited methods and properties.
    """
    if isinstance(of, type):
        for name in dir(of):
            if name in _SPECIAL or not name.startswith("_"):
                _mark_member(of, name)
        return of
    guarded: T = _guarded(of)  # type: ignore[arg-type]
    return guarded


def is_door(function: object) -> bool:
    """Whether `door` has decorated the function, method or property."""
    if isinstance(function, property):
        inner: object = function.fget
    else:
        inner = getattr(function, "__func__", getattr(function, "func", function))
    return getattr(inner, _MARK, False) is True


def of_signal_handler(error: BaseException) -> BaseException | None:
    """Return the exception that a signal handler of the program raised, such as for a timeout; None for other errors.

    It may be the error itself, or the cause of one into which the code that it interrupted has converted it.
    """
    codes = {_code_of(signal.getsignal(each)) for each in signal.valid_signals()} - {None}
    each: BaseException | None = error if codes else None
    while each is not None:
        if any(frame.f_code in codes for frame, _ in walk_tb(each.__traceback__)):
            return each
        each = each.__cause__
    return None


def without_secrets(error: BaseException) -> None:
    """Remove secrets from the text of an error, and of its causes and contexts."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, errors.DeltaSkipError):
            _redact(each)
        for name in ("__cause__", "__context__"):
            inner = getattr(each, name)
            if inner is None:
                continue
            clean = _clean(inner)
            if clean is not inner:
                suppressed = each.__suppress_context__
                setattr(each, name, clean)
                each.__suppress_context__ = suppressed
            waiting.append(clean)


def _mark_member(cls: type, name: str) -> None:
    owner = next(each for each in cls.__mro__ if name in vars(each))
    if name == "__init__":
        getattr(owner, name)  # which compiles it, if it is that of a dataclass
    if not owner.__module__.startswith("deltaskip"):
        return
    member = vars(owner)[name]
    if is_door(member):
        return
    match member:
        case FunctionType():
            setattr(cls, name, _guarded(_printed(member) if name in _TEXT_MEMBERS else member))
        case classmethod():
            setattr(cls, name, classmethod(_guarded(member.__func__)))
        case staticmethod():
            setattr(cls, name, staticmethod(_guarded(member.__func__)))
        case cached_property():
            guarded: cached_property[Any] = cached_property(_guarded(member.func))
            guarded.__set_name__(cls, name)
            setattr(cls, name, guarded)
        case property() if member.fget is not None:
            setattr(cls, name, property(_guarded(member.fget), member.fset, member.fdel, member.__doc__))


def _printed(function: Callable[[Any], str]) -> Callable[[Any], str]:
    @wraps(function)
    def printed(of: Any) -> str:
        return printable(function(of), LINES)

    return printed


def _guarded(function: Callable[..., Any]) -> Any:
    @wraps(function)
    def guarded(*args: Any, **named: Any) -> Any:
        try:
            result = function(*args, **named)
        except BaseException as error:
            found = _leaving(error, function, args, named)
            if found is error:
                raise
        else:
            return _guarded_rows(result, function, args, named) if type(result) is GeneratorType else result
        # The error is raised outside of the block. Inside, the exception with its secrets would become its context.
        try:
            raise found
        finally:
            # The traceback refers to this frame, and so to the objects of the callers' frames.
            del found

    setattr(guarded, _MARK, True)
    return guarded


def _guarded_rows(
    rows: Generator[Any, Any, Any], function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Iterator[Any]:
    try:
        yield from rows
    except GeneratorExit:
        raise
    except BaseException as error:
        found = _leaving(error, function, args, named)
        if found is error:
            raise
    else:
        return
    try:
        raise found
    finally:
        del found


def _leaving(
    error: BaseException, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> BaseException:
    """The error to raise instead of an error that leaves the function."""
    if not isinstance(error, Exception) and type(error).__module__ != _RUST:
        return error
    passed = of_signal_handler(error)
    if passed is not None:
        return passed
    spark_s = type(error).__module__.startswith("pyspark.") and function.__module__.startswith("deltaskip.delta")
    if isinstance(error, Warning) or spark_s:
        # Functions with delta-spark's names raise the errors of PySpark, as delta-spark does.
        return error
    found = error if isinstance(error, errors.DeltaSkipError) else _converted(error, function, args, named)
    if isinstance(found, _OF_ARGUMENTS) and (said := _misplaced_session(function, args, named)):
        found = errors.InvalidArgumentType(said)
    if found is not error:
        found.__cause__ = error
    without_secrets(found)
    return found


def _code_of(handler: Any) -> object:
    function = getattr(handler, "func", handler)
    function = getattr(function, "__func__", function)
    return getattr(function if hasattr(function, "__code__") else type(function).__call__, "__code__", None)


def _converted(
    error: BaseException, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> errors.DeltaSkipError:
    wrong = _wrong_call(function, args, named) if isinstance(error, TypeError) else None
    if wrong is not None:
        return errors.InvalidArgumentType(wrong)
    doing = f"{function.__qualname__}{_table_of([*args, *named.values()])} failed"
    kind = type(error).__name__
    reason = first_line(error)
    said = reason if reason == kind else f"{kind}: {reason}"
    match error:
        case MemoryError():
            return errors.OutOfMemory(
                f"{doing}: there is not enough memory ({reason}); select fewer columns or rows, or use a "
                f"machine with more."
            )
        case RecursionError():
            return errors.InvalidArgument(
                f"{doing}: its arguments are nested too deeply ({reason}): write fewer levels, such as isin for many "
                f"comparisons, or raise sys.setrecursionlimit."
            )
        case _ if type(error).__module__.partition(".")[0] in SPARK_S:
            return errors.SparkUnavailable(
                f"{doing}: {said}; check the Spark session, and create a new one if it has ended."
            )
        case ModuleNotFoundError(name=str() as package) if package.partition(".")[0] != "deltaskip":
            package = package.partition(".")[0]
            return errors.UnsupportedFeature(
                f"{doing}: it needs the Python package {package}, which is not installed: pip install {package}."
            )
        case _ if isinstance(error, OSError) or reason == _NO_THREAD:
            return errors.StorageError(f"{doing}: {said}; check the storage, the disk and the limits of the process.")
        case _:
            library = type(error).__module__.partition(".")[0]
            whose = "Python" if library == "builtins" else library
            return errors.UnexpectedError(
                f"{doing}: {said}. {whose} raised this where deltaskip does not expect it; check the arguments and the "
                f"table's files, otherwise report it with the traceback."
            )


def _wrong_call(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """The reason why Python refuses to call the function with the arguments; None if it accepts them."""
    known = signature(function)
    try:
        known.bind(*args, **named)
    except TypeError as error:
        name, parameters = _named(function, args)
        meant = {each: _meant(each, parameters) for each in named if each not in parameters}
        cures = [f"{there} for {each}" for each, there in meant.items() if there is not None]
        wanted = f" Did you mean {' and '.join(cures)}?" if cures else ""
        if named.get("mode") == "overwrite":
            wanted += " To replace rows, call overwrite(rows)."
        unknown = next((each for each in named if each not in parameters and meant[each] is None), None)
        if unknown is not None and "where" in parameters and not isinstance(named[unknown], bool):
            wanted += f' A condition on a column is SQL text: where="{unknown} = {named[unknown]!r}".'
        own = args[len(known.parameters) - len(parameters) :]
        if parameters[:1] == ["spark"] and own and isinstance(own[0], str):
            wanted += " The first one is a SparkSession."
        return f"{name} {first_line(error)}.{wanted} Its arguments are {', '.join(parameters) or 'none'}."
    return None


def _meant(name: str, parameters: list[str]) -> str | None:
    """The argument that another name means; None if the name is unknown."""
    same = {each for group in _SAME_ARGUMENT if name in group for each in group}
    return next((each for each in parameters if each in same), None) or errors.nearest(name, parameters)


def _named(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, list[str]]:
    """The name by which a caller knows the function, and its parameters without `self`."""
    name, parameters = function.__name__, list(signature(function).parameters)
    if args and parameters[:1] in (["self"], ["cls"]):
        of = args[0] if isinstance(args[0], type) else type(args[0])
        return of.__name__ if name == "__init__" else f"{of.__name__}.{name}", parameters[1:]
    return name, parameters


def _misplaced_session(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str | None:
    """The correct call for a session that was given as another argument; None if no session was."""
    given = [*zip(signature(function).parameters, args, strict=False), *named.items()]
    place = next((each for each, value in given if each not in _SESSION_NAMES and _is_session(value)), None)
    if place is None:
        return None
    name, parameters = _named(function, args)
    if "spark" in parameters:
        return f"{place} of {name} is a SparkSession: the session is the argument spark, as in {name}(…, spark=spark)."
    reads = ", or call to_spark(spark) of the result" if function.__name__ in ("scan", "changes") else ""
    return f"{place} of {name} is a SparkSession, and {name} takes none: leave it out{reads}."


def _is_session(value: object) -> bool:
    return type(value).__name__ == "SparkSession" and type(value).__module__.startswith("pyspark.")


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its class; shortened, without secrets or the final full stop."""
    try:
        text = redacted(str(error))
    except Exception:  # the text of an error of Java comes from its process, which may have ended
        text = ""
    line = next((each.strip() for each in text.splitlines() if each.strip()), type(error).__name__)
    return f"{line[:_LONGEST]}…" if len(line) > _LONGEST else line.rstrip(".:; ")


def _table_of(values: list[object]) -> str:
    """The table that the arguments name, such as ` of DeltaTable('/data/t', version=3)`; empty if no argument does."""
    if getattr(_state, "is_naming", False):
        return ""
    # The repr of an object whose __init__ has failed also fails at a door.
    _state.is_naming = True
    try:
        named = [found[:_LONGEST] for value in values[:_MOST_NAMED] if (found := _name_of(value))]
    finally:
        _state.is_naming = False
    return f" of {', '.join(named)}" if named else ""


def _name_of(value: object) -> str:
    try:
        if isinstance(value, (str, os.PathLike)):
            return repr(redacted(str(os.fspath(value))))
        if type(value).__module__.startswith("deltaskip.") and type(value).__repr__ is not object.__repr__:
            return redacted(repr(value)).partition("\n")[0]
    except Exception:  # as above, or the repr of a subclass of the user's
        pass
    return ""


def _redact(error: errors.DeltaSkipError) -> None:
    args = tuple(printable(_bounded(each), LINES) if isinstance(each, str) else each for each in error.args)
    if args != error.args:
        error.args = args
    for name in _TEXTS:
        text = getattr(error, name, None)
        if isinstance(text, str) and redacted(text) != text:
            setattr(error, name, redacted(text))


def _bounded(text: str) -> str:
    """A message without secrets. A long message keeps its beginning and its end, which has the instructions."""
    if len(text) <= _LONGEST_MESSAGE + _LONGEST_END:
        return redacted(text)
    # Twice as much text is searched, to find a secret at the cut.
    begin, end = redacted(text[: 2 * _LONGEST_MESSAGE]), redacted(text[-2 * _LONGEST_END :])
    return f"{begin[:_LONGEST_MESSAGE]} … {end[-_LONGEST_END:]}"


def _clean(error: BaseException) -> BaseException:
    """The exception, or a Redacted instead if its text contains a secret."""
    if isinstance(error, errors.DeltaSkipError):
        return error
    try:
        texts = [str(error), repr(error), *getattr(error, "__notes__", ())]
    except Exception:  # as above
        return error
    if all(redacted(text) == text for text in texts):
        return error
    clean = Redacted(f"{type(error).__module__}.{type(error).__qualname__}: {redacted(texts[0])}")
    clean.__traceback__ = error.__traceback__
    clean.__cause__, clean.__context__ = error.__cause__, error.__context__
    clean.__suppress_context__ = error.__suppress_context__
    return clean
