"""Agents: processes that decide at run time what happens next, as live threads of a program.

A recorded thread is a row of ops. What a scheduler does next depends on what has happened by then, so it is a function of
Python that is called at an instant of the run, reads and changes what it shares with others, and says when it is to be called
again. An instant of the run is `UNTIL`, then `ASK`: no op was added for agents, and any interpreter of programs runs them.

Agents that are due at one instant are called in the order in which they were made, so the order never depends on anything but
the program. While no worker can ask, agents are called without a return to the engine (docs/engine.md, "Agents").
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from kernbench.program.program import Program
from kernbench.program.thread import Thread

Step = Callable[[int], None]  # is given the time (fs)
_NEVER = 1 << 62


class Agent:
    """A process that is called at the times for which it has asked. `step(now_fs)` is what it does then."""

    __slots__ = ("_agents", "_number", "due_fs", "name", "step")

    def __init__(self, agents: Agents, number: int, name: str, step: Step) -> None:
        self._agents, self._number = agents, number
        self.name = name
        self.step = step
        self.due_fs: int | None = None

    def call_at(self, time_fs: int) -> None:
        """Be called at a time (fs) that is not past, instead of what was planned."""
        if self.due_fs != time_fs:
            self.due_fs = time_fs
            self._agents.plan(time_fs, self._number)

    def cancel(self) -> None:
        """Not be called until asked for again."""
        self.due_fs = None


class Agents:
    """The agents of a program. `on_ask(thread, now_fs)` is for the run: `Session.run` or any other interpreter calls it."""

    def __init__(self, program: Program) -> None:
        from kernels_jit.compile.jit import CHECKED  # loads numba, which is not needed without a program

        self.program = program
        self.now_fs = 0  # of the latest call
        self._checked = CHECKED
        self._agents: list[Agent] = []
        self._plans: list[
            tuple[int, int]
        ] = []  # heap of (time, number of the agent); other times than its own are void
        self._workers: dict[int, Step] = {}  # by thread
        self._asks: dict[int, int] = {}  # by thread of a busy worker: before this time (fs) it does not ask
        self._free_fs = 0  # before this time (fs) no worker asks
        self._idle: list[Thread] = []  # threads of alarms that have come to their end
        self._alarms: list[int] = []  # times at which threads of alarms ask
        self._serving = False

    def agent(self, name: str, step: Step) -> Agent:
        """A new agent with no call due."""
        self._agents.append(Agent(self, len(self._agents), name, step))
        return self._agents[-1]

    def worker(self, name: str, step: Step) -> Thread:
        """A thread for rows of any kind; `step(now_fs)` is called at each ASK among them."""
        thread = self.program.thread(name)
        self._workers[thread.id] = step
        return thread

    def expect(self, thread: Thread, ask_fs: int) -> None:
        """Say that a worker has got rows, and that its next ask comes at `ask_fs` (fs) or later.

        Rows that an agent gives to a worker begin with an UNTIL of the present or a later time: the engine may be behind.
        """
        self._asks[thread.id] = ask_fs
        self._free_fs = min(self._free_fs, ask_fs)

    def plan(self, time_fs: int, number: int) -> None:
        """Note when an agent is due."""
        heappush(self._plans, (time_fs, number))
        if not self._serving:
            self._set_alarm()

    def on_ask(self, thread: int, now_fs: int) -> None:
        """Hand an ask to the worker that has the thread, or call the agents that are due."""
        self._serving = True
        step = self._workers.get(thread)
        if step is None:  # an alarm, whose agents may have been called meanwhile
            self._alarms.remove(now_fs)
            self._idle.append(self.program.threads[thread])
            self._free_fs = min(self._asks.values(), default=_NEVER)
            now_fs = max(now_fs, self.now_fs)
        else:
            self._ask_worker(thread, step, now_fs)
        self._serve(now_fs)
        self._serving = False
        self._set_alarm()

    def _ask_worker(self, thread: int, step: Step, now_fs: int) -> None:
        if self._checked:
            assert now_fs >= self.now_fs, "an agent was called before something earlier had happened"
            assert now_fs >= self._asks.get(thread, 0), "a worker asks sooner than was said"
        self._asks.pop(thread, None)
        self._free_fs = min(self._asks.values(), default=_NEVER)
        self.now_fs = now_fs
        step(now_fs)
        if thread not in self._asks and self.program.threads[thread].pending:
            self.expect(self.program.threads[thread], now_fs)

    def go_to(self, time_fs: int) -> bool:
        """Let the present be a later time (fs) within the call of an agent, if nothing happens before; returns whether it is.

        What an agent does then is as if it had been called at that time.
        """
        plans = self._plans
        while plans and self._agents[plans[0][1]].due_fs != plans[0][0]:
            heappop(plans)
        if time_fs >= self._free_fs or (plans and plans[0][0] <= time_fs):
            return False
        self.now_fs = time_fs
        return True

    def _serve(self, now_fs: int) -> None:
        """Call what is due, and go on while no worker can ask before the next call."""
        plans = self._plans
        while plans:
            due_fs, number = plans[0]
            agent = self._agents[number]
            if agent.due_fs != due_fs:
                heappop(plans)
            elif due_fs <= now_fs or due_fs < self._free_fs:
                heappop(plans)
                now_fs = self.now_fs = due_fs
                agent.due_fs = None
                agent.step(due_fs)
            else:
                return

    def _set_alarm(self) -> None:
        """Let the engine ask at the time of the first plan, unless it asks before."""
        if not self._plans:
            return
        due_fs = self._plans[0][0]
        if due_fs < min(self._alarms, default=_NEVER):
            thread = self._idle.pop() if self._idle else self.program.thread("agents")
            self._alarms.append(due_fs)
            thread.ask_at(due_fs)
