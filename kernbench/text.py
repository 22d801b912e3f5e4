"""Text for messages: counted nouns, values of any length."""

from pathlib import Path

MOST_CHARACTERS = 60  # of a value
PATH_CHARACTERS = 300


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 point", "1,200 points"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def shorten(value: object) -> str:
    """A value, or a path, as a text that a sentence can hold."""
    text, most = str(value), PATH_CHARACTERS if isinstance(value, Path) else MOST_CHARACTERS
    return text if len(text) <= most else text[: most - 3] + "..."
