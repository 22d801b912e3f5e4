"""The rehearsal of a collective: its kernels on clocks of their own, to say about how long it takes.

Every participant runs the kernel of the algorithm as a greenlet. Its `tl` computes nothing: each call moves the participant's
clock on by what the time model says of the call without contention, and messages go over links as those share them that send
at the same time. A send waits for a slot and for the PE's write channel, a receive for the message. So whatever a kernel
overlaps is overlapped here too, and an algorithm needs no closed form of its own. A long part is rehearsed for a few batches,
and the rest follows from what one more batch takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.ccl.module import LISTED, Algorithm
from kernbench.ccl.plan import Part, Plan
from kernbench.ccl.time_model import MOST_RANKS, SharedLink
from kernbench.dtypes import itemsize
from kernbench.limits.time_limit import watched_kernel

if TYPE_CHECKING:
    from kernbench.ccl.time_model import TimeModel
    from kernbench.ccl.wiring import World

WHOLE_PERIODS = 4  # up to so many periods a part is rehearsed as it is
PIECES = 16  # of a period, where the kernel has no batches
SMALL = 8  # elements of each participant with which it is found who sends
ALIKE = 1.05  # of equal links, the greatest alpha over the least
ROOTED = ("broadcast", "reduce")  # in which one rank does what the others do not

FREE = SharedLink(0.0, 0.0, 0.0, 0.0, 0.0, wire=0)

Seat = tuple[int, int]  # rank, cube
Senders = dict[str, set[Seat]]  # by direction


class CannotRehearse(Exception):
    """The kernel does what a rehearsal does not know, or it would wait for ever."""


class Outcome(NamedTuple):
    """The time of a rehearsal (ns), and the bytes of its largest message."""

    ns: float
    largest: int


class Tensor:
    """What a call of a rehearsed kernel returns: so many bytes."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


class Queue:
    """The messages from one participant to another, by number: when each arrives, and when its slot is free again."""

    __slots__ = ("arrivals", "credits", "link", "sent", "taken", "waiting")

    def __init__(self, link: SharedLink) -> None:
        self.link = link
        self.sent = self.taken = 0
        self.arrivals: list[tuple[float, int]] = []  # ns, bytes
        self.credits: list[float] = []
        self.waiting: Actor | None = None  # at either end


