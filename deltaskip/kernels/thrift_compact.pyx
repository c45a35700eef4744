"""Thrift's compact protocol, the encoding of Parquet footers: a struct is a dict by field id.

# Apache Thrift, Thrift compact protocol encoding
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from deltaskip.kernels.thrift_cursor cimport (
    BINARY,
    BYTE,
    DEEPEST,
    DOUBLE,
    FALSE_VALUE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STOP,
    STRUCT,
    TRUE_VALUE,
)


cdef class _Cursor:
    """The only reader of the bytes. It never reads past their end."""
    cdef bytes owner
    cdef bint typed
    cdef int levels
    cdef const uint8_t* at
    cdef const uint8_t* end

    cdef uint8_t byte(self) except? 255:
        if self.at == self.end:
            raise ValueError("the Thrift struct is truncated")
        self.at += 1
        return self.at[-1]

    cdef uint64_t varint(self) except? 0:
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef uint8_t part
        while True:
            part = self.byte()
            value |= <uint64_t>(part & 0x7F) << shift
            if part < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a Thrift number has more than 64 bits")

    cdef int64_t zigzag(self) except? -1:
        cdef uint64_t value = self.varint()
        return <int64_t>(value >> 1) ^ -<int64_t>(value & 1)

    cdef int64_t size(self, int64_t least_bytes) except -1:
        """The number of items that follow, each of `least_bytes` or more."""
        cdef uint64_t value = self.varint()
        if value > <uint64_t>(self.end - self.at) // <uint64_t>least_bytes:
            raise ValueError("a Thrift size exceeds the data")
        return <int64_t>value


def read_struct(bytes data not None) -> dict[int, Any]:
    """Return the struct at the start of `data`, and ignore the bytes after it.

    Field id → bool, int, float, bytes, list, dict (maps; a struct is a dict by field id again). Raises ValueError if
    the bytes are not such a struct.
    """
    return _struct(_opened(data, False, DEEPEST + 2), 0)


def read_fields(bytes data not None, int levels=DEEPEST + 2) -> dict[int, tuple[int, Any]]:
    """Return the struct at the start of `data`, from which `write_fields` writes the same bytes again.

    Field id → the kind of its value, and the value as `read_struct` returns it; of a list the kind of its items, and
    the list; a struct is a dict of fields again. Raises ValueError if the bytes are not such a struct, or have a map.

    levels: Structs and lists that are nested as deeply as this, or deeper, are their bytes, which takes less time.
    """
    return _struct(_opened(data, True, levels), 0)


def write_fields(dict fields not None: dict[int, tuple[int, Any]]) -> bytes:
    """Return the bytes of a struct that `read_fields` has returned, and whose values may have been changed."""
    cdef bytearray out = bytearray()
    _put_struct(out, fields)
    return bytes(out)


cdef _Cursor _opened(bytes data, bint typed, int levels):
    cdef _Cursor cursor = _Cursor.__new__(_Cursor)
    cursor.owner = data
    cursor.typed = typed
    cursor.levels = levels
    cursor.at = <const uint8_t*>PyBytes_AsString(data)
    cursor.end = cursor.at + PyBytes_Size(data)
    return cursor


cdef dict _struct(_Cursor cursor, int depth):
    cdef dict fields = {}
    cdef int64_t field = 0
    cdef uint8_t header, kind
    if depth > DEEPEST:
        raise ValueError("the Thrift struct is nested too deeply")
    while True:
        header = cursor.byte()
        if header == STOP:
            return fields
        kind = header & 0x0F
        field = field + (header >> 4) if header >> 4 != 0 else cursor.zigzag()
        value = kind == TRUE_VALUE if kind == TRUE_VALUE or kind == FALSE_VALUE else _value(cursor, kind, depth)
        fields[field] = (kind, value) if cursor.typed else value


cdef object _value(_Cursor cursor, uint8_t kind, int depth):
    cdef int64_t size
    cdef double number
    cdef bytes text
    cdef const uint8_t* start = cursor.at
    if kind == I16 or kind == I32 or kind == I64:
        return cursor.zigzag()
    if kind == BINARY:
        size = cursor.size(1)
        text = PyBytes_FromStringAndSize(<const char*>cursor.at, size)
        cursor.at += size
        return text
    if depth + 1 >= cursor.levels and (kind == STRUCT or kind == LIST or kind == SET):
        _skip(cursor, kind, depth)
        return PyBytes_FromStringAndSize(<const char*>start, cursor.at - start)
    if kind == STRUCT:
        return _struct(cursor, depth + 1)
    if kind == LIST or kind == SET:
        return _list(cursor, depth + 1)
    if kind == TRUE_VALUE or kind == FALSE_VALUE:
        return cursor.byte() == TRUE_VALUE
    if kind == BYTE:
        size = cursor.byte()
        return size - 256 if size > 127 else size
    if kind == DOUBLE:
        if cursor.end - cursor.at < 8:
            raise ValueError("the Thrift struct is truncated")
        memcpy(&number, cursor.at, 8)
        cursor.at += 8
        return number
    if kind == MAP and not cursor.typed:
        return _map(cursor, depth + 1)
    raise ValueError(f"unknown Thrift type {kind}")


cdef object _list(_Cursor cursor, int depth):
    cdef uint8_t header = cursor.byte()
    cdef int64_t size = header >> 4
    cdef list values = []
    if depth > DEEPEST:
        raise ValueError("the Thrift struct is nested too deeply")
    if header & 0x0F > STRUCT:
        # As in `thrift_cursor`, also where the list is empty.
        raise ValueError(f"unknown Thrift type {header & 0x0F}")
    if size == 15:
        size = cursor.size(1)
    for _ in range(size):
        values.append(_value(cursor, header & 0x0F, depth))
    return (header & 0x0F, values) if cursor.typed else values


cdef int _skip(_Cursor cursor, uint8_t kind, int depth) except -1:
    """Move behind a value; raises what reading it would raise."""
    cdef uint8_t header
    cdef int64_t size = 1
    if depth > DEEPEST:
        raise ValueError("the Thrift struct is nested too deeply")
    if kind == I16 or kind == I32 or kind == I64:
        cursor.varint()
    elif kind == BINARY:
        size = cursor.size(1)
        cursor.at += size
    elif kind == BYTE or kind == TRUE_VALUE or kind == FALSE_VALUE:
        cursor.byte()
    elif kind == DOUBLE:
        if cursor.end - cursor.at < 8:
            raise ValueError("the Thrift struct is truncated")
        cursor.at += 8
    elif kind == STRUCT:
        while True:
            header = cursor.byte()
            if header == STOP:
                return 0
            if header >> 4 == 0:
                cursor.varint()
            # The value of a flag is its kind.
            if header & 0x0F != TRUE_VALUE and header & 0x0F != FALSE_VALUE:
                _skip(cursor, header & 0x0F, depth + 1)
    elif kind == LIST or kind == SET:
        header = cursor.byte()
        size = header >> 4
        if header & 0x0F > STRUCT:
            raise ValueError(f"unknown Thrift type {header & 0x0F}")
        if size == 15:
            size = cursor.size(1)
        for _ in range(size):
            _skip(cursor, header & 0x0F, depth + 1)
    else:
        raise ValueError(f"unknown Thrift type {kind}")
    return 0


cdef dict _map(_Cursor cursor, int depth):
    cdef int64_t size = cursor.size(1)
    cdef dict values = {}
    cdef uint8_t kinds
    if depth > DEEPEST:
        raise ValueError("the Thrift struct is nested too deeply")
    if size == 0:
        return values
    kinds = cursor.byte()
    if kinds >> 4 >= LIST:
        raise ValueError("a Thrift map has keys that are not plain values")
    for _ in range(size):
        key = _value(cursor, kinds >> 4, depth)
        values[key] = _value(cursor, kinds & 0x0F, depth)
    return values


cdef int _put_struct(bytearray out, dict fields) except -1:
    cdef int64_t last = 0, field
    cdef uint8_t kind
    for number, (sort, value) in fields.items():
        field, kind = number, sort
        if kind == TRUE_VALUE or kind == FALSE_VALUE:
            kind = TRUE_VALUE if value else FALSE_VALUE
        if 0 < field - last < 16:
            out.append(<uint8_t>(field - last) << 4 | kind)
        else:
            out.append(kind)
            _put_zigzag(out, field)
        last = field
        if kind != TRUE_VALUE and kind != FALSE_VALUE:
            _put_value(out, kind, value)
    out.append(STOP)
    return 0


cdef int _put_value(bytearray out, uint8_t kind, object value) except -1:
    cdef double number
    cdef uint8_t item
    if kind == I16 or kind == I32 or kind == I64:
        _put_zigzag(out, value)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif isinstance(value, bytes):
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind == LIST or kind == SET:
        item = value[0]
        if len(value[1]) < 15:
            out.append(<uint8_t>len(value[1]) << 4 | item)
        else:
            out.append(0xF0 | item)
            _put_varint(out, len(value[1]))
        for each in value[1]:
            _put_value(out, item, each)
    elif kind == TRUE_VALUE or kind == FALSE_VALUE:
        out.append(TRUE_VALUE if value else FALSE_VALUE)
    elif kind == BYTE:
        out.append(value & 0xFF)
    else:
        number = value
        out += PyBytes_FromStringAndSize(<const char*>&number, 8)
    return 0


cdef int _put_zigzag(bytearray out, int64_t value) except -1:
    return _put_varint(out, (<uint64_t>value << 1) ^ <uint64_t>(value >> 63))


cdef int _put_varint(bytearray out, uint64_t value) except -1:
    while value > 0x7F:
        out.append(<uint8_t>(value & 0x7F) | 0x80)
        value >>= 7
    out.append(<uint8_t>value)
    return 0
