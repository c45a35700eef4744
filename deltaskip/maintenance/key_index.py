"""Writing of the key index: parts for data files that no part knows, and the deletion of parts that others replace.

The keys of all rows of a file are read, also of deleted ones, since a part stays true when rows are deleted later. They
are sorted in runs of a bounded size, which wait in a temporary file if there are several, and merged into one part.
A part is published as a whole under a name of its own; one that a killed process leaves behind is true, too.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import table_keys
from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, MaintenanceWarning, SchemaError
from deltaskip.log import Snapshot
from deltaskip.maintenance.recompute.recomputed import IndexedKeys
from deltaskip.path_bytes import encoded
from deltaskip.progress import Progress, table_name
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping.key_index import part as parts
from deltaskip.skipping.key_index.folder import KEY_FOLDER, KeyFolder, column_digest, listed_parts, part_name
from deltaskip.skipping.key_index.key_columns import Hashes, hashes, kind_of, usable_columns, wanted_columns
from deltaskip.skipping.key_index.part import KeyPart, PartOf, PartWriter, SortedRun
from deltaskip.skipping.read_options import ALL_ROWS
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, nested_value, no_rows, one_chunk
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.storage import join
from deltaskip.storage.gate import delete_files
from deltaskip.storage.interface import entries_of
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.temporary_names import TEMPORARY
from deltaskip.warning import warn

# Keys of a run: 24 MB, and as many again if some are double.
_RUN_KEYS = 3_000_000
# Keys of a run that are read from its file at once.
_CHUNK_KEYS = 1 << 17
# Blocks of 256 keys that are merged at once.
_MERGED_BLOCKS = 1024
# Files with more rows are not read beside others.
_ROWS_AT_ONCE = 1 << 20
_READERS = 2
# So many parts are joined into one, except those that are larger than all the others together.
_MOST_PARTS = 8
_READ = ["uri", "partition_values", "deletion_vector", "num_records", "size", "modification_time"]


def index_keys(snapshot: Snapshot, rebuild: bool = False) -> IndexedKeys:
    """Add the data files to the key index that it does not know.

    Args:
        snapshot: A version of the table, whose property names the columns.
        rebuild: Whether to read all files, and to replace every part.

    Raises:
        SchemaError: The property names a column that cannot have an index.
        StorageError: A part cannot be written.
    """
    started = time.perf_counter()
    columns = wanted_columns(snapshot)
    folder = KeyFolder.of(snapshot)
    folder.forget()
    done = [_index_column(snapshot, folder, column, rebuild) for column in columns]
    removed = [name for each in done for name in each.removed]
    if rebuild:
        kept = {column_digest(each.physical) for each in columns}
        removed += [each.name for each in listed_parts(snapshot) if each.name.split(".")[1] not in kept]
    delete_parts(snapshot, removed)
    folder.forget()
    return IndexedKeys(
        columns=tuple(t.display_name(each.logical) for each in columns),
        files=sum(each.files for each in done),
        keys=sum(each.keys for each in done),
        bytes=sum(each.bytes for each in done),
        parts=tuple(f"{KEY_FOLDER}/{name}" for each in done for name in each.parts),
        removed=tuple(f"{KEY_FOLDER}/{name}" for name in removed),
        left_out=tuple(dict.fromkeys(uri for each in done for uri in each.left_out)),
        seconds=time.perf_counter() - started,
    )


def check_key_columns(snapshot: Snapshot) -> None:
    """Raise SchemaError unless the table's property names columns, all of which can have a key index."""
    if not wanted_columns(snapshot):
        raise SchemaError(
            f"Version {snapshot.version} of {snapshot.root} has no columns with a key index: name some in the property "
            f"{TableProperties.key_index_columns.name}."
        )


def index_new_files(snapshot: Snapshot) -> None:
    """Add the data files to the key index that it does not know, if the table has one. A fault is only a warning."""
    try:
        if snapshot.table_properties.key_index_columns:
            index_keys(snapshot)
    except Exception as error:  # also of the temporary folder: what was committed before stays
        warn(
            f"The key index of {snapshot.root} does not know the newest files, which queries therefore keep: "
            f"{first_line(error)}.",
            MaintenanceWarning,
        )


