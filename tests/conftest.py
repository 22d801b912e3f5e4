"""Settings of all tests: no display, no competing threads, and one seed for all new random draws."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from random import SystemRandom

import pytest
from hypothesis import settings

from tests.balance import deal
from tests.engine.fresh import SEED
from tests.own_files import ROOT, find_own_files, run_without

pytest_plugins = ["tests.chromium"]

os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does; before numpy is loaded

# Hypothesis draws the same examples in every run; no deadline: the first example compiles. Programs of the engine are drawn
# afresh (`tests/engine/fresh.py`), and found again by the seed of the run.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults", type=int, default=1, help="try this many times as many faults (tests/faults)")
    parser.addoption(
        "--seed", type=int, help="draw the same random programs and faults as the run that printed this seed"
    )


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    here = config.invocation_params.dir
    if hasattr(config, "workerinput") or not here.is_relative_to(ROOT) or not (own := find_own_files()):
        return None
    return run_without(own, tuple(map(str, config.invocation_params.args)), here)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order tests for several processes, each of which begins with an equal run of them: files with slow tests come first.

    So what is left for a process that steals from another is many short tests, and all end together.
    """
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = deal(items, workers, lambda item: item.path, lambda item: bool(item.get_closest_marker("slow")))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are found, and less often from then on.

    Going through the million objects that stay took a tenth of the time of all tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: many tests wait for processes that they have started."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_configure(config: pytest.Config) -> None:
    asked = config.getoption("--seed")
    if asked is not None or SEED not in os.environ:
        os.environ[SEED] = str(SystemRandom().randrange(1 << 31) if asked is None else asked)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that compiled a function of the product for two signatures (why: `kernels_jit/compile/cache.py`)."""
    from kernels_jit.compile.cache import directory, find_ambiguous

    if names := sorted(path.name for path in find_ambiguous(directory()) if not path.name.startswith("test_")):
        print(f"\nerror: compiled for more than one signature, so not kept: {', '.join(names)}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_report_header() -> str:
    return f"random programs and faults: --seed {os.environ[SEED]}"
