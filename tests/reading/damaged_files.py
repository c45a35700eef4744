"""Damaged Parquet files of several writers: what the kernels take from them, beside what pyarrow decodes.

`python -m tests.reading.damaged_files --seeds 50000` prints the faults: values that the kernels take where pyarrow
raises or reads others, errors that do not derive from DeltaSkipError, hangs, and processes that die; `--seed 17`
repeats one. Files are read by processes with limits of time and memory. pyarrow decides what a kernel leaves to it.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, StorageError, UnsupportedFeature
from deltaskip.reading.column_chunks import decode_columns
from deltaskip.reading.plain_columns import leaf_numbers
from deltaskip.reading.small_files import SmallFiles
from deltaskip.stats.bloom_filters import has_filter, may_contain
from deltaskip.stats.footer import COLUMNS, DAMAGE, OpenSource, read_footer
from tests import corpus
from tests.seeded_processes import arguments, read_seeds, tell, told_of

_SECONDS = 15
_MEMORY_BYTES = 4 << 30
_HEADER_BYTES = 48

# Files that Spark, Photon and delta-rs have written, by their table.
_CORPUS = (
    "craft__dv_bad_checksum", "golden__parquet-all-types", "golden__parquet-all-types-legacy-format",
    "deltars__delta-stats-optional", "deltars__table_with_deletion_logs", "golden__data-reader-array-primitives",
    "gen__type_widening", "golden__spark-variant-checkpoint", "deltars__table_failed_last_checkpoint_update",
    "kernelrs__with-short-dv",
)  # fmt: skip
_PYARROW: dict[str, dict[str, Any]] = {
    "v1-snappy": {},
    "v2-snappy": {"data_page_version": "2.0"},
    "v1-plain": {"compression": "none"},
    "v1-plain-values": {"compression": "none", "use_dictionary": False},
    "v2-plain-values": {"compression": "none", "use_dictionary": False, "data_page_version": "2.0"},
    "v1-zstd": {"compression": "zstd", "store_decimal_as_integer": True},
    "v2-gzip": {"compression": "gzip", "data_page_version": "2.0"},
    "v1-brotli-int96": {"compression": "brotli", "use_deprecated_int96_timestamps": True},
    "v1-filters": {"bloom_filter_options": {"id": {"ndv": 64}, "tiny": {"ndv": 9}}, "write_statistics": False},
    "v1-checksums": {"write_page_checksum": True, "write_page_index": True},
    "v1-snappy-values": {"use_dictionary": False},
    "pages": {"data_page_size": 128, "write_batch_size": 16, "compression": "none"},
    "v2-pages": {"data_page_size": 128, "write_batch_size": 16, "data_page_version": "2.0"},
    "row-groups": {"row_group_size": 50},
}
# Files whose column chunks have several pages, some of which may have no row to take.
_PAGED = ("pages", "v2-pages")


@dataclass(frozen=True)
class Source:
    """A file that is not damaged, and a table of it; None if its columns have no table here."""

    name: str
    data: bytes
    table: Path | None
    _known: dict[tuple[str, int | None], pa.Array] = field(default_factory=dict)

    def decoded(self, path: Path) -> dict[tuple[str, int | None], pa.Array]:
        """What pyarrow decodes of it; path: where it was written."""
        if not self._known:
            self._known.update(_decoded(path))
        return self._known


def run(seeds: Sequence[int], folder: Path, processes: int = 2) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Damage and read one file for each seed.

    Returns what is told of those with a fault, and how often the kernels and pyarrow did what.
    """
    _sources(folder)
    found = told_of("tests.reading.damaged_files", folder, seeds, processes, _SECONDS)
    counts = sum((Counter(told.get("counts", ())) for told in found), Counter[str]())
    return [told for told in found if "fault" in told], counts


def _read(sources: Sequence[Source], scratch: Path, seed: int) -> None:
    rng = random.Random(seed)
    source = sources[seed % len(sources)]
    data, damage = _damaged(source.data, rng)
    tell(file=source.name, damage=damage)
    counts: Counter[str] = Counter()
    try:
        _compare(source, data, rng, scratch, counts)
    finally:
        tell(counts=counts)


