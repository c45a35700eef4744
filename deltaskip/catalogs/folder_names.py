"""Names of tables and namespaces as names of folders, which every file system and object store keeps apart."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from deltaskip.errors import InvalidArgument

__all__ = ["folder_of", "name_of"]

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST = 200


def folder_of(name: str) -> str:
    """Return the name of the folder for a part of a name.

    All bytes but those of a-z, 0-9, `_` and `-` are percent-encoded, and so is a leading `_`: readers of Delta and
    Spark take names that begin with `_` or `.` for hidden, and some file systems do not distinguish letter case.

    Raises InvalidArgument for a name that is too long for a file system.
    """
    encoded = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())
    if encoded.startswith("_"):
        encoded = "%5F" + encoded[1:]
    if len(encoded) > _LONGEST:
        raise InvalidArgument(
            f"The name {name[:50]!r}… is too long for a folder: at most {_LONGEST} bytes, of which characters other "
            f"than a-z, 0-9, _ and - take three or more."
        )
    return encoded


def name_of(folder: str) -> str | None:
    """Return the part of a name that a folder stands for; None if `folder_of` gives no name this folder."""
    try:
        name = unquote_to_bytes(folder).decode()
        return name if name and folder_of(name) == folder else None
    except (UnicodeError, InvalidArgument):
        return None
