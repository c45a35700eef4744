"""Whether the files of a version, and those of its deletion vectors, still exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import DeletionVectorDescriptor, hadoop_paths
from deltaskip.errors import DataFileMissing
from deltaskip.features.deletion_vectors import absolute_path
from deltaskip.log import Snapshot
from deltaskip.schema.arrow_values import one_chunk
from deltaskip.storage import Storage, storage_for

__all__ = ["check_files_exist"]

_READERS = 32
_CHECKED_AT_ONCE = 10_000
_SHOWN = 10


def check_files_exist(source: Snapshot, files: pa.Table, progress: Callable[[str, int, int], None]) -> None:
    """Look up files of a version in storage.

    Args:
        source: The version.
        files: Some of its files (FILE_SCHEMA).
        progress: Called with "checked", the files so far, and their number.

    Raises:
        DataFileMissing: Some do not exist; the message names the first ones.
        StorageError: Storage failed.
    """
    locations = [*hadoop_paths(source.table_root, files["path"]).to_pylist(), *_vector_files(source, files)]
    missing: list[str] = []
    for start in range(0, len(locations), _CHECKED_AT_ONCE):
        some = locations[start : start + _CHECKED_AT_ONCE]
        missing += _missing(source.storage, some)
        progress("checked", start + len(some), len(locations))
    if missing:
        shown = ", ".join(path.removeprefix(f"{source.root}/") for path in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
        raise DataFileMissing(
            f"Version {source.version} of {source.root} cannot be restored, because {len(missing):,} of its files no "
            f"longer exist: {shown}{more}. A VACUUM may have deleted them: choose a later version, or pass "
            f"check_files=False to restore the version without them."
        )


def _vector_files(source: Snapshot, files: pa.Table) -> Iterator[str]:
    vectors = one_chunk(files["deletion_vector"]).drop_null()
    seen: set[tuple[str, str]] = set()
    for kind, text in zip(
        pc.struct_field(vectors, "storage_type").to_pylist(),
        pc.struct_field(vectors, "path_or_inline_dv").to_pylist(),
        strict=True,
    ):
        if (kind, text) not in seen and kind != "i":
            seen.add((kind, text))
            yield absolute_path(source.table_root, DeletionVectorDescriptor(kind, text, 0, 0)) or ""


def _missing(near: Storage, locations: list[str]) -> list[str]:
    def is_missing(location: str) -> bool:
        try:
            storage_for(location, near=near).size(location)
        except (FileNotFoundError, NotADirectoryError):
            return True
        return False

    if not near.remote:
        # A local file answers sooner than a thread begins.
        return [location for location in locations if is_missing(location)]
    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        absent = list(pool.map(is_missing, locations))
    return [location for location, is_absent in zip(locations, absent, strict=True) if is_absent]
