"""The log of a table in Unity Catalog: read with the commits that the catalog has ratified, and committed through it.

# PROTOCOL, Catalog-managed tables; Unity Catalog, ManagedTablesSpec
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from deltaskip.catalogs.unity.client import OutcomeUnknown, Refused, UnityClient
from deltaskip.catalogs.unity.contract import check_kept, told
from deltaskip.catalogs.unity.mirror import mirrored, parsed_commit
from deltaskip.catalogs.unity.models import LoadedTable, RatifiedCommit, TableName
from deltaskip.errors import CorruptLog, DeltaSkipError, InvalidCommit, TableNotFound
from deltaskip.log import Snapshot
from deltaskip.log.catalog_commits import STAGED_FOLDER, CatalogCommits, Maintenance, is_commit, published_path
from deltaskip.log.file_names import commit_name, parse_log_file, version_prefix
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import LOG_FOLDER, FileInfo, Storage, join
from deltaskip.storage.gate import delete_file, log_names
from deltaskip.storage.interface import file_exists, read_whole
from deltaskip.storage.kill_points import kill_point

_TRIES = 6
_PAUSE_SECONDS = 0.05


class ManagedLog(CatalogCommits):
    """The log of a managed table: each listing asks the catalog for its commits, and the catalog ratifies new ones.

    Args:
        client: The client of the catalog.
        name: Name of the table.
        loaded: The catalog's present entry of the table.
        root: Location of the table.
        below: Returns the storage of its files.
    """

    manages = True

    def __init__(
        self, client: UnityClient, name: TableName, loaded: LoadedTable, root: str, below: Callable[[], Storage]
    ) -> None:
        self._client = client
        self._name = name
        self._uuid = loaded.uuid
        self._root = root
        self._folder = join(root, LOG_FOLDER)
        self._below = below
        self._last = loaded
        self._held: LoadedTable | None = None

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Return a context manager in which the last answer of the catalog is used, without another request."""
        self._held = self._last
        try:
            yield
        finally:
            self._held = None

    def entries(self, storage: Storage, directory: str, start_name: str) -> list[FileInfo]:
        """See CatalogLog.entries: published files up to the latest version, and ratified commits."""
        if directory.rstrip("/") != self._folder:
            return storage.list_from(directory, start_name)
        # The catalog is read first: a commit that it no longer names is published before the folder is listed.
        table = self._held or self._ask()
        return self._merged(storage.list_from(directory, start_name), table, start_name)

    def _merged(self, listed: Sequence[FileInfo], table: LoadedTable, start_name: str) -> list[FileInfo]:
        assert table.latest is not None, "LoadedTable.of requires it of a managed table"
        ratified = {}
        for each in table.commits:
            name = commit_name(each.version)
            ratified[name] = FileInfo(name, self._staged(each.file_name), each.file_size, each.modified_ms)
        # PROTOCOL, Reading Catalog-managed Tables: files of versions after the latest are ignored, and the catalog's
        # commit is read also if the version is published.
        after = version_prefix(table.latest + 1)
        found = {info.name: info for info in listed if info.name < after or not info.name[:1].isdigit()}
        for name in [name for name in found if ".compacted." in name]:
            file = parse_log_file(found[name])
            if file is not None and file.end > table.latest:
                del found[name]
        found.update((name, info) for name, info in ratified.items() if name >= start_name)
        newest = commit_name(table.latest)
        if newest >= start_name and newest not in found:
            raise CorruptLog(
                f"The log of {self._name.full} is damaged: its catalog says that version {table.latest} is the latest, "
                f"and neither the catalog nor {self._folder} has that commit; restore {newest}."
            )
        return [found[name] for name in sorted(found)]

    def elsewhere(self, path: str) -> str | None:
        """See CatalogLog.elsewhere: a staged commit that no longer exists has been published."""
        return published_path(self._folder, path)

    def commit(self, latest: Snapshot, text: bytes, in_doubt: Callable[[bool], None]) -> None:
        """See CatalogCommits.commit: stages the commit, and proposes it to the catalog."""
        version = latest.version + 1
        parsed = parsed_commit(latest.root, version, text)
        if parsed.change.metadata is not None:
            check_kept(latest, parsed.change.metadata.configuration, self._name.full)
        name = f"{version_prefix(version)}.{uuid4()}.json"
        updates = mirrored(latest, parsed.change)
        try:
            self._below().put_if_absent(self._staged(name), text)
            kill_point("staged")
            now = current_ms()
            in_doubt(True)
            self._propose(RatifiedCommit(version, parsed.timestamp_ms, name, len(text), now), updates, text)
        except OutcomeUnknown as error:
            raise OutcomeUnknown(
                f"It is not known whether the catalog has ratified version {version} of {self._name.full}: {error} "
                f"Load the table again to see."
            ) from error
        except DeltaSkipError:
            # It is certain that the catalog has not ratified the file and will not.
            in_doubt(False)
            with suppress(OSError, DeltaSkipError):
                delete_file(self._below(), self._root, f"{LOG_FOLDER}/{STAGED_FOLDER}/{name}", log_names)
            raise
        kill_point("ratified")

    def after_commit(self, latest: Snapshot, version: int, text: bytes | None) -> None:
        """See CatalogCommits.after_commit: publishes the commit, and those before it."""
        self._publish(version, {} if text is None else {version: text})

    def publish(self, version: int) -> None:
        self._publish(version, {})

    def permits(self, operation: Maintenance) -> bool:
        return operation in self._last.permitted

    def _ask(self) -> LoadedTable:
        """The catalog's present entry of the table. Raises TableNotFound if the name no longer refers to this table."""
        try:
            loaded = self._client.load_table(self._name)
        except Refused as refused:
            if refused.is_not_found:
                raise self._gone("dropped or renamed") from refused
            raise
        if loaded.uuid != self._uuid:
            raise self._gone("replaced by another table")
        self._last = loaded
        return loaded

    def _gone(self, how: str) -> TableNotFound:
        return TableNotFound(f"The table {self._name.full} was {how} in its catalog: load it again by its name.")

    def _propose(self, commit: RatifiedCommit, updates: list[dict[str, Any]], text: bytes) -> None:
        """Let the catalog ratify a staged commit together with changes of the metadata.

        Raises:
            FileExistsError: Another commit has the version.
            OutcomeUnknown: It is not known whether the catalog ratified the commit.
            TableNotFound, InvalidCommit: The catalog did not ratify it.
        """
        request = [*updates, {"action": "add-commit", "commit": commit.to_json()}]
        # A commit of data alone, or with a new mark of row ids, succeeds even if another writer changes the entry.
        asserts = any(each["action"] != "set-domain-metadata" for each in updates)
        etag = self._last.etag if asserts else None
        unknown: OutcomeUnknown | None = None
        for attempt in range(_TRIES):
            time.sleep(_PAUSE_SECONDS * (2**attempt - 1))
            try:
                if unknown is not None and self._is_ratified(commit, text):
                    return
                self._last = self._client.update_table(self._name, self._uuid, request, etag)
                return
            except OutcomeUnknown as error:
                unknown = error
            except Refused as refused:
                match refused.kind:
                    case "CommitVersionConflictException":
                        if self._is_ratified(commit, text):
                            return
                        raise
                    case "UpdateRequirementConflictException":
                        # Another writer has changed the entry; this commit may or may not still be the next one.
                        if self._is_ratified(commit, text):
                            return
                        etag = self._last.etag if asserts else None
                    case "ResourceExhaustedException":
                        self._publish(commit.version - 1, {})
                        etag = self._last.etag if asserts else None
                    case _:
                        if unknown is not None and refused.status >= 500:
                            continue
                        if refused.is_not_found:
                            raise self._gone("dropped or renamed") from refused
                        raise InvalidCommit(
                            f"The catalog refused version {commit.version} of {self._name.full}: {refused}", "catalog"
                        ) from refused
            except DeltaSkipError as error:
                if unknown is None or isinstance(error, FileExistsError | TableNotFound):
                    raise
                # This attempt was not sent, but an earlier one was.
        if unknown is not None:
            raise unknown
        raise file_exists(self._staged(commit.file_name))

    def _is_ratified(self, commit: RatifiedCommit, text: bytes) -> bool:
        """Whether the catalog has ratified the commit; False if its version is still free.

        Raises:
            FileExistsError: Another commit has the version.
            OutcomeUnknown: The table cannot be loaded.
            TableNotFound: As `_ask` does.
        """
        published = join(self._folder, commit_name(commit.version))
        try:
            table = self._ask()
            if table.latest is None or table.latest < commit.version:
                return False
            found = next((each.file_name for each in table.commits if each.version == commit.version), None)
            if found == commit.file_name:
                return True
            ours = is_commit(self._below().read(published), text) if found is None else False
            if ours is None:
                raise OutcomeUnknown(f"{published} could not be read whole.")
            if ours:
                return True
        except TableNotFound:
            raise
        except (OSError, DeltaSkipError) as error:
            raise OutcomeUnknown(str(error)) from error
        raise file_exists(published)

    def _publish(self, version: int, texts: Mapping[int, bytes]) -> None:
        """Copy ratified commits up to a version into the log, in order, and tell the catalog.

        # PROTOCOL, Publishing Commits: "Commits must be published in order."
        """
        table = self._last
        if table.latest is None or table.latest < version or texts.keys() - {each.version for each in table.commits}:
            table = self._ask()
        pending = [each for each in table.commits if each.version <= version]
        if not pending:
            return
        storage = self._below()
        for each in pending:
            path = join(self._folder, commit_name(each.version))
            text = texts.get(each.version)
            if text is None:
                try:
                    staged = FileInfo(each.file_name, self._staged(each.file_name), each.file_size, each.modified_ms)
                    text = read_whole(storage, staged)
                except FileNotFoundError:
                    # Another writer has published it, and the staged file was cleaned up.
                    if storage.exists(path):
                        continue
                    raise
            try:
                storage.put_if_absent(path, text)
            except FileExistsError as error:
                if storage.read(path) != text:
                    raise CorruptLog(
                        f"{path} is not the commit that the catalog of {self._name.full} has ratified as version "
                        f"{each.version}: a client that ignores the catalog has written it; delete that file."
                    ) from error
            kill_point("published")
        done = {"action": "set-latest-backfilled-version", "latest-published-version": pending[-1].version}
        try:
            self._last = self._client.update_table(self._name, self._uuid, [done])
        except OutcomeUnknown:
            # The next commit shows whether it was recorded.
            self._last = table

    def _staged(self, file_name: str) -> str:
        return join(self._folder, STAGED_FOLDER, file_name)


