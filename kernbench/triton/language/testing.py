"""`triton.testing`: what files measure with. Nothing is measured on this computer: times are those of launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernbench.errors import InputError


class Benchmark:
    """The description of a plot."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Mark:
    """A function of a plot; `run` does nothing, since only launches have times."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Any) -> None:
        self.fn, self.benchmarks = fn, benchmarks

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.fn(*args, **options)

    def run(self, **_: Any) -> None:
        """Without effect: a file's plots compare times of a GPU."""


def perf_report(benchmarks: Any) -> Callable[[Callable[..., Any]], Mark]:
    """Mark a function as measured."""
    return lambda fn: Mark(fn, benchmarks)


def do_bench(fn: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
    """Call a function once; its time is in the lines of its launches, and the file's own tables get 1 ms."""
    fn()
    return [1.0] * len(quantiles) if quantiles else 1.0


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """Errors: InputError for numbers that differ by more than the tolerances."""
    import numpy as np

    a, b = (np.asarray(one.detach() if hasattr(one, "detach") else one, np.float64) for one in (x, y))
    if not np.allclose(a, b, atol=1e-2 if atol is None else atol, rtol=0 if rtol is None else rtol, equal_nan=True):
        raise InputError(
            f"triton.testing.assert_close: the largest difference is {np.abs(a - b).max():g} {err_msg}".strip()
        )


TESTING = {"Benchmark": Benchmark, "perf_report": perf_report, "do_bench": do_bench, "assert_close": assert_close}
