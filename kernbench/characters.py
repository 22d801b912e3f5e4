"""Characters that break what they get into: names of files, UTF-8, XML, lines of a table.

A text of a user may have any character. A NUL ends the name of a file; half of a surrogate pair, which is also how Python reads
bytes that are not UTF-8, cannot be written at all. Both are refused where input is read. Control characters are harmless until
something is drawn or tabulated; there they are shown as escapes.
"""

from __future__ import annotations

import re

from kernbench.errors import InputError, shorten

_UNUSABLE = re.compile("[\0\ud800-\udfff]")
_INVISIBLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # control characters, and what XML 1.0 forbids
# C0 but tab and line feed, DEL, C1, the separators of lines, and what turns the direction of writing: Unicode 15, chapter 23
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def check_characters(text: str, what: str) -> str:
    """The text itself, called `what` in messages. Errors: InputError for a NUL or half of a surrogate pair."""
    found = _UNUSABLE.search(text)
    if found is None:
        return text
    has = "a NUL character" if found[0] == "\0" else "a character that is no UTF-8 text"
    raise InputError(f"{what} {shorten(repr(text))} has {has}; leave it out")


def visible(text: str) -> str:
    r"""A text for one line of a document: control characters as escapes, such as \n and \x07."""
    return _INVISIBLE.sub(_escape, text)


def show_controls(text: str) -> str:
    """A text of lines in which control characters are escapes, so that a file's contents cannot steer a terminal."""
    return _STEERING.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
