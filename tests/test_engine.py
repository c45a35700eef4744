"""The engine is loaded when it is needed and not before."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import deltaskip as ds
from deltaskip import demo
from deltaskip.engine import _loaded, engine, is_column
from tests.each import refuses

# A program that runs its arguments as a command, without pyspark, and fails if anything asked for it.
WITHOUT_PYSPARK = """
import sys
asked = []
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyspark":
            asked.append(name)
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked())
from deltaskip.cli import main
status = main(sys.argv[1:])
assert not asked and "pyspark" not in sys.modules, asked
sys.exit(status)
"""


@pytest.fixture
def unloaded() -> Iterator[None]:
    _loaded.cache_clear()
    yield
    _loaded.cache_clear()


def test_spark_is_the_engine() -> None:
    pyspark = pytest.importorskip("pyspark")
    assert engine("This").version == pyspark.__version__
    assert engine("This") is engine("That")


@pytest.mark.usefixtures("no_pyspark")
def test_without_pyspark_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    demo.make_table(tmp_path / "t", demo.write_with_pyarrow)
    table = ds.DeltaTable(tmp_path / "t")
    missing = r"needs PySpark, which is not installed\. Run: pip install 'pyspark>=3\.5' ('\w+>=\S+' ?){3}$"
    refuses(ds.SparkUnavailable, "^Reading file:.*" + missing, lambda: table.scan("id = 1").to_spark(None))
    refuses(ds.SparkUnavailable, "^Recomputing statistics of file:.*" + missing, table.recompute_stats, "a session")


@pytest.mark.usefixtures("unloaded")
def test_without_an_engine_the_error_names_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deltaskip.spark.spark_engine", None)
    refuses(ds.SparkUnavailable, r"^This needs .* does not contain.* pip install 'pyspark>=3\.5'", engine, "This")


def test_a_package_that_is_only_on_the_python_path_has_its_engine(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    code = "from deltaskip.engine import engine; print(type(engine('This')).__name__)"
    # -S and an empty folder: no metadata of an installed package is found.
    paths = [str(Path(ds.__file__).parents[1]), *(path for path in sys.path if path.endswith("site-packages"))]
    (tmp_path / "deltaskip-0.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: deltaskip\nVersion: 0.0\n"
    (tmp_path / "deltaskip-0.0.dist-info" / "METADATA").write_text(metadata)
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *paths])},
    )
    assert (ran.returncode, ran.stdout) == (0, "SparkEngine\n"), ran.stderr


@pytest.mark.parametrize("value", ["id = 1", ds.col("id") == 1, 1, None], ids=repr)
def test_what_is_not_of_pyspark_is_no_column_of_the_engine(value: object) -> None:
    assert not is_column(value)


def test_importing_the_package_looks_for_no_engine() -> None:
    code = "import sys, deltaskip; print([name for name in sys.modules if 'spark' in name.split('.')[:2]])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.long
def test_a_dry_run_of_a_recomputation_needs_no_pyspark(tmp_path: Path) -> None:
    demo.make_table(tmp_path / "t", demo.write_with_pyarrow)
    command = [sys.executable, "-c", WITHOUT_PYSPARK, "stats", str(tmp_path / "t"), "--recompute"]
    ran = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "would read 200 files" in ran.stdout
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "AssertionError: ['pyspark']" in refused.stderr and "needs PySpark, which is not installed" in refused.stderr
