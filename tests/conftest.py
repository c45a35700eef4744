"""Fixtures that every room's tests use."""

import decimal
import gc
import ipaddress
import os
import re
import socket
import sys
from collections.abc import Generator, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from deltaskip import engine
from tests import corpus, not_compared
from tests.extent import WHOLE, extent, some
from tests.jvm import start_quickly

# The time of an example depends on the machine's load, so a limit on it fails tests for no fault of the code.
# The gate has the same examples each time, so that its answer depends on the code alone.
settings.register_profile("deltaskip", settings(), deadline=None, max_examples=extent(20, 100), derandomize=not WHOLE)
settings.load_profile("deltaskip")

start_quickly()
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

# Credentials of clouds that the machine may have, for this process and all that it starts.
_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_", "GCE_", "GCLOUD_", "CLOUDSDK_", "MSI_", "IDENTITY_", "ARM_")
for _name in [name for name in os.environ if name.startswith(_CLOUDS)]:
    del os.environ[_name]
os.environ |= {
    "AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_CONFIG_FILE": os.devnull,
    "CLOUDSDK_CONFIG": os.devnull, "AZURE_CONFIG_DIR": os.devnull,
}  # fmt: skip

reached: list[str] = []
"""Addresses outside this machine that a test of this process tried to reach."""


def _stays_here(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if name in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse_other_machines(event: str, arguments: tuple[Any, ...]) -> None:
    """Let no socket of Python leave the machine: no metadata service, no cloud, no package registry."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[-1], tuple):
        host = arguments[-1][0]
    else:
        return
    if not _stays_here(host):
        reached.append(str(host))
        raise ConnectionRefusedError(f"A test tried to reach {host}; tests stay on this machine.")


sys.addaudithook(_refuse_other_machines)


@pytest.fixture(autouse=True)
def stays_on_this_machine() -> Iterator[None]:
    """The test fails if it tried to reach another machine, even where the code takes the error for an answer."""
    reached.clear()
    yield
    assert not reached, f"the test tried to reach {reached}"


@pytest.fixture(autouse=True)
def decimals_keep_their_digits(request: pytest.FixtureRequest) -> None:
    """Python's own context rounds to 28 digits: an operation of the package in it that loses some fails.

    PySpark computes in it, too.
    """
    decimal.getcontext().traps[decimal.Inexact] = not _with_spark(request.node)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared facts and tables beside the repository; the test is skipped where it is absent."""
    if not corpus.present():
        pytest.skip(corpus.ABSENT)
    return corpus.SHARED


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A small local session in UTC; the tests are skipped where PySpark is not installed."""
    sql = pytest.importorskip("pyspark.sql")
    scratch: Path = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC", "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2", "spark.sql.files.openCostInBytes": "65536",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
    }  # fmt: skip
    # Most queries run once, and Spark compiles one for longer than it runs.
    settings |= extent({"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}, {})
    # What another module has started, such as a command in this process, has other settings.
    if (existing := sql.SparkSession._instantiatedSession) is not None:
        existing.stop()
    builder = sql.SparkSession.builder.master("local[2]").appName("deltaskip tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def settings_put_back(spark: Any) -> Iterator[None]:
    """Settings of the session are put back after the test."""
    if not hasattr(spark.conf, "getAll"):
        yield
        return
    before = dict(spark.conf.getAll)
    yield
    for key, value in dict(spark.conf.getAll).items():
        if key.startswith("spark.sql.") and before.get(key) != value:
            if key in before:
                spark.conf.set(key, before[key])
            else:
                spark.conf.unset(key)


@pytest.fixture
def nothing_stays_persisted(spark: Any) -> Iterator[None]:
    """The test leaves no rows persisted in its classic session. Sessions of Connect in its JVM may have some before."""
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    yield
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= before


@pytest.fixture
def without_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transactions do not look up the files that they add: for tests of commits whose files are never written."""
    monkeypatch.setattr("deltaskip.txn.commit_loop.check_data_files", lambda candidate: None)


@pytest.fixture(autouse=True, scope="module")
def settings_of_the_session_stay() -> Iterator[None]:
    """No module leaves another session active, or a setting in the session. Reads of tables with ids leave theirs."""
    yield
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        connect.SparkSession._active_session.session = None
    sql = sys.modules.get("pyspark.sql")
    session = None if sql is None else sql.SparkSession._instantiatedSession
    if session is None or not hasattr(session.conf, "getAll"):
        return
    started = session.newSession().conf
    now = {key: value for key, value in session.conf.getAll.items() if key.startswith("spark.sql.")}
    left = {key: value for key, value in now.items() if started.get(key) != value}
    left.pop("spark.sql.parquet.fieldId.read.enabled", None)
    # This makes it the active one, if the module has used another one.
    session.createDataFrame([(1,)], "a INT")
    assert not left, f"this module left settings in the session: {left}"


@pytest.fixture
def no_pyspark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """PySpark cannot be imported, and no engine is loaded."""
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "deltaskip.spark.spark_engine", raising=False)
    engine._loaded.cache_clear()
    yield
    engine._loaded.cache_clear()


