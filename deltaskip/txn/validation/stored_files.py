"""Look-ups of added files in storage: data files exist with their sizes, and deletion vectors have the rows claimed.

They depend on the files alone, not on the version that the commit follows, so that a retry needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import DELETION_VECTOR, AddCdcFile, AddFile, DeletionVectorDescriptor, hadoop_path
from deltaskip.errors import CorruptDeletionVector, DataFileMissing
from deltaskip.features.requirements import CommitSummary, check_writable
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.log.new_table import table_after
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.storage import storage_for
from deltaskip.txn.intent import dv_id
from deltaskip.txn.validation.candidate import Candidate
from deltaskip.txn.validation.commit_rules import refusal
from deltaskip.txn.validation.statistics import num_records, parsed_stats

_READERS = 32
_VECTORS = 256


def check_data_files(candidate: Candidate) -> None:
    """Raise InvalidCommit for the first added file that is missing or has another size, and for wrong deletion vectors.

    Active files that are added again with the same size are not looked up. Raises StorageError.
    """
    wanted = list(_wanted(candidate))
    if len(wanted) <= 1 or not candidate.base.storage.remote:
        # A local file answers sooner than a thread begins.
        for file in wanted:
            _check_size(candidate, file)
    else:
        with ThreadPoolExecutor(min(_READERS, len(wanted)), "deltaskip") as pool:
            for _ in pool.map(lambda file: _check_size(candidate, file), wanted):
                pass
    vectors = list(_with_new_vectors(candidate))
    for start in range(0, len(vectors), _VECTORS):
        _check_vectors(candidate, vectors[start : start + _VECTORS])


def _wanted(candidate: Candidate) -> Iterator[AddFile | AddCdcFile]:
    for key, add in candidate.intent.adds.items():
        old = candidate.known.get(key)
        if old is None or (old.size is not None and old.size != add.size):
            yield add
    yield from candidate.intent.cdc_files.values()


def _check_size(candidate: Candidate, file: AddFile | AddCdcFile) -> None:
    location = hadoop_path(candidate.base.table_root, file.path)
    try:
        size = storage_for(location, near=candidate.base.storage).size(location)
    except FileNotFoundError:
        _refuse(candidate, file, "files.missing", f"there is no file {location}; write it first, or correct the path")
    if size != file.size:
        why = f"the size of {location} is {size} bytes, not {file.size}; correct the action"
        _refuse(candidate, file, "files.missing", why)


def _with_new_vectors(candidate: Candidate) -> Iterator[tuple[str, AddFile, DeletionVectorDescriptor]]:
    for key, add in candidate.intent.adds.items():
        old = candidate.known.get(key)
        if add.deletion_vector is not None and (old is None or old.dv_id != dv_id(add)):
            yield key, add, add.deletion_vector


def _check_vectors(candidate: Candidate, found: Sequence[tuple[str, AddFile, DeletionVectorDescriptor]]) -> None:
    """Each vector can be read, deletes rows that its file has, and none that it should keep deleted comes back."""
    rule = "files.deletion-vector"
    try:
        new = _rows(candidate, found, [vector for _, _, vector in found])
    except (CorruptDeletionVector, DataFileMissing) as error:
        raise refusal(rule, f"A deletion vector of {candidate.place} cannot be read: {error}") from error
    known_vectors = [known.vector if (known := candidate.known.get(key)) else None for key, _, _ in found]
    old = _rows(candidate, found, known_vectors)
    for (_, add, _), rows, before in zip(found, new, old, strict=True):
        kept = before is None or rows is None or pc.all(pc.is_in(before, value_set=rows), min_count=0).as_py()
        if kept:
            continue
        if not add.data_change:
            why = "its deletion vector deletes other rows, so dataChange must be true"
            _refuse(candidate, add, "files.data-change", why)
        base = candidate.base
        where = f"Version {base.version} of {base.root}"
        check_writable(candidate.protocol, candidate.properties, candidate.schema, where, CommitSummary(adds_rows=True))


def _rows(
    candidate: Candidate,
    found: Sequence[tuple[str, AddFile, DeletionVectorDescriptor]],
    vectors: Sequence[DeletionVectorDescriptor | None],
) -> list[pa.Int64Array | None]:
    fields = [field.name for field in DELETION_VECTOR]
    values = [None if each is None else {name: getattr(each, name) for name in fields} for each in vectors]
    array = arrow_array(values, DELETION_VECTOR)
    counts = [num_records(parsed_stats(add.stats)) for _, add, _ in found]
    files = pa.table({"uri": [add.path for _, add, _ in found], "num_records": arrow_array(counts, pa.int64())})
    return read_deleted_rows(candidate.base.storage, candidate.base.table_root, files, array)


def _refuse(candidate: Candidate, file: AddFile | AddCdcFile, rule: str, why: str) -> NoReturn:
    base = candidate.base
    raise refusal(rule, f"{file.path} cannot be added to {table_after(base)}: {why}")
