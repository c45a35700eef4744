"""The catalogs that keep the contract: each runs every test of the modules test_contract*.

A backend takes part with one line in BACKENDS. What it cannot do by nature it names in `lacks`; the tests of that then
expect UnsupportedFeature.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.storage import join, open_storage
from tests.catalogs.memory_catalog import MemoryCatalog
from tests.extent import some
from tests.storage.s3 import endpoint, s3_options

__all__ = ["BACKENDS", "NUMBERS", "SCHEMA", "Contract", "contract", "endpoint", "s3_options"]


NUMBERS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
SCHEMA = "id BIGINT, name STRING"

T = TypeVar("T")


@dataclass(frozen=True)
class Contract:
    """A catalog without tables, with the namespaces `db` and `other`.

    Attributes:
        catalog: The catalog.
        place: A location that no table has and that the catalog does not manage; tables can be put below it.
        storage_options: Options of the storage of all tables.
        lacks: What the catalog cannot do: "rename" managed tables, "moves" to another namespace, "nested" namespaces,
            "odd names", "root" tables, "namespace properties", "register".
        remote: Whether each request takes long, so that the gate tries a part of what is tried.
    """

    catalog: ds.TransactionalTableCatalog
    place: str
    storage_options: Mapping[str, str] | None = None
    lacks: frozenset[str] = field(default_factory=frozenset)
    remote: bool = False

    def part(self, values: Iterable[T]) -> list[T]:
        """The values; in the gate of a remote catalog some of them."""
        return some(values, 2) if self.remote else list(values)

    def tried(self, values: Iterable[T]) -> Iterator[T]:
        """Each value of this catalog's part, when there is no table `db.t`."""
        for value in self.part(values):
            self.catalog.drop_table("db.t")
            yield value

    def outside(self, name: str) -> str:
        """A location below `place`."""
        return join(self.place, name)

    def there(self, location: str) -> bool:
        """Whether there is a file at or below a location."""
        storage, path = open_storage(location, self.storage_options)
        return storage.exists(path)

    def needs(self, *what: str) -> None:
        """Skip the test if the catalog cannot do this."""
        missing = [each for each in what if each in self.lacks]
        if missing:
            pytest.skip(f"the catalog has no {missing[0]}")


def _with_namespaces(contract: Contract) -> Contract:
    for name in ("db", "other"):
        contract.catalog.create_namespace(name)
    return contract


def _warehouse(request: pytest.FixtureRequest) -> Contract:
    folder: Path = request.getfixturevalue("tmp_path")
    return Contract(ds.catalog(f"warehouse:{folder / 'wh'}"), str(folder / "outside"))


def _warehouse_on_s3(request: pytest.FixtureRequest) -> Contract:
    options = request.getfixturevalue("s3_options")
    root = f"s3://bucket/{uuid4()}"
    found = ds.catalog(f"warehouse:{root}/wh", storage_options=options)
    return Contract(found, f"{root}/outside", options, frozenset(["rename"]), remote=True)


def _memory(request: pytest.FixtureRequest) -> Contract:
    folder: Path = request.getfixturevalue("tmp_path")
    return Contract(MemoryCatalog(str(folder / "tables")), str(folder / "outside"))


def _sqlite(request: pytest.FixtureRequest) -> Contract:
    pytest.importorskip("sqlalchemy")
    folder: Path = request.getfixturevalue("tmp_path")
    return Contract(ds.catalog(f"sql:sqlite:///{folder}/catalog.db"), str(folder / "outside"))


def _postgres(request: pytest.FixtureRequest) -> Contract:
    pytest.importorskip("sqlalchemy")
    server, folder = request.getfixturevalue("postgres_server"), request.getfixturevalue("tmp_path")
    # A catalog of its own takes less time than a database of its own.
    options = {"warehouse": str(folder / "wh"), "catalog": str(uuid4())}
    return Contract(ds.catalog(f"sql:{server.url('postgres')}", **options), str(folder / "outside"), remote=True)


def _unity(request: pytest.FixtureRequest) -> Contract:
    pytest.importorskip("unitycatalog", reason="unitycatalog-client is not installed (extra test)")
    from tests.catalogs.unity_server import unity_server

    folder: Path = request.getfixturevalue("tmp_path")
    running = unity_server(folder / "storage")
    server = running.__enter__()
    request.addfinalizer(lambda: running.__exit__(None, None, None))
    server.catalogs["empty"] = {"name": "empty"}
    found = ds.catalog(f"unity:{server.url}", catalog="empty")
    lacks = frozenset(["moves", "nested", "odd names", "root"])
    return Contract(found, str(folder / "outside"), lacks=lacks, remote=True)


def _spark(request: pytest.FixtureRequest) -> Contract:
    session = request.getfixturevalue("catalog_session")
    folder: Path = request.getfixturevalue("tmp_path")
    found = ds.catalog("spark:", spark=session)
    for name in found.list_namespaces():
        if name != ("default",):
            session.sql(f"DROP DATABASE {name[0]} CASCADE")
    lacks = frozenset(["nested", "odd names", "root"])
    return Contract(found, str(folder / "outside"), lacks=lacks, remote=True)


# What makes the catalog of one test, with the marks of its tests. The gate takes two to four of a test, as `some`.
BACKENDS = [
    pytest.param(_warehouse, id="warehouse"),
    pytest.param(_memory, id="memory"),
    pytest.param(_sqlite, id="SQLite"),
    pytest.param(_warehouse_on_s3, id="warehouse-on-S3"),
    pytest.param(_unity, id="unity"),
    pytest.param(_postgres, id="Postgres"),
    pytest.param(_spark, id="Spark", marks=pytest.mark.spark),
]


@pytest.fixture(params=BACKENDS)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each of the backends in turn."""
    make: Callable[[pytest.FixtureRequest], Contract] = request.param
    return _with_namespaces(make(request))


def values_of(table: ds.DeltaTable) -> list[dict[str, object]]:
    """The rows of a table as Python values, in the order of its files."""
    snapshot = table.snapshot
    reader = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode)
    found: list[dict[str, object]] = []
    for _, batch in reader.live(files_to_change(table.scan()).whole.listed):
        found += pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns)).to_pylist()
    return found
