"""Finds, loads and checks the ICU libraries of this process.

The search order is: paths given to register_icu, paths in DELTASKIP_ICU_PATH, installed packages with an ICU library
(pyicu-wheels contains 77.1, icu4py 78.3), the folders of the loader, and finally the collation data in the ICU4J jar of
the installed Spark, read by a library of another version. A library is loaded at its first use and stays loaded.
Several versions run side by side, because each version is bound by its own path and symbols. Before the order of a
library is trusted, it is checked: a build is refused if it lacks locales, has changed rules or unsupported behavior.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise, product
from pathlib import Path

from deltaskip import arguments
from deltaskip.doors import door
from deltaskip.errors import CollationUnavailable
from deltaskip.fork_safety import new_reentrant_lock
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations.spark_data import SparkJar, library_with_data, spark_jar
from deltaskip.sparkexpr.kernels.icu_keys import sort_key
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator, IcuLibrary
from deltaskip.sparkexpr.kernels.icu_order import compare_texts

PATH_VARIABLE = "DELTASKIP_ICU_PATH"

# libicui18n.so.77.1, and libicui18n.77.1.dylib on macOS.
_I18N = regex(r"libicui18n[-\w]*(?=.*\.(?:so|dylib))(?P<end>(?:\.so)?(?:\.(?P<version>\d+(?:\.\d+)*))?(?:\.dylib)?)")
_SYSTEM_FOLDERS = ("/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64")


@dataclass(frozen=True, slots=True)
class IcuFiles:
    """The files of one ICU: its collation library, and the libraries to load before it, in order.

    named_version: The version in the file name, such as "77.1" or "72"; the loaded library returns its exact version.
    """

    path: str
    dependencies: tuple[str, ...]
    named_version: str | None


class _Process:
    """The libraries that this process has loaded or refused, by real path."""

    def __init__(self) -> None:
        self.lock = new_reentrant_lock()
        self.registered: tuple[str, ...] = ()
        self.loaded: dict[str, IcuLibrary] = {}
        self.refused: dict[str, str] = {}


_process = _Process()


@door
def register_icu(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Register an ICU library for collations. It takes precedence over other libraries of its version.

    Args:
        path: A libicui18n file, or a folder with such files.

    Returns:
        The exact versions found, such as ("76.1",).

    Raises:
        CollationUnavailable: The path contains no ICU library that passes the checks.
        InvalidArgumentType: `path` is not a path.
    """
    text = arguments.path("path", path)
    found = tuple(_files_at(text))
    libraries = [library for files in found if (library := _load(files)) is not None]
    if not libraries:
        reasons = (
            "; ".join(_process.refused[files.path] for files in found)
            or "it contains no file libicui18n.so* or libicui18n*.dylib"
        )
        raise CollationUnavailable(f"{text} contains no usable ICU library: {reasons}. Pass another file or folder.")
    with _process.lock:
        _process.registered = (text, *(other for other in _process.registered if other != text))
        for jar in [path for path in _process.refused if path.endswith(".jar")]:
            del _process.refused[jar]  # the new library may be able to read its data
    return tuple(library.version for library in libraries)


def icu_library(version: str) -> IcuLibrary | None:
    """The library of exactly this version ("77.1"), loaded and checked; None if none is available. Never raises.

    Files with a different version in their name are not loaded.
    """
    for files in sorted(find_icu_files(), key=lambda files: files.named_version != version):
        if _may_be(files.named_version, version):
            library = _load(files)
            if library is not None and library.version == version:
                return library
    jar = spark_jar()
    return _load_with_data(jar) if jar is not None and jar.version == version else None


def icu_libraries() -> dict[str, IcuLibrary]:
    """All available libraries by exact version, newest first. Loads and checks libraries that are not loaded yet."""
    libraries: dict[str, IcuLibrary] = {}
    for files in find_icu_files():
        library = _load(files)
        if library is not None:
            libraries.setdefault(library.version, library)
    jar = spark_jar()
    if jar is not None and jar.version not in libraries:
        library = _load_with_data(jar)
        if library is not None:
            libraries[library.version] = library
    return dict(sorted(libraries.items(), key=lambda item: [int(part) for part in item[0].split(".")], reverse=True))


