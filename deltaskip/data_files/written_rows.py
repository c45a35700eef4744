"""The data files of one write before a commit adds them, and their deletion if no commit does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from deltaskip.actions import AddFile, decode_path
from deltaskip.engine import ListedScan
from deltaskip.errors import DeltaSkipError
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.records import dataclass
from deltaskip.rows.plan import RowPlan
from deltaskip.storage import Storage
from deltaskip.storage.gate import delete_file, delete_folder

if TYPE_CHECKING:
    from deltaskip.data_files.parquet_writer import DataFileLayout


class WritingEngine(Protocol):
    """An engine that writes rows, and checks rows that are written."""

    def check_frame(self, frame: Any, name: str) -> None:
        """Raise InvalidArgument if the session of a DataFrame was stopped. name: The name of the argument."""

    def write_dataframe(self, frame: Any, plan: RowPlan, layout: DataFileLayout) -> WrittenRows:
        """Write the rows of a DataFrame as data files. After an error no file is left.

        plan: For the schema of the rows.
        """

    def check_rows(self, scan: ListedScan, plan: RowPlan) -> None:
        """Raise RowViolation if a row of the scan's files violates a rule; the active session reads them.

        plan: A plan that stores its columns unchanged.
        """


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """New data files and the state of identity columns after them.

    Attributes:
        files: An add action for each file, with statistics.
        rows: Number of rows in the files.
        identities: The state of each identity column that generated values, by the column's name.
        folder: The folder below the table's root that contains only these files; None if it contains others.
    """

    files: tuple[AddFile, ...]
    rows: int
    identities: Mapping[str, IdentityColumn] = field(default_factory=dict)
    folder: str | None = None

    @property
    def size_in_bytes(self) -> int:
        """Size of the files."""
        return sum(file.size for file in self.files)

    def delete(self, storage: Storage, root: str) -> None:
        """Delete the files, which no commit adds."""
        if self.folder is not None:
            with suppress(OSError, DeltaSkipError):
                delete_folder(storage, root, self.folder)
            return
        delete_data_files(storage, root, (decode_path(file.path) for file in self.files))


def delete_data_files(storage: Storage, root: str, files: Iterable[str]) -> None:
    """Delete files that no commit adds. Files that cannot be deleted stay, for VACUUM to find.

    files: Paths relative to the table's root, not encoded.
    """
    for file in files:
        with suppress(OSError, DeltaSkipError):
            delete_file(storage, root, file)
