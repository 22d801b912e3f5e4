"""Stages of a router with credits that take more than a cycle, without pipelining: routing and the crossbar.

A stage takes all that waits before it at once, and takes nothing more before that has left it.
"""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout.access import STAGES_WORDS, stages_at


@inner
def begin_routing(m, router, cycle):
    """A head comes to the front of a buffer in a cycle. Returns the cycle in which its routing begins."""
    stages = stages_at(m, router.stages)
    if cycle > stages.routed:
        stages.routed = max(cycle, stages.routed + router.routing)
    if CHECKED:
        assert stages.routed < cycle + router.routing, "a head waits for longer than others are routed"
    return stages.routed


@inner
def pass_crossbar(m, link, fs, is_sent):
    """A flit has got the switch at a time, or a source sends it then (`is_sent`). Returns when it begins on its link.

    That is as if the crossbar took no flit later than it can: how long it takes is a part of the way over the link.
    """
    stages, sent = stages_at(m, link.stages), link.stages + STAGES_WORDS + link.port
    if not is_sent:
        if fs > stages.crossed_fs:
            stages.crossed_fs = max(fs, stages.crossed_fs + stages.traversal_fs)
        if CHECKED:
            assert stages.crossed_fs < fs + stages.traversal_fs, "a flit waits for longer than others cross"
        fs = stages.crossed_fs
    fs = max(fs, m[sent])
    m[sent] = fs + link.full_fs
    return fs


@inlined
def sent_fs(m, link):
    """Until when a link sends the flits that have left the switch."""
    return m[link.stages + STAGES_WORDS + link.port] if link.stages != 0 else link.free_fs
