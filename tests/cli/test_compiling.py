"""The first run announces that it compiles; no other does."""

from __future__ import annotations

import pytest

from kernbench.cli.compiling import announce_compiling


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the cache answers: one entry, to be changed."""
    answer = [False]
    monkeypatch.setattr("kernbench.engine.jit_status.is_warm", lambda: answer[0])
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    return answer


def test_said_before_the_first_run(compiled: list[bool], capsys: pytest.CaptureFixture[str]) -> None:
    announce_compiling()
    captured = capsys.readouterr()
    assert captured.err == "compiling the simulator, once (up to a minute; later runs start at once) ...\n"
    assert captured.out == ""


def test_not_said_when_compiled(compiled: list[bool], capsys: pytest.CaptureFixture[str]) -> None:
    compiled[0] = True
    announce_compiling()
    assert capsys.readouterr().err == ""


def test_not_said_when_nothing_is_ever_compiled(
    compiled: list[bool], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    announce_compiling()
    assert capsys.readouterr().err == ""