class Actor:
    """The `tl` of one participant."""

    def __init__(self, network: QueueNetwork, seat: Seat) -> None:
        self._network, self.seat, self._model = network, seat, network.model
        self._piece = network.model.piece
        self.now = self._queue_free = 0.0
        self._behind = 0.0  # the first of those that share its links, by so much
        self._wires: dict[int, float] = {}  # when the last byte of the latest message over each busiest link was there
        self._channels = [0.0] * network.model.channels
        self._posted: deque[tuple[float, list[Queue], int]] = deque()  # messages on their way to the channels
        self._out: dict[str, Queue] = {}
        self._in: dict[str, Queue] = {}
        self.greenlet: Any = None

    def play(self, kernel: Callable[..., Any], arguments: Sequence[Any]) -> None:
        """Run the kernel to its end."""
        kernel(*arguments, tl=self)
        self._hand_over()

    def program_id(self, axis: int = 0) -> int:
        """The cube; PE 0 stands for all that work at the same time."""
        return self.seat[1] if axis else 0

    def num_programs(self, axis: int = 0) -> int:
        """The cubes, or one PE."""
        return self._network.world.cubes if axis else 1

    def load(self, _: int, shape: int | Sequence[int], dtype: str = "f16") -> Tensor:
        """A load from the PE's own memory."""
        found = Tensor(_bytes(shape, dtype))
        self.now += self._piece(found.nbytes).load
        return found

    def store(self, _: int, tensor: Tensor) -> None:
        """A store, which waits for the write channel behind the messages that have come to it by then."""
        piece = self._piece(tensor.nbytes)
        self._hand_over(self.now + piece.lead)
        at = self._free_channel()
        self.now = max(self.now, self._channels[at]) + piece.store
        self._channels[at] = self.now

    def zeros(self, shape: int | Sequence[int], dtype: str = "f16") -> Tensor:
        """A constant takes no time."""
        return Tensor(_bytes(shape, dtype))

    def release(self, _: Tensor) -> None:
        """Scratch takes no time."""

    def send(self, dir: str | Sequence[str], src: Tensor) -> None:
        """A message in one direction, or the same in several at once."""
        directions, piece = [dir] if isinstance(dir, str) else dir, self._piece(src.nbytes)
        self.now += piece.call
        self._hand_over(self.now)
        queues = [self._out.get(one) or self._find_out(one) for one in directions]
        for queue in queues:
            queue.sent += 1
            needed = queue.sent - self._network.window
            if needed > 0:
                while len(queue.credits) < needed:
                    self._hand_over()
                    self._wait(queue)
                self.now = max(self.now, queue.credits[needed - 1])
        self._queue_free = max(self.now, self._queue_free) + piece.leave
        self._posted.append((self._queue_free, queues, src.nbytes))
        self._network.largest = max(self._network.largest, src.nbytes)

    def _hand_over(self, until: float = inf) -> None:
        """Give the write channels the messages that come to them up to a time."""
        while self._posted and self._posted[0][0] <= until:
            posted, queues, nbytes = self._posted.popleft()
            at = self._free_channel()
            start = max(posted, self._channels[at])
            for queue in queues:
                last = self._cross(queue, start, nbytes)
                self._channels[at] = max(self._channels[at], last)
                queue.arrivals.append((last + self._piece(nbytes).settle, nbytes))
                self._network.wake(queue)

    def _cross(self, queue: Queue, start: float, nbytes: int) -> float:
        """When the last byte of a message is at the other end, behind those of all who share the link.

        The last of them waits once for the others. After that they come one after the other, and it waits for more only where
        a link is slower for all than what went before, or has no time to serve all before the next message.
        """
        link = queue.link
        alone = start + self._model.first_ns(link, nbytes) + nbytes * link.own_ns
        behind = max(nbytes * (link.beta_ns - link.own_ns) - self._behind, 0.0)
        self._behind += behind
        last = self._wires[link.wire] = max(alone + behind, self._wires.get(link.wire, -inf) + nbytes * link.pace_ns)
        return last

    def recv(self, dir: str, shape: int | Sequence[int], dtype: str = "f16") -> Tensor:
        """The next message from a direction."""
        queue, found = self._in.get(dir) or self._find_in(dir), Tensor(_bytes(shape, dtype))
        piece = self._piece(found.nbytes)
        self.now += piece.call
        number = queue.taken
        queue.taken += 1
        self._hand_over()
        while len(queue.arrivals) <= number:
            self._wait(queue)
        arrival, nbytes = queue.arrivals[number]
        if nbytes != found.nbytes:
            raise CannotRehearse
        self.now = max(self.now, arrival) + piece.take - piece.call
        queue.credits.append(self.now + self._model.credit_ns(queue.link))
        self._network.wake(queue)
        return found

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """A sum, or another reduction."""
        self.now += self._piece(max(a.nbytes, b.nbytes)).combine
        return Tensor(max(a.nbytes, b.nbytes))

    mul = minimum = maximum = add

    def _free_channel(self) -> int:
        channels = self._channels
        return 0 if len(channels) == 1 else min(range(len(channels)), key=channels.__getitem__)

    def _wait(self, queue: Queue) -> None:
        queue.waiting = self
        self.greenlet.parent.switch()

    def _find_out(self, direction: str) -> Queue:
        found = self._out[direction] = self._network.queue(self.seat, direction)
        return found

    def _find_in(self, direction: str) -> Queue:
        peer = self._model.peer(*self.seat, direction)
        if peer is None:
            raise CannotRehearse
        rank = self.seat[0] if self._network.alone else peer.rank
        found = self._in[direction] = self._network.queue((rank, peer.cube), peer.back)
        return found


class QueueNetwork:
    """One rehearsal: its participants and the queues between them.

    `alone` means that the cubes of rank 0 stand for those of all: what goes to another rank comes back as if from another.
    `senders` are those that send at all, by direction; without them links are free and only the senders are found.
    """

    def __init__(self, model: TimeModel, world: World, window: int, senders: Senders | None, *, alone: bool) -> None:
        self.model, self.world, self.window, self.alone = model, world, window, alone
        self.largest = 0
        self.used: Senders = {}
        self._senders = senders
        self._queues: dict[tuple[int, int, str], Queue] = {}
        self._ready: deque[Actor] = deque()

    def run(self, kernel: Callable[..., Any], arguments: Callable[[int], Sequence[Any]]) -> Outcome:
        """Run the kernel on all participants; `arguments` are those of a rank. Errors: CannotRehearse."""
        from greenlet import getcurrent, greenlet

        ranks = 1 if self.alone else self.world.ranks
        actors = [Actor(self, (rank, cube)) for rank in range(ranks) for cube in range(self.world.cubes)]
        here = getcurrent()
        for actor in actors:
            actor.greenlet = greenlet(partial(actor.play, kernel, arguments(actor.seat[0])), here)
        self._ready.extend(actors)
        try:
            with watched_kernel():
                while self._ready:
                    self._ready.popleft().greenlet.switch()
        except (Exception, SystemExit) as error:  # a kernel of a user may raise anything
            raise CannotRehearse from error
        finally:
            complete = all(actor.greenlet.dead for actor in actors)
            for actor in actors:  # which the greenlets hold
                actor.greenlet = None
        unread = any(queue.sent > queue.taken for queue in self._queues.values())
        if not complete or (self.alone and unread):  # some ranks do what the others do not
            raise CannotRehearse
        return Outcome(max(actor.now for actor in actors), self.largest)

    def queue(self, seat: Seat, direction: str) -> Queue:
        """The queue that leaves a participant in a direction."""
        key = (*seat, direction)
        if key not in self._queues:
            if self.model.peer(*key) is None:
                raise CannotRehearse
            self.used.setdefault(direction, set()).add(seat)
            link = (
                FREE
                if self._senders is None
                else self.model.shared(*key, frozenset(self._senders.get(direction, {seat})))
            )
            self._queues[key] = Queue(link)
        return self._queues[key]

    def wake(self, queue: Queue) -> None:
        """Let the participant go on that waits for a queue."""
        if queue.waiting is not None:
            self._ready.append(queue.waiting)
            queue.waiting = None