# What the source of a module has in which all tests, or some, have the mark `spark` or `reference`.
_ALL_WITH_SPARK = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.(spark|reference)\b", re.MULTILINE)
_SOME_WITH_SPARK = re.compile(r"mark\.(spark|reference)\b|NEEDS_HDFS|\bcontract")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of which the run has no test: half of the modules are for one of the two runs only."""
    chosen = str(config.getoption("markexpr"))
    if collection_path.suffix != ".py" or chosen not in ("not spark and not reference", "spark or reference"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    left_out = _ALL_WITH_SPARK.search(text) if chosen.startswith("not") else not _SOME_WITH_SPARK.search(text)
    return True if left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Let the garbage collector pass over what imports and collection leave: over a million objects, which all stay.

    Trees of expressions and sources are many objects and no cycles: looked for more rarely, cycles cost a tenth less.
    """
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Where files stay whole, one worker has all with delta-spark and one all with HDFS, whose JVMs then start once."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    @cache
    def scope(file: str) -> str:
        if file.startswith("tests/reference/"):
            return "tests/reference"
        return "HDFS" if "tests.storage.hdfs" in (config.rootpath / file).read_text(encoding="utf-8") else file

    class OneJVM(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(super()._split_scope(nodeid))

    return OneJVM(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out of the gate what is long, and in tests with Spark combinations of values that each come otherwise."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and not _with_spark(item):
            raise pytest.UsageError(f"{item.nodeid} uses a Spark session and lacks the mark `spark`")
    for path in {item.path for item in items if _with_spark(item)}:
        if not _SOME_WITH_SPARK.search(path.read_text(encoding="utf-8")):
            raise pytest.UsageError(f"{path} has tests with Spark, which nothing in its source says: see conftest.py")
    # These stay in one worker, which has more of them than others have tests.
    items.sort(key=lambda item: not item.nodeid.startswith("tests/reference/"))
    if WHOLE:
        return
    seen: set[tuple[str, str, int]] = set()
    kept = {item for item in items if not _with_spark(item) or not _values(item)}
    # First what brings nothing but new values.
    for enough in (set.isdisjoint, lambda new, seen: not new <= seen):
        for item in items:
            if item not in kept and enough(_values(item), seen):
                kept.add(item)
                seen |= _values(item)
    # Of a test that is long, so many of its cases.
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        long = item.get_closest_marker("long")
        if item in kept and long is not None:
            cases.setdefault((item.nodeid.partition("[")[0], long.kwargs.get("gate", 0)), []).append(item)
    for (_, gate), found in cases.items():
        kept.difference_update(found)
        kept.update(some(found, gate))
    left_out = [item for item in items if item not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item in kept]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Skip a module that needs a package of the extra `reference` which is not installed."""
    report = yield
    missing = re.search(
        r"No module named '(pyspark|deltalake|duckdb|unitycatalog|pydantic)\b", str(report.longrepr or "")
    )
    if report.outcome == "failed" and missing and find_spec(missing[1]) is None:
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 1, f"Skipped: {missing[1]} is not installed (extra reference)")
    return report


def _with_spark(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None or item.get_closest_marker("reference") is not None


def _values(item: pytest.Item) -> set[tuple[str, str, int]]:
    """The values of a test's parameters, each by the test, its name and its identity."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    return {(item.nodeid.partition("[")[0], name, id(value)) for name, value in given.items()}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say before the closing line what the run could not compare with, and how to get it."""
    lines = not_compared.not_compared()
    # `.ci/test` sets the variable where it runs the others next.
    if "not spark" in str(config.getoption("markexpr")) and "DELTASKIP_BOTH_RUNS" not in os.environ:
        lines.insert(0, "Spark, delta-spark, HDFS and other engines: bash .ci/test runs the tests that need them")
    if lines:
        terminalreporter.section("not compared")
    for line in lines:
        terminalreporter.write_line(f"not compared with {line}")


@pytest.fixture(scope="module")
def small_row_groups_are_copied() -> Iterator[None]:
    """Into the next checkpoint, as large ones are."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("deltaskip.log.checkpoint.kept_groups.FEW_ROWS", 1)
        patched.setattr("deltaskip.log.checkpoint.kept_groups._TIMES", 1)
        yield
