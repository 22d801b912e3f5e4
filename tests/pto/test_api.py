"""The API of orchestration: its names are those of the document."""

from __future__ import annotations

from kernbench.pto import api

OF_THE_DOCUMENT = {
    "pto2_rt_submit_task",
    "PTO2_SCOPE",
    "pto2_rt_orchestration_done",
    "pto2_rt_init_tensor_pool",
    "make_tensor_external",
    "make_tensor",
    "make_input_param",
    "make_output_param",
    "make_inout_param",
    "make_scalar_param",
    "PTO2_WORKER_CUBE",
    "PTO2_WORKER_VECTOR",
    "PTO2Runtime",
    "PTO2OrchestrationConfig",
    "pto2_rt_allocate_cluster",
    "pto2_rt_free_cluster",
    "pto2_rt_submit_task_clustered",
    "add_task",
    "add_successor_conditional",
    "publish_task",
    "device_malloc",
    "block_incore",
}


def test_the_api_has_the_names_of_the_document():
    assert set(api.__all__) >= OF_THE_DOCUMENT
    assert all(hasattr(api, name) for name in api.__all__)
