"""`triton.autotune` and `triton.heuristics`: constants that a launch does not give.

An autotuned kernel takes the configuration that its launch names, `config=3`, so a sweep varies it beside the fields of the
machine. A launch of a whole file names none: it takes the one whose simulated time is least, found once for each value of the
key. Without a machine that is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernbench.errors import InputError
from kernbench.triton.language.jit import Kernel
from kernbench.triton.language.launches import KernelOnGrid, Measure

Given = Mapping[str, Any]


class Config:
    """One configuration: constants of the kernel, and the arguments of its launch."""

    def __init__(
        self,
        kwargs: Given,
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        **others: Any,
    ) -> None:
        self.kwargs, self.num_warps, self.num_stages = dict(kwargs), num_warps, num_stages
        self.num_ctas, self.maxnreg, self.pre_hook, self.others = num_ctas, maxnreg, pre_hook, others

    def all_kwargs(self) -> dict[str, Any]:
        """Its constants and the arguments of its launch."""
        return {**self.kwargs, "num_warps": self.num_warps, "num_stages": self.num_stages, "num_ctas": self.num_ctas}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.kwargs.items())
        return f"Config({given}, num_stages={self.num_stages})"


class _Completed(Kernel):
    """A kernel `fn` whose constants something completes."""

    fn: Kernel

    @property
    def innermost(self) -> Kernel:
        """As of `Kernel`."""
        return self.fn.innermost


class Heuristics(_Completed):
    """A kernel some of whose constants follow from its other arguments."""

    def __init__(self, kernel: Kernel, values: Mapping[str, Callable[[Given], Any]]) -> None:
        super().__init__(kernel.code)
        self.fn, self.values = kernel, values

    def complete(self, options: dict[str, Any], given: Given) -> None:
        """As of `Kernel`."""
        for name, find in self.values.items():
            options[name] = find({**given, **options})
        self.fn.complete(options, {**given, **options})

    def tune(self, launch: KernelOnGrid, args: Sequence[Any], options: dict[str, Any], measure: Measure | None) -> None:
        """As of `Kernel`."""
        self.fn.tune(launch, args, options, measure)


class Autotuner(_Completed):
    """A kernel with configurations; each launch takes one."""

    def __init__(self, kernel: Kernel, configs: Sequence[Config], key: Sequence[str], options: Given) -> None:
        super().__init__(kernel.code)
        self.fn, self.configs, self.keys = kernel, list(configs) or [Config({})], tuple(key)
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.best_config = self.configs[0]
        self._zeroed = tuple(options.get("reset_to_zero") or ())
        self._prune: Given = options.get("prune_configs_by") or {}

    def complete(self, options: dict[str, Any], given: Given) -> None:
        """As of `Kernel`. Errors: InputError for a configuration that is not there."""
        number = options.pop("config", 0)
        if not isinstance(number, int) or not 0 <= number < len(self.configs):
            raise InputError(
                f"kernel {self.__name__} at {self.place} got config={number!r}; it has 0 to {len(self.configs) - 1}"
            )
        chosen = self.configs[number]
        for name, value in {**chosen.kwargs, "num_stages": chosen.num_stages}.items():
            options.setdefault(name, value)
        self.fn.complete(options, {**given, **options})

    def tune(self, launch: KernelOnGrid, args: Sequence[Any], options: dict[str, Any], measure: Measure | None) -> None:
        """As of `Kernel`; a configuration's hook is called, and what is to begin at 0 does so behind a measurement."""
        positional = dict(zip(self.arg_names, args, strict=False))
        named = {**positional, **options}
        if "config" not in options:
            key = (
                *(named.get(name) for name in self.keys),
                *(str(one.dtype) for one in named.values() if _is_typed(one)),
            )
            if key not in self.cache:
                self.cache[key] = self._choose(launch, args, positional, options, measure)
                self._reset(named)
            self.best_config = self.cache[key]
            options["config"] = self.configs.index(self.best_config)
            if self.best_config.pre_hook is not None:
                self.best_config.pre_hook({**named, **self.best_config.all_kwargs()})
        self.fn.tune(launch, args, options, measure)

    def _choose(
        self, launch: KernelOnGrid, args: Sequence[Any], positional: Given, options: Given, measure: Measure | None
    ) -> Config:
        """The configuration whose launch is the shortest; one that cannot run has no time."""
        left = self._pruned(positional, options)
        if measure is None or len(left) == 1:
            return left[0]
        return min(left, key=lambda one: measure(launch, args, {**options, "config": self.configs.index(one)}))

    def _pruned(self, positional: Given, options: Given) -> list[Config]:
        left, early = self.configs, self._prune.get("early_config_prune")
        if early is not None:
            left = list(early(left, dict(positional), **options)) or self.configs
        model, most = self._prune.get("perf_model"), self._prune.get("top_k")
        if model is None or most is None:
            return left
        count = int(len(self.configs) * most) if isinstance(most, float) and most <= 1 else int(most)
        return sorted(left, key=lambda one: model(**positional, **options, **one.all_kwargs()))[: max(1, count)]

    def _reset(self, named: Given) -> None:
        for name in self._zeroed if len(self.configs) > 1 else ():
            if hasattr(named[name], "zero_"):
                named[name].zero_()
            elif hasattr(named[name], "fill"):
                named[name].fill(0)


def _is_typed(value: Any) -> bool:
    return hasattr(value, "dtype")


def autotune(configs: Sequence[Config], key: Sequence[str] = (), **options: Any) -> Callable[[Kernel], Autotuner]:
    """Give a kernel configurations."""
    return lambda kernel: Autotuner(kernel, configs, key, options)


def heuristics(values: Mapping[str, Callable[[Given], Any]]) -> Callable[[Kernel], Heuristics]:
    """Give a kernel constants that follow from its other arguments."""
    return lambda kernel: Heuristics(kernel, values)
