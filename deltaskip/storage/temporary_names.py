"""Names of temporary files that are renamed when they are complete; a killed writer leaves them behind."""

from uuid import uuid4

_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# delta-spark's HDFSLogStore names them alike; Hadoop's local file system adds a checksum file to each.
TEMPORARY = rf"\.[^/]+\.{_UUID}\.tmp(\.crc)?"
"""Pattern of hidden temporary files, for re and for pyarrow.compute."""

LOG_TEMPORARY = rf"{TEMPORARY}|_commit_[^/]+\.json\.tmp|\.(\d{{20}}|_last_checkpoint)\.[^/]+\.tmp"
"""Pattern of the temporary files in a log, including those of delta-rs and other writers."""


def temporary_name(name: str, hidden: bool = True) -> str:
    """Return a unique name for a temporary file that becomes `name`.

    hidden: Whether it begins with a dot, so that readers and a plain VACUUM ignore it.
    """
    return f"{'.' if hidden else ''}{name}.{uuid4()}.tmp"
