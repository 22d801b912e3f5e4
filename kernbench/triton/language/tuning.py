"""`triton.autotune` and `triton.heuristics`: constants that a launch does not give.

Nothing is measured at a launch, since a launch is what is measured. An autotuned kernel takes the configuration that the launch
names, `config=3`, so a sweep varies it beside the fields of the machine; by default it takes the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernbench.errors import InputError
from kernbench.triton.language.jit import JITFunction


class Config:
    """One configuration: constants of the kernel, and the arguments of its launch."""

    def __init__(self, kwargs: Mapping[str, Any], num_warps: int = 4, num_stages: int = 3, **others: Any) -> None:
        self.kwargs, self.num_warps, self.num_stages = dict(kwargs), num_warps, num_stages
        self.others = others

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.kwargs.items())
        return f"Config({given}, num_stages={self.num_stages})"


class Tuned(JITFunction):
    """A kernel whose constants a function of its launch completes."""

    def __init__(self, kernel: JITFunction, complete: Callable[[dict[str, Any], Mapping[str, Any]], None]) -> None:
        super().__init__(kernel.fn)
        self._inner, self._complete = kernel, complete

    def complete(self, options: dict[str, Any], given: Mapping[str, Any]) -> None:
        """Add constants to the options of a launch; `given` are all that are known."""
        self._complete(options, given)
        self._inner.complete(options, {**given, **options})


def autotune(configs: Sequence[Config], key: Sequence[str] = (), **_: Any) -> Callable[[JITFunction], Tuned]:  # noqa: ARG001
    """Give a kernel configurations; each launch takes one."""

    def wrap(kernel: JITFunction) -> Tuned:
        def complete(options: dict[str, Any], given: Mapping[str, Any]) -> None:  # noqa: ARG001
            number = options.pop("config", 0)
            if not isinstance(number, int) or not 0 <= number < len(configs):
                raise InputError(
                    f"kernel {kernel.__name__} at {kernel.place} got config={number!r}; it has 0 to {len(configs) - 1}"
                )
            chosen = configs[number]
            for name, value in {**chosen.kwargs, "num_stages": chosen.num_stages}.items():
                options.setdefault(name, value)

        return Tuned(kernel, complete)

    return wrap


def heuristics(values: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> Callable[[JITFunction], Tuned]:
    """Give a kernel constants that follow from its other arguments."""

    def wrap(kernel: JITFunction) -> Tuned:
        def complete(options: dict[str, Any], given: Mapping[str, Any]) -> None:
            for name, find in values.items():
                options.setdefault(name, find({**given, **options}))

        return Tuned(kernel, complete)

    return wrap
