"""The folder that a streaming query of Spark writes Parquet files into: which of them it has committed.

# Spark 4.1, FileStreamSinkLog, CompactibleFileStreamLog: `_spark_metadata/N` has the files of batch N, and `N.compact`
# those of all batches so far; a line with the version, then a JSON object a line
"""

from __future__ import annotations

from urllib.parse import unquote

from deltaskip.doors import first_line
from deltaskip.errors import StorageError
from deltaskip.json_text import parse_json
from deltaskip.storage import Storage, is_local, join, parse_location

__all__ = ["sink_files"]

_LOG = "_spark_metadata"
_COMPACT = ".compact"


def sink_files(storage: Storage, folder: str) -> frozenset[str] | None:
    """Return the locations of the committed files; None if no streaming query writes into the folder.

    Raises StorageError if the query's log cannot be read.
    """
    log = join(folder, _LOG)
    try:
        names = [entry.name for entry in storage.list_from(log, "") if entry.is_file]
    except FileNotFoundError:
        return None
    batches = {name.removesuffix(_COMPACT): name for name in names if name.removesuffix(_COMPACT).isdigit()}
    if not batches:
        return None
    numbers = sorted(map(int, batches))
    first = max((number for number in numbers if batches[str(number)].endswith(_COMPACT)), default=numbers[0])
    found: dict[str, None] = {}
    for number in numbers:
        if number < first:
            continue
        path = join(log, batches[str(number)])
        try:
            for line in storage.read(path).decode().splitlines()[1:]:
                entry = parse_json(line)
                location = _location(str(entry["path"]))
                if entry["action"] == "add":
                    found[location] = None
                else:
                    found.pop(location, None)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(f"The log {path} of a streaming query cannot be read: {first_line(error)}.") from error
    return frozenset(found)


def _location(path: str) -> str:
    location = parse_location(path)
    return location if is_local(location) else unquote(location)
