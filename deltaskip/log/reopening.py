"""Pickling of objects that keep a snapshot: another process opens the version again when it is first needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self

from deltaskip.errors import CatalogError, StorageError, TableNotFound, VersionNotFound
from deltaskip.log.loading import load_snapshot
from deltaskip.log.snapshot import Snapshot
from deltaskip.records import dataclass
from deltaskip.redaction import options_without_secrets, url_without_secrets
from deltaskip.schema.properties import FloatBounds
from deltaskip.storage import CatalogStorage, Storage, open_storage


@dataclass(frozen=True, slots=True)
class SnapshotReference:
    """A version of a table, by its location. It can be pickled.

    Attributes:
        root: Location of the table.
        version: The version.
        table_id: metaData.id of the version.
        options: Options of the table's object store; None for other storages.
        left_out: Names of options that the pickle lacks because they may be secrets.
        secrets: Whether secrets are in the pickle.
        float_bounds: See `Snapshot.float_bounds`.
        opening: Returns the storage of a table of a catalog; None for a table that is opened by its location.
    """

    root: str
    version: int
    table_id: str
    options: Mapping[str, str] | None
    left_out: tuple[str, ...]
    secrets: bool
    float_bounds: FloatBounds | None
    opening: Callable[[], Storage] | None

    @classmethod
    def of(cls, snapshot: Snapshot) -> SnapshotReference:
        """Return the reference to a snapshot that was loaded from a log."""
        storage, secrets = snapshot.storage, snapshot.pickles_secrets
        known = (snapshot.version, snapshot.metadata.id)
        if isinstance(storage, CatalogStorage) and storage.again is not None:
            opening, left_out = storage.again(secrets)
            return cls(snapshot.root, *known, None, left_out, secrets, snapshot.float_bounds, opening)
        options, root = getattr(storage, "options", None), snapshot.root
        left_out = ()
        if not secrets:
            root = url_without_secrets(root)
            if options is not None:
                options, left_out = options_without_secrets(options)
            if root != snapshot.root:
                left_out = (*left_out, "the password or signature in its URL")
        options = None if options is None else dict(options)
        return cls(root, *known, options, left_out, secrets, snapshot.float_bounds, None)

    def opened(self) -> Snapshot:
        """Return the snapshot, read again.

        Raises:
            TableNotFound: The table was dropped, or replaced by another one.
            VersionNotFound: The log no longer contains the version.
            StorageError: Storage cannot be accessed; the message names the secrets that the pickle does not contain.
        """
        try:
            found = self._opened()
        except (StorageError, CatalogError) as error:
            if not self.left_out:
                raise
            raise StorageError(
                f"Version {self.version} of {self.root} cannot be opened again from its pickle, which does not contain "
                f"{', '.join(self.left_out)}: set credentials in the environment of this process, or pickle what "
                f"with_secrets() of the table returns. {error}"
            ) from error
        found.float_bounds, found.pickles_secrets = self.float_bounds, self.secrets
        return found

    def _opened(self) -> Snapshot:
        if self.opening is None:
            storage, root = open_storage(self.root, self.options)
        else:
            storage, root = self.opening(), self.root
        try:
            found = load_snapshot(storage, root, self.version)
        except VersionNotFound:
            self._check(load_snapshot(storage, root))
            raise
        self._check(found)
        return found

    def _check(self, found: Snapshot) -> None:
        if found.metadata.id != self.table_id:
            raise TableNotFound(
                f"The table {self.root} was replaced by another table since version {self.version} of it was pickled: "
                f"open it again."
            )


class Reopened:
    """Base class of objects that keep a snapshot: pickled without it, and restored at the first access to an attribute.

    A copy shares the snapshot, which does not change.
    """

    @abstractmethod
    def _pickled(self) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
        """A module-level function and its arguments; it returns the attributes of the object."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the function that restores the object, with its arguments."""
        return {"_again": self.__dict__.get("_again") or self._pickled()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Store the function that restores the object."""
        self.__dict__.update(state)

    def __copy__(self) -> Self:
        """Return an object with the same attributes."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: object) -> Self:
        """Return an object with the same attributes: their values do not change."""
        return copy(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            again = self.__dict__.get("_again")
            if again is None or (name.startswith("__") and name.endswith("__")):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            restore, arguments = again
            self.__dict__.update(restore(*arguments))
            self.__dict__.pop("_again", None)
            return getattr(self, name)
