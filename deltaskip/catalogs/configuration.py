"""Catalogs that are named in the environment or a configuration file.

The scheme is pyiceberg's: a file with a section for each catalog, and variables `DELTASKIP_CATALOG__NAME__OPTION`,
which take precedence.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deltaskip.errors import InvalidArgument

_PREFIX = "DELTASKIP_CATALOG__"
_DEFAULT = "DELTASKIP_CATALOG"
_SECTION = "catalog"
_FILE_DEFAULT = "default-catalog"


def configured(name: str) -> dict[str, Any] | None:
    """Return the options of a catalog, including `uri`; None if no catalog has this name.

    The name is case-insensitive, and `-` and `_` are the same, because variables of the environment have
    neither lower case nor `-`.

    Raises InvalidArgument if the configuration file is not valid.
    """
    wanted = _folded(name)
    found: dict[str, Any] = {}
    for section, options in _sections().items():
        if _folded(section) == wanted:
            found = dict(options)
    for variable, text in sorted(os.environ.items()):
        catalog, *path = variable.removeprefix(_PREFIX).split("__") if variable.startswith(_PREFIX) else ["", ""]
        if _folded(catalog) == wanted and path and all(path):
            found = _with(found, [part.lower() for part in path], text)
    return found or None


def configured_names() -> list[str]:
    """Return the names of the catalogs that are configured."""
    variables = (name.removeprefix(_PREFIX).split("__")[0] for name in os.environ if name.startswith(_PREFIX))
    return sorted({*_sections(), *(name.lower() for name in variables if name)})


def default_name() -> str | None:
    """Return the default catalog's URL or name, from the environment or else from the configuration file."""
    found = os.environ.get(_DEFAULT) or _file().get(_FILE_DEFAULT)
    if found is not None and not isinstance(found, str):
        raise InvalidArgument(f"{_FILE_DEFAULT} in {_path()} must be the name of a catalog as text.")
    return found


def _path() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "deltaskip.toml"


def _file() -> dict[str, Any]:
    path = _path()
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"The configuration file {path} cannot be read: {error}.") from error


def _sections() -> dict[str, Mapping[str, Any]]:
    sections = _file().get(_SECTION, {})
    if not isinstance(sections, Mapping) or not all(isinstance(each, Mapping) for each in sections.values()):
        raise InvalidArgument(f"Each catalog in {_path()} must be a section such as [{_SECTION}.NAME].")
    return dict(sections)


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def _with(options: Mapping[str, Any], path: list[str], text: str) -> dict[str, Any]:
    """The options with one more, which may be nested."""
    if len(path) == 1:
        return {**options, path[0]: text}
    inner = options.get(path[0])
    return {**options, path[0]: _with(inner if isinstance(inner, Mapping) else {}, path[1:], text)}
