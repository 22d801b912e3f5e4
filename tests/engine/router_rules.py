"""What each rule of routers with finite buffers is worth: `python -m tests.engine.router_rules` prints it for docs/networks.md.

A figure is how much the makespan of a batch changes with a rule, the mean and the largest of seven batches on 8 x 8 nodes.
Each node makes a packet a cycle until its list is used up.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from benches.accuracy.routers import ROUTERS
from kernbench.machine import load_machine
from kernbench.traffic.flows import Flows, parse_flows
from kernbench.traffic.run import run_flows

NODES, FLIT_BYTES = 64, 256


def list_batches() -> list[Flows]:
    """All-to-all, bit complement and uniform traffic, in packets of 1 to 256 flits."""
    random, nodes = Random(1), range(NODES)
    return [
        _batch(([(node + n) % NODES for n in range(1, NODES)] for node in nodes), 4),
        _batch(([other for other in nodes if other != node] for node in nodes), 16),
        _batch(([NODES - 1 - node] * 256 for node in nodes), 1),
        _batch(([NODES - 1 - node] * 16 for node in nodes), 16),
        _batch((random.choices(nodes, k=256) for _ in nodes), 1),
        _batch((random.choices(nodes, k=64) for _ in nodes), 4),
        _batch((random.choices(nodes, k=2) for _ in nodes), 256),
    ]


def _batch(destinations: Iterable[list[int]], flits: int) -> Flows:
    pairs = [(src, dst, at) for src, listed in enumerate(destinations) for at, dst in enumerate(listed)]
    return parse_flows([f"{src}:{dst}:{flits * FLIT_BYTES}@{at}" for src, dst, at in pairs])


def list_changes(router: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields of each change to a router."""
    depth, stages = router["buffer_flits"], ("vc_allocation_ns", "switch_allocation_ns", "traversal_ns")
    halves = dict.fromkeys(stages, 0.5) | {"credit_ns": router.get("credit_ns", 1) / 2}
    return {
        "allocator: age": {"allocator": "age"},
        "allocator: round_robin": {"allocator": "round_robin"},
        "allocator_iterations: 2": {"allocator_iterations": 2},
        "credit_ns: 0": {"credit_ns": 0},
        "speculative: false": {"speculative": False},
        "half the buffer_flits": {"buffer_flits": depth // 2},
        "twice the buffer_flits": {"buffer_flits": 2 * depth},
        "the other reuse": {"reuse": "tail_sent" if "reuse" in router else "tail_credit"},
        "input_speedup: 1": {"input_speedup": 1},
        "packet_flits: 4": {"packet_flits": 4},
        "internal_speedup: 2": {"internal_speedup": 2},
        "internal_speedup: 2, delays halved": {"internal_speedup": 2} | halves,
    }


def measure(router: dict[str, Any], batches: list[Flows]) -> dict[str, tuple[float, float]]:
    """The mean and the largest change of the makespan, in per cent, by change."""

    def makespans(fields: dict[str, Any]) -> list[float]:
        machine = load_machine("mesh_8x8_credit", {"packet_flits": 256, **router, **fields})
        return [run_flows(machine, flows).makespan_ns for flows in batches]

    before, found = makespans({}), dict[str, tuple[float, float]]()
    for name, fields in list_changes(router).items():
        moved = [100 * abs(new / old - 1) for new, old in zip(makespans(fields), before, strict=True)]
        found[name] = sum(moved) / len(moved), max(moved)
    return found


def main() -> None:
    """Prints the table."""
    batches = list_batches()
    columns = [measure(router, batches) for router in ROUTERS.values()]
    print("| change |", " | ".join(ROUTERS), "|")
    for name in columns[0]:
        print(
            f"| {name} |",
            " | ".join(f"{mean:.0f}, {most:.0f} %" for mean, most in (column[name] for column in columns)),
            "|",
        )


if __name__ == "__main__":
    main()
