"""Invariants of the memory of a run between two events, for any program: see `kernels_jit.layout.records`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from kernbench.engine import Session
from kernbench.engine.memory import Memory
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import NEVER, word_of, words_of

NONE = codes.NONE


def find_broken(session: Session) -> str | None:
    """The first invariant that does not hold, or None."""
    return next(list_broken(session), None)


def list_broken(session: Session) -> Iterator[str]:
    """Every invariant that does not hold."""
    memory = session._memory
    yield from _free_chains(memory)
    yield from _events(memory)
    yield from _servers(session)
    yield from _jobs(session)
    if memory.credit:
        yield from _credits(session)
    elif memory["route_n"] > 0:
        yield from _bounds(session)
        yield from _stations(session)
    left = memory.table("plans", r.PLAN, session._known.plans)["left"]
    yield from (f"plan {plan} has {count} tokens left" for plan, count in enumerate(left.tolist()) if count < 0)


def at(memory: Memory, kind: np.dtype, place: int) -> np.void:
    """The record that stands at a place."""
    return np.ndarray((), kind, memory.words, place * memory.words.itemsize)[()]


def list_transfers(memory: Memory) -> list[int]:
    """The places of all transfers that are not free."""
    free, words = set(_chain(memory, r.TRANSFER, "transfer_free")), memory["transfer_words"]
    places = []
    for start, rows in memory._transfer_blocks:
        size = int(at(memory, r.TRANSFER, start)["words"])
        if size == words:  # smaller ones are not used again: whether they are free is not known
            places += [place for place in range(start, start + rows * size, size) if place not in free]
    return places


def _chain(memory: Memory, kind: np.dtype, first: str) -> list[int]:
    """The places in a chain of free rows."""
    return _follow(memory, kind, memory[first])


def _follow(memory: Memory, kind: np.dtype, place: int) -> list[int]:
    """The places of a record and of those after it, up to the first that comes again."""
    places: dict[int, None] = {}
    while place != NONE and place not in places:
        places[place] = None
        place = memory.words.item(place + word_of(kind, "next"))
    return [*places, *[place] * (place != NONE)]


def _free_chains(memory: Memory) -> Iterator[str]:
    for name, kind in (("job", r.JOB), ("transfer", r.TRANSFER)):
        places, count = _chain(memory, kind, f"{name}_free"), memory[f"{name}_free_n"]
        if len(set(places)) < len(places):
            yield f"the chain of free {name}s comes to {places[-1]} again"
        elif len(places) != count:
            yield f"{count} {name}s are counted as free and {len(places)} are"


def _events(memory: Memory) -> Iterator[str]:
    events = memory.table("heap", r.EVENT, memory["heap_n"])
    keys = [tuple(event) for event in events[["fs", "key", "index"]].tolist()]
    yield from (f"event {n} comes before the one above it" for n in range(1, len(keys)) if keys[n] < keys[(n - 1) // 2])
    for fs, key, index, what in events.tolist():
        kind, of = key >> codes.KIND_SHIFT, key & (1 << codes.KIND_SHIFT) - 1
        if not is_valid(memory, kind, index, what):
            continue
        if fs < memory["now_fs"]:
            yield f"an event of {fs} is pending at {memory['now_fs']}"
        if kind <= codes.DONE and of != at(memory, r.TRANSFER, what)["owner"]:
            yield f"an event of a transfer at {fs} has the owner {of}"
        if kind == codes.SERVED and index != _owner_at_end(memory, what & (1 << r.JOB_SHIFT) - 1):
            yield f"an event of a job at {fs} has the owner {index}"


def _row_of(memory: Memory, transfer: np.void) -> int:
    """The row of a transfer that is under way."""
    job = int(transfer["job"])
    return r.LONE_ROW - job if job <= r.LONE_ROW else int(at(memory, r.JOB, job)["row"])


def _owner_at_end(memory: Memory, place: int) -> int:
    """The owner of the row at which a job is when its event comes."""
    job = at(memory, r.JOB, place)
    plan = memory.table("plans", r.PLAN, int(job["plan"]) + 1)[-1] if job["token"] == r.AWAITED else None
    return int(job["owner"]) + (0 if plan is None else int(plan["chain_rows"]) - 1)


def _jobs(session: Session) -> Iterator[str]:
    """Whoever has a job: queues, chains, transfers, events. None is lost, and a plan's owners count its rows."""
    memory, times = session._memory, session._times
    servers = memory.table("servers", r.SERVER, len(session.machine.server_slots))
    plans = memory.table("plans", r.PLAN, session._known.plans)
    queues = [_follow(memory, r.JOB, int(place)) for place in servers["first"]]
    chains = [_follow(memory, r.JOB, int(place)) for place in plans["chain_first"]]
    for number, queue in enumerate(queues):
        if queue and queue[-1] != servers["last"][number]:
            yield f"the queue of server {number} ends at {queue[-1]} and not at {servers['last'][number]}"
    flying = list_transfers(memory) if memory["route_n"] > 0 else []
    transfers = [at(memory, r.TRANSFER, place) for place in flying]
    for row in (_row_of(memory, transfer) for transfer in transfers):
        if times["end_fs"][row] != NONE:
            yield f"row {row} is complete while its transfer is under way"
    jobs = {int(transfer["job"]): None for transfer in transfers if transfer["job"] > r.LONE_ROW}
    events = memory.table("heap", r.EVENT, memory["heap_n"]).tolist()
    valid = Counter(
        (key >> codes.KIND_SHIFT, what)
        for _, key, index, what in events
        if is_valid(memory, key >> codes.KIND_SHIFT, index, what)
    )
    for (kind, what), count in valid.items():
        if count > 1:
            yield f"{count} events of kind {kind} are pending for {what}"
    served = [what & (1 << r.JOB_SHIFT) - 1 for kind, what in valid if kind == codes.SERVED]
    jobs |= dict.fromkeys([place for line in (*queues, *chains) for place in line] + served)
    for place in jobs:
        if all(place not in line for line in chains):
            yield from _times(at(memory, r.JOB, place), times, queues=any(place in queue for queue in queues))
    for number, plan in enumerate(plans):
        if plan["left"] > 0 and times["end_fs"][plan["row"]] != NONE:
            yield f"plan {number} is complete and has tokens left"
    used = memory._room["jobs"] - memory["job_free_n"]
    if used != len(jobs):
        yield f"{used} jobs are in use and {len(jobs)} are found"
    bases: dict[int, int] = {}
    for place in jobs:
        job = at(memory, r.JOB, place)
        base, plan = int(job["owner"] - job["row"]), int(job["plan"])
        if plan != NONE and bases.setdefault(plan, base) != base:
            yield f"a token of plan {plan} has the owner {job['owner']} at row {job['row']}"
        if job["token"] >= 0:
            start = int(memory.table("tokens", r.TOKEN, int(job["token"]) + 1)["start"][-1])
            end = int(memory.table("tokens", r.TOKEN, int(plans["end"][plan]))["end"][-1])
            if any((times[field][start:end] != NONE).any() for field in r.TIME.names or ()):
                yield f"rows from {start} on have begun though their tokens queue"


