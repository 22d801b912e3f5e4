"""`python -m benches.accuracy [--check] [NAME ...]`: measure errors, and write the page, its plots and the reference."""

from __future__ import annotations

import sys

from benches.accuracy.approximations import APPROXIMATIONS
from benches.accuracy.families import FAMILIES
from benches.accuracy.page import PAGE, write_page
from benches.accuracy.record import REFERENCE, Record, find_risen, of_approximation, read, write
from benches.accuracy.record import measure as measure_family
from kernbench.errors import InputError


def run(arguments: list[str]) -> int:
    """Exit status: 2 for an unknown name and for data that cannot be read, 1 with `--check` if a mean error has risen.

    With names only these families and approximations are measured; the others keep what the reference says of them, and so
    do families whose data are not at hand.
    """
    check, names = "--check" in arguments, [one for one in arguments if one != "--check"]
    known_names = [*(one.name for one in FAMILIES), *(one.name for one in APPROXIMATIONS)]
    for name in names:
        if name not in known_names:
            print(f"error: there is no family {name!r}; known: {', '.join(known_names)}", file=sys.stderr)
            return 2
    known = read()
    for family in (one for one in FAMILIES if not one.has_data() and one.name in (names or known_names)):
        print(f"{family.name}: not run; {family.data} names no directory of its data")
    try:
        found = measure(names or known_names)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, one in found["families"].items():
        print(
            f"{name}: {one['points']} points, mean {one['mean']:.1%}, median {one['median']:.1%}, worst {one['worst']:.1%}"
        )
    risen = find_risen(found, known)
    if risen:
        print(f"mean errors rose: {'; '.join(risen)}", file=sys.stderr)
    if check:
        return int(bool(risen))
    orders = {"families": FAMILIES, "approximations": APPROXIMATIONS}
    merged: Record = {
        kind: {one.name: both[one.name] for one in order if one.name in (both := {**known[kind], **found[kind]})}
        for kind, order in orders.items()
    }
    write(merged)
    write_page(merged)
    print(f"{REFERENCE} and {PAGE} hold these figures now")
    return 0


def measure(names: list[str]) -> Record:
    """Run the families and approximations of some names."""
    return {
        "families": {one.name: measure_family(one) for one in FAMILIES if one.name in names and one.has_data()},
        "approximations": {one.name: of_approximation(one.run()) for one in APPROXIMATIONS if one.name in names},
    }


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