@dataclass(frozen=True, slots=True)
class WatchedPlan(Plan):
    """A plan that notes into how many shares each batch is split."""

    shares: list[int] = field(default_factory=list[int])

    def batches(self, part: Part, shares: int = 1) -> list[Part]:
        """See `Plan.batches`."""
        self.shares.append(shares)
        return Plan.batches(self, part, shares)


class Rehearsals:
    """The rehearsals of one algorithm by the PEs of one model."""

    def __init__(self, algorithm: Algorithm, model: TimeModel, world: World) -> None:
        self._algorithm, self._model, self._world = algorithm, model, world
        self._everyone = world.ranks * world.cubes
        self._known: dict[tuple[int, bool], tuple[Senders, int]] = {}  # by elements and whether rank 0 is alone

    def estimate(self, elements: int, plan: Plan) -> Outcome | None:
        """What the algorithm takes about for parts of so many elements; None where it cannot be said."""
        for alone in (True, False) if elements >= self._everyone and self.alike else (False,):
            try:
                return self.extrapolate(elements, plan, alone=alone)
            except CannotRehearse:
                continue
        return None

    def bound(self, elements: int, plan: Plan) -> float:
        """What the algorithm cannot take less than (ns); 0 where it does not say."""
        bound = self._algorithm.bound
        return bound(self._model, self._world, elements * itemsize(plan.dtype), plan) if bound else 0.0

    def extrapolate(self, elements: int, plan: Plan, *, alone: bool) -> Outcome:
        """The outcome of all elements, from that of a few periods where there are many."""
        senders, shares = self._find_senders(min(elements, SMALL * self._everyone), plan, alone=alone)
        period = shares * plan.batch_bytes // itemsize(plan.dtype) if shares else PIECES * plan.chunk
        run = partial(self._run, plan=plan, senders=senders, alone=alone)
        if elements <= WHOLE_PERIODS * period:
            return run(elements)[0]
        least = (WHOLE_PERIODS - 1) * period + elements % period  # the first one or two are not like the others
        one, two = run(least)[0], run(least + period)[0]
        return Outcome(one.ns + (elements - least) // period * (two.ns - one.ns), two.largest)

    def _find_senders(self, few: int, plan: Plan, *, alone: bool) -> tuple[Senders, int]:
        """Who sends at all, and into how many shares a batch is split (0: there are no batches), found with few elements."""
        if (few, alone) not in self._known:
            watched = WatchedPlan(plan.dtype, plan.op, plan.chunk, plan.window, None, plan.root, plan.keeps)
            used = self._run(few, watched, None, alone=alone)[1]
            if alone:
                ranks = range(self._world.ranks)
                used = {side: {(rank, cube) for rank in ranks for _, cube in seats} for side, seats in used.items()}
            self._known[few, alone] = used, max(watched.shares, default=0)
        return self._known[few, alone]

    def _run(self, elements: int, plan: Plan, senders: Senders | None, *, alone: bool) -> tuple[Outcome, Senders]:
        """One rehearsal; rank 0 alone has equal shares of all. Errors: CannotRehearse."""
        algorithm, world = self._algorithm, self._world
        if alone:
            elements = -(-elements // self._everyone) * self._everyone
        own = replace(plan, spans=None)
        figures = algorithm.arguments(world.ranks, elements, world.cube_w, world.cube_h, own)
        addresses = _addresses(algorithm.collective, world.ranks)

        def arguments(rank: int) -> Sequence[Any]:
            return *addresses, *figures, rank, world.kind, world.sip_w, world.sip_h

        network = QueueNetwork(self._model, world, plan.window, senders, alone=alone)
        return network.run(algorithm.kernel, arguments), network.used

    @cached_property
    def alike(self) -> bool:
        """Whether all ranks do the same over equal links, so that one can stand for all."""
        world = self._world
        if world.ranks == 1 or self._algorithm.collective in ROOTED:
            return False
        for cube in range(world.cubes):
            first = self._algorithm.neighbours(0, cube, world)
            if any(
                self._algorithm.neighbours(rank, cube, world).keys() != first.keys() for rank in range(1, world.ranks)
            ):
                return False
            for side in first:
                links = [self._model.link(rank, cube, side) for rank in range(min(world.ranks, MOST_RANKS))]
                alphas = [link.alpha_ns for link in links if link is not None]
                if max(alphas) > ALIKE * min(alphas):
                    return False
        return True


def _addresses(collective: str, ranks: int) -> list[Any]:
    """The tensors' addresses with which a kernel begins: of one, or of one for each rank."""
    if collective == "barrier":
        return []
    return [(0,) * ranks if listed else 0 for listed in LISTED.get(collective, (False,))]


def _bytes(shape: int | Sequence[int], dtype: str) -> int:
    return (shape if isinstance(shape, int) else prod(shape)) * itemsize(dtype)
