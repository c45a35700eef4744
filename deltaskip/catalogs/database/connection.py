"""Connections to the database of a catalog: short transactions, and errors that name the database."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Row, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import Executable

from deltaskip.catalogs.database.catalog_tables import STEPS, schema_version, upgrade_tables
from deltaskip.errors import CatalogError, DeltaSkipError, InvalidArgument
from deltaskip.extras import install_command
from deltaskip.redaction import HIDDEN, is_secret_name, keep_secret, redacted
from deltaskip.storage.kill_points import kill_point

T = TypeVar("T")

_WRITES = "deltaskip_writes"
# How long a writer waits for others, which hold a file or rows for milliseconds, unless their process was stopped.
_LOCK_SECONDS = 30
_ATTEMPTS = 3


class ConstraintViolated(DeltaSkipError):
    """A primary or foreign key refused a row.

    Attributes:
        lost: Whether the row may come from an earlier attempt of the same write, whose answer was lost.
    """

    def __init__(self, message: str, lost: bool) -> None:
        super().__init__(message)
        self.lost = lost


class Database:
    """The database of a catalog. Connections are made when they are needed, and not shared with child processes.

    Args:
        url: The URL, as SQLAlchemy takes it.

    Attributes:
        shown: The URL without passwords, for messages.
        url: The parsed URL.

    Raises:
        InvalidArgument: The URL is not a database URL, there is no driver for it, or the database is in memory.
        CatalogError: The driver is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            self.url = _with_driver(make_url(url))
        except (ArgumentError, ValueError) as error:
            raise InvalidArgument(
                "url must be the URL of a database, such as sqlite:///catalog.db or postgresql+psycopg2://user@host/db."
            ) from error
        self.shown = _shown(self.url)
        self._secrets = [each for each in (self.url.password, *_secret_values(self.url)) if each]
        keep_secret(*self._secrets)
        if self.is_sqlite and self.url.database in (None, "", ":memory:"):
            raise InvalidArgument(
                f"A catalog needs a persistent database, not {self.shown}: name a file, such as sqlite:///catalog.db."
            )
        self._engine = self._created()
        self._process = os.getpid()
        self._ready = False

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is a SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    def read(self, query: Executable, parameters: Mapping[str, Any]) -> Sequence[Row[Any]]:
        """Return the rows of a query. Raises CatalogError."""

        def work(connection: Connection, _lost: bool) -> Sequence[Row[Any]]:
            return connection.execute(query, parameters).all()

        self._prepare()
        return self._run(work, writes=False)

    def write(self, work: Callable[[Connection, bool], T]) -> T:
        """Run `work` in one transaction, and return its result.

        It may run again after a connection was lost; its second argument says whether an earlier run may have been
        committed.

        Raises:
            ConstraintViolated: A primary or foreign key refused a row.
            CatalogError: The database failed; `unchanged` says whether it is certain that nothing was committed.
        """
        self._prepare()
        return self._run(work, writes=True)

    def damaged(self, why: str) -> CatalogError:
        """Return the error for a row that cannot be understood."""
        return CatalogError(f"The catalog in the database {self.shown} is damaged: {why}.")

    def _prepare(self) -> None:
        """Create or upgrade the tables when the database is first used."""
        if self._ready:
            return
        version = self._run(lambda connection, _: schema_version(connection, self.shown), writes=False)
        if version < len(STEPS):
            self._run(lambda connection, _: upgrade_tables(connection, self.shown), writes=True)
        self._ready = True

    def _run(self, work: Callable[[Connection, bool], T], writes: bool) -> T:
        lost, attempt = False, 0
        while True:
            attempt += 1
            committing = False
            try:
                with self._connected(writes) as connection:
                    if not writes:
                        return work(connection, False)
                    with connection.begin() as transaction:
                        if connection.dialect.name == "postgresql":
                            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
                        result = work(connection, lost)
                        kill_point("row written")
                        committing = True
                        transaction.commit()
                    kill_point("row committed")
                    return result
            except IntegrityError as error:
                raise ConstraintViolated(self._said(error), lost) from error
            except SQLAlchemyError as error:
                gone = isinstance(error, DBAPIError) and error.connection_invalidated
                lost = lost or (committing and gone)
                if attempt == _ATTEMPTS or not (gone or _is_retried(error)):
                    raise self._failed(error, lost) from error

    def _connected(self, writes: bool) -> Connection:
        if os.getpid() != self._process:
            # A connection of the parent must be neither used nor closed here.
            self._engine.dispose(close=False)
            self._process = os.getpid()
        options: dict[str, Any] = {_WRITES: writes}
        if not writes and not self.is_sqlite:
            options["isolation_level"] = "AUTOCOMMIT"
        return self._engine.execution_options(**options).connect()

    def _created(self) -> Engine:
        options: dict[str, Any] = {"hide_parameters": True}
        if self.is_sqlite:
            # Opening the file each time is cheaper than detecting that it was replaced.
            options["poolclass"] = NullPool
            if "timeout" not in self.url.query:
                options["connect_args"] = {"timeout": _LOCK_SECONDS}
        try:
            engine = create_engine(self.url, **options)
        except ModuleNotFoundError as error:
            cure = install_command("postgres") if error.name == "psycopg2" else "install it"
            raise CatalogError(
                f"The database {self.shown} needs the Python package {error.name}, which is not installed: {cure}, or "
                f"name another driver in the URL."
            ) from error
        except (SQLAlchemyError, TypeError, ValueError) as error:
            raise InvalidArgument(f"The database {self.shown} cannot be opened: {self._said(error)}") from error
        if self.is_sqlite:
            event.listen(engine, "connect", _on_sqlite_connection)
            event.listen(engine, "begin", _on_sqlite_transaction)
        return engine

    def _failed(self, error: SQLAlchemyError, lost: bool) -> CatalogError:
        unknown = " Whether the change was made is not known, because its answer was lost." if lost else ""
        return CatalogError(
            f"The database {self.shown} of the catalog failed: {self._said(error)}{unknown}", unchanged=not lost
        )

    def _said(self, error: Exception) -> str:
        """The driver's message, on one line and without passwords."""
        cause = getattr(error, "orig", None) or error
        said = redacted(" ".join(str(cause).split()), self._secrets) or type(cause).__name__
        return said if said.endswith(".") else f"{said}."


def _on_sqlite_connection(connection: Any, _record: object) -> None:
    # The driver would begin transactions that read first and cannot wait for the lock when they write.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON").close()


def _on_sqlite_transaction(connection: Connection) -> None:
    if connection.get_execution_options().get(_WRITES):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _with_driver(url: URL) -> URL:
    """The URL with an installed driver, if it names none: SQLAlchemy's choice depends on its release."""
    if url.drivername == "postgres":
        url = url.set(drivername="postgresql")
    if url.drivername == "postgresql":
        found = next((each for each in ("psycopg2", "psycopg") if find_spec(each) is not None), "psycopg2")
        return url.set(drivername=f"postgresql+{found}")
    return url


def _secret_values(url: URL) -> list[str]:
    found = [value for name, value in url.query.items() if is_secret_name(name)]
    return [text for value in found for text in ([value] if isinstance(value, str) else value)]


def _shown(url: URL) -> str:
    hidden = {name: HIDDEN for name in url.query if is_secret_name(name)}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def _is_retried(error: SQLAlchemyError) -> bool:
    """Whether the database ended this transaction for a deadlock, or because another one changed data that it read."""
    cause = getattr(error, "orig", None)
    return (getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)) in ("40001", "40P01")
