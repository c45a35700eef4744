"""The collation data of Spark's jar in an ICU of another version: as exact as the version itself, or refused."""

import struct
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from deltaskip.sparkexpr.collations import libraries
from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.collations.libraries import (
    data_fault,
    icu_libraries,
    icu_library,
    key_digest,
    refused_icu_files,
)
from deltaskip.sparkexpr.collations.spark_data import (
    IcuCollation,
    SparkJar,
    icu_collation,
    library_with_data,
    spark_jar,
    swapped,
)
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator, IcuLibrary
from deltaskip.sparkexpr.kernels.icu_order import compare_texts
from tests.each import refuses
from tests.looped import looped
from tests.sparkexpr.collations.icu_vectors import collation_of, order_files, rows, strings

FOLDER = "com/ibm/icu/impl/data/icudata/coll/"
SPARK_FILES = [path for path in order_files("spark_*.jsonl") if not (isinstance(path, str) and ".UTF8_" in path)]


@pytest.fixture(scope="module")
def jar() -> SparkJar:
    found = spark_jar()
    if found is None:
        pytest.skip("no PySpark is installed, so there is no ICU4J jar of its own")
    if found.version != "77.1":
        pytest.skip(f"the installed PySpark has ICU {found.version}, and the expectations are those of 77.1")
    return found


@pytest.fixture(scope="module")
def engine(old_icu: Path, jar: SparkJar) -> IcuLibrary:
    """ICU 76.1, reading the data of Spark's jar."""
    (files,) = libraries._files_at(str(old_icu))
    return library_with_data(files.path, files.dependencies, "76", jar)


@pytest.fixture
def without_77(monkeypatch: pytest.MonkeyPatch, old_icu: Path) -> libraries._Process:
    """Libraries of 76.1 and of other versions of Unicode are found, none of 77.1, and nothing is loaded yet."""
    others = [files for files in libraries.find_icu_files() if files.named_version != "77.1"]
    found = (*others, *libraries._files_at(str(old_icu)))
    monkeypatch.setattr(libraries, "_process", libraries._Process())
    monkeypatch.setattr(libraries, "find_icu_files", lambda: found)
    return libraries._process


def order(library: IcuLibrary, name: str) -> IcuCollation:
    return icu_collation(CollationId.parse(f"icu.{name}.{library.version}"), library)


def test_the_data_takes_effect_and_is_that_of_its_version(engine: IcuLibrary) -> None:
    assert engine.version == "77.1"
    assert data_fault(engine) is None
    own = icu_library("77.1")
    assert own is not None
    assert key_digest(engine) == key_digest(own)
    assert set(engine.locales()) == set(own.locales())


@looped("file", SPARK_FILES)
def test_keys_are_those_of_spark_byte_for_byte(engine: IcuLibrary, file: str) -> None:
    texts, found = strings(), rows(f"order/{file}")
    column = pa.array([texts[row["id"]] for row in found], pa.binary())
    keys = order(engine, collation_of(file)).sort_keys(column).to_pylist()
    assert [key.hex() for key in keys] == [row["key_hex"].lower() for row in found]


@pytest.mark.parametrize("name", ["UNICODE", "UNICODE_CI", "ja", "zh_Hant", "th", "vi_AI"])
def test_every_character_of_the_basic_plane_has_the_key_of_the_version_itself(engine: IcuLibrary, name: str) -> None:
    own = icu_library("77.1")
    assert own is not None
    characters = [chr(c) for c in range(0x10000) if not 0xD800 <= c < 0xE000]
    column = pa.array([*characters, *(f"a{c}\u0323\u0301b" for c in characters[::3])])
    assert order(engine, name).sort_keys(column) == order(own, name).sort_keys(column)


def test_the_library_itself_keeps_its_own_data(engine: IcuLibrary) -> None:
    own = icu_library("77.1")
    assert own is not None
    refuses(OSError, "zxx", _swedish, own)
    _swedish(engine)


def _swedish(library: IcuLibrary) -> None:
    """Raise OSError unless the locale that only the folder has is there."""
    if compare_texts(IcuCollator(library, "zxx"), "ö".encode(), b"z") < 0:
        raise OSError("zxx has the root's order")


