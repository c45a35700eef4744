"""Where ICU libraries are found, what is loaded when, what is refused, and several versions in one process."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deltaskip.errors import CollationUnavailable, InvalidArgumentType
from deltaskip.sparkexpr.collations import libraries
from deltaskip.sparkexpr.collations.libraries import (
    fault,
    find_icu_files,
    icu_libraries,
    icu_library,
    key_digest,
    refused_icu_files,
    register_icu,
)
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator
from tests.each import refuses


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """No library registered, loaded or refused; as it was afterwards."""
    monkeypatch.setattr(libraries, "_process", libraries._Process())
    libraries._find.cache_clear()
    yield libraries._process
    libraries._find.cache_clear()


def in_a_new_process(code: str, **environment: str) -> Any:
    """What the code prints, as JSON, in an interpreter of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


LOADED = """
import json, pathlib
import deltaskip as ds
def loaded():
    return sorted({line.split()[-1].rsplit("/", 1)[1] for line in open("/proc/self/maps") if "libicui18n" in line})
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the system does not list what a process has loaded")
def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    code = (
        LOADED
        + """
before = loaded()
ds.collation("spark.UTF8_LCASE.77.1")
from deltaskip.sparkexpr.collations.libraries import find_icu_files
find_icu_files()
between = loaded()
ds.collation("icu.UNICODE.77.1")
print(json.dumps([before, between, loaded()]))
"""
    )
    before, between, after = in_a_new_process(code)
    assert before == between == []
    assert len(after) == 1
    assert after[0].endswith(".77.1")


def test_the_icu_of_pyicu_wheels_is_found_by_version() -> None:
    library = icu_library("77.1")
    assert library is not None
    assert library.version == "77.1"
    assert icu_library("77.1") is library
    assert icu_libraries()["77.1"] is library
    assert icu_library("77") is None
    assert icu_library("77.1.0.0") is None
    assert icu_library("1.0") is None


def test_each_version_is_there_once_the_newest_first() -> None:
    found = icu_libraries()
    assert list(found) == sorted(found, key=lambda version: [int(part) for part in version.split(".")], reverse=True)
    assert all(library.version == version for version, library in found.items())
    assert len({files.path for files in find_icu_files()}) == len(find_icu_files())


# U+1FAE9 is a character of Unicode 16 (ICU 76), U+1FAEA of Unicode 17 (ICU 78).
SIGNS = {
    "72.1": [-1, 1, 1, -1, -1],
    "76.1": [-1, -1, -1, 1, -1],
    "77.1": [-1, -1, -1, 1, -1],
    "78.3": [-1, -1, -1, 1, 1],
}

VERSIONS = """
import json
import deltaskip as ds
pairs = [
    ("a", "b"), ("锑傍辒僢賊瑊爽凂", "錣鷚避"), ("\\U00031288", "\\u4cf4"), ("a", "\\U0001fae9"), ("a", "\\U0001faea")
]
found = {}
for entry in ds.available_collations():
    if entry.provider == "icu":
        order = ds.collation(f"icu.UNICODE.{entry.version}")
        found[entry.version] = [entry.source, order.id.text, [order.compare_values(a, b) for a, b in pairs]]
for version in reversed(found):  # each again, now that all are loaded
    order = ds.collation(f"icu.UNICODE.{version}")
    assert [order.compare_values(a, b) for a, b in pairs] == found[version][2]
