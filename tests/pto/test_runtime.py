"""The runtime: dependencies, back-pressure, deadlocks, clusters, back ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kernbench.engine import Session
from kernbench.frontends.graph_result import make_result
from kernbench.pto.api import (
    PTO2_SCOPE,
    PTO2_WORKER_CUBE,
    PTO2_WORKER_VECTOR,
    PTO2Runtime,
    add_successor_conditional,
    add_task,
    block_incore,
    device_malloc,
    make_inout_param,
    make_input_param,
    make_output_param,
    make_pipe_in_param,
    make_pipe_out_param,
    make_scalar_param,
    make_tensor,
    make_tensor_external,
    pto2_rt_allocate_cluster,
    pto2_rt_free_cluster,
    pto2_rt_get_tensor_data,
    pto2_rt_orchestration_done,
    pto2_rt_report_fatal,
    pto2_rt_submit_task,
    pto2_rt_submit_task_clustered,
    pto2_rt_submit_task_spmd,
    pto2_rt_wait_cluster,
    publish_task,
)
from kernbench.pto.kernels import Kernel
from kernbench.pto.launch import BuildMode
from kernbench.pto.results.record import ORCHESTRATOR, Phase
from kernbench.pto.results.summary import occupancy_table
from kernbench.pto.runtime.fatal import FatalCode, FatalError, InvalidArgsError
from kernbench.pto.runtime.orchestrator import Backend
from kernbench.pto.tasks.memory import HEAP_BASE
from kernbench.pto.tasks.task import Shape
from tests.engine.difference import describe_difference
from tests.naive.engine import NaiveEngine
from tests.pto.graphs import launch, run

NS = 10**6
SLOW = {1: Kernel(1, "SLOW", "aiv", cost=50_000.0)}


def submit(rt, *params, kernel=1):
    return pto2_rt_submit_task(rt, kernel, PTO2_WORKER_VECTOR if kernel else PTO2_WORKER_CUBE, params, len(params))


def chain(rt, tasks, nbytes=64):
    """Tasks of which each reads what the one before has written."""
    tensor = None
    for _ in range(tasks):
        out = make_tensor((nbytes // 4,), 1)
        reads = [] if tensor is None else [make_input_param(tensor)]
        submit(rt, *reads, make_output_param(out))
        tensor = out


def external(rt, elements=4):
    """A tensor in memory that is not of the heap."""
    return make_tensor_external(rt.orchestrator.device.memory.allocate(4 * elements), (elements,), 1)


def times(outcome):
    return {row.task: (row.start_fs, row.end_fs) for row in outcome.record.blocks}


@pytest.mark.parametrize("backend", Backend)
def test_a_task_begins_after_the_producers_of_what_it_reads(backend):
    found = times(run(lambda rt: chain(rt, 5), backend))
    assert all(found[at + 1][0] > found[at][1] for at in range(4))


@pytest.mark.parametrize("backend", Backend)
def test_readers_of_one_tensor_run_side_by_side_and_a_writer_waits_for_its_producer(backend):
    def orchestrate(rt):
        tensor = make_tensor((16,), 1)
        submit(rt, make_output_param(tensor))
        for _ in range(3):
            submit(rt, make_input_param(tensor), make_output_param(make_tensor((4,), 1)))
        submit(rt, make_inout_param(tensor))
        submit(rt, make_input_param(tensor))

    found = times(run(orchestrate, backend, SLOW))
    assert found[2][0] < found[1][1]
    assert found[4][0] > found[0][1]
    assert found[5][0] > found[4][1]


def test_regions_that_do_not_overlap_are_independent():
    def orchestrate(rt):
        tensor = external(rt, 64)
        submit(rt, make_output_param(tensor.view((32,), (0,))))
        submit(rt, make_input_param(tensor.view((32,), (32,))))
        submit(rt, make_input_param(tensor.view((2,), (31,))))

    found = times(run(orchestrate, kernels=SLOW))
    assert found[1][0] < found[0][1] < found[2][0]


def test_from_an_end_to_the_start_behind_it_are_the_steps_of_the_runtime():
    """By hand, of one scheduler with six cores: COND, polls, completion, dispatch, doorbell, the core's own start."""
    outcome = run(lambda rt: chain(rt, 2))
    time = outcome.device.settings.time
    (_, end), (start, _) = times(outcome).values()
    phases = [row for row in outcome.record.phases if row.thread == 0]
    complete = next(row for row in phases if row.phase == Phase.COMPLETE)
    dispatch = [row for row in phases if row.phase == Phase.DISPATCH][-1]
    assert 0 <= complete.start_fs - (end + time.cond) < 6 * time.load + 4 * time.probe
    worked = time.lock + time.complete + time.notify  # of one consumer
    readied = time.lock + time.push + time.retire  # the consumer is ready, and the task retires
    assert complete.end_fs - complete.start_fs == worked + readied
    assert dispatch.end_fs - dispatch.start_fs == time.lock + time.pop + time.payload + time.store
    switch = 810 * NS
    assert start in (dispatch.end_fs + time.doorbell + switch, dispatch.end_fs + time.doorbell + 1390 * NS)