def test_it_serves_where_no_library_of_the_version_is_here(without_77: libraries._Process, jar: SparkJar) -> None:
    library = icu_library("77.1")
    assert library is not None
    assert library.source.endswith(f" with the data of {jar.path}")
    assert library.version == "77.1"
    assert icu_library("77.1") is library
    assert icu_libraries()["77.1"] is library
    found = order(library, "UNICODE_CI")
    assert found.source == library.source
    assert found.compare_values("a", "\U0001fae9") == 1
    assert found.compare_values("a", "\U0001faea") == -1


def test_a_library_of_another_version_of_unicode_is_no_engine(
    without_77: libraries._Process, jar: SparkJar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It orders combining marks that only one of the two versions knows otherwise, as 78.3 does U+1ACF in Thai."""
    others = tuple(files for files in libraries.find_icu_files() if files.named_version != "76.1")
    monkeypatch.setattr(libraries, "find_icu_files", lambda: others)
    assert icu_library("77.1") is None
    assert "no available ICU library has the Unicode version" in refused_icu_files()[jar.path]


def test_a_library_of_the_version_goes_before_the_jar(jar: SparkJar) -> None:
    library = icu_library("77.1")
    assert library is not None
    assert library.source == library.path


def made_jar(path: Path, source: SparkJar, **changed: bytes | None) -> Path:
    """A Spark folder with a copy of the jar; `changed` replaces files of it by name, None leaves them out."""
    jars = path / "jars"
    jars.mkdir(parents=True)
    with zipfile.ZipFile(source.path) as old, zipfile.ZipFile(jars / f"icu4j-{source.version}.jar", "w") as new:
        for name in (name for name in old.namelist() if name.startswith(FOLDER) and not name.endswith("/")):
            data = changed.get(name.rpartition("/")[2].replace(".", "_"), old.read(name))
            if data is not None:
                new.writestr(name, data)
    return path


def test_the_spark_that_is_set_goes_before_the_one_installed(
    jar: SparkJar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = made_jar(tmp_path, jar)
    monkeypatch.setenv("SPARK_HOME", str(home))
    assert spark_jar() == SparkJar(str(home / "jars" / "icu4j-77.1.jar"), "77.1")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "nothing"))
    assert spark_jar() == jar


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"ucadata_icu": None}, "does not contain collations"),
        ({"ucadata_icu": b"\x00\x20"}, "not big-endian ICU data"),
        ({"sv_res": b"PK" * 200}, "not big-endian ICU data"),
    ],
)
def test_a_jar_with_other_data_is_refused(
    changed: dict[str, bytes | None],
    reason: str,
    without_77: libraries._Process,
    jar: SparkJar,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(made_jar(tmp_path, jar, **changed)))
    assert icu_library("77.1") is None
    assert "77.1" not in icu_libraries()
    assert [reason in text for text in refused_icu_files().values()] == [True]


def test_a_version_whose_keys_are_not_known_is_refused(
    without_77: libraries._Process, jar: SparkJar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(libraries._DIGESTS, "77.1")
    assert icu_library("77.1") is None
    assert "the sort keys of ICU 77.1 are not known" in refused_icu_files()[jar.path]


def test_a_file_that_is_no_jar_is_refused(
    without_77: libraries._Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jars").mkdir()
    path = tmp_path / "jars" / "icu4j-77.1.jar"
    path.write_bytes(b"no jar")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert icu_library("77.1") is None
    assert "is not a jar" in refused_icu_files()[str(path)]


def test_data_cut_anywhere_is_refused_or_swapped_without_harm(jar: SparkJar) -> None:
    with zipfile.ZipFile(jar.path) as archive:
        data = archive.read(FOLDER + "cs.res")
        root = archive.read(FOLDER + "ucadata.icu")
    assert len(swapped(data)) == len(data)
    assert struct.unpack_from("<H", swapped(root)) == struct.unpack_from(">H", root)
    refused = 0
    for size in range(0, len(data), 101):
        try:
            assert len(swapped(data[:size])) == size
        except ValueError:
            refused += 1
    assert refused > 80
    for damaged in (b"", b"\x00\x20\xda\x27", swapped(data), data.replace(b"ResB", b"Resb"), root[:5000]):
        refuses(ValueError, "ICU", swapped, damaged)
