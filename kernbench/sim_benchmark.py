"""Simulated time in pytest: the fixture `sim_benchmark`, a pytest plugin that comes with KernBench.

A test runs a bench and its simulated latency is recorded through pytest-benchmark, which sees a clock that stands still but
for the simulation; so its tables, `--benchmark-save` and `--benchmark-compare` work as ever. Beside that stands a gate: the
latency must be the one kept in `simulated/<test file>.json` beside the test file, to the femtosecond, in either direction.
pytest-benchmark's own comparison knows whole per cents, one direction, only tests that it has seen, and is off under xdist;
the gate needs nothing but the test itself. `--sim-update` keeps the latencies of the tests that run, wherever they ran.

Other figures of a run (`FIGURES`) are its extra info in pytest-benchmark's files. Its own tables have timings alone, so with
`--benchmark-compare` lines of ours say at the end which figures moved.

pytest imports this module at every start, so it imports nothing else of KernBench until it is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = "simulated"
FLAG = "--sim-update"
FIGURES = (
    "latency_ns",
    "pe_exec_ns",
    "bottleneck",
    "bottleneck_utilisation",
    "achieved_tflops",
    "achieved_gbs",
    "tflops_of_peak",
    "gbs_of_peak",
)  # of a run that are kept as extra info
PROPERTY = "sim_latency_fs"  # of a test's report: travels from xdist's workers to where files are written
FIGURES_PROPERTY = "sim_figures"
NS_PER_S, FS_PER_NS = 1e9, 1_000_000


class SimulatedClock:
    """A timer (seconds) that only moves when it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