def test_the_loop_and_the_interpreter_agree_on_a_run():
    def prepared():
        made = launch(task_window=8, heap_bytes=8192)
        device = made.device()

        def orchestrate(orchestrator):
            rt = PTO2Runtime(orchestrator)
            for _ in range(3):
                with PTO2_SCOPE(rt):
                    chain(rt, 5, 512)

        made.prepare(orchestrate, device)
        return device

    first, second = prepared(), prepared()
    session = Session(first.program)
    session.run(lambda thread: first.agents.on_ask(thread, session.ask_fs))
    second.program.flush()
    naive = NaiveEngine(second.program).run(second.agents.on_ask)
    assert first.completed == second.completed == 15
    assert first.record.blocks == second.record.blocks
    assert first.record.phases == second.record.phases
    assert describe_difference(session, naive) is None


def test_cores_are_dealt_out_to_the_threads():
    for threads, clusters in ((4, [8, 8, 8]), (5, [6] * 4), (6, [4, 5, 5, 5, 5])):
        made = launch(topology="ascend_910b2", aicpu_threads=threads).device()
        types = [[core.place.type for core in scheduler.cores] for scheduler in made.schedulers]
        assert [each.count("aic") for each in types] == clusters
        assert [each.count("aiv") for each in types] == [2 * number for number in clusters]


def test_threads_start_and_stop_in_the_order_of_the_document():
    """The orchestrator makes the header, a scheduler clears the arrays, the orchestrator sets pointers; then all begin."""
    outcome = run(lambda rt: chain(rt, 2))
    time, rows = outcome.device.settings.time, outcome.record.phases
    step = time.init
    begun = sorted((row.start_fs, row.end_fs, row.thread) for row in rows if row.phase == Phase.START_UP)
    assert begun == [(0, step, ORCHESTRATOR), (step, 2 * step, 0), (2 * step, 3 * step, ORCHESTRATOR)]
    assert min(row.start_fs for row in rows if row.phase != Phase.START_UP) >= 3 * step
    [stop] = [row for row in rows if row.phase == Phase.SHUT_DOWN]
    assert stop.start_fs >= max(row.end_fs for row in rows if row.phase == Phase.COMPLETE)
    assert stop.end_fs - stop.start_fs == 6 * time.store + step, "a signal to exit to each of six cores"
    assert outcome.end_fs == stop.end_fs


def test_outputs_are_packed_in_the_heap():
    def orchestrate(rt):
        made = [make_tensor((size,), 1) for size in (25, 500, 1)]
        submit(rt, *map(make_output_param, made[:2]))
        submit(rt, make_output_param(made[2]))
        at.extend(tensor.buffer.address - HEAP_BASE for tensor in made)

    at = []
    run(orchestrate)
    assert at == [0, 1024, 3072]


def test_occupancy_is_in_the_order_of_time():
    """A thread tells many consumers before it retires their producer, while the orchestrator publishes further tasks."""

    def orchestrate(rt):
        with PTO2_SCOPE(rt):
            given = [make_input_param(out := make_tensor((4,), 1))]
            submit(rt, make_output_param(out), kernel=0)
            for _ in range(40):
                submit(rt, *given)
        for _ in range(300):
            submit(rt)

    kernels = {0: Kernel(0, "CUBE", "aic", cost=40_000.0), 1: Kernel(1, "LONG", "aiv", cost=200_000.0)}
    outcome = run(orchestrate, kernels=kernels)
    rows = outcome.record.occupancy
    assert [row.fs for row in rows] == sorted(row.fs for row in rows)
    assert occupancy_table(outcome)["time_ns"].is_sorted()
    steps = [after.tasks - before.tasks for before, after in pairwise(rows)]
    assert min(steps) < -1, "the slots of the scope are given back at once"
    assert rows[-1].tasks == 0