def _times(job: np.void, times: np.ndarray, *, queues: bool) -> Iterator[str]:
    """What is written of the rows of a job that is in no chain."""
    row = int(job["row"])
    if queues and job["token"] == NONE and times["start_fs"][row] != NONE:
        yield f"row {row} has begun though its job queues"
    if job["token"] == NONE and times["end_fs"][row] != NONE:
        yield f"row {row} is complete and its job still at it"
    if any((times[field][row + 1 : job["end"]] != NONE).any() for field in r.TIME.names or ()):
        yield f"rows after {row} have begun before it is complete"


def is_valid(memory: Memory, kind: int, index: int, what: int) -> bool:
    """Whether an event is not stale."""
    if kind <= codes.DONE:
        return int(at(memory, r.TRANSFER, what)["stamp"]) == index
    if kind == codes.SERVED:
        return int(at(memory, r.JOB, what & (1 << r.JOB_SHIFT) - 1)["stamp"]) == what >> r.JOB_SHIFT
    return True


def _bounds(session: Session) -> Iterator[str]:
    memory = session._memory
    bounds = memory.table("bounds", r.BOUND, memory["bound_n"])
    times, counts = bounds["fs"].tolist(), Counter(bounds["transfer"].tolist())
    yield from (
        f"bound {n} comes before the one above it" for n in range(1, len(times)) if times[n] < times[(n - 1) // 2]
    )
    for place in list_transfers(memory):
        transfer = at(memory, r.TRANSFER, place)
        if transfer["from_step"] != NONE and transfer["closed"] != 0:
            yield f"the transfer at {place} is in the network and done in closed form"
        if transfer["from_step"] != NONE and _is_awaited(session, transfer):
            count = (
                counts[place] if _has_own_bound(session, transfer) else sum(counts[one] for one in _ring(memory, place))
            )
            if count != 1:
                yield f"the transfer at {place} is awaited in the network and has {count} bounds"


def list_slots(memory: Memory, start: int, depth: int, first: int) -> np.ndarray:
    """BUFFERED[depth] the slots of a buffer that begins at a place, from another on."""
    return np.roll(memory.rows(start, r.BUFFERED, depth), (start - first) // words_of(r.BUFFERED))


def _credits(session: Session) -> Iterator[str]:
    """Each virtual channel has as many credits as its depth, here or under way or as flits, which are in order.

    Its receiver knows since when its front can be seen, or that it has none.
    """
    memory = session._memory
    input_vcs, output_vcs, flits_held = memory.credit.input_vcs, memory.credit.output_vcs, memory.credit.held
    buffers = memory.credit.buffers.tolist()
    for number, buffer in enumerate(buffers):
        slots = list_slots(memory, *buffer, int(output_vcs["back"][number]))
        credits = len(slots) - flits_held[number]
        if (slots["flit"][:credits] != NONE).any() or (slots["flit"][credits:] == NONE).any():
            yield f"channel {number} has lost or gained a credit"
        if (np.diff(slots["cycle"][:credits]) < 0).any():
            yield "a credit stands before one that can be used sooner"
        if output_vcs["credited"][number] and not (credits and slots["cycle"][0] < memory.credit["served"]):
            yield "a sender knows of a credit that is not back"
    taken = input_vcs["out_vc"][(input_vcs["out_link"] >= 0) & (input_vcs["out_vc"] != NONE)]
    if len(np.unique(taken)) < len(taken):
        yield "two packets hold one virtual channel"
    if (input_vcs["out_vc"][input_vcs["out_link"] == NONE] != NONE).any():
        yield "an idle virtual channel holds another"
    links = memory.rows(memory.credit["links"], r.LINK, memory.credit["link_n"])
    for input_vc, held, edge in zip(input_vcs, flits_held, memory.credit.link_of_vc, strict=True):
        if links["receiver"][edge] == NONE:
            continue
        seen = memory.words[links["visible_at"][edge] + input_vc["index"]]
        if (seen != NEVER) != (held > 0):
            yield f"a channel of link {edge} has {held} flits and its receiver thinks otherwise"
        elif seen != NEVER and seen != memory.words[input_vc["front"]]:
            yield "the front of a buffer can be seen in another cycle than its receiver thinks"
    for number in np.flatnonzero(flits_held):
        slots = list_slots(memory, *buffers[number], int(input_vcs["front"][number]))[: flits_held[number]]
        flits = slots["flit"]
        if (np.diff(slots["cycle"]) < 0).any():
            yield "a flit overtakes another in a buffer"
        between = np.flatnonzero(flits[1:] >> 1 != flits[:-1] >> 1)
        if (flits[between] & 1 == 0).any():
            yield "a packet begins in a virtual channel before the tail of the one before"
    routers = memory.rows(memory.credit["routers"], r.ROUTER, memory.credit["router_n"])
    for edge in np.flatnonzero(links["source"] < len(routers)):
        begins = links["first"][edge] != NONE
        if (routers["sources"][links["source"][edge]] >> links["port"][edge] & 1) != begins:
            yield f"a router does not know whether transfers begin at link {edge}"


def _ring(memory: Memory, place: int) -> list[int]:
    """The places of all branches of a transfer to many."""
    ring = [place]
    while (onward := int(at(memory, r.TRANSFER, ring[-1])["next"])) != place:
        ring.append(onward)
    return ring


def _has_own_bound(session: Session, transfer: np.void) -> bool:
    """Whether the landing of a transfer has a bound, and not only the completion of one to many of which it is a branch."""
    return transfer["branch"] == 0 or _counts_arrivals(session, transfer)


def _is_awaited(session: Session, transfer: np.void) -> bool:
    """Whether something follows from a transfer; of a branch of one to many, from that whole where a destination is."""
    memory = session._memory
    job, own = at(memory, r.JOB, int(transfer["job"])), _route(memory, transfer)
    move = session._op[int(job["row"])].view(r.OPS[codes.MOVE])[0]
    if own["destinations"] and own["destination"] == NONE:
        return False
    is_counted = _counts_arrivals(session, transfer)
    return job["plan"] != NONE or is_counted or any(move[field] != NONE for field in ("done", "hold", "arrive"))


def _counts_arrivals(session: Session, transfer: np.void) -> bool:
    """Whether an arrival of the transfer to many of which this is a branch is added to a counter."""
    job = at(session._memory, r.JOB, int(transfer["job"]))
    if job["plan"] != NONE:
        return False
    rows = range(int(job["row"]) + 1, int(job["row"]) + 1 + int(_route(session._memory, transfer)["destinations"]))
    return any(session._op[row].view(r.OPS[codes.ARRIVE])[0]["counter"] != NONE for row in rows)


def _route(memory: Memory, transfer: np.void) -> np.void:
    return memory.table("routes", r.ROUTE, memory["route_n"])[transfer["route"]]


def _stations(session: Session) -> Iterator[str]:
    """A station counts those who use it; one that is reserved has none."""
    memory = session._memory
    steps, transfers = memory.table("steps", r.STEP, memory._steps), list_transfers(memory)
    claims: Counter[int] = Counter()
    for place in transfers:
        transfer = at(memory, r.TRANSFER, place)
        if transfer["claims"] == 1:
            claims.update(steps["station"][int(transfer["first_step"]) : int(transfer["end_step"])].tolist())
    reservations = memory.table("reservations", r.RESERVATION, memory["route_n"])
    yield from (
        f"route {route} has passed flits that no station counts" for route in np.flatnonzero(reservations["passed"])
    )
    ports = memory.table("ports", r.PORT, len(memory._pairs))
    for number in np.flatnonzero(ports["fs"] < r.NEVER).tolist():
        hop = at(memory, r.HOP, (int(ports["entry"][number]) >> r.FLIT_SHIFT) * words_of(r.HOP))
        if ports["owner"][number] != hop["owner"]:
            yield f"port {number} has a flit of {hop['owner']} and says {ports['owner'][number]}"
    held = reservations["held"].tolist()
    for number, (users, reserved) in enumerate(memory.stations[["users", "reserved"]].tolist()):
        place = memory["stations"] + number * words_of(r.STATION)
        if len(memory._transfer_blocks) == 1 and users != claims[place]:
            yield f"station {number} counts {users} users and has {claims[place]}"
        if reserved != NONE and users > 0:
            yield f"station {number} is reserved and has {users} users"
        if reserved != NONE and held[reserved] != 1:
            yield f"station {number} is reserved for route {reserved}, which does not hold it"
    for route, transfer in enumerate(reservations["transfer"].tolist()):
        if transfer != NONE and transfer not in transfers:
            yield f"route {route} is reserved by a transfer that is free"


def _servers(session: Session) -> Iterator[str]:
    memory = session._memory
    plans = memory.table("plans", r.PLAN, session._known.plans)
    for number in np.flatnonzero(plans["chain_rows"] > r.CHAIN_MOST):
        yield f"plan {number} has a chain of {plans['chain_rows'][number]} rows"
    for number, server in enumerate(memory.table("servers", r.SERVER, len(session.machine.server_slots))):
        if not 0 <= server["used"] <= server["slots"]:
            yield f"server {number} has {server['used']} of {server['slots']} slots taken"
        if server["chain"] != NONE and (server["used"] != 0 or server["first"] != NONE):
            yield f"server {number} is in a chain and has jobs of its own"
        if server["chain"] != NONE and plans["chain_rows"][server["chain"]] == 0:
            yield f"server {number} is in a chain that plan {server['chain']} does not have"
        if server["first"] != NONE and server["used"] < server["slots"]:
            yield f"server {number} has a free slot and a job that queues"