_compared = pytest.StashKey[dict[str, dict[str, Any]]]()  # extra info by test, of the run that is compared with
_clock = pytest.StashKey[SimulatedClock]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--sim-update`."""
    group = parser.getgroup("kernbench")
    group.addoption(FLAG, action="store_true", help="keep the simulated latencies of this run as those to expect")


def pytest_configure(config: pytest.Config) -> None:
    """Register the collector of latencies in the process that writes files."""
    if config.getoption(FLAG) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Keeper(config.rootpath), "kernbench-sim-keeper")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give pytest-benchmark the simulated clock before it makes its own fixture."""
    if "sim_benchmark" in getattr(item, "fixturenames", ()):
        clock = item.stash[_clock] = SimulatedClock()
        given = item.get_closest_marker("benchmark")
        options = {**(given.kwargs if given else {}), "timer": clock}
        item.add_marker(pytest.mark.benchmark(**options), append=False)


@pytest.hookimpl(optionalhook=True)  # of pytest-benchmark
def pytest_benchmark_compare_machine_info(config: pytest.Config, compared_benchmark: dict[str, Any]) -> None:
    """Note the figures of the run that is compared with."""
    kept = {run["fullname"]: run.get("extra_info", {}) for run in compared_benchmark["benchmarks"]}
    config.stash.setdefault(_compared, {}).update(kept)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say which simulated figures moved, if the session is compared with another."""
    compared = config.stash.get(_compared, {})
    found = {
        report.nodeid: value
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for name, value in report.user_properties
        if name == FIGURES_PROPERTY and report.nodeid in compared
    }
    lines = [line for test, figures in found.items() for line in _list_moved(test, compared[test], figures)]
    if found:
        terminalreporter.section("simulated figures, before and now")
        terminalreporter.write_line(
            "\n".join(lines) or f"none moved, of {len(found)} {'test' if len(found) == 1 else 'tests'}"
        )


def _list_moved(test: str, before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """A line for each figure that both runs have, and that moved."""
    for name in FIGURES:
        old, new = before.get(name), now.get(name)
        if name in before and old != new:
            change = ""
            if isinstance(old, int | float) and isinstance(new, int | float) and old:
                change = f"  {new / old - 1:+.3%}"
            yield f"{test}  {name}: {_shown_figure(old)} → {_shown_figure(new)}{change}"


def _shown_figure(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


class SimBenchmark:
    """The fixture; call it once in a test."""

    def __init__(self, item: pytest.Item, benchmark: Any) -> None:
        self._item = item
        self._benchmark = benchmark

    def __call__(self, bench: Any, topology: Any = "sip_2x4x4", **options: Any) -> Any:
        """Run a bench as `kernbench.run` does, record its latency and compare it with the stored one; returns the result.

        Errors: as `kernbench.run`; the test fails if the latency is another than the kept one, or if none is kept.
        """
        from kernbench import run

        def simulate() -> tuple[float, Any]:
            result = run(bench, topology, **options)
            return result.latency_ns, result

        result = self._measure(simulate)
        self._keep(result)
        return result

    def _keep(self, result: Any) -> None:
        """Keep the figures of a run, and what ran, as extra info."""
        figures = {name: getattr(result, name) for name in FIGURES}
        self._item.user_properties.append((FIGURES_PROPERTY, figures))
        about = {"bench": result.bench, "topology": result.topology, "mode": result.mode}
        self._benchmark.extra_info.update(about, parameters=dict(result.parameters), **figures)

    def record(self, measure: Callable[[], float]) -> float:
        """The same for a time that the test computes: `measure` returns it in ns."""

        def simulate() -> tuple[float, float]:
            found_ns = float(measure())
            return found_ns, found_ns

        return self._measure(simulate)

    def _measure(self, simulate: Callable[[], tuple[float, Any]]) -> Any:
        clock = self._item.stash[_clock]
        found_ns = 0.0

        def run_once() -> Any:
            nonlocal found_ns
            found_ns, result = simulate()
            clock.now_s += found_ns / NS_PER_S
            return result

        clock.now_s = 0.0
        result = self._benchmark.pedantic(run_once, rounds=1, iterations=1)
        latency_fs = round(found_ns * FS_PER_NS)
        self._benchmark.extra_info["latency_fs"] = latency_fs
        self._item.user_properties.append((PROPERTY, latency_fs))
        if not self._item.config.getoption(FLAG):
            _check(self._item, latency_fs)
        return result


@pytest.fixture
def sim_benchmark(request: pytest.FixtureRequest, benchmark: Any) -> SimBenchmark:
    """Run a bench and record its simulated latency: `sim_benchmark("matmul-composite", "tiny", parameters={"M": 64})`."""
    return SimBenchmark(request.node, benchmark)


def _check(item: pytest.Item, latency_fs: int) -> None:
    file, test = _place(item.nodeid, item.config.rootpath)
    shown = _shown(file, item.config.rootpath)
    try:
        kept = _read(file).get(test)
    except ValueError as error:
        pytest.fail(f"{shown} cannot be read: {error}; mend it, or remove it and use pytest {FLAG}", pytrace=False)
    if kept is None:
        pytest.fail(
            f"{test} has no simulated latency in {shown} yet; keep {_ns(latency_fs)} with pytest {FLAG}", pytrace=False
        )
    if latency_fs != kept:
        moved = f"{(latency_fs - kept) / kept:+.3%}" if kept else "from nothing"
        pytest.fail(
            f"{test} takes {_ns(latency_fs)} of simulated time, {moved} against the {_ns(kept)} in {shown}; "
            f"if it should, keep it with pytest {FLAG}",
            pytrace=False,
        )


class _Keeper:
    """Writes the latencies of a test run at its end."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[Path, dict[str, int]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the latency of a test that passed, in this process or another."""
        if report.when == "call" and report.passed:
            for latency_fs in _latencies(report):
                file, test = _place(report.nodeid, self._root)
                self._found.setdefault(file, {})[test] = latency_fs

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the files; tests that did not run keep their latencies."""
        for file, found in self._found.items():
            try:
                text = json.dumps({**_read(file), **found}, indent=2, sort_keys=True)
            except ValueError as error:
                terminalreporter.write_line(f"nothing kept in {_shown(file, self._root)}: {error}; mend or remove it")
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text + "\n", encoding="utf-8")
            count = f"{len(found)} simulated {'latency' if len(found) == 1 else 'latencies'}"
            terminalreporter.write_line(f"{count} kept in {_shown(file, self._root)}")


def _latencies(report: pytest.TestReport) -> Iterator[int]:
    return (int(value) for name, value in report.user_properties if name == PROPERTY)  # type: ignore[call-overload]


def _place(nodeid: str, root: Path) -> tuple[Path, str]:
    """The file with a test's latency, and its name in the file."""
    path, _, test = nodeid.partition("::")
    module = root / path
    return module.parent / FOLDER / f"{module.stem}.json", test


def _shown(file: Path, root: Path) -> Path:
    return file.relative_to(root) if file.is_relative_to(root) else file


def _read(file: Path) -> dict[str, int]:
    """The latencies in a file; empty if there is no file. Errors: ValueError for a file of another form."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from None
    if not isinstance(kept, dict) or not all(isinstance(latency_fs, int) for latency_fs in kept.values()):
        raise ValueError("it holds no femtoseconds by test")
    return kept


def _ns(fs: int) -> str:
    whole, rest = divmod(fs, FS_PER_NS)
    return f"{whole:,}.{rest:06d}".rstrip("0").rstrip(".") + " ns"
