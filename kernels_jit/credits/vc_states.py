"""The states of a virtual channel at its receiver, as predicates of an INPUT_VC, or of a COPY of the packet at its front.

```
                     compute_route             ready               grant_vc             the tail traverses the switch
    idle ───────────────────────► routing ──────────► vc_alloc ───────────────► active ──────────────────────────────► idle
      │  the head can be seen                                                     ▲
      └─► forked: each copy goes ───► routing ──────► vc_alloc ───────────────────┘      forked ends when the last tail leaves
```

| state | out_link | out_vc | ready |
|---|---|---|---|
| idle | NONE | NONE | any |
| routing | a link | NONE | later than the cycle |
| vc_alloc | a link | NONE | not later |
| active | a link | an OUTPUT_VC | from then on its flits request the switch |
| forked | COPIES | the first copy | the copies have it |

A head that speculates requests the switch in `vc_alloc`. An active virtual channel may be empty, until its next flit comes.
"""

from __future__ import annotations

from kernels_jit.compile.jit import inlined
from kernels_jit.layout import codes
from kernels_jit.layout.records import COPIES

_NONE = codes.NONE


@inlined
def is_vc_idle(vc):
    """Whether no packet of a virtual channel has a route."""
    return vc.out_link == _NONE


@inlined
def is_vc_routing(vc, cycle):
    """Whether the packet at the front of a virtual channel is being routed in a cycle."""
    return (vc.out_link >= 0) & (vc.out_vc == _NONE) & (vc.ready > cycle)


@inlined
def is_vc_waiting(vc, cycle):
    """Whether the packet at the front of a virtual channel waits for an output VC in a cycle: `vc_alloc`."""
    return (vc.out_link >= 0) & (vc.out_vc == _NONE) & (vc.ready <= cycle)


@inlined
def is_vc_active(vc):
    """Whether the packet at the front of a virtual channel holds an output VC. Not for one that is forked."""
    return vc.out_vc != _NONE


@inlined
def is_vc_forked(vc):
    """Whether the packet at the front of a virtual channel goes on as copies, each with a state of its own."""
    return vc.out_link == COPIES
