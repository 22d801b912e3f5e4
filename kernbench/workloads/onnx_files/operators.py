"""The operators that are known, by domain and name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.errors import InputError, shorten, suggest
from kernbench.workloads.onnx_files.attention import ATTENTION, CONTRIB_ATTENTION
from kernbench.workloads.onnx_files.elements import CONTRIB_ELEMENTS, ELEMENTS
from kernbench.workloads.onnx_files.layers import CONTRIB_LAYERS, LAYERS
from kernbench.workloads.onnx_files.norms import CONTRIB_NORMS, JOINED_NORMS, NORMS
from kernbench.workloads.onnx_files.patterns import JOINED
from kernbench.workloads.onnx_files.reader import CONTRIB, STANDARD, Node, Translate
from kernbench.workloads.onnx_files.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

# Of constants alone: their numbers are computed, so no kernel is needed.
CONSTANTS = ("Constant", "ConstantOfShape", "Shape", "Size", "Range", "NonZero", "Trilu", "EyeLike", "TopK", "CumSum",
             "ScatterND", "Round", "Sign", "Mod", "OneHot", "BitShift", "ReduceProd")  # fmt: skip


def _of_constants(_: object, node: Node) -> list[object]:
    """Errors: InputError, since such a node is folded if its inputs are constants."""
    raise node.error("is modelled where its inputs are constants; compute it before the graph")


KNOWN: Mapping[str, Mapping[str, Translate]] = {
    "": {**dict.fromkeys(CONSTANTS, _of_constants), **SHAPES, **ELEMENTS, **LAYERS, **NORMS, **ATTENTION},  # type: ignore[dict-item]
    CONTRIB: {**CONTRIB_ELEMENTS, **CONTRIB_LAYERS, **CONTRIB_NORMS, **CONTRIB_ATTENTION},
    JOINED: JOINED_NORMS,
}


def find_operator(node: Node) -> Translate:
    """How a node is built. Errors: InputError for a domain or an operator that is not known."""
    domain = "" if node.domain in STANDARD else node.domain
    if domain not in KNOWN:
        raise InputError(
            f"node {shorten(repr(node.name))} is of operator {node.op!r} of domain {node.domain!r}; known domains: the "
            f"standard one and {CONTRIB}; replace it with nodes of these, or give the file a local function of that name"
        )
    found = KNOWN[domain].get(node.op)
    if found is None:
        near = suggest(node.op, KNOWN[domain])
        raise InputError(
            f"node {shorten(repr(node.name))} is of operator {node.op!r}, which is not modelled{near}; replace it with nodes "
            "that are"
        )
    return found


def list_operators() -> dict[str, list[str]]:
    """The operators that are known, by domain."""
    return {domain: sorted(names) for domain, names in KNOWN.items() if domain != JOINED}
