"""`python -m benches.operators [NAME ...]`: run steps of networks, and write what share of its peak each operator reaches.

The page (docs/operators.md) is made from the record alone (results/reference/operators.json). With names only these steps run.
"""

from __future__ import annotations

import sys

from benches.operators.page import PAGE, make_page
from benches.operators.steps import RECORD, STEPS, measure, read, write


def run(names: list[str]) -> int:
    """Exit status: 2 for an unknown name."""
    known = {step.name: step for step in STEPS}
    for name in names:
        if name not in known:
            print(f"error: there is no step {name!r}; known: {', '.join(known)}", file=sys.stderr)
            return 2
    record = read()
    for name in names or known:
        record[name] = measure(known[name])
        print(f"{name}: {record[name]['share_of_least']:.0%} of peak")
    record = {name: record[name] for name in known if name in record}
    write(record)
    PAGE.write_text(make_page(record), encoding="utf-8")
    print(f"{RECORD} and {PAGE} hold these figures now")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
