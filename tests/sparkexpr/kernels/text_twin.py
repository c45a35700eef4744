"""Functions of one string or of bytes in plain Python, as the evaluator has them."""

from deltaskip.sparkexpr.values import strings


def part_between(text: str, delimiter: str, number: int) -> str:
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if number and 0 <= place < len(parts) else ""


def before_delimiter(text: str, delimiter: str, count: int) -> str:
    return strings.before_delimiter(text, delimiter, count)


def byte_slice(data: bytes, position: int, length: int) -> str | bytes:
    return strings.substring(data, position, length)


def located(text: str, part: str, start: int) -> int:
    return strings.locate(part, text, start)


def capitalized(text: str) -> str:
    return strings.capitalized(text)


def translated(text: str, changes: dict[int, int]) -> str:
    return text.translate({old: None if new < 0 else new for old, new in changes.items()})
