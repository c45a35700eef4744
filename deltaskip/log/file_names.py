"""Names of the files in `_delta_log`."""

from enum import Enum

from deltaskip.features.change_data_feed import CHANGE_FOLDER
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import LONG_MAX
from deltaskip.storage import LOG_FOLDER, FileInfo

# A table must not be created below these folders: other clients treat every file in them as part of the outer table.
FOLDERS_OF_TABLES = frozenset((LOG_FOLDER, CHANGE_FOLDER, "_delta_index", "_symlink_format_manifest"))
SIDECAR_FOLDER = "_sidecars"
_DIGITS = 20
_PART_DIGITS = 10


class Kind(Enum):
    """The kind of a log file."""

    COMMIT = "commit"
    CLASSIC_CHECKPOINT = "classic checkpoint"
    CHECKPOINT_PART = "part of a multi-part checkpoint"
    UUID_PARQUET_CHECKPOINT = "UUID-named Parquet checkpoint"
    UUID_JSON_CHECKPOINT = "UUID-named JSON checkpoint"
    COMPACTION = "log compaction"
    CHECKSUM = "version checksum"


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of the log. end: last version of a compaction (inclusive). part: ordinal from 1 of `parts` parts."""

    kind: Kind
    version: int
    file: FileInfo
    end: int = -1
    part: int = 0
    parts: int = 0

    @property
    def path(self) -> str:
        """The file's location."""
        return self.file.path


def version_prefix(version: int) -> str:
    """The 20 digits that the name of every file of that version starts with."""
    return f"{version:0{_DIGITS}d}"


def commit_name(version: int) -> str:
    """The name of a version's commit file."""
    return f"{version_prefix(version)}.json"


def restore_or_go_back(version: int) -> str:
    """The advice for a damaged file of that version, as the end of a sentence."""
    return "restore that file" if version == 0 else f"restore that file, or open a version before {version}"


def parse_log_file(file: FileInfo) -> LogFile | None:
    """Return the log file with this name; None if it is not a log file (`.tmp`, `_last_checkpoint` …)."""
    name = file.name
    version = _number(name[:_DIGITS], _DIGITS)
    if version is None or version > LONG_MAX:
        return None
    rest = name[_DIGITS:]
    if rest == ".json":
        return LogFile(Kind.COMMIT, version, file)
    match rest.split(".")[1:]:
        case ["crc"]:
            return LogFile(Kind.CHECKSUM, version, file)
        case ["checkpoint", "parquet"]:
            return LogFile(Kind.CLASSIC_CHECKPOINT, version, file)
        case ["checkpoint", unique, "parquet"] if unique:
            return LogFile(Kind.UUID_PARQUET_CHECKPOINT, version, file)
        case ["checkpoint", unique, "json"] if unique:
            return LogFile(Kind.UUID_JSON_CHECKPOINT, version, file)
        case ["checkpoint", ordinal, count, "parquet"]:
            part, parts = _number(ordinal, _PART_DIGITS), _number(count, _PART_DIGITS)
            if part is None or parts is None or not 1 <= part <= parts:
                return None
            return LogFile(Kind.CHECKPOINT_PART, version, file, part=part, parts=parts)
        case [last, "compacted", "json"]:
            end = _number(last, _DIGITS)
            return None if end is None or end < version else LogFile(Kind.COMPACTION, version, file, end=end)
        case _:
            return None


def _number(text: str, digits: int) -> int | None:
    return int(text) if len(text) == digits and text.isascii() and text.isdigit() else None
