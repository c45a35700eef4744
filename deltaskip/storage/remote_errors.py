"""Converts errors of obstore and pyarrow to errors of this package: a sentence with the location and what to do.

obstore's errors are several lines long: a sentence with the request in it, then a dump of Rust structures. Only the
host of the request is shown, because its URI may contain a signature.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.lazy_regex import regex
from deltaskip.redaction import redacted
from deltaskip.storage.interface import file_exists, not_found
from deltaskip.storage.location import split_authority

_DUMP = regex(r"\n\s*Debug source:.*", re.DOTALL)
_STATUS = regex(r"non-2xx status code: (\d{3}) ?([A-Za-z ]*)")
_CODE = regex(r"<Code>([\w.-]{1,60})</Code>")
_REGION = regex(r"<Region>([\w-]{1,40})</Region>")
_HOST = regex(r"Error performing [A-Z]+ ((https?)://[^/?\s]*)")
_BAD_VALUE = regex(r'failed to parse "(.*?)" as (\w+)', re.DOTALL)
_OTHER_REGION = regex("incorrectly configured region|AuthorizationHeaderMalformed|PermanentRedirect")
_METADATA_HOSTS = ("169.254.", "metadata.google.internal")


@contextmanager
def backend_errors(path: str, act: str = "read") -> Iterator[None]:
    """Convert errors of a backend to FileNotFound, FileExists or StorageError, all with the location.

    Args:
        path: The location.
        act: The operation on it, as a verb.
    """
    try:
        yield
    except (DeltaSkipError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    # A panic of Rust derives from BaseException.
    except BaseException as error:
        converted = _converted(error, path, act)
        if converted is None:
            raise
        raise converted from error


def _converted(error: BaseException, path: str, act: str) -> Exception | None:
    """The error of this package; None for an error that no backend raises."""
    match _origin(error):
        case ("builtin", "FileNotFoundError") | ("obstore", "NotFoundError"):
            return _missing(error, path, act)
        case "obstore", "AlreadyExistsError" | "PreconditionError" if act == "write":
            return file_exists(path)
        case ("builtin", "PermissionError") | ("obstore", "PermissionDeniedError" | "UnauthenticatedError"):
            return _refused(error, path, act)
        # obstore also raises Python's built-in error for it.
        case "obstore" | "builtin", name if name.startswith(("NotSupported", "NotImplemented")):
            return StorageError(
                f"Cannot {act} {path}: the store does not support it ({reason_of(error)}); use a store with "
                f"conditional requests."
            )
        case "obstore" | "builtin" | "panic", _:
            return _failed(error, path, act)
        case _:
            return None


def _origin(error: BaseException) -> tuple[str, str]:
    """The library that raised the error, and the name of its class."""
    name = type(error).__name__
    match type(error).__module__.partition(".")[0]:
        case "obstore":
            return "obstore", name
        case "pyo3_runtime":
            return "panic", name
    for kind in (FileNotFoundError, PermissionError):
        if isinstance(error, kind):
            return "builtin", kind.__name__
    # obstore and pyarrow raise ValueError or TypeError for a name that they cannot use, such as one with NUL.
    known = isinstance(error, (OSError, ValueError, TypeError, pa.ArrowException)) or name.startswith("NotImplemented")
    return ("builtin" if known else "unknown"), name


def _missing(error: BaseException, path: str, act: str) -> Exception:
    """The error for a missing object, or for a missing bucket if the response names it or an object is written."""
    if act == "write" or "NoSuchBucket" in str(error) or "ContainerNotFound" in str(error):
        return _no_bucket(path, act)
    return not_found(path)


def _no_bucket(path: str, act: str) -> StorageError:
    base, _ = split_authority(path)
    return StorageError(
        f"Cannot {act} {path}: the bucket or container of {base} does not exist; check the URI, and the region, "
        f"endpoint and account in storage_options."
    )


def _refused(error: BaseException, path: str, act: str) -> StorageError:
    return StorageError(
        f"No permission to {act} {path} ({_answer(error) or reason_of(error)}): check the credentials in "
        f"storage_options or the environment, and what they may do."
    )


def _failed(error: BaseException, path: str, act: str) -> StorageError:
    """The error for an obstore error without a specific class, by the response of the store."""
    text = str(error)
    host = _HOST.search(text)
    status = _STATUS.search(text)
    if host and any(name in host[1] for name in _METADATA_HOSTS):
        return StorageError(
            f"Cannot {act} {path}: there are no credentials, and this machine's metadata service returned none; set "
            f"them in storage_options or the environment."
        )
    if _OTHER_REGION.search(text):
        region = _REGION.search(text)
        named = f"set aws_region={region[1]}" if region else "set aws_region"
        return StorageError(f"Cannot {act} {path}: its bucket is in another region; {named} in storage_options.")
    if status:
        return _by_status(int(status[1]), error, path, act)
    at = host[1] if host else "the store"
    if "builder error" in text and host and host[2] == "http":
        return plain_http(path, host[1])
    if "builder error" in text or type(error).__module__.startswith("pyo3_runtime"):
        reason = "the endpoint or proxy is malformed; correct it in storage_options"
    elif "error sending request" in text:
        reason = f"{at} does not respond; check the endpoint, the network and the proxy"
    elif "error following redirect" in text:
        reason = f"{at} answers with a redirection, which no store does; check the endpoint"
    elif "timed out" in text:
        reason = f"{at} did not answer in time; check the endpoint, or set timeout in storage_options"
    elif "invalid list response" in text or "non-partial response" in text or "Header missing" in text:
        reason = "the endpoint does not answer as an object store; check the endpoint"
    else:
        reason = reason_of(error)
    return StorageError(f"Cannot {act} {path}: {reason}.")


def _by_status(status: int, error: BaseException, path: str, act: str) -> StorageError:
    answer = _answer(error)
    match status:
        case 401 | 403:
            return _refused(error, path, act)
        case 404:
            return _no_bucket(path, act)
        case 408 | 429 | 500 | 502 | 503 | 504:
            return StorageError(f"Cannot {act} {path}: the store answered {answer}; try again later.")
        case _:
            return StorageError(f"Cannot {act} {path}: the store answered {answer}; check the URI and storage_options.")


def _answer(error: BaseException) -> str | None:
    """Status and error code of the store's response, such as `403 Forbidden, AccessDenied`; None without a response."""
    status, code = _STATUS.search(str(error)), _CODE.search(str(error))
    if status is None:
        return None
    words = f"{status[1]} {status[2].strip()}".strip()
    return f"{words}, {code[1]}" if code else words


