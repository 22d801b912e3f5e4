"""Costs of kernels: what a task does without a cost of its own, alone and in blocks."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.pto.kernels import Kernel, Load, Store, Vector
from kernbench.pto.tasks.graph import GraphTask
from kernbench.pto.tasks.task import Shape, Task
from kernbench.pto.tasks.tensors import make_input_param, make_output_param, make_tensor_external

GIVEN, WRITTEN = (make_tensor_external(address, (1000,), 1) for address in (1 << 20, 1 << 21))


@pytest.mark.parametrize("cost", [-1, float("nan"), float("inf"), 10**400, "5 ns", [5]])
def test_a_cost_that_is_none_is_refused_wherever_a_kernel_is_made(cost):
    with pytest.raises(InputError, match=r"kernel 'K': cost: got .*, expected a finite time of 0 ns or more"):
        Kernel(1, "K", "aiv", cost=cost)


@pytest.mark.parametrize("ns", [-1.0, float("nan"), float("inf"), 10**400])
def test_times_of_a_graph_made_in_python_are_checked_too(ns):
    with pytest.raises(InputError, match=r"task 3: got times of .* ns, expected finite ones of 0 or more"):
        GraphTask(3, "q", "aic", (5.0, ns), ())


@pytest.mark.parametrize(
    ("blocks", "each"), [(1, [4000]), (4, [1000] * 4), (3, [1334, 1334, 1332]), (1001, [4] * 1000 + [0])]
)
def test_blocks_without_a_cost_share_what_their_task_loads_and_stores(blocks, each):
    kernel = Kernel(1, "COPY", "aiv")
    task = Task(0, kernel, Shape.AIV, [make_input_param(GIVEN), make_output_param(WRITTEN)])
    task.blocks = blocks
    costs = [kernel.cost_of(task, block) for block in range(blocks)]
    assert [[type(one) for one in cost] for cost in costs] == [[Load, Vector, Store]] * blocks
    for at, tensor in ((0, GIVEN), (2, WRITTEN)):
        assert [cost[at].nbytes for cost in costs] == each
        assert [cost[at].address - tensor.address for cost in costs] == [sum(each[:block]) for block in range(blocks)]
    assert [cost[1].nbytes for cost in costs] == each
