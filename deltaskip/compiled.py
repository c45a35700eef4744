"""Says what to do where the package is not compiled: the package imports this module before any kernel."""

from importlib.machinery import PathFinder
from pathlib import Path

_FOLDER = Path(__file__).parent

if PathFinder.find_spec("deltaskip.recursion", [str(_FOLDER)]) is None:
    raise ImportError(
        f"deltaskip is imported from its sources in {_FOLDER.parent}, where it is not compiled: start Python in "
        "another folder to use the installed one, or compile it here with pip install -e ."
    )
