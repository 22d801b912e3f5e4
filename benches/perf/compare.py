"""What a run of the benchmarks found against what was found before.

Only ratios are compared: both of their sides were measured in one run, so they hold from machine to machine and on a busy
one. Absolute figures are shown, with the machine they come from.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benches.perf.record import FALL, find_fallen, read_reference, read_run, write_reference
from benches.perf.tables import lay_out, write_page


def main(run: Path, reference: Path, page: Path | None = None) -> int:
    """Print a run against the reference; returns 1 if a ratio fell. With a page, make it the reference and the page's."""
    found, known = read_run(run), read_reference(reference)
    print(lay_out(found, known))
    if page is not None:
        write_reference(reference, found)
        write_page(page, found)
        print(f"\n{reference} and {page} hold these figures now")
        return 0
    if fallen := find_fallen(found, known):
        print(f"\nfell by more than {FALL:.0%}: {'; '.join(fallen)}", file=sys.stderr)
        return 1
    return 0
