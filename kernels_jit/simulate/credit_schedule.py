"""When the actors of a network with credits have something to do: by actor, by patch of actors and by group of patches.

So a window looks at the actors that are due in it, and not at all that wait for a flit on its way to them.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import GROUP, at_most
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout.records import GROUP_SHIFT, NEVER, PATCH_ACTORS, PATCH_SHIFT


@inner
def wake(m, credit, actor, cycle):
    """An actor has something to do in a cycle."""
    patch = actor >> PATCH_SHIFT
    if CHECKED:
        assert cycle >= m[credit.patch_served + patch], "an actor is woken for a cycle that is over for it"
    patch_wake, group_wake = credit.patch_wakes + patch, credit.group_wakes + (patch >> GROUP_SHIFT)
    m[credit.wakes + actor] = min(m[credit.wakes + actor], cycle)
    m[patch_wake], m[group_wake] = min(m[patch_wake], cycle), min(m[group_wake], cycle)
    credit.next = min(credit.next, cycle)


@inlined
def due_actors(m, credit, patch, end):
    """Of the actors of a patch the bits of those that have something to do before a cycle."""
    due, start = np.int64(0), credit.wakes + patch * PATCH_ACTORS
    for lane in range(0, PATCH_ACTORS, GROUP):
        due |= at_most(m, start + lane, end - 1) << lane
    return due


@inner
def note_patch(m, credit, patch):
    """Note the first cycle in which an actor of a patch has something to do."""
    m[credit.patch_wakes + patch] = first_of_patch(m, credit, patch)


@inner
def first_of_patch(m, credit, patch):
    """The first cycle in which an actor of a patch has something to do, or NEVER."""
    first, start = NEVER, credit.wakes + patch * PATCH_ACTORS
    for number in range(PATCH_ACTORS):
        first = min(first, m[start + number])
    return first


@inlined
def last_patch(credit, group):
    """The patch after the last of a group."""
    return min(credit.patches, (group + 1) << GROUP_SHIFT)


@inner
def note_group(m, credit, group):
    """Note the first cycle in which an actor of a group has something to do."""
    first = NEVER
    for patch in range(group << GROUP_SHIFT, last_patch(credit, group)):
        first = min(first, m[credit.patch_wakes + patch])
    m[credit.group_wakes + group] = first


@inner
def first_wake(m, credit):
    """The first cycle in which an actor has something to do, or NEVER."""
    first = NEVER
    for group in range(credit.groups):
        first = min(first, m[credit.group_wakes + group])
    if CHECKED:
        for patch in range(credit.patches):
            known = m[credit.patch_wakes + patch]
            assert known == first_of_patch(m, credit, patch), (
                "an actor is due in another cycle than is known of its patch"
            )
            assert known >= m[credit.group_wakes + (patch >> GROUP_SHIFT)], "an actor is due before its group"
    return first