def test_slots_are_retired_in_order():
    def orchestrate(rt):
        with PTO2_SCOPE(rt):
            submit(rt)
        with PTO2_SCOPE(rt):
            for _ in range(3):
                submit(rt, kernel=0)

    outcome = run(orchestrate, kernels=SLOW | {0: Kernel(0, "FAST", "aic", cost=100.0)})
    ends = {task: end for task, (_, end) in times(outcome).items()}
    assert ends[0] > max(ends[1], ends[2], ends[3])
    active = [(row.fs > ends[0], row.tasks) for row in outcome.record.occupancy]
    assert active == [(False, 1), (False, 2), (False, 3), (False, 4), (True, 0)]


# back-pressure and deadlocks


def scopes(rt, count, tasks, nbytes=64):
    for _ in range(count):
        with PTO2_SCOPE(rt):
            chain(rt, tasks, nbytes)


def test_a_window_holds_a_scope_of_one_task_fewer_and_no_more():
    assert run(lambda rt: scopes(rt, 2, 7), task_window=8).record.blocked > 0
    with pytest.raises(FatalError) as error:
        run(lambda rt: scopes(rt, 2, 8), task_window=8)
    assert error.value.fatal_code == FatalCode.SCOPE_DEADLOCK
    assert str(error.value) == (
        "FATAL: Flow Control Deadlock Detected!\n"
        "Task Ring is FULL and no progress after 100000 spins.\n"
        "- Active tasks: 7\n"
        "- Window size: 8\n"
        "Root Cause:\n"
        "Tasks cannot transition to CONSUMED state because fanout_count\n"
        "includes 1 for the owning scope, and scope_end() requires the\n"
        "orchestrator to continue — creating a circular dependency.\n"
        "Solution:\n"
        "Recommended: 16 (at least 2x current active tasks) (fatal code 1)"
    )


def test_tasks_of_outer_scopes_can_fill_the_window_too():
    def orchestrate(rt):
        chain(rt, 5)
        with PTO2_SCOPE(rt):
            chain(rt, 5)

    with pytest.raises(FatalError) as error:
        run(orchestrate, task_window=8)
    assert error.value.fatal_code == FatalCode.FLOW_CONTROL


def test_warnings_come_every_10000_spins_with_the_state_of_the_ring():
    made = launch(task_window=4, kernels={1: Kernel(1, "SLOW", "aiv", cost=1_200_000.0)})
    outcome = made.run(lambda o: scopes(PTO2Runtime(o), 3, 2))
    time = outcome.device.settings.time
    assert [text for _, text in outcome.record.warnings][:2] == [
        "[TaskRing] BLOCKED (Flow Control): current=3, last_alive=0, active=3/4 (75.0%), spins=10000",
        "[TaskRing] BLOCKED (Flow Control): current=3, last_alive=0, active=3/4 (75.0%), spins=20000",
    ]
    at = [fs for fs, _ in outcome.record.warnings]
    assert at[1] - at[0] == 10_000 * time.spin
    assert outcome.record.recycled == 2
    asked = {"bench": "slow", "mode": "hybrid", "parameters": {}, "overrides": {}, "verified": None, "mismatches": ()}
    result = make_result(outcome, lambda _: outcome, {}, **asked)
    assert result.to_dict()["warnings"][0].endswith("ns: " + outcome.record.warnings[0][1])


def test_spinning_ends_at_the_first_spin_after_progress():
    outcome = run(lambda rt: scopes(rt, 2, 3), task_window=4)
    spin, rows = outcome.device.settings.time.spin, [r for r in outcome.record.phases if r.thread == ORCHESTRATOR]
    blocked = [row for row in rows if row.phase == Phase.BLOCKED]
    assert len(blocked) == outcome.record.blocked > 0
    assert all((row.end_fs - row.start_fs) % spin == 0 for row in blocked)


