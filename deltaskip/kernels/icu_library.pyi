from collections.abc import Iterable

class IcuLibrary:
    """One ICU4C library in this process, bound by dlopen; it stays loaded."""

    @property
    def path(self) -> str: ...
    @property
    def version(self) -> str:
        """major.minor as the library itself says: "77.1"."""
    @property
    def suffix(self) -> str:
        """What its symbols end in: "_77", or nothing."""
    @property
    def source(self) -> str:
        """What to call it to people: its path, if nothing else was given."""
    def __init__(
        self,
        path: str,
        dependencies: Iterable[str] = (),
        *,
        data_folder: str | None = None,
        data_version: str | None = None,
        source: str | None = None,
    ) -> None:
        """path: the file of libicui18n. dependencies: files to load before it, in order (libicudata, libicuuc).

        data_folder, data_version: a folder whose data goes before the library's own, and the version of that, which is
        then the library's: for a file that nothing else in the process uses, and that is loaded for the first time.
        Raises OSError where a file cannot be loaded or lacks a function.
        """
    def locales(self) -> tuple[str, ...]:
        """Locales that the library has a collation of, as ICU writes them: "de", "sr_Cyrl_BA"; not the root."""

class IcuCollator:
    """The order of one locale of one library; any number of threads may use it at once."""

    @property
    def library(self) -> IcuLibrary: ...
    @property
    def locale(self) -> str: ...
    @property
    def case_level(self) -> bool:
        """Whether letter case is a level of its own, as in orders that tell case apart but not accents."""
    def __init__(self, library: IcuLibrary, locale: str, ranked: bool = True) -> None:
        """locale: a BCP 47 tag with its attributes, such as "de-AT-u-ks-level2". Raises OSError where ICU refuses it.

        A locale that the library does not know gives the root order: look in `library.locales()` first.
        ranked: work out ascii_ranks, which takes milliseconds; without them all is slower and nothing is different.
        """
    def ascii_ranks(self) -> bytes:
        """256 bytes: the rank of each ASCII character by primary weight, 0 where it alone decides nothing."""
