"""ICU libraries bound by dlopen and dlsym, several versions side by side in one process.

Building does not require ICU. The symbols of a library end in its major version (`ucol_open_77`) unless it was built
without versioned symbols; the exact version is queried from the library.
"""

cimport cython
from cpython.bytes cimport PyBytes_AsString
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memset

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* path, int flags)
    void* dlsym(void* handle, const char* symbol)
    char* dlerror()
    int RTLD_NOW
    int RTLD_LOCAL

cdef enum:
    ALTERNATE_HANDLING = 1
    CASE_LEVEL = 3
    STRENGTH = 5
    NUMERIC_COLLATION = 7
    PRIMARY = 0
    OFF = 16
    NON_IGNORABLE = 21
    FILES_FIRST = 0

# Function names are the same since ICU 50; a symbol may end in any major version up to a distant one.
cdef int OLDEST = 50
cdef int NEWEST = 150


cdef class IcuLibrary:
    """One ICU4C library in this process, loaded by dlopen. It is never unloaded: ICU keeps pointers of its own.

    Attributes:
        path: File of libicui18n.
        version: Version major.minor as the library reports it: "77.1".
        suffix: Suffix of its symbols: "_77", or empty.
        source: Name for messages: its path, unless another was given.
    """

    def __init__(
        self, str path not None, dependencies: Iterable[str] = (), *, str data_folder=None, str data_version=None,
        str source=None,
    ):
        """Load a library.

        path: File of libicui18n. dependencies: Files to load before it, in order (libicudata, libicuuc).
        data_folder, data_version: Directory whose data takes precedence over the library's own, and the version of that
        data, which becomes the library's: for a file that nothing else in the process uses and that is loaded for the
        first time. Raises OSError if a file cannot be loaded or lacks a function.
        """
        cdef void* handle
        for dependency in dependencies:
            _load(dependency)
        handle = _load(path)
        self.path = path
        self.suffix = _suffix(handle, path)
        self._bind(handle)
        cdef uint8_t[4] numbers
        self.call.get_version(numbers)
        self.version = f"{numbers[0]}.{numbers[1]}"
        self.source = path if source is None else source
        if data_folder is not None and data_version is not None:
            self._read_data(handle, data_folder)
            self.version = data_version

    cdef int _bind(self, void* handle) except -1:
        self.call.get_version = <get_version_t>self._symbol(handle, "u_getVersion")
        self.call.open = <open_t>self._symbol(handle, "ucol_open")
        self.call.close = <close_t>self._symbol(handle, "ucol_close")
        self.call.set_attribute = <set_attribute_t>self._symbol(handle, "ucol_setAttribute")
        self.call.get_attribute = <get_attribute_t>self._symbol(handle, "ucol_getAttribute")
        self.call.compare_utf8 = <compare_utf8_t>self._symbol(handle, "ucol_strcollUTF8")
        self.call.sort_key = <sort_key_t>self._symbol(handle, "ucol_getSortKey")
        self.call.special_strings = <special_strings_t>self._symbol(handle, "ucol_getContractionsAndExpansions")
        self.call.set_open = <set_open_t>self._symbol(handle, "uset_openEmpty")
        self.call.set_close = <set_close_t>self._symbol(handle, "uset_close")
        self.call.set_size = <set_size_t>self._symbol(handle, "uset_getItemCount")
        self.call.set_item = <set_item_t>self._symbol(handle, "uset_getItem")
        self.call.set_contains = <set_contains_t>self._symbol(handle, "uset_contains")
        self.call.count_available = <count_available_t>self._symbol(handle, "ucol_countAvailable")
        self.call.get_available = <get_available_t>self._symbol(handle, "ucol_getAvailable")
        return 0

    cdef int _read_data(self, void* handle, str folder) except -1:
        """Make the library prefer the data in the folder to its own. Call it before anything is opened."""
        cdef set_data_directory_t set_folder = <set_data_directory_t>self._symbol(handle, "u_setDataDirectory")
        cdef set_file_access_t set_access = <set_file_access_t>self._symbol(handle, "udata_setFileAccess")
        cdef bytes encoded = folder.encode("utf-8", "surrogateescape")
        cdef int status = 0
        set_folder(PyBytes_AsString(encoded))
        set_access(FILES_FIRST, &status)
        if status > 0:
            raise OSError(f"{self.path} reads no data from {folder} (ICU error {status})")
        return 0

    cdef void* _symbol(self, void* handle, str name) except NULL:
        cdef bytes symbol = (name + self.suffix).encode()
        cdef void* address = dlsym(handle, PyBytes_AsString(symbol))
        if address == NULL:
            raise OSError(f"{self.path} has no {symbol.decode()}")
        return address

    def locales(self) -> tuple[str, ...]:
        """Locales with a collation in the library, in ICU's spelling: "de", "sr_Cyrl_BA"; without the root."""
        return tuple(
            (<bytes>self.call.get_available(i)).decode("ascii") for i in range(self.call.count_available())
        )

    def __repr__(self):
        return f"IcuLibrary({self.path!r}, version={self.version!r})"


