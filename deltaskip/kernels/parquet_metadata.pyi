from typing_extensions import Buffer

__all__ = ["footer_fits"]

def footer_fits(footer: Buffer) -> bool: ...
