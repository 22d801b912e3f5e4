"""The server, request by request: what it answers, and whom it refuses."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from kernbench.errors import InputError
from kernbench.web.server import make_server
from kernbench.web.sources import Sources
from tests.web.runs import write_run
from tests.web.sweeps import HOSTILE, write_sweep

NAME = f"swept {HOSTILE.replace('/', '')}"
RUN = f"ran {HOSTILE.replace('/', '')}"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / RUN)


@pytest.fixture
def port(tmp_path: Path, ran: Path) -> Iterator[int]:
    (tmp_path / "secret.txt").write_text("secret")
    with make_server(Sources([str(write_sweep(tmp_path / NAME)), str(ran), "tiny"])) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.headers, body


def told(port: int, path: str) -> Any:
    return json.loads(ask(port, path)[2])


def test_the_page_and_its_files_are_served_and_nothing_of_others(port: int) -> None:
    status, headers, body = ask(port, "/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert b"/page.js" in body
    assert "default-src 'none'; script-src 'self'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert [ask(port, path)[0] for path in ("/page.js", "/page.css", "/licences.txt")] == [200] * 3


def test_a_source_is_found_by_its_name_whatever_is_in_it(port: int) -> None:
    assert told(port, "/api/sources") == {
        "sources": [
            {"kind": "sweep", "name": NAME},
            {"kind": "run", "name": RUN},
            {"kind": "machine", "name": "tiny"},
        ],
        "searched": None,
    }
    assert told(port, f"/api/sweep/{quote(NAME)}/state")["rows"] == 12
    assert ask(port, f"/api/sweep/{quote(NAME)}/table")[2].startswith(b"ARROW1")
    assert told(port, "/api/machine/tiny/about")["family"] == "sip"
    assert [ask(port, f"/api/machine/tiny/{what}")[2][:6] for what in ("nodes", "links")] == [b"ARROW1"] * 2
    assert told(port, f"/api/run/{quote(RUN)}/about")["bench"] == "gemm-single-pe"
    assert told(port, f"/api/run/{quote(RUN)}/row/3")["row"] == 3
    tables = ("nodes", "links", "parts", "slices", "tracks", "transfers", "path", "path_parts", "busy")
    assert {ask(port, f"/api/run/{quote(RUN)}/{what}")[2][:6] for what in tables} == {b"ARROW1"}
    assert told(port, "/api/sweep/tiny/state") == {
        "error": "there is no sweep 'tiny' here; it may have been moved or removed"
    }
    missing = told(port, "/api/sweep/%3Cscript%3E/state")
    assert missing == {"error": "there is no sweep '<script>' here; it may have been moved or removed"}
    assert ask(port, "/api/sweep/%3Cscript%3E/state")[1]["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/api/sweep/../secret.txt",
        "/api/sweep/..%2f..%2fsecret.txt/state",
        "/api/sweep/%2e%2e/state",
        "/api/sweep//state",
        "/api/machine/tiny/state",
        f"/api/run/{quote(RUN)}/oplog.parquet",
        f"/api/run/{quote(RUN)}/row/-1",
        f"/api/run/{quote(RUN)}/row/..",
        f"/api/run/{quote(RUN)}/row/1/2",
        f"/api/run/{quote(NAME)}/about",
        "/sources.sha256",
        "//etc/passwd",
        "/%00",
    ],
)
def test_no_path_leads_elsewhere(port: int, path: str) -> None:
    status, _, body = ask(port, path)
    assert status == 404
    assert b"secret" not in body or b"error" in body


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_requests_of_others_are_refused(port: int, headers: dict[str, str]) -> None:
    status, _, body = ask(port, "/api/sources", **headers)
    assert status == 403
    assert json.loads(body)["error"].startswith("this viewer answers ")


def test_the_page_itself_may_ask(port: int) -> None:
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert ask(port, "/api/sources", Host=host, Origin=f"http://{host}")[0] == 200
    assert ask(port, "/", Sec_Fetch_Site="cross-site")[0] == 200  # a link to it may be followed


def test_only_reading_is_possible(port: int) -> None:
    assert ask(port, "/api/sources", "POST")[0] == 403  # jobs alone are started so, from the page: test_jobs.py
    status, headers, body = ask(port, "/page.js", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 100_000


def test_a_damaged_table_is_a_sentence(port: int, tmp_path: Path) -> None:
    (tmp_path / NAME / "table.parquet").write_bytes(b"no")
    status, _, body = ask(port, f"/api/sweep/{quote(NAME)}/state")
    assert status == 422
    assert "is not the table of a sweep" in json.loads(body)["error"]


def test_a_row_that_the_run_has_not_is_a_sentence(port: int) -> None:
    status, _, body = ask(port, f"/api/run/{quote(RUN)}/row/999999999999")
    assert (status, json.loads(body)) == (422, {"error": "the op log has no row 999999999999"})


def test_it_listens_on_loopback_alone(port: int) -> None:
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", port)) != 0


def test_a_port_that_is_taken_is_named(port: int) -> None:
    with pytest.raises(InputError, match=f"port {port} is taken by another program; give another --port, or none"):
        make_server(Sources(), port)
