"""The compiled functions of deltaskip: Arrow columns in, Arrow columns out."""

import deltaskip.compiled  # noqa: F401
