"""Tables and scans in other processes: the same version, the same rows, and no secrets unless they are asked for."""

import copy
import importlib.util
import inspect
import multiprocessing
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import DataFileMissing, DeltaTable, StorageError, TableNotFound, VersionNotFound, col
from deltaskip.catalogs import InstalledCatalog
from deltaskip.doors import Unpicklable
from deltaskip.errors import InvalidArgumentType
from deltaskip.log.reopening import Reopened
from deltaskip.redaction import options_without_secrets, url_without_secrets
from deltaskip.statements.views import RegisteredView
from tests.each import refuses

cloudpickle = pytest.importorskip("pyspark.cloudpickle")


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [f"s{each}" for each in ids]})


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    made = DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING", properties={"delta.enableChangeDataFeed": "true"})
    for number in range(5):
        made.append(rows(number, number + 10))
    made.delete("id = 3")
    return DeltaTable(tmp_path / "t", version=5, float_bounds="exact")


PREDICATES: dict[str, Any] = {
    "none": None,
    "text": "id > 2 AND s LIKE 's%'",
    "expression": (col("id") > 2) & ~col("s").isin("s3", "s4"),
    "many": col("id").isin(*range(3, 5000)),
    "function": "upper(s) = 'S4' OR id IS NULL",
}


def forms(made: Any) -> list[Any]:
    """An object that went through each way of copying."""
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(made))))
    return [
        twice,
        pickle.loads(pickle.dumps(made, protocol=2)),
        cloudpickle.loads(cloudpickle.dumps(made)),
        copy.copy(made),
        copy.deepcopy(made),
    ]


def test_a_table_is_the_same_version_again(table: DeltaTable) -> None:
    for again in forms(table):
        assert (type(again), again.version, again.uri) == (DeltaTable, 5, table.uri)
        assert again.snapshot.float_bounds == "exact"
        assert again.scan("id > 10").to_arrow() == table.scan("id > 10").to_arrow()
        assert again.refresh().version == 6
    assert table.version == 5


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("where", PREDICATES.values(), ids=PREDICATES)
def test_a_scan_reads_the_same_rows_again(table: DeltaTable, where: Any) -> None:
    options: dict[str, Any] = {"columns": ["s"], "limit": 4, "time_zone": "Europe/Berlin", "ansi": False}
    for scan in (table.scan(where), table.scan(where, **options)):
        expected = scan.files(), scan.to_arrow()
        for again in forms(scan):
            assert (again.files(), again.to_arrow()) == expected
            assert repr(again) == repr(scan) and type(again) is type(scan)
            assert (again.limit, again.columns, again.time_zone) == (scan.limit, scan.columns, scan.time_zone)
            assert again.explain().kept_files == scan.explain().kept_files


def test_parameters_and_clocks_are_those_of_the_scan(table: DeltaTable) -> None:
    scan = table.scan("id IN (:ids) AND current_timestamp() > TIMESTAMP'2020-01-01'", params={"ids": [1, 2]})
    again = pickle.loads(pickle.dumps(scan))
    assert again.files() == scan.files() and again._planned_at == scan._planned_at


def test_a_distributed_scan_keeps_its_kind(table: DeltaTable) -> None:
    scan = table.scan("id > 2", engine="spark")
    again = pickle.loads(pickle.dumps(scan))
    assert type(again) is type(scan) and again.estimated_rows() == scan.estimated_rows()


def test_changes_are_the_same_again(table: DeltaTable) -> None:
    changes = table.refresh().changes(2, 6)
    for scan in (changes, table.changes(2, 6, where=col("id") > 2, columns=["id"])):
        for again in forms(scan):
            assert again.to_arrow() == scan.to_arrow() and (again.start, again.end) == (2, 6)


def _sum(scan: Any) -> int:
    return int(sum(scan.to_arrow()["id"].to_pylist()))


