"""The compiled functions of deltaskip: Arrow columns in, Arrow columns out."""

import deltaskip.sparkexpr.kernels.compiled  # noqa: F401