def _compare(source: Source, data: bytes, rng: random.Random, scratch: Path, counts: Counter[str]) -> None:
    """Raise AssertionError if the kernels take other values than pyarrow decodes, or take some where it raises."""
    whole, damaged = scratch / "whole.parquet", scratch / "damaged.parquet"
    whole.write_bytes(source.data)
    damaged.write_bytes(data)
    rows = pq.read_metadata(whole).num_rows
    chosen = np.array(sorted(rng.sample(range(rows), max(1, rows // 9))), np.int64)
    tell(act="small files")
    # Files of one kind share what pyarrow has read of the first.
    assert all(opened is not None for _, opened in SmallFiles.runs([str(whole)])) or source.name == "row-groups"
    found = {(name, few): array for few in (False, True) for name, array in _small(damaged, chosen if few else None)}
    tell(act="pyarrow")
    decoded = _decoded(damaged)
    original = source.decoded(whole)
    for (name, few), array in found.items():
        expected = decoded.get((name, None))
        _check(source, name, array, expected, original.get((name, None)), chosen if few else None, counts)
    tell(act="few rows")
    for group, name, positions, array in _few(damaged, rng):
        _check(source, name, array, decoded.get((name, group)), original.get((name, group)), positions, counts)
    tell(act="filters")
    _ask_filters(damaged, counts)
    if source.table is not None and rng.random() < 0.2:
        tell(act="scan")
        (source.table / "1.parquet").write_bytes(data)
        counts["scans"] += 1
        try:
            scanned = ds.DeltaTable(source.table).scan().to_arrow()
        except DeltaSkipError:
            return
        # As for Spark, the letter case of names in files does not matter.
        stored = {stored_name.lower(): array for (stored_name, group), array in decoded.items() if group is None}
        for name in scanned.column_names:
            if name not in stored and scanned[name].null_count == len(scanned):
                # The damage gave the column another name.
                continue
            expected = stored.get(name)
            assert expected is not None, f"{name} is scanned, but pyarrow raises"
            assert _same(scanned[name].combine_chunks(), expected.cast(scanned[name].type)), f"{name} differs"


def _check(
    source: Source,
    name: str,
    array: pa.Array | None,
    expected: pa.Array | None,
    original: pa.Array | None,
    positions: np.ndarray[Any, Any] | None,
    counts: Counter[str],
) -> None:
    """Check what a kernel took, None if nothing, against what pyarrow decoded, None if it raised."""
    counts[f"{'left to pyarrow' if array is None else 'taken'}, {'raises' if expected is None else 'decoded'}"] += 1
    if array is None:
        return
    taken = None if positions is None else pa.array(positions)
    if expected is not None and taken is not None and len(expected) > positions[-1]:
        expected = expected.take(taken)
    if (
        source.name in _PAGED
        and taken is not None
        and original is not None
        and (expected is None or not _same(array, expected))
    ):
        # The damage is in a page without a row to take.
        assert _same(array, original.take(taken)), f"{name} has other values than before, and than pyarrow decodes"
        return
    assert expected is not None, f"{name} is taken, but pyarrow raises"
    assert _same(array, expected), f"{name} differs: {array.to_pylist()[:20]} and {expected.to_pylist()[:20]}"


def _same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays have the same bytes, of which some may be no text and no number."""
    plain = {"string": pa.binary(), "float": pa.int32(), "double": pa.int64(), "halffloat": pa.int16()}
    if one.type != other.type:
        return False
    kind = plain.get(str(one.type))
    return bool(one.view(kind).equals(other.view(kind)) if kind is not None else one.equals(other))


def _small(path: Path, positions: np.ndarray[Any, Any] | None) -> Iterator[tuple[str, pa.Array | None]]:
    """The columns of a file that the kernel for small files takes."""
    for _, opened in SmallFiles.runs([str(path)]):
        if opened is not None:
            for name in opened.schema.names:
                if positions is not None and positions[-1] >= opened.starts[-1]:
                    continue
                found = opened.columns([name], positions)
                yield name, None if found is None else found[name]


def _few(path: Path, rng: random.Random) -> Iterator[tuple[int, str, np.ndarray[Any, Any], pa.Array | None]]:
    """Rows of the columns of row groups that the kernel for few rows takes."""
    try:
        with pa.OSFile(str(path)) as file:
            parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
            schema = parquet.schema_arrow
            leaves = leaf_numbers(schema) if len(set(schema.names)) == len(schema.names) else {}
            for group in range(parquet.num_row_groups):
                rows = min(parquet.metadata.row_group(group).num_rows, 1 << 20)
                if rows <= 0:
                    continue
                positions = np.array(sorted(rng.sample(range(rows), max(1, rows // 9))), np.int64)
                found = decode_columns(file, parquet.metadata, schema, [group], leaves, positions)
                for name in leaves:
                    yield group, name, positions, found.get(name)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return


def _ask_filters(path: Path, counts: Counter[str]) -> None:
    """Ask the Bloom filters of a file. What is damaged raises what reading a damaged footer raises."""
    with pa.OSFile(str(path)) as file:
        try:
            footer = read_footer(OpenSource(file), "")
            chunks = [
                (group, leaf) for group, each in enumerate(footer.row_groups) for leaf in range(len(each[COLUMNS]))
            ]
            chunks = [(group, leaf) for group, leaf in chunks if has_filter(footer, group, leaf)]
            found = may_contain(file, footer, [(group, leaf, [bytes(8)]) for group, leaf in chunks])
            counts["filters"] += len(found)
        except (StorageError, UnsupportedFeature, *DAMAGE):
            return


def _decoded(path: Path) -> dict[tuple[str, int | None], pa.Array]:
    """The columns that pyarrow decodes, of each row group and (None) of the file; those where it raises are missing."""
    found: dict[tuple[str, int | None], pa.Array] = {}
    try:
        parquet = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
        metadata, names = parquet.metadata, parquet.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        return found
    for name in names:
        for group in (None, *range(metadata.num_row_groups)):
            if group == 0 and metadata.num_row_groups == 1:
                if (name, None) in found:
                    found[name, group] = found[name, None]
                continue
            numbers = list(range(metadata.num_row_groups)) if group is None else [group]
            try:
                array = parquet.read_row_groups(numbers, [name], use_threads=False)[name].combine_chunks()
            except (pa.ArrowException, OSError, KeyError, MemoryError):
                continue
            if len(array) == sum(metadata.row_group(number).num_rows for number in numbers):
                found[name, group] = array
    return found


def _damaged(data: bytes, rng: random.Random) -> tuple[bytes, str]:
    """The bytes with one damage or two, and where: in headers of pages, within pages, or in the footer."""
    out = bytearray(data)
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    starts = _page_starts(data)
    done = []
    for _ in range(rng.choice((1, 1, 1, 1, 2))):
        where = rng.choice(("header", "header", "page", "page", "page", "footer"))
        if where == "footer":
            first, last = footer, len(data)
        elif where == "header":
            first = rng.choice(starts)
            last = min(first + _HEADER_BYTES, footer)
        else:
            first, last = 4, footer
        at = rng.randrange(first, last)
        way = rng.choice(("byte", "bit", "bit", "step", "swap", "cut", "zeros", "copy"))
        if way == "byte":
            out[at] = rng.randrange(256)
        elif way == "bit":
            out[at] ^= 1 << rng.randrange(8)
        elif way == "step":
            out[at] = (out[at] + rng.choice((-1, 1))) % 256
        elif way == "swap":
            other = min(at + rng.choice((1, 1, 2, 4, 8)), last - 1)
            out[at], out[other] = out[other], out[at]
        elif way == "cut":
            n = min(rng.choice((1, 1, 2, 4, 20)), last - at)
            out[at:last] = out[at + n : last] + bytes(n)
        elif way == "zeros":
            n = min(rng.choice((2, 4, 8)), last - at)
            out[at : at + n] = bytes(n)
        else:
            n = min(rng.choice((1, 2, 8)), last - at)
            out[at:last] = (out[at : at + n] + out[at:last])[: last - at]
        done.append(f"{way} at {at} ({where})")
    return bytes(out), ", ".join(done)


def _page_starts(data: bytes) -> list[int]:
    """Where pages begin: the first ones of the column chunks, and their first data pages."""
    metadata = pq.read_metadata(pa.BufferReader(data))
    found = []
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            found.append(chunk.data_page_offset)
            if chunk.dictionary_page_offset:
                found.append(chunk.dictionary_page_offset)
    return found


def _sources(folder: Path) -> list[Source]:
    """The files, which are written once and read again from the folder."""
    files = folder / "files"
    if not files.exists():
        making = folder / "making"
        making.mkdir(parents=True)
        _make(making)
        making.rename(files)
    found = []
    for path in sorted(files.iterdir()):
        name, data = path.stem, path.read_bytes()
        found.append(Source(name, data, _table(folder, name, data)))
    return found


def _make(files: Path) -> None:
    rows = _rows(150)
    for name, options in _PYARROW.items():
        pq.write_table(rows, files / f"{name}.parquet", **options)
    own = ds.DeltaTable.create(files / "own", rows.drop_columns(["struct", "list", "map"]).schema)
    own.append(rows.drop_columns(["struct", "list", "map"]))
    if importlib.util.find_spec("deltalake"):
        import deltalake

        deltalake.write_deltalake(str(files / "rs"), rows)
    if importlib.util.find_spec("duckdb"):
        import duckdb

        connection = duckdb.connect()
        connection.register("rows", rows)
        for codec in ("snappy", "zstd", "uncompressed"):
            target = files / f"duckdb-{codec}.parquet"
            connection.execute(f"COPY (SELECT * FROM rows) TO '{target}' (FORMAT parquet, COMPRESSION {codec})")
    for name in ("own", "rs"):
        if (files / name).exists():
            [written] = (files / name).glob("*.parquet")
            written.rename(files / f"{name}.parquet")
            _remove(files / name)
    for name in _CORPUS if corpus.present() else ():
        kept = [path for path in sorted(corpus.table(name).path.rglob("*.parquet")) if "_delta_log" not in path.parts]
        (files / f"{name}.parquet").write_bytes(max(kept, key=lambda path: path.stat().st_size).read_bytes())


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def _rows(count: int) -> pa.Table:
    """Rows of every type that the kernels take, with nulls and without, and of nested ones, which they do not."""
    rng = random.Random(1)
    day = dt.datetime(2020, 1, 1)

    def some(value: Any) -> Any:
        return None if rng.random() < 0.3 else value

    numbers = range(count)
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "few": pa.array([some(number % 7) for number in numbers], pa.int32()),
        "tiny": pa.array([number % 100 - 50 for number in numbers], pa.int8()),
        "flag": pa.array([some(number % 3 == 0) for number in numbers]),
        "sure": pa.array([number % 5 == 0 for number in numbers]),
        "text": pa.array([some(f"word {number % 11}") for number in numbers]),
        "long": pa.array([f"{number:030x}" for number in numbers]),
        "bytes": pa.array([some(bytes([number % 256] * (number % 5))) for number in numbers], pa.binary()),
        "float": pa.array([some(number / 3) for number in numbers], pa.float32()),
        "double": pa.array([number / 7 for number in numbers], pa.float64()),
        "day": pa.array([some(day.date() + dt.timedelta(number)) for number in numbers]),
        "time": pa.array([some(day + dt.timedelta(seconds=number)) for number in numbers], pa.timestamp("us", "UTC")),
        "small": pa.array([some(Decimal(number % 40) / 100) for number in numbers], pa.decimal128(7, 2)),
        "large": pa.array([some(Decimal(number - 70) * 10**20) for number in numbers], pa.decimal128(38, 2)),
        "runs": pa.array([number // 40 for number in numbers], pa.int64()),
        "nothing": pa.array([None] * count, pa.int64()),
        "struct": pa.array([some({"x": number, "y": some("y")}) for number in numbers]),
        "list": pa.array([some([number, None]) for number in numbers], pa.list_(pa.int64())),
        "map": pa.array([some([("k", number)]) for number in numbers], pa.map_(pa.string(), pa.int64())),
    }
    kept = {"id", "tiny", "sure", "long", "double", "runs"}
    fields = [pa.field(name, array.type, nullable=name not in kept) for name, array in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def _table(folder: Path, name: str, data: bytes) -> Path | None:
    """A table of a file of the rows above; None for those of the corpus."""
    if name in _CORPUS or name.startswith("duckdb") or name.endswith("int96"):
        return None
    # Every process has its own.
    root = Path(tempfile.mkdtemp(dir=folder))
    table = ds.DeltaTable.create(root, pq.read_schema(pa.BufferReader(data)).remove_metadata())
    (root / "1.parquet").write_bytes(data)
    table.add_files(["1.parquet"])
    return root


def main() -> None:
    """The command."""
    given = arguments(__doc__, 1000)
    with tempfile.TemporaryDirectory(prefix="deltaskip-damaged-") as folder:
        if given.read is not None:
            read_seeds(lambda: partial(_read, _sources(given.read), Path(folder)), _MEMORY_BYTES)
            return
        findings, counts = run(given.seeds, Path(folder), given.processes)
        names = [path.stem for path in sorted((Path(folder) / "files").iterdir())]
    for told in findings:
        print(f"seed {told['seed']}: {told.get('file')}: {told.get('damage')}\n  {told['fault']}\n")
    print(f"{len(findings)} faults in {len(given.seeds)} damaged copies of {len(names)} files: {', '.join(names)}")
    for what, count in sorted(counts.items()):
        print(f"  {what}: {count}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
