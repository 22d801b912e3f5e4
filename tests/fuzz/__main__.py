"""Fuzz the command line: odd inputs of every kind, from seeds, on processes that are watched.

    python -m tests.fuzz --seconds 3600                    # every kind, by its share
    python -m tests.fuzz --inputs 20000 --kind grid        # of one kind
    python -m tests.fuzz --kind sheet --seed 887 --inputs 1
    python -m tests.fuzz --case build/fuzz/bug-….json      # a case that was kept

Seeds are counted up from `--seed`. The exit code is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import SystemRandom
from threading import Lock
from time import monotonic

from tests.fuzz.case import Case
from tests.fuzz.kinds import KINDS, draw_case, draw_kind
from tests.fuzz.originals import make_results
from tests.fuzz.shrink import shrink
from tests.fuzz.verdict import Finding
from tests.fuzz.worker import COMMAND, HANGS_S, Worker

KEEP = Path("build/fuzz")
TELL_S = 60
SHRINK_S = 15.0


class Hunt:
    """What has been run and found; used by a thread for each worker."""

    def __init__(
        self,
        results: Path,
        keep: Path,
        *,
        command: str = COMMAND,
        shrink_s: float = SHRINK_S,
        hangs_s: float = HANGS_S,
    ) -> None:
        self.results, self.keep, self.shrink_s = results, keep, shrink_s
        self._make_worker = partial(Worker, results, command, hangs_s)
        self.inputs: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.begun = self.told = monotonic()
        self._lock = Lock()

    def run(self, works: Iterator[tuple[str, int]], workers: int) -> None:
        """Run inputs on so many workers."""
        with ThreadPoolExecutor(workers) as pool:
            for driven in [pool.submit(self._drive, works) for _ in range(workers)]:
                driven.result()

    def _drive(self, works: Iterator[tuple[str, int]]) -> None:
        worker = self._make_worker()
        try:
            while (work := self._next(works)) is not None:
                if finding := worker.run(work):
                    self._note(work, finding, worker)
        finally:
            worker.close()

    def _next(self, works: Iterator[tuple[str, int]]) -> tuple[str, int] | None:
        with self._lock:
            work = next(works, None)
            if work is not None:
                self.inputs[work[0]] += 1
            if monotonic() >= self.told + TELL_S:
                self.told = monotonic()
                self.tell()
        return work

    def _note(self, work: tuple[str, int], finding: Finding, worker: Worker) -> None:
        with self._lock:
            self.found[finding.name] += 1
            if self.found[finding.name] > 1:
                return
        case = draw_case(*work, self.results)
        print(f"{work[0]} {work[1]}: {finding.name}\n    {case.describe()}", flush=True)
        case = shrink(case, lambda smaller: _is_same(finding, worker.run(smaller)), self.shrink_s)
        path = keep_case(case, finding, self.keep)
        last = finding.told.strip().splitlines()[-1:] or [""]
        print(
            f"    smaller: {case.describe()}\n    {last[0][:300]}\n    python -m tests.fuzz --case {path}", flush=True
        )

    def tell(self) -> None:
        """One line: how many inputs, how many findings, how long it took."""
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in self.inputs.most_common())
        found = f"{len(self.found)} findings in {self.found.total()} inputs"
        print(f"{monotonic() - self.begun:.0f} s: {self.inputs.total():,} inputs ({kinds}), {found}", flush=True)


def _is_same(finding: Finding, other: Finding | None) -> bool:
    return other is not None and other.name == finding.name


def keep_case(case: Case, finding: Finding, folder: Path) -> Path:
    """Write a case under a name made of its finding."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{re.sub(r'[^A-Za-z0-9.]+', '-', finding.name)[:80].strip('-')}.json"
    path.write_text(case.to_json(), encoding="utf-8", errors="surrogatepass")
    return path


def list_works(kinds: Sequence[str], seed: int, inputs: int | None, ends: float) -> Iterator[tuple[str, int]]:
    """Kinds with seeds from one on, until there are so many or time is over; of several kinds by their shares."""
    at = seed
    while (inputs is None or at < seed + inputs) and monotonic() < ends:
        kind = kinds[0] if len(kinds) == 1 else draw_kind(at)
        if kind in kinds:
            yield kind, at
        at += 1


def run_cases(paths: Sequence[Path]) -> bool:
    """Run kept cases, and say what is wrong with each; answers whether anything is."""
    worker, wrong = Worker(Path()), False
    try:
        for path in paths:
            finding = worker.run(Case.from_json(path.read_text(encoding="utf-8", errors="surrogatepass")))
            print(f"{path}: {finding.name}\n{finding.told}" if finding else f"{path}: nothing is wrong", flush=True)
            wrong = wrong or finding is not None
    finally:
        worker.close()
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--kind", action="append", choices=KINDS, help="may be given again; without it, all kinds")
    parser.add_argument("--inputs", type=int, help="so many seeds; without it, as many as there is time for")
    parser.add_argument("--seconds", type=float, help="stop after that; 60, unless --inputs is given")
    parser.add_argument("--seed", type=int, help="of the first input; without it, a new one")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--keep", type=Path, default=KEEP, help="the folder that findings are written to")
    parser.add_argument("--case", type=Path, action="append", help="run a case that was kept, and nothing else")
    asked = parser.parse_args(arguments)
    if asked.case:
        return int(run_cases(asked.case))
    seed = SystemRandom().randrange(1 << 31) if asked.seed is None else asked.seed
    seconds = asked.seconds or (float("inf") if asked.inputs else 60)
    print(f"--seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kernbench-fuzz-") as folder:
        make_results(Path(folder))
        hunt = Hunt(Path(folder), asked.keep)
        hunt.run(list_works(asked.kind or list(KINDS), seed, asked.inputs, hunt.begun + seconds), asked.workers)
    hunt.tell()
    return int(hunt.found.total() > 0)


if __name__ == "__main__":
    sys.exit(main())
