"""Agents: processes that decide at run time what happens next, as live threads of a program.

A recorded thread is a row of ops. What a scheduler does next depends on what has happened by then, so it is a function of
Python that is called at an instant of the run, reads and changes what it shares with others, and says when it is to be called
again. Each instant is `UNTIL`, then `ASK`: no op was added for agents, and any interpreter of programs runs them.

A plan may be brought forward: what is due later stays in the program and is passed over when its time comes. Agents that are
due at one instant are called in the order of their threads, so the order never depends on anything but the program.
"""

from __future__ import annotations

from collections.abc import Callable

from kernbench.program.program import Program
from kernbench.program.thread import Thread

Step = Callable[[int], None]  # is given the time (fs)


class Agent:
    """A process that is called at the times for which it has asked. `step(now_fs)` is what it does then."""

    __slots__ = ("_agents", "_alarms", "_idle", "due_fs", "name", "step")

    def __init__(self, agents: Agents, name: str, step: Step) -> None:
        self._agents = agents
        self.name = name
        self.step = step
        self.due_fs: int | None = None
        self._idle: list[Thread] = [agents.new_alarm(self)]  # threads of alarms that have come to their end
        self._alarms: set[int] = set()  # times at which a thread of this agent asks

    def call_at(self, time_fs: int) -> None:
        """Be called at a time (fs) that is not past, instead of what was planned."""
        self.due_fs = time_fs
        if time_fs in self._alarms:
            return
        self._alarms.add(time_fs)
        thread = self._idle.pop() if self._idle else self._agents.new_alarm(self)
        thread.ask_at(time_fs)

    def cancel(self) -> None:
        """Not be called until asked for again."""
        self.due_fs = None

    def ring(self, thread: Thread, now_fs: int) -> None:
        """An alarm has come to its time: call the agent if it still is due then."""
        self._idle.append(thread)
        self._alarms.discard(now_fs)
        if self.due_fs == now_fs:
            self.due_fs = None
            self.step(now_fs)


class Agents:
    """The agents of a program. `on_ask(thread, now_fs)` is for the run: `Session.run(agents.attach(session))`."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.now_fs = 0  # of the latest ask
        self._on_ask: dict[int, Step] = {}

    def agent(self, name: str, step: Step) -> Agent:
        """A new agent, which is called at no time yet."""
        return Agent(self, name, step)

    def worker(self, name: str, step: Step) -> Thread:
        """A thread for rows of any kind; `step(now_fs)` is called at each ASK among them."""
        thread = self.program.thread(name)
        self._on_ask[thread.id] = step
        return thread

    def new_alarm(self, agent: Agent) -> Thread:
        """A further thread of an agent."""
        thread = self.program.thread(agent.name)
        self._on_ask[thread.id] = lambda now_fs: agent.ring(thread, now_fs)
        return thread

    def on_ask(self, thread: int, now_fs: int) -> None:
        """Hand an ask to the agent or the worker that has the thread."""
        self.now_fs = now_fs
        self._on_ask[thread](now_fs)