print(json.dumps(found))
"""


def test_versions_run_side_by_side_in_one_process(old_icu: Path) -> None:
    found = in_a_new_process(VERSIONS, DELTASKIP_ICU_PATH=str(old_icu))
    assert {"76.1", "77.1"} <= set(found)
    assert found["76.1"][0].startswith(str(old_icu))
    for version, (_, identifier, signs) in found.items():
        assert identifier == f"icu.UNICODE.{version}"
        assert signs == SIGNS.get(version, signs)


@pytest.mark.parametrize("version", ["72.1", "78.3"])
def test_a_library_of_this_environment_runs_beside_77_1(version: str) -> None:
    other, own = icu_library(version), icu_library("77.1")
    if other is None:
        pytest.skip(f"no ICU library of version {version} is in this environment")
    assert own is not None
    assert key_digest(own) != key_digest(other)
    assert (own.suffix, other.suffix) == ("_77", "_" + version[:2])


def test_a_registered_folder_goes_first(fresh: Any, old_icu: Path) -> None:
    assert register_icu(old_icu) == ("76.1",)
    library = icu_library("76.1")
    assert library is not None
    assert library.path.startswith(str(old_icu.resolve()))
    assert find_icu_files()[0].path == library.path
    (file,) = old_icu.glob("libicui18n*")
    assert register_icu(file) == ("76.1",)
    assert icu_library("76.1") is library


def test_one_version_from_two_places_is_that_of_the_first(fresh: Any, tmp_path: Path) -> None:
    own = icu_library("77.1")
    assert own is not None
    for file in Path(own.path).parent.iterdir():
        shutil.copy(file, tmp_path)
    assert register_icu(tmp_path) == ("77.1",)
    copied = icu_library("77.1")
    assert copied is not None
    assert copied.path == str(tmp_path / Path(own.path).name)


@pytest.mark.parametrize("name", ["libicu{}.77.1.dylib", "libicu{}-abc123.77.1.dylib", "libicu{}.dylib"])
def test_names_of_macos_are_known(fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    own = icu_library("77.1")
    assert own is not None
    inside = tmp_path / "icu" / ".dylibs"
    inside.mkdir(parents=True)
    for part in ("data", "uc", "i18n"):
        [file] = Path(own.path).parent.glob(f"libicu{part}[-.]*")
        shutil.copy(file, inside / name.format(part))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert libraries._find((), (str(tmp_path),), "")[0] == libraries.IcuFiles(
        str(inside / name.format("i18n")),
        tuple(str(inside / name.format(part)) for part in ("data", "uc")),
        "77.1" if "77.1" in name else None,
    )
    assert register_icu(inside) == ("77.1",)


def test_a_path_without_icu_is_named(fresh: Any, tmp_path: Path) -> None:
    refuses(CollationUnavailable, r"no usable ICU library: it contains no file libicui18n\.so", register_icu, tmp_path)
    refuses(CollationUnavailable, "no such folder", register_icu, "no such folder")
    refuses(InvalidArgumentType, "path must be", register_icu, 5)
    (tmp_path / "libicui18n.so.99.1").write_bytes(b"not a library")
    refuses(CollationUnavailable, r"libicui18n\.so\.99\.1", register_icu, tmp_path)
    assert find_icu_files()
    assert not any(str(tmp_path) in files.path for files in find_icu_files())


def test_a_damaged_library_is_refused_and_the_others_serve(
    fresh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libicui18n.so.77.1").write_bytes(b"\x7fELF" + bytes(100))
    monkeypatch.setenv("DELTASKIP_ICU_PATH", os.pathsep.join(["", str(tmp_path), "nowhere"]))
    library = icu_library("77.1")
    assert library is not None
    assert not library.path.startswith(str(tmp_path))
    assert list(refused_icu_files()) == [str(tmp_path / "libicui18n.so.77.1")]


def test_a_library_with_other_keys_than_its_version_is_refused(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.sparkexpr.collations import libraries

    monkeypatch.setitem(libraries._DIGESTS, "77.1", "0" * 32)
    assert icu_library("77.1") is None
    assert "77.1" not in icu_libraries()
    reason = next(text for path, text in refused_icu_files().items() if not path.endswith(".jar"))
    assert "sort keys that differ from those of ICU 77.1, the version that it reports" in reason


@pytest.mark.parametrize(
    ("table", "wrong", "reason"),
    [
        ("_ASCENDING", {"und-u-ks-level3": ("a", "A", "a")}, "has 'A' not below 'a' in und-u-ks-level3"),
        ("_EQUAL", {"und-u-ks-level3": (("a", "A"),)}, "has 'a' not equal to 'A' in und-u-ks-level3"),
        ("_NOT_UTF8", ((b"\xff", 2, b""),), "invalid UTF-8"),
    ],
)
def test_the_check_finds_what_is_wrong(table: str, wrong: object, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.sparkexpr.collations import libraries

    library = icu_library("77.1")
    assert library is not None
    assert fault(library) is None
    monkeypatch.setattr(libraries, table, wrong)
    found = fault(library)
    assert found is not None
    assert reason in found


def test_a_library_of_another_version_than_its_name_says_is_refused(fresh: Any, tmp_path: Path) -> None:
    """So it is, too, where the loader took the parts of an ICU of the same name that was loaded before."""
    own = icu_library("77.1")
    assert own is not None
    for file in Path(own.path).parent.iterdir():
        shutil.copy(file, tmp_path / file.name.replace(".77.1", ".77.9"))
    refuses(CollationUnavailable, r"is ICU 77\.1, not 77\.9", register_icu, tmp_path)
    assert icu_library("77.9") is None


def test_a_locale_that_icu_cannot_open_is_an_error() -> None:
    own = icu_library("77.1")
    assert own is not None
    refuses(OSError, "cannot open the collation 'und-u-ks-wrong'", IcuCollator, own, "und-u-ks-wrong")
