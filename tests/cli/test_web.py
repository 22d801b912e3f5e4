from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from kernbench.cli.main import main
from tests.web.sweeps import write_sweep


def test_what_is_no_sweep_and_a_port_that_is_none_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["web", str(tmp_path / "none")]) == 2
    assert " is no directory of a sweep or a run; " in capsys.readouterr().err
    assert main(["web", "--port", "99999"]) == 2
    assert "0<=x<=65535" in capsys.readouterr().err


def test_a_port_that_is_taken_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["web", "--no-open", "--port", str(port)]) == 2
    assert capsys.readouterr().err == (
        f"error: port {port} is taken by another program; give another --port, or none\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code", "said"), [(signal.SIGINT, 0, "stopped\n"), (signal.SIGTERM, 143, "")])
def test_it_serves_until_it_is_stopped(number: int, code: int, said: str, tmp_path: Path) -> None:
    directory = write_sweep(tmp_path / "a sweep")
    command = [sys.executable, "-m", "kernbench", "web", "--no-open", str(directory)]
    heard = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background ignores
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"the viewer is at (http://127\.0\.0\.1:\d+/)#/sweep/a%20sweep \(Ctrl-C ends it\)\n", line)
        assert found
        with urllib.request.urlopen(found[1]) as page:
            assert b"KernBench" in page.read()
        process.send_signal(number)
        assert process.communicate(timeout=60) == (said, None)
        assert process.returncode == code
    signal.signal(signal.SIGINT, heard)
