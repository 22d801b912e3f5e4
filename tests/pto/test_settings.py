"""Sizes of the runtime: what is refused, and what the environment sets."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.pto.runtime.fatal import InvalidArgsError
from kernbench.pto.settings import RuntimeSettings, align, read_environment


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("task_window", 14, "task_window is 14, expected a power of two; give 8 or 16"),
        ("task_window", 2, "task_window is 2, expected 4 or more"),
        ("heap_bytes", 1000, "heap_bytes is 1,000, expected 1,024 or more"),
        ("dep_pool", 8, "dep_pool is 8, expected 16 or more"),
        ("aicpu_threads", 1, "aicpu_threads is 1, expected 2 or more: one thread orchestrates, the others schedule"),
    ],
)
def test_sizes_that_the_runtime_refuses(field, value, sentence):
    machine = load_machine("ascend_tiny", {f"pto_runtime.{field}": value})
    with pytest.raises(InvalidArgsError) as error:
        RuntimeSettings.of(machine)
    assert str(error.value) == f"FATAL: invalid arguments: {sentence} (fatal code 5)"


def test_the_defaults_are_those_of_the_document():
    settings = RuntimeSettings.of(load_machine("ascend_910b2"))
    assert (settings.task_window, settings.dep_pool, settings.tensormap_pool, settings.tensormap_buckets) == (
        65536,
    ) * 4
    assert (settings.heap_bytes, settings.align_bytes, settings.packed_align_bytes) == (1 << 30, 64, 1024)
    assert (settings.ready_shards, settings.aicpu_threads, settings.cleanup_interval) == (3, 4, 64)
    assert (settings.notify_spins, settings.deadlock_spins, settings.most_static_tasks) == (10_000, 100_000, 131_072)


def test_the_environment_sets_fields():
    assert read_environment({"PTO2_RING_TASK_WINDOW": "16", "PTO2_RING_HEAP": "1 MiB", "HOME": "/"}) == {
        "pto_runtime.task_window": 16,
        "pto_runtime.heap_bytes": 1 << 20,
    }
    for text, sentence in [
        ("many", "PTO2_READY_QUEUE_SHARDS=many: got 'many', expected a whole number"),
        ("0", "PTO2_READY_QUEUE_SHARDS=0: got 0, expected 1 or more"),
    ]:
        with pytest.raises(InputError) as error:
            read_environment({"PTO2_READY_QUEUE_SHARDS": text})
        assert str(error.value) == sentence


def test_the_shared_memory_is_three_aligned_parts():
    settings = RuntimeSettings.of(
        load_machine("ascend_tiny", {"pto_runtime.task_window": 16, "pto_runtime.dep_pool": 16})
    )
    assert settings.shared_memory_bytes == 128 + 16 * 4352 + align(17 * 8, 64)
