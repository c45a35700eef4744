"""`deltaskip.verify`: the verification of a table that need not open."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import InvalidArgumentType
from deltaskip.maintenance.verify.findings import Verification
from deltaskip.maintenance.verify.gates import Gates
from deltaskip.storage import Storage, open_storage


@door
def verify(
    table: str | os.PathLike[str],
    data: bool = False,
    since: int | None = None,
    *,
    repair: bool = False,
    dry_run: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> Verification:
    """Check a table against the rules of the protocol, and return what violates them, even if it cannot be opened.

    Args:
        table: A local path or a URI, as for DeltaTable.
        data: Whether to read the data files, too, as in `DeltaTable.verify`.
        since: Commits, checkpoints and checksums of earlier versions are not looked at. The default is all.
        repair: Whether to mend what can be mended, as in `DeltaTable.verify`.
        dry_run: With `repair`: list the changes, and make none.
        storage_options: Options of object stores, as for DeltaTable.

    Returns:
        The findings; true if none of them is an error.

    Raises:
        TableNotFound: There is no log.
        StorageError: The log cannot be listed, or a repair failed.
        CommitConflict: Another writer changed the table during the repair.
        UnsupportedFeature: The table has a feature that deltaskip cannot write, for a repair.
        InvalidArgument: An argument has a wrong value.
        InvalidArgumentType: An argument has a wrong type.
    """
    storage, root = open_storage(arguments.path("table", table), arguments.storage_settings(storage_options))
    return verified(storage, root, data, since, repair=repair, dry_run=dry_run)


def verified(
    storage: Storage,
    root: str,
    data: bool,
    since: int | None,
    *,
    repair: bool = False,
    dry_run: bool = False,
    min_skipped: float | None = None,
    where: object = None,
    assert_stats: Sequence[str] = (),
    spark: Any = None,
) -> Verification:
    """Return the verification of a table, with the arguments of `DeltaTable.verify` checked."""
    from deltaskip.maintenance.verify.verify import verify as verify_table

    first = arguments.non_negative("since", since, f"(table {root})")
    if min_skipped is not None and (isinstance(min_skipped, bool) or not isinstance(min_skipped, int | float)):
        raise InvalidArgumentType.of("min_skipped", "a number", min_skipped)
    predicates = () if where is None else tuple(where) if isinstance(where, list | tuple) else (where,)
    gates = Gates(min_skipped, predicates, arguments.texts("assert_stats", assert_stats))
    options = {"repair": arguments.flag("repair", repair), "dry_run": arguments.flag("dry_run", dry_run)}
    return verify_table(storage, root, arguments.flag("data", data), first, **options, gates=gates, spark=spark)