def test_a_spawned_process_reads_a_scan(table: DeltaTable) -> None:
    scans = [table.scan("id > 2"), table.scan(col("id") == 1)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(_sum, scans) == [_sum(scan) for scan in scans]


def test_nothing_is_read_before_it_is_needed(table: DeltaTable, tmp_path: Path) -> None:
    pickled = pickle.dumps([table, table.scan("id > 2")])
    shutil.rmtree(tmp_path / "t")
    again = pickle.loads(pickled)
    assert [pickle.dumps(each) for each in again]
    for act in (lambda: again[0].version, lambda: again[1].to_arrow(), lambda: again[1].files()):
        refuses(TableNotFound, None, act)


@pytest.mark.long(gate=2)
@pytest.mark.parametrize("commits", [0, 5, 8])
def test_another_table_at_the_place_is_named(table: DeltaTable, tmp_path: Path, commits: int) -> None:
    pickled = pickle.dumps([table, table.scan("id > 2"), table.changes(0)])
    shutil.rmtree(tmp_path / "t")
    other = DeltaTable.create(tmp_path / "t", "id BIGINT, s STRING")
    for number in range(commits):
        other.append(rows(number))
    for again in pickle.loads(pickled):
        with pytest.raises(TableNotFound, match="replaced by another table"):
            again.snapshot  # noqa: B018


def test_versions_and_files_that_are_gone_are_named(table: DeltaTable, tmp_path: Path) -> None:
    scan, pickled = table.scan(), pickle.dumps(table)
    latest = table.refresh()
    latest.checkpoint()
    for version in range(6):
        (tmp_path / "t" / "_delta_log" / f"{version:020d}.json").unlink()
    with pytest.raises(VersionNotFound, match="has no version 5"):
        pickle.loads(pickled).version  # noqa: B018
    for path in (tmp_path / "t").glob("*.parquet"):
        path.unlink()
    again = pickle.loads(pickle.dumps(latest.scan()))
    refuses(DataFileMissing, "vacuumed", again.to_arrow)
    assert scan.limit is None


# Secrets

PUBLIC = {
    "aws_region": "eu-west-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:9000", "allow_http": "true", "timeout": "30s",
    "azure_storage_account_name": "account", "google_service_account": "/etc/account.json",
    "aws_virtual_hosted_style_request": "false",
}  # fmt: skip
SECRET = "sEcReT-0123456789"
SECRETS = {
    **dict.fromkeys(
        (
            "aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "secret_access_key", "aws_access_key_id",
            "access_key_id", "aws_session_token", "aws_token", "session_token", "token", "Token",
            "azure_storage_account_key", "azure_storage_access_key", "account_key", "access_key",
            "azure_storage_master_key", "master_key", "azure_storage_sas_key", "azure_storage_sas_token", "sas_key",
            "sas_token", "azure_storage_token", "bearer_token", "client_secret", "azure_client_secret",
            "azure_storage_client_secret", "google_service_account_key", "service_account_key", "google_bearer_token",
            "azure_fabric_session_token", "aws_sse_customer_key_base64", "a_name_of_tomorrow", "password",
            "aws_container_authorization_token", "proxy_ca_certificate",
        ),
        SECRET,
    ),
    "aws_endpoint": f"https://user:{SECRET}@host:9000",
    "proxy_url": f"http://user:{SECRET}@proxy",
    "endpoint": f"https://host/?sig={SECRET}",
    "google_service_account": f'{{"private_key": "{SECRET}"}}',
    "user_agent": f"-----BEGIN {SECRET}",
}  # fmt: skip


def test_options_that_may_be_secrets_are_told_from_those_that_are_not() -> None:
    assert options_without_secrets(PUBLIC) == (PUBLIC, ())
    for name, text in SECRETS.items():
        kept, left_out = options_without_secrets({"aws_region": "eu-west-1", name: text})
        assert kept == {"aws_region": "eu-west-1"} and left_out == (name,), name


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/data/a:b@c?d", "/data/a:b@c?d"),
        ("s3://bucket/key", "s3://bucket/key"),
        ("abfss://container@account.dfs.core.windows.net/t", "abfss://container@account.dfs.core.windows.net/t"),
        (f"https://user:{SECRET}@host/t", "https://user@host/t"),
        (f"s3://key:{SECRET}@bucket/t", "s3://key@bucket/t"),
        (f"https://a.blob.core.windows.net/c/t?sv=1&sig={SECRET}", "https://a.blob.core.windows.net/c/t"),
    ],
)
def test_a_location_is_left_without_its_password_and_signature(location: str, expected: str) -> None:
    assert url_without_secrets(location) == expected


def _keeps(pickled: bytes) -> bool:
    return SECRET.encode() in pickled or SECRET.encode("utf-16-le") in pickled


