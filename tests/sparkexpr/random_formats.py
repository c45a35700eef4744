"""Random formats of numbers, numbers, and texts that may have them."""

import random

_SHAPES = ["{s}{d}{w}{p}", "{s}{w}{p}", "{w}{p}{e}", "{d}{w}{p}{e}", "{w}", "{p}", "{w}{p}"]
_TEXTS = ["", " ", "+", "-", "$", "<", ">", ",", ".", "1", "12", "0", "00", "5", "999", "1,234", "0.5", ".5", "a", "\t"]


def number_format(chance: random.Random) -> str:
    """A format of to_char and to_number, most of them valid."""
    whole = "".join(chance.choice("09990") * chance.choice([1, 1, 2, 3]) for _ in range(chance.choice([0, 1, 1, 2])))
    for _ in range(chance.choice([0, 0, 1, 2])):
        at = chance.randrange(len(whole) + 1)
        whole = whole[:at] + chance.choice(",G") + whole[at:]
    point = chance.choice(["", "", ".", "D", "."]) + chance.choice(["", "9", "0", "99", "09"])
    parts = {
        "s": chance.choice(["S", "MI", ""]),
        "d": "$",
        "w": whole,
        "p": point,
        "e": chance.choice(["S", "MI", "PR"]),
    }
    text = chance.choice(_SHAPES).format(**parts)
    return text if chance.random() < 0.95 else text + chance.choice("x9S$.,")


def text(chance: random.Random) -> str:
    """A text that may be a number."""
    if chance.random() < 0.3:
        return "".join(chance.choice(_TEXTS) for _ in range(chance.randrange(5)))
    shown = f"{abs(chance.choice([0, 5, 12, 123, 1234, 99999, 0.5, 12.25, 1234.5])):,}"
    shown = shown if chance.random() < 0.7 else shown.replace(",", "")
    begin, end = chance.choice(
        [("", ""), ("-", ""), ("", "-"), ("<", ">"), ("$", ""), ("-$", ""), ("+", ""), ("", "+")]
    )
    return begin + shown + end


def pattern(chance: random.Random) -> str:
    """A pattern of format_number, most of them valid."""
    before = "#" * chance.randrange(4) + "0" * chance.randrange(3)
    if len(before) > 1 and chance.random() < 0.5:
        at = chance.randrange(1, len(before))
        before = before[:at] + "," + before[at:]
    after = chance.choice(["", "", ".", "."]) + "0" * chance.randrange(3) + "#" * chance.randrange(3)
    return before + (after if after.startswith(".") else "")