def refused_icu_files() -> dict[str, str]:
    """The reason for each file that was loaded and refused."""
    return dict(_process.refused)


def find_icu_files() -> tuple[IcuFiles, ...]:
    """The files of every ICU found, in order of preference, without duplicates. Loads no library."""
    named = os.environ.get(PATH_VARIABLE, "")
    searched = os.environ.get("LD_LIBRARY_PATH", "")
    return _find((*_process.registered, *filter(None, named.split(os.pathsep))), tuple(sys.path), searched)


@lru_cache(maxsize=4)
def _find(named: tuple[str, ...], packages: tuple[str, ...], searched: str) -> tuple[IcuFiles, ...]:
    system = [*filter(None, searched.split(os.pathsep)), os.path.join(sys.prefix, "lib")]
    triplet = getattr(sys.implementation, "_multiarch", None)
    for folder in _SYSTEM_FOLDERS:
        system += [os.path.join(folder, triplet), folder] if triplet else [folder]
    places = (*named, *_package_folders(packages), *system)
    found = {files.path: files for place in places for files in _files_at(place)}
    return tuple(found.values())


def _package_folders(packages: Iterable[str]) -> Iterator[str]:
    """The folders in which wheels install their libraries: NAME.libs, or .dylibs in the package on macOS."""
    ending, inside = ("", ".dylibs") if sys.platform == "darwin" else (".libs", "")
    for package in packages:
        try:
            with os.scandir(package or os.curdir) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(ending))
        except OSError:
            continue
        yield from (os.path.join(package, name, inside) for name in names)


def _files_at(place: str) -> Iterator[IcuFiles]:
    """The ICUs in a folder, or the ICU of a collation library. Symbolic links are resolved: each ICU appears once."""
    if os.path.isfile(place):
        names, folder = [os.path.basename(place)], os.path.dirname(place)
    else:
        folder = place
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return
    seen = set()
    for name in names:
        if _I18N.fullmatch(name) is None:
            continue
        path = Path(folder, name).resolve()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        match = _I18N.fullmatch(path.name)
        dependencies = tuple(filter(None, (_beside(path, match, part) for part in ("data", "uc"))))
        yield IcuFiles(str(path), dependencies, match["version"] if match is not None else None)


def _beside(path: Path, match: re.Match[str] | None, part: str) -> str | None:
    """The library `part` of the same ICU in the same folder. Wheels add a different hash to each library name."""
    end = ".so" if match is None else match["end"]
    plain = path.with_name(f"libicu{part}{end}")
    if plain.is_file():
        return str(plain)
    hashed = sorted(path.parent.glob(f"libicu{part}-*{end}"))
    return str(hashed[0]) if len(hashed) == 1 else None


def _may_be(named: str | None, version: str) -> bool:
    """Whether a library with `named` in its file name may have this version: 72 may be 72.1."""
    return named is None or named == version or ("." not in named and version.partition(".")[0] == named)


def _misnamed(library: IcuLibrary, files: IcuFiles) -> str | None:
    """The fault of a library whose version differs from its file name; None for other libraries.

    It may be linked to parts of another ICU: the loader resolves a part by its name among all loaded libraries.
    """
    named = files.named_version
    if named is None or "." not in named or named == library.version or named.startswith(library.version + "."):
        return None
    return f"{files.path} is ICU {library.version}, not {named} as in its name, or is linked to parts of that version"