def test_a_pickle_contains_no_secret_unless_it_is_asked_for(table: DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = table.snapshot.storage
    objects: list[Callable[[DeltaTable], Any]] = [
        lambda each: each,
        lambda each: each.scan("id > 2"),
        lambda each: each.scan(col("id") > 2, engine="spark"),
        lambda each: each.changes(0),
    ]

    class Optioned(type(storage)):
        """Local files with the options of a store."""

        options: dict[str, str]
        remote = False

    for options in ({**PUBLIC, name: text} for name, text in SECRETS.items()):
        told = copy.copy(table)
        told.snapshot = copy.copy(table.snapshot)
        told.snapshot.storage = Optioned()
        told.snapshot.storage.options = options
        for made in objects:
            for dump in (pickle.dumps, cloudpickle.dumps):
                assert not _keeps(dump(made(told))), options
                assert _keeps(dump(made(told.with_secrets()))), options


def test_what_is_missing_is_named_at_need(table: DeltaTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.log import reopening

    told = copy.copy(table)
    told.snapshot = copy.copy(table.snapshot)
    told.snapshot.storage = type("Optioned", (type(table.snapshot.storage),), {"options": None})()
    told.snapshot.storage.options = {"aws_secret_access_key": SECRET, "aws_region": "eu-west-1"}  # type: ignore[attr-defined]
    pickled, whole = pickle.dumps(told.scan("id > 2")), pickle.dumps(told.with_secrets().scan("id > 2"))
    given: list[Any] = []

    def opened(root: str, options: Any) -> Any:
        given.append(options)
        if "aws_secret_access_key" not in options:
            raise StorageError("There are no credentials for the table.")
        return told.snapshot.storage, root

    monkeypatch.setattr(reopening, "open_storage", opened)
    again = pickle.loads(pickled)
    refuses(StorageError, r"does not contain aws_secret_access_key: set credentials in the environ", again.to_arrow)
    found = pickle.loads(whole)
    assert found.to_arrow().num_rows == told.scan("id > 2").to_arrow().num_rows
    assert given[-1]["aws_secret_access_key"] == SECRET
    assert _keeps(pickle.dumps(found)), "what was pickled with secrets keeps them"


def test_tables_of_a_warehouse_are_opened_by_their_location(tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", "id BIGINT, s STRING")
    table.append(rows(1))
    pickled = pickle.dumps(table)
    assert pickle.loads(pickled).scan().to_arrow() == table.scan().to_arrow()
    catalog.drop_table("db.t")
    catalog.create_table("db.t", "id BIGINT, s STRING").append(rows(1))
    with pytest.raises(TableNotFound, match="replaced by another table"):
        pickle.loads(pickled).version  # noqa: B018


def test_what_belongs_to_a_process_says_so(table: DeltaTable, tmp_path: Path) -> None:
    catalogs = [ds.catalog(f"warehouse:{tmp_path / 'w'}", storage_options={"aws_secret_access_key": "hush"})]
    if importlib.util.find_spec("sqlalchemy"):
        catalogs.append(ds.catalog(f"sql:sqlite:///{tmp_path / 'c.db'}", warehouse=str(tmp_path / "v")))
    if importlib.util.find_spec("requests"):
        catalogs.append(ds.catalog("unity:http://127.0.0.1:1", token="hush"))
    catalogs[0].create_namespace("db")
    staged = catalogs[0].stage_create("db.t", "id INT")  # type: ignore[attr-defined]
    given = rows(1)
    cures = {
        table.transaction(): "make it where",
        table.snapshot: "pickle the DeltaTable",
        table.merge(given, "target.id = source.id"): "pickle the DeltaTable",
        table.merge(given, "target.id = source.id").when_matched_delete(): "pickle the DeltaTable",
        staged: "stage the table",
        catalogs[0].stage_create("db.u", "id INT"): "stage the table",  # type: ignore[attr-defined]
        **dict.fromkeys(catalogs, "open it there with deltaskip.catalog"),
        RegisteredView.__new__(RegisteredView): None,
        InstalledCatalog("c", catalogs[0], print): None,
    }
    for made, cure in cures.items():
        if cure is None:
            assert isinstance(made, Unpicklable)
            continue
        for pickled in (pickle.dumps, cloudpickle.dumps, lambda each: pickle.dumps({"x": [each]}, protocol=2)):
            with pytest.raises(
                InvalidArgumentType, match=f"^{type(made).__name__}.* cannot be pickled .*{cure}"
            ) as found:
                pickled(made)
            assert "hush" not in str(found.value)
    for mutable in (table.transaction(), staged):
        for copied in (copy.copy, copy.deepcopy):
            refuses(InvalidArgumentType, "cannot be pickled or copied", copied, mutable)
    for fixed in (table.snapshot, table.merge(given, "target.id = source.id").when_matched_delete()):
        assert repr(copy.copy(fixed)) == repr(copy.deepcopy(fixed)) == repr(fixed)
    staged.abort_staged_changes()


def test_every_public_class_is_pickled_or_says_why_not() -> None:
    """Those that keep a snapshot, a session, a lock or a connection are made for it, one way or the other."""
    kept = {"snapshot", "_snapshot", "_storage", "_spark", "_session", "_run", "_uninstall", "_transaction", "_client"}
    delta = pytest.importorskip("deltaskip.delta")
    found = [(module, name) for module in (ds, delta) for name in module.__all__]
    for module, name in found:
        made = getattr(module, name)
        if not isinstance(made, type) or issubclass(made, Exception):
            continue
        initial = vars(made).get("__init__")
        code = getattr(initial and inspect.unwrap(initial), "__code__", None)
        named = {*vars(made).get("__annotations__", ()), *(() if code is None else code.co_names)}
        if named & kept:
            assert issubclass(made, (Unpicklable, Reopened)), name