def unneeded_parts(snapshot: Snapshot, before_ms: int) -> list[str]:
    """Return names of files in the index's folder that no query of this version uses, older than a time.

    These are parts of columns without an index, parts of which other parts know every data file that the table still
    has, damaged parts, and what killed writers have left.

    Args:
        snapshot: The latest version of the table.
        before_ms: The time, in milliseconds since the epoch.
    """
    listed = entries_of(snapshot.storage, join(snapshot.root, KEY_FOLDER))
    old = [each.name for each in listed if each.is_file and each.modified_ms < before_ms]
    names_of_ours = _names(arrow_array([f"{KEY_FOLDER}/{name}" for name in old], pa.string())).to_pylist()
    old = [name for name, is_ours in zip(old, names_of_ours, strict=True) if is_ours]
    if not old:
        return []
    columns = usable_columns(snapshot)
    needed: set[str] = set()
    folder = KeyFolder.of(snapshot)
    folder.forget()
    if columns:
        live = [_known(snapshot, each) for each in _live(snapshot)]
        files = pa.concat_tables([no_rows(parts.KNOWN_FILES), *live])
        for column in columns:
            found = folder.parts(snapshot, column.physical, kind_of(column.type))
            needed |= {each.info.name for each in _needed(found, files)}
    return [name for name in old if name not in needed]


def delete_parts(snapshot: Snapshot, names: Sequence[str]) -> None:
    """Delete files of the index's folder, given by name. Missing files are not an error."""
    delete_files(snapshot.storage, snapshot.root, [f"{KEY_FOLDER}/{name}" for name in names], _names)


def _names(paths: pa.Array) -> pa.BooleanArray:
    """The files of the folder: parts, and temporary files that a killed writer has left."""
    return pc.match_substring_regex(paths, rf"^{KEY_FOLDER}/([0-9]{{20}}\.[^/]+|{TEMPORARY})$")


@dataclass(frozen=True, slots=True)
class _Written:
    """What was done for a column; names are those of parts in the folder."""

    files: int = 0
    keys: int = 0
    bytes: int = 0
    parts: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def _index_column(snapshot: Snapshot, folder: KeyFolder, column: StatColumn, rebuild: bool) -> _Written:
    found = folder.parts(snapshot, column.physical)
    usable = [each for each in found if each.place.kind == kind_of(column.type)]
    kept = [] if rebuild else _larger(usable)
    wanted = [_unknown(snapshot, files, kept) for files in _live(snapshot)]
    files = pa.concat_tables(wanted) if wanted else None
    written, keys, size, left_out = [], 0, 0, list[str]()
    count = 0 if files is None else len(files)
    label = f"Indexing keys of {table_name(snapshot.root)}"
    with Progress(label, unit="files", blocks=True) as progress:
        for start in range(0, count, parts.MOST_FILES):
            assert files is not None
            some = files.slice(start, parts.MOST_FILES)
            name = part_name(snapshot.version, column.physical, str(uuid4()))
            made = _write_part(snapshot, column, some, name, progress, start)
            left_out += made.left_out
            if made.keys or made.files:
                written.append(name)
                keys, size = keys + made.keys, size + made.bytes
    removed = tuple(each.info.name for each in found if each not in kept)
    return _Written(count - len(left_out), keys, size, tuple(written), removed, tuple(left_out))


def _larger(found: Sequence[KeyPart]) -> list[KeyPart]:
    """The parts that stay: all while they are few; otherwise those that are larger than all smaller ones together."""
    ordered = sorted(found, key=lambda each: each.keys)
    if len(ordered) <= _MOST_PARTS:
        return ordered
    before, first = 0, 0
    for place, each in enumerate(ordered):
        if each.keys <= before:
            first = place + 1
        before += each.keys
    # At least one is joined with the new files, so that there are fewer.
    return ordered[max(first, 2) :]


def _live(snapshot: Snapshot) -> Iterator[pa.Table]:
    """The data files of the snapshot, a few thousand at a time."""
    for batch in Scan(snapshot, ALL_ROWS).file_batches(columns=_READ):
        yield pa.Table.from_batches([batch])


def _known(snapshot: Snapshot, files: pa.Table) -> pa.Table:
    """What identifies data files (KNOWN_FILES)."""
    times = files["modification_time"].cast(pa.int64())
    columns = [table_keys(snapshot.table_root, files["uri"]), files["size"], times]
    return pa.table(columns, schema=parts.KNOWN_FILES)


def _unknown(snapshot: Snapshot, files: pa.Table, found: Sequence[KeyPart]) -> pa.Table:
    known = np.zeros(len(files), np.bool_)
    facts = _known(snapshot, files)
    for each in found:
        known |= parts.known_numbers(facts, each.files) >= 0
    return files.filter(arrow_array(~known))


def _needed(found: Sequence[KeyPart], files: pa.Table) -> Iterator[KeyPart]:
    """The parts that know a file of the table which no newer or larger part knows."""
    known = np.zeros(len(files), np.bool_)
    for each in sorted(found, key=lambda part: (part.keys, part.info.name), reverse=True):
        mine = parts.known_numbers(files, each.files) >= 0
        if (mine & ~known).any():
            yield each
        known |= mine


