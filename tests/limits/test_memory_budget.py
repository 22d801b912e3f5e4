from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from kernbench.errors import LimitError, OutOfMemoryError
from kernbench.limits import memory_budget
from kernbench.limits.memory_budget import check_fits, divide_budget, find_free_bytes, is_out_of_memory, tell_full

GIB = 1 << 30


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A computer with 8 GiB free, no control group and no limit of its own."""
    monkeypatch.setattr(memory_budget, "_system_bytes", lambda: 8 * GIB)
    monkeypatch.setattr(memory_budget, "_cgroup_bytes", lambda: iter(()))
    monkeypatch.setattr(memory_budget, "_address_space_bytes", lambda: None)
    return monkeypatch


def test_what_is_free_is_the_least_of_all_limits(system: pytest.MonkeyPatch) -> None:
    assert find_free_bytes() == 8 * GIB
    system.setattr(memory_budget, "_cgroup_bytes", lambda: iter([5 * GIB, 6 * GIB]))
    assert find_free_bytes() == 5 * GIB
    system.setattr(memory_budget, "_address_space_bytes", lambda: 2 * GIB)
    assert find_free_bytes() == 2 * GIB


def test_workers_divide_the_memory_of_the_computer_but_not_a_limit_of_the_process(system: pytest.MonkeyPatch) -> None:
    divide_budget(4)
    try:
        assert find_free_bytes() == 2 * GIB
        system.setattr(memory_budget, "_address_space_bytes", lambda: GIB)
        assert find_free_bytes() == GIB
    finally:
        divide_budget(1)


@pytest.mark.usefixtures("system")
def test_what_does_not_fit_is_refused_with_both_sizes() -> None:
    check_fits(8 * GIB, "a dream", "sleep less")
    with pytest.raises(LimitError) as caught:
        check_fits(8 * GIB + 1, "a dream", "sleep less")
    assert str(caught.value) == (
        "a dream would take 8 GiB of this computer's memory, of which 8 GiB are free; sleep less"
    )


def test_a_control_group_counts_files_that_can_be_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job").mkdir()
    for folder, most in ((tmp_path, "max"), (tmp_path / "job", str(3 * GIB))):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{2 * GIB}\n")
        (folder / "memory.stat").write_text(f"anon 7\ninactive_file {GIB}\n")
    names = ("memory.max", "memory.current", "inactive_file")
    folders = [(tmp_path / "job", names), (tmp_path, names)]
    monkeypatch.setattr(memory_budget, "_cgroup_folders", lambda: iter(folders))
    assert list(memory_budget._cgroup_bytes()) == [2 * GIB]


@pytest.mark.slow
def test_the_limit_of_the_address_space_counts_what_is_taken() -> None:
    code = "from kernbench.limits.memory_budget import find_free_bytes; print(find_free_bytes())"
    most = 3 * GIB
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    assert 0 < int(found.stdout) < most


def test_errors_that_say_that_memory_is_full(system: pytest.MonkeyPatch) -> None:
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(OSError(errno.ENOMEM, "Cannot allocate memory"))
    assert not is_out_of_memory(OutOfMemoryError("hbm is full"))  # that is of the machine that is simulated
    hidden = OSError("no library")
    hidden.__context__ = OSError("libx.so: failed to map segment from shared object")
    at_a_limit = [RuntimeError("can't start new thread"), ImportError("failed to map segment"), hidden]
    assert not any(map(is_out_of_memory, at_a_limit))  # nothing limits the address space
    system.setattr(memory_budget, "_address_space_bytes", lambda: 1 << 20)
    assert all(map(is_out_of_memory, at_a_limit))
    assert not is_out_of_memory(RuntimeError("no"))


def test_what_is_full_is_told_with_what_was_asked_for(system: pytest.MonkeyPatch) -> None:
    assert tell_full(MemoryError()) == "this computer's memory is full (8 GiB are free); make the run smaller"
    assert tell_full(MemoryError("Unable to allocate 9 GiB"), "it") == (
        "this computer's memory is full (8 GiB are free): Unable to allocate 9 GiB; make it smaller"
    )
    system.setattr(memory_budget, "_address_space_bytes", lambda: 1 << 20)
    assert tell_full(RuntimeError("can't start new thread")) == (
        "the address space that ulimit -v leaves this process is full (1 MiB are free); raise that limit, or make the run "
        "smaller"
    )
