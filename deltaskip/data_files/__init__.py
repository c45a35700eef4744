"""Data files: written from Arrow, or adopted from elsewhere, checked and added to a table."""