def _write_part(
    snapshot: Snapshot, column: StatColumn, files: pa.Table, name: str, progress: Progress, done: int
) -> _Written:
    """Write a part with the keys of data files, at most MOST_FILES, unless none of them can be read."""
    left_out: dict[int, str] = {}
    with tempfile.TemporaryDirectory(prefix="deltaskip") as scratch:
        runs = _Runs(scratch)
        for number, found in _keys_of_files(snapshot, column, files):
            if found is None:
                left_out[number] = files["uri"][number].as_py()
            else:
                runs.add(found)
            progress.reach(done + number + 1, None)
        known = _known(snapshot, files)
        if left_out:
            # No data file has an empty path, so that the part does not know these.
            paths = ["" if number in left_out else path for number, path in enumerate(known["path"].to_pylist())]
            known = known.set_column(0, parts.KNOWN_FILES.field(0), arrow_array(paths, pa.string()))
        if len(left_out) == len(files):
            return _Written(left_out=tuple(left_out.values()))
        sorted_runs = runs.sorted()
        path = join(snapshot.root, KEY_FOLDER, name)
        place = PartOf.of(snapshot.metadata.id, column)
        with snapshot.storage.publish(path) as local:
            with open(encoded(local), "wb") as sink:
                writer = PartWriter(sink, place, known, sum(run.count for run in sorted_runs))
                kill_point("key part begun")
                parts.write_blocks(writer, sorted_runs, _MERGED_BLOCKS)
                size = sink.tell()
            kill_point("key part written")
        kill_point("key part published")
        del sorted_runs
    return _Written(len(files) - len(left_out), writer.keys, size, (name,), left_out=tuple(left_out.values()))


def _keys_of_files(snapshot: Snapshot, column: StatColumn, files: pa.Table) -> Iterator[tuple[int, Hashes | None]]:
    """Yield the packed keys of each data file, perhaps in several arrays; None if the file cannot be read here."""
    top = column.logical[0]
    rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, {top}, threads=False)
    nothing = pa.nulls(len(files), files.schema.field("deletion_vector").type)
    whole = files.set_column(files.column_names.index("deletion_vector"), "deletion_vector", nothing)

    def keys(number: int) -> Iterator[Hashes]:
        for _, batch in rows.live(whole.slice(number, 1)):
            values = nested_value(one_chunk(batch.columns[top]), column.logical[1:])
            yield parts.packed(hashes(values, column.type), number)

    def together(number: int) -> Hashes | None:
        try:
            return parts.unique(np.concatenate([np.zeros(0, np.uint64), *keys(number)]))
        except DeltaSkipError:
            return None

    counts = files["num_records"].to_pylist()
    running: deque[tuple[int, Future[Hashes | None]]] = deque()
    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        for number, count in enumerate(counts):
            if count is not None and count <= _ROWS_AT_ONCE:
                running.append((number, pool.submit(together, number)))
                if len(running) > _READERS:
                    first, future = running.popleft()
                    yield first, future.result()
                continue
            try:
                for found in keys(number):
                    yield number, found
            except DeltaSkipError:
                yield number, None
        while running:
            first, future = running.popleft()
            yield first, future.result()


class _Runs:
    """Packed keys in sorted runs, of which several are files. folder: For these files."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._buffer: Hashes = np.empty(0, np.uint64)
        self._count = 0
        self._files: list[SortedRun] = []

    def add(self, keys: Hashes) -> None:
        """Add keys in any order."""
        while len(keys):
            if self._count == len(self._buffer):
                self._grow()
            some = keys[: len(self._buffer) - self._count]
            self._buffer[self._count : self._count + len(some)] = some
            self._count += len(some)
            keys = keys[len(some) :]

    def sorted(self) -> list[SortedRun]:
        """Return the runs, each sorted and without duplicates. No more keys can be added."""
        if self._files:
            # The memory of a run is not needed while runs are merged.
            self._write()
        found = parts.unique(self._buffer[: self._count])
        self._buffer = np.empty(0, np.uint64)
        return [*self._files, SortedRun(len(found), iter([found]))]

    def _grow(self) -> None:
        if self._count < _RUN_KEYS:
            longer = np.empty(min(_RUN_KEYS, max(1 << 16, 4 * self._count)), np.uint64)
            longer[: self._count] = self._buffer[: self._count]
            self._buffer = longer
        else:
            self._write()

    def _write(self) -> None:
        path = f"{self._folder}/{len(self._files)}"
        found = parts.unique(self._buffer[: self._count])
        with open(encoded(path), "wb") as file:
            found.tofile(file)
        self._files.append(SortedRun(len(found), _chunks_of(path)))
        self._count = 0


def _chunks_of(path: str) -> Iterator[Hashes]:
    with open(encoded(path), "rb") as file:
        while len(found := np.fromfile(file, np.uint64, _CHUNK_KEYS)):
            yield found
