"""The compiled functions of deltaskip: Arrow columns in, Arrow columns out."""
