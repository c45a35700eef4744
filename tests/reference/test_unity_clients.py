"""Tables of Unity Catalog that deltaskip and Delta Kernel, with Delta's own client of the catalog, use in turn.

Both speak to the server of tests.catalogs.unity_server, so that its requests and answers are those of that client, too.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("unitycatalog", reason="unitycatalog-client is not installed (extra test)")

from deltaskip.alter.table_changes import AddColumn, SetProperty
from deltaskip.catalogs.unity import UnityCatalog
from deltaskip.errors import CommitConflict
from tests.catalogs.unity_server import COLUMNS, UnityServer, cat, rows, server
from tests.dml.tables import ids_of
from tests.reference.conftest import require_delta_spark
from tests.reference.oracle import JARS

__all__ = ["cat", "server"]

pytestmark = pytest.mark.reference


class Kernel:
    """Delta Kernel in a Java process of its own, as a client of one server."""

    def __init__(self, gateway: Any, url: str) -> None:
        self.jvm = jvm = gateway.jvm
        self._gateway = gateway
        configuration = jvm.org.apache.hadoop.conf.Configuration()
        supplier = jvm.com.google.common.base.Suppliers.ofInstance(configuration)
        settings = {"uri": url, "auth.type": "static", "auth.token": "x", "deltaRestApi.enabled": "true"}
        package = jvm.io.delta.storage.commit.uccommitcoordinator
        self.client = package.UCDeltaTokenBasedRestClient(settings, supplier)
        self.engine = jvm.io.delta.kernel.defaults.engine.DefaultEngine.create(configuration)
        self._tables = jvm.io.delta.kernel.unitycatalog.UCCatalogManagedClient(self.client)

    def table(self, name: str) -> Any:
        """What the client says of a table of main.db."""
        return self.client.loadTable(self._ident(name))

    def load(self, name: str) -> Any:
        """The latest snapshot of a table of main.db."""
        info, empty = self.table(name), self.jvm.java.util.Optional.empty()
        ident = self.jvm.io.delta.kernel.unitycatalog.UCTableIdentifier("main", "db", name)
        return self._tables.loadSnapshot(
            self.engine, info.getTableId().toString(), info.getLocation(), ident, empty, empty
        )

    def files(self, name: str) -> int:
        """Number of active files."""
        batches, found = self.load(name).getScanBuilder().build().getScanFiles(self.engine), 0
        while batches.hasNext():
            rows = batches.next().getRows()
            while rows.hasNext():
                rows.next()
                found += 1
        return found

    def set_property(self, snapshot: Any, name: str, value: str) -> int:
        """Commit a property, without publishing it."""
        operation = self.jvm.io.delta.kernel.Operation.MANUAL_UPDATE
        builder = snapshot.buildUpdateTableTransaction("kernel", operation)
        transaction = builder.withTablePropertiesAdded({name: value}).build(self.engine)
        return int(transaction.commit(self.engine, self._no_rows()).getVersion())

    def create(self, name: str) -> None:
        """Create a managed table with a column `id`."""
        staging = self.client.createStagingTable(self._ident(name))
        types = self.jvm.io.delta.kernel.types
        schema = types.StructType().add("id", types.LongType.LONG)
        ident = self.jvm.io.delta.kernel.unitycatalog.UCTableIdentifier("main", "db", name)
        builder = self._tables.buildCreateTableTransaction(
            staging.getTableId().toString(), staging.getLocation(), schema, "kernel", ident
        )
        required = {key: value for key, value in dict(staging.getRequiredProperties()).items() if value is not None}
        writers = staging.getRequiredProtocol().getWriterFeatures()
        features = {f"delta.feature.{each}": "supported" for each in writers}
        transaction = builder.withTableProperties({**features, **required}).build(self.engine)
        transaction.commit(self.engine, self._no_rows())

    def _ident(self, name: str) -> Any:
        namespace = self._gateway.new_array(self.jvm.java.lang.String, 2)
        namespace[0], namespace[1] = "main", "db"
        return self.jvm.io.delta.storage.commit.TableIdentifier(namespace, name)

    def _no_rows(self) -> Any:
        return self.jvm.io.delta.kernel.utils.CloseableIterable.emptyIterable()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    require_delta_spark()
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    with_spark = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    jars = [*sorted(Path(os.environ[JARS]).glob("*.jar")), *with_spark]
    [own] = [str(jar) for jar in with_spark if jar.name.startswith("py4j")]
    options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    port = launch_gateway(classpath=os.pathsep.join(map(str, jars)), javaopts=options, die_on_exit=True, jarpath=own)
    running = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    yield running
    running.shutdown()


@pytest.fixture
def kernel(gateway: Any, server: UnityServer) -> Kernel:
    return Kernel(gateway, server.url)


def test_kernel_reads_what_is_ratified_and_not_published(
    server: UnityServer, cat: UnityCatalog, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1, 2))
    monkeypatch.setattr("deltaskip.catalogs.unity.commits.ManagedLog.after_commit", lambda *_: None)
    table.append(rows(3))
    table.alter(AddColumn("more", "ARRAY<STRUCT<a: INT>>"), SetProperty("k", "v"))
    assert len(server.table("main.db.t").commits) == 2
    snapshot = kernel.load("t")
    assert (snapshot.getVersion(), kernel.files("t")) == (3, 2)
    assert list(snapshot.getSchema().fieldNames()) == ["id", "name", "more"]
    assert kernel.table("t").getMetadata().getConfiguration()["k"] == "v"


def test_both_commit_in_turn(server: UnityServer, cat: UnityCatalog, kernel: Kernel) -> None:
    table = cat.create_table("db.t", COLUMNS)
    table.append(rows(1, 2, 3))
    assert kernel.set_property(kernel.load("t"), "from.kernel", "yes") == 2
    assert len(server.table("main.db.t").commits) == 1
    table.delete("id = 2")
    assert (table.version, ids_of(table), table.properties["from.kernel"]) == (3, [1, 3], "yes")
    assert server.table("main.db.t").commits == []
    assert kernel.set_property(kernel.load("t"), "from.kernel", "again") == 4
    assert cat.load_table("db.t").properties["from.kernel"] == "again"


def test_a_commit_of_kernel_conflicts_as_any_other_s(cat: UnityCatalog, kernel: Kernel) -> None:
    cat.create_table("db.t", COLUMNS)
    mine = cat.load_table("db.t").transaction(read="true")
    mine.append(rows(1))
    kernel.set_property(kernel.load("t"), "k", "v")
    with pytest.raises(CommitConflict):
        mine.commit()


def test_a_table_that_kernel_has_created(server: UnityServer, cat: UnityCatalog, kernel: Kernel) -> None:
    kernel.create("k")
    table = cat.load_table("db.k")
    table.append(pa.table({"id": pa.array([7], pa.int64())}))
    table.alter(AddColumn("more", "INT"))
    assert ids_of(cat.load_table("db.k")) == [7]
    assert (kernel.load("k").getVersion(), kernel.files("k")) == (2, 1)
