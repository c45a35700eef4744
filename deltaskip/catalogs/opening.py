"""Opening a catalog by its URL, or by its name in the configuration."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deltaskip import arguments
from deltaskip.catalogs.configuration import configured, configured_names, default_name
from deltaskip.doors import door
from deltaskip.errors import InvalidArgument, shown

if TYPE_CHECKING:
    from deltaskip.catalogs.table_catalog import TableCatalog

__all__ = ["catalog"]

# For each scheme what opens a catalog: it takes the rest of the URL, `name`, and options of its own.
_BACKENDS = {
    "spark": "deltaskip.catalogs.session:session_catalog",
    "sql": "deltaskip.catalogs.database:SqlCatalog",
    "unity": "deltaskip.catalogs.unity.unity_catalog:UnityCatalog",
    "warehouse": "deltaskip.catalogs.warehouse:WarehouseCatalog",
}


@door
def catalog(url: str | None = None, *, name: str | None = None, **options: Any) -> TableCatalog:
    """Return a catalog.

    A name stands for a section `[catalog.NAME]` of `~/.config/deltaskip.toml`, and for variables
    `DELTASKIP_CATALOG__NAME__URI` of the environment, which win over the file; arguments win over both.

    Args:
        url: "warehouse:" and the path or URI of a folder, "sql:" and the URL of a database, "spark:" for that of a
            Spark session, "unity:" and the URL of a server, or the name of a catalog that is configured. The default is
            the variable `DELTASKIP_CATALOG`, otherwise `default-catalog` of the file.
        name: Name of the catalog, for messages and SQL.
        options: Options of the catalog, such as `storage_options` for those of the object store, and `warehouse` for
            the folder in which a catalog in a database puts tables, or `spark` for the session.

    Raises:
        InvalidArgument: There is no such kind of catalog or none of this name, or it has no such option.
        InvalidArgumentType: An argument has a wrong type.
        CatalogError: The catalog cannot be reached.
        StorageError: The storage of the catalog cannot be accessed.
    """
    wanted = default_name() if url is None else arguments.text("url", url)
    if not wanted:
        raise InvalidArgument(
            "url must be a catalog such as 'warehouse:/data/warehouse', because neither the variable "
            "DELTASKIP_CATALOG nor default-catalog in ~/.config/deltaskip.toml names one."
        )
    if _scheme_of(wanted) is None:
        options = {**_found(wanted), **options}
        name = name if name is not None else wanted
        wanted = arguments.text("uri", options.pop("uri"))
    scheme = _scheme_of(wanted)
    if scheme not in _BACKENDS:
        known = ", ".join(f"{each}:" for each in sorted(_BACKENDS))
        raise InvalidArgument(f"The URL of a catalog begins with one of {known}, not with {shown(scheme or '')}:.")
    module, _, member = _BACKENDS[scheme].partition(":")
    make = getattr(import_module(module), member)
    if name is not None:
        options["name"] = arguments.unicode_text("name", name)
    _check_options(make, scheme, options)
    found: TableCatalog = make(wanted.partition(":")[2], **options)
    return found


def _found(name: str) -> dict[str, Any]:
    """The options of a configured catalog, with its URI."""
    options = configured(name)
    if options is None:
        names = ", ".join(configured_names()) or "none"
        raise InvalidArgument(
            f"No catalog {name!r} is configured in ~/.config/deltaskip.toml or the environment; configured: {names}. "
            f"A URL begins with one of {', '.join(f'{each}:' for each in sorted(_BACKENDS))}."
        )
    if "uri" not in options:
        raise InvalidArgument(f"The configuration of the catalog {name!r} has no uri, such as warehouse:/data.")
    return options


def _scheme_of(url: str) -> str | None:
    scheme, colon, _ = url.partition(":")
    return scheme.lower() if colon else None


def _check_options(make: Any, scheme: str, options: dict[str, Any]) -> None:
    parameters = list(inspect.signature(make).parameters.values())[1:]
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return
    known = [each.name for each in parameters]
    unknown = next((each for each in options if each not in known), None)
    if unknown is not None:
        raise InvalidArgument(f"A catalog {scheme}: has no option {unknown}; it has {', '.join(known)}.")
