"""A real HDFS for tests: name node and data node of Hadoop's MiniDFSCluster, in a JVM of its own, on loopback only.

Python talks to that JVM by py4j, as it does to Spark's, so that a HadoopStorage needs no Spark session.
"""

import atexit
import os
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deltaskip.storage import hadoop
from deltaskip.storage.hadoop import HadoopStorage
from tests.not_compared import HADOOP_JARS as JARS

# Most code runs too few times for the optimizing compiler to pay.
JAVA_OPTIONS = "-Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.net.preferIPv4Stack=true -Dlog4j2.level=OFF"
NEEDS_HDFS = [pytest.mark.spark, pytest.mark.reference]


@dataclass(frozen=True)
class Cluster:
    """A running cluster: the port and token of its JVM's gateway, and the URI of its file system."""

    port: int
    token: str
    uri: str

    def gateway(self) -> Any:
        """A connection of this process to the JVM; a child that was forked needs one of its own."""
        from py4j.java_gateway import GatewayParameters, JavaGateway

        return JavaGateway(gateway_parameters=GatewayParameters(port=self.port, auth_token=self.token))

    def storage(self, base: str | None = None, **settings: str) -> HadoopStorage:
        """The storage of the cluster, or of another base, as a session with these Hadoop settings would open it."""
        gateway = self.gateway()
        configuration = gateway.jvm.org.apache.hadoop.conf.Configuration()
        for name, value in {"fs.defaultFS": self.uri, **settings}.items():
            configuration.set(name.replace("__", "."), value)
        return HadoopStorage(gateway, configuration, base or self.uri)


@cache
def running_cluster() -> Cluster:
    """The cluster of this test run, which ends with its process; skips where its parts are not there."""
    folder = os.environ.get(JARS)
    jars = list(Path(folder).glob("hadoop-client-minicluster-*.jar")) if folder else []
    if not jars:
        pytest.skip(f"Hadoop's mini cluster is not there: {JARS} must name a folder with its jar")
    pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else shutil.which("java")
    if java is None:
        pytest.skip("Java was not found: put a JRE 17 on PATH or name it in JAVA_HOME")
    from py4j.java_gateway import launch_gateway

    sparks = Path(pyspark.__file__).parent / "jars"
    with open(os.devnull, "w") as nothing:
        port, token = launch_gateway(
            jarpath=str(next(sparks.glob("py4j*.jar"))),
            classpath=os.pathsep.join([*map(str, jars), f"{sparks}/*"]),
            javaopts=JAVA_OPTIONS.split(),
            java_path=java,
            redirect_stdout=nothing,
            redirect_stderr=nothing,
            die_on_exit=True,
            enable_auth=True,
        )
    _leave_errors_of_other_jvms()
    started = Cluster(port, token.decode(), "")
    return replace(started, uri=_started(started.gateway()))


def _leave_errors_of_other_jvms() -> None:
    """Have PySpark convert errors of its own JVM only, once a session has run in this process.

    It would ask its JVM for the class of the exception by the number that the exception has in the cluster's JVM, which
    is there another object, or none.
    """
    from pyspark import SparkContext
    from pyspark.errors.exceptions import captured

    convert = captured.convert_exception

    def converted(error: Any) -> Any:
        own, client = SparkContext._gateway, getattr(error, "_gateway_client", None)
        if client is None or (own is not None and client is own._gateway_client):
            return convert(error)
        return captured.UnknownException.__new__(captured.UnknownException)  # the error is then raised as it is

    captured.convert_exception = converted


def _started(gateway: Any) -> str:
    configuration = gateway.jvm.org.apache.hadoop.conf.Configuration()
    scratch = tempfile.mkdtemp(prefix="deltaskip-hdfs-")
    configuration.set("hdfs.minidfs.basedir", scratch)
    builder = getattr(gateway.jvm.org.apache.hadoop.hdfs, "MiniDFSCluster$Builder")(configuration)
    cluster = builder.numDataNodes(1).build()
    cluster.waitActive()
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return str(cluster.getFileSystem().getUri().toString())


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The running cluster."""
    return running_cluster()


def on_hdfs(folder: Path) -> tuple[HadoopStorage, str]:
    """The cluster's storage, and a folder of its own for a test's temporary folder."""
    storage = running_cluster().storage()
    return storage, f"{storage.base}{folder}"


def uploaded(folder: Path, storage: HadoopStorage, root: str) -> str:
    """The root below which the storage now holds every file of a local folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            storage.put(f"{root}/{path.relative_to(folder)}", path.read_bytes())
    return root


def serve(cluster: Cluster) -> None:
    """Have this process open hdfs:// locations as if the cluster's JVM were that of a Spark session."""
    storage = cluster.storage()
    hadoop.session_storage = lambda location: storage
