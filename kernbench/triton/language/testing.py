"""`triton.testing`: what files measure with. Nothing is measured on this computer: times are those of simulated launches."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

from kernbench.errors import InputError
from kernbench.triton.language.launches import launched_ns

NS_PER_MS = 1e6


class Benchmark:
    """The description of a plot."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Mark:
    """A function of plots; `run` calls it for each point and prints the tables."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
        self.fn = fn
        self.benchmarks = list(benchmarks) if isinstance(benchmarks, (list, tuple)) else [benchmarks]

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.fn(*args, **options)

    def run(self, print_data: bool = False, **_: Any) -> None:
        """Call the function for each point; `print_data` prints a line for each. No plot is drawn."""
        for one in self.benchmarks:
            names = [one.x_names] if isinstance(one.x_names, str) else list(one.x_names)
            if print_data:
                print(f"{one.plot_name}:", *names, *one.line_names, sep="\t")
            for x in one.x_vals:
                values = list(x) if isinstance(x, (list, tuple)) else [x] * len(names)
                given = {**dict(zip(names, values, strict=True)), **one.args}
                found = [self.fn(**given, **{one.line_arg: line}) for line in one.line_vals]
                if print_data:
                    print("", *values, *(y[0] if isinstance(y, (list, tuple)) else y for y in found), sep="\t")


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    """Mark a function as measured."""
    return lambda fn: Mark(fn, benchmarks)


def do_bench(fn: Callable[[], Any], *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any) -> Any:
    """The simulated time of the launches of a function, called once, ms; NaN of one that launches nothing.

    Simulated times do not scatter, so all quantiles are one.
    """
    before = launched_ns()
    fn()
    after = launched_ns()
    found = (after - before) / NS_PER_MS if before is not None and after is not None and after > before else nan
    if quantiles:
        return [found] * len(quantiles)
    return [found] if return_mode == "all" else found


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """Errors: InputError for numbers that differ by more than the tolerances."""
    import numpy as np

    a, b = (np.asarray(one.detach() if hasattr(one, "detach") else one, np.float64) for one in (x, y))
    if not np.allclose(a, b, atol=1e-2 if atol is None else atol, rtol=0 if rtol is None else rtol, equal_nan=True):
        raise InputError(
            f"triton.testing.assert_close: the largest difference is {np.abs(a - b).max():g} {err_msg}".strip()
        )


TESTING = {
    "Benchmark": Benchmark, "Mark": Mark, "perf_report": perf_report, "do_bench": do_bench, "do_bench_cudagraph": do_bench,
    "assert_close": assert_close,
}  # fmt: skip
