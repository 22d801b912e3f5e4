"""Text for messages: counted nouns."""


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 point", "1,200 points"."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
