"""The server of the viewer: the page and its data, on loopback, for browsers on this computer alone.

Python's own server does: there is one reader, requests are few, and every answer is whole before it is sent. A request
whose Host is not this server, or whose Origin is another site, is refused: a page elsewhere can neither read nor rebind its
name to what is served here. POST starts and cancels jobs alone; it has to come from the page itself, which a browser says
by its Origin.
"""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from kernbench.errors import InputError, KernBenchError, RunError, error_text
from kernbench.schema.guards import is_mapping
from kernbench.web.assets import read_assets
from kernbench.web.overview import Overview
from kernbench.web.run_comparison import compare_runs
from kernbench.web.run_jobs import RunJobs
from kernbench.web.run_view import RunView, find_run_version
from kernbench.web.sources import MachineSource, RunSource, Source, Sources, SweepSource
from kernbench.web.sweep_view import SweepTable, describe, find_version, load_table

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
MOST_TABLES, MOST_RUNS = 4, 2  # kept in memory
MOST_BODY = 1 << 12  # bytes of a POST
JSON, ARROW = "application/json", "application/vnd.apache.arrow.file"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

NOTHING = "there is nothing under this address"
_KINDS: Mapping[type[Source], str] = {SweepSource: "sweep", RunSource: "run", MachineSource: "machine"}
_MACHINE = ("about", "nodes", "links")
_ROW = re.compile(r"row/(\d{1,12})", re.ASCII)

Answer = tuple[str, bytes]  # type, body


class _NotFoundError(Exception):
    """There is nothing under a URL; the text says what is not there."""


