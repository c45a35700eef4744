"""Functions of URLs, which split a URL like java.net.URI.

# Spark 4.1, urlExpressions.scala; Java 17, java.net.URI, URLEncoder, URLDecoder
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import quote_plus

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.function import value_function
from deltaskip.sparkexpr.preimages.monotone import injective
from deltaskip.sparkexpr.types.data_types import STRING

_ESCAPE = "%[0-9A-Fa-f]{2}"
_PATH = rf"(?:[A-Za-z0-9_.!~*'();/:@&=+$,-]|{_ESCAPE})*"
_ANY = rf"(?:[A-Za-z0-9_.!~*'();/?:@&=+$,\[\]-]|{_ESCAPE})*"
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HIERARCHY = regex(rf"(?://([^/?#]*))?({_PATH})(?:\?({_ANY}))?(?:#({_ANY}))?")
_OPAQUE = regex(rf"[^/#](?:{_ANY})(?:#({_ANY}))?")
_USER = regex(rf"(?:[A-Za-z0-9_.!~*'();:&=+$,-]|{_ESCAPE})+")
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST_NAME = rf"(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.?"
_NAME = regex(_HOST_NAME)
_NUMBERS = regex(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}")
_REGISTERED = regex(r"[A-Za-z0-9_.-]*_[A-Za-z0-9_.-]*")
_PORT = regex("(?::[0-9]{0,9})?")
_ILLEGAL = regex(r'[\0- "<>\\^`{|}\x7f]')
_KEY = regex("[A-Za-z0-9_-]+")
_ENCODED = regex(r"(?:%[0-9A-Fa-f]{2})+")
_LONGEST_HOST = 255


class BadUrl(EvaluationError):
    """A string is not a valid URL."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL as written; None for a missing part."""

    scheme: str | None = None
    authority: str | None = None
    user: str | None = None
    host: str | None = None
    path: str | None = None
    query: str | None = None
    fragment: str | None = None

    def part(self, name: str) -> str | None:
        """`parse_url(url, name)`."""
        match name:
            case "HOST":
                return self.host
            case "PATH":
                return self.path
            case "QUERY":
                return self.query
            case "REF":
                return self.fragment
            case "PROTOCOL":
                return self.scheme
            case "FILE":
                return self.path if self.query is None else f"{self.path}?{self.query}"
            case "AUTHORITY":
                return self.authority
            case "USERINFO":
                return self.user
        return None


def parsed(text: str) -> Url:
    """The parts of a URL. Raises BadUrl for a string that is not a URL, and Undecided if its parts are not certain."""
    if _ILLEGAL.search(text):
        raise BadUrl(f"{shown(text)} is no URL (INVALID_URL).")
    found = _SCHEME.match(text)
    scheme, rest = (found[1], text[found.end() :]) if found else (None, text)
    opaque = _OPAQUE.fullmatch(rest) if scheme is not None else None
    if opaque:
        return Url(scheme, fragment=opaque[1])
    parts = _HIERARCHY.fullmatch(rest)
    if parts is None or (scheme is None and ":" in re.split("[/?#]", rest, maxsplit=1)[0]) or not rest:
        raise _undecided(text)
    authority, path, query, fragment = parts.groups()
    if not authority:
        if authority is not None and rest == "//":
            raise _undecided(text)
        return Url(scheme, path=path, query=query, fragment=fragment)
    user, host = _server(text, authority)
    return Url(scheme, authority, user, host, path, query, fragment)


def _server(text: str, authority: str) -> tuple[str | None, str | None]:
    """The user and the host of an authority."""
    if _REGISTERED.fullmatch(authority):
        # Java does not accept this name as a host.
        return None, None
    user, at, server = authority.rpartition("@")
    host, colon, port = server.partition(":")
    named = len(host) <= _LONGEST_HOST and (_NAME.fullmatch(host) or _NUMBERS.fullmatch(host))
    if not named or not _PORT.fullmatch(colon + port) or (at and not _USER.fullmatch(user)):
        raise _undecided(text)
    return user if at else None, host


def _undecided(text: str) -> Undecided:
    return Undecided(f"The parts of {shown(text)} are left to Spark.")


def value_of_key(query: str, key: str) -> str | None:
    """`parse_url(url, 'QUERY', key)`. The key is a regular expression in Spark."""
    if not _KEY.fullmatch(key):
        raise Undecided(f"The key {shown(key)}, a regular expression, is left to Spark.")
    values = (part[len(key) + 1 :] for part in query.split("&") if part.startswith(f"{key}="))
    return next(values, None)


def url_encoded(text: str) -> str:
    """`url_encode(text)`."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def url_decoded(text: str) -> str:
    """`url_decode(text)`. Raises EvaluationError for an incomplete escape."""
    plain = _ENCODED.sub("", text)
    if "%" in plain:
        if re.search("%(?:[+]|[^\0-\x7f]|.[^\0-\x7f])", plain):
            raise Undecided(f"The escapes in {shown(text)} are left to Spark.")
        raise EvaluationError(f"{shown(text)} has an invalid percent escape (CANNOT_DECODE_URL).")
    try:
        return _ENCODED.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), text.replace("+", " "))
    except UnicodeDecodeError as error:
        raise Undecided(f"The escapes in {shown(text)} do not decode to UTF-8, so they are left to Spark.") from error


def _part(url: str, part: str, key: str | None = None) -> object:
    if key is None:
        return parsed(url).part(part)
    query = parsed(url).query if part == "QUERY" else None
    return None if query is None else value_of_key(query, key)


def _tried_part(url: str, part: str, key: str | None = None) -> object:
    try:
        return _part(url, part, key)
    except BadUrl:
        return None


URLS: Mapping[str, function.FunctionRow] = {
    "url_encode": value_function(
        function.takes(STRING, STRING), url_encoded, preimage=injective(lambda text, call: url_decoded(text))
    ),
    "url_decode": value_function(function.takes(STRING, STRING), url_decoded),
    "try_url_decode": value_function(function.takes(STRING, STRING), partial(value_or_null, url_decoded)),
    "parse_url": value_function(function.uncast(3, optional=1), _part),
    "try_parse_url": value_function(function.uncast(3, optional=1), _tried_part),
}
