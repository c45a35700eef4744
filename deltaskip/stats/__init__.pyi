from .computation import compute

__all__ = ["compute"]
