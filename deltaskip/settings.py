"""Settings of this process: where small changes run, and how many bytes are read, kept and written at once.

import deltaskip as ds

ds.options.spark_jobs = "always"
with ds.options.changed(read_piece_bytes=4 << 20):
    table.scan().to_batches()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args, get_type_hints

from deltaskip.errors import InvalidArgument, InvalidArgumentType, meant


class Options:
    """Settings that apply to every table of this process. Numbers are 0 or greater, sizes in bytes 1 or greater.

    Attributes:
        spark_jobs: The executor of small changes with a Spark session: "auto", this process if it finishes before a
            job would start; "always", Spark jobs.
        values_found_here: The most values that this process reads to find the rows of a change, instead of a job. A
            string counts as six values, and over a network every value as eight.
        values_copied_here: The most values that this process copies into new files, instead of a job on a cluster.
        values_copied_locally: Like `values_copied_here`, if the tasks of a job would run on this machine.
        source_bytes: The most bytes, as Spark estimates them, of a merge's source that this process collects.
        listed_files: From this number of files on, Spark gets their list instead of listing folders.
        partition_scans: The most scans with separate partition values in one Spark plan; 0 joins the values instead.
        footer_bytes: The most bytes of new files that this process reads for statistics that footers do not prove.
        executor_file_bytes: The largest file that one executor reads as a whole to recompute statistics.
        read_piece_bytes: Bytes of a file that are read and decoded at once.
        read_together_bytes: Bytes up to which small files are read together.
        read_staged_bytes: From this size on, the columns of the predicate are read first, and the others for the rows
            that match.
        log_piece_bytes: Bytes of a large commit that are read at once.
        log_bytes: Bytes of commits that are parsed at once.
        log_held_bytes: Commits of more bytes than this are parsed when they are needed, and not cached.
        listing_seconds: The most seconds that the listing of a folder of an object store may take.
        deleted_rows: The encoding of deleted rows for Spark: "bits", one bit for each row of a file; "positions", the
            positions of deleted rows; "auto", the smaller encoding.
        write_batch_bytes: Bytes of new rows that are converted at once; strings of one Arrow array have at most 2 GiB.
        row_group_bytes: Size in memory of the rows of a row group of a new file.
        write_waiting_bytes: Bytes of rows that wait in memory until they are written.
        parallel_file_bytes: Rows of this size are written to a separate file, so that several files are encoded in
            parallel; a fourth of this size if an update or merge replaces as many files.
        optimize_here_bytes: The most bytes of files that this process rewrites in OPTIMIZE, instead of Spark jobs.
        optimize_job_bytes: Bytes of files that OPTIMIZE rewrites for one commit; a killed process loses no more.
        journal: Path of a local file in which scans note their predicates, with the values in them, for
            `DeltaTable.advise`; empty for none.
    """

    spark_jobs: Literal["auto", "always"] = "auto"
    values_found_here: int = 64_000_000
    values_copied_here: int = 8_000_000
    values_copied_locally: int = 256_000_000
    source_bytes: int = 64 << 20
    listed_files: int = 1_000
    partition_scans: int = 64
    footer_bytes: int = 32 << 20
    executor_file_bytes: int = 512 << 20
    read_piece_bytes: int = 16 << 20
    read_together_bytes: int = 1 << 20
    read_staged_bytes: int = 1 << 17
    log_piece_bytes: int = 64 << 20
    log_bytes: int = 256 << 20
    log_held_bytes: int = 1 << 30
    listing_seconds: int = 60
    deleted_rows: Literal["auto", "bits", "positions"] = "auto"
    write_batch_bytes: int = 1 << 29
    row_group_bytes: int = 128 << 20
    write_waiting_bytes: int = 512 << 20
    parallel_file_bytes: int = 32 << 20
    optimize_here_bytes: int = 1 << 30
    optimize_job_bytes: int = 8 << 30
    journal: str = ""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _TYPES:
            raise InvalidArgument(
                f"There is no option {name!r}.{meant(name, _TYPES)} The options are {', '.join(sorted(_TYPES))}."
            )
        words = get_args(_TYPES[name])
        if words and value not in words:
            raise InvalidArgument(f"The option {name} must be one of {', '.join(map(repr, words))}, not {value!r}.")
        kind = _TYPES[name]
        if not words and (isinstance(value, bool) or not isinstance(value, kind)):
            known = "an int" if kind is int else "a str"
            raise InvalidArgumentType(f"The option {name} must be {known}, not {type(value).__name__}.")
        least = 1 if name.endswith("_bytes") else 0
        if kind is int and value < least:
            raise InvalidArgument(f"The option {name} must be {least} or greater, not {value}.")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}={getattr(self, name)!r}' for name in _TYPES)})"

    @contextmanager
    def changed(self, **values: Any) -> Iterator[None]:
        """Return a context in which options have other values in every thread.

        Args:
            **values: Values by the name of the option.

        Raises:
            InvalidArgument: The option does not exist, or cannot have the value.
            InvalidArgumentType: The value has a wrong type.
        """
        before = {name: getattr(self, name) for name in values if name in _TYPES}
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)


_TYPES = get_type_hints(Options)

options = Options()
"""The settings of this process."""