class Viewer:
    """The answers to requests, by path. Tables of sweeps and runs are kept until their files change."""

    def __init__(self, sources: Sources, jobs: RunJobs) -> None:
        self._sources, self._jobs = sources, jobs
        self._overview = Overview()
        self._tables: dict[str, SweepTable] = {}
        self._runs: dict[str, RunView] = {}
        self._lock = threading.Lock()
        self._sweep: dict[str, Callable[[SweepSource], Answer]] = {
            "state": self._state,
            "table": self._table,
            "runs": self._list_runs,
        }
        self._changes = {"/api/jobs/start": self._jobs.start, "/api/jobs/cancel": self._jobs.cancel}

    def close(self) -> None:
        """End all jobs."""
        self._jobs.close()

    def change(self, path: str, asked: Mapping[str, Any]) -> Answer:
        """The answer to a POST: a job that was started or cancelled. Errors: _NotFoundError; InputError."""
        if path not in self._changes:
            raise _NotFoundError(NOTHING)
        return _json(self._changes[path](asked))

    def answer(self, path: str) -> Answer:
        """The answer to a path, still percent-encoded. Errors: _NotFoundError; InputError for a damaged file."""
        if path in (assets := read_assets()):
            return assets[path]
        if path == "/api/sources":
            listed = [_name(source) for source in self._sources.list().values()]
            return _json({"sources": listed, "searched": self._sources.searched})
        if path == "/api/overview":
            told = [_name(source) | self._overview.tell(source) for source in self._sources.list().values()]
            return _json({"sources": told})
        if path == "/api/jobs":
            return _json({"jobs": self._jobs.list()})
        match [unquote(part) for part in path.split("/")]:
            case ["", "api", "compare", one, other]:
                return _json(compare_runs(*(cast(RunSource, self._find("run", name)) for name in (one, other))))
            case ["", "api", kind, name, *what] if what and kind in _KINDS.values():
                return self._show(self._find(kind, name), "/".join(what))
            case _:
                raise _NotFoundError(NOTHING)

    def _find(self, kind: str, name: str) -> Source:
        source = self._sources.list().get(name)
        if source is None or kind_of(source) != kind:
            raise _NotFoundError(f"there is no {kind} {name!r} here; it may have been moved or removed")
        return source

    def _show(self, source: Source, what: str) -> Answer:
        if isinstance(source, RunSource) and what == "commands":
            return _json(self._jobs.tell(source))
        if isinstance(source, RunSource):
            return _show_run(self._load_run(source), what)
        if isinstance(source, MachineSource) and what in _MACHINE:
            return _show_machine(source, what)
        if isinstance(source, SweepSource) and what in self._sweep:
            return self._sweep[what](source)
        raise _NotFoundError(NOTHING)

    def _load_run(self, source: RunSource) -> RunView:
        with self._lock:
            kept = self._runs.get(source.name)
            if kept is None or kept.version != find_run_version(source):
                self._runs.pop(source.name, None)
                kept = self._runs[source.name] = RunView(source)
                while len(self._runs) > MOST_RUNS:
                    self._runs.pop(next(iter(self._runs)))
            return kept

    def _state(self, source: SweepSource) -> Answer:
        return _json(describe(source, self._load(source)))

    def _list_runs(self, source: SweepSource) -> Answer:
        return _json({"runs": self._sources.runs_of(source)})

    def _table(self, source: SweepSource) -> Answer:
        return ARROW, self._load(source).arrow

    def _load(self, source: SweepSource) -> SweepTable:
        with self._lock:
            kept = self._tables.get(source.name)
            if kept is None or kept.version != find_version(source):
                self._tables.pop(source.name, None)
                kept = self._tables[source.name] = load_table(source)
                while len(self._tables) > MOST_TABLES:
                    self._tables.pop(next(iter(self._tables)))
            return kept


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere two viewers could have one port
    allow_reuse_port = False

    def __init__(self, port: int, viewer: Viewer) -> None:
        self.viewer = viewer
        super().__init__((HOST, port), _Handler)

    def server_close(self) -> None:
        """Free the port and end all jobs."""
        super().server_close()
        self.viewer.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that went away is no error, and all else is answered where it happens."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "kernbench", ""
    timeout = 60  # seconds of silence, after which a connection is closed

    @property
    def _own(self) -> _Server:
        return cast(_Server, self.server)

    def do_GET(self) -> None:
        self._respond()

    def do_HEAD(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the command line is not the place for requests."""

    def _respond(self) -> None:
        if refusal := self._refusal():
            self.close_connection = True  # what it sends is not read
            self._send(HTTPStatus.FORBIDDEN, _error(refusal))
            return
        try:
            path, viewer = urlsplit(self.path).path, self._own.viewer
            answer = viewer.change(path, self._read_body()) if self.command == "POST" else viewer.answer(path)
            self._send(HTTPStatus.OK, answer)
        except (_NotFoundError, ValueError) as error:  # ValueError: the URL is none
            self._send(HTTPStatus.NOT_FOUND, _error(str(error)))
        except KernBenchError as error:
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, _error(str(error)))
        except ConnectionError:
            self.close_connection = True
        except Exception as error:  # the last handler: the page shows a sentence
            sentence = f"this is a bug in kernbench: {error_text(error)}"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, _error(sentence))

    def _refusal(self) -> str | None:
        """Why a request is refused: it was not made to this server, or by another site."""
        hosts = [f"{name}:{self._own.server_port}" for name in NAMES]
        if self.headers.get_all("Host", []) not in ([host] for host in hosts):
            return f"this viewer answers at http://{hosts[0]} alone"
        origins = self.headers.get_all("Origin", [])
        if any(origin not in [f"http://{host}" for host in hosts] for origin in origins):
            return "this viewer answers no other site"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin") and self.path.startswith("/api/"):
            return "this viewer answers no other site"
        if self.command == "POST" and not (origins and self.headers.get("Content-Type") == JSON):
            return "this viewer takes requests that change something from its own page alone"
        return None

    def _read_body(self) -> Any:
        """The JSON that came with a POST. Errors: InputError for something else, or too much of it."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and int(length) <= MOST_BODY):
            self.close_connection = True
            raise InputError(f"a request needs a Content-Length of {MOST_BODY} bytes at most")
        try:
            found = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            found = None
        if not is_mapping(found):
            raise InputError("a request needs a JSON object")
        return found

    def _send(self, status: HTTPStatus, answer: Answer) -> None:
        kind, body = answer
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def make_server(sources: Sources, port: int = 0, jobs: RunJobs | None = None) -> _Server:
    """A server on loopback that has its port; `serve_forever` runs it. With port 0 the system chooses one.

    `jobs` are ended with it.

    Errors: InputError for a port that is taken or not allowed; RunError if there is no loopback.
    """
    try:
        return _Server(port, Viewer(sources, jobs or RunJobs(sources)))
    except OverflowError:
        raise InputError(f"--port takes 0 to 65535, and got {port}") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"port {port} is taken by another program; give another --port, or none") from None
        if error.errno == errno.EACCES:
            raise InputError(f"port {port} needs the rights of root; give one above 1023") from None
        raise RunError(f"no server can be started on {HOST}: {error.strerror}") from None


def kind_of(source: Source) -> str:
    """The word for what a source is, in URLs."""
    return _KINDS[type(source)]


def _show_run(view: RunView, what: str) -> Answer:
    if what == "about":
        return _json(view.about())
    if what in view.names:
        return ARROW, view.arrow(what)
    if found := _ROW.fullmatch(what):
        return _json(view.row(int(found[1])))
    raise _NotFoundError(NOTHING)


def _show_machine(source: MachineSource, what: str) -> Answer:
    view = source.view
    return _json(view.about) if what == "about" else (ARROW, view.nodes if what == "nodes" else view.links)


def _name(source: Source) -> dict[str, Any]:
    return {"kind": kind_of(source), "name": source.name}


def _json(content: Any) -> Answer:
    return JSON, json.dumps(content, allow_nan=False).encode()


def _error(sentence: str) -> Answer:
    return _json({"error": sentence})
