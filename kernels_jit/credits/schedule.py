"""When the actors of a network with credits have something to do: by actor, by block of actors and by group of blocks.

So a window looks at the actors that are due in it, and not at all that wait for a flit on its way to them.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import GROUP, at_most
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout.records import ACTOR_BLOCK_SHIFT, BLOCK_ACTORS, GROUP_SHIFT, NEVER


@inner
def wake(m, credit, actor, cycle):
    """An actor has something to do in a cycle."""
    block = actor >> ACTOR_BLOCK_SHIFT
    if CHECKED:
        assert cycle >= m[credit.block_served + block], "an actor is woken for a cycle that is over for it"
    patch_wake, group_wake = credit.block_wakes + block, credit.group_wakes + (block >> GROUP_SHIFT)
    m[credit.wakes + actor] = min(m[credit.wakes + actor], cycle)
    m[patch_wake], m[group_wake] = min(m[patch_wake], cycle), min(m[group_wake], cycle)
    credit.next = min(credit.next, cycle)


@inlined
def due_actors(m, credit, block, end):
    """The bits of the actors of a block that have something to do before a cycle."""
    due, start = np.int64(0), credit.wakes + block * BLOCK_ACTORS
    for vc in range(0, BLOCK_ACTORS, GROUP):
        due |= at_most(m, start + vc, end - 1) << vc
    return due


@inner
def note_block(m, credit, block):
    """Note the first cycle in which an actor of a block has something to do."""
    m[credit.block_wakes + block] = first_of_block(m, credit, block)


@inner
def first_of_block(m, credit, block):
    """The first cycle in which an actor of a block has something to do, or NEVER."""
    first, start = NEVER, credit.wakes + block * BLOCK_ACTORS
    for number in range(BLOCK_ACTORS):
        first = min(first, m[start + number])
    return first


@inlined
def end_of_blocks(credit, group):
    """The block after the last of a group."""
    return min(credit.actor_blocks, (group + 1) << GROUP_SHIFT)


@inner
def note_group(m, credit, group):
    """Note the first cycle in which an actor of a group has something to do."""
    first = NEVER
    for block in range(group << GROUP_SHIFT, end_of_blocks(credit, group)):
        first = min(first, m[credit.block_wakes + block])
    m[credit.group_wakes + group] = first


@inner
def first_wake(m, credit):
    """The first cycle in which an actor has something to do, or NEVER."""
    first = NEVER
    for group in range(credit.groups):
        first = min(first, m[credit.group_wakes + group])
    if CHECKED:
        for block in range(credit.actor_blocks):
            known = m[credit.block_wakes + block]
            assert known == first_of_block(m, credit, block), (
                "an actor is due in another cycle than is known of its block"
            )
            assert known >= m[credit.group_wakes + (block >> GROUP_SHIFT)], "an actor is due before its group"
    return first