def test_a_small_heap_holds_back_and_one_that_is_too_small_stops():
    assert run(lambda rt: scopes(rt, 4, 2, 1024), heap_bytes=4096).record.blocked > 0
    with pytest.raises(FatalError) as error:
        run(lambda rt: scopes(rt, 1, 3, 2048), heap_bytes=4096)
    assert error.value.fatal_code == FatalCode.HEAP_RING
    assert str(error.value).startswith(
        "FATAL: Heap Ring Deadlock Detected!\n"
        "Heap Ring has no room for 2048 bytes and no progress after 100000 spins (available=0, top=4096, tail=0)."
    )


def test_an_exhausted_dependency_pool_stops():
    def fan_out(rt):
        tensor = make_tensor((4,), 1)
        submit(rt, make_output_param(tensor))
        for _ in range(40):
            submit(rt, make_input_param(tensor))

    slow = {1: Kernel(1, "SLOW", "aiv", cost=20_000_000.0)}
    with pytest.raises(FatalError) as error:
        run(fan_out, kernels=slow, dep_pool=16)
    assert error.value.fatal_code == FatalCode.DEP_POOL


def test_a_producer_that_ends_while_its_consumer_waits_for_an_entry_is_counted():
    def orchestrate(rt):
        for kernel, readers in ((1, 16), (0, 1)):
            with PTO2_SCOPE(rt):
                tensor = make_tensor((4,), 1)
                submit(rt, make_output_param(tensor), kernel=kernel)
                for _ in range(readers):
                    submit(rt, make_input_param(tensor), kernel=0)

    kernels = {0: Kernel(0, "FAST", "aic", cost=100.0), 1: Kernel(1, "SLOW", "aiv", cost=200_000.0)}
    found = times(run(orchestrate, kernels=kernels, dep_pool=16))
    assert found[17][1] < found[0][1] < found[18][0]


def test_tasks_that_complete_are_progress_though_the_oldest_one_holds_the_ring():
    def orchestrate(rt):
        with PTO2_SCOPE(rt):
            submit(rt, kernel=0)
        chain(rt, 3)

    kernels = {0: Kernel(0, "SLOW", "aic", cost=8e6), 1: Kernel(1, "VEC", "aiv", cost=3e6)}
    outcome = run(orchestrate, kernels=kernels, task_window=4)
    assert outcome.record.blocked == 1
    with pytest.raises(FatalError, match="no progress after 100000 spins"):
        run(orchestrate, kernels=kernels | {1: Kernel(1, "VEC", "aiv", cost=1000.0)}, task_window=4)


def test_a_full_pool_of_the_map_waits_and_then_stops():
    assert run(lambda rt: scopes(rt, 6, 3), tensormap_pool=4).record.blocked > 0
    with pytest.raises(FatalError) as error:
        run(lambda rt: scopes(rt, 1, 6), tensormap_pool=4)
    assert "TensorMap Pool Deadlock" in str(error.value)


def test_tasks_that_wait_for_each_other_end_with_a_time_out():
    def orchestrate(rt):
        a, b = add_task(rt, 1, PTO2_WORKER_VECTOR, []), add_task(rt, 1, PTO2_WORKER_VECTOR, [])
        add_successor_conditional(rt, a, b)
        add_successor_conditional(rt, b, a)
        publish_task(rt, a)
        publish_task(rt, b)

    with pytest.raises(FatalError) as error:
        run(orchestrate, Backend.AICPU)
    assert error.value.fatal_code == FatalCode.SCHEDULER_TIMEOUT


@pytest.mark.parametrize("backend", Backend)
def test_a_kernel_of_ten_seconds_is_a_scheduler_time_out(backend):
    """One at the edge ends, and others that end meanwhile are progress."""

    def orchestrate(rt, seconds, others):
        made = {0: Kernel(0, "LONG", "aic", cost=1e9 * seconds), 1: Kernel(1, "SHORT", "aiv", cost=4e9)}
        rt.orchestrator.device.kernels = made
        submit(rt, kernel=0)
        if others:
            chain(rt, 3, 64)

    for seconds, others in ((9.999, False), (15, True)):
        run(lambda rt: orchestrate(rt, seconds, others), backend)  # noqa: B023
    with pytest.raises(FatalError) as error:
        run(lambda rt: orchestrate(rt, 10.001, False), backend)
    assert str(error.value) == (
        f"FATAL: Scheduler timeout: task 0 (LONG) does not end on cluster{backend == Backend.HOST:d}.aic: for 10 s no task was "
        "dispatched and none ended; see what its kernel waits for, or set pto_runtime.scheduler_timeout_spins (fatal code 100)"
    )


