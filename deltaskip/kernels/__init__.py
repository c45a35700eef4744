"""The compiled functions of deltaskip: columns of Arrow in, columns of Arrow out."""

import deltaskip.kernels.compiled  # noqa: F401