def _load(files: IcuFiles) -> IcuLibrary | None:
    """The library, loaded and checked at most once; None after a failure, whose reason is stored."""
    with _process.lock:
        if files.path in _process.refused:
            return None
        library = _process.loaded.get(files.path)
        if library is not None:
            return library
        try:
            library = IcuLibrary(files.path, files.dependencies)
            wrong = _misnamed(library, files) or fault(library)
        except OSError as error:
            wrong = str(error)
        if library is None or wrong:
            _process.refused[files.path] = wrong or "it cannot be loaded"
            return None
        _process.loaded[files.path] = library
        return library


def _load_with_data(jar: SparkJar) -> IcuLibrary | None:
    """A library that reads the data of the jar, loaded and checked at most once; None after a failure.

    Its engine must implement the same version of Unicode: canonical order is part of the engine, and combining marks
    that only one of two versions has (such as U+0897 and U+1ACF) have different keys under locales with contractions.
    """
    with _process.lock:
        if jar.path in _process.loaded or jar.path in _process.refused:
            return _process.loaded.get(jar.path)
        unicode = unicode_version(jar.version)
        found = ((files, _load(files)) for files in find_icu_files())
        engines = [(f, e) for f, e in found if e is not None and unicode and unicode_version(e.version) == unicode]
        if not engines:
            _process.refused[jar.path] = f"no available ICU library has the Unicode version of {jar.path}"
            return None
        files, engine = engines[0]
        library, wrong = None, None
        try:
            library = library_with_data(files.path, files.dependencies, engine.version.partition(".")[0], jar)
            wrong = data_fault(library)
        except (OSError, ValueError) as error:
            wrong = str(error)
        if library is None or wrong:
            _process.refused[jar.path] = wrong or "it cannot be loaded"
            return None
        _process.loaded[jar.path] = library
        return library


# Each list is strictly ascending under its locale in every version of ICU.
_ASCENDING = {
    "und-u-ks-level3": (
        "",
        " ",
        "_",
        "-",
        ",",
        "!",
        "0",
        "10a",
        "9",
        "a",
        "A",
        "à",
        "Æ",
        "b",
        "co-op",
        "coop",
        "cóop",
        "ss",
        "ß",
        "st",
        "z",
        "α",
        "Ω",
        "а",
        "я",
        "א",
        "ا",
        "क",
        "ก",
        "あ",
        "一",
        "丁",
        "𠀀",
        "\ufffd",
    ),
    "und-u-ks-level2": ("a", "á", "B", "resume", "RÉSUMÉ", "Strasse", "STRAẞE", "z"),
    "und-u-kc-true-ks-level1": ("a", "A", "b", "É"),
    "cs-u-ks-level3": ("cz", "č", "h", "ch", "i"),
    "sv-u-ks-level3": ("z", "å", "ä", "ö"),
    "de-u-co-phonebk": ("ad", "ae", "ä", "af"),
    "zh-u-ks-level3": ("阿", "八", "中"),
}
_EQUAL = {
    "und-u-ks-level3": (("é", "e\u0301"), ("coop", "co\u00adop"), ("Å", "\u212b"), ("가", "\u1100\u1161")),
    "und-u-ks-level2": (("①", "1"), ("ﬁ", "FI")),
    "und-u-ks-level1": (("straße", "STRASSE"), ("é", "E"), ("Ǻ", "a")),
}
# Ill-formed bytes, the number of U+FFFD to which they are equal, and the bytes after them.
_NOT_UTF8 = (
    (b"\xff", 1, b""),
    (b"\xc0\xaf", 2, b""),
    (b"\xed\xa0\x80", 3, b""),
    (b"\xf4\x90\x80\x80", 4, b""),
    (b"\xf0\x90\x80", 1, b""),
    (b"\xe2\x82", 1, b""),
    (b"\xe2\x82b", 1, b"b"),
    (b"\xc3(", 1, b"("),
)

# Digests of the sort keys of all strings above, by version.
_DIGESTS = {
    "72.1": "7805cc2e704b1ae9dd5d6bb1e307db99",
    "76.1": "971f8b8ce9e9e80c6bf12b52cb74ac65",
    "77.1": "971f8b8ce9e9e80c6bf12b52cb74ac65",
    "78.1": "c1ba3113d05a9f9c53cb53e2add6b830",
    "78.2": "c1ba3113d05a9f9c53cb53e2add6b830",
    "78.3": "c1ba3113d05a9f9c53cb53e2add6b830",
}

