"""When the actors of a network with credits have something to do: by actor, by 64 actors and by 64 times 64.

So a window looks at the actors that are due in it, and not at all that wait for a flit on its way to them.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import GROUP, at_most
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout.records import GROUP_SHIFT, NEVER

WORD_ACTORS = 64


@inner
def wake(m, credit, actor, cycle):
    """An actor has something to do in a cycle."""
    word = actor >> 6
    if CHECKED:
        assert cycle >= m[credit.word_served + word], "an actor is woken for a cycle that is over for it"
    word_wake, group_wake = credit.word_wakes + word, credit.group_wakes + (word >> GROUP_SHIFT)
    m[credit.wakes + actor] = min(m[credit.wakes + actor], cycle)
    m[word_wake], m[group_wake] = min(m[word_wake], cycle), min(m[group_wake], cycle)
    credit.next = min(credit.next, cycle)


@inner
def put_off(m, credit, actor, cycle):
    """An actor has something to do in a cycle, and nothing before."""
    word = actor >> 6
    m[credit.wakes + actor] = cycle
    note_word(m, credit, word)
    note_group(m, credit, word >> GROUP_SHIFT)


@inlined
def due_actors(m, credit, word, end):
    """Of the 64 actors of a word the bits of those that have something to do before a cycle."""
    due, start = np.int64(0), credit.wakes + word * WORD_ACTORS
    for lane in range(0, WORD_ACTORS, GROUP):
        due |= at_most(m, start + lane, end - 1) << lane
    return due


@inner
def note_word(m, credit, word):
    """Note the first cycle in which an actor of a word has something to do."""
    m[credit.word_wakes + word] = first_of_word(m, credit, word)


@inner
def first_of_word(m, credit, word):
    """The first cycle in which an actor of a word has something to do, or NEVER."""
    first, start = NEVER, credit.wakes + word * WORD_ACTORS
    for number in range(WORD_ACTORS):
        first = min(first, m[start + number])
    return first


@inlined
def last_word(credit, group):
    """The word after the last of a group."""
    return min(credit.words, (group + 1) << GROUP_SHIFT)


@inner
def note_group(m, credit, group):
    """Note the first cycle in which an actor of a group has something to do."""
    first = NEVER
    for word in range(group << GROUP_SHIFT, last_word(credit, group)):
        first = min(first, m[credit.word_wakes + word])
    m[credit.group_wakes + group] = first


@inner
def first_wake(m, credit):
    """The first cycle in which an actor has something to do, or NEVER."""
    first = NEVER
    for group in range(credit.groups):
        first = min(first, m[credit.group_wakes + group])
    if CHECKED:
        for word in range(credit.words):
            known = m[credit.word_wakes + word]
            assert known == first_of_word(m, credit, word), "an actor is due in another cycle than is known of its word"
            assert known >= m[credit.group_wakes + (word >> GROUP_SHIFT)], "an actor is due before its group"
    return first
