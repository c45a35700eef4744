"""Says what to do where the kernels are not compiled: the package imports this module before any of them."""

from importlib.util import find_spec
from pathlib import Path

if find_spec("deltaskip.sparkexpr.kernels.lane") is None:
    raise ImportError(
        f"deltaskip is imported from its sources in {Path(__file__).parents[3]}, where it is not compiled: start "
        f"Python in another folder to use the installed one, or compile it here with pip install -e ."
    )