# Or the garbage collector takes the library away before the collator is closed.
@cython.no_gc_clear
cdef class IcuCollator:
    """The collation of one locale of one library. Any number of threads may use it at once.

    Attributes:
        case_level: Whether case is a separate level, as in collations that distinguish case but not accents.
    """

    def __cinit__(self):
        self.handle = NULL
        memset(self.ranks, 0, sizeof(self.ranks))
        memset(self.contracting, 0, sizeof(self.contracting))
        self.weighed = False

    def __init__(self, IcuLibrary library not None, str locale not None, bint ranked=True):
        """Open the collation of a locale.

        locale: a BCP 47 tag with its attributes, such as "de-AT-u-ks-level2". Raises OSError if ICU refuses it.
        A locale that the library does not have gives the root collation: check `library.locales()` first.
        ranked: work out ascii_ranks, which takes milliseconds; without them all is slower and nothing is different.
        """
        cdef int status = 0
        cdef bytes tag = locale.encode("ascii")
        self.library = library
        self.locale = locale
        self.handle = library.call.open(PyBytes_AsString(tag), &status)
        if status > 0 or self.handle == NULL:
            raise OSError(f"{library.path} cannot open the collation {locale!r} (ICU error {status})")
        self.case_level = self._attribute(CASE_LEVEL) != OFF
        if ranked:
            self._rank(tag)

    def __dealloc__(self):
        if self.handle != NULL:
            self.library.call.close(self.handle)

    cdef int _rank(self, bytes tag) except -1:
        """Fill `ranks` if the locale's rules give characters weights of their own."""
        cdef int status = 0
        cdef void* primary
        if self._attribute(ALTERNATE_HANDLING) != NON_IGNORABLE or self._attribute(NUMERIC_COLLATION) != OFF:
            return 0
        primary = self.library.call.open(PyBytes_AsString(tag), &status)
        if status > 0 or primary == NULL:
            raise OSError(f"{self.library.path} cannot open the collation {self.locale!r} (ICU error {status})")
        self.library.call.set_attribute(primary, STRENGTH, PRIMARY, &status)
        self.library.call.set_attribute(primary, CASE_LEVEL, OFF, &status)
        if status <= 0:
            status = _rank_ascii(&self.library.call, primary, self.ranks)
        if status <= 0:
            status = _unrank_special(&self.library.call, primary, self.ranks, self.contracting)
        self.library.call.close(primary)
        self.weighed = status <= 0
        if not self.weighed:
            memset(self.ranks, 0, sizeof(self.ranks))
        return 0

    cdef int _attribute(self, int attribute) except? -2:
        cdef int status = 0
        cdef int value = self.library.call.get_attribute(self.handle, attribute, &status)
        return value if status <= 0 else -1

    def ascii_ranks(self) -> bytes:
        """The rank of each of the 256 bytes; 0 if a byte alone decides nothing."""
        return bytes([self.ranks[i] for i in range(256)])

    def __repr__(self):
        return f"IcuCollator({self.library!r}, {self.locale!r})"


cdef void* _load(str path) except NULL:
    cdef bytes encoded = path.encode("utf-8", "surrogateescape")
    cdef void* handle = dlopen(PyBytes_AsString(encoded), RTLD_NOW | RTLD_LOCAL)
    if handle == NULL:
        raise OSError((<bytes>dlerror()).decode("utf-8", "replace"))
    return handle


cdef str _suffix(void* handle, str path):
    """The suffix of `ucol_open` in the library's symbols: empty, or `_77`."""
    for suffix in ("", *(f"_{major}" for major in range(NEWEST, OLDEST, -1))):
        if dlsym(handle, PyBytes_AsString(f"ucol_open{suffix}".encode())) != NULL:
            return suffix
    raise OSError(f"{path} is no ICU collation library: it has no ucol_open")


cdef int _rank_ascii(Functions* call, const void* primary, uint8_t* ranks) noexcept nogil:
    """Rank the ASCII characters that have a primary weight, from 1. Return ICU's status."""
    cdef uint8_t[128] sorted
    cdef int count = 0, status = 0, i, at
    cdef char left, right
    cdef uint8_t rank = 0
    for i in range(128):
        left = <char>i
        if call.compare_utf8(primary, &left, 1, &left, 0, &status) == 0:
            continue
        at = count
        while at > 0:
            right = <char>sorted[at - 1]
            if call.compare_utf8(primary, &right, 1, &left, 1, &status) <= 0:
                break
            sorted[at] = sorted[at - 1]
            at -= 1
        sorted[at] = <uint8_t>i
        count += 1
    for i in range(count):
        left, right = <char>sorted[i], <char>sorted[i - 1 if i > 0 else 0]
        if i == 0 or call.compare_utf8(primary, &right, 1, &left, 1, &status) != 0:
            rank += 1
        ranks[sorted[i]] = rank
    return status


cdef int _unrank_special(
    Functions* call, const void* primary, uint8_t* ranks, uint8_t* contracting
) noexcept nogil:
    """Record the characters that begin contractions. Remove the rank of every ASCII character that expands or begins a
    contraction that continues in ASCII."""
    cdef void* contractions = call.set_open()
    cdef void* expansions = call.set_open()
    cdef uint16_t[256] text
    cdef int32_t first, last, size, i
    cdef int status = 0
    call.special_strings(primary, contractions, expansions, 1, &status)
    for i in range(call.set_size(contractions)):
        size = call.set_item(contractions, i, &first, &last, text, 256, &status)
        if size >= 2:
            contracting[text[0] >> 3] = <uint8_t>(contracting[text[0] >> 3] | 1 << (text[0] & 7))
            if text[0] < 128 and text[1] < 128:
                ranks[text[0]] = 0
    for i in range(128):
        if call.set_contains(expansions, i):
            ranks[i] = 0
    call.set_close(contractions)
    call.set_close(expansions)
    return status
