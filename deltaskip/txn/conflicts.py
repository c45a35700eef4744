"""Conflict detection: whether a transaction is still valid after the commits of other writers.

A transaction that read version r and would become version w is valid if it would have the same actions after every
commit in between, the winners. Each rule lists the winners that it conflicts with:

* protocol, metaData: every winner that changes one of them; the transaction was prepared under the old one.
* append/read: rows that the transaction would have read. Under Serializable this applies to every winner, under
  WriteSerializable only to winners that are not blind appends, since a blind append may be ordered after the
  transaction; except if the transaction changes the metadata, because the rows were written under the old metadata.
  A winner without data change adds no rows, and for a transaction that only rearranges rows the order does not matter.
  A transaction that records something about its reads (a domain, an application version) does more than that.
* metaData that is valid only for the files that the transaction knows (a new constraint, partitioning or type): every
  add.
* delete/read: a file that the transaction read was removed.
* delete/delete, add/add, delete/add: a file that the transaction removes or adds was removed or added by a winner.
* txn: the same application, whose version the transaction read or writes. domainMetadata: the same domain, except
  `delta.rowTracking`, whose high-water mark every attempt takes from the latest version.

Whether added files may match a predicate is decided by data skipping, which never skips a file with a matching row.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import absolute_uris
from deltaskip.errors import CommitConflict
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import to_sql
from deltaskip.sparkexpr.values.arrow_values import arrow_array, one_chunk
from deltaskip.txn.intent import Intent
from deltaskip.txn.winners import Winners

_SHOWN_PATHS = 3
_REPEAT = "read the table again and repeat the operation"


def check_conflicts(intent: Intent, isolation: str, winners: Winners, every_file: bool = False) -> None:
    """Return if the transaction is still valid after the winners, otherwise raise CommitConflict.

    every_file: whether the transaction is valid only for the files of its snapshot, so that every new file conflicts.
    """
    _check_state(intent, winners)
    if not winners.commits.actions.num_rows:
        return
    _check_removes(intent, winners)
    _check_adds_again(intent, winners)
    if every_file:
        _check_no_adds(intent, winners)
    if not intent.rearranges and isolation != "SnapshotIsolation":
        _check_new_rows(intent, isolation, winners)


def _check_state(intent: Intent, winners: Winners) -> None:
    for version, _ in winners.others("protocol"):
        raise _conflict(intent, version, "protocol", "changed the protocol of the table")
    for version, _ in winners.others("metaData"):
        raise _conflict(intent, version, "metadata", "changed the schema or the properties of the table")
    apps = intent.apps | set(intent.txns)
    for version, members in winners.others("txn"):
        if members.get("appId") in apps:
            raise _conflict(intent, version, "transaction", f"set a version of the application {members.get('appId')}")
    for version, members in winners.others("domainMetadata"):
        domain = members.get("domain")
        if domain in intent.domains and domain != ROW_TRACKING_DOMAIN:
            raise _conflict(intent, version, "domain", f"set the metadata domain {domain}")


def _check_removes(intent: Intent, winners: Winners) -> None:
    canonical, raw, versions = winners.paths(is_remove=True)
    if not len(raw):
        return
    _refuse(intent, "delete-delete", "removed", "removes or adds", intent.touched, canonical, raw, versions=versions)
    _refuse(intent, "delete-read", "removed", "read", intent.files, canonical, raw, versions=versions)
    uris = absolute_uris(intent.base.table_root, raw)
    for scan in intent.scans:
        gone = pc.is_in(uris, value_set=one_chunk(scan.files(columns=["uri"])["uri"]))
        if pc.any(gone).as_py():
            raise _files_conflict(intent, "delete-read", "removed", "read", raw.filter(gone), versions.filter(gone))


def _check_adds_again(intent: Intent, winners: Winners) -> None:
    """A winner's add of a path that the transaction also adds would be overwritten."""
    canonical, raw, versions = winners.paths(is_remove=False)
    added = {key: action.path for key, action in intent.adds.items()}
    _refuse(intent, "add-add", "added again", "adds", added, canonical, raw, versions=versions)


def _check_no_adds(intent: Intent, winners: Winners) -> None:
    _, raw, versions = winners.paths(is_remove=False)
    if len(raw):
        raise _files_conflict(intent, "append", "added", "sets new metadata for", raw, versions)


def _check_new_rows(intent: Intent, isolation: str, winners: Winners) -> None:
    if not intent.scans:
        return
    appended = winners.new_rows(blind_appends=isolation == "Serializable" or intent.metadata is not None)
    if appended is None:
        return
    for scan in intent.scans:
        again = Scan(appended, ReadOptions(scan.where, time_zone=scan.time_zone, meaning=scan.meaning))
        may = again.files(columns=["path"])["path"].to_pylist()
        if may:
            raise CommitConflict(
                f"Another writer committed version {winners.versions[0]} or later of {intent.base.root} and added "
                f"{_named(may)}, which may contain rows that match the predicate {to_sql(scan.predicate)}, after "
                f"version {intent.base.version} was read: read the table again and repeat the operation.",
                "append",
                tuple(may),
            )


def _refuse(
    intent: Intent,
    kind: str,
    did: str,
    does: str,
    ours: Iterable[str],
    canonical: pa.Array,
    raw: pa.Array,
    *,
    versions: pa.Array,
) -> None:
    keys = list(ours)
    if not keys:
        return
    met = pc.is_in(canonical, value_set=arrow_array(keys, pa.string()))
    if pc.any(met).as_py():
        raise _files_conflict(intent, kind, did, does, raw.filter(met), versions.filter(met))


def _files_conflict(
    intent: Intent, kind: str, did: str, does: str, paths: pa.Array, versions: pa.Array
) -> CommitConflict:
    unique = tuple(dict.fromkeys(paths.to_pylist()))
    what = f"{did} {_named(unique)}, which this commit {does}"
    cure = _REPEAT
    if kind in ("delete-delete", "add-add") and not intent.cdc_files and len(unique) < intent.actions:
        # CDC files cover the changes of all files, so that none can be left out.
        cure = f"commit the other actions after leave_out(*error.paths), or {_REPEAT}"
    return _conflict(intent, versions[0].as_py(), kind, what, unique, cure)


def _conflict(
    intent: Intent, version: int, kind: str, what: str, paths: tuple[str, ...] = (), cure: str = _REPEAT
) -> CommitConflict:
    base = intent.base
    return CommitConflict(
        f"Another writer committed version {version} of {base.root} and {what}, after version {base.version} was read "
        f"for {intent.operation}: {cure}.",
        kind,
        paths,
    )


def _named(paths: Iterable[str]) -> str:
    listed = list(paths)
    shown, more = ", ".join(listed[:_SHOWN_PATHS]), len(listed) - _SHOWN_PATHS
    return shown if more <= 0 else f"{shown} and {more} more file{'s' if more > 1 else ''}"