class NewLog(CatalogCommits):
    """The log of a managed table that is being created: version 0 is written before the catalog knows the table.

    Args:
        below: Returns the storage of its files.
    """

    manages = True

    def __init__(self, below: Callable[[], Storage]) -> None:
        self._below = below

    def commit(self, latest: Snapshot, text: bytes, in_doubt: Callable[[bool], None]) -> None:
        storage, folder = self._below(), join(latest.root, LOG_FOLDER)
        in_doubt(True)
        storage.put_if_absent(join(folder, commit_name(latest.version + 1)), text)
        if not storage.remote:
            # Delta Kernel writes its commits into this folder, but does not create it.
            placeholder = f"{LOG_FOLDER}/{STAGED_FOLDER}/.new"
            storage.put(join(latest.root, placeholder), b"", durable=False)
            delete_file(storage, latest.root, placeholder, log_names)

    def permits(self, operation: Maintenance) -> bool:
        return False


class ExternalLog(CatalogCommits):
    """The log of an external table, which does not need the catalog: the catalog is only notified of metadata changes.

    Args:
        client: The client of the catalog.
        name: Name of the table.
        uuid: Identifier of the table in the catalog; None for a server without the Delta API, which is not notified.
    """

    manages = False

    def __init__(self, client: UnityClient, name: TableName, uuid: str | None) -> None:
        self._client = client
        self._name = name
        self._uuid = uuid

    def commit(self, latest: Snapshot, text: bytes, in_doubt: Callable[[bool], None]) -> None:
        """See CatalogCommits.commit; the catalog is not involved."""
        raise AssertionError("The commits of external tables are written into their log.")

    def after_commit(self, latest: Snapshot, version: int, text: bytes | None) -> None:
        """See CatalogCommits.after_commit: notifies the catalog of changes of the metadata."""
        if self._uuid is None or text is None:
            return
        parsed = parsed_commit(latest.root, version, text)
        updates = told(mirrored(latest, parsed.change))
        if updates:
            done = snapshot_version(version, parsed.timestamp_ms)
            self._client.update_table(self._name, self._uuid, [*updates, done])

    def permits(self, operation: Maintenance) -> bool:
        return True


def snapshot_version(version: int, timestamp_ms: int) -> dict[str, Any]:
    """Return the update that records the version of the catalog's copy of an external table."""
    return {
        "action": "update-metadata-snapshot-version",
        "last-commit-version": version,
        "last-commit-timestamp-ms": timestamp_ms,
    }
