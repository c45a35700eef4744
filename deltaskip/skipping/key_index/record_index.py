"""Delta's record-level index, which maps keys to data files: the files that it rules out for a predicate.

A table whose property `delta.enableRecordLevelIndex` is true keeps, in each commit that changes data, an entry for each
row, in files below `_delta_log/_record_index` that the domain `delta.recordLevelIndex` lists. A file is ruled out if
the predicate gives each column of the key values, and no entry of one of these keys names the file. Every file is kept
if the newest entries of a key name no file of the snapshot, if the files have more rows than the index has entries, or
an unknown number, and if the domain has another key than the table's properties. Only indexes by columns of a table are
read, and only types with one spelling as partition values: integers, dates, and strings that are not empty.
# Delta RFC record-level-index (delta-io/delta, pull request 7436), Index Key Encoding and Index Storage
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import table_keys
from deltaskip.actions.partition_values import partition_texts
from deltaskip.errors import CorruptLog, ReadWarning, StorageError
from deltaskip.features.registry import RECORD_INDEX, has_feature
from deltaskip.fork_safety import cached_property
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.skipping.add_batches import FileBatch, each_candidate, live_row_counts
from deltaskip.skipping.key_index.key_columns import possible_columns
from deltaskip.skipping.program import Keep, Program
from deltaskip.skipping.sought_values import SoughtValues
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.arrow_values import arrow_array, exact_sum, no_rows, numpy_values
from deltaskip.storage import join
from deltaskip.warning import warn

RECORD_INDEX_DOMAIN = "delta.recordLevelIndex"
RECORD_INDEX_FOLDER = "_delta_log/_record_index"

_LAYOUT = 1
_KEY_COLUMNS = "delta.recordLevelIndex.keyColumns"
_KEY = ("indexKeyHigh", "indexKeyLow")
_ENTRY = (*_KEY, "fileId", "rowCommitVersion")
_FAULTS = (OSError, StorageError, pa.ArrowException, ValueError, KeyError, TypeError, CorruptLog)

_Mask = npt.NDArray[np.bool_]


class RecordLookup:
    """The look-up of the keys that a predicate seeks. Safe to share between threads. Made by `of`.

    Attributes:
        names: The columns of the key, as SQL.
    """

    def __init__(self, snapshot: Snapshot, manifest: Mapping[str, Any], columns: Sequence[str], keys: list[bytes]):
        self.names = [t.display_name((each,)) for each in columns]
        self._snapshot = snapshot
        self._manifest = manifest
        self._keys = keys

    @classmethod
    def of(cls, snapshot: Snapshot, sought: SoughtValues, most: int) -> RecordLookup | None:
        """Return the look-up of a predicate's keys.

        Args:
            snapshot: A table that has the index enabled.
            sought: The values that the predicate seeks.
            most: The most keys to look up.

        Returns:
            None if the index cannot be read, or the predicate does not give values for its whole key.
        """
        domain = snapshot.domains.get(RECORD_INDEX_DOMAIN)
        # Without the feature, a writer that does not know the index may have written the table.
        if domain is None or not any(has_feature(snapshot.protocol, each) for each in RECORD_INDEX):
            return None
        try:
            manifest = parse_json(domain.configuration)
            if (manifest["layoutVersion"], manifest["keyMode"]) != (_LAYOUT, "userKey"):
                return None
            physical = [(name,) for name in manifest["keyColumns"]]
            said = snapshot.properties.get(_KEY_COLUMNS)
            if said is not None and parse_json(said) != manifest["keyColumns"]:
                raise ValueError(f"its key is {manifest['keyColumns']}, and {_KEY_COLUMNS} is {said}")
        except _FAULTS as error:
            _warn_of(snapshot, error)
            return None
        given = {
            each.physical: (each.type, values) for each, values in sought.of_every_row().items() if not each.inside
        }
        columns = {each.physical: each for each in possible_columns(snapshot, [name for (name,) in physical])}
        found = [columns[name] for name in physical if name in columns]
        texts = [_texts(each.type, *given[each.physical]) for each in found if each.physical in given]
        if not texts or len(texts) < len(physical) or not all(texts) or math.prod(map(len, texts)) > most:
            return None
        try:
            from xxhash import xxh3_128_digest
        except ImportError:
            return None
        keys = [xxh3_128_digest(b"\0".join(each)) for each in itertools.product(*texts)]
        return cls(snapshot, manifest, [each.logical[0] for each in found], keys)

    def kept(self, batch: FileBatch) -> _Mask | None:
        """Return the files of a batch that the index does not rule out; None if it rules out none."""
        if self._located is None:
            return None
        [paths] = batch.rows(["path"], None)
        mask: _Mask = numpy_values(pc.is_in(table_keys(self._snapshot.table_root, paths), self._located))
        return mask

    @cached_property
    def _located(self) -> pa.Array | None:
        """The keys of the paths of the files that may have a sought row; None if the index is not believed."""
        try:
            entries = pa.concat_tables([self._entries(each) for each in self._manifest["indexFiles"]] or [_NONE])
            files = table_keys(self._snapshot.table_root, entries["fileId"])
            live, rows = self._live_files()
            if rows is None or rows > sum(each["numEntries"] for each in self._manifest["indexFiles"]):
                raise ValueError(f"it has fewer entries than the table has rows ({rows or 'unknown'})")
        except _FAULTS as error:
            _warn_of(self._snapshot, error)
            return None
        number = numpy_values(entries["key"])
        version = numpy_values(entries["rowCommitVersion"])
        newest = np.full(len(self._keys), -1, np.int64)
        np.maximum.at(newest, number, version)
        is_live = numpy_values(pc.is_in(files, live))
        believed = np.zeros(len(self._keys), np.bool_)
        believed[number[is_live & (version == newest[number])]] = True
        if not believed[number].all():
            return None
        return pc.unique(files)

    def _entries(self, listed: Mapping[str, Any]) -> pa.Table:
        """The entries of the sought keys in an index file, with the numbers of the keys. Raises what reading raises."""
        snapshot, name = self._snapshot, listed["path"]
        if "/" in name:
            raise ValueError(f"{name!r} is not the name of a file in {RECORD_INDEX_FOLDER}")
        sought = _keys_of(np.frombuffer(b"".join(self._keys), np.uint8))
        highs = np.frombuffer(b"".join(self._keys), ">i8")[0::2]
        with snapshot.storage.open_input(join(snapshot.root, RECORD_INDEX_FOLDER, name)) as source:
            file = pq.ParquetFile(source)
            if (source.size(), file.metadata.num_rows) != (listed["sizeInBytes"], listed["numEntries"]):
                raise ValueError(f"{name} has another size or another number of entries than the domain says")
            found = [_NONE]
            for group in _groups_of(file.metadata, highs):
                rows = file.read_row_group(group, list(_ENTRY)).combine_chunks()
                both = np.stack([numpy_values(rows[each].cast(pa.int64())) for each in _KEY], axis=1).astype(">i8")
                number = pc.index_in(_keys_of(both.reshape(-1).view(np.uint8)), sought)
                columns = [number, rows["fileId"].cast(pa.string()), rows["rowCommitVersion"].cast(pa.int64())]
                found.append(pa.table(columns, schema=_NONE.schema).filter(number.is_valid()))
        table = pa.concat_tables(found)
        if any(column.null_count for column in table.columns):
            raise ValueError(f"{name} has an entry without a file or version")
        return table

    def _live_files(self) -> tuple[pa.Array, int | None]:
        """The keys of the paths of the snapshot's files, and the number of their rows; None if it is not known."""

        def facts(batch: FileBatch) -> tuple[pa.Array, pa.Array]:
            live = batch.live(None)
            return table_keys(self._snapshot.table_root, batch.rows(["path"], live)[0]), live_row_counts(batch, live)

        found = list(each_candidate(self._snapshot, Program(Keep()), facts))
        keys = pa.chunked_array([keys for keys, _ in found], pa.string()).combine_chunks()
        rows = pa.chunked_array([rows for _, rows in found], pa.int64())
        return keys, None if rows.null_count else exact_sum(rows)