_UNICODE = {"72.1": "15.0", "76.1": "16.0", "77.1": "16.0", "78.1": "17.0", "78.2": "17.0", "78.3": "17.0"}


def unicode_version(version: str) -> str | None:
    """The Unicode version of ICU `version`; None for an unknown version."""
    return _UNICODE.get(version)


def fault(library: IcuLibrary) -> str | None:
    """The fault of the library as a part of a sentence; None if it passes the checks.

    Raises OSError if the library cannot open a collation.
    """
    collators = _collators(library)
    wrong = _disorder(collators) or _inequality(collators) or _ill_formed(collators["und-u-ks-level3"])
    if wrong is None and _DIGESTS.get(library.version, digest := _digest(collators)) != digest:
        wrong = f"sort keys that differ from those of ICU {library.version}, the version that it reports"
    return wrong and f"{library.source} has {wrong}"


def data_fault(library: IcuLibrary) -> str | None:
    """The fault of a library that reads the data of another version; None if it passes the checks.

    Only versions with known keys can be checked. `zxx` is Swedish in that data, and ICU does not have it.
    Raises OSError if the library cannot open a collation.
    """
    if library.version not in _DIGESTS:
        return f"{library.source} cannot be checked: the sort keys of ICU {library.version} are not known"
    wrong = _disorder({"sv-u-ks-level3": IcuCollator(library, "zxx", ranked=False)})
    return f"{library.source} does not take effect: it has {wrong}" if wrong else fault(library)


def key_digest(library: IcuLibrary) -> str:
    """A digest of the sort keys of all strings of the checks; equal for two libraries of the same version."""
    return _digest(_collators(library))


def _collators(library: IcuLibrary) -> dict[str, IcuCollator]:
    return {locale: IcuCollator(library, locale, ranked=False) for locale in (*_ASCENDING, *_EQUAL)}


def _digest(collators: dict[str, IcuCollator]) -> str:
    digest = blake2b(digest_size=16)
    equal = [text for pairs in _EQUAL.values() for pair in pairs for text in pair]
    for locale, ascending in _ASCENDING.items():
        for text in (*ascending, *equal):
            digest.update(sort_key(collators[locale], text.encode()))
    return digest.hexdigest()


def _disorder(collators: dict[str, IcuCollator]) -> str | None:
    for locale, collator in collators.items():
        ascending = _ASCENDING.get(locale, ())
        keyed = [(text.encode(), sort_key(collator, text.encode())) for text in ascending]
        for (low, low_key), (high, high_key) in product(keyed, repeat=2):
            if compare_texts(collator, low, high) != (low_key > high_key) - (low_key < high_key):
                return f"sort keys of {low.decode()!r} and {high.decode()!r} in {locale} that contradict its comparison"
        for (low, low_key), (high, high_key) in pairwise(keyed):
            if low_key >= high_key:
                return f"{low.decode()!r} not below {high.decode()!r} in {locale}"
    return None


def _inequality(collators: dict[str, IcuCollator]) -> str | None:
    for locale, pairs in _EQUAL.items():
        collator = collators[locale]
        for left, right in pairs:
            a, b = left.encode(), right.encode()
            if compare_texts(collator, a, b) != 0 or sort_key(collator, a) != sort_key(collator, b):
                return f"{left!r} not equal to {right!r} in {locale}"
    return None


def _ill_formed(collator: IcuCollator) -> str | None:
    for damaged, parts, rest in _NOT_UTF8:
        if compare_texts(collator, damaged, "\ufffd".encode() * parts + rest) != 0:
            return (
                f"an interpretation of the invalid UTF-8 {damaged!r} that differs from {parts} × U+FFFD "
                f"followed by {rest!r}"
            )
    return None