@pytest.mark.parametrize("backend", [Backend.AICPU, Backend.RINGS])
def test_the_contents_of_a_tensor_are_read_when_its_writers_are_complete(backend):
    read = []

    def orchestrate(rt):
        tensor = make_tensor((4,), 1)
        submit(rt, make_output_param(tensor))
        read.append(pto2_rt_get_tensor_data(rt, tensor, (3,)))
        submit(rt, make_inout_param(tensor))
        read.append(pto2_rt_get_tensor_data(rt, tensor).sum())

    def add(x):
        x += 2

    found = times(run(orchestrate, backend, {1: Kernel(1, "ADD", "aiv", add, 50_000.0)}))
    assert read == [2, 16]
    assert found[1][0] > found[0][1]


def test_a_wait_for_a_tensor_ends_after_a_time():
    def orchestrate(rt):
        tensor = make_tensor((4,), 1)
        submit(rt, make_output_param(tensor))
        pto2_rt_get_tensor_data(rt, tensor)

    for backend in Backend:
        with pytest.raises(FatalError) as error:
            run(orchestrate, backend, SLOW, tensor_wait_spins=900)
        assert str(error.value) == (
            "FATAL: Tensor wait timeout: a producer of the tensor is not complete after 900 spins (fatal code 8)"
        )
    with pytest.raises(InvalidArgsError, match=r"element \(4,\) is not inside a tensor of shape \(4,\)"):
        run(lambda rt: pto2_rt_get_tensor_data(rt, external(rt), (4,)))


def test_an_explicit_failure_has_its_code():
    with pytest.raises(FatalError) as error:
        run(lambda rt: pto2_rt_report_fatal(rt, "no block table"))
    assert str(error.value) == "FATAL: no block table (fatal code 9)"


# the other API


@pytest.mark.parametrize("backend", [Backend.HOST, Backend.AICPU])
def test_a_graph_is_built_task_by_task(backend):
    def orchestrate(rt):
        device_malloc(rt, 64)
        tasks = [add_task(rt, 1, PTO2_WORKER_VECTOR, []) for _ in range(3)]
        add_successor_conditional(rt, tasks[0], tasks[2])
        add_successor_conditional(rt, tasks[1], tasks[2])
        for task in tasks:
            publish_task(rt, task)

    found = times(run(orchestrate, backend))
    assert found[2][0] > max(found[0][1], found[1][1])


@pytest.mark.parametrize("backend", [Backend.HOST, Backend.AICPU])
def test_a_graph_that_is_built_first_has_room_for_so_many_tasks(backend):
    assert len(run(lambda rt: chain(rt, 5), backend, most_static_tasks=5).record.tasks) == 5
    with pytest.raises(InvalidArgsError, match=f"the graph has more than 4 tasks, which {backend.value} has room for"):
        run(lambda rt: chain(rt, 5), backend, most_static_tasks=4)


def test_the_orchestration_is_a_scope_as_a_whole():
    """A task that is complete keeps its slot until the scope ends that it was submitted in, which is the function itself."""
    seen = []

    def orchestrate(rt):
        for _ in range(2):
            tensor = make_tensor((4,), 1)
            submit(rt, make_output_param(tensor))
            pto2_rt_get_tensor_data(rt, tensor)
            seen.append(rt.orchestrator.device.ring.active)

    outcome = run(orchestrate)
    assert seen == [1, 2]
    assert outcome.device.ring.active == 0


def test_an_orchestration_may_look_at_the_memory_of_the_device():
    def orchestrate(rt):
        tensor = external(rt)
        count = 1 + int(rt.read(tensor.address, (4,), "i32").sum())
        for _ in range(count):
            submit(rt, make_inout_param(tensor))

    assert len(run(orchestrate, Backend.AICPU).record.tasks) == 1


@pytest.mark.parametrize("build_mode", BuildMode)
def test_a_graph_that_an_aicpu_builds_is_scheduled_beside_it_or_afterwards(build_mode):
    made = replace(launch(Backend.AICPU), build_mode=build_mode)
    outcome = made.run(lambda o: chain(PTO2Runtime(o), 20))
    begun = min(row.start_fs for row in outcome.record.phases if row.phase == Phase.SCAN)
    assert (begun >= outcome.orchestrated_fs) == (build_mode == BuildMode.BEFORE_SCHEDULERS)
    assert len(outcome.record.tasks) == 20


