"""Loads the collation data of Spark's ICU4J jar into an ICU4C of another version, if no ICU4C has the jar's version.

An engine with the same Unicode version computes the sort keys of the version of its data. The data directory is a
setting of a loaded library, and other code in the process may use the same file. Therefore a copy with another name is
loaded: the loader would reuse a loaded library of the same name.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from importlib.machinery import PathFinder
from itertools import count
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations.icu_data import swapped
from deltaskip.sparkexpr.kernels.icu_library import IcuLibrary

_JAR = regex(r"icu4j-(\d+\.\d+)(?:\.\d+)*\.jar")
_COLLATIONS = "com/ibm/icu/impl/data/icudata/coll/"
_copies = count()


@dataclass(frozen=True, slots=True)
class SparkJar:
    """The ICU4J jar of a Spark installation: its path, and the version in its name."""

    path: str
    version: str


def spark_jar() -> SparkJar | None:
    """The ICU4J jar in SPARK_HOME, else in the installed PySpark, which is not imported; None if neither has a jar."""
    for folder in _spark_homes():
        for path in sorted(folder.glob("jars/icu4j-*.jar")):
            match = _JAR.fullmatch(path.name)
            if match is not None:
                return SparkJar(str(path), match[1])
    return None


def library_with_data(path: str, dependencies: tuple[str, ...], major: str, jar: SparkJar) -> IcuLibrary:
    """A copy of the ICU library at `path`, of the major version `major`, that reads the collations of `jar`.

    Its files stay in a temporary folder until the process ends. Raises OSError if the files cannot be read, written or
    loaded, and ValueError if the format of the jar is not supported.
    """
    folder = Path(tempfile.mkdtemp(prefix="deltaskip-icu-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _write_collations(jar, folder / f"icudt{major}l" / "coll")
    tag = f"d{next(_copies) % 100:02d}"
    *others, common = dependencies or (path,)
    copied = [_renamed(file, folder, tag) for file in (common, path)]
    return IcuLibrary(
        copied[1],
        (*others, copied[0]),
        data_folder=str(folder),
        data_version=jar.version,
        source=f"{path} with the data of {jar.path}",
    )


def _spark_homes() -> list[Path]:
    homes = [Path(home)] if (home := os.environ.get("SPARK_HOME")) else []
    # PathFinder does not import the package and runs no import hooks.
    spec = PathFinder.find_spec("pyspark")
    return homes + [Path(folder) for folder in (spec.submodule_search_locations or () if spec is not None else ())]


def _write_collations(jar: SparkJar, folder: Path) -> None:
    """Write the collations of the jar in this machine's byte order, and Swedish a second time as the locale `zxx`.

    No ICU has that locale: a library that has it reads this folder.
    """
    folder.mkdir(parents=True)
    try:
        with ZipFile(jar.path) as archive:
            names = [name for name in archive.namelist() if name.startswith(_COLLATIONS) and not name.endswith("/")]
            for name in names:
                (folder / name.rpartition("/")[2]).write_bytes(swapped(archive.read(name)))
    except BadZipFile as error:
        raise ValueError(f"{jar.path} is not a jar: {error}") from error
    if not {"ucadata.icu", "sv.res", "res_index.res"} <= {name.rpartition("/")[2] for name in names}:
        raise ValueError(f"{jar.path} does not contain collations")
    shutil.copyfile(folder / "sv.res", folder / "zxx.res")


def _renamed(file: str, folder: Path, tag: str) -> str:
    """A copy of a library in which the names of ICU libraries are replaced by other names of the same length."""
    image = Path(file).read_bytes()
    for name in (b"uc", b"i18n"):
        image = image.replace(b"libicu" + name, b"lib" + tag.encode() + name)
    copy = folder / Path(file).name.replace("libicu", f"lib{tag}")
    copy.write_bytes(image)
    return str(copy)
