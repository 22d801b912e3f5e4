"""Check of the environment variables of KernBench."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

from kernbench.errors import InputError, shorten


def check_environment(environment: Mapping[str, str]) -> None:
    """Check the values of our variables. Errors: InputError for a value that cannot be used."""
    checked = environment.get("KERNBENCH_CHECKED", "")
    if checked not in ("", "0", "1"):
        raise InputError(f"the environment variable KERNBENCH_CHECKED is {shorten(checked)!r}; give 0 or 1")
    job = environment.get("KERNBENCH_JOB", "")
    if job not in ("", "0", "1"):
        raise InputError(f"the environment variable KERNBENCH_JOB is {shorten(job)!r}; give 0 or 1")
    _check_permitted(environment.get("KERNBENCH_CODE"))
    if cache := environment.get("KERNBENCH_CACHE"):
        _check_cache(Path(cache))


def _check_permitted(text: str | None) -> None:
    """Check that the variable says what `kernbench.user_modules.permit` does."""
    with suppress(ValueError, KeyError, TypeError):
        if text is None or all(isinstance(json.loads(text)[name], list) for name in ("folders", "sha256")):
            return
    raise InputError(
        f"the environment variable KERNBENCH_CODE is {shorten(str(text))!r}, which only the viewer gives to its jobs; unset it"
    )


def _check_cache(cache: Path) -> None:
    """Check that nothing but a directory is there; it need not be writable."""
    try:
        found = cache.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        reason = error.strerror
    else:
        if S_ISDIR(found.st_mode):
            return
        reason = "it is a file"
    raise InputError(
        f"the environment variable KERNBENCH_CACHE is {shorten(cache)}, which cannot be a directory: {reason}; "
        "give another, or unset it"
    )