def test_spmd_calls_become_tasks_with_their_block_ids():
    seen = []
    kernels = {1: Kernel(1, "B", "aiv", lambda dim, block: seen.append((dim, block)), 100.0)}
    run(lambda rt: block_incore(rt, 1, PTO2_WORKER_VECTOR, [], 3), kernels=kernels)
    assert sorted(seen) == [(3, 0), (3, 1), (3, 2)]


def test_one_task_has_many_blocks_with_their_numbers():
    seen = []
    kernels = {
        1: Kernel(1, "B", "aiv", lambda x, dim, block: seen.append((x, dim, block)), lambda _x, _dim, at: 100.0 * at)
    }
    outcome = run(
        lambda rt: pto2_rt_submit_task_spmd(rt, 1, PTO2_WORKER_VECTOR, [make_scalar_param(5)], 6), kernels=kernels
    )
    assert sorted(seen) == [(5, 6, at) for at in range(6)]
    assert [(row.end_fs - row.start_fs) // NS for row in sorted(outcome.record.blocks, key=lambda row: row.block)] == [
        100 * at for at in range(6)
    ]


@pytest.mark.parametrize("topology", ["ascend_tiny", "ascend_910b2"])
def test_blocks_that_start_together_wait_for_all_their_cores(topology):
    """Other tasks that are ready meanwhile wait behind them, so they are not put off for ever."""

    def orchestrate(rt):
        most, tensor = rt.orchestrator.device.most_together(Shape.AIV), make_tensor((4,), 1)
        submit(rt, make_output_param(tensor), kernel=0)
        pto2_rt_submit_task_spmd(rt, 1, PTO2_WORKER_VECTOR, [make_scalar_param(0)], most // 2)
        for together in (True, False):
            given, blocks = [make_input_param(tensor)], most if together else most // 2
            pto2_rt_submit_task_spmd(rt, 1, PTO2_WORKER_VECTOR, given, blocks, require_sync_start=together)

    slow = Kernel(1, "B", "aiv", cost=lambda _given, _most, at: 90_000.0 if at == 0 else 20_000.0)
    outcome = run(orchestrate, kernels={0: Kernel(0, "CUBE", "aic", cost=15_000.0), 1: slow}, topology=topology)
    rows = {task: [row for row in outcome.record.blocks if row.task == task] for task in (1, 2, 3)}
    starts = [row.start_fs for row in rows[2]]
    assert min(starts) > max(row.end_fs for row in rows[1])
    assert max(starts) - min(starts) < 20_000 * NS, "they run side by side"
    assert len({row.core for row in rows[2]}) == len(rows[2])
    assert all(row.start_fs > max(starts) for row in rows[3])


def test_more_blocks_that_start_together_than_cores_are_refused():
    for worker, most, shape in ((PTO2_WORKER_VECTOR, 4, "AIV"), (PTO2_WORKER_CUBE, 2, "AIC")):
        with pytest.raises(FatalError) as error:
            run(lambda rt: pto2_rt_submit_task_spmd(rt, worker, worker, [], most + 1, require_sync_start=True))  # noqa: B023
        assert str(error.value) == (
            f"FATAL: task 0: {most + 1} blocks are to start together, but there are {most} places of shape {shape}; submit "
            f"{most} blocks at most (fatal code 7)"
        )


# clusters


def test_tasks_of_a_cluster_stay_on_its_cores_and_wait_for_each_other():
    def orchestrate(rt):
        for _ in range(3):
            with PTO2_SCOPE(rt):
                cluster = pto2_rt_allocate_cluster(rt)
                for kernel in (0, 1, 1, 1):
                    worker = PTO2_WORKER_VECTOR if kernel else PTO2_WORKER_CUBE
                    pto2_rt_submit_task_clustered(rt, kernel, worker, [], 0, cluster)

    outcome = run(orchestrate)
    cores = {row.task: outcome.device.cores[row.core].place.cluster for row in outcome.record.blocks}
    assert [len({cores[at] for at in range(first, first + 4)}) for first in (0, 4, 8)] == [1, 1, 1]
    assert {cores[0], cores[4]} == {0, 1}
    assert outcome.record.blocked == 1


def test_no_cluster_left_is_a_deadlock():
    with pytest.raises(FatalError) as error:
        run(lambda rt: [pto2_rt_allocate_cluster(rt) for _ in range(3)])
    assert str(error.value) == "FATAL: Cluster allocation deadlock — all clusters occupied (fatal code 3)"


def test_a_cluster_is_freed_when_its_tasks_are_complete_and_not_before():
    def orchestrate(rt, wait):
        cluster = pto2_rt_allocate_cluster(rt)
        pto2_rt_submit_task_clustered(rt, 1, PTO2_WORKER_VECTOR, [], 0, cluster)
        if wait:
            pto2_rt_wait_cluster(rt, cluster)
        pto2_rt_free_cluster(rt, cluster)

    run(lambda rt: orchestrate(rt, True))
    with pytest.raises(InvalidArgsError) as error:
        run(lambda rt: orchestrate(rt, False))
    assert "cluster 0 is freed while 1 of its tasks are not complete" in str(error.value)
    with pytest.raises(InvalidArgsError, match="cluster 1 is not allocated"):
        run(lambda rt: pto2_rt_free_cluster(rt, 1))


@pytest.mark.parametrize("backend", Backend)
def test_pipe_tensors_order_the_tasks_of_a_cluster_and_take_no_heap(backend):
    """PIPE_OUT and PIPE_IN are edges of the map as other tensors are, with a region of the least size."""
    elements, seen = 1 << 18, []

    def write(x):
        x[...] = np.arange(elements)

    def read(x, y):
        y[...] = 2 * x
        seen.append(float(y.sum()))

    def orchestrate(rt):
        for _ in range(3):
            with PTO2_SCOPE(rt):
                cluster, pipe = pto2_rt_allocate_cluster(rt), make_tensor((elements,), 1)
                out = [make_pipe_out_param(pipe)]
                pto2_rt_submit_task_clustered(rt, 0, PTO2_WORKER_CUBE, out, 1, cluster)
                params = [make_pipe_in_param(pipe), make_output_param(make_tensor((elements,), 1))]
                pto2_rt_submit_task_clustered(rt, 1, PTO2_WORKER_VECTOR, params, 2, cluster)

    kernels = {0: Kernel(0, "W", "aic", write, 5000.0), 1: Kernel(1, "R", "aiv", read)}
    outcome = run(orchestrate, backend, kernels)
    found, cores = times(outcome), {row.task: outcome.device.cores[row.core].place for row in outcome.record.blocks}
    for writer in (0, 2, 4):
        assert found[writer + 1][0] > found[writer][1]
        assert cores[writer].cluster == cores[writer + 1].cluster
    assert seen == [2 * sum(range(elements))] * 3
    if backend == Backend.RINGS:
        assert max(row.heap_bytes for row in outcome.record.occupancy) <= 3 * (1024 + 4 * elements)


@pytest.mark.parametrize(
    ("orchestrate", "sentence"),
    [
        (
            lambda rt: submit(rt, make_pipe_out_param(make_tensor((4,), 1))),
            "task 0: a pipe tensor needs a cluster; submit the task with pto2_rt_submit_task_clustered",
        ),
        (
            lambda rt: [pipe_on(rt, pipe, pto2_rt_allocate_cluster(rt)) for pipe in [make_tensor((4,), 1)] * 2],
            "task 1: a pipe tensor of tasks on another cluster; submit it to the cluster of its writer",
        ),
        (
            lambda rt: make_pipe_in_param(make_tensor((4,), 1)),
            "a PIPE_IN tensor is none that a task has written as PIPE_OUT; use make_input_param",
        ),
        (
            lambda rt: make_pipe_out_param(external(rt)),
            "a PIPE_OUT tensor has memory; give one of make_tensor that no task has written",
        ),
    ],
)
def test_pipe_tensors_that_leave_their_cluster_are_refused(orchestrate, sentence):
    with pytest.raises(InvalidArgsError) as error:
        run(orchestrate)
    assert str(error.value) == f"FATAL: invalid arguments: {sentence} (fatal code 5)"


def pipe_on(rt, pipe, cluster):
    pto2_rt_submit_task_clustered(rt, 1, PTO2_WORKER_VECTOR, [make_pipe_out_param(pipe)], 1, cluster)


# arguments


@pytest.mark.parametrize(
    ("orchestrate", "sentence"),
    [
        (lambda rt: submit(rt, kernel=7), "task 0: no kernel has func_id 7; the bench has 0, 1"),
        (
            lambda rt: pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, []),
            "task 0: kernel VEC is for aiv cores, but submitted to aic",
        ),
        (
            lambda rt: pto2_rt_submit_task(rt, 1, 2, []),
            "task 0: got worker type 2, expected PTO2_WORKER_CUBE or PTO2_WORKER_VECTOR",
        ),
        (
            lambda rt: pto2_rt_submit_task(rt, 1, "vector", []),
            "task 0: worker_type: got 'vector', expected a whole number of 0 or more",
        ),
        (
            lambda rt: pto2_rt_submit_task(rt, "1", PTO2_WORKER_VECTOR, []),
            "task 0: kernel_id: got '1', expected a whole number of 0 or more",
        ),
        (
            lambda rt: pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, None),
            "got None as parameters, expected a list of them",
        ),
        (
            lambda rt: pto2_rt_submit_task_spmd(rt, 1, PTO2_WORKER_VECTOR, [], 2.5),
            "block_num: got 2.5, expected a whole number of 1 or more and 1,048,576 or less",
        ),
        (
            lambda rt: block_incore(rt, 1, PTO2_WORKER_VECTOR, [], True),
            "block_dim: got True, expected a whole number of 1 or more and 1,048,576 or less",
        ),
        (
            lambda rt: block_incore(rt, 1, PTO2_WORKER_VECTOR, [], 2, [0]),
            "got block_dim 2 and clusters [0]; give one cluster for each block",
        ),
        (lambda rt: pto2_rt_get_tensor_data(rt, 5), "got 5, expected a tensor to read"),
        (
            lambda rt: make_tensor_external("x", (4,), 1),
            "got address 'x' for an external tensor; give that of an argument",
        ),
        (
            lambda rt: make_tensor((4,), 1).view((2.5,), (0,)),
            "a view of shape (2.5,) at (0,) is not inside a tensor of shape (4,)",
        ),
        (
            lambda rt: submit(rt, *[make_output_param(make_tensor((4,), 1)) for _ in range(17)]),
            "task 0: got 17 OUTPUT parameters, expected 16 at most",
        ),
        (
            lambda rt: submit(rt, make_input_param(make_tensor((4,), 1))),
            "task 0: an INPUT tensor has no memory; a task must write it first",
        ),
        (
            lambda rt: pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, [make_scalar_param(1)], 2),
            "got 1 parameters and n = 2; give as many as n says, or leave n out",
        ),
        (
            lambda rt: pto2_rt_submit_task_clustered(rt, 1, PTO2_WORKER_VECTOR, [], 0, -2),
            "cluster -2 is not allocated; allocate it with pto2_rt_allocate_cluster",
        ),
        (
            lambda rt: submit(rt, make_inout_param(7)),
            "an INOUT parameter is of type int; give a tensor of make_tensor or make_tensor_external",
        ),
        (
            lambda rt: submit(rt, make_scalar_param("7")),
            "a scalar parameter is of type str; give a number",
        ),
        (
            lambda rt: make_tensor((4, 0.5), 2),
            "got shapes (4, 0.5) and ndim 2, expected as many positive whole numbers as ndim says",
        ),
        (
            lambda rt: submit(rt, 5),
            "parameter 0 is of type int; make it with make_input_param or the like",
        ),
        (
            lambda rt: (pto2_rt_orchestration_done(rt), submit(rt)),
            "a task is submitted after pto2_rt_orchestration_done; submit it before",
        ),
        (
            lambda rt: nest(rt, 65),
            "scopes are nested more than 64 deep; close one first",
        ),
        (
            lambda rt: add_task(rt, 1, PTO2_WORKER_VECTOR, []),
            "tensormap_and_ringbuffer has no tasks without parameters' dependencies; use pto2_rt_submit_task, or "
            "another runtime",
        ),
    ],
)
def test_arguments_that_the_runtime_refuses(orchestrate, sentence):
    with pytest.raises(InvalidArgsError) as error:
        run(orchestrate)
    assert str(error.value) == f"FATAL: invalid arguments: {sentence} (fatal code 5)"


def nest(rt, depth):
    if depth:
        with PTO2_SCOPE(rt):
            nest(rt, depth - 1)
