from collections.abc import Iterable

class IcuLibrary:
    """One ICU4C library in this process, loaded by dlopen. It stays loaded."""

    @property
    def path(self) -> str: ...
    @property
    def version(self) -> str:
        """Version major.minor as the library reports it: "77.1"."""
    @property
    def suffix(self) -> str:
        """Suffix of its symbols: "_77", or empty."""
    @property
    def source(self) -> str:
        """Name for messages: its path, unless another was given."""
    def __init__(
        self,
        path: str,
        dependencies: Iterable[str] = (),
        *,
        data_folder: str | None = None,
        data_version: str | None = None,
        source: str | None = None,
    ) -> None:
        """path: File of libicui18n. dependencies: Files to load before it, in order (libicudata, libicuuc).

        data_folder, data_version: Directory whose data takes precedence over the library's own, and the version of that
        data, which becomes the library's: for a file that nothing else in the process uses and that is loaded for the
        first time. Raises OSError if a file cannot be loaded or lacks a function.
        """
    def locales(self) -> tuple[str, ...]:
        """Locales with a collation in the library, in ICU's spelling: "de", "sr_Cyrl_BA"; without the root."""

class IcuCollator:
    """The collation of one locale of one library. Any number of threads may use it at once."""

    @property
    def library(self) -> IcuLibrary: ...
    @property
    def locale(self) -> str: ...
    @property
    def case_level(self) -> bool:
        """Whether case is a separate level, as in collations that distinguish case but not accents."""
    def __init__(self, library: IcuLibrary, locale: str, ranked: bool = True) -> None:
        """locale: a BCP 47 tag with its attributes, such as "de-AT-u-ks-level2". Raises OSError if ICU refuses it.

        A locale that the library does not have gives the root collation: check `library.locales()` first.
        ranked: work out ascii_ranks, which takes milliseconds; without them all is slower and nothing is different.
        """
    def ascii_ranks(self) -> bytes:
        """256 bytes: the rank of each ASCII character by primary weight, 0 if the character alone decides nothing."""