def plain_http(path: str, endpoint: str) -> StorageError:
    """Return the error for an endpoint without encryption that was not allowed."""
    return StorageError(
        f"Cannot open {path}: {endpoint} is plain HTTP, which is not encrypted; set allow_http=true in storage_options "
        f"if that is intended, or use https."
    )


def opening_error(error: BaseException, location: str, options: dict[str, str]) -> StorageError:
    """Return the error for a store that cannot be created with these options. Values of options are not shown.

    Args:
        error: The error of obstore or pyarrow.
        location: Location of the table.
        options: The storage options.
    """
    text = str(error)
    if "Unable to recognise URL" in text or isinstance(error, ValueError):
        return StorageError(f"Cannot open {location}: {_malformed(location)}.")
    bad = _BAD_VALUE.search(text)
    if bad:
        names = [name for name, value in options.items() if value == bad[1]]
        named = f"the storage option {names[0]!r}" if names else "a variable of the environment"
        return StorageError(f"Cannot open {location}: the value of {named} is not a {bad[2].lower()}.")
    if "Account must be specified" in text:
        return StorageError(
            f"Cannot open {location}: no storage account is named; set azure_storage_account_name in storage_options, "
            f"or write it in the URI as in abfss://container@account.dfs.core.windows.net/path."
        )
    if "builder error" in text:
        return StorageError(f"Cannot open {location}: the proxy is not a URI; correct it in storage_options.")
    cure = "; check storage_options" if options else ""
    return StorageError(f"Cannot open {location}: {reason_of(error)}{cure}.")


def _malformed(location: str) -> str:
    base, _ = split_authority(location)
    scheme, _, authority = base.partition("://")
    if not authority:
        return f"the URI names no bucket; write {scheme}://BUCKET/PATH"
    return f"{base} is not the URI of a bucket or container; write {scheme}://BUCKET/PATH"


def reason_of(error: BaseException) -> str:
    """Return the first line of a store's error without a full stop, or its class if it has no message."""
    lines = [line for line in _DUMP.sub("", redacted(str(error))).strip().splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # "Generic S3 error: " has no information, and a request's URI may contain a signature.
    text = re.sub(r"^Generic \w+(?: client)? error: ", "", lines[0])
    return re.sub(r"(https?://[^/?\s]*)\S*", r"\1", text).rstrip(".: ")