_NONE = no_rows(pa.schema([("key", pa.int32()), ("fileId", pa.string()), ("rowCommitVersion", pa.int64())]))


def _texts(column: t.DataType, compared: t.DataType, values: Iterable[int | bytes]) -> list[bytes]:
    """The values as the text of partition values; none if a value has none, or may have several."""
    if column == compared == t.STRING:
        texts = [each for each in values if isinstance(each, bytes)]
        return texts if all(texts) else []
    if column != compared or (column not in t.INTEGRAL_BITS and column != t.DATE):
        return []
    numbers = arrow_array(list(values), pa.int64())
    if column == t.DATE:
        return [
            each.encode() for each in partition_texts(numbers.cast(pa.int32()).cast(pa.date32()), t.DATE).to_pylist()
        ]
    return [str(each).encode() for each in numbers.to_pylist()]


def _keys_of(data: npt.NDArray[np.uint8]) -> pa.Array:
    """Keys of 16 bytes, each the higher word first."""
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(data) // 16, [None, pa.py_buffer(data)])


def _groups_of(metadata: pq.FileMetaData, highs: npt.NDArray[Any]) -> list[int]:
    """The row groups that may have a key with one of these higher words."""
    ordered = np.sort(highs.astype(np.int64))
    column = next(i for i in range(metadata.num_columns) if metadata.schema.column(i).path == _KEY[0])
    found = []
    for group in range(metadata.num_row_groups):
        bounds = metadata.row_group(group).column(column).statistics
        if bounds is not None and bounds.has_min_max:
            at = int(np.searchsorted(ordered, bounds.min))
            if at == len(ordered) or ordered[at] > bounds.max:
                continue
        found.append(group)
    return found


def _warn_of(snapshot: Snapshot, error: Exception) -> None:
    warn(
        f"The record-level index of {snapshot.root} is not used, because {error}. Queries keep the files that it would "
        f"skip; the writer that keeps the index has to build it again.",
        ReadWarning,
    )
